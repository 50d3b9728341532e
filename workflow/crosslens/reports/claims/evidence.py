"""The numbers of a selection: cells of tables, records of measures, printed cells."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crosslens.jobs import records
from crosslens.jobs.checksums import verified
from crosslens.numerics.estimates import NORMAL
from crosslens.reports.claims.claims_file import Selection

COMPUTED = ("metric", "measure", "definition")
"""Columns in which all numbers of a selection must agree, since a mean over different metrics has no meaning."""


class Missing(Exception):
    """Numbers that have not been measured; the message says which."""


class Unconfigured(Missing):
    """Numbers of training runs, tables or cells that are not part of a preset."""


class Numbers(NamedTuple):
    """Numbers of a selection.

    rows: a row for each number, with the columns of the source, and value, error, freedom, n and seeds.
    recipes: names of the training runs behind the numbers.
    """

    selection: Selection
    rows: pd.DataFrame
    recipes: tuple[str, ...]

    @property
    def over_seeds(self) -> bool:
        """Whether errors are over seeds, as for cells of tables over several seeds; otherwise they are over texts."""
        return self.selection.source == "table" and bool((self.rows["seeds"] > 1).any())


class Evidence:
    """Tables, records and printed cells that decide the claims of a paper."""

    def __init__(self, settings: Mapping[str, Any], published: pd.DataFrame | None = None, apart: Sequence[str] = ()) -> None:
        """Name the files of the evidence, which are read only when they are needed.

        settings: `tables`, `records` and `recipes`, see Plan.evidence.
        published: printed cells of the paper; None if there are none.
        apart: reasons why numbers of the paper's usual encoder and corpora are not comparable with the printed ones.
        """
        self.tables, self.records, self.recipes = (settings[name] for name in ("tables", "records", "recipes"))
        self.published, self.apart = published, tuple(apart)
        self._table, self._measure = cache(lambda file: pd.read_csv(verified(Path(file)))), cache(records.read)
        self._cells = cache(lambda name: _cells_with_errors(self._table(self.tables[name])))

    def numbers(self, selection: Selection) -> Numbers:
        """The numbers of a selection.

        Raises Missing if there are none, Unconfigured if they are not part of the preset, and ValueError if they have several
        metrics or definitions.
        """
        names = tuple(name for pattern in selection.recipes or () for name in self.training_runs(pattern))
        if selection.recipes and not names:
            raise Unconfigured(f"{', '.join(selection.recipes)}: this preset has no such training run")
        rows = getattr(self, f"_from_{selection.source}")(selection, names)
        is_selected = np.full(len(rows), True)
        for column, values in selection.values.items():
            present_values = [value for value in values if value is not None]
            is_selected &= rows[column].isin(present_values) | (rows[column].isna() if None in values else False)
        rows = rows[is_selected]
        if rows["value"].isna().all():
            where = ", ".join(f"{column} {' or '.join(map(str, values))}" for column, values in selection.values.items())
            if absent := [name for name in selection.names if selection.source == "table" and not self._exists(name)]:
                raise Missing(f"{absent[0]} is missing")
            error = Unconfigured if selection.source == "table" else Missing  # a table that exists has all cells of its preset
            raise error(f"{' and '.join(selection.names)}: no number with {where}")
        rows = rows.dropna(subset=["value"])
        for column in COMPUTED:
            if column in rows and rows[column].nunique() > 1:
                kinds = ", ".join(map(repr, sorted(rows[column].unique())))
                raise ValueError(f"{' and '.join(selection.names)}: expected one {column}, found {kinds}")
        return Numbers(selection, rows, names)

    @cached_property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """Facts about each training run behind a selection, by its name, see Plan.evidence."""
        return {name: facts for recipes in self.recipes.values() for name, facts in recipes.items()}

    def training_runs(self, pattern: str) -> list[str]:
        """Names of the training runs that match a pattern of the claims file; a name matches itself."""
        return [pattern] if pattern in self.facts else list(self.recipes.get(pattern, ()))

    def seeds_and_recipes(self, selected: Sequence[Numbers]) -> tuple[int | None, tuple[str, ...]]:
        """Fewest seeds of a run that trains or pretrains an encoder, None if none does; and the names of all training runs."""
        counts: list[int] = []
        for numbers in selected:
            for name in numbers.recipes:
                rows = numbers.rows[numbers.rows["recipe"] == name] if "recipe" in numbers.rows else numbers.rows
                if self.facts[name]["trained"] and len(rows):
                    counts.append(int(rows["seed"].nunique() if "seed" in rows else self._seeds_of_cells(numbers)))
                    counts += [self.facts[name]["pretrainings"]] if self.facts[name]["pretrainings"] else []
        return min(counts, default=None), tuple(dict.fromkeys(name for numbers in selected for name in numbers.recipes))

    def _seeds_of_cells(self, numbers: Numbers) -> float:
        """Number of seeds of cells, which do not say to which training run they belong.

        It is the smallest if all training runs train an encoder, otherwise the largest.
        """
        seeds = numbers.rows["seeds"]
        return float(seeds.min() if all(self.facts[name]["trained"] for name in numbers.recipes) else seeds.max())

    def reasons_apart(self, selections: Iterable[Selection]) -> list[str]:
        """Reasons why our numbers among some selections are not comparable with printed ones.

        A table may be of another encoder than other tables of its paper, and so has reasons of its own. For records, and for
        tables that are missing, the reasons of the paper count.
        """
        reasons: dict[str, None] = {}
        for selection in selections:
            tables = [name for name in selection.names if selection.source == "table" and self._exists(name)]
            for name in tables:
                texts = self._table(self.tables[name])["reason"].dropna().unique()
                reasons |= dict.fromkeys(reason for text in texts for reason in text.split("; ") if reason)
            if not tables and selection.source != "published":
                reasons |= dict.fromkeys(self.apart)
        return list(reasons)

    def _from_table(self, selection: Selection, names: tuple[str, ...]) -> pd.DataFrame:
        if not any(self.tables[name] for name in selection.names):
            raise Unconfigured(f"{' and '.join(selection.names)}: this preset has no such table")
        tables = [name for name in selection.names if self._exists(name)]
        if not tables:
            raise Missing(f"{selection.names[0]} is missing")
        cells = [self._cells(name) for name in tables]
        return pd.concat(cells, ignore_index=True) if len(cells) > 1 else cells[0]

    def _exists(self, table: str) -> bool:
        return bool(self.tables[table]) and Path(self.tables[table]).exists()

    def _from_records(self, selection: Selection, names: tuple[str, ...]) -> pd.DataFrame:
        files: list[str] = []
        for measure in selection.names:
            for name in names:
                if not (files_of_recipe := self.records[measure].get(name)):
                    raise Missing(f"{measure} of {name} is missing")
                files += files_of_recipe
        rows = self._measure(tuple(files))
        rows = rows[rows["recipe"].isin(names)] if len(rows) else rows
        return rows.assign(value=100 * rows["value"], error=100 * _over_texts(rows, "value"), freedom=np.inf, seeds=1)

    def _from_published(self, selection: Selection, names: tuple[str, ...]) -> pd.DataFrame:
        if self.published is None:
            raise Missing("nothing was printed")
        cells = self.published[self.published["item"].isin(selection.names)]
        value = pd.to_numeric(cells["value"], errors="coerce")
        return cells.assign(value=value, error=np.nan, freedom=np.inf, seeds=1, n=np.nan)


def _cells_with_errors(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of a table with the columns that numbers have: value, its standard error, degrees of freedom and number of seeds."""
    seeds = cells["seeds"].fillna(1)
    over_seeds = (cells["sd"] / np.sqrt(seeds)).where(cells["sd"] > 0)
    error = over_seeds.where(seeds > 1, _over_texts(cells, "here"))
    return cells.assign(value=cells["here"], error=error, freedom=np.where(seeds > 1, seeds - 1, np.inf), seeds=seeds)


def _over_texts(rows: pd.DataFrame, column: str) -> pd.Series:
    """Standard errors over texts, from the longer side of each interval; nan if nothing varies."""
    sides = pd.concat([rows["high"] - rows[column], rows[column] - rows["low"]], axis=1).max(axis=1) / NORMAL
    return sides.where(sides > 0)
