"""Parquet schemas of corpora, and their only writer and reader. The name of a file gives its split."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError

MULTIWORD = pa.struct([("first", pa.int16()), ("last", pa.int16()), ("form", pa.string())])

SENTENCES = pa.schema(
    [
        ("id", pa.string()),  # TREEBANK/SENT_ID, e.g. en_ewt/weblog-1; in a parallel treebank, the id that translations share
        ("language", pa.string()),
        ("text", pa.string()),
        ("forms", pa.list_(pa.string())),  # syntactic words: integer ids only
        ("upos", pa.list_(pa.string())),  # this and the next three are empty if the corpus has no trees
        ("heads", pa.list_(pa.int16())),  # 1-based position of the head, 0 for the root
        ("relations", pa.list_(pa.string())),  # with subtypes
        ("multiwords", pa.list_(MULTIWORD)),  # surface words that cover several syntactic words, 1-based and inclusive
        ("entities", pa.list_(pa.string())),  # IOB2 tags of the words, e.g. B-PER; empty if the corpus has none
    ]
)
PARAGRAPHS = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("page", pa.string()),  # article or document; a page is in one split only
        ("text", pa.string()),
    ]
)
PAIRS = pa.schema(
    [
        ("id", pa.string()),  # the official pairID, which translations share; else the line number
        ("language", pa.string()),
        ("premise", pa.string()),
        ("hypothesis", pa.string()),
        ("label", pa.string()),  # entailment, neutral or contradiction
    ]
)
DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),  # the official id; else FILE/NUMBER of the line or row
        ("language", pa.string()),
        ("text", pa.string()),
        ("label", pa.string()),  # topic (in MLDoc CCAT, ECAT, GCAT or MCAT) or language (in WiLI its label, mostly ISO 639-3)
    ]
)
DICTIONARY = pa.schema(
    [
        ("id", pa.string()),  # FILE/LINE; a source word with several translations has several lines
        ("source_language", pa.string()),
        ("target_language", pa.string()),
        ("source", pa.string()),
        ("target", pa.string()),
    ]
)
TYPOLOGY = pa.schema(
    [
        ("language", pa.string()),  # code of resources/languages.csv
        ("wals", pa.string()),  # WALS code
        ("genus", pa.string()),  # this and the next as named in the release
        ("family", pa.string()),
        ("feature", pa.string()),  # 81A
        ("name", pa.string()),  # Order of Subject, Object and Verb
        ("value", pa.int16()),  # number of the value, from 1
        ("label", pa.string()),  # SVO
    ]
)


def write(rows: pa.Table | Iterable[Mapping[str, Any]], path: Path, schema: pa.Schema, metadata: Mapping[str, Any]) -> None:
    """Write rows of a schema to a Parquet file, whole or not at all.

    metadata: anything that JSON can hold, such as the number of rows left out and why; `parquet.metadata(path)` returns it.
    Raises DataError if a row does not fit the schema: a missing or additional column, a null, or a value out of range.
    """
    if not isinstance(rows, pa.Table):
        rows = list(rows)
        names = set(schema.names)
        for number, row in enumerate(rows):
            if row.keys() != names:
                raise DataError(f"{path}: row {number}: expected columns {', '.join(schema.names)}, found {', '.join(row)}")
        try:
            rows = pa.Table.from_pylist(rows, schema=schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise DataError(f"{path}: expected rows with the types of the schema: {' '.join(str(error).split())}") from None
    if not rows.schema.equals(schema):
        raise DataError(f"{path}: expected columns {', '.join(schema.names)} of the corpus schema, found {rows.schema}")
    for name in schema.names:
        if rows[name].null_count:
            raise DataError(f"{path}: expected {name} in every row, found {rows[name].null_count} rows without it")
    parquet.write(rows, path, metadata, compression="zstd")


def read(path: Path) -> pa.Table:
    """Read a corpus file as a table. Raises DataError if it is not a Parquet file, or has changed since it was written."""
    return parquet.read(path)
