"""liu2020: claims of the text that no table of the paper shows, measured here, with verdicts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crosslens.config.heads import TASK
from crosslens.measures import shifts
from crosslens.numerics.intervals import families_interval, standard_error
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import learned
from crosslens.papers.liu2020.layout import LAST, PAPER, STATIC, Study, alpha, inference, pretraining, title
from crosslens.papers.liu2020.learned import FROZEN, RETRIEVED, TUNED
from crosslens.papers.liu2020.retrieval import RANK, last_layer
from crosslens.reports import cells
from crosslens.reports.cells import rounded, where
from crosslens.reports.verdicts import NOT_DECIDED, Model, unlearned, verdict
from crosslens.storage import parquet

OVER_LANGUAGES = "difference, mean over families of languages, in percentage points"
Scores = pd.Series | pd.DataFrame
"""Scores by language or direction, in percent; where languages share test pairs, a row a pair."""
SHARES = "share of subwords, mean over directions, in percent"


class Claim(NamedTuple):
    """A claim that a number is above 0 (sign 1) or below 0 (sign -1)."""

    text: str
    sign: int = 1


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each claim and condition. settings: study, the fields of Study."""
    study, records = Study(**settings["study"]), inputs.records()
    pairs = _pairs(inputs.by_seed("predictions"), study.source)
    return cells.table([*_models(records, pairs, study), *_tokens(records, study), *_transfer(records, study)], PAPER, name)


def _pairs(predictions: Iterable[tuple[str, int, Path]], source: str) -> dict[str, pd.DataFrame]:
    """Recipe -> percentage of its trainings that are right at each test pair, (n_pairs, n_languages), without the source."""
    right = defaultdict(list)
    for recipe, _, path in predictions:
        table = parquet.read(path).to_pandas()
        table = table[(table["head"] == TASK) & (table["split"] == "test") & (table["language"] != source)]
        table = table.assign(right=100.0 * (table["gold"].str[0] == table["predicted"].str[0]))
        right[recipe].append(table.pivot(index="id", columns="language", values="right"))
    return {recipe: pd.concat(tables).groupby(level=0).mean() for recipe, tables in right.items()}


def _models(records: pd.DataFrame, pairs: Mapping[str, pd.DataFrame], study: Study) -> Iterator[dict[str, Any]]:
    """Claims about static embeddings and BERT by amount of text, and about windows."""
    less, more = study.sizes
    window = f"bert-{study.windows[0]}"
    scores, model_of = _scores(records, pairs, study), learned.models(records, study)
    for size, claim in (
        (less, Claim("static embeddings are better with less text", -1)),
        (more, Claim("BERT is better with more text")),
    ):
        for static in STATIC:
            for task, by_model in scores.items():
                names = [f"{model}/{size}" for model in (static, window)]
                if all(name in by_model for name in names):
                    row = f"{title(window)} less {STATIC[static]}, {task}"
                    pair = [model_of(task, name) for name in names]
                    yield _difference(row, size, claim, pair, study, by_model[names[0]], by_model[names[1]])
    for short in study.windows[1:]:
        gaps, models = {}, {}
        for task, by_model in scores.items():
            for size in (less, more):
                names = [f"bert-{length}/{size}" for length in (short, study.windows[0])]
                if all(name in by_model for name in names):
                    row = f"{title(window)} less {title(f'bert-{short}')}, {task}"
                    pair = models[task, size] = [model_of(task, name) for name in names]
                    yield _difference(row, size, Claim("a short window costs"), pair, study, *(by_model[name] for name in names))
                    gaps[task, size] = by_model[names[1]] - by_model[names[0]]
            if {(task, less), (task, more)} <= gaps.keys():
                row = f"{title(window)} less {title(f'bert-{short}')}, {task}"
                claim = Claim("a short window costs more with more text")
                pairs_of_both = [*models[task, less], *models[task, more]]
                yield _difference(row, f"{more} less {less}", claim, pairs_of_both, study, gaps[task, less], gaps[task, more])


