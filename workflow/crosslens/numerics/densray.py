"""DensRay for any number of languages: directions along which vectors differ more between languages than within them.

Dufter and Schuetze (2019) for two classes, Liang et al. (2021), section 3.1 and appendix A, for n. With d_ij = x_i - x_j,

    A = mean of d_ij d_ij' over pairs of different languages - mean of d_ij d_ij' over pairs of one language,

the directions are the eigenvectors of A, by falling eigenvalue. Means are first taken over the vectors of each pair of
languages, so that all languages count alike. The paper sums over m vectors of each, weighted by 2 / n (n - 1) and 1 / n, which
gives m^2 A.
"""

import numpy as np

from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace


def centroids(statistics: Statistics) -> Subspace:
    """Subspace of the principal axes of languages' means, each language counted once.

    Eigenvalues are the variances of the means along the axes. There are at most n - 1 axes, since n centred means span no more.
    Raises DataError for fewer than two languages.
    """
    shares, means = statistics.shares(), statistics.means
    centre = shares @ means
    values, axes = np.linalg.svd(np.sqrt(shares)[:, None] * (means - centre), full_matrices=False)[1:]
    rank = min(len(means) - 1, int((values > values[0] * max(means.shape) * np.finfo(float).eps).sum()))
    return Subspace.orthogonal("means", statistics.languages, values[:rank] ** 2, axes[:rank].T, centre)


def densray(statistics: Statistics) -> Subspace:
    """DensRay's subspace, from sums, without a loop over pairs.

    The variation within languages is in both means of A and cancels, whatever the numbers of vectors. What remains is, up to a
    factor, the scatter of languages' means. The directions are the principal axes of these means, at most n - 1.
    Raises DataError for fewer than two languages.
    """
    axes = centroids(statistics)
    eigenvalues = 2 * axes.eigenvalues / (1 - (statistics.shares() ** 2).sum())
    return Subspace.orthogonal("densray", axes.languages, eigenvalues, axes.basis, axes.centre)
