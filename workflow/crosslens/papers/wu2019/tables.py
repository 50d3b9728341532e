"""wu2019: tables 1 to 6."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from crosslens.numerics.definitions import (
    ACCURACY,
    F1,
    F1_BY_WINDOW,
    F1_MISC_AS_O,
    LAS_WITHOUT_PUNCTUATION,
    LAS_WITHOUT_ROOTS,
    UAS_WITHOUT_PUNCTUATION,
)
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.names import FULL, METRICS, PAPER, RELEASED_ROOT, TABLES, TAGS, TASKS, Study, Variant
from crosslens.papers.wu2019.scores import Scores, subset, uneven
from crosslens.reports import cells
from crosslens.reports.cells import Published

OURS = "mBERT"  # last part of the names of rows with the paper's own models
ZERO_SHOT = "Zero-shot"  # beginning of rows with zero-shot transfer; in other rows, OURS is trained in each language
ALL = "all configured"
WAYS: Mapping[str, Sequence[str]] = {
    "topic": (ACCURACY,), "nli": (ACCURACY,), "ner": (F1, F1_BY_WINDOW, F1_MISC_AS_O), "pos": (ACCURACY,),
}  # fmt: skip
"""Task -> definitions of its scores. All but F1_MISC_AS_O are compared with the published values.

The released code computes F1_BY_WINDOW.
"""
OF_TREES = {UAS_WITHOUT_PUNCTUATION: "UAS", LAS_WITHOUT_PUNCTUATION: "LAS", LAS_WITHOUT_ROOTS: "LAS"}
DISTANCE, RELEASED = "distance", "mBERT(Z), released root"
PARSERS: Mapping[str, Variant | None] = {"mBERT(S)": None, "mBERT(Z)": FULL, "mBERT(Z+POS)": TAGS, RELEASED: RELEASED_ROOT}
"""Column of table 6 -> variant that is trained on the source; None: trained in each language."""
ROOT = "the printed LAS fits a parser that never finds root words"
HAS_TEST = "1 where the task has a test set in the language"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table `name`. settings: study, the fields of Study."""
    study = Study(**settings["study"])
    return table_of(name, pd.DataFrame() if name == "table1" else inputs.records(), inputs.published, study)


def table_of(name: str, records: pd.DataFrame, published: Published, study: Study) -> pd.DataFrame:
    """Table `name`, in percent: a line for each printed cell and definition, then further languages.

    Rows cited from other papers have only printed values. Our means cover the configured languages among those of the printed
    mean; if further languages are configured, a mean over all of them follows.
    """
    if name == "table1":
        lines = _tasks(published, study)
    elif name == TABLES["parsing"]:
        lines = _parsing(name, Scores(records), published, study)
    else:
        lines = _scores(name, Scores(records), published, study)
    return cells.table([*lines], PAPER, name)


def _tasks(published: Published, study: Study) -> Iterator[dict[str, Any]]:
    """Lines of table 1: 1 if a task has test data in a language, else 0. The printed languages are taken from tables 2 to 6."""
    printed = {task: _printed(published, table) for task, table in TABLES.items()}
    codes = sorted({code for languages in (*printed.values(), *study.tests.values()) for code in languages})
    for code in codes:
        for task, title in TASKS.items():
            here = {"here": int(code in study.tests.get(task, {}))}
            yield cells.line(code, title, HAS_TEST, HAS_TEST, here, int(code in printed[task]))


