"""tanti2021: numbers that the authors released with their code, next to ours: scores by language, and validation by epoch.

They are from mtanti/mbert-language-specificity at 7b64d0a; resources/published gives the file of each number.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs.checksums import verified
from crosslens.numerics.definitions import ACCURACY, MACRO_F1
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import IN_RECORDS, PAPER, PAPER_F1, chance, metric
from crosslens.reports import cells

F1, NATS = "macro F1", "mean over words or texts, in nats"
STAGES = ("task", "language")  # stages of a training run, each named after the head that it trains and validates


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table `languages` or `epochs`. settings: columns, recipe -> its column; select_by, the criterion for the best epoch."""
    columns = settings["columns"]
    if name == "languages":
        lines = by_language(inputs.records(), columns, inputs.published)
    else:
        definition = PAPER_F1 if settings["select_by"] == "paper" else MACRO_F1
        lines = by_epoch(validation(inputs.by_seed("history"), columns), inputs.published, definition)
    return cells.table([*lines], PAPER, name)


def by_language(records: pd.DataFrame, columns: Mapping[str, str], published: cells.Published) -> Iterator[dict[str, Any]]:
    """Lines of the table `languages`: scores of the task in each tested language, in percent.

    Like our records, the authors' code scores each language separately (experiments/fine_tune_tag/evaluate.py:413-431).
    """
    scores = records[(records["item"] == "task") & (records["language"] != "all") & (records["measure"] == "score")]
    scores = scores.assign(definition=scores["definition"].replace(IN_RECORDS))
    languages = sorted(set(scores["language"]))
    for language, definition, (recipe, column) in product(languages, (PAPER_F1, MACRO_F1, ACCURACY), columns.items()):
        values = cells.where(scores, language=language, definition=definition, recipe=recipe)
        if len(values):
            published_value = published.value("languages", language, column) if definition == PAPER_F1 else None
            level, numbers = chance(recipe.split("/")[1], definition), cells.cell(values)
            yield cells.line(language, column, metric(definition), definition, numbers, published_value, chance=level)


def validation(histories: Iterable[tuple[str, int, Path]], columns: Mapping[str, str]) -> dict[tuple[str, str], pd.DataFrame]:
    """(row, column) of the table `epochs` -> validation scores, one row per seed.

    histories: recipe, seed and history.csv of each training run.
    columns: recipe -> its name in the tables.
    """
    scores: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for recipe, seed, path in histories:
        history = pd.read_csv(verified(path))
        for stage, epoch, score in zip(history["stage"], history["epoch"], history["score"], strict=True):
            if stage in STAGES:
                place = f"{columns[recipe]}, {stage}", f"epoch {epoch}"
                scores.setdefault(place, []).append({"seed": seed, "value": score})
    return {place: pd.DataFrame(values) for place, values in scores.items()}


def by_epoch(
    scores: Mapping[tuple[str, str], pd.DataFrame], published: cells.Published, definition: str
) -> Iterator[dict[str, Any]]:
    """Lines of the table `epochs`: a row for each validated head and a column for each epoch; epoch 0 is before training.

    Scores are in percent, entropies in nats. If `definition` is not the paper's, the authors' scores have lines of their own.
    Our histories have no entropies and no scores of adversaries.

    scores: result of `validation`.
    definition: definition of these scores.
    """
    rows = cells.where(published.table, item="epochs")
    places = zip(rows["row"], rows["column"], rows["metric"], strict=True)
    for row, epoch, metric_name in dict.fromkeys([*places, *((*place, F1) for place in scores)]):
        value, scores_here = published.value("epochs", row, epoch, metric_name), scores.get((row, epoch))
        if scores_here is not None and metric_name == F1:
            printed = value if definition == PAPER_F1 else None
            yield cells.line(row, epoch, F1, definition, cells.cell(scores_here), printed, chance=0)
            value = None if definition == PAPER_F1 else value
        if value is not None:
            yield cells.line(row, epoch, metric_name, PAPER_F1 if metric_name == F1 else NATS, {}, value)
