"""One format for every table of every paper: a line a cell, ours beside the published one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crosslens.numerics.intervals import mean_interval

COLUMNS = (
    "paper", "item", "row", "column", "metric", "definition",
    "here", "low", "high", "sd", "seeds", "n", "published", "difference", "comparable", "reason", "remark",
)  # fmt: skip
"""Of every table. metric: what is measured; definition: how the number was computed; here: the mean over seeds; low, high: its
95 % interval over seeds or, of a single one, over texts or runs (docs/intervals.md), inside the bounds of a score; sd: over
seeds; seeds: number of seeds that it rests on, of trainings or of draws, empty where it rests on none, as counts, settings and
printed values do; n: units that it rests on, fewest of a seed; difference: here less published; comparable: whether the table's
numbers can be compared with the paper's; reason: why not."""
WHOLE = ("seeds", "n")  # columns of whole numbers
EQUAL = "no interval: the same in all seeds"
NEAR = 3  # points from an end of a score's scale, within which two scores cannot differ by more
EMPTY: dict[str, Any] = {"here": None, "low": None, "high": None, "sd": None, "seeds": None, "n": None}


def where(records: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The records whose columns have these values."""
    chosen = np.full(len(records), True)
    for column, value in values.items():
        chosen &= (records[column] == value).to_numpy(dtype=bool)
    return records[chosen]


def cell(values: pd.DataFrame, scale: float = 100, digits: int = 2, *, score: bool = True) -> dict[str, Any]:
    """here, low, high, sd, seeds and n of a cell, and a remark where all seeds are equal.

    values: records of one definition, a row a seed, as fractions. score: they are from 0 to 1, and so is their interval, unlike
    that of differences. The interval is Student's t over the seeds; of one seed its own (over texts or runs), where it has one.
    """
    if values.empty:
        return dict(EMPTY)
    runs = values["value"].to_numpy(dtype=float)
    low, high = np.nan, np.nan
    if len(runs) > 1:
        _, low, high = mean_interval(runs, score=score)
    elif "low" in values:
        low, high = (float(values[end].iloc[0]) for end in ("low", "high"))
    n = values["n"].min() if "n" in values else None
    numbers = {
        "here": rounded(scale * float(runs.mean()), digits),
        "low": rounded(scale * low, digits),
        "high": rounded(scale * high, digits),
        "sd": rounded(scale * float(np.std(runs, ddof=1)), digits) if len(runs) > 1 else None,
        "seeds": len(runs),
        "n": None if n is None or pd.isna(n) else int(n),
    }
    return numbers | ({"remark": EQUAL} if len(runs) > 1 and math.isnan(low) else {})


def difference(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Any]:
    """Numbers of a cell that is after less before, with the interval of the pairs where both have the same seeds."""
    first, second = cell(before)["here"], cell(after)["here"]
    if first is None or second is None:
        return dict(EMPTY)
    pairs = pd.merge(before, after, on="seed")
    if len(pairs) == len(before) == len(after) > 1:
        return cell(pd.DataFrame({"value": pairs["value_y"] - pairs["value_x"]}), score=False)
    return {"here": rounded(second - first), "seeds": min(len(before), len(after))}


def line(
    row: str, column: str, metric: str, definition: str, numbers: Mapping[str, Any], published: Any = None,
    remark: str | Iterable[str] = "", digits: int = 2, chance: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A line of a table. numbers: see `cell`, or `here` alone; published: the printed value, None where none is printed; remark:
    one, or several, of which those that are not empty are joined, before that of the numbers; chance: see `at_end`, None where
    `here` is no score in percent.
    """
    here = numbers.get("here")
    both = here is not None and published is not None
    difference = rounded(here - published, digits) if both else None
    place = {"row": row, "column": column, "metric": metric, "definition": definition}
    remarks = [remark] if isinstance(remark, str) else [*remark]
    remarks += [numbers.get("remark", ""), "" if chance is None else at_end(numbers, chance)]
    remark = "; ".join(filter(None, remarks))
    numbers = EMPTY | dict(numbers) | ({"seeds": None} if here is None else {})
    return place | numbers | {"published": published, "difference": difference, "remark": remark}


def at_end(numbers: Mapping[str, Any], chance: float) -> str:
    """At which end of its scale a score in percent lies, where it tells little of differences, or "".

    At its ceiling it is at most NEAR points below 100, at its floor as near to 0. It is not above chance, the percentage that
    guessing gives, where the low end of its interval is not, or the score itself if it has none.
    """
    here, low = numbers.get("here"), numbers.get("low")
    if here is None:
        return ""
    if here >= 100 - NEAR:
        return f"at its ceiling: at most {NEAR} points below 100"
    if here <= NEAR:
        return f"at its floor: at most {NEAR} points above 0"
    return f"not above chance: {round(chance, 1):g}" if chance and (here if low is None else low) <= chance else ""


def table(lines: Sequence[Mapping[str, Any]], paper: str, item: str) -> pd.DataFrame:
    """Lines as a table of COLUMNS, comparable with the paper's: see `set_apart`."""
    common = {"paper": paper, "item": item, "comparable": True, "reason": ""}
    cells = pd.DataFrame([common | dict(values) for values in lines], columns=list(COLUMNS))
    return cells.astype(dict.fromkeys(WHOLE, "Int64"))


def set_apart(cells: pd.DataFrame, reasons: Sequence[str]) -> pd.DataFrame:
    """A table as it is where its numbers are not comparable with the paper's, for some reasons: it has no differences.

    Without a reason it stays as it is. reasons: see `crosslens.reports.about.About.apart`.
    """
    return cells.assign(difference=None, comparable=False, reason="; ".join(reasons)) if reasons else cells


def rounded(number: float, digits: int = 2) -> float | None:
    """None for nan; zero has no sign."""
    return None if math.isnan(number) else round(float(number), digits) + 0.0


class Printed(NamedTuple):
    """A published value; nan where it cannot be read any more."""

    value: float
    note: str


class Published:
    """The published cells of a paper: resources/published/PAPER.csv."""

    def __init__(self, cells: pd.DataFrame) -> None:
        self.table = cells
        self._cells: dict[tuple[str, ...], Printed] = {}
        columns = (cells[name] for name in ("item", "row", "column", "metric", "value", "note"))
        for item, row, column, metric, value, note in zip(*columns, strict=True):
            found = Printed(_number(value), "" if pd.isna(note) else str(note))
            self._cells.setdefault((item, row, column, metric), found)
            self._cells.setdefault((item, row, column), found)  # where a cell has one metric

    @classmethod
    def read(cls, path: str | Path) -> "Published":
        """The file of a paper."""
        return cls(pd.read_csv(path))

    @classmethod
    def empty(cls) -> "Published":
        """The cells of a paper that printed none."""
        return cls(pd.DataFrame(columns=["item", "row", "column", "metric", "value", "note"]))

    def get(self, item: str, row: str, column: str, metric: str | None = None) -> Printed | None:
        """A cell, None where none is printed."""
        return self._cells.get((item, row, column) if metric is None else (item, row, column, metric))

    def value(self, item: str, row: str, column: str, metric: str | None = None) -> float | None:
        """The number in a cell, None where none is printed, or can be read."""
        found = self.get(item, row, column, metric)
        return None if found is None or math.isnan(found.value) else found.value

    def note(self, item: str, row: str, column: str, metric: str | None = None) -> str:
        """What is said of a cell, or ''."""
        found = self.get(item, row, column, metric)
        return found.note if found else ""


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.nan
