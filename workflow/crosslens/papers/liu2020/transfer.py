"""liu2020: table 4, XNLI with mean difference shift (section 4.3)."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from crosslens.measures.shared import shift_terms
from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.names import ALL, LAST, PAPER, THIRD, Study
from crosslens.reports import cells
from crosslens.reports.cells import Published, where

AVERAGE = "avg w/o en"
ROWS = {ALL: "finetune all layers", LAST: "finetune last 6 layers"}
SHIFTED, WEIGHT = "finetune last 6 layers + MDS", "shifting weight"
UNCHANGED = "no interval: no prediction differs"
SHIFTS = (shift_terms.SELECTED, shift_terms.ONE_WEIGHT, shift_terms.ORACLE, shift_terms.RANDOM_SELECTED)


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build table 4. settings: study, the fields of Study."""
    return cells.table(list(_lines(inputs.records(), inputs.published, Study(**settings["study"]))), PAPER, name)


def _lines(records: pd.DataFrame, published: Published, study: Study) -> Iterator[dict[str, Any]]:
    test = where(records, split="test")
    for recipe, row in ROWS.items():
        scored = where(test, recipe=recipe, measure="score", definition=ACCURACY)
        for column, languages in _columns(study, [study.source]):
            yield _cell(row, column, "accuracy", ACCURACY, scored, languages, published)
    shifted = test[test["recipe"] == LAST]
    for measure, metric in ((shift_terms.ACCURACY, "accuracy"), (shift_terms.GAIN, shift_terms.GAIN)):
        for definition, (column, languages) in product(SHIFTS, _columns(study)):
            of_definition = where(shifted, measure=measure, definition=definition)
            beside = published if metric == "accuracy" and definition == shift_terms.SELECTED else None
            yield _cell(SHIFTED, column, metric, definition, of_definition, languages, beside)
    for definition in SHIFTS:
        for language in study.nli:
            of_definition = where(shifted, measure=shift_terms.ACCURACY, definition=definition, language=language)
            numbers = cells.cell(
                of_definition.assign(value=of_definition["weight"]).drop(columns=["low", "high", "n"]), 1, score=False
            )
            printed = published.value("table4", WEIGHT, language, WEIGHT) if definition == shift_terms.SELECTED else None
            yield cells.line(WEIGHT, language, WEIGHT, definition, numbers, printed)


def _columns(study: Study, first: list[str] | None = None) -> list[tuple[str, list[str]]]:
    """(column, languages) for single languages, those in `first` at the start, and for the average without the source."""
    single = [*(first or []), *study.nli]
    return [*((language, [language]) for language in single), (AVERAGE, list(study.nli))]


def _cell(
    row: str, column: str, metric: str, definition: str, scored: pd.DataFrame, languages: list[str], published: Published | None
) -> dict[str, Any]:
    """A line with the score in one language, or with the mean over several, taken for each seed."""
    runs = scored[scored["language"].isin(languages)]
    if len(languages) > 1:
        runs = cells.mean_by_seed(runs, runs["language"].nunique())
    printed = published.value("table4", row, column, "accuracy") if published else None
    gain = metric == shift_terms.GAIN
    numbers = cells.cell(runs, score=not gain)
    remark = UNCHANGED if gain and len(languages) == len(runs) == 1 and numbers["low"] is None else ""
    return cells.line(row, column, metric, definition, numbers, printed, remark, chance=None if gain else THIRD)