def _scores(records: pd.DataFrame, pairs: Mapping[str, pd.DataFrame], study: Study) -> dict[str, dict[str, Scores]]:
    """Task -> model -> scores by language, mean over seeds."""
    retrieved = last_layer(where(records, definition=RANK))
    retrieved = retrieved[retrieved["item"].str.startswith(f"{study.source}-")]
    by_recipe: dict[str, Scores] = dict(pairs)
    for recipe, rows in retrieved.groupby("recipe"):
        by_recipe[str(recipe)] = 100 * rows.groupby("language")["value"].mean()
    by_task: dict[str, dict[str, Scores]] = {RETRIEVED: {}, FROZEN: {}, TUNED: {}}
    for model in study.models:
        recipes = pretraining(model), inference(model, features=True), inference(model)
        for of_task, recipe in zip(by_task.values(), recipes, strict=True):
            of_task |= {model: by_recipe[recipe]} if recipe in by_recipe else {}
    return by_task


def _difference(
    row: str, column: str, claim: Claim, models: Sequence[Model], study: Study, before: Scores, after: Scores, *, error: float = 0
) -> dict[str, Any]:  # fmt: skip
    """A line: after less before, paired by language or direction, with the verdict and in how many of these the claim holds.

    models: that are compared; error: the standard error that the languages share, where the scores are not of test pairs.
    """
    of_both: Any = after - before
    if isinstance(of_both, pd.DataFrame):
        of_both, error = of_both.mean(), float(np.std(of_both.mean(axis=1), ddof=1) / np.sqrt(len(of_both)))
    of_both = of_both.dropna()
    differences = of_both.to_numpy(float)
    families = [study.family(place) for place in of_both.index]
    value, low, high = families_interval(differences, families, error)
    numbers = cells.estimate(value, low, high) | {"seeds": _fewest_seeds(models), "n": len(differences)}
    decision = verdict(claim.sign, low, high, len({*families}), models)
    agreement = f"as claimed in {np.count_nonzero(claim.sign * differences > 0)} of {len(differences)}"
    return cells.line(row, column, OVER_LANGUAGES, claim.text, numbers, None, [decision, agreement])


def _tokens(records: pd.DataFrame, study: Study) -> Iterator[dict[str, Any]]:
    """Claims of section 4.2 about single subwords."""
    test = where(records, split="test")
    test = test[test["item"].fillna("").str.contains("->")]  # a classifier's accuracies have the same definitions
    shifted = where(test, definition=shifts.SHIFT)
    first = shifted["subspace"].iloc[0] if len(shifted) else None
    shifted = where(shifted, subspace=first)
    model = learned.translator(records, study)
    against, outside = (shifts.SHARES[kind] for kind in ("source", "neither"))
    for weight in sorted({weight for weight in shifted["weight"] if weight < 0}, reverse=True):
        of_weight = where(shifted, weight=weight)
        for column, measure in (("subwords of the target", shifts.CONVERT_RATE), (against, against)):
            statement = "negative weights give the source language"
            yield _share(statement, f"{alpha(weight)}, {column}", where(of_weight, measure=measure), model)
    positive = shifted[shifted["weight"] > 0]
    for weight in sorted(set(positive["weight"])):
        rows = where(positive, weight=weight, measure=outside)
        yield _share("outputs are of one of the two languages", f"{alpha(weight)}, {outside}", rows, model)
    masked = where(test, definition=shifts.MASKED)
    for measure, column in ((shifts.SHARES["target"], ""), (shifts.PROBABILITY, "probability of ")):
        statement = "masked subwords are hardly ever another language's"
        yield _share(statement, f"without shift, {column}subwords of another language", where(masked, measure=measure), model)
    layers = _compared(test)
    yield from _rises(where(layers, definition=shifts.SHIFT, measure=shifts.CONVERT_RATE, subspace=first), model, study)
    for weight in sorted({weight for weight in layers["weight"] if weight > 0}):
        rates = where(layers, weight=weight, measure=shifts.CONVERT_RATE, subspace=first)
        by_item = {d: where(rates, definition=d).set_index("item")["value"] for d in (shifts.RANDOM, shifts.SHIFT)}
        claim = Claim("the shift turns the language, beyond a random vector")
        yield _difference("convert rate, shift less random direction", alpha(weight), claim, [model], study,
                          *(100 * by_item[d] for d in (shifts.RANDOM, shifts.SHIFT)))  # fmt: skip


