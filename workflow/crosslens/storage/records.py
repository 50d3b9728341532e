"""Tidy records: one row a value, the same columns for every measure of every paper."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crosslens.storage import parquet
from crosslens.storage.seals import sealed, verified

if TYPE_CHECKING:  # what writes records does without
    import pandas as pd

RECORDS = pa.schema(
    [
        ("paper", pa.string()),
        ("item", pa.string()),  # what is measured: task, language (of words), target_labels, ...
        ("encoder", pa.string()),
        ("recipe", pa.string()),
        ("seed", pa.int64()),
        ("task", pa.string()),
        ("corpus", pa.string()),  # texts that the value is about
        ("language", pa.string()),  # 'all' for a value over all languages
        ("split", pa.string()),
        ("layer", pa.int64()),  # 0 is the embedding output
        ("subspace", pa.string()),  # along whose directions states are read: a method of measures.subspaces
        ("window", pa.string()),  # which of its coordinates: a kind of subspaces.windows
        ("x", pa.int64()),  # and the number of them, or where they end
        ("measure", pa.string()),
        ("definition", pa.string()),  # how the number was computed
        ("value", pa.float64()),
        ("low", pa.float64()),  # 95 % interval
        ("high", pa.float64()),
        ("n", pa.int64()),  # items that the value rests on
        ("penalty", pa.float64()),  # of a probe: C that validation chose
        ("gradient", pa.float64()),  # where its fit ended: largest component
        ("converged", pa.bool_()),  # whether that is small enough
        ("weight", pa.float64()),  # of a shift
    ]
)


def write(
    rows: Iterable[Mapping[str, Any]],
    path: Path,
    common: Mapping[str, Any],
    schema: pa.Schema = RECORDS,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write records; `common` fills the columns of the schema that all rows share, what neither gives is null.

    metadata: how they were measured, for the record of a table (`provenance.write_record`).
    """
    full = [{name: common.get(name) for name in schema.names} | dict(row) for row in rows]
    unknown = {name for row in full for name in row} - set(schema.names) | set(common) - set(RECORDS.names)
    if unknown:
        raise ValueError(f"{path}: expected columns of the schema, found {', '.join(sorted(unknown))}")
    parquet.write(pa.Table.from_pylist(full, schema=schema), path, metadata)


def read(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Records of several files, or of none."""
    tables = [RECORDS.empty_table(), *(parquet.read(path, schema=RECORDS) for path in paths)]
    found: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return found


def gather(paths: Iterable[str | Path], output: Path) -> None:
    """Put record files into one."""
    tables = [parquet.read(path, schema=RECORDS) for path in paths]
    parquet.write(pa.concat_tables(tables), output)


def write_json(value: Any, path: Path) -> None:
    """Write a JSON file, whole or not at all, with its digest."""
    with sealed(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """What `write_json` wrote. Raises DataError where the file is not what was written."""
    return json.loads(verified(path).read_text("utf-8"))
