"""Parquet files that one step writes and another reads: the only place that opens them, so that none is read unverified."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crosslens.digests import sealed, verified
from crosslens.errors import DataError


def write(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table, whole or not at all, with a digest of the file and checksums of its pages; options as pyarrow's."""
    with sealed(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True, **options)


def read(path: str | Path, **options: Any) -> pa.Table:
    """A table, or some columns or rows of it; options as pyarrow's.

    Raises DataError where the file is not what was written, or has other columns than those that are asked for.
    """
    file = verified(Path(path))
    try:
        return pq.read_table(file, page_checksum_verification=True, **options)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: expected a Parquet file: {' '.join(str(error).split())}; build it again") from None


def schema(path: Path) -> pa.Schema:
    """Columns of a file and their types, and its own metadata."""
    return pq.read_schema(verified(path))


def rows(path: Path) -> int:
    """How many rows a file has."""
    return int(footer(verified(path)).num_rows)


def footer(path: Path) -> pq.FileMetaData:
    """What a file says of its columns and rows, not verified: for estimates, which read many files."""
    return pq.read_metadata(path)
