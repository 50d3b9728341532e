"""wu2019: figure 2, identification of a text's language from its mean hidden state at each layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.wording import by_seeds
from crosslens.papers.wu2019.names import IDENTIFICATION, UNTRAINED
from crosslens.reports.cells import NEAR
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.style import DOTTED, GREY, Look, look

LOOKS: Mapping[str, tuple[str, Look]] = {
    IDENTIFICATION: ("pretrained", look(0)),
    UNTRAINED: ("random weights", GREY),
}


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Figure 2. settings: layers, recipe -> names of its heads, from layer 0 up."""
    layers: Mapping[str, Sequence[str]] = settings["layers"]
    records = inputs.records()
    scored = records[(records["definition"] == ACCURACY) & (records["language"] == "all") & (records["split"] == "test")]
    curves = []
    for recipe, (label, style) in LOOKS.items():
        of_recipe = scored[scored["recipe"] == recipe]
        numbers = {head: number for number, head in enumerate(layers[recipe])}
        curves.append(Curve.over_seeds(of_recipe.assign(layer=of_recipe["item"].map(numbers)), style, label))
    languages = records.loc[records["language"] != "all", "language"].nunique()
    title = f"Language identification from the mean state of a text ({languages} languages)"
    bands = by_seeds([scored["seed"].nunique()], "range over {} seeds", "95 % interval over texts")
    curves.append(Curve.of(pd.DataFrame({"value": 1 / languages}, index=curves[0].x), DOTTED, "chance"))
    note = f"Linear classifiers on a frozen encoder. Bands: {bands}."
    by_layer = scored[scored["recipe"] == IDENTIFICATION].groupby("item")["value"].mean()
    if near := int((by_layer >= 1 - NEAR / 100).sum()):
        note += f" {near} of {len(by_layer)} layers, pretrained, lie at the ceiling, at most {NEAR} points below 100 %."
    return panels({"": {"": curves}}, title, note, ylabel="accuracy", unit="%", ylim=(0, 1))
