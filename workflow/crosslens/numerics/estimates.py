"""Estimates that intervals and probabilities follow from: of seeds, of families of languages, of correlations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import stdtr, stdtrit  # not scipy.stats, which takes half a second to import

from crosslens.numerics.intervals import EXACT, Interval

LEVEL = 0.05  # of a 95 % interval
NORMAL = 1.959963984540054  # quantile at 97.5 %


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and degrees of freedom, within bounds that it cannot leave.

    error: 0 of an exact number, such as a count; nan where nothing tells how much the value varies. bounds: the interval stays
    inside them as that of a share does (`intervals.bounded`); infinite: Student's t alone.
    """

    value: float
    error: float
    freedom: float = math.inf
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @classmethod
    def exact(cls, value: float) -> Self:
        """A number that does not vary."""
        return cls(value, 0.0)

    def interval(self, level: float = LEVEL) -> Interval:
        """The interval that misses the truth in a share `level` of cases; of no width for an exact number."""
        t, share = _quantile(self.freedom, level), self._share(self.value)
        if math.isnan(share) or not self.error > 0:
            low, high = (self.value + sign * t * self.error if self.error else self.value for sign in (-1, 1))
            return Interval(self.value, max(low, self.bounds[0]), min(high, self.bounds[1])) if self.error >= 0 else self._none()
        ratio = t**2 / self._size(share)
        half = math.sqrt(ratio * share * (1 - share) + ratio**2 / 4)
        ends = ((share + ratio / 2 + sign * half) / (1 + ratio) for sign in (-1, 1))
        return Interval(self.value, *(self.bounds[0] + self._range() * end for end in ends))

    def p(self, number: float) -> float:
        """Two-sided probability of a value so far from a number, if that were the truth.

        It is the level at which the interval ends there; nan where the error is, 0 of an exact value that differs, 1 of one
        that does not.
        """
        if self.error == 0:
            return float(self.value == number)
        distance, share = abs(self.value - number) / self.error, self._share(self.value)
        there = self._share(number)
        if not math.isnan(share) and not math.isnan(there):
            distance *= math.sqrt(share * (1 - share) / (there * (1 - there)))
        return float(2 * stdtr(self._freedom(), -distance))

    def _share(self, value: float) -> float:
        """Where a value lies within the bounds, from 0 to 1; nan at an end, or without bounds."""
        share = (value - self.bounds[0]) / self._range() if math.isfinite(self._range()) else math.nan
        return share if 0 < share < 1 else math.nan

    def _size(self, share: float) -> float:
        """Number of items that a share would need to have the same error."""
        return share * (1 - share) * (self._range() / self.error) ** 2

    def _range(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def _freedom(self) -> float:
        return min(self.freedom, 1e9)

    def _none(self) -> Interval:
        return Interval(self.value, math.nan, math.nan)


class Correlation(Estimate):
    """A correlation, whose error is that of Fisher's z."""

    def interval(self, level: float = LEVEL) -> Interval:
        """See Estimate."""
        z, half = np.arctanh(np.clip(self.value, -1 + EXACT, 1 - EXACT)), _quantile(self.freedom, level) * self.error
        return Interval(self.value, float(np.tanh(z - half)), float(np.tanh(z + half)))

    def p(self, number: float) -> float:
        """See Estimate."""
        z, there = np.arctanh(np.clip([self.value, number], -1 + EXACT, 1 - EXACT))
        return float(2 * stdtr(self._freedom(), -abs(z - there) / self.error))


def over_runs(values: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean of independent runs (m,), such as differences paired by seed; without an error where nothing varies."""
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Estimate(float(np.mean(values)), error if error > EXACT else math.nan, len(values) - 1, bounds)


def over_families(
    values: np.ndarray, families: Sequence[str], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:  # fmt: skip
    """The mean over families of the means over their languages, of values (languages,): what varies is a family."""
    names, numbers = np.unique(np.asarray(families), return_inverse=True)
    return over_runs(np.bincount(numbers, values) / np.bincount(numbers), bounds)


def over_languages(values: np.ndarray, families: Sequence[str], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean over families of values (languages, m) of m runs: what varies is a family and, of all alike, the run."""
    estimate = over_families(values.mean(axis=1), families, bounds)
    if values.shape[1] == 1:
        return estimate
    return varied(estimate, over_runs(np.array([over_families(of_run, families).value for of_run in values.T])))


def varied(estimate: Estimate, *others: Estimate) -> Estimate:
    """An estimate whose error has those of others in addition, of the same value by what else varies.

    Degrees of freedom are Satterthwaite's (1946). An error that is not known adds nothing.
    """
    parts = [part for part in (estimate, *others) if part.error > 0]
    if not parts or math.isnan(estimate.error):
        return estimate
    squares = [part.error**2 for part in parts]
    spread = sum(square**2 / part.freedom for square, part in zip(squares, parts, strict=True))
    freedom = sum(squares) ** 2 / spread if spread else math.inf
    return Estimate(estimate.value, math.sqrt(sum(squares)), freedom, estimate.bounds)


def correlation(x: np.ndarray, y: np.ndarray, *, ranks: bool = False) -> Estimate:
    """Pearson's r of x and y (n,), or Spearman's of their `ranks`.

    There is no error for fewer than four pairs, or if one of both is constant. Errors are those of Fisher's z after
    Bonett and Wright (2000): 1 / sqrt(n - 3), of ranks sqrt((1 + r^2 / 2) / (n - 3)).
    """
    if ranks:
        x, y = (_ranks(values) for values in (x, y))
    if len(x) < 4 or min(np.ptp(x), np.ptp(y)) <= EXACT:
        return Correlation(math.nan, math.nan)
    r = float(np.corrcoef(x, y)[0, 1])
    return Correlation(r, math.sqrt((1 + (r**2 / 2 if ranks else 0)) / (len(x) - 3)))


def dependent(y: np.ndarray, first: np.ndarray, second: np.ndarray, *, ranks: bool = False) -> Estimate:
    """Fisher's z of the correlation of y with a first variable less that with a second one; of ranks by the same formula.

    y, first, second: (n,), of the same units. The error is Steiger's (1980, equation 14), with the mean of both correlations.
    There is none for fewer than four units, or if a variable is constant.
    """
    if ranks:
        y, first, second = (_ranks(values) for values in (y, first, second))
    if len(y) < 4 or min(np.ptp(y), np.ptp(first), np.ptp(second)) <= EXACT:
        return Estimate(math.nan, math.nan)
    one, other, both = (float(np.corrcoef(*pair)[0, 1]) for pair in ((y, first), (y, second), (first, second)))
    square = (one + other) ** 2 / 4
    covariance = (both * (1 - 2 * square) - square * (1 - 2 * square - both**2) / 2) / max(1 - square, EXACT) ** 2
    z = np.arctanh(np.clip([one, other], -1 + EXACT, 1 - EXACT))
    return Estimate(float(z[0] - z[1]), math.sqrt(max(2 * (1 - covariance), 0) / (len(y) - 3)))


def holm(ps: Sequence[float], level: float = LEVEL) -> list[float]:
    """The level at which each of several hypotheses is decided, so that all decisions are right in a share 1 - level of cases.

    ps: probabilities, nan for what is not tested and keeps the level. Holm (1979): the smallest is compared with level / m, the
    next with level / (m - 1) and so on; those after the first that is not below its level are not below theirs either.
    """
    tested = sorted((p, number) for number, p in enumerate(ps) if not math.isnan(p))
    levels, open_ = [level] * len(ps), True
    for rank, (p, number) in enumerate(tested):
        levels[number] = level / (len(tested) - rank) if open_ else levels[tested[rank - 1][1]]
        open_ = open_ and p < levels[number]
    return levels


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (n,), of equal values their mean."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[numbers]
    return ranks


def _quantile(freedom: float, level: float) -> float:
    return float(stdtrit(min(freedom, 1e9), 1 - level / 2)) if freedom > 0 else math.nan