def _rises(rates: pd.DataFrame, model: Model, study: Study) -> Iterator[dict[str, Any]]:
    """The convert rate of each positive weight less that of the one before, by direction."""
    claim = Claim("the convert rate rises with the weight")
    for lower, higher in pairwise(sorted({weight for weight in rates["weight"] if weight > 0})):
        by_item = [100 * where(rates, weight=weight).set_index("item")["value"] for weight in (lower, higher)]
        column = f"{alpha(higher)} less {alpha(lower)}"
        yield _difference("convert rate by weight", column, claim, [model], study, *by_item)


def _compared(test: pd.DataFrame) -> pd.DataFrame:
    """Records at the layer at which random directions were added with every weight."""
    random = where(test, definition=shifts.RANDOM)
    if random.empty:
        return random
    weights = random.groupby("layer")["weight"].nunique()
    at_layer: pd.DataFrame = test[test["layer"] == weights.idxmax()]
    return at_layer


def _share(claim: str, column: str, rows: pd.DataFrame, model: Model) -> dict[str, Any]:
    """A line: a share that is claimed to be nearly all or none, with its range over directions in the remark.

    A direction that was translated at several layers counts once, with the mean over these. Where the model learned nothing, the
    remark says so; there is no verdict.
    """
    by_direction = 100 * rows.dropna(subset="value").groupby("item")["value"].mean()
    if by_direction.empty:
        return cells.line(claim, column, SHARES, claim, {"here": None})
    numbers = {"here": rounded(float(by_direction.mean())), "seeds": _fewest_seeds([model]), "n": len(by_direction)}
    layers = rows["layer"].nunique()
    remarks = [
        f"{by_direction.min():.1f} to {by_direction.max():.1f} by direction",
        f"of a direction the mean over {layers} layers" if layers > 1 else "",
        f"{NOT_DECIDED}: {reason}" if (reason := unlearned(model)) else "",
    ]
    return cells.line(claim, column, SHARES, claim, numbers, None, remarks)


def _fewest_seeds(models: Sequence[Model]) -> int:
    """Number of seeds that a comparison of models rests on; a model that is not trained here is measured with one."""
    return min(model.seeds or 1 for model in models)


def _transfer(records: pd.DataFrame, study: Study) -> Iterator[dict[str, Any]]:
    """Claims about the gain of the shift on XNLI, beside that of a random vector."""
    gains = where(records, recipe=LAST, measure=shifts.GAIN)
    for definition in (shifts.SELECTED, shifts.ONE_WEIGHT, shifts.RANDOM_SELECTED):
        rows = where(gains, definition=definition)
        by_language = 100 * rows[rows["language"] != "all"].groupby("language")["value"].mean()
        of_all = where(rows, language="all")
        errors = standard_error(*(of_all[name].to_numpy(float) for name in ("low", "high", "n")))
        if len(by_language):
            claim = Claim("mean difference shift helps XNLI")
            nothing = pd.Series(0.0, index=by_language.index)
            model = learned.classifier(records, study)
            error = 100 * float(errors.mean()) if len(errors) else 0.0  # of all seeds alike: their pairs are the same
            yield _difference("XNLI, gain over no shift", definition, claim, [model], study, nothing, by_language, error=error)
