"""Spread of several languages' states: share of variance between languages, dimensions in use, cosines of unrelated states."""

import numpy as np

from crosslens.numerics.alignment import units

AXES = 0.9  # share of the variance of means that the counted axes explain
ROGUE = 3  # number of dimensions considered to dominate a mean cosine


def language_share(means: np.ndarray, within: np.ndarray, n: int) -> float:
    """Unbiased share of the variance of K languages, n sentences each, that is between the languages' means.

    The share expected from sampling alone, (K - 1) (1 - share) / (n K - K), is subtracted, so the result may fall slightly
    below 0; nan if nothing varies.

    means: (K, d), mean of each language.
    within: (K,), scatter of each language around its mean, summed over dimensions.
    """
    languages = len(means)
    between = n * float(((means - means.mean(0)) ** 2).sum())
    total = between + float(within.sum())
    if not total > 0:
        return np.nan
    share = between / total
    return share - (languages - 1) * (1 - share) / (n * languages - languages)


def axes_of_means(means: np.ndarray) -> int:
    """Smallest number of principal axes that explain 90 % of the variance of K languages' means (K, d)."""
    values = np.linalg.svd(means - means.mean(0), compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(values), AXES * values.sum())) + 1


def participation(states: np.ndarray) -> float:
    """Participation ratio of states (n, d), as a fraction of d.

    The ratio is (sum of eigenvalues)^2 / (sum of their squares), for the eigenvalues of the covariance. The fraction is 1 if
    all directions vary alike, and nan if nothing varies. IsoScore is (d fraction - 1) / (d - 1) (Rudman et al. 2022).
    """
    deviations = np.asarray(states, np.float64) - states.mean(0, dtype=np.float64)
    scatter = deviations.T @ deviations
    squares = float((scatter**2).sum())
    return float(np.trace(scatter)) ** 2 / squares / len(scatter) if squares else np.nan


def mean_cosine(states: np.ndarray) -> tuple[float, float]:
    """Mean cosine of pairs of different states (n, d), and the share of it from the three dimensions that contribute most.

    Source: Ethayarajh 2019; contributions of dimensions: Cai et al. 2021 and Haemmerl et al. 2023.
    """
    vectors = units(states)
    n = len(vectors)
    parts = (vectors.sum(0) ** 2 - (vectors**2).sum(0)) / (n * (n - 1))
    mean = float(parts.sum())
    return mean, float(np.sort(parts)[-ROGUE:].sum()) / mean if mean else np.nan


def skewness(counts: np.ndarray) -> float:
    """Third standardised moment of counts (m,); nan if all are equal (Radovanović et al. 2010, section 3)."""
    deviations = counts - counts.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    return float(np.mean(deviations**3)) / spread**3 if spread else float("nan")
