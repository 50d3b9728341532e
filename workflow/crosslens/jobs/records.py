"""Tidy records: one row per value, with the same columns for every measure of every paper."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crosslens.jobs import parquet
from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import checksummed, verified
from crosslens.jobs.errors import DataError

if TYPE_CHECKING:  # writing records does not need pandas
    import pandas as pd

RECORDS = pa.schema(
    [
        ("paper", pa.string()),
        ("item", pa.string()),  # subject of the measurement: task, language (of words), target_labels, ...
        ("encoder", pa.string()),
        ("recipe", pa.string()),
        ("seed", pa.int64()),
        ("task", pa.string()),
        ("corpus", pa.string()),  # corpus of the texts to which the value refers
        ("language", pa.string()),  # 'all' for a value over all languages
        ("split", pa.string()),
        ("layer", pa.int64()),  # 0 is the embedding output
        ("subspace", pa.string()),  # subspace onto whose directions states are projected: a method of measures.subspaces
        ("window", pa.string()),  # window of coordinates in the subspace: a kind of numerics.windows
        ("x", pa.int64()),  # number of coordinates in the window, or the coordinate at which it ends
        ("measure", pa.string()),
        ("definition", pa.string()),  # how the number was computed
        ("value", pa.float64()),
        ("low", pa.float64()),  # 95 % interval
        ("high", pa.float64()),
        ("n", pa.int64()),  # number of items from which the value is computed
        ("penalty", pa.float64()),  # C of a probe, selected by validation
        ("gradient", pa.float64()),  # largest component of the gradient at the end of the probe's fit
        ("converged", pa.bool_()),  # whether `gradient` is at most the tolerance
        ("weight", pa.float64()),  # weight of a mean shift
    ]
)


def write(
    rows: Iterable[Mapping[str, Any]],
    path: Path,
    common: Mapping[str, Any],
    schema: pa.Schema = RECORDS,
    metadata: Mapping[str, Any] | None = None,
    module: str = "",
) -> None:
    """Write records to a Parquet file. Columns without a value in a row or in `common` are null.

    common: values that all rows share. metadata: facts on the measurement, for the record of a table (`provenance.write_record`).
    module: name of the module that yielded the rows, for the message. Raises DataError if rows have columns outside the schema.
    """
    full = [{name: common.get(name) for name in schema.names} | dict(row) for row in rows]
    unknown = {name for row in full for name in row} - set(schema.names) | set(common) - set(RECORDS.names)
    if unknown:
        raise DataError(
            f"{path}: expected columns {', '.join(schema.names)}, found {', '.join(sorted(unknown))} in the rows of {module}; "
            "rename or leave out what is not of the schema"
        )
    parquet.write(pa.Table.from_pylist(full, schema=schema), path, metadata)


def read(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Records of several files in one table; without files, the table is empty."""
    tables = [RECORDS.empty_table(), *(parquet.read(path, schema=RECORDS) for path in paths)]
    records: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return records


def gather(paths: Iterable[str | Path], output: Path) -> None:
    """Concatenate files of records into one."""
    tables = [parquet.read(path, schema=RECORDS) for path in paths]
    parquet.write(pa.concat_tables(tables), output)


def write_json(value: Any, path: Path) -> None:
    """Write a JSON file atomically, together with its checksum file."""
    with checksummed(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Content of a file written by `write_json`. Raises DataError if the file has changed since."""
    return parse_json(verified(path).read_bytes(), path)
