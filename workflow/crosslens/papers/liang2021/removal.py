"""liang2021: figure 4, tagging without the first directions of the last layer's language subspace."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.errors import DataError
from crosslens.figures.curves import Curve, panels
from crosslens.figures.style import look
from crosslens.heads import TASK
from crosslens.measures.definitions import CHUNK_MICRO_F1
from crosslens.papers.inputs import Inputs
from crosslens.papers.liang2021.layout import TASKS, Study
from crosslens.papers.wording import by_seeds

LOOKS: Mapping[bool, tuple[str, Mapping[str, str | float]]] = {
    True: ("random directions", {"color": "#707070", "linewidth": 0.9, "linestyle": "--"}),
    False: ("language directions", look(0)),
}
FROZEN, TUNED = "frozen encoder", "fine-tuned encoder"


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """A figure. settings: study, the fields of Study; removals, by task: recipe, head, first and random of each training."""
    return removal(inputs.records(), Study(**settings["study"]), settings["removals"])


def removal(records: pd.DataFrame, study: Study, removals: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """A row a task, a column for the frozen and for the fine-tuned encoder: F1 by the number of removed directions.

    records: of classification, head by head. Raises DataError where nothing is left to draw.
    """
    grid: dict[str, dict[str, list[Curve]]] = {}
    scored = records[(records["definition"] == CHUNK_MICRO_F1) & (records["split"] == "test")]
    for task, parts in removals.items():
        targets = [language for language in study.languages[study.tasks[task]] if language not in study.sources[0]]
        own = scored[scored["language"].isin(targets)]
        grid[TASKS[task]] = {
            column: [
                curve
                for random, (label, style) in LOOKS.items()
                for curve in _curve(own, [part for part in parts if part["random"] == random
                                          and (part["head"] == TASK) == (column == TUNED)], label, style)
            ] for column in (FROZEN, TUNED)
        }  # fmt: skip
    if not any(curves for row in grid.values() for curves in row.values()):
        raise DataError(
            "figure4: expected scores of heads that read part of a state, found none: configure papers.liang2021.removal"
        )
    bands = by_seeds([scored["seed"].nunique()], "mean over {} seeds. Bands: their range", "of one seed")
    title = "Tagging in other languages than English without directions of the last layer"
    note = f"Mean F1 over the languages but English, {bands}."
    return panels(grid, title, note, ylabel="F1", ylim=(0, 1), xlabel="removed directions")


def _curve(
    records: pd.DataFrame, parts: Sequence[Mapping[str, Any]], name: str, style: Mapping[str, str | float]
) -> list[Curve]:  # fmt: skip
    """Mean over seeds of the mean over languages, by number of removed directions; none where there are no values."""
    places = pd.DataFrame([*parts], columns=["recipe", "head", "first", "random"]).rename(
        columns={"head": "item", "first": "layer"}
    )
    values = records.drop(columns="layer").merge(places, on=["recipe", "item"])
    means = values.groupby(["layer", "seed"], as_index=False)["value"].mean().assign(low=float("nan"), high=float("nan"))
    return [Curve.over_seeds(means, style, name)] if len(means) else []
