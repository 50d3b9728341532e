"""Check of the numbers in docs/errata.md: resources/errata.yaml says from which cells each is computed, and how."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from crosslens.commands.documents.templates import Tables
from crosslens.jobs.errors import DataError
from crosslens.papers import KEYS

PAGE, CHECKS = "docs/errata.md", "resources/errata.yaml"
COLUMNS = ("item", "row", "column", "metric", "definition")  # columns of a table, in the order of the names in a check
AVERAGE = "(?i)aver|avg|mean"
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "less": lambda values, reference: values - reference,
    "times": lambda values, reference: values / reference,
    "percent of": lambda values, reference: 100 * values / reference,
}
RELATIONS: dict[str, Callable[[Any], Any]] = {
    "mean": pd.Series.mean,
    "median": pd.Series.median,
    "t": lambda values: values.mean() / values.sem(),
    "least": pd.Series.min,
    "most": pd.Series.max,
    "largest": lambda values: (values == values.max()).sum(),
    "n": len,
    "up": lambda values: (values > 1e-9).sum(),
    "down": lambda values: (values < -1e-9).sum(),
    "zero": lambda values: (values.abs() < 1e-9).sum(),
}
CORRELATIONS = {"r": "pearson", "rho": "spearman"}
Check = dict[str, Any]  # a line of the checks, with all numbers as text


@cache
def check(root: Path) -> None:
    """Raise DataError, with a line for each number that is not what its cells give, or that its remark does not have."""
    remarks, lines = _remarks((root / PAGE).read_text("utf-8")), []
    for paper, title, line in checks(root):
        for stated, computed in numbers(root, paper, line):
            if not _agrees(stated, computed):
                lines.append(f"{CHECKS}: {paper}: {title}: expected {computed:g}, which {line['of']} give, found {stated}")
            elif stated.lstrip("-") not in remarks.get((paper, title), ""):
                lines.append(f"{PAGE}: {paper}: {title}: expected {stated} in the remark, found none")
    if lines:
        raise DataError("\n".join(lines))


def checks(root: Path) -> Iterator[tuple[str, str, Check]]:
    """Paper and title of a remark, and a check of it, for each check."""
    papers = yaml.load((root / CHECKS).read_text("utf-8"), yaml.CBaseLoader)
    yield from ((paper, title, line) for paper, remarks in papers.items() for title, lines in remarks.items() for line in lines)


def numbers(root: Path, paper: str, line: Check) -> list[tuple[str, float]]:
    """Numbers that a check states, each with the computed number."""
    values = _cells(root, paper, line["of"], line.get("at", "here"))
    for name in PAIRS.keys() & line.keys():
        values = PAIRS[name](values, _beside(_cells(root, paper, line[name]), values))
    if missing := {*line.get("but", ())} - {*values.index}:
        raise DataError(f"{CHECKS}: {paper}: expected one of {', '.join(values.index)}, found {', '.join(missing)}")
    values = values.drop(line.get("but", [])).dropna()
    pairs = [(line[name], float(RELATIONS[name](values))) for name in RELATIONS if name in line]
    if "is" in line:
        stated = [line["is"]] if isinstance(line["is"], str) else line["is"]
        if len(stated) != len(values):
            raise DataError(f"{CHECKS}: {paper}: expected {len(stated)} cells, found {len(values)} of {line['of']}")
        pairs += zip(stated, values, strict=True)
    for name in CORRELATIONS.keys() & line.keys():
        reference = _beside(_cells(root, paper, line["against"]), values)
        pairs.append((line[name], values.corr(reference, CORRELATIONS[name])))
    return pairs


def _remarks(page: str) -> dict[tuple[str, str], str]:
    """Text of each remark, without commas in numbers, by paper and title. A title is bold and ends with a full stop."""
    texts: dict[tuple[str, str], str] = {}
    for part in page.split("\n## ")[1:]:
        paper = part.partition("\n")[0]
        for remark in part.split("\n- **")[1:]:
            text = re.sub(r"\s+", " ", remark)
            texts[paper, text.partition(".** ")[0]] = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return texts


def _cells(root: Path, paper: str, names: list[Any], column: str = "here") -> pd.Series:
    """Numbers of some cells of a table, labelled by row, by column, or by both.

    names: the table, then a pattern or list of patterns for each of the other COLUMNS.
    column: column of the numbers in our tables.
    """
    folder, _, item = names[0].rpartition("/")
    patterns = {"row": "*", "column": "*"} | dict(zip(COLUMNS, [item, *names[1:]], strict=False))
    if folder in ("", *KEYS):
        table, column = _read(root / f"resources/published/{folder or paper}.csv"), "value"
    else:
        table = _read(Tables(root).path(names[0]))
    for name, pattern in patterns.items():
        any_of = [pattern] if isinstance(pattern, str) else pattern
        texts = [text for text in dict.fromkeys(map(str, table[name])) if any(fnmatchcase(text, part) for part in any_of)]
        if "*" in pattern and name in ("row", "column"):
            texts = [text for text in texts if not re.search(AVERAGE, text)]
        table = table[table[name].isin(texts)]
    varied = [name for name in ("row", "column") if table[name].nunique() > 1] or ["row"]
    labels = table[varied].agg(" ".join, axis=1).str.rstrip("*")  # a star refers to a note in the paper, as in zh*
    return pd.to_numeric(table[column], errors="coerce").set_axis(labels)


@cache
def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _beside(reference: pd.Series, values: pd.Series) -> Any:
    """Numbers to compare with values: matched by label, by position if they share no label, or a single one for all."""
    if len(reference) == 1:
        return reference.iloc[0]
    return reference.reindex(values.index) if {*values.index} & {*reference.index} else reference.set_axis(values.index)


def _agrees(stated: str, computed: float) -> bool:
    """Whether a number, rounded to the digits of the stated one, equals it; a five may be rounded up or down."""
    unit = 10.0 ** int(Decimal(stated).as_tuple().exponent)
    return abs(float(stated) - computed) <= unit / 2 + 1e-9
