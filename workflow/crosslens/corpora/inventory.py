"""The inventory of all corpora: a line for each file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crosslens.corpora.overlap import words_in_train
from crosslens.jobs import parquet
from crosslens.jobs.parquet import metadata

COLUMNS = pa.schema(
    [
        ("corpus", pa.string()),
        ("kind", pa.string()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("split", pa.string()),
        ("rows", pa.int64()),
        ("words", pa.int64()),  # null if a corpus has none
        ("available", pa.int64()),  # rows before a sample was drawn
        ("in_train", pa.int64()),  # rows whose text also occurs in the language's train; null for train, or without one
        ("in_train_long", pa.int64()),  # those with ten words or more, which hardly coincide by chance
        ("dropped", pa.string()),  # number of official rows left out, and of other changes, by reason
        ("files", pa.string()),  # official files
    ]
)


def inventory(files: Iterable[Path], corpora: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """Inventory with a row for each file, in the order of the files.

    files: CORPUS/LANGUAGE.SPLIT.parquet or CORPUS/typology.parquet. corpora: `kind` and `source` of each corpus by name.
    """
    return pa.Table.from_pylist([_line(path, corpora[path.parent.name]) for path in files], schema=COLUMNS)


def _line(path: Path, corpus: Mapping[str, Any]) -> dict[str, Any]:
    language, _, split = path.name.removesuffix(".parquet").partition(".")
    details = metadata(path)
    words = None
    if "forms" in parquet.schema(path).names:
        words = int(pc.sum(pc.list_value_length(parquet.read(path, columns=["forms"])["forms"])).as_py())
    lengths = words_in_train(path)
    also = ("pages_unparsable", "twice_in_page", "zero_bytes")
    counts = details.get("dropped") or {name: details[name] for name in also if name in details}
    return {
        "corpus": path.parent.name,
        "kind": corpus["kind"],
        "source": corpus["source"],
        "language": language if split else "",
        "split": split,
        "rows": parquet.rows(path),
        "words": words,
        "available": details.get("available", details.get("found")),
        **({} if lengths is None else {"in_train": len(lengths), "in_train_long": sum(words >= 10 for words in lengths)}),
        "dropped": ", ".join(f"{name} {count}" for name, count in counts.items() if count),
        "files": " ".join(details.get("files", [details["source"]] if "source" in details else [])),
    }
