"""Counts of subwords in tokenised texts."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crosslens.config.encoders import UNKNOWN
from crosslens.jobs import parquet
from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.parquet import metadata


@dataclass(frozen=True)
class Vocabulary:
    """The subwords of an encoder by number.

    special: numbers of the special subwords. unknown: number of the subword for unknown text; None if there is none.
    """

    subwords: list[str]
    special: list[int]
    unknown: int | None

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Vocabulary from tokenizer.json in a tokenizer's folder, read without the library tokenizers."""
        file = verified(folder / "tokenizer.json")
        content = parse_json(file.read_bytes(), file)
        model, vocabulary, added = content["model"], content["model"]["vocab"], content["added_tokens"]
        if isinstance(vocabulary, list):  # Unigram: with scores
            vocabulary = {subword: number for number, (subword, _) in enumerate(vocabulary)}
        numbers = vocabulary | {token["content"]: token["id"] for token in added}
        unknown = model.get("unk_id", numbers.get(model.get("unk_token")))  # unk_id: Unigram
        if unknown is None:
            unknown = next((numbers[name] for name in UNKNOWN if name in numbers), None)
        special = [token["id"] for token in added if token["special"] and token["id"] != unknown]
        subwords = [""] * (max(numbers.values()) + 1)
        for subword, number in numbers.items():
            subwords[number] = subword
        return cls(subwords, special, unknown)


@dataclass(frozen=True)
class Counts:
    """Counts of a token file.

    known: count of each subword, (n_vocabulary,), 0 for special and unknown ones. unknown: count of unknown subwords. words:
    number of words. cut_texts: number of texts that were cut.
    """

    known: np.ndarray
    unknown: int
    words: int
    cut_texts: int

    @property
    def subwords(self) -> int:
        """Number of subwords, including unknown ones."""
        return int(self.known.sum()) + self.unknown

    @classmethod
    def read(cls, path: Path, vocabulary: Vocabulary) -> "Counts":
        """Counts of a token file. Its tokenisation must have no windows, and one labelled subword per word."""
        table = parquet.read(path, columns=["subwords", "words"])
        numbers = table["subwords"].combine_chunks().flatten().to_numpy()
        counts = np.bincount(numbers, minlength=len(vocabulary.subwords))
        counts[vocabulary.special] = 0
        unknown = 0 if vocabulary.unknown is None else int(counts[vocabulary.unknown])
        if vocabulary.unknown is not None:
            counts[vocabulary.unknown] = 0
        words = pc.sum(pc.list_value_length(table["words"])).as_py() or 0
        return cls(counts, unknown, words, metadata(path).get("cut_texts", 0))


def unknown_shares(folder: Path, vocabulary: Vocabulary) -> dict[str, float]:
    """Language -> share of unknown subwords in its test texts, for the languages that have any.

    folder: folder of a corpus's token files.
    """
    counts = {path.name.split(".")[0]: Counts.read(path, vocabulary) for path in sorted(verified(folder).glob("*.test.parquet"))}
    return {language: part.unknown / part.subwords for language, part in counts.items() if part.unknown}


def changed_subwords(path: Path, altered: Path, vocabulary: Vocabulary) -> tuple[int, int]:
    """Number of subwords that the texts of a token file lose under another tokenisation, and number of all their subwords.

    Each text's subwords are compared as a multiset, so that a subword that only moves is not lost. Special subwords do not
    count. altered: token file of the same texts under the other tokenisation. Raises DataError if its texts differ.
    """
    first, second = (parquet.read(file, columns=["id", "subwords"]) for file in (path, altered))
    if first["id"] != second["id"]:
        raise DataError(f"{altered}: expected the texts of {path} in their order, found others: read both without drop_unknown")
    (keys, counts), (other_keys, other_counts) = (_by_text(table, vocabulary) for table in (first, second))
    _, rows, other_rows = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    total = int(counts.sum())
    return total - int(np.minimum(counts[rows], other_counts[other_rows]).sum()), total


def _by_text(table: pa.Table, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Keys of text and subword, (k,), and how often each text has the subword, (k,); without special subwords."""
    subwords = table["subwords"].combine_chunks()
    numbers = subwords.flatten().to_numpy()
    text = np.repeat(np.arange(len(subwords)), pc.list_value_length(subwords).to_numpy())
    plain = ~np.isin(numbers, vocabulary.special)
    keys, counts = np.unique(text[plain] * len(vocabulary.subwords) + numbers[plain], return_counts=True)
    return keys, counts
