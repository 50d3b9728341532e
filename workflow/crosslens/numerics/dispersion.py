"""How states of several languages spread: share of variance between languages, dimensions in use, cosines of unrelated states."""

import numpy as np

from crosslens.numerics.alignment import units

AXES = 0.9  # share of the variance of means that counted axes hold
ROGUE = 3  # dimensions that carry most of a mean cosine


def language_share(means: np.ndarray, within: np.ndarray, n: int) -> float:
    """Share of the variance of n sentences in each of K languages that lies between the means of languages, unbiased.

    The share that sampling gives means of languages that do not differ, (K - 1) (1 - share) / (n K - K), is subtracted, so that
    the result may fall slightly below 0; nan where nothing varies.

    means: (K, d).
    within: (K,) scatter of each language around its mean, summed over dimensions.
    """
    languages = len(means)
    between = n * float(((means - means.mean(0)) ** 2).sum())
    total = between + float(within.sum())
    if not total > 0:
        return np.nan
    share = between / total
    return share - (languages - 1) * (1 - share) / (n * languages - languages)


def axes_of_means(means: np.ndarray) -> int:
    """Number of principal axes of the means of languages (K, d) that hold 90 % of their variance."""
    values = np.linalg.svd(means - means.mean(0), compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(values), AXES * values.sum())) + 1


def participation(states: np.ndarray) -> float:
    """Participation ratio of states (n, d) as a fraction of d: (sum of eigenvalues)^2 / sum of their squares, of the covariance.

    1 where all directions vary alike; IsoScore is (d fraction - 1) / (d - 1) (Rudman et al. 2022).
    """
    deviations = np.asarray(states, np.float64) - states.mean(0, dtype=np.float64)
    scatter = deviations.T @ deviations
    squares = float((scatter**2).sum())
    return float(np.trace(scatter)) ** 2 / squares / len(scatter) if squares else np.nan


def mean_cosine(states: np.ndarray) -> tuple[float, float]:
    """Mean cosine of different states (n, d), and the share of it that the three dimensions with the largest parts carry.

    Source: Ethayarajh 2019; the parts of dimensions are those of Cai et al. 2021 and Haemmerl et al. 2023.
    """
    vectors = units(states)
    n = len(vectors)
    parts = (vectors.sum(0) ** 2 - (vectors**2).sum(0)) / (n * (n - 1))
    mean = float(parts.sum())
    return mean, float(np.sort(parts)[-ROGUE:].sum()) / mean if mean else np.nan


def skewness(counts: np.ndarray) -> float:
    """Return the third standardised moment of counts (m,); NaN if all are equal (Radovanović et al. 2010, section 3)."""
    deviations = counts - counts.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    return float(np.mean(deviations**3)) / spread**3 if spread else float("nan")