def _scores(name: str, scores: Scores, published: Published, study: Study) -> Iterator[dict[str, Any]]:
    """Lines of tables 2 to 5: rows by section, columns by language and their mean."""
    task = next(task for task, table in TABLES.items() if table == name)
    printed = published.table[published.table["item"] == name]
    codes = _printed(published, name)
    columns = {code: [code] for code in [*codes, *(code for code in study.tests[task] if code not in codes)]}
    for mean in printed[~printed["column"].isin(codes)]["column"].unique():
        without = re.findall(r"-(\w+)", mean)  # Average (-en,-zh)
        columns[mean] = [code for code in codes if code not in without]
    if len(study.tests[task].keys() | set(codes)) > len(codes):
        columns[ALL] = [*study.tests[task]]
    for row in printed["row"].unique():
        of_source = {code: study.zero_shot(task) for code in study.tests[task]}
        trained = of_source if row.startswith(ZERO_SHOT) else study.in_language(task)
        is_ours = row.endswith(f"| {OURS}")
        for definition in WAYS[task] if is_ours else WAYS[task][:1]:
            for column, languages in columns.items():
                recipes = {code: trained[code] for code in languages if code in trained} if is_ours else None
                value = published.value(name, row, column) if definition != F1_MISC_AS_O else None
                places = [(row, code) for code in languages] if len(languages) > 1 else []
                remarks = [uneven(published, name, places, METRICS[task], value), published.note(name, row, column)]
                way, chance = (METRICS[task], definition), study.chance.get(task, 0)
                line = _line(scores, (row, column), way, recipes, value, languages, remarks, chance)
                if line:
                    yield line


def _parsing(name: str, scores: Scores, published: Published, study: Study) -> Iterator[dict[str, Any]]:
    """Lines of table 6: rows by language and their mean, columns by parser."""
    printed = published.table[published.table["item"] == name]
    names = {row.rstrip("*"): row for row in printed["row"].unique()}  # a printed asterisk (zh*) marks another baseline
    *codes, mean = names
    tests = study.tests["parsing"]
    rows = {names.get(code, code): [code] for code in [*codes, *(code for code in tests if code not in codes)]}
    rows[mean] = codes
    rows |= {f"{mean}, {ALL}": [*tests]} if tests.keys() - set(codes) else {}
    heads = [head for head in dict.fromkeys([*printed["column"].unique(), *PARSERS]) if head != RELEASED or study.released_root]
    for row, languages in rows.items():
        for (definition, metric), head in product({DISTANCE: DISTANCE, **OF_TREES}.items(), heads):
            place = name, row, "mBERT(Z)" if head == RELEASED else head, metric
            value, note = None if definition == LAS_WITHOUT_ROOTS else published.value(*place), published.note(*place)
            recipes = _parsers(head, languages, study)
            places = [(names[code], head) for code in languages] if row == mean else []
            remarks = [
                uneven(published, name, places, metric, value),
                note,
                ROOT if head == RELEASED and value is not None else "",
            ]
            line = _line(scores, (row, head), (metric, definition), recipes, value, languages, remarks)
            if line:
                yield line


def _parsers(head: str, languages: Sequence[str], study: Study) -> dict[str, str] | None:
    """Language -> recipe in a column of table 6; None if the column cites another paper."""
    if head not in PARSERS:
        return None
    variant, tests = PARSERS[head], study.tests["parsing"]
    trained = {code: study.zero_shot("parsing", variant) for code in tests} if variant else study.in_language("parsing")
    return {code: trained[code] for code in languages if code in trained}


def _line(
    scores: Scores, place: tuple[str, str], way: tuple[str, str], recipes: Mapping[str, str] | None, value: float | None,
    languages: Sequence[str], remarks: Sequence[str], chance: float = 0,
) -> dict[str, Any] | None:  # fmt: skip
    """A line for a cell or a mean; None if it has neither a printed value nor a number of ours.

    place: row and column.
    way: metric and definition.
    recipes: language -> recipe, for configured languages; None if the value is cited from another paper.
    value: the printed value; None if none is printed.
    languages: languages of the mean, or the only one.
    chance: score of guessing, in percent.
    """
    numbers, scored = scores.cell(recipes or {}, way[1])
    if numbers["here"] is None and value is None:
        return None
    if recipes is None:
        reasons = []
    elif numbers["here"] is None:
        reasons = ["no score" if recipes else "no data configured"]
    else:
        scope = "configured" if any(ALL in part for part in place) else "in the paper"
        reasons = [subset(scored, languages, scope) if len(languages) > 1 else "", *scores.lost(recipes)]
    return cells.line(*place, *way, numbers, value, [*reasons, *remarks], chance=chance)


def _printed(published: Published, name: str) -> list[str]:
    """Languages of a table as printed, without their mean."""
    rows = published.table[published.table["item"] == name]
    names = rows["row" if name == TABLES["parsing"] else "column"].unique()
    return [code for head in names if re.fullmatch("[a-z]+", code := head.rstrip("*"))]
