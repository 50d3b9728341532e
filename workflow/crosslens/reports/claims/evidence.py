"""The numbers of a selection: cells of tables, records of measures, printed cells."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crosslens.numerics.estimates import NORMAL
from crosslens.reports.claims.ledger import Selection
from crosslens.storage import records
from crosslens.storage.seals import verified

COMPUTED = (
    "metric",
    "measure",
    "definition",
)  # columns of which a selection has one value, else it would average different things


class Missing(Exception):
    """Numbers that have not been measured. The message says which."""


class Unconfigured(Missing):
    """Numbers of trainings, tables or cells that a scale does not have at all."""


class Numbers(NamedTuple):
    """Numbers of a selection.

    rows: with the columns of its source, and value, error, freedom, n, seeds. of_seeds: whether errors are over seeds, else over
    texts. recipes: names of the trainings that they are of.
    """

    rows: pd.DataFrame
    of_seeds: bool
    recipes: tuple[str, ...]


class Evidence:
    """What there is of a paper: see Plan.settings."""

    def __init__(self, settings: Mapping[str, Any], published: pd.DataFrame | None = None, apart: Sequence[str] = ()) -> None:
        """published: the paper's printed cells; apart: why numbers are not comparable with these."""
        self.tables, self.records, self.recipes = (settings[name] for name in ("tables", "records", "recipes"))
        self.published, self.apart = published, tuple(apart)
        self._table, self._measure = cache(_read_table), cache(_read_records)

    def numbers(self, selection: Selection, scale: float) -> Numbers:
        """The numbers of a selection; scale: what records are multiplied by.

        Raises Missing where there are none, Unconfigured where the scale does not have them.
        """
        names = tuple(name for pattern in selection.recipes or () for name in self.named(pattern))
        if selection.recipes and not names:
            raise Unconfigured(f"{', '.join(selection.recipes)}: no such training at this scale")
        rows = getattr(self, f"_from_{selection.source}")(selection, names, scale)
        for column, values in selection.values.items():
            wanted = [value for value in values if value is not None]
            rows = rows[rows[column].isin(wanted) | (rows[column].isna() if None in values else False)]
        if rows["value"].isna().all():
            where = ", ".join(f"{column} {' or '.join(map(str, values))}" for column, values in selection.values.items())
            if absent := [name for name in selection.names if selection.source == "table" and not self._is_there(name)]:
                raise Missing(f"{absent[0]} is not there")
            kind = Unconfigured if selection.source == "table" else Missing  # a whole table has what its scale has
            raise kind(f"{' and '.join(selection.names)}: no number with {where}")
        rows = rows.dropna(subset=["value"])
        for column in COMPUTED:
            if column in rows and rows[column].nunique() > 1:
                found = ", ".join(map(repr, sorted(rows[column].unique())))
                raise ValueError(f"{' and '.join(selection.names)}: expected one {column}, found {found}")
        return Numbers(rows, bool(selection.source == "table" and (rows["seeds"] > 1).any()), names)

    @cached_property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """What is known of each training that a selection is of."""
        return {name: facts for recipes in self.recipes.values() for name, facts in recipes.items()}

    def named(self, pattern: str) -> list[str]:
        """Trainings of a pattern of the ledger, or of the name of one of them."""
        return [pattern] if pattern in self.facts else list(self.recipes.get(pattern, ()))

    def _from_table(self, selection: Selection, names: tuple[str, ...], scale: float) -> pd.DataFrame:
        if not any(self.tables[name] for name in selection.names):
            raise Unconfigured(f"{' and '.join(selection.names)}: no such table at this scale")
        there = [name for name in selection.names if self._is_there(name)]
        if not there:
            raise Missing(f"{selection.names[0]} is not there")
        cells = pd.concat([self._table(self.tables[name]) for name in there], ignore_index=True)
        seeds = cells["seeds"].fillna(1)
        over_seeds = (cells["sd"] / np.sqrt(seeds)).where(cells["sd"] > 0)
        error = over_seeds.where(seeds > 1, _over_texts(cells, "here"))
        return cells.assign(value=cells["here"], error=error, freedom=np.where(seeds > 1, seeds - 1, np.inf), seeds=seeds)

    def _is_there(self, name: str) -> bool:
        return bool(self.tables[name]) and Path(self.tables[name]).exists()

    def _from_records(self, selection: Selection, names: tuple[str, ...], scale: float) -> pd.DataFrame:
        files: list[str] = []
        for measure in selection.names:
            for name in names:
                if not (of_recipe := self.records[measure].get(name)):
                    raise Missing(f"{measure} of {name} is not there")
                files += of_recipe
        rows = self._measure(tuple(files))
        rows = rows[rows["recipe"].isin(names)] if len(rows) else rows
        return rows.assign(value=scale * rows["value"], error=scale * _over_texts(rows, "value"), freedom=np.inf, seeds=1)

    def _from_published(self, selection: Selection, names: tuple[str, ...], scale: float) -> pd.DataFrame:
        if self.published is None:
            raise Missing("nothing was printed")
        cells = self.published[self.published["item"].isin(selection.names)]
        value = pd.to_numeric(cells["value"], errors="coerce")
        return cells.assign(value=value, error=np.nan, freedom=np.inf, seeds=1, n=np.nan)


def _over_texts(rows: pd.DataFrame, value: str) -> pd.Series:
    """Standard errors from intervals over texts, by their longer side; nan where nothing varies."""
    sides = pd.concat([rows["high"] - rows[value], rows[value] - rows["low"]], axis=1).max(axis=1) / NORMAL
    return sides.where(sides > 0)


def _read_table(file: str) -> pd.DataFrame:
    return pd.read_csv(verified(Path(file)))


def _read_records(files: Iterable[str]) -> pd.DataFrame:
    return records.read(files)
