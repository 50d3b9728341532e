"""Texts that the splits of a language share with train."""

import re
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from crosslens.corpora.lines import UNSPACED
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError


def words_in_train(file: Path) -> list[int] | None:
    """Return the number of words of each row in LANGUAGE.SPLIT.parquet whose text train also has; None for or without train.

    The words of plain text are separated by spaces; in languages without spaces, characters are counted. Raises DataError if
    train has all texts and there are ten or more.
    """
    language = file.name.partition(".")[0]
    train = file.with_name(f"{language}.train.parquet")
    if file == train or not train.exists():
        return None
    rows = repeated(file, train)
    if 10 <= len(rows) == parquet.rows(file):
        names = ", ".join(parquet.metadata(file)["files"]) if "files" in parquet.metadata(file) else file.name
        raise DataError(f"{names}: expected other texts for {file.stem} than for train, found all {len(rows)} there; name others")
    if "forms" in rows.column_names:
        return list(pc.list_value_length(rows["forms"]).to_pylist())
    return [len(text) if language in UNSPACED else len(re.split("[ \0]", text)) for text in _texts(rows).to_pylist()]


@cache
def repeated(file: Path, *train: Path) -> pa.Table:
    """Return the rows of a corpus file or token file whose text, or pair of texts, also occurs in the files of train."""
    rows, train_texts = parquet.read(file), [chunk for path in train for chunk in _texts(parquet.read(path)).chunks]
    return rows.filter(pc.is_in(_texts(rows), value_set=pa.chunked_array(train_texts)))


def _texts(rows: pa.Table) -> pa.ChunkedArray:
    """Text of each row, (n,): in NFC, with a space between words and a zero byte between the texts of a pair."""
    lists = [pc.binary_join(rows[name], " ") for name in ("forms", "words") if name in rows.column_names]
    columns = lists or [rows[name] for name in ("text", "premise", "hypothesis", "source", "target") if name in rows.column_names]
    words = [pc.utf8_split_whitespace(pc.utf8_trim_whitespace(pc.utf8_normalize(column, "NFC"))) for column in columns]
    return pc.binary_join_element_wise(*(pc.binary_join(column, " ") for column in words), "\0")
