"""wu2019, figure 3: zero-shot scores of each task against the overlap of subwords with its English training data."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.numerics.correlation import LEAST, over_languages
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.names import DEFINITIONS, METRICS, TASKS
from crosslens.papers.wu2019.overlap import ALL, TOKEN, TYPE, Texts, overlaps
from crosslens.reports import cells
from crosslens.reports.figures.points import Panel, panels
from crosslens.reports.figures.style import FAMILY_MARKS, families

LABELS = {TYPE: "overlap by type (% of the test set's different subwords)", TOKEN: "overlap by token (% of its subwords)"}


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Figure 3: a row for overlap by type and one for overlap by token, and a column for each task.

    settings: the fields of Texts; recipes, task -> recipe of its zero-shot transfer.
    """
    recipes = settings["recipes"]
    texts = Texts(**{field: settings[field] for field in Texts._fields})
    return figure_of(cells.where(overlaps(inputs, texts), definition=ALL), inputs.records(), recipes, texts)


def figure_of(measured: pd.DataFrame, records: pd.DataFrame, recipes: Mapping[str, str], texts: Texts) -> Figure:
    """Figure 3 from measured overlaps and scores.

    measured: result of `overlaps` for all subwords; records: scores; recipes: task -> recipe of its zero-shot transfer.
    """
    classes = families(texts.languages)
    joined = {task: _joined(cells.where(measured, task=task), records, task, recipe) for task, recipe in recipes.items()}
    points_by_task = {task: points for task, points in joined.items() if len(points)}
    grid = [
        [_panel(points_by_task[task], overlap, TASKS[task] if overlap == TYPE else "", texts, classes) for task in points_by_task]
        for overlap in LABELS
    ]
    note = (
        "A point a language. r: Pearson's correlation over n target languages, with its two-sided p; the source of transfer is "
        f"hollow and left out, but for the r that says so (with {texts.source}). No r of fewer than {LEAST} languages."
    )
    metrics = [f"{METRICS[task]} (%)" for task in points_by_task]
    heading = "Overlap of subwords and zero-shot scores"
    return panels(grid, list(LABELS.values()), metrics, FAMILY_MARKS, heading, note, bounds=(0, 100))


def _joined(measured: pd.DataFrame, records: pd.DataFrame, task: str, recipe: str) -> pd.DataFrame:
    """Overlaps (fractions) and score (mean over seeds, in percent) by language, for languages that have both."""
    scored = cells.where(records, recipe=recipe, split="test", definition=DEFINITIONS[task])
    scores = 100 * scored.groupby("language")["value"].mean()
    return measured.set_index("language").assign(score=scores).dropna(subset=["score", TYPE, TOKEN])


def _panel(points: pd.DataFrame, overlap: str, title: str, texts: Texts, classes: Mapping[str, str]) -> Panel:
    x, y = 100 * points[overlap].to_numpy(dtype=float), points["score"].to_numpy(dtype=float)
    hollow = (points.index == texts.source).astype(bool)
    lines = filter(None, [title, *_correlation(x, y, hollow, texts.source, np.array(texts.families(points.index)))])
    return Panel(x, y, list(points.index), [classes[code] for code in points.index], hollow, "\n".join(lines))


def _correlation(x: np.ndarray, y: np.ndarray, hollow: np.ndarray, source: str, relatives: np.ndarray) -> list[str]:
    """Lines of text on the correlation; for fewer than LEAST languages just n, since a few points correlate by chance.

    hollow: (n,) bool, whether a point is the source; relatives: (n,), families.
    """
    correlation = over_languages(x[~hollow], y[~hollow], relatives[~hollow].tolist())
    if correlation.n < LEAST:
        return [f"n = {correlation.n}, too few for r"]
    p = "" if np.isnan(correlation.p) else ", p < 0.001" if correlation.p < 0.001 else f", p = {correlation.p:.3f}"
    with_source = over_languages(x, y, relatives.tolist()).r
    return [f"r {_number(correlation.r, '= ')}{p}", f"n = {correlation.n}; with {source} {_number(with_source)}"]


def _number(r: float, before: str = "") -> str:
    return "undefined" if np.isnan(r) else f"{before}{r:.2f}"
