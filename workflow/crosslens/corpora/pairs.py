"""Reader of sentence pairs for NLI: XNLI and MultiNLI."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from crosslens.config.labels import NLI
from crosslens.corpora.lines import is_language, read_lines, refuse
from crosslens.corpora.schema import PAIRS
from crosslens.jobs.errors import DataError, shown

SCHEMA = PAIRS
NO_AGREEMENT = "-"  # gold_label if the annotators did not agree; -1 if labels are numbers
KNOWN = {name: name for name in (*NLI, NO_AGREEMENT)} | {str(number): name for number, name in enumerate(NLI)}
KNOWN["-1"] = NO_AGREEMENT
KNOWN |= {"contradictory": "contradiction"}  # in XNLI-MT


class Pair(NamedTuple):
    """A sentence pair. label: one of NLI, or NO_AGREEMENT."""

    id: str
    premise: str
    hypothesis: str
    label: str


class _Keys(NamedTuple):
    """Names of the columns or keys of a layout."""

    id: str | None  # None: the number of the line
    premise: str
    hypothesis: str
    label: str


OFFICIAL = _Keys("pairID", "sentence1", "sentence2", "gold_label")
BARE = _Keys(None, "premise", "hypothesis", "label")
TRANSLATED = _Keys(None, "premise", "hypo", "label")


def read_pairs(path: Path, language: str, ids: set[str] | None = None) -> Iterator[Pair]:
    """Yield the pairs of one language in a file, plain or compressed (.xz, .gz, .bz2), in order.

    There are four layouts, told apart by their keys:
    - XNLI 1.0: a table with a header and all languages in one file; tab-separated, quotes are literal.
    - XNLI-MT 1.0: such a table with premise, hypo and label, which is MultiNLI's train in another language.
    - MultiNLI 1.0: JSON lines with gold_label, sentence1, sentence2 and pairID.
    - JSON lines with premise, hypothesis and label; the label is a name, or a number in the order of NLI.
    Files of all layouts but the first have a single language, `language`. A sentence `n/a` stays, since the official files have
    some. ids: official ids of other files, to which those of this file are added; None: no others. Raises DataError,
    `path:line: expected, found, remedy`, for anything else.
    """
    ids = set() if ids is None else ids
    lines = read_lines(path)
    first = next(lines, (1, ""))
    if not first[1].startswith("{"):
        yield from _table(path, language, first[1].split("\t"), lines, ids)
        return
    keys = None
    for number, line in chain([first], lines):
        try:
            row = json.loads(line, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            refuse(path, number, f"invalid JSON ({error})", "a JSON object")
        if not isinstance(row, dict):
            refuse(path, number, f"JSON of type {type(row).__name__}", "a JSON object")
        keys = keys or (BARE if BARE.premise in row else OFFICIAL)
        yield _pair(path, number, row, keys, ids)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Dictionary of a JSON object. Raises ValueError for a key that occurs twice, since one of its values would be lost."""
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key a second time")
    return row


def _table(path: Path, language: str, header: Sequence[str], lines: Iterator[tuple[int, str]], ids: set[str]) -> Iterator[Pair]:
    """Yield the pairs of one language in XNLI's table, or all pairs in XNLI-MT's."""
    keys = TRANSLATED if TRANSLATED.hypothesis in header else OFFICIAL
    expected = [name for name in ("language" if keys is OFFICIAL else None, *keys) if name]
    missing = [name for name in expected if name not in header]
    if missing or len({*header}) < len(header):
        fault = f"no column {', '.join(missing)}" if missing else "a column a second time"
        refuse(path, 1, fault, "the header of XNLI 1.0 or XNLI-MT 1.0, or JSON lines")
    place = header.index("language") if keys is OFFICIAL else None
    languages: set[str] = set()
    for number, line in lines:
        columns = line.count("\t") + 1
        if columns != len(header):
            refuse(path, number, f"{columns} columns", f"{len(header)} tab-separated columns")
        row_language = language if place is None else line.split("\t", place + 1)[place]
        if not is_language(row_language):
            refuse(path, number, f"language '{row_language}'", "the code of a language")
        languages.add(row_language)
        if row_language == language:
            yield _pair(path, number, dict(zip(header, line.split("\t"), strict=True)), keys, ids)
    if language not in languages:
        raise DataError(
            f"{path}:1: expected rows in '{language}', found only {shown(', '.join(sorted(languages))) or 'a header'}; "
            "remove the language or name another file"
        )


def _pair(path: Path, number: int, row: Mapping[str, Any], keys: _Keys, ids: set[str]) -> Pair:
    """Pair of a row, checked. number: line of the row. ids: those of earlier pairs, to which the pair's is added."""

    def fail(fault: str, expected: str) -> NoReturn:
        refuse(path, number, fault, expected)

    missing = [key for key in keys if key is not None and key not in row]
    if missing:
        fail(f"no {', '.join(missing)}", f"the keys {', '.join(filter(None, keys))}")
    label = KNOWN.get(str(row[keys.label]))
    if label is None:
        fail(f"{keys.label} '{row[keys.label]!s:.40}'", f"{', '.join(NLI)}, -1 to {len(NLI) - 1} or {NO_AGREEMENT}")
    identity = str(number) if keys.id is None else row[keys.id]
    for key, text in ((keys.premise, row[keys.premise]), (keys.hypothesis, row[keys.hypothesis]), (keys.id, identity)):
        if not isinstance(text, str) or not text.strip():
            fail("an empty one" if isinstance(text, str) else type(text).__name__, f"text in {key}")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            fail("half of a surrogate pair", f"valid Unicode in {key}")
        if "\0" in text:
            fail("a zero byte", f"text in {key}")
    if keys.id is not None and identity in ids:
        fail(f"{keys.id} {identity:.40} a second time", f"a new {keys.id}")
    ids.add(identity)
    return Pair(identity, row[keys.premise], row[keys.hypothesis], label)


def read(paths: Sequence[Path], language: str, *, parallel: bool = False) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the pairs in some files on which annotators agreed, and the number of dropped pairs (`no_agreement`).

    parallel: rows are sorted by id; otherwise, they keep the order of the files.
    """
    ids: set[str] = set()
    pairs = [pair for path in paths for pair in read_pairs(path, language, ids)]
    rows = [{"language": language, **pair._asdict()} for pair in pairs if pair.label != NO_AGREEMENT]
    return sorted(rows, key=lambda row: str(row["id"])) if parallel else rows, {"no_agreement": len(pairs) - len(rows)}
