"""Further language subspaces from the same sums: LDA, LEACE and LSAR."""

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.numerics.densray import centroids
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace

TOLERANCE = 1e-4  # of LDA: singular values below it are none, as by scikit-learn's default


def lda(statistics: Statistics) -> Subspace:
    """Linear discriminant analysis as scikit-learn's default, the solver "svd" with the shares of languages as priors.

    Filters are scikit-learn's `scalings_` but for signs, coordinates those of its `transform`, centred at the weighted mean of
    languages: states have unit covariance within languages there. They are not orthogonal; the basis is. Eigenvalues: variance
    between means, over n - 1, in units of that within languages.
    Raises DataError where there are no more vectors than languages.
    """
    sizes, means = statistics.sizes, statistics.means
    centre = statistics.shares(sizes) @ means
    if sizes.sum() <= len(sizes):
        raise DataError(f"lda: expected more vectors than languages, found {sizes.sum():g} of {len(sizes)}")
    covariance = statistics.within / sizes.sum()
    deviations = np.sqrt(np.diag(covariance))
    deviations[deviations == 0] = 1
    variances, axes = np.linalg.eigh(covariance / deviations / deviations[:, None])
    varying = variances > TOLERANCE**2
    whitening = axes[:, varying] / deviations[:, None] / np.sqrt(variances[varying])
    spread = np.sqrt(sizes / (len(sizes) - 1))[:, None] * (means - centre) @ whitening
    values, rotation = np.linalg.svd(spread, full_matrices=False)[1:]
    rank = min(len(sizes) - 1, int((values > TOLERANCE * values[0]).sum()))
    filters = whitening @ rotation[:rank].T
    return Subspace.oblique("lda", statistics.languages, values[:rank] ** 2, filters, centre)


def leace(statistics: Statistics) -> Subspace:
    """Least-squares concept erasure of the language (Belrose et al. 2023, theorem 4.3): https://arxiv.org/abs/2306.03819.

    To take from centred states what filters read, along the covariance of all states times the filters, is the smallest change,
    in mean squared distance, after which states and language are uncorrelated, so that no linear probe that minimises a convex
    loss beats the shares of languages. With W the root of the inverse covariance of all states, filters are W U, U the left
    singular vectors of W Cov(x, language); eigenvalues are squared singular values. Unlike the defaults of concept-erasure 0.2.4,
    the covariance is not shrunk, the trace not constrained, and singular values are cut where they are rounding, not at 0.01.
    """
    sizes, means = statistics.sizes, statistics.means
    shares = statistics.shares(sizes)
    centre = shares @ means
    variances, axes = np.linalg.eigh(statistics.total / sizes.sum())
    varying = variances > variances[-1] * len(axes) * np.finfo(float).eps
    roots, axes = np.sqrt(variances[varying]), axes[:, varying]
    joint = axes.T @ (shares[:, None] * (means - centre)).T  # (rank of the covariance, n)
    singular_vectors, values, _ = np.linalg.svd(joint / roots[:, None], full_matrices=False)
    rank = min(len(sizes) - 1, int((values > values[0] * max(joint.shape) * np.finfo(float).eps).sum()))
    filters = axes @ (singular_vectors[:, :rank] / roots[:, None])
    return Subspace.oblique("leace", statistics.languages, values[:rank] ** 2, filters, centre)


def lsar(statistics: Statistics, rank: int) -> Subspace:
    """Low-rank subtraction (Xie et al. 2022, algorithm 1; fffffarmer/LSAR, src/alignment/_low_rank.py, lines 4-24).

    The means of languages are approximated by a point and a subspace of some rank orthogonal to it. That subspace is spanned by
    the first principal axes of the means, those of `centroids`; it turns them to where the means, not centred, are largest.
    Eigenvalues are their mean squares there. Raises DataError where the means do not have that rank.
    """
    axes = centroids(statistics)
    if not 0 < rank <= axes.rank:
        raise DataError(f"lsar: expected a rank from 1 to {axes.rank} for {len(axes.languages)} languages, found {rank}")
    inside = statistics.means @ axes.basis[:, :rank]  # the point has no component there
    values, rotation = np.linalg.svd(inside, full_matrices=False)[1:]
    return Subspace.orthogonal("lsar", axes.languages, values**2 / len(inside), axes.basis[:, :rank] @ rotation.T, axes.centre)
