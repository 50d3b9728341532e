"""liu2020: functions that claims.yaml names, for effects that are no sums of selected numbers (effects.Functions)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslens.numerics.estimates import Estimate, correlation
from crosslens.papers.liu2020.names import nli, pretraining
from crosslens.reports.cells import last_layer
from crosslens.reports.claims.effects import aligned
from crosslens.reports.claims.evidence import Missing, Unconfigured

FEWEST_LAYERS = 6  # of an encoder with layers that can be called late


def correlation_of_models(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Rank correlation over pretrained models of word retrieval with XNLI, from means over the languages that both have.

    numbers: records of word retrieval, of which the last layer counts, and of heads on frozen states.
    """
    words, pairs = numbers
    words = last_layer(words)
    languages = {*words["language"]} & {*pairs["language"]}
    retrieval, accuracy = (
        rows[rows["language"].isin(languages)].groupby("recipe")["value"].mean() for rows in (words, pairs)
    )  # fmt: skip
    models = [name.removeprefix(pretraining("")) for name in retrieval.index]
    models = [model for model in models if nli(model, features=True) in accuracy.index]
    x = retrieval[[pretraining(model) for model in models]].to_numpy(float)
    y = accuracy[[nli(model, features=True) for model in models]].to_numpy(float)
    return correlation(x, y, ranks=True), len(models)


def share_with_late_best(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Percentage of the directions of translation that score highest in the second or third layer from the top.

    numbers: scores by direction and layer.
    """
    (rows,) = numbers
    top = int(rows["layer"].max())
    if top < FEWEST_LAYERS:
        raise Missing(f"an encoder with {top} layers has no such layers")
    best = rows.loc[rows.groupby("item")["value"].idxmax(), "layer"]
    return Estimate.exact(100 * float(best.isin((top - 2, top - 1)).mean())), len(best)


def gain_of_weight(numbers: Sequence[pd.DataFrame], most: bool) -> pd.DataFrame:
    """Gain of the largest weight over the smallest in one layer, by direction of translation.

    numbers: scores on development data, by which the layer is selected, and on test data.
    most: whether it is the layer with the largest gain; otherwise it is that with the smallest.
    """
    development, test = numbers
    mean = _gains(development).mean()
    # Test records also have negative weights, and other ways to take the means of languages.
    same = test["subspace"].isin(development["subspace"]) & test["weight"].isin(development["weight"])
    gains = _gains(test[same])[mean.idxmax() if most else mean.idxmin()]
    return gains.to_frame(0)


def last_layers(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Scores of word retrieval by direction and seed: those of the first half of the models less those of the second half.

    numbers: records of word retrieval by models, of which the last layer counts. A model with one seed is taken as it is.
    """
    tables = [last_layer(rows).pivot_table(index="item", columns="seed", values="value") for rows in numbers]
    scores, half = aligned(tables), len(tables) // 2
    return (sum(scores[1:half], scores[0]) - sum(scores[half + 1 :], scores[half])).dropna()


def range_of(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Range of the selected numbers."""
    (rows,) = numbers
    return Estimate.exact(float(np.ptp(rows["value"]))), len(rows)


def agreement_of_weights(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The weight selected with the first seed and the mean of those selected with the others, as x and y by language.

    Raises Unconfigured where all rows are of one seed.

    numbers: rows of selected weights, by language and seed.
    """
    (rows,) = numbers
    weights = rows[rows["language"] != "all"].pivot_table(index="language", columns="seed", values="weight")
    if weights.shape[1] < 2:
        raise Unconfigured("weights of one seed agree with no others")
    return pd.DataFrame({"x": weights.iloc[:, 0], "y": weights.iloc[:, 1:].mean(axis=1)})


def _gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Gains of the largest weight over the smallest, (n_directions, n_layers)."""
    smallest, largest = (
        rows[rows["weight"] == weight].pivot_table(index="item", columns="layer", values="value")
        for weight in (rows["weight"].min(), rows["weight"].max())
    )
    gains: pd.DataFrame = largest - smallest
    return gains
