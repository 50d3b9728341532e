"""Sums over the vectors of languages, gathered in blocks: all that most language subspaces are fitted from."""

from typing import Self

import numpy as np
import torch

from crosslens.runs.errors import DataError

BLOCK = 4096  # vectors that are centred at once


class Statistics:
    """Total weight, mean and scatter (sum of squared deviations from the mean) of the vectors of n languages, in float64.

    `update` takes vectors as they come, in blocks of any size, whichever language's; `merge` takes what another gathered. Memory
    does not grow with the number of vectors: d (d + n) numbers, or d^2 n with the scatter of each language by itself.
    Means and scatters are combined as Chan, Golub and LeVeque (1983) do it, which costs no digits where means are large.
    """

    def __init__(self, width: int, *, by_language: bool = False, scatters: bool = True) -> None:
        """width: d. by_language: keep the scatter of each language, not only their sum; scatters: keep any."""
        self.width, self.by_language, self.scatters = width, by_language, scatters
        self._sizes: dict[str, float] = {}
        self._means: dict[str, np.ndarray] = {}
        self._scatters: dict[str, np.ndarray] = {}  # by language, or under "" their sum

    @property
    def languages(self) -> tuple[str, ...]:
        """Names of the n languages, sorted."""
        return tuple(sorted(self._means))

    @property
    def sizes(self) -> np.ndarray:
        """Total weight of each language, (n,): the number of its vectors where they have no weights."""
        return np.array([self._sizes[language] for language in self.languages])

    @property
    def means(self) -> np.ndarray:
        """(n, d)."""
        return np.array([self._means[language] for language in self.languages]).reshape(-1, self.width)

    @property
    def within(self) -> np.ndarray:
        """Scatter around the means of languages, summed over languages, (d, d)."""
        scatter: np.ndarray = sum(self._scatters.values(), np.zeros((self.width, self.width)))
        return scatter

    def scatter(self, language: str) -> np.ndarray:
        """Scatter of one language, (d, d). Raises DataError where it was not kept."""
        if not self.by_language or not self.scatters:
            raise DataError("statistics: expected the scatter of each language, only their sum was kept: ask for by_language")
        return self._scatters[language]

    @property
    def total(self) -> np.ndarray:
        """Scatter of all vectors around their mean, (d, d)."""
        scatter: np.ndarray = self.within + between(self.means, self.sizes)
        return scatter

    def shares(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights (n,) of the languages, None: all alike, that add up to 1. Raises DataError for less than two languages."""
        n = len(self._means)
        if n < 2:
            raise DataError(f"subspaces: expected vectors of at least two languages, found {n}")
        given = np.ones(n) if weights is None else np.asarray(weights, np.float64)
        if given.shape != (n,) or not (given > 0).all():
            raise DataError(f"subspaces: expected a positive weight for each of {n} languages, found {given}")
        shares: np.ndarray = given / given.sum()
        return shares

    def update(self, states: np.ndarray, language: str, weights: np.ndarray | None = None) -> Self:
        """Add vectors (m, d) of a language, of any float type, each counted `weights` (m,) times.

        Raises DataError, which names the language, where a shape is another, a vector is not finite or a weight is negative.
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
        rows = np.empty((len(states) + 1 if self.scatters else 1, self.width))
        if not self.scatters:
            self._combine(language, size, mean, rows)
            return
        np.subtract(states, mean, out=rows[1:])
        if weights is not None:
            rows[1:] *= np.sqrt(weights)[:, None]
        self._combine(language, size, mean, rows)

    def merge(self, other: "Statistics") -> Self:
        """Add all that another has gathered, which must keep scatters alike. Raises DataError where it does not."""
        if (self.width, self.by_language) != (other.width, other.by_language):
            ours, theirs = ((one.width, one.by_language) for one in (self, other))
            raise DataError(f"statistics: expected width and by_language {ours}, found {theirs}: gather both alike")
        for language, mean in other._means.items():
            self._combine(language, other._sizes[language], mean, np.empty((1, self.width)))
        for key, scatter in other._scatters.items():
            self._scatters[key] += scatter
        return self

    def _combine(self, language: str, size: float, mean: np.ndarray, rows: np.ndarray) -> None:
        """Add a part's size and mean, and its deviations from that mean, rows[1:]; rows[0] takes the difference of means."""
        before = self._sizes.get(language, 0.0)
        apart = mean - self._means.get(language, mean)
        after = before + size
        rows[0] = np.sqrt(before * size / after) * apart
        key = language if self.by_language else ""
        if key not in self._scatters:
            self._scatters[key] = np.zeros((self.width, self.width))
        if self.scatters:
            # By torch, whose threads an encoder leaves busy waiting: those of numpy beside them would take twice the time.
            factor = torch.from_numpy(rows)
            torch.from_numpy(self._scatters[key]).addmm_(factor.T, factor)
        self._sizes[language] = after
        self._means[language] = self._means.get(language, mean) + size / after * apart


def between(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scatter of n means (n, d) around their weighted mean, each counted `weights` (n,) times: (d, d)."""
    rows = np.sqrt(weights)[:, None] * (means - weights @ means / weights.sum())
    scatter: np.ndarray = rows.T @ rows
    return scatter
