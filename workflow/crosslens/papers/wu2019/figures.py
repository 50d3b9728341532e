"""wu2019: figure 1, zero-shot transfer with frozen bottom layers and from features, compared with full fine-tuning."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.jobs.errors import DataError
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.layers import AVERAGE, DIFFERENCE, by_score, value_of
from crosslens.papers.wu2019.names import FULL, METRICS, TASKS, Study
from crosslens.papers.wu2019.scores import Scores
from crosslens.reports.figures.heatmap import Panel, panels

REFERENCE = "Full"
LIMITS = (1, 2, 5, 10, 20, 50)  # candidate ends of the colour scale, in points


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Figure 1. settings: study, the fields of Study."""
    return heat_map(inputs.records(), Study(**settings["study"]))


def heat_map(records: pd.DataFrame, study: Study) -> Figure:
    """Figure 1: a panel for each task, with the scores of full fine-tuning and of each variant by language, and their means.

    Colours show the difference from full fine-tuning, whose best languages come first. The source is among the languages.
    Raises DataError if no variant has a score.
    """
    scores = Scores(records)
    parts: list[Panel] = []
    for task in study.tasks:
        languages = by_score(scores, study, task)
        groups = [*([code] for code in languages), languages]
        rows = [[value_of(scores, study, task, variant, group) for group in groups] for variant in (FULL, *study.variants)]
        if languages and np.isfinite(values := np.array(rows, float))[1:].any():
            letter = "abcdefgh"[len(parts)]
            names = [REFERENCE, *(variant.row for variant in study.variants)]
            differences = np.vstack([np.full(len(groups), np.nan), values[1:] - values[0]])  # the reference has no difference
            substitutes = study.substitutes.get(task)
            suffix = f" ({' and '.join(substitutes)})" if substitutes else ""
            title = f"({letter}) {TASKS[task]}{suffix}, {METRICS[task]}"
            parts.append(Panel(title, names, [*languages, AVERAGE], values, differences, apart=1))
    if not parts:
        raise DataError(
            "figure1: expected scores with frozen bottom layers or from features, found none: configure a task's data"
        )
    seeds = records["seed"].nunique()
    source = study.names.get(study.source, study.source)
    title = f"Zero-shot transfer from {source} with the lowest layers frozen, and from features"
    note = (
        f"{REFERENCE}: full fine-tuning, the reference, by whose score languages are sorted. Feat: features of all layers, the "
        f"encoder frozen. Lay n: embeddings and the n lowest layers frozen. {AVERAGE}: mean, {source} included. "
        f"Number of seeds: {seeds}."
    )
    return panels(parts, title, note, legend=DIFFERENCE, limit=_limit(parts))


def _limit(parts: Sequence[Panel]) -> float:
    """The smallest of LIMITS that covers 90 % of the absolute differences; the largest if none does."""
    sizes = np.abs(np.concatenate([part.differences.ravel() for part in parts]))
    most = np.nanquantile(sizes, 0.9)
    return next((limit for limit in LIMITS if limit >= most), LIMITS[-1])
