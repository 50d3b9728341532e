"""Labels of a parser that predicts relations with subtypes."""

from collections.abc import Iterable
from pathlib import Path

from crosslens.jobs import parquet


def relations_of(files: Iterable[Path]) -> tuple[str, ...]:
    """Distinct relations in token files, with subtypes, in alphabetical order; () if the files have no trees."""
    columns = (parquet.read(path, columns=["relations"])["relations"].combine_chunks() for path in files)
    return tuple(sorted({relation for column in columns for relation in column.flatten().unique().to_pylist()}))
