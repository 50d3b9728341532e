"""Attachment scores of parsers: LAS and UAS, with and without punctuation."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from crosslens import parquet
from crosslens.errors import DataError
from crosslens.measures.definitions import LAS, LAS_WITHOUT_PUNCTUATION, LAS_WITHOUT_ROOTS, UAS, UAS_WITHOUT_PUNCTUATION
from crosslens.measures.f1 import Counts, accuracy, cut_shares
from crosslens.measures.given import Given
from crosslens.measures.intervals import score_interval
from crosslens.measures.trees import attachment

READS = ("predictions", "tokens")

NOT_COUNTED = ("PUNCT", "SYM")  # by LAS without punctuation, as wu2019 counts


def measure(given: Given, *, head: str, arcs: str, relations: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Scores on each corpus, split and language, with intervals over sentences.

    head, arcs: the predictions of relations, and those of heads. relations: names of the classes. Tokens have the words' UPOS.
    """
    table = parquet.read(given.folder / "predictions.parquet").to_pandas()
    for (corpus, split, language), part in table.groupby(["corpus", "split", "language"], sort=False):
        place = {"item": head, "corpus": corpus, "split": split, "language": language}
        labelled = part[part["head"] == head]
        file = given.tokens[corpus] / f"{language}.{split}.parquet"
        upos = parquet.read(file, columns=["id", "labels"]).to_pandas()
        lost = cut_shares(labelled["cut"].to_numpy(), labelled["cut_words"].to_numpy(), sum(map(len, labelled["gold"])))
        for definition, (share, n) in lost.items():
            yield place | {"measure": "cut", "definition": definition, "value": share, "n": n}
        if not labelled["id"].tolist() == part[part["head"] == arcs]["id"].tolist() == upos["id"].tolist():
            raise DataError(
                f"{given.folder / 'predictions.parquet'}: expected the sentences of {file}, found others: train the recipe again"
            )
        for definition, counts in _counts(labelled, part[part["head"] == arcs], upos, relations).items():
            value, low, high = score_interval(counts, accuracy)
            yield place | {"measure": "score", "definition": definition, "value": value, "low": low, "high": high,
                           "n": int(counts.true.sum())}  # fmt: skip


def _counts(labelled: pd.DataFrame, arcs: pd.DataFrame, upos: pd.DataFrame, relations: Sequence[str]) -> dict[str, Counts]:
    names = [*relations, ""]  # -1, and what has no label, is the last

    def named(sentences: pd.Series) -> list[list[str]]:
        return [[names[max(number, -1)] for number in sentence] for sentence in sentences]

    trees = (arcs["gold"].tolist(), named(labelled["gold"]), arcs["predicted"].tolist(), named(labelled["predicted"]))
    whole = attachment(*trees, upos["labels"].tolist())
    without = attachment(*trees, upos["labels"].tolist(), without=NOT_COUNTED)
    inner = attachment(*trees, upos["labels"].tolist(), without=NOT_COUNTED, roots=False)
    return {
        LAS: whole["las"], UAS: whole["uas"], LAS_WITHOUT_PUNCTUATION: without["las"], UAS_WITHOUT_PUNCTUATION: without["uas"],
        LAS_WITHOUT_ROOTS: inner["las"],
    }  # fmt: skip
