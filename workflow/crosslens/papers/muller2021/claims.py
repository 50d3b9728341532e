"""muller2021: functions for effects in claims.yaml that are not simple sums of selected numbers (see effects.Functions)."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from crosslens.config.base import families_of, languages_table
from crosslens.numerics.estimates import Estimate, correlation, difference_of_correlations, over_runs
from crosslens.papers.muller2021.names import ALL_EMBEDDINGS, REF, recipe_name

SOURCES = ("en", "ru", "ar")  # training languages
TASKS = {"parsing": "parsing", "pos": "tagging", "ner": "NER"}  # task -> its name in an effect


def losses(
    numbers: Sequence[pd.DataFrame], layers: Sequence[int | str], quantity: Literal["source", "targets", "difference"],
    before: str = REF, sources: Sequence[str] = SOURCES, by_family: bool = False,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Changes of scores when layers are re-initialised, by task, training language and set of layers.

    Combinations without training runs are omitted.

    numbers: scores by recipe, language and seed.
    layers: sets of re-initialised layers, named as in training runs, such as 1-2.
    quantity: changes in the training language, in the other languages, or the second minus the first.
    before: re-initialised layers of the training runs whose scores are subtracted; REF for none. With any other value, `layers`
        must be a single set, since the names of the results omit it.
    sources: training languages.
    by_family: whether to return the changes in the other languages separately for each family; ignored for "source".
    """
    scores = pd.concat(numbers).drop_duplicates(["recipe", "language", "seed"])
    scores = scores[scores["language"] != "all"]
    values = {str(name): rows.pivot(index="language", columns="seed", values="value") for name, rows in scores.groupby("recipe")}
    results: dict[str, pd.DataFrame] = {}
    for task, source, after in product(scores["task"].unique(), sources, map(str, layers)):
        recipes = [recipe_name(task, source, layers_of_recipe) for layers_of_recipe in (after, before)]
        if not {*recipes} <= values.keys():
            continue
        change: Any = (values[recipes[0]] - values[recipes[1]]).dropna(axis=1, how="all").dropna()
        place, targets = f"{TASKS[task]} from {languages_table()[source]['name']}", change.drop(source)
        if before == REF:
            place += f", {_in_words(after)}"
        if quantity == "source":
            tables = {place: change.loc[[source]]}
        elif by_family:
            tables = {f"{place}, {family}": rows for family, rows in targets.groupby(families_of(targets.index))}
        else:
            tables = {place: targets - change.loc[source] if quantity == "difference" else targets}
        for rows in tables.values():
            rows.attrs["recipes"] = recipes
        results |= tables
    return results


