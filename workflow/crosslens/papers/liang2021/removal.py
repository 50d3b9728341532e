"""liang2021: figure 4, tagging without the first directions of the last layer's language subspace."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.config.heads import TASK
from crosslens.jobs.errors import DataError
from crosslens.numerics.definitions import CHUNK_MICRO_F1
from crosslens.papers.inputs import Inputs
from crosslens.papers.liang2021.names import TASKS, Study
from crosslens.papers.wording import by_seeds
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.style import DOTTED, Look, look

LOOKS: Mapping[bool, tuple[str, Look]] = {
    True: ("random directions", DOTTED),
    False: ("language directions", look(0)),
}
FROZEN, TUNED = "frozen encoder", "fine-tuned encoder"


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 4. settings: study, the fields of Study; removals, task -> recipe, head, first and random of each head."""
    return removal(inputs.records(), Study(**settings["study"]), settings["removals"])


def removal(records: pd.DataFrame, study: Study, removals: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Draw F1 lost without the first directions: a row for each task, a column for the frozen and the fine-tuned encoder.

    The loss is F1 with all directions minus F1 without the first x, averaged over all languages as in the paper.
    records: scores of heads; removals: task -> recipe, head, first and random of each head. Raises DataError if there is no
    curve.
    """
    grid: dict[str, dict[str, list[Curve]]] = {}
    scored = records[(records["definition"] == CHUNK_MICRO_F1) & (records["split"] == "test")]
    for task, parts in removals.items():
        scores = scored[scored["language"].isin(study.languages[study.tasks[task]])]
        tuned = [part for part in parts if part["head"] == TASK]
        frozen = [part for part in parts if part["head"] != TASK]
        grid[TASKS[task]] = {FROZEN: _curves(scores, frozen), TUNED: _curves(scores, tuned)}
    if not any(curves for row in grid.values() for curves in row.values()):
        raise DataError(
            "figure4: expected scores of heads that read part of a state, found none: configure papers.liang2021.removal"
        )
    bands = by_seeds([scored["seed"].nunique()], "mean over {} seeds. Bands: their range", "of one seed")
    title = "Loss of tagging scores without directions of the last layer"
    note = f"F1 from all directions less F1 without some, mean over all languages, {bands}."
    return panels(grid, title, note, ylabel="loss of F1", unit="points", ylim=(0, 0.1), xlabel="removed directions")


def _curves(records: pd.DataFrame, parts: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """Curves of the loss, averaged over languages and seeds, by number of removed directions; none without values.

    Heads are compared with the head that reads all directions in the same coordinates, since AdamW depends on these.
    """
    places = pd.DataFrame([*parts], columns=["recipe", "head", "first", "random"]).rename(columns={"head": "item"})
    means = records.merge(places, on=["recipe", "item"]).groupby(["random", "seed", "first"], as_index=False)["value"].mean()
    whole = means[means["first"] == 0].set_index(["random", "seed"])["value"].rename("whole")
    means = means.join(whole, on=["random", "seed"])
    losses = means.assign(value=means["whole"] - means["value"], layer=means["first"], low=np.nan, high=np.nan)
    kinds = {random: losses[losses["random"] == random] for random in LOOKS}
    return [Curve.over_seeds(kinds[random], style, name) for random, (name, style) in LOOKS.items() if len(kinds[random])]
