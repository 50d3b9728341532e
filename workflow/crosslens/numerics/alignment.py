"""Alignment of sentences with their translations: similarities, neighbours and correlations of states of two languages.

x, y: (n, d), states of n sentences in two languages, with translations in the same row. A tie counts as a miss.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

TIE = 1e-12  # cosines that differ by at most this much are equal up to rounding
FEWEST = 100
"""Smallest number of sentences for CKA without length. Removing length costs three degrees of freedom, the same on both sides,
so independent states have a debiased CKA of 0.18 with 24 sentences, 0.009 with 100, 0.003 with 204 and 0.00002 with 1,000
(simulated)."""


@dataclass(frozen=True)
class Cosines:
    """Cosine similarities among n sentences, among their translations, and between the two, (n, n) each."""

    first: np.ndarray
    second: np.ndarray
    between: np.ndarray  # rows: sentences of the first language; columns: of the second

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Self:
        """Cosines of unit vectors x and y, (n, d) each, as `units` returns them."""
        return cls(x @ x.T, y @ y.T, x @ y.T)

    def paired(self, order: np.ndarray) -> Self:
        """Cosines with the second language's sentences in another order, (n,), so that pairs are not translations."""
        return type(self)(self.first, self.second[np.ix_(order, order)], self.between[:, order])


def units(states: np.ndarray) -> np.ndarray:
    """States (..., d) scaled to length 1, in float64; states of length 0 stay, and so have cosine 0 with all others."""
    vectors = np.asarray(states, np.float64)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: np.ndarray = vectors / np.where(lengths > 0, lengths, 1)
    return scaled


def mexa(cosines: Cosines) -> np.ndarray:
    """Whether the sentences of a pair are nearer to each other than to any other of the other language, (n,) bool.

    The chance level is 1 / (2 n - 1).
    Source: Kargaran et al. 2025, section 3; cisnlp/MEXA bc28c41, compute_mexa.py, lines 16-36.
    """
    off_diagonal = _without_diagonal(cosines.between)
    nearer: np.ndarray = cosines.between.diagonal() > np.maximum(off_diagonal.max(0), off_diagonal.max(1)) + TIE
    return nearer


def neighbours(cosines: Cosines) -> tuple[np.ndarray, np.ndarray]:
    """Whether the nearest neighbour of a first-language sentence is its translation, and whether it is in the first language.

    Both are (n,) bool. Candidates are all other sentences of both languages. If the nearest of each language are equally near,
    the sentence's own language counts. Source: Roy et al. 2020 (LAReQA), strong alignment.
    """
    nearest_same, nearest_other = (_without_diagonal(part).max(1) for part in (cosines.first, cosines.between))
    translation = cosines.between.diagonal()
    strong: np.ndarray = translation > np.maximum(nearest_same, nearest_other) + TIE
    same: np.ndarray = nearest_same >= np.maximum(nearest_other, translation) - TIE
    return strong, same


def mutual_neighbours(cosines: Cosines, k: int) -> np.ndarray:
    """Share of a sentence's k nearest neighbours whose translations are among its translation's k nearest neighbours, (n,).

    The chance level is k / (n - 1).
    Source: Huh et al. 2024, section 3; minyoungg/platonic-rep dcd76ba, metrics.py, lines 55-84.
    """
    shared = _nearest(_without_diagonal(cosines.first), k) & _nearest(_without_diagonal(cosines.second), k)
    shares: np.ndarray = shared.sum(1) / k
    return shares


def occurrences(between: np.ndarray, k: int) -> np.ndarray:
    """Number of rows for which each candidate is among the k nearest, (m,).

    between: (n, m), similarities; rows are items, columns are candidates.
    Source: Radovanovic et al. 2010, section 3: hubness is the skewness of these counts.
    """
    counts: np.ndarray = _nearest(between, k).sum(0)
    return counts


def correlation(x: np.ndarray, y: np.ndarray, blocks: np.ndarray) -> tuple[float, np.ndarray]:
    """Pearson's correlation of a dimension in two languages, mean over dimensions; and the same without each block, (blocks,).

    Dimensions that do not vary are left out; nan if none varies. Signs are kept, so that independent states give 0.

    blocks: (n,), number of each pair's block, from 0 without gaps.
    Source: Del and Fishel 2022, average neuron-wise correlation; TartuNLP/xsim c8a25a5, examples/run_analysis_torch_corr.py,
    lines 77-81.
    """
    x, y = (side - side.mean(0) for side in (np.asarray(x, np.float64), np.asarray(y, np.float64)))
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    sums = [np.add.reduceat(product[order], starts) for product in (x, y, x * x, y * y, x * y)]  # (blocks, d) each
    totals = [part.sum(0) for part in sums]
    sizes = np.bincount(blocks)[:, None]
    without = _correlations(len(x) - sizes, *(total - part for total, part in zip(totals, sums, strict=True)))
    return float(_mean(_correlations(len(x), *totals))), _mean(without)


def standardised(states: np.ndarray) -> np.ndarray:
    """Columns of states (n, d) with mean 0 and length 1, in float64, so that products are correlations; nan if constant."""
    deviations = np.asarray(states, np.float64) - states.mean(0, dtype=np.float64)
    lengths = np.linalg.norm(deviations, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns: np.ndarray = deviations / np.where(lengths > 0, lengths, np.nan)
    return columns


def length_out(states: np.ndarray, subwords: np.ndarray) -> np.ndarray:
    """Residuals of states (..., n, d) regressed on a constant, the logarithm of the number of subwords and its square.

    subwords: (n,), number of subwords in each sentence.
    """
    logarithms = np.log(subwords.astype(np.float64))
    basis, triangle = np.linalg.qr(np.stack([np.ones(len(subwords)), logarithms, logarithms**2], 1))
    diagonal = np.abs(np.diag(triangle))
    basis = basis[
        :, diagonal > diagonal.max() * len(subwords) * np.finfo(float).eps
    ]  # if all lengths are equal, only the constant is left
    rest: np.ndarray = states - basis @ (basis.T @ states)
    return rest


def _correlations(
    n: int | np.ndarray, x: np.ndarray, y: np.ndarray, xx: np.ndarray, yy: np.ndarray, xy: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Correlations from sums over n items, in the shape of the sums; nan if a variable does not vary."""
    squares = (xx - x * x / n) * (yy - y * y / n)
    varies = squares > np.finfo(float).eps * xx * yy
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varies, (xy - x * y / n) / np.sqrt(squares), np.nan)


def _mean(correlations: np.ndarray) -> np.ndarray:
    """Mean over the last axis, ignoring nan; nan if there is nothing else."""
    finite = np.isfinite(correlations)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: np.ndarray = np.where(finite, correlations, 0).sum(-1) / finite.sum(-1)
    return mean


def _without_diagonal(cosines: np.ndarray) -> np.ndarray:
    off_diagonal = cosines.copy()
    np.fill_diagonal(off_diagonal, -np.inf)
    return off_diagonal


def _nearest(similarities: np.ndarray, k: int) -> np.ndarray:
    """Whether each column is among the k most similar to a row, (n, m) bool; k is at most m."""
    near = np.zeros(similarities.shape, bool)
    k = min(k, similarities.shape[1])
    np.put_along_axis(near, np.argpartition(-similarities, k - 1, axis=1)[:, :k], True, axis=1)
    return near
