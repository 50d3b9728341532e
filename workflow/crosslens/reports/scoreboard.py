"""The scoreboard: each printed cell of every paper, our value, and whether a new run of ours could give the printed one.

It reads the tables that exist, under the definition that the paper's code used, and builds none.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.numerics.intervals import prediction_interval
from crosslens.reports.cells import as_number, rounded
from crosslens.reports.paper import Paper, Place
from crosslens.reports.templates import read_template

COLUMNS = (
    "paper", "item", "row", "column", "metric", "published", "ours", "low", "high", "seeds", "difference", "definition",
    "verdict", "reason", "table", "note",
)  # fmt: skip
"""Columns of the scoreboard.

published: the number as printed.
ours: our value, a mean over seeds.
low, high: 95 % prediction interval of one new run, widened by the rounding of the printed number.
seeds: number of seeds behind our value.
reason: why the cell was not run, is not comparable, or is undecided.
table: our table that has the cell, as a path below the results.
note: note on the printed number.
"""
WITHIN, OUTSIDE, UNDECIDED, NOT_COMPARABLE = "within", "outside", "undecided", "not comparable"
SETTING, NOT_RUN, NO_TABLE, CITED, ILLEGIBLE = "setting", "not run", "no table", "cited", "illegible"
COMPUTED = (WITHIN, OUTSIDE, UNDECIDED, NOT_COMPARABLE)
"""Verdicts on cells that were computed here; all others are for cells without a result."""
SETTINGS = ("hyperparameter", "search value", "selected value")  # metrics of configured values
VERDICTS = {
    WITHIN: "the published value lies in the prediction interval or, for counts, equals ours after rounding",
    OUTSIDE: "the published value lies outside the prediction interval or, for counts, differs from ours after rounding",
    UNDECIDED: "there is no interval, because we used only one seed or all seeds have the same value",
    NOT_COMPARABLE: "our value comes from a different encoder or different corpora",
    SETTING: "the number is a hyperparameter, so it is configured, not computed",
    NOT_RUN: "none of the tables built so far contains our value",
    NO_TABLE: "none of our tables has a row for the value, because it appears only in the text of the paper or is not a number",
    CITED: "the paper cites the number from another paper, so we do not compute it",
    ILLEGIBLE: "we cannot read the number in our copy of the paper",
}
Line = dict[Hashable, Any]  # line of one of our tables, by column
BOUNDS = {"percent": 100.0, "fraction": 1.0}  # unit -> highest score; the lowest is 0


def scoreboard(
    papers: Sequence[Paper], published: Mapping[str, pd.DataFrame], tables: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:  # fmt: skip
    """Scoreboard with COLUMNS, one line for each printed cell.

    published: published cells as text (`read_published`), by key of the paper.
    tables: our tables that exist (crosslens.reports.cells), by path below the results, such as muller2021/table2.
    """
    by_place = {place: _Table(lines) for place, lines in tables.items()}
    lines = [line for paper in papers if paper.key in published for line in _paper(paper, published[paper.key], by_place)]
    return pd.DataFrame(lines, columns=list(COLUMNS)).astype({"seeds": "Int64"})


def read_published(path: str | Path) -> pd.DataFrame:
    """Published cells of a paper as text, so that all printed decimals are kept."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_table(path: str | Path) -> pd.DataFrame:
    """One of our tables; texts that are empty are "", not nan."""
    texts = ("row", "column", "metric", "definition", "reason", "remark")
    return pd.read_csv(path, dtype=dict.fromkeys(texts, str)).fillna(dict.fromkeys(texts, ""))


def _paper(paper: Paper, cells: pd.DataFrame, tables: Mapping[str, "_Table"]) -> Iterator[dict[str, Any]]:
    places = cells["value"].str.partition(".")[2].str.len()  # numbers with an exponent are settings, which are not rounded
    decimals = cells.assign(places=places).groupby(["item", "metric"])["places"].max().to_dict()
    for cell in cells.to_dict("records"):
        yield _line(paper, cell, decimals[cell["item"], cell["metric"]], tables)


class _Table:
    """Lines of one of our tables, looked up by place."""

    def __init__(self, lines: pd.DataFrame) -> None:
        self.beside: dict[tuple[str, str, str], list[Line]] = {}  # lines that have a printed value
        self.values: dict[str, dict[str, float]] = {}  # row -> column -> ours
        for line in lines.to_dict("records"):
            if not pd.isna(line["published"]):
                self.beside.setdefault((line["row"], line["column"], line["metric"]), []).append(line)
            if not pd.isna(line["here"]):
                self.values.setdefault(line["row"], {})[line["column"]] = float(line["here"])

    def line(self, place: Place) -> Line | None:
        """Line with a printed value at a place: the one with the place's definition, else the first; None if there is none."""
        rows = [place.row]
        if place.settings:
            chosen = place.settings.items()
            rows = [row for row, values in self.values.items() if row.startswith(place.row) and chosen <= values.items()]
        lines = [line for row in rows for line in self.beside.get((row, place.column, place.metric), ())]
        return next((line for line in lines if line["definition"] == place.definition), next(iter(lines), None))


