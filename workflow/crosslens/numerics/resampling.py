"""Intervals of means over languages whose families are resampled first, since related languages do not vary independently."""

from collections.abc import Sequence

import numpy as np

from crosslens.numerics.intervals import LEVEL

FEWEST = 8  # families below which there is no interval
DRAWS = 2000


def over_resampled_families(
    values: np.ndarray, families: Sequence[str], generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over families of the means over their languages, and the ends of their 95 % intervals, (m,) each.

    Families are drawn with replacement, then as many languages of each as it has (hierarchical bootstrap, percentiles). With
    fewer than FEWEST families the ends are nan.

    values: (n_languages, m), finite; all columns share the draws.
    families: family of each language.
    """
    numbers = np.unique(np.asarray(families), return_inverse=True)[1]
    sizes = np.bincount(numbers)
    mean = (values / sizes[numbers, None]).sum(axis=0) / len(sizes)
    if len(sizes) < FEWEST:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    resampled = _weights(numbers, generator) @ values
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2], axis=0)
    return mean, low, high


def _weights(numbers: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Weights of languages in resampled means, (DRAWS, n_languages); each row sums to 1.

    numbers: (n_languages,) number of each language's family, from 0.
    """
    sizes = np.bincount(numbers)
    draws = generator.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)  # of each family
    weights = np.empty((DRAWS, len(numbers)))
    for family, size in enumerate(sizes):  # each draw of a family draws as many languages as it has
        weights[:, numbers == family] = generator.multinomial(draws[:, family] * size, np.full(size, 1 / size)) / size
    return weights / len(sizes)
