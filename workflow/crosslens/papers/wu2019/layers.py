"""wu2019: figure 1, zero-shot transfer with a frozen bottom and from features, less full fine-tuning; its cells as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens import cells
from crosslens.cells import Published
from crosslens.errors import DataError
from crosslens.figures.heatmap import Panel, panels
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.layout import CELLS, DEFINITIONS, FEATURES, FULL, METRICS, PAPER, TASKS, Study, freeze
from crosslens.papers.wu2019.scores import Scores, subset, uneven

AVERAGE = "AVER"
DIFFERENCE = "difference from full fine-tuning (points)"
LIMITS = (1, 2, 5, 10, 20, 50)  # of the scale of colours
ROWS = {FEATURES: "Feat"} | {freeze(number): f"Lay {number}" for number in range(100)}
"""Variant -> its row in print."""


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """A figure. settings: study, the fields of Study."""
    return heat_map(inputs.records(), Study(**settings["study"]))


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The cells of figure 1. settings: likewise."""
    return made(name, inputs.records(), inputs.published, Study(**settings["study"]))


def heat_map(records: pd.DataFrame, study: Study) -> Figure:
    """A panel a task: scores of each variant, coloured by what they are above or below full fine-tuning, and their mean.

    Languages by falling score of full fine-tuning, the source among them. Raises DataError where there is no score.
    """
    scores = Scores(records)
    parts: list[Panel] = []
    for task in study.tasks:
        languages = _by_score(scores, study, task)
        groups = [*([code] for code in languages), languages]
        found = [[_value(scores, study, task, variant, group) for group in groups] for variant in (FULL, *study.variants)]
        if languages and np.isfinite(values := np.array(found, float))[1:].any():
            letter = "abcdefgh"[len(parts)]
            names = [ROWS[variant] for variant in study.variants]
            title = f"({letter}) {TASKS[task]}, {METRICS[task]}"
            parts.append(Panel(title, names, [*languages, AVERAGE], values[1:], values[1:] - values[0], apart=1))
    if not parts:
        raise DataError(
            "figure1: expected scores with frozen bottom blocks or from features, found none: configure a task's data"
        )
    seeds = records["seed"].nunique()
    source = study.names.get(study.source, study.source)
    title = f"Zero-shot transfer from {source} with the lowest blocks frozen, and from features"
    note = (
        "Feat: features of all layers, the encoder frozen. Lay n: embeddings and the n lowest blocks frozen. Reference: full "
        f"fine-tuning, by whose score languages are sorted. {AVERAGE}: mean, {source} included. Number of seeds: {seeds}."
    )
    return panels(parts, title, note, legend=DIFFERENCE, limit=_limit(parts))


def made(name: str, records: pd.DataFrame, published: Published, study: Study) -> pd.DataFrame:
    """A line for each printed cell of figure 1, and for our further ones; each beside the difference to full fine-tuning.

    Published differences are those of two printed cells: of the figure, and of the zero-shot row of tables 2 to 6.
    """
    scores, lines = Scores(records), []
    for task, item in CELLS.items():
        printed = published.table[published.table["item"] == item]
        codes = [code for code in printed["column"].unique() if code != AVERAGE]
        ours = _by_score(scores, study, task) if task in study.tasks else []
        columns = {code: [code] for code in dict.fromkeys([*codes, *ours])} | {AVERAGE: ours}
        rows = dict.fromkeys([*printed["row"], *(ROWS[variant] for variant in study.variants)])
        variants = {row: next(variant for variant, its in ROWS.items() if its == row) for row in rows}
        for (row, variant), (column, languages) in ((a, b) for a in variants.items() for b in columns.items()):
            recipes = {code: study.zero_shot(task, variant) for code in languages}
            numbers, scored = scores.cell(recipes, DEFINITIONS[task])
            value = published.value(item, row, column)
            if value is None and numbers["here"] is None:
                continue
            remarks = []
            if column == AVERAGE:
                places = [(row, code) for code in codes]
                remarks = [subset(scored, codes) if scored else "", uneven(published, item, places, METRICS[task], value)]
            place = f"{TASKS[task]}: {row}", column
            lines.append(cells.line(*place, METRICS[task], DEFINITIONS[task], numbers, value, remarks))
            difference = _difference(scores, study, task, variant, languages)
            if difference is not None:
                lines.append(cells.line(*place, DIFFERENCE, DEFINITIONS[task], difference))
    return cells.table(lines, PAPER, name)


def _by_score(scores: Scores, study: Study, task: str) -> list[str]:
    """Languages that full fine-tuning was scored in, by falling score."""
    found = {code: _value(scores, study, task, FULL, [code]) for code in study.tests[task]}
    return sorted((code for code, value in found.items() if np.isfinite(value)), key=lambda code: -found[code])


def _value(scores: Scores, study: Study, task: str, variant: str, languages: Sequence[str]) -> float:
    """Score of a variant, or the mean over languages; nan where one has none."""
    numbers, scored = scores.cell({code: study.zero_shot(task, variant) for code in languages}, DEFINITIONS[task])
    return float("nan") if numbers["here"] is None or len(scored) < len(languages) else float(numbers["here"])


def _difference(
    scores: Scores, study: Study, task: str, variant: str, languages: Sequence[str]
) -> dict[str, Any] | None:  # fmt: skip
    """Numbers of a cell of differences; None where there are none."""
    if task not in study.tasks or not languages:
        return None
    value, reference = (_value(scores, study, task, which, languages) for which in (variant, FULL))
    return {"here": cells.rounded(value - reference)} if np.isfinite(value - reference) else None


def _limit(parts: Sequence[Panel]) -> float:
    """The least of LIMITS that is beyond nine differences in ten."""
    sizes = np.abs(np.concatenate([part.differences.ravel() for part in parts]))
    most = np.nanquantile(sizes, 0.9)
    return next((limit for limit in LIMITS if limit >= most), LIMITS[-1])
