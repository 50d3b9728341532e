"""Reading and writing of Parquet files. No other module opens them, so that none is read without verification."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import checksummed, verified
from crosslens.jobs.errors import DataError

METADATA, CONTENT = b"crosslens", b"content_sha256"  # keys of a file's metadata


def write(table: pa.Table, path: Path, metadata: Mapping[str, Any] | None = None, **options: Any) -> None:
    """Write a table atomically, with a digest of the file, another of its content, and checksums of its pages.

    metadata: JSON-compatible values that `metadata(path)` will return. options: arguments of pyarrow's write_table.
    """
    about = {METADATA: json.dumps(metadata, ensure_ascii=False, sort_keys=True).encode()} if metadata is not None else {}
    table = table.replace_schema_metadata({**about, CONTENT: content_digest(table).encode()})
    with checksummed(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True, **options)


def read(path: str | Path, **options: Any) -> pa.Table:
    """A table, or some of its columns or rows. options: arguments of pyarrow's read_table.

    Raises DataError if the file has changed since it was written, or lacks a requested column.
    """
    file = verified(Path(path))
    try:
        return pq.read_table(file, page_checksum_verification=True, **options)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: expected a Parquet file: {' '.join(str(error).split())}; build it again") from None


def schema(path: Path) -> pa.Schema:
    """Schema of a file: names and types of its columns, and its metadata."""
    return pq.read_schema(verified(path))


def metadata(path: Path) -> dict[str, Any]:
    """Metadata with which a file was written; {} if it has none."""
    entries = schema(path).metadata or {}
    return dict(parse_json(entries.get(METADATA, b"{}"), path))


def content(path: Path) -> str | None:
    """Content digest of a file, as stored by `write`; None if the file has none."""
    value = (schema(path).metadata or {}).get(CONTENT)
    return value.decode() if value else None


def content_digest(table: pa.Table) -> str:
    """sha256 of the names, types and values of a table's columns.

    It is the same for equal data, whichever program wrote the file, and whatever its chunks, compression and metadata are.
    """
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name}, {len(column)} rows: ".encode())
        _digest_values(column.chunks, column.type, digest)
    return digest.hexdigest()


def _digest_values(chunks: Sequence[pa.Array], kind: pa.DataType, digest: "hashlib._Hash") -> None:
    """Add a column to a digest: its type, then which values are null or (lists, strings) their lengths, then the values."""
    strings, lists = pa.types.is_string(kind) or pa.types.is_binary(kind), hasattr(kind, "value_type")
    digest.update(
        b"list of " if lists else f"{kind}\n".encode()
    )  # not the full type of a list, since the name of its field varies
    for chunk in chunks:
        if strings or lists:
            lengths = pc.binary_length(chunk) if strings else pc.list_value_length(chunk)
            digest.update(pc.fill_null(lengths, -1).to_numpy().astype(np.int64).data)
        elif any(part.null_count for part in chunks):
            digest.update(chunk.is_null().to_numpy(zero_copy_only=False).data)
    if lists:
        _digest_values([chunk.flatten() for chunk in chunks], kind.value_type, digest)
        return
    if pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            _digest_values([chunk.field(number) for chunk in chunks], kind.field(number).type, digest)
        return
    for chunk in (chunk.drop_null() if chunk.null_count else chunk for chunk in chunks):
        if strings:
            large = chunk.cast(pa.large_binary())
            _, offsets, values = large.buffers()
            if values:
                first, last = np.frombuffer(offsets, np.int64)[[large.offset, large.offset + len(large)]]
                digest.update(values[int(first) : int(last)])
        else:
            digest.update(np.ascontiguousarray(chunk.to_numpy(zero_copy_only=False)).data)


def rows(path: Path) -> int:
    """Number of rows of a file."""
    return int(pq.read_metadata(verified(path)).num_rows)
