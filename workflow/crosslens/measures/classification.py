"""Accuracy and F1 of heads that classify words or texts, under the configured definitions."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from crosslens.jobs import parquet
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.unseen import subsets, take, unseen
from crosslens.numerics.definitions import ACCURACY, CEILING, CHUNK_MACRO_F1, CHUNK_MICRO_F1, MACRO_F1, TRANSFER, UNION_F1
from crosslens.numerics.f1 import (
    Counts,
    accuracy,
    chunk_counts,
    cut_shares,
    flattened,
    macro_f1,
    micro_f1,
    text_ids,
    token_counts,
    true_share,
)
from crosslens.numerics.intervals import Sample, score_interval

Score = Callable[[Counts], np.ndarray]
TOKEN_SCORES: dict[str, Score] = {
    UNION_F1: partial(macro_f1, classes="union"),
    CEILING: true_share,
    MACRO_F1: partial(macro_f1, classes="true"),
    ACCURACY: accuracy,
}
CHUNK_SCORES: dict[str, Score] = {CHUNK_MACRO_F1: partial(macro_f1, classes="union"), CHUNK_MICRO_F1: micro_f1}


def measure(
    subject: Subject,
    *,
    labels: Mapping[str, Sequence[str]],
    definitions: Mapping[str, Sequence[str]],
    source_language: str | None = None,
    training: Sequence[Sequence[str]] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the scores of each head on each corpus and split, over all languages and by language, with intervals over texts.

    The `item` of a record is its head.

    labels: head -> names of its classes. definitions: head -> definitions of its scores, which may include CUT_TEXTS and
    CUT_WORDS. source_language: language that TRANSFER, a mean over languages, leaves out. training: corpus, language and split
    of each file of training data, for additional scores on texts that these files lack (see `unseen`).
    """
    table = parquet.read(subject.folder / "predictions.parquet").to_pandas()
    for (head, corpus, split), part in table[table["head"].isin(list(labels))].groupby(["head", "corpus", "split"], sort=False):
        place = {"item": head, "corpus": corpus, "split": split}
        is_unseen = unseen(subject, part, training)
        ids, languages = text_ids(part["id"].tolist()), part["language"].to_numpy()
        gold, predicted, rows = flattened(part["gold"].tolist(), part["predicted"].tolist())
        tokens = token_counts(gold, predicted, rows, len(part), len(labels[head]))
        counts = dict.fromkeys(TOKEN_SCORES, tokens)
        if any(definition in CHUNK_SCORES for definition in definitions[head]):
            chunks = chunk_counts(gold, predicted, rows, len(part), labels[head])  # by window, as in XTREME
            counts |= dict.fromkeys(CHUNK_SCORES, chunks)
        scores = {name: score for name, score in (CHUNK_SCORES | TOKEN_SCORES).items() if name in definitions[head]}
        for language in ["all", *dict.fromkeys(languages)]:
            chosen = np.full(len(languages), language == "all") | (languages == language)
            for suffix, texts in subsets(chosen, is_unseen).items():
                n, sample = int(tokens.true[texts].sum()), Sample.of(ids[texts], languages[texts])
                for definition, score in scores.items():
                    value, low, high = score_interval(take(counts[definition], texts), score, sample)
                    if definition == CEILING:  # depends on which classes occur, not on a mean over texts: no interval
                        low = high = math.nan
                    yield place | {"language": language, "measure": "score", "definition": f"{definition}{suffix}",
                                   "value": value, "low": low, "high": high, "n": n}  # fmt: skip
            rows_of_language, n = part[chosen], int(tokens.true[chosen].sum())
            shares = cut_shares(rows_of_language["cut"].to_numpy(), rows_of_language["cut_words"].to_numpy(), n)
            for definition, (share, total) in shares.items():
                if definition in definitions[head]:
                    yield place | {"language": language, "measure": "cut", "definition": definition, "value": share,
                                   "n": total}  # fmt: skip
        targets = languages != source_language
        if TRANSFER in definitions[head] and targets.any():
            by_target = by_language(take(tokens, targets), languages[targets])
            value, low, high = score_interval(by_target, mean_accuracy, Sample.of(ids[targets], languages[targets]))
            yield place | {"language": "all", "measure": "score", "definition": TRANSFER, "value": value, "low": low,
                           "high": high, "n": int(by_target.true.sum())}  # fmt: skip


def by_language(tokens: Counts, languages: np.ndarray) -> Counts:
    """Return the counts of each text, summed over classes, in the column of the text's language: (n, languages).

    tokens: counts of n texts by class. languages: (n,).
    """
    columns = languages[:, None] == np.unique(languages)
    return Counts(*(counts.sum(1, keepdims=True) * columns for counts in (tokens.true, tokens.predicted, tokens.correct)))


def mean_accuracy(counts: Counts) -> np.ndarray:
    """Return the mean over languages of each language's accuracy, a fraction; counts: (..., languages)."""
    mean: np.ndarray = (counts.correct / np.maximum(counts.true, 1)).mean(-1)
    return mean
