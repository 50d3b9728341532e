"""Convert rate and BLEU-1: how much of a target language's text a model's output contains (liu2020, section 4.2)."""

from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from crosslens.encoding.texts import Texts
from crosslens.numerics.intervals import jackknife


class Counts(NamedTuple):
    """Counts of subwords in the outputs of n texts, (n,) each: by vocabulary, and what BLEU-1 needs."""

    target: np.ndarray  # only in the target language's vocabulary
    source: np.ndarray  # only in the source language's vocabulary
    common: np.ndarray  # in both vocabularies
    neither: np.ndarray  # in neither vocabulary
    matches: np.ndarray  # in the reference too, each of its subwords matched once
    size: np.ndarray  # all subwords of the output
    reference: np.ndarray  # all subwords of the reference
    unchanged: np.ndarray  # equal to the input's subword at the same position


def vocabulary(texts: Texts, size: int) -> np.ndarray:
    """Return which subwords occur in texts, (size,) bool: all but special subwords, [UNK] included.

    With this choice the vocabulary sizes equal those printed in table 3 exactly. Special subwords are those before and after
    each text: [CLS] and [SEP].
    """
    occurs = np.zeros(size, bool)
    occurs[texts.subwords] = True
    occurs[texts.subwords[texts.end_rows()]] = False
    return occurs


def count(
    output: np.ndarray, offsets: np.ndarray, reference: np.ndarray, reference_offsets: np.ndarray, source: np.ndarray,
    target: np.ndarray, input_subwords: np.ndarray,
) -> Counts:  # fmt: skip
    """Return the counts of n outputs and their references, both flat with offsets (n + 1,).

    source, target: vocabularies, (vocabulary,) bool. input_subwords: subwords of the input, as many as of the output.
    """
    n, size = len(offsets) - 1, len(source)
    text, reference_text = (np.repeat(np.arange(n), np.diff(ends)) for ends in (offsets, reference_offsets))

    def by_text(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(text[chosen[output]], minlength=n)

    keys, counts = np.unique(text * size + output, return_counts=True)
    reference_keys, reference_counts = np.unique(reference_text * size + reference, return_counts=True)
    shared, rows, reference_rows = np.intersect1d(keys, reference_keys, assume_unique=True, return_indices=True)
    matched = np.minimum(counts[rows], reference_counts[reference_rows])
    matches = np.bincount(shared // size, matched, n).astype(np.int64)
    return Counts(
        by_text(target & ~source), by_text(source & ~target), by_text(source & target), by_text(~(source | target)),
        matches, np.diff(offsets), np.diff(reference_offsets), np.bincount(text[output == input_subwords], minlength=n),
    )  # fmt: skip


def convert_rate(counts: Counts) -> float:
    """Return the share of the target language's own subwords among all that are not common to both languages, over all texts.

    It is #(y in V_t - V_s) / (#y - #(y in V_s and V_t)): a subword of neither language counts in the denominator. nan if that is
    zero.
    """
    below = counts.size.sum() - counts.common.sum()
    return float(counts.target.sum() / below) if below else float("nan")


def bleu(counts: Counts, penalty: bool = True) -> float:
    """Return BLEU-1 of all texts together, 0 to 1, by sacrebleu: clipped matches, with or without the brevity penalty."""
    matches, size, reference = (int(values.sum()) for values in (counts.matches, counts.size, counts.reference))
    reference = reference if penalty else min(reference, size)
    score = BLEU.compute_bleu([matches], [size], size, reference, smooth_method="none", max_ngram_order=1)
    return float(score.score) / 100


def mean_bleu(counts: Counts) -> float:
    """Return the mean over texts of each text's BLEU-1, 0 to 1, with brevity penalty."""
    return float(_bleu(counts).mean())


def _bleu(counts: Counts) -> np.ndarray:
    """Return BLEU-1 of each element of the counts, (n,), with brevity penalty."""
    size = np.maximum(counts.size, 1)
    score: np.ndarray = np.exp(np.minimum(0, 1 - counts.reference / size)) * counts.matches / size
    return score


def share(counts: Counts, kind: str) -> float:
    """Return the share of one kind of subwords in the outputs. kind: target, source, common, neither or unchanged."""
    subwords: np.ndarray = getattr(counts, kind)
    return float(subwords.sum() / counts.size.sum())


def intervals(counts: Counts) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return 95 % intervals over texts of the convert rate and of BLEU-1 with brevity penalty."""
    deleted = Counts(*(values.sum() - values for values in counts))  # without each text
    return (
        share_interval(counts.target, counts.size - counts.common),
        _ends(bleu(counts), _bleu(deleted), int(np.count_nonzero(counts.size))),
    )


def share_interval(hits: np.ndarray, sizes: np.ndarray, *, score: bool = True) -> tuple[float, float]:
    """Return the 95 % interval over texts of a share or, without `score`, of a difference of shares.

    hits, sizes: number of hits and of cases in each text, (n,).
    """
    deleted = (hits.sum() - hits) / np.maximum(sizes.sum() - sizes, 1)
    return _ends(hits.sum() / max(sizes.sum(), 1), deleted, int(np.count_nonzero(sizes)), score)


def share_record(hits: np.ndarray, texts: np.ndarray) -> dict[str, float]:
    """Return part of a record: the share of hits among n items with its interval over texts.

    hits: (n,) bool, or probabilities of a hit; texts: (n,) id of each item's text, or of another group of items that are not
    independent.
    """
    numbers = np.unique(texts, return_inverse=True)[1]
    low, high = share_interval(np.bincount(numbers, hits), np.bincount(numbers))
    return {"value": float(hits.mean()), "low": low, "high": high}


def _ends(value: float, deleted: np.ndarray, number: int, score: bool = True) -> tuple[float, float]:
    low, high = jackknife(value, deleted, number, score=score)
    return float(low), float(high)
