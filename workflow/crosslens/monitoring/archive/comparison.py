"""Comparison of tables that were made again with those before."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from crosslens.storage import parquet

NAMES = ("row", "column", "metric", "definition")  # columns that name a cell of a table
CALL = "command"  # column that says how Snakemake was called, which is no result
TOLERANCE = 1e-6  # largest relative difference of equal numbers: other processors may add in another order


def read_rows(path: Path) -> pd.DataFrame:
    """Rows of a table or a measure as text, without the column CALL. Raises ValueError where a table cannot be read."""
    if path.suffix == ".parquet":
        rows: pd.DataFrame = parquet.read(path).to_pandas().astype(str).fillna("")
        return rows
    return pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=CALL, errors="ignore")


def cell_names(rows: pd.DataFrame) -> np.ndarray:
    """Name of each cell of a table, (n_rows,): its row, column, metric and definition; of claims that of the claim."""
    columns = ["claim"] if "claim" in rows else [*NAMES]
    columns = ["paper", "item", *columns] if "ours" in rows else columns  # the scoreboard has the cells of all tables
    return rows[columns].agg(" | ".join, axis=1).to_numpy(object)


def differing(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
    """Whether each row of a table is another one in the table made again, (n_rows,); all are where there are more or fewer."""
    if list(before.columns) != list(after.columns) or len(before) != len(after):
        return np.full(len(before), True)
    texts = [rows.to_numpy(object) for rows in (before, after)]
    numbers = [rows.apply(pd.to_numeric, errors="coerce").to_numpy(float) for rows in (before, after)]
    is_other = (texts[0] != texts[1]) & ~np.isclose(numbers[0], numbers[1], rtol=TOLERANCE, atol=0)
    return np.asarray(is_other.any(axis=1))


def differences(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[str]:
    """A line for each row of a table that is another one in the table made again."""
    if list(before.columns) != list(after.columns) or len(before) != len(after):
        yield f"{len(before)} rows in the archive, {len(after)} made again, or with other columns"
        return
    is_other = differing(before, after)
    rows = (table[is_other].to_dict("records") for table in (before, after))
    for name, old, new in zip(cell_names(after)[is_other], *rows, strict=True):
        values = [f"{column} {old[column]!r}, made again {new[column]!r}" for column in old if old[column] != new[column]]
        yield f"{name}: {'; '.join(values)}"