def peaks(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The layer with the highest similarity, by language and seed.

    numbers: similarity by layer, language and seed.
    """
    (rows,) = numbers
    table = rows.pivot(index=["language", "seed"], columns="layer", values="value")
    return table.idxmax(axis=1).astype(float).unstack()


def same_trend(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rank correlation, over layers, of the similarities in two encoders, by language and by seed of the first encoder.

    numbers: similarity by layer, language and seed of each encoder; the second has one seed.
    """
    first, second = (rows.pivot(index=["language", "seed"], columns="layer", values="value") for rows in numbers)
    reference = second.groupby("language").mean().reindex(first.index.get_level_values("language")).set_axis(first.index)
    return first.corrwith(reference[first.columns], axis=1, method="spearman").unstack()


def losses_of_both(numbers: Sequence[pd.DataFrame], before: str, after: str) -> pd.DataFrame | dict[str, pd.DataFrame]:
    """Changes of two quantities, such as score and similarity, as x and y by language; {} if a training run is missing.

    numbers: values of each quantity in training runs on English; they are averaged over seeds and layers.
    before, after: sets of re-initialised layers between which the change is measured; REF for none.
    """
    changes = []
    for rows in numbers:
        means = rows[rows["language"] != "all"].groupby(["recipe", "language"])["value"].mean().unstack()
        old, new = (recipe_name(rows["task"].iloc[0], "en", layers) for layers in (before, after))
        if not {old, new} <= {*means.index}:
            return {}
        changes.append(means.loc[new] - means.loc[old])
    return pd.concat(changes, axis=1, keys=["x", "y"]).drop("en", errors="ignore").dropna()


def correlation_beyond_others(numbers: Sequence[pd.DataFrame], layer: int) -> tuple[Estimate, int]:
    """Rank correlation of scores with similarity at a layer minus the largest one at any other layer, as Fisher's z.

    numbers: scores by language, and similarity by language and layer.
    """
    scores, similarity = _by_layer(*numbers)
    r = {column: correlation(similarity[column].to_numpy(), scores.to_numpy(), ranks=True).value for column in similarity}
    if layer not in r or any(map(math.isnan, r.values())):
        return Estimate(math.nan, math.nan), len(scores)
    best = max((column for column in r if column != layer), key=lambda column: r[column])
    variables = (values.to_numpy() for values in (scores, similarity[layer], similarity[best]))
    return difference_of_correlations(*variables, ranks=True, families=families_of(scores.index)), len(scores)


def spread_over_layers(numbers: Sequence[pd.DataFrame], task: str = "") -> tuple[Estimate, int]:
    """How much fine-tuning increases the spread over layers of the correlation between scores and similarity, mean over tasks.

    The spread is the standard deviation, over layers, of the rank correlation over languages.

    numbers: for each task, scores and similarity of the fine-tuned encoder; last, similarity of the pretrained encoder.
    task: if not empty, the result is the increase for this task minus the mean of the other tasks, without an error.
    """
    *tuned, pretrained = numbers
    increases = {}
    for scores, similarity in zip(tuned[::2], tuned[1::2], strict=True):
        increases[scores["task"].iloc[0]] = _spread(scores, similarity) - _spread(scores, pretrained)
    if task:
        rest = [increase for key, increase in increases.items() if key != task]
        return Estimate(increases[task] - float(np.mean(rest)), math.nan), len(increases)
    return over_runs(np.array([*increases.values()])), len(increases)


def languages_of_rows(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Number of target languages in the rows of printed tables, such as EN->GERMAN, minus the number that the paper states.

    numbers: cells of the tables, and the stated number.
    """
    rows, stated = numbers
    names = {name.partition("->")[2] for name in rows["row"]} - {"X (MEAN)"}
    return Estimate.exact(len(names) - float(stated["value"].iloc[0])), 1


def outside(numbers: Sequence[pd.DataFrame], grid: Sequence[float]) -> tuple[Estimate, int]:
    """Number of values that a grid does not have."""
    (rows,) = numbers
    return Estimate.exact(float(sum(not np.isclose(value, grid, atol=0).any() for value in rows["value"]))), len(rows)


def _in_words(layers: str) -> str:
    """Name of a set of re-initialised layers in an effect. layers: the set as named in training runs, such as 1-2."""
    if layers == ALL_EMBEDDINGS:
        return "whole encoder"
    return f"layers {layers}" if "-" in layers else f"layer {layers}"


def _spread(scores: pd.DataFrame, similarity: pd.DataFrame) -> float:
    """Standard deviation over layers of the rank correlation of scores with similarity."""
    by_language, by_layer = _by_layer(scores, similarity)
    return float(
        np.std([correlation(by_layer[layer].to_numpy(), by_language.to_numpy(), ranks=True).value for layer in by_layer])
    )


def _by_layer(scores: pd.DataFrame, similarity: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame]:
    """Scores (n_languages,) and similarity (n_languages, n_layers) of the languages that have both, means over seeds."""
    by_language = scores[scores["language"] != "all"].groupby("language")["value"].mean()
    layers = similarity.groupby(["language", "layer"])["value"].mean().unstack()
    languages = by_language.index.intersection(layers.index)
    return by_language[languages], layers.loc[languages]
