"""liu2020: functions named in claims.yaml, for effects that are not sums of selected numbers (effects.Functions)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslens.numerics.estimates import Estimate, correlation
from crosslens.papers.liu2020.names import nli, pretraining
from crosslens.reports.cells import last_layer
from crosslens.reports.claims.effects import aligned
from crosslens.reports.claims.evidence import Missing, Unconfigured

FEWEST_LAYERS = 6  # fewest layers of an encoder for which some can be called late


def correlation_of_models(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Rank correlation, over pretrained models, of word retrieval with XNLI accuracy; and the number of models.

    Both scores are means over the languages that both have.
    numbers: records of word retrieval, of which only the last layer counts, and records of heads on frozen states.
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
    """Percentage of translation directions that score highest in the second or third layer from the top.

    Raises Missing if there are fewer than FEWEST_LAYERS layers.

    numbers: scores by direction and layer.
    """
    (rows,) = numbers
    top = int(rows["layer"].max())
    if top < FEWEST_LAYERS:
        raise Missing(f"an encoder with {top} layers has no such layers")
    best = rows.loc[rows.groupby("item")["value"].idxmax(), "layer"]
    return Estimate.exact(100 * float(best.isin((top - 2, top - 1)).mean())), len(best)


def gain_of_weight(numbers: Sequence[pd.DataFrame], most: bool) -> pd.DataFrame:
    """Gain of the largest weight over the smallest on test data, at one layer, by translation direction, (n_directions, 1).

    numbers: scores on development data, which select the layer, and on test data.
    most: whether to take the layer with the largest mean gain; otherwise the one with the smallest.
    """
    development, test = numbers
    mean = _gains(development).mean()
    # Test records also have negative weights and other definitions of a language's mean.
    same = test["subspace"].isin(development["subspace"]) & test["weight"].isin(development["weight"])
    gains = _gains(test[same])[mean.idxmax() if most else mean.idxmin()]
    return gains.to_frame(0)


def last_layers(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Word-retrieval scores by direction and seed: sum over the first half of the models minus sum over the second half.

    numbers: records of word retrieval for each model, of which only the last layer counts. A model with a single seed is paired
    with every seed of the others.
    """
    tables = [last_layer(rows).pivot_table(index="item", columns="seed", values="value") for rows in numbers]
    scores, half = aligned(tables), len(tables) // 2
    return (sum(scores[1:half], scores[0]) - sum(scores[half + 1 :], scores[half])).dropna()


def range_of(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Largest minus smallest of the selected numbers, and how many there are."""
    (rows,) = numbers
    return Estimate.exact(float(np.ptp(rows["value"]))), len(rows)


def agreement_of_weights(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Weight selected with the first seed (x) and mean weight selected with the other seeds (y), by language.

    Raises Unconfigured if all rows have the same seed.

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
