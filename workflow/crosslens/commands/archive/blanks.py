"""Tokens and samples without their texts, still readable by code that only counts words and compares labels."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed

BLANKS: dict[str, str | int] = {"words": "", "subwords": 0, "word": ""}
"""Column of tokens or samples -> value that replaces each text."""


def write_blanked(folder: Path, copy: Path) -> None:
    """Write a copy of a folder of tokens or samples with every word empty and every subword the first of the vocabulary."""
    with checksummed(copy) as temporary:
        for file in sorted(folder.rglob("*.parquet")):
            table = parquet.read(file)
            for column in BLANKS.keys() & {*table.column_names}:
                values = _blanks(table[column].combine_chunks(), BLANKS[column])
                table = table.set_column(table.column_names.index(column), table.field(column), values)
            parquet.write(table, temporary / file.relative_to(folder), parquet.metadata(file) or None)


def _blanks(values: pa.Array, blank: str | int) -> pa.Array:
    """Array with `blank` instead of each value; if values are lists, these keep their lengths."""
    if not pa.types.is_list(values.type):
        return pa.repeat(pa.scalar(blank, values.type), len(values))
    ends = np.cumsum(pc.list_value_length(values).to_numpy(zero_copy_only=False))
    blanks = pa.repeat(pa.scalar(blank, values.type.value_type), int(ends[-1]) if len(ends) else 0)
    return pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), blanks)
