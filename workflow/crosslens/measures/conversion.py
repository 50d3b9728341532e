"""How much of another language's text a model's output has: convert rate and BLEU-1 (liu2020, section 4.2)."""

from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from crosslens.encoding.texts import Texts
from crosslens.numerics.intervals import jackknife


class Counts(NamedTuple):
    """Of each of n texts, (n,) each: the output's subwords by the vocabularies that have them, and what BLEU-1 needs."""

    target: np.ndarray  # that the target language alone has
    source: np.ndarray  # that the source language alone has
    common: np.ndarray
    neither: np.ndarray
    matches: np.ndarray  # with the reference, each of its subwords matched once
    size: np.ndarray
    reference: np.ndarray  # subwords of the reference
    unchanged: np.ndarray  # subwords that are those of the input


def vocabulary(texts: Texts, size: int) -> np.ndarray:
    """Which subwords texts have, (size,) bool: without special ones, [UNK] included.

    So the sizes of table 3 are the printed ones to the last unit. The special ones are those that stand first and last in the
    texts: [CLS] and [SEP].
    """
    found = np.zeros(size, bool)
    found[texts.pieces] = True
    found[texts.pieces[texts.piece_offsets[:-1]]] = found[texts.pieces[texts.piece_offsets[1:] - 1]] = False
    return found


def count(
    output: np.ndarray, offsets: np.ndarray, reference: np.ndarray, reference_offsets: np.ndarray, source: np.ndarray,
    target: np.ndarray, given: np.ndarray,
) -> Counts:  # fmt: skip
    """Counts of n outputs, flat with offsets (n + 1,), and their references likewise; source, target: vocabularies.

    given: the input, as many subwords as the output.
    """
    n, size = len(offsets) - 1, len(source)
    text, reference_text = (np.repeat(np.arange(n), np.diff(ends)) for ends in (offsets, reference_offsets))

    def of(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(text[chosen[output]], minlength=n)

    keys, counts = np.unique(text * size + output, return_counts=True)
    reference_keys, reference_counts = np.unique(reference_text * size + reference, return_counts=True)
    shared, one, other = np.intersect1d(keys, reference_keys, assume_unique=True, return_indices=True)
    matched = np.minimum(counts[one], reference_counts[other])
    matches = np.bincount(shared // size, matched, n).astype(np.int64)
    return Counts(
        of(target & ~source), of(source & ~target), of(source & target), of(~(source | target)),
        matches, np.diff(offsets), np.diff(reference_offsets), np.bincount(text[output == given], minlength=n),
    )  # fmt: skip


def convert_rate(counts: Counts) -> float:
    """Share of subwords that the target language alone has, of those that are not common to both; over all texts.

    #(y in V_t - V_s) / (#y - #(y in V_s and V_t)): a subword of neither language counts below the line. nan where there is none.
    """
    below = counts.size.sum() - counts.common.sum()
    return float(counts.target.sum() / below) if below else float("nan")


def bleu(counts: Counts, penalty: bool = True) -> float:
    """BLEU-1 of all texts together, 0 to 1: matched subwords, clipped, with the brevity penalty or without; by sacrebleu."""
    matches, size, reference = (int(values.sum()) for values in (counts.matches, counts.size, counts.reference))
    reference = reference if penalty else min(reference, size)
    score = BLEU.compute_bleu([matches], [size], size, reference, smooth_method="none", max_ngram_order=1)
    return float(score.score) / 100


def mean_bleu(counts: Counts) -> float:
    """Mean over texts of the BLEU-1 of each, 0 to 1, with brevity penalty."""
    return float(_bleu(counts).mean())


def _bleu(counts: Counts) -> np.ndarray:
    """BLEU-1 of each column of counts, with brevity penalty."""
    size = np.maximum(counts.size, 1)
    score: np.ndarray = np.exp(np.minimum(0, 1 - counts.reference / size)) * counts.matches / size
    return score


def share(counts: Counts, kind: str) -> float:
    """Share of the outputs' subwords of a kind: target, source, common, neither or unchanged."""
    found: np.ndarray = getattr(counts, kind)
    return float(found.sum() / counts.size.sum())


def intervals(counts: Counts) -> tuple[tuple[float, float], tuple[float, float]]:
    """95 % intervals over texts, of the convert rate and of BLEU-1 with brevity penalty."""
    left = Counts(*(values.sum() - values for values in counts))  # without each text
    return (
        share_interval(counts.target, counts.size - counts.common),
        _ends(bleu(counts), _bleu(left), int(np.count_nonzero(counts.size))),
    )


def share_interval(hits: np.ndarray, sizes: np.ndarray, *, score: bool = True) -> tuple[float, float]:
    """95 % interval over texts of a share or, without `score`, of a difference: hits among as many cases of each text, (n,)."""
    left = (hits.sum() - hits) / np.maximum(sizes.sum() - sizes, 1)
    return _ends(hits.sum() / max(sizes.sum(), 1), left, int(np.count_nonzero(sizes)), score)


def _ends(value: float, left: np.ndarray, number: int, score: bool = True) -> tuple[float, float]:
    low, high = jackknife(value, left, number, score=score)
    return float(low), float(high)
