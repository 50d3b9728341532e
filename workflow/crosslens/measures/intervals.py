"""95 % intervals: bootstrap over sentences, and Student's t over repeated runs."""

from collections.abc import Callable

import numpy as np

from crosslens.measures.f1 import Counts, overall


def bootstrap(counts: Counts, score: Callable[[Counts], np.ndarray], resamples: int, seed: int) -> tuple[float, float, float]:
    """A score and its percentile interval over resampled sentences.

    `score` maps counts of shape (..., k) to values of shape (...). Sentences are resampled with replacement.
    """
    n = len(counts.true)
    generator = np.random.default_rng(seed)
    values = []
    for start in range(0, resamples, 100):  # in parts: weights are (part, n)
        weights = generator.multinomial(n, np.full(n, 1 / n), size=min(100, resamples - start)).astype(np.float64)
        values.append(score(counts.weighted(weights)))
    low, high = np.percentile(np.concatenate(values), [2.5, 97.5])
    return float(score(overall(counts))), float(low), float(high)


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of runs and the t interval of that mean; (m, m, m) for a single run."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean, mean
    from scipy.special import stdtrit  # late, and not scipy.stats: every table imports this module, most need no interval of runs

    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half