def _line(paper: Paper, cell: Mapping[Any, str], decimals: int, tables: Mapping[str, _Table]) -> dict[str, Any]:
    """Scoreboard line of a printed cell. decimals: decimals that are printed."""
    number, place = as_number(cell["value"]), paper.place(Place(cell["item"], cell["row"], cell["column"], cell["metric"]))
    line = {name: cell[name] for name in ("paper", "item", "row", "column", "metric", "note")} | {"published": cell["value"]}
    if cell["note"].startswith(CITED):
        return line | {"verdict": CITED}
    if not cell["value"]:
        return line | {"verdict": ILLEGIBLE}
    if place is None or math.isnan(number):
        return line | {"verdict": NO_TABLE}
    name = paper.path(place.item)
    line["table"] = name
    if name not in tables:
        return line | {"verdict": NOT_RUN, "reason": f"{name}.csv is not built"}
    cell_here = tables[name].line(place)
    if cell_here is None:
        return line | {"verdict": NOT_RUN, "reason": "the table has no line for this cell"}
    line["definition"] = cell_here["definition"] or cell_here["metric"]
    if pd.isna(cell_here["here"]):
        return line | {
            "verdict": NOT_RUN,
            "reason": cell_here["remark"].partition("; ")[0] or "the table has no value for this cell",
        }
    if cell["metric"] in SETTINGS:
        return line | {"verdict": SETTING, "ours": cell_here["here"], "difference": rounded(cell_here["here"] - number, 12)}
    return line | _judged(number, cell_here, decimals, BOUNDS.get(cell["unit"]))


def _judged(number: float, cell_here: Line, decimals: int, bound: float | None) -> dict[str, Any]:
    """Our value, its interval, the difference and the verdict.

    Values without seeds, such as counts, are the same in every run. They are within if they equal the printed number after
    rounding, even if the table is not marked as comparable, since no other corpus would have the same counts.

    number: the printed number.
    cell_here: line of our table.
    decimals: decimals that are printed.
    bound: highest score; None for a quantity without bounds.
    """
    here, seeds, rounding = float(cell_here["here"]), cell_here["seeds"], 0.5 * 10.0**-decimals
    line = {"ours": here, "seeds": seeds}
    difference = {"difference": rounded(here - number, 12)}
    if pd.isna(seeds) and round(here, decimals) == round(number, decimals):
        return line | difference | {"verdict": WITHIN}
    if not pd.isna(seeds) and seeds > 1 and not pd.isna(cell_here["sd"]):
        _, low, high = prediction_interval(here, float(cell_here["sd"]), int(seeds))
        ends = (low - rounding, high + rounding) if bound is None else (max(low - rounding, 0), min(high + rounding, bound))
        line |= {"low": rounded(ends[0], decimals + 2), "high": rounded(ends[1], decimals + 2)}
    if not cell_here["comparable"]:
        return line | {"verdict": NOT_COMPARABLE, "reason": cell_here["reason"]}
    line |= difference
    if pd.isna(seeds):
        return line | {"verdict": OUTSIDE}
    if line.get("low") is None or line.get("high") is None:
        return line | {"verdict": UNDECIDED, "reason": "one seed" if seeds == 1 else "no spread over seeds"}
    return line | {"verdict": WITHIN if line["low"] <= number <= line["high"] else OUTSIDE}


def page(board: pd.DataFrame, heading: str, command: str | None, template: Path) -> str:
    """HTML page of the scoreboard: number of cells by paper and verdict; below them, folded, all cells, results first."""
    papers = dict(iter(board.groupby("paper", sort=False)))
    is_result = board["verdict"].isin(COMPUTED)
    parts = {"Results": _items(board[is_result]), "Without a result here": _items(board[~is_result])}
    return read_template(template).render(
        heading=heading, command=command, number=len(board), results=int(is_result.sum()),
        verdicts={verdict: meaning for verdict, meaning in VERDICTS.items() if (board["verdict"] == verdict).any()},
        counts={key: cells["verdict"].value_counts().to_dict() for key, cells in papers.items()},
        parts={name: items for name, items in parts.items() if items},
    )  # fmt: skip


def _items(cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Cells of each table or figure of each paper, and how many of them have each verdict."""
    return {
        f"{paper}, {item}": {
            "counts": of_item["verdict"].value_counts().to_dict(),
            "cells": [{name: _text(value) for name, value in cell.items()} for cell in of_item.to_dict("records")],
        }
        for (paper, item), of_item in cells.groupby(["paper", "item"], sort=False)
    }


def _text(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
