"""wu2019: cells of figure 1, zero-shot transfer with frozen bottom layers and from features, against full fine-tuning."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.names import CELLS, DEFINITIONS, FULL, METRICS, PAPER, PRINTED, TASKS, Study, Variant
from crosslens.papers.wu2019.scores import Scores, printed_scores, subset, uneven
from crosslens.reports import cells
from crosslens.reports.cells import Published

AVERAGE, ALL = "AVER", "all configured"
DIFFERENCE = "difference from full fine-tuning (points)"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table of the cells of figure 1. settings: study, the fields of Study."""
    return table_of(name, inputs.records(), inputs.published, Study(**settings["study"]))


def table_of(name: str, records: pd.DataFrame, published: Published, study: Study) -> pd.DataFrame:
    """Table of the cells of figure 1, printed or ours: a line for each score and one for its difference from full fine-tuning.

    Differences are paired by seed. A published difference is the printed cell minus the zero-shot score in tables 2 to 6.
    """
    scores, lines = Scores(records), []
    for task, item in CELLS.items():
        printed = published.table[published.table["item"] == item]
        codes = [code for code in printed["column"].unique() if code != AVERAGE]
        full = printed_scores(published, task)[METRICS[task]]
        full[AVERAGE] = float(np.mean([full[code] for code in codes]))
        scored_languages = by_score(scores, study, task) if task in study.tasks else []
        columns = {code: [code] * (code in scored_languages) for code in dict.fromkeys([*codes, *scored_languages])}
        columns |= {
            AVERAGE: [code for code in codes if code in scored_languages],
            ALL: scored_languages if set(scored_languages) - set(codes) else [],
        }
        rows = {*printed["row"]}
        variants = dict.fromkeys([*(variant for variant in PRINTED if variant.row in rows), *study.variants])
        for variant, (column, languages) in product(variants, columns.items()):
            row = variant.row
            runs, reference = (
                scores.runs({code: study.zero_shot(task, trained) for code in languages}, DEFINITIONS[task])
                for trained in (variant, FULL)
            )
            value, numbers = published.value(item, row, column), cells.cell(runs[0])
            if value is None and numbers["here"] is None:
                continue
            places = [(row, code) for code in codes] if column == AVERAGE else []
            remarks = [
                subset(runs[1], codes) if places and runs[1] else "",
                uneven(published, item, places, METRICS[task], value),
            ]
            place = f"{TASKS[task]}: {row}", column
            chance = study.chance.get(task, 0)
            lines.append(cells.line(*place, METRICS[task], DEFINITIONS[task], numbers, value, remarks, chance=chance))
            change = cells.difference(reference[0], runs[0]) if runs[1] == reference[1] else cells.EMPTY
            printed_change = None if value is None else round(value - full[column], 2)
            lines.append(cells.line(*place, DIFFERENCE, DEFINITIONS[task], change, printed_change))
    return cells.table(lines, PAPER, name)


def by_score(scores: Scores, study: Study, task: str) -> list[str]:
    """Languages in which full fine-tuning was scored, from the highest score to the lowest."""
    score_by_language = {code: value_of(scores, study, task, FULL, [code]) for code in study.tests[task]}
    return sorted(
        (code for code, value in score_by_language.items() if np.isfinite(value)), key=lambda code: -score_by_language[code]
    )


def value_of(scores: Scores, study: Study, task: str, variant: Variant, languages: Sequence[str]) -> float:
    """Mean score of a variant over the languages, in percent; nan if any of them has none."""
    numbers, scored = scores.cell({code: study.zero_shot(task, variant) for code in languages}, DEFINITIONS[task])
    return float("nan") if numbers["here"] is None or len(scored) < len(languages) else float(numbers["here"])
