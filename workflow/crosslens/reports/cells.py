"""The format of the tables of all papers: a line for each cell, with our value beside the published one."""

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
"""Columns of every table. metric: name of the quantity; definition: how the number was computed; here: mean over seeds; low,
high: ends of its 95 % interval over seeds or, of a single seed, over texts or runs (docs/intervals.md), inside the bounds of a
score; sd: over seeds; seeds: number of seeds, of training runs or of draws, empty for counts, settings and printed values, which
rest on none; n: number of units, the fewest of a seed; difference: here less published; comparable: whether the table's
numbers can be compared with the paper's; reason: why not."""
WHOLE = ("seeds", "n")  # columns of whole numbers
EQUAL = "no interval: the same in all seeds"
NEAR = 3  # points from an end of a score's scale, within which two scores cannot differ by more
EMPTY: dict[str, Any] = {"here": None, "low": None, "high": None, "sd": None, "seeds": None, "n": None}


def where(records: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Records whose columns have these values."""
    is_chosen = np.full(len(records), True)
    for column, value in values.items():
        is_chosen &= (records[column] == value).to_numpy(dtype=bool)
    return records[is_chosen]


def last_layer(records: pd.DataFrame) -> pd.DataFrame:
    """The records of the last layer of each model."""
    layers = records["layer"].astype(float)
    return records[layers == layers.groupby(records["recipe"]).transform("max")]


def extent(numbers: pd.Series) -> str:
    """The least to the largest of some whole numbers: 210 to 1,400; '' of none."""
    return " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (numbers.min(), numbers.max()))) if len(numbers) else ""


def cell(values: pd.DataFrame, scale: float = 100, digits: int = 2, *, score: bool = True) -> dict[str, Any]:
    """Numbers of a cell: here, low, high, sd, seeds and n, and a remark where all seeds are equal.

    values: records of one definition, a row a seed, fractions, with low, high and n where they have them; scale: factor of the
    numbers; score: whether they are from 0 to 1, and so is their interval, unlike that of differences. The interval is Student's
    t over the seeds; of one seed that of its record, where it has one.
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


def estimate(here: float, low: float, high: float, digits: int = 2) -> dict[str, Any]:
    """Numbers of a cell that is an estimate with its interval, low to high: here, low and high, rounded to so many decimals."""
    return {"here": rounded(here, digits), "low": rounded(low, digits), "high": rounded(high, digits)}


def mean_by_seed(scores: pd.DataFrame, languages: int) -> pd.DataFrame:
    """Mean over languages of the scores of each seed that has all of them: columns seed, value and n, the sum over languages.

    scores: records of one definition, a row a seed and language; languages: their number.
    """
    by_seed = scores.groupby("seed")
    return by_seed.agg(value=("value", "mean"), n=("n", "sum"))[by_seed.size() == languages].reset_index()


def count_remark(shares: pd.DataFrame, text: str) -> str:
    """Remark on how many units of some texts a share counts; '' where it counts none.

    shares: records of a share, a row a text; text: with {:,} for the units that are counted, and for all units.
    """
    count = round(float((shares["value"] * shares["n"]).sum()))
    return text.format(count, int(shares["n"].sum())) if count else ""


def unconverged(probes: pd.DataFrame, name: str = "") -> str:
    """Remark where a probe did not converge, with the largest component of its gradient; '' where all did.

    probes: records of probes; name: before the remark.
    """
    if not probes["converged"].eq(False).any():
        return ""
    return f"{name}{': ' * bool(name)}not converged, gradient {probes['gradient'].max():.0e}"


def difference(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Any]:
    """Numbers of a cell that is after less before, in points, with the interval of the pairs where both have the same seeds.

    before, after: as `values` of `cell`.
    """
    here_before, here_after = cell(before)["here"], cell(after)["here"]
    if here_before is None or here_after is None:
        return dict(EMPTY)
    pairs = pd.merge(before, after, on="seed")
    if len(pairs) == len(before) == len(after) > 1:
        return cell(pd.DataFrame({"value": pairs["value_y"] - pairs["value_x"]}), score=False)
    return {"here": rounded(here_after - here_before), "seeds": min(len(before), len(after))}


def line(
    row: str, column: str, metric: str, definition: str, numbers: Mapping[str, Any], published: Any = None,
    remark: str | Iterable[str] = "", digits: int = 2, chance: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A line of a table.

    numbers: see `cell`, or `here` alone; published: the printed value, None where none is printed; remark: one, or several, of
    which those that are not empty are joined, before that of the numbers; digits: decimals of the difference; chance: see
    `at_end`, None where `here` is no score in percent.
    """
    here = numbers.get("here")
    in_both = here is not None and published is not None
    difference = rounded(here - published, digits) if in_both else None
    place = {"row": row, "column": column, "metric": metric, "definition": definition}
    remarks = [remark] if isinstance(remark, str) else [*remark]
    remarks += [numbers.get("remark", ""), "" if chance is None else at_end(numbers, chance)]
    remark = "; ".join(filter(None, remarks))
    numbers = EMPTY | dict(numbers) | ({"seeds": None} if here is None else {})
    return place | numbers | {"published": published, "difference": difference, "remark": remark}


def at_end(numbers: Mapping[str, Any], chance: float) -> str:
    """Remark on the end of its scale near which a score in percent lies, where it says little about differences, or "".

    A score is at its ceiling if it is at most NEAR points below 100, at its floor if it is as near to 0. It is not above chance,
    the percentage that guessing gives, if the low end of its interval, or the score itself without an interval, is not.
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
    """A table with COLUMNS of some lines, comparable with the paper's: see `set_apart`."""
    common = {"paper": paper, "item": item, "comparable": True, "reason": ""}
    cells = pd.DataFrame([common | dict(values) for values in lines], columns=list(COLUMNS))
    return cells.astype(dict.fromkeys(WHOLE, "Int64"))


def set_apart(cells: pd.DataFrame, reasons: Sequence[str]) -> pd.DataFrame:
    """A table whose numbers are not comparable with the paper's, without differences; without a reason it stays as it is.

    reasons: see `crosslens.reports.about.About.apart`.
    """
    return cells.assign(difference=None, comparable=False, reason="; ".join(reasons)) if reasons else cells


def rounded(number: float, digits: int = 2) -> float | None:
    """A number to so many decimals; None for nan; zero has no sign."""
    return None if math.isnan(number) else round(float(number), digits) + 0.0


class Printed(NamedTuple):
    """A published value; nan where it cannot be read any more; note: a remark on it."""

    value: float
    note: str


class Published:
    """The published values of a paper: resources/published/PAPER.csv."""

    def __init__(self, cells: pd.DataFrame) -> None:
        self.table = cells
        self._cells: dict[tuple[str, ...], Printed] = {}
        columns = (cells[name] for name in ("item", "row", "column", "metric", "value", "note"))
        for item, row, column, metric, value, note in zip(*columns, strict=True):
            cell = Printed(as_number(value), "" if pd.isna(note) else str(note))
            self._cells.setdefault((item, row, column, metric), cell)
            self._cells.setdefault((item, row, column), cell)  # where a cell has one metric

    @classmethod
    def read(cls, path: str | Path) -> "Published":
        """Published values from a file."""
        return cls(pd.read_csv(path))

    @classmethod
    def empty(cls) -> "Published":
        """Published values of a paper that printed none."""
        return cls(pd.DataFrame(columns=["item", "row", "column", "metric", "value", "note"]))

    def get(self, item: str, row: str, column: str, metric: str | None = None) -> Printed | None:
        """A published value, None where none is printed. metric: None where a cell has one metric."""
        return self._cells.get((item, row, column) if metric is None else (item, row, column, metric))

    def value(self, item: str, row: str, column: str, metric: str | None = None) -> float | None:
        """The number in a cell, None where none is printed, or none can be read."""
        cell = self.get(item, row, column, metric)
        return None if cell is None or math.isnan(cell.value) else cell.value

    def note(self, item: str, row: str, column: str, metric: str | None = None) -> str:
        """The note on a cell, or ''."""
        cell = self.get(item, row, column, metric)
        return cell.note if cell else ""


def as_number(value: object) -> float:
    """A printed number; nan where it is none."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
