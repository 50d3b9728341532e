"""DensRay for any number of languages: directions along which vectors of different languages differ more than those of one.

Dufter and Schuetze (2019) for two classes, Liang et al. (2021), section 3.1 and appendix A, for n. With d_ij = x_i - x_j,

    A = mean of d_ij d_ij' over pairs of different languages - mean of d_ij d_ij' over pairs of one language,

whose eigenvectors are the directions, by falling eigenvalue. `PAIRS` names the two ways of taking a mean: over the vectors of
each pair of languages first, so that all languages count alike (the paper: sums over m vectors of each, weighted by
2 / n (n - 1) and 1 / n, which is m^2 A); or over all pairs of vectors at once (the released code for two classes,
pdufter/densray, model/model.py, lines 213-228). They are the same where languages have equally many vectors.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from crosslens.numerics.statistics import Statistics, between
from crosslens.numerics.subspace import Subspace
from crosslens.runs.errors import DataError

Pairs = Literal["languages", "vectors"]
PAIRS: tuple[Pairs, ...] = get_args(Pairs)
ROWS = 1024  # vectors whose distances to all others are held at once


def centroids(statistics: Statistics, weights: np.ndarray | None = None) -> Subspace:
    """Principal axes of the means of languages, each counted `weights` (n,) times, None: once.

    Eigenvalues are the variances of the means along them. At most n - 1 of them: n means around their mean have no more.
    Raises DataError for less than two languages or unsuitable weights.
    """
    shares, means = statistics.shares(weights), statistics.means
    centre = shares @ means
    values, axes = np.linalg.svd(np.sqrt(shares)[:, None] * (means - centre), full_matrices=False)[1:]
    rank = min(len(means) - 1, int((values > values[0] * max(means.shape) * np.finfo(float).eps).sum()))
    return Subspace.orthogonal("means", statistics.languages, values[:rank] ** 2, axes[:rank].T, centre)


def densray(statistics: Statistics, *, pairs: Pairs = "languages", weights: np.ndarray | None = None) -> Subspace:
    """DensRay from sums, without a loop over pairs.

    pairs "languages": what vectors of one language vary is in both means of A and cancels, whatever the numbers of vectors; left
    is, but for a factor, the scatter of the means of languages. The directions are the principal axes of these, at most n - 1.
    weights (n,): how much each language counts, None: all alike.
    pairs "vectors": cancels where numbers are equal alone; else A has d directions, with negative eigenvalues too. Needs the
    scatter of each language. Raises DataError where that was not kept, for less than two languages or unsuitable weights.
    """
    if pairs == "languages":
        axes = centroids(statistics, weights)
        eigenvalues = 2 * axes.eigenvalues / (1 - (statistics.shares(weights) ** 2).sum())
        return Subspace.orthogonal("densray", axes.languages, eigenvalues, axes.basis, axes.centre)
    if weights is not None:
        raise DataError("densray: expected no weights of languages for means over pairs of vectors: weight the vectors")
    sizes = statistics.sizes
    centre = statistics.shares(sizes) @ statistics.means
    equal, unequal = (sizes**2).sum(), sizes.sum() ** 2 - (sizes**2).sum()  # pairs, in both orders
    matrix = 2 * sizes.sum() / unequal * between(statistics.means, sizes)
    for language, size in zip(statistics.languages, sizes, strict=True):
        matrix += 2 * ((sizes.sum() - size) / unequal - size / equal) * statistics.scatter(language)
    return _eigenvectors("densray, pairs of vectors", statistics.languages, matrix, centre)


def densray_of_unit_differences(states: Mapping[str, np.ndarray], *, pairs: Pairs = "vectors") -> Subspace:
    """DensRay with each difference scaled to unit length, as pdufter/densray does by default (model/model.py, lines 89, 155-160).

    Sums cannot give it, since each difference has a length of its own: states, by language (m, d), are a sample. Costs N^2 d for
    N vectors of all languages, memory 8 N (d + ROWS) bytes. A has d directions, with negative eigenvalues too. Differences of
    zero count as zero. Raises DataError for less than two languages, or a language without states.
    """
    languages = tuple(sorted(states))
    sizes = np.array([len(states[language]) for language in languages])
    if len(sizes) < 2 or not sizes.all():
        raise DataError(f"densray: expected states of at least two languages, found {dict(zip(languages, sizes, strict=True))}")
    vectors = np.concatenate([np.asarray(states[language], np.float64) for language in languages])
    centre = vectors.mean(0)
    vectors = vectors - centre
    number = np.repeat(np.arange(len(sizes)), sizes)
    each = 1 / sizes if pairs == "languages" else np.ones(len(sizes))  # weight of a vector
    mass = each * sizes
    equal, unequal = (mass**2).sum(), mass.sum() ** 2 - (mass**2).sum()
    squares = (vectors**2).sum(1)
    matrix = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(vectors), ROWS):
        rows = slice(start, start + ROWS)
        distances = squares[rows, None] + squares - 2 * vectors[rows] @ vectors.T
        apart = distances > 1e-12 * (squares[rows, None] + squares)  # else the same but for rounding
        weights = np.where(number[rows, None] == number, -1 / equal, 1 / unequal) * each[number[rows], None] * each[number]
        weights = np.divide(weights, distances, out=np.zeros_like(distances), where=apart)
        # sum of w_ij d_ij d_ij' over j: w_ij (x_i x_i' - x_i x_j') and its like with i and j exchanged
        matrix += vectors[rows].T @ (weights.sum(1)[:, None] * vectors[rows] - weights @ vectors)
    return _eigenvectors(f"densray of unit differences, pairs of {pairs}", languages, matrix + matrix.T, centre)


def _eigenvectors(method: str, languages: tuple[str, ...], matrix: np.ndarray, centre: np.ndarray) -> Subspace:
    values, vectors = np.linalg.eigh(matrix)
    return Subspace.orthogonal(method, languages, values[::-1], vectors[:, ::-1], centre)
