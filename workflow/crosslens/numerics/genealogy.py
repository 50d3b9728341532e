"""Agreement of the distances of languages with their genealogy."""

from collections.abc import Sequence

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics.cluster import expected_mutual_information


def distances(means: np.ndarray) -> np.ndarray:
    """Cosine distances of the centred means of K languages, condensed: (K (K - 1) / 2,). means: (K, d)."""
    cosines = pdist(means - means.mean(0), "cosine")
    condensed: np.ndarray = np.clip(np.nan_to_num(cosines, nan=1.0), 0, None)  # a mean at 0 has no direction
    return condensed


def genealogical(families: Sequence[str], genera: Sequence[str]) -> np.ndarray:
    """Genealogical distances of K languages, condensed: 0 within a genus, 1 within a family, 2 otherwise."""
    pairs = [(i, j) for i in range(len(families)) for j in range(i + 1, len(families))]
    same = [(families[i] == families[j], families[i] == families[j] and genera[i] == genera[j]) for i, j in pairs]
    return np.array([2.0 - family - genus for family, genus in same])


def clusters(condensed: np.ndarray, count: int) -> np.ndarray:
    """Cluster number of each of K languages, (K,): at most `count` clusters, by average linkage of condensed distances."""
    numbers: np.ndarray = fcluster(linkage(condensed, "average"), count, "maxclust")
    return numbers


def mutual_information(kinds: np.ndarray, clusters: np.ndarray, orders: np.ndarray) -> tuple[float, np.ndarray]:
    """Adjusted mutual information of kinds and clusters of K items, and the same after permutations of the items, (draws,).

    It is defined as in scikit-learn, with the arithmetic mean of entropies. Permutations change neither the entropies nor the
    expectation.

    kinds, clusters: (K,) numbers.
    orders: (draws, K) permutations.
    """
    rows, columns = (np.unique(values, return_inverse=True)[1] for values in (kinds, clusters))
    size, shape = len(rows), (rows.max() + 1, columns.max() + 1)
    places = np.stack([rows, *(rows[order] for order in orders)]) * shape[1] + columns
    tables = np.stack([np.bincount(row, minlength=shape[0] * shape[1]).reshape(shape) for row in places])
    entropies = [_entropy(tables[0].sum(axis) / size) for axis in (0, 1)]
    information = sum(entropies) - np.array([_entropy(table / size) for table in tables])
    expected = float(expected_mutual_information(tables[0], size))
    values = (information - expected) / (np.mean(entropies) - expected)
    return float(values[0]), values[1:]


def _entropy(shares: np.ndarray) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def mantel(first: np.ndarray, second: np.ndarray, orders: np.ndarray) -> tuple[float, np.ndarray]:
    """Pearson's correlation of two distance matrices, and the same after permutations of the languages of the second, (draws,).

    first, second: (K, K), symmetric.
    orders: (draws, K) permutations.
    Source: Mantel 1967.
    """
    upper = np.triu_indices(len(first), 1)
    x = _standardised(first[upper])
    permuted = np.stack([second, *(second[np.ix_(order, order)] for order in orders)])[:, *upper]
    values = _standardised(permuted) @ x / len(x)
    return float(values[0]), values[1:]


def _standardised(values: np.ndarray) -> np.ndarray:
    deviations = values - values.mean(-1, keepdims=True)
    spread = np.sqrt((deviations**2).mean(-1, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: np.ndarray = deviations / spread
    return scaled
