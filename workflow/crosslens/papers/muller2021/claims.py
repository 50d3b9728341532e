"""muller2021: numbers of claims.yaml that no difference of selections says: an estimate each, and of how many units it is."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Estimate, correlation, difference_of_correlations, over_languages, over_runs
from crosslens.papers.muller2021.layout import REF, recipe_name

Estimates = dict[str, tuple[Estimate, int]]
POINTS = (-100.0, 100.0)  # bounds of a difference of scores
SOURCES = ("en", "ru", "ar")


def losses(
    numbers: Sequence[pd.DataFrame], layers: Sequence[int | str], of: Literal["source", "targets", "difference"],
    before: str = REF, sources: Sequence[str] = SOURCES, by_language: bool = False,
) -> Estimates:  # fmt: skip
    """Changes of scores by re-initialised layers, by task, language of training and layers, as far as these were trained.

    numbers: scores by recipe, language and seed. before: the layers, or none, whose scores are subtracted. of: the language of
    training, all others, or how much more others change than that language does. by_language: others each by itself.
    """
    scores = pd.concat(numbers).drop_duplicates(["recipe", "language", "seed"])
    scores = scores[scores["language"] != "all"]
    values, errors = ({str(name): rows.pivot(index="language", columns="seed", values=column)
                       for name, rows in scores.groupby("recipe")} for column in ("value", "error"))  # fmt: skip
    estimates: Estimates = {}
    for task, source, after in product(scores["task"].unique(), sources, map(str, layers)):
        old, new = (recipe_name(task, source, blocks) for blocks in (before, after))
        if not {old, new} <= values.keys():
            continue
        change = (values[new] - values[old]).dropna(axis=1, how="all").dropna()
        error = (errors[new] ** 2 + errors[old] ** 2).loc[change.index, change.columns] ** 0.5
        others = change.drop(source)
        place = f"{task} from {source}, layers {after}"
        if of == "source" or by_language:
            for language in [source] if of == "source" else others.index:
                name = f"{place}, {language}" if by_language else place
                estimates[name] = _of_one(change.loc[language].to_numpy(), error.loc[language].to_numpy()), change.shape[1]
        else:
            shared = change.loc[source] if of == "difference" else 0.0
            estimates[place] = over_languages((others - shared).to_numpy(), _families(others.index), POINTS), len(others)
    return estimates


def peaks(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """The layer at which similarity is highest, mean over languages. numbers: similarity by layer, language and seed."""
    (rows,) = numbers
    table = rows.pivot(index=["language", "seed"], columns="layer", values="value")
    layers = table.idxmax(axis=1).astype(float).unstack()
    return over_languages(layers.to_numpy(), _families(layers.index)), len(layers)


def correlation_of_losses(
    numbers: Sequence[pd.DataFrame], before: str, after: str
) -> tuple[Estimate, int] | dict[str, tuple[Estimate, int]]:
    """Rank correlation over languages of the changes of two numbers, such as score and similarity, means over seeds and layers.

    before, after: re-initialised layers, or none; trained on English. {} where a scale has none of these trainings.
    """
    changes = []
    for rows in numbers:
        means = rows[rows["language"] != "all"].groupby(["recipe", "language"])["value"].mean().unstack()
        old, new = (recipe_name(rows["task"].iloc[0], "en", layers) for layers in (before, after))
        if not {old, new} <= {*means.index}:
            return {}
        changes.append(means.loc[new] - means.loc[old])
    both = pd.concat(changes, axis=1).drop("en", errors="ignore").dropna().to_numpy(float)
    return correlation(*both.T, ranks=True), len(both)


def correlation_beyond_others(numbers: Sequence[pd.DataFrame], layer: int) -> tuple[Estimate, int]:
    """Fisher's z of the rank correlation of scores with similarity at a layer less the largest of the other layers.

    numbers: scores, and similarity by layer, by language.
    """
    scores, similarity = _by_layer(*numbers)
    r = {of: correlation(similarity[of].to_numpy(), scores.to_numpy(), ranks=True).value for of in similarity}
    if layer not in r or any(map(math.isnan, r.values())):
        return Estimate(math.nan, math.nan), len(scores)
    best = max((of for of in r if of != layer), key=lambda of: r[of])
    estimate = difference_of_correlations(scores.to_numpy(), similarity[layer].to_numpy(), similarity[best].to_numpy(), ranks=True)
    return estimate, len(scores)


def spread_over_layers(numbers: Sequence[pd.DataFrame], most: str = "") -> tuple[Estimate, int]:
    """How much more the correlations of scores with similarity differ over layers after fine-tuning, mean over tasks.

    That is the standard deviation over layers of a fine-tuned encoder's rank correlations less that of the pretrained one's.
    numbers: for each task scores and similarity of the fine-tuned encoder, then similarity of the pretrained one. most: instead,
    the number of this task less the mean of the others, without an error.
    """
    *of_tasks, pretrained = numbers
    spreads = {}
    for scores, tuned in zip(of_tasks[::2], of_tasks[1::2], strict=True):
        spreads[scores["task"].iloc[0]] = _spread(scores, tuned) - _spread(scores, pretrained)
    if most:
        rest = [spread for task, spread in spreads.items() if task != most]
        return Estimate(spreads[most] - float(np.mean(rest)), math.nan), len(spreads)
    return over_runs(np.array([*spreads.values()])), len(spreads)


def languages_of_rows(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Languages of the rows of printed tables, as in EN->GERMAN, less the stated number. numbers: cells, that number."""
    rows, stated = numbers
    names = {name.partition("->")[2] for name in rows["row"]} - {"X (MEAN)"}
    return Estimate.exact(len(names) - float(stated["value"].iloc[0])), 1


def outside(numbers: Sequence[pd.DataFrame], grid: Sequence[float]) -> tuple[Estimate, int]:
    """How many numbers are not of a grid."""
    (rows,) = numbers
    return Estimate.exact(float(sum(not np.isclose(value, grid, atol=0).any() for value in rows["value"]))), len(rows)


def _of_one(values: np.ndarray, errors: np.ndarray) -> Estimate:
    """A number by its seeds, or with the error of a single one."""
    return over_runs(values, POINTS) if len(values) > 1 else Estimate(float(values[0]), float(errors[0]), bounds=POINTS)


def _spread(scores: pd.DataFrame, similarity: pd.DataFrame) -> float:
    """Standard deviation over layers of the rank correlation of scores with similarity."""
    of_language, by_layer = _by_layer(scores, similarity)
    return float(
        np.std([correlation(by_layer[layer].to_numpy(), of_language.to_numpy(), ranks=True).value for layer in by_layer])
    )


def _by_layer(scores: pd.DataFrame, similarity: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame]:
    """Scores (languages,) and similarity (languages, layers) of the languages that have both, means over seeds."""
    of_language = scores[scores["language"] != "all"].groupby("language")["value"].mean()
    layers = similarity.groupby(["language", "layer"])["value"].mean().unstack()
    languages = of_language.index.intersection(layers.index)
    return of_language[languages], layers.loc[languages]


def _families(languages: pd.Index) -> list[str]:
    return [languages_table()[code]["family"] or code for code in languages]
