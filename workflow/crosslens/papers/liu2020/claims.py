"""liu2020: numbers of claims.yaml that no difference of selections says: an estimate each, and of how many units it is."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Estimate, correlation, over_families
from crosslens.papers.liu2020.layout import inference, pretraining
from crosslens.papers.liu2020.retrieval import last_layer
from crosslens.reports.claims.evidence import Missing

FEWEST_LAYERS = 6  # of an encoder of which a layer can be called late


def correlation_of_models(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Rank correlation over pretrained models of word retrieval with XNLI, of means over the languages that both have.

    numbers: records of word retrieval, whose last layer counts, and of heads on frozen states.
    """
    words, pairs = numbers
    words = last_layer(words)
    languages = {*words["language"]} & {*pairs["language"]}
    of_words, of_pairs = (
        rows[rows["language"].isin(languages)].groupby("recipe")["value"].mean() for rows in (words, pairs)
    )  # fmt: skip
    models = [name.removeprefix(pretraining("")) for name in of_words.index]
    models = [model for model in models if inference(model, features=True) in of_pairs.index]
    x = of_words[[pretraining(model) for model in models]].to_numpy(float)
    y = of_pairs[[inference(model, features=True) for model in models]].to_numpy(float)
    return correlation(x, y, ranks=True), len(models)


def share_with_late_best(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Percentage of the directions whose largest number is of the last but one or the last but two layer."""
    (rows,) = numbers
    top = int(rows["layer"].max())
    if top < FEWEST_LAYERS:
        raise Missing(f"an encoder of {top} blocks has no such layers")
    best = rows.loc[rows.groupby("item")["value"].idxmax(), "layer"]
    return Estimate.exact(100 * float(best.isin((top - 2, top - 1)).mean())), len(best)


def gain_of_weight(numbers: Sequence[pd.DataFrame], most: bool) -> tuple[Estimate, int]:
    """What the largest weight adds to the smallest in the layer that gains most by it, or least, over families of languages.

    numbers: scores on development data, by which the layer is selected, and on test data.
    """
    development, test = numbers
    mean = _gains(development).mean()
    of_layer = _gains(test[test["subspace"].isin(development["subspace"])])[mean.idxmax() if most else mean.idxmin()]
    families = [languages_table()[_other(item)]["family"] for item in of_layer.index]
    return over_families(of_layer.to_numpy(float), families), len(of_layer)


def range_of(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """The largest number less the smallest."""
    (rows,) = numbers
    return Estimate.exact(float(np.ptp(rows["value"]))), len(rows)


def _gains(rows: pd.DataFrame) -> pd.DataFrame:
    """What the largest weight adds to the smallest, (directions, layers)."""
    of_weights = [
        rows[rows["weight"] == weight].pivot_table(index="item", columns="layer", values="value")
        for weight in (rows["weight"].min(), rows["weight"].max())
    ]
    gains: pd.DataFrame = of_weights[1] - of_weights[0]
    return gains


def _other(item: str) -> str:
    """The language of a direction, such as en->de, that is not English."""
    return next(code for code in item.split("->") if code != "en")
