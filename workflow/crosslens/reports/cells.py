"""Format of the tables of all papers: a line for each cell, with our value and the published one."""

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
"""Columns of every table.

metric: name of the quantity.
definition: how the number was computed.
here: our value, a mean over seeds.
low, high: ends of its 95 % interval, inside the bounds of a score. The interval is over seeds or, for a single seed, over texts
or k-means runs (docs/intervals.md).
sd: standard deviation over seeds.
seeds: number of seeds of training runs or samples; empty for counts, settings and printed values, which have no seed.
n: number of units, the smallest over seeds.
difference: here minus published.
comparable: whether the table's numbers can be compared with the paper's.
reason: why they cannot.
"""
WHOLE = ("seeds", "n")  # columns of whole numbers
EQUAL = "no interval: the same in all seeds"
NEAR = 3  # points: two scores this close to the same end of the scale cannot differ by more
EMPTY: dict[str, Any] = {"here": None, "low": None, "high": None, "sd": None, "seeds": None, "n": None}


def where(records: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Records that have the given value in each of the given columns."""
    is_chosen = np.full(len(records), True)
    for column, value in values.items():
        is_chosen &= (records[column] == value).to_numpy(dtype=bool)
    return records[is_chosen]


def last_layer(records: pd.DataFrame) -> pd.DataFrame:
    """The records of the last layer of each model."""
    layers = records["layer"].astype(float)
    return records[layers == layers.groupby(records["recipe"]).transform("max")]


def extent(numbers: pd.Series) -> str:
    """Range of some whole numbers as text, such as 210 to 1,400; "" if there are none."""
    return " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (numbers.min(), numbers.max()))) if len(numbers) else ""


def cell(values: pd.DataFrame, scale: float = 100, digits: int = 2, *, score: bool = True) -> dict[str, Any]:
    """Numbers of a cell: here, low, high, sd, seeds and n, and a remark if all seeds have the same value.

    The interval is Student's t over the seeds. With a single seed it is the interval of its record, if any.

    values: records of one definition as fractions, one row per seed: value and, if known, low, high and n.
    scale: factor that converts the fractions into the unit of the cell.
    digits: decimals of the numbers.
    score: whether values are scores from 0 to 1, so that their interval stays in this range; False for differences.
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
    """Numbers of a cell with an estimate and its interval: here, low and high, each rounded to `digits` decimals."""
    return {"here": rounded(here, digits), "low": rounded(low, digits), "high": rounded(high, digits)}


def mean_by_seed(scores: pd.DataFrame, languages: int) -> pd.DataFrame:
    """Mean score over languages of each seed that has all of them: columns seed, value and n, the sum over languages.

    scores: records of one definition, one row per seed and language.
    languages: number of languages that a seed must have.
    """
    by_seed = scores.groupby("seed")
    return by_seed.agg(value=("value", "mean"), n=("n", "sum"))[by_seed.size() == languages].reset_index()


def count_remark(shares: pd.DataFrame, text: str) -> str:
    """Remark that gives a share of units as counts; "" if the count is 0.

    shares: records of a share, one row for each set of units, with value, the share, and n, the number of units.
    text: the remark, with {:,} for the number of units that the share counts, and again for the number of all units.
    """
    count = round(float((shares["value"] * shares["n"]).sum()))
    return text.format(count, int(shares["n"].sum())) if count else ""


def unconverged(probes: pd.DataFrame, name: str = "") -> str:
    """Remark that a probe did not converge, with the largest component of a gradient; "" if all probes did.

    probes: records of probes.
    name: text before the remark; "" for none.
    """
    if not probes["converged"].eq(False).any():
        return ""
    return f"{name}{': ' * bool(name)}not converged, gradient {probes['gradient'].max():.0e}"


def difference(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Any]:
    """Numbers of a cell with the difference `after` minus `before`, in points.

    If both have the same seeds, more than one, the interval is that of the paired differences; otherwise there is none.

    before, after: records of one definition as fractions, one row per seed.
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
    """Line of a table.

    numbers: numbers of the cell as `cell` returns them, or only `here`.
    published: printed value; None if none is printed.
    remark: one remark or several. Those that are not empty are joined, before the remarks in `numbers` and of `at_end`.
    digits: decimals of the difference.
    chance: score that guessing gives, in percent, see `at_end`; None if `here` is not a score in percent.
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
    """Remark that a score in percent says little: it is at an end of its scale, or not above chance; "" otherwise.

    A score is at its ceiling if it is at most NEAR points below 100, at its floor if it is as near to 0. It is not above chance
    if the low end of its interval is not; without an interval, the score itself counts.

    chance: score that guessing gives, in percent; 0 to leave out this comparison.
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
    """Table of some lines with COLUMNS, marked as comparable with the paper's; `set_apart` marks it otherwise."""
    common = {"paper": paper, "item": item, "comparable": True, "reason": ""}
    cells = pd.DataFrame([common | dict(values) for values in lines], columns=list(COLUMNS))
    return cells.astype(dict.fromkeys(WHOLE, "Int64"))


def set_apart(cells: pd.DataFrame, reasons: Sequence[str]) -> pd.DataFrame:
    """Mark a table as not comparable with the paper's and clear its differences; without reasons, return it unchanged.

    reasons: see `crosslens.reports.about.About.apart`.
    """
    return cells.assign(difference=None, comparable=False, reason="; ".join(reasons)) if reasons else cells


def rounded(number: float, digits: int = 2) -> float | None:
    """Number rounded to `digits` decimals; None for nan; never -0."""
    return None if math.isnan(number) else round(float(number), digits) + 0.0


class Printed(NamedTuple):
    """A published value, nan if it is illegible or not a number, and a note on it."""

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
            self._cells.setdefault((item, row, column), cell)  # for cells that have one metric

    @classmethod
    def read(cls, path: str | Path) -> "Published":
        """Published values from a file."""
        return cls(pd.read_csv(path))

    @classmethod
    def empty(cls) -> "Published":
        """Published values of a paper that printed none."""
        return cls(pd.DataFrame(columns=["item", "row", "column", "metric", "value", "note"]))

    def get(self, item: str, row: str, column: str, metric: str | None = None) -> Printed | None:
        """Published value of a cell; None if none is printed. metric: may be None if the cell has one metric."""
        return self._cells.get((item, row, column) if metric is None else (item, row, column, metric))

    def value(self, item: str, row: str, column: str, metric: str | None = None) -> float | None:
        """Published number of a cell; None if none is printed or it is illegible."""
        cell = self.get(item, row, column, metric)
        return None if cell is None or math.isnan(cell.value) else cell.value

    def note(self, item: str, row: str, column: str, metric: str | None = None) -> str:
        """Note on a cell; "" if there is none."""
        cell = self.get(item, row, column, metric)
        return cell.note if cell else ""


def as_number(value: object) -> float:
    """Printed text as a number; nan if it is not a number."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
