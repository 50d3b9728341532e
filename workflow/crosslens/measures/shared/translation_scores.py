"""Scores of the outputs of token translation: against the translated texts, and by a dictionary."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from crosslens.encoding.shift import inner_subwords
from crosslens.encoding.texts import Texts
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.conversion import Counts, bleu, convert_rate, count, intervals, mean_bleu, share, share_interval
from crosslens.measures.shared.lexicon import Lexicon, count_translations
from crosslens.measures.shared.shift_terms import (
    BLEU_1,
    CONVERT_RATE,
    ELSEWHERE,
    IN_DICTIONARY,
    MEAN_BLEU,
    SHARES,
    TRANSLATIONS,
    WITHOUT_PENALTY,
)


def most_frequent(source: Texts, target: Texts, size: int) -> np.ndarray:
    """Return the most frequent subwords of the target texts, flat: for each source text as many as it has inner positions.

    size: of the vocabulary.
    """
    inner = inner_subwords(target)
    frequencies = np.bincount(inner.subwords[inner.labelled_rows], minlength=size)
    ranking = np.argsort(-frequencies, kind="stable").astype(np.int32)
    return np.take(ranking, inner_subwords(source).positions - source.edges.before, mode="wrap")


def compare(source: Texts, target: Texts, output: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> Counts:
    """Return the counts of outputs for source texts against their translations, the target texts.

    output: flat, a subword for each inner position. of_source, of_target: vocabularies of the languages, (vocabulary,) bool.
    Raises DataError unless both have the same ids.
    """
    if source.ids != target.ids:
        raise DataError("translation: expected the same pairs in both languages, found different ids: tokenise the corpus again")
    reference = inner_subwords(target)
    inner = inner_subwords(source)
    subwords, before = target.subwords[reference.labelled_rows], source.subwords[inner.labelled_rows]
    return count(output, inner.word_offsets, subwords, reference.word_offsets, of_source, of_target, before)


def scores(row: Mapping[str, Any], counts: Counts, *, everything: bool) -> Iterator[dict[str, Any]]:
    """Yield convert rate and BLEU-1. everything: whether to add their intervals, shares and variants of BLEU-1."""
    rate, score = convert_rate(counts), bleu(counts)
    ends: Any = intervals(counts) if everything else ((None, None), (None, None))
    for name, value, (low, high) in ((CONVERT_RATE, rate, ends[0]), (BLEU_1, score, ends[1])):
        yield {**row, "measure": name, "value": value, "low": low, "high": high}
    if everything:
        yield {**row, "measure": WITHOUT_PENALTY, "value": bleu(counts, penalty=False)}
        yield {**row, "measure": MEAN_BLEU, "value": mean_bleu(counts)}
        yield from ({**row, "measure": name, "value": share(counts, kind)} for kind, name in SHARES.items())


def translations(
    row: Mapping[str, Any], output: np.ndarray, converted: np.ndarray, lexicon: Lexicon, number: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield how many of the converted subwords a dictionary can judge and how many of these are translations.

    output, converted: (n,), as for `count_translations`. number: number of texts. seed: of the other positions.
    """
    counts = count_translations(output, converted, lexicon, number, seed)
    for measure_name, hits, sizes in (
        (IN_DICTIONARY, counts.in_dictionary, counts.converted),
        (TRANSLATIONS, counts.in_place, counts.in_dictionary),
        (ELSEWHERE, counts.elsewhere, counts.in_dictionary),
    ):
        if sizes.any():
            low, high = share_interval(hits, sizes)
            value = float(hits.sum() / sizes.sum())
            yield {**row, "measure": measure_name, "value": value, "low": low, "high": high, "n": int(sizes.sum())}
