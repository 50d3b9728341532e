"""Sums over the vectors of languages, collected in blocks; most language subspaces are fitted from them alone."""

from typing import Self

import numpy as np
import torch

from crosslens.jobs.errors import DataError

BLOCK = 4096  # number of vectors that are centred at once


class Statistics:
    """Total weight, mean and scatter (sum of squared deviations from the mean) of the vectors of n languages, in float64.

    `update` takes vectors of any language, in blocks of any size. Memory is d (d + n) numbers, however many vectors there are.
    Means and scatters are combined as in Chan, Golub and LeVeque (1983), which costs no digits if means are large.
    """

    def __init__(self, width: int, *, scatters: bool = True) -> None:
        """Start without vectors. width: d, dimensions of a vector. scatters: whether to keep the scatter within languages."""
        self.width, self.scatters = width, scatters
        self.within = np.zeros((width, width) if scatters else (0, 0))
        """Scatter around the means of languages, summed over languages, (d, d)."""
        self._sizes: dict[str, float] = {}
        self._means: dict[str, np.ndarray] = {}

    @property
    def languages(self) -> tuple[str, ...]:
        """Names of the n languages, sorted."""
        return tuple(sorted(self._means))

    @property
    def sizes(self) -> np.ndarray:
        """Total weight of each language, (n,): the number of its vectors if they have no weights."""
        return np.array([self._sizes[language] for language in self.languages])

    @property
    def means(self) -> np.ndarray:
        """Mean vector of each language, (n, d)."""
        return np.array([self._means[language] for language in self.languages]).reshape(-1, self.width)

    @property
    def total(self) -> np.ndarray:
        """Scatter of all vectors around their mean, (d, d)."""
        scatter: np.ndarray = self.within + between(self.means, self.sizes)
        return scatter

    def shares(self, sizes: np.ndarray | None = None) -> np.ndarray:
        """Share of each language in the sum of sizes, (n,). Raises DataError for fewer than two languages.

        sizes: (n,); None: all languages have the same share.
        """
        n = len(self._means)
        if n < 2:
            raise DataError(f"subspaces: expected vectors of at least two languages, found {n}")
        shares: np.ndarray = np.full(n, 1 / n) if sizes is None else sizes / sizes.sum()
        return shares

    def update(self, states: np.ndarray, language: str, weights: np.ndarray | None = None) -> Self:
        """Add vectors of a language and return self.

        states: (m, d), of any float type. weights: (m,), how many times each vector counts; None: once.
        Raises DataError, which names the language, if a shape is wrong, a vector is not finite or a weight is negative.
        """
        states, weights = np.asarray(states), None if weights is None else np.asarray(weights, np.float64)
        if states.ndim != 2 or states.shape[1] != self.width:
            raise DataError(f"{language}: expected states of shape (m, {self.width}), found {states.shape}")
        if weights is not None and (weights.shape != states.shape[:1] or not (np.isfinite(weights) & (weights >= 0)).all()):
            raise DataError(f"{language}: expected a weight of at least 0 for each of {len(states)} states")
        for start in range(0, len(states), BLOCK):
            block = slice(start, start + BLOCK)
            self._add_block(states[block], language, None if weights is None else weights[block])
        return self

    def _add_block(self, states: np.ndarray, language: str, weights: np.ndarray | None) -> None:
        size = float(len(states)) if weights is None else float(weights.sum())
        if not size:
            return
        mean = states.mean(0, dtype=np.float64) if weights is None else weights @ states.astype(np.float64) / size
        if not np.isfinite(mean).all():
            raise DataError(f"{language}: expected finite states, found infinity or NaN; extract them in float32")
        before = self._sizes.get(language, 0.0)
        apart = mean - self._means.get(language, mean)
        after = before + size
        if self.scatters:
            rows = np.empty((len(states) + 1, self.width))  # the difference of means, and deviations from the block's mean
            rows[0] = np.sqrt(before * size / after) * apart
            np.subtract(states, mean, out=rows[1:])
            if weights is not None:
                rows[1:] *= np.sqrt(weights)[:, None]
            # With torch, whose threads an encoder leaves busy waiting: beside them, numpy's threads would take twice the time.
            factor = torch.from_numpy(rows)
            torch.from_numpy(self.within).addmm_(factor.T, factor)
        self._sizes[language] = after
        self._means[language] = self._means.get(language, mean) + size / after * apart


def between(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scatter of n means around their weighted mean, (d, d). means: (n, d). weights: (n,), times that each mean counts."""
    rows = np.sqrt(weights)[:, None] * (means - weights @ means / weights.sum())
    scatter: np.ndarray = rows.T @ rows
    return scatter
