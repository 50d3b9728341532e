"""Further language subspaces from the sums in `Statistics`: LDA, LEACE and LSAR."""

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.numerics.densray import centroids
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace

TOLERANCE = 1e-4  # for LDA: singular values below it count as 0, as by scikit-learn's default


def lda(statistics: Statistics) -> Subspace:
    """Subspace of linear discriminant analysis: scikit-learn's default solver "svd", with languages' shares as priors.

    Filters equal scikit-learn's `scalings_` up to signs. Coordinates equal those of its `transform`, centred at the weighted
    mean of languages; in them, states have unit covariance within languages. Filters are not orthogonal; the basis is.
    Eigenvalues are variances between means, with divisor n - 1, in units of the variance within languages.
    Raises DataError unless there are more vectors than languages.
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
    """Subspace of LEACE, least-squares concept erasure of the language.

    Erasure takes the coordinates along the filters and subtracts them from centred states, along the covariance of all states
    times the filters. In mean squared distance, this is the smallest change after which states and language are uncorrelated,
    so that no linear probe that minimises a convex loss beats the shares of languages.

    Let W be the root of the inverse covariance of all states, and U the left singular vectors of W Cov(x, language). Filters
    are W U; eigenvalues are squared singular values. Unlike the defaults of concept-erasure 0.2.4, the covariance is not
    shrunk, the trace is not constrained, and singular values are cut at rounding, not at 0.01.
    Source: Belrose et al. 2023, theorem 4.3: https://arxiv.org/abs/2306.03819.
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
    """Subspace of low-rank subtraction (Xie et al. 2022, algorithm 1; fffffarmer/LSAR, src/alignment/_low_rank.py, lines 4-24).

    The means of languages are approximated by a point plus a subspace of this rank, orthogonal to the point. The subspace is
    spanned by the first principal axes of the means (`centroids`), rotated to the directions in which the uncentred means are
    largest. Eigenvalues are the means' mean squares there. Raises DataError if the means do not have this rank.
    """
    axes = centroids(statistics)
    if not 0 < rank <= axes.rank:
        raise DataError(f"lsar: expected a rank from 1 to {axes.rank} for {len(axes.languages)} languages, found {rank}")
    inside = statistics.means @ axes.basis[:, :rank]  # the point has no component there
    values, rotation = np.linalg.svd(inside, full_matrices=False)[1:]
    return Subspace.orthogonal("lsar", axes.languages, values**2 / len(inside), axes.basis[:, :rank] @ rotation.T, axes.centre)
