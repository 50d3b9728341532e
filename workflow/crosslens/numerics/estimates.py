"""Estimates with standard errors, such as means of runs and correlations, and the intervals and probabilities that follow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import digamma, polygamma, stdtr  # not scipy.stats, which takes half a second to import

from crosslens.numerics.intervals import EXACT, LEVEL, Interval, t_quantile, wilson

NORMAL = 1.959963984540054  # 97.5 % quantile of the normal distribution
ENOUGH_RUNS = 5  # number of runs from which a moderated error needs no caution
KINSHIP = 0.5  # share of the variance between languages that correlations assume to be between families


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and degrees of freedom.

    error: standard error; 0 for an exact number, such as a count; nan if unknown.
    freedom: degrees of freedom of the error.
    bounds: lowest and highest possible value. If both are finite, the interval stays between them, as Wilson's interval of a
    share does (`intervals.wilson`); otherwise it is Student's t interval, cut at a bound.
    caution: factor by which probabilities are multiplied and levels of intervals divided, for an error that is known less well
    than its degrees of freedom suggest (`moderated`).
    """

    value: float
    error: float
    freedom: float = math.inf
    bounds: tuple[float, float] = (-math.inf, math.inf)
    caution: float = 1.0

    @classmethod
    def exact(cls, value: float) -> Self:
        """Estimate of a number that is known exactly."""
        return cls(value, 0.0)

    def interval(self, level: float = LEVEL) -> Interval:
        """Interval that misses the true value in a share `level` of cases.

        It has no width for an exact number, and its ends are nan if the error is unknown.
        """
        level /= self.caution
        share = self._share(self.value)
        if not math.isnan(share) and self.error > 0:
            size = share * (1 - share) * (self._range() / self.error) ** 2  # number of items with which a share has this error
            ends = (self.bounds[0] + self._range() * float(end) for end in wilson(share, size, self.freedom, level))
            return Interval(self.value, *ends)
        if math.isnan(self.error):
            return Interval(self.value, math.nan, math.nan)
        half = float(t_quantile(self.freedom, level)) * self.error if self.error else 0.0
        return Interval(self.value, max(self.value - half, self.bounds[0]), min(self.value + half, self.bounds[1]))

    def p(self, number: float) -> float:
        """Two-sided p-value of the hypothesis that the true value is `number`.

        It is the level at which the interval ends at the number. For an exact value it is 1 if the value equals the number,
        else 0. It is nan if the error is nan.
        """
        if self.error == 0:
            return float(self.value == number)
        distance = abs(self.value - number) / self.error
        share, share_of_number = self._share(self.value), self._share(number)
        if not math.isnan(share) and not math.isnan(share_of_number):
            distance *= math.sqrt(share * (1 - share) / (share_of_number * (1 - share_of_number)))
        return min(self.caution * float(2 * stdtr(self.freedom, -distance)), 1.0)  # nan stays nan

    def _share(self, value: float) -> float:
        """Position of a value between the bounds, from 0 to 1; nan if it is not between them, or if one is infinite."""
        share = (value - self.bounds[0]) / self._range() if math.isfinite(self._range()) else math.nan
        return share if 0 < share < 1 else math.nan

    def _range(self) -> float:
        return self.bounds[1] - self.bounds[0]


class Correlation(Estimate):
    """A correlation; the error is the standard error of its Fisher's z."""

    def interval(self, level: float = LEVEL) -> Interval:
        """Interval that misses the true correlation in a share `level` of cases, from the interval of Fisher's z."""
        z, half = fisher_z(self.value), t_quantile(self.freedom, level) * self.error
        return Interval(self.value, float(np.tanh(z - half)), float(np.tanh(z + half)))

    def p(self, number: float) -> float:
        """Two-sided p-value of the hypothesis that the true correlation is `number`, by Fisher's z."""
        distance = abs(fisher_z(self.value) - fisher_z(number))
        return float(2 * stdtr(self.freedom, -distance / self.error))


def fisher_z(r: float | np.ndarray) -> np.ndarray:
    """Fisher's z of correlations, in their shape; finite even for -1 and 1."""
    z: np.ndarray = np.arctanh(np.clip(r, -1 + EXACT, 1 - EXACT))
    return z


def over_runs(values: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """Mean of independent runs; its error is nan for a single run, or if nothing varies.

    values: (n_runs,), such as differences paired by seed.
    bounds: lowest and highest possible value.
    """
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Estimate(float(np.mean(values)), error if error > EXACT else math.nan, len(values) - 1, bounds)


def over_families(
    values: np.ndarray, families: Sequence[str], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:  # fmt: skip
    """Mean over families of the means over their languages, with the standard error over families.

    values: (n_languages,).
    families: family of each language.
    bounds: lowest and highest possible value.
    """
    names, numbers = np.unique(np.asarray(families), return_inverse=True)
    return over_runs(np.bincount(numbers, values) / np.bincount(numbers), bounds)


def add_errors(estimate: Estimate, *sources: Estimate) -> Estimate:
    """Copy of an estimate whose squared error includes those of further, independent sources of variation.

    Degrees of freedom are Satterthwaite's (1946). A source with an unknown error adds nothing. The largest caution is kept.

    sources: estimates; their values are not used.
    """
    parts = [part for part in (estimate, *sources) if part.error > 0]
    if not parts or math.isnan(estimate.error):
        return estimate
    squares = [part.error**2 for part in parts]
    spread = sum(square**2 / part.freedom for square, part in zip(squares, parts, strict=True))
    freedom = sum(squares) ** 2 / spread if spread else math.inf
    return replace(estimate, error=math.sqrt(sum(squares)), freedom=freedom, caution=max(part.caution for part in parts))


def moderated(estimates: Sequence[Estimate], terms: Sequence[int]) -> list[Estimate]:
    """Estimates with variances shrunk towards a common value, since a few runs determine a variance poorly.

    Variances are taken as samples from a scaled inverse chi-square distribution, whose parameters are estimated from all of
    them together. Degrees of freedom are the estimate's own plus those of this distribution, at most the sum over all
    estimates. Fewer than three estimates stay as they are. With fewer than ENOUGH_RUNS runs, probabilities are doubled: if
    variances differ, errors are otherwise too small in one of forty cases more than they should be (benchmarks/claims.py).

    estimates: means of runs (`over_runs`); those with an unknown error stay as they are.
    terms: for each estimate, number of scores that are summed in each run, so that their variances add up.
    Source: Smyth (2004), sections 5 and 6.2.
    """
    places = [place for place, estimate in enumerate(estimates) if estimate.error > 0]
    if len(places) < 3:
        return list(estimates)
    freedom, error = (np.array([getattr(estimates[place], name) for place in places]) for name in ("freedom", "error"))
    scale = np.array([terms[place] for place in places]) / (freedom + 1)  # squared error per variance of a single score
    variance = error**2 / scale
    logs = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    prior, prior_freedom, weight = math.exp(logs.mean()), math.inf, np.ones(len(places))
    if excess > 0:
        prior_freedom = 2 * _inverse_trigamma(excess)
        prior *= math.exp(float(digamma(prior_freedom / 2)) - math.log(prior_freedom / 2))
        weight = prior_freedom / (prior_freedom + freedom)
    errors = np.sqrt((weight * prior + (1 - weight) * variance) * scale)
    total = np.minimum(prior_freedom + freedom, freedom.sum())
    result = list(estimates)
    for number, place in enumerate(places):
        caution = 1.0 if freedom[number] + 1 >= ENOUGH_RUNS else 2.0
        result[place] = replace(estimates[place], error=float(errors[number]), freedom=float(total[number]), caution=caution)
    return result


def _inverse_trigamma(value: float) -> float:
    """Number at which the trigamma function has a given positive value, by Newton's method (Smyth 2004, appendix)."""
    number = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, number))
        number += trigamma * (1 - trigamma / value) / float(polygamma(2, number))
    return number


def correlation(x: np.ndarray, y: np.ndarray, *, ranks: bool = False, families: Sequence[str] = ()) -> Estimate:
    """Pearson's or Spearman's correlation of two variables; nan for fewer than four pairs, or if a variable is constant.

    x, y: (n,).
    ranks: whether to return Spearman's.
    families: family of each unit, if units are languages; related languages then count as fewer (`effective_number`).
    Source of the errors: Bonett and Wright (2000): the error of Fisher's z is 1 / sqrt(n - 3), and for ranks
    sqrt((1 + r^2 / 2) / (n - 3)).
    """
    if ranks:
        x, y = (_ranks(values) for values in (x, y))
    if len(x) < 4 or min(np.ptp(x), np.ptp(y)) <= EXACT:
        return Correlation(math.nan, math.nan)
    r = float(np.corrcoef(x, y)[0, 1])
    number = effective_number(families) if families else len(x)
    return Correlation(r, math.sqrt((1 + (r**2 / 2 if ranks else 0)) / (number - 3)) if number > 3 else math.nan)


def effective_number(families: Sequence[str]) -> float:
    """Number of unrelated languages over which a correlation would vary as much as it does over these.

    Languages of one family share a part KINSHIP of the variance of both variables.
    Source: Clifford, Richardson and Hémon (1989), effective sample size, with the covariance of languages instead of locations.
    """
    names = np.asarray(families)
    covariance = np.where(names == names[:, None], KINSHIP, 0.0) + (1 - KINSHIP) * np.eye(len(names))
    centred = covariance - covariance.mean(axis=0)
    return float(1 + np.trace(centred) ** 2 / np.sum(centred * centred.T))


def difference_of_correlations(
    y: np.ndarray, first: np.ndarray, second: np.ndarray, *, ranks: bool = False, families: Sequence[str] = ()
) -> Estimate:
    """Difference of Fisher's z between the correlations of y with a first and with a second variable, over the same units.

    Value and error are nan for fewer than four units, or if a variable is constant.

    y, first, second: (n,), in the same order of units.
    ranks: whether to correlate ranks; the formula of the error is the same.
    families: family of each unit, if units are languages; related languages then count as fewer (`effective_number`).
    Source of the error: Steiger (1980), equation 14, with the mean of both correlations.
    """
    if ranks:
        y, first, second = (_ranks(values) for values in (y, first, second))
    if len(y) < 4 or min(np.ptp(y), np.ptp(first), np.ptp(second)) <= EXACT:
        return Estimate(math.nan, math.nan)
    r_first, r_second, r_between = (float(np.corrcoef(*pair)[0, 1]) for pair in ((y, first), (y, second), (first, second)))
    square = (r_first + r_second) ** 2 / 4
    covariance = r_between * (1 - 2 * square) - square * (1 - 2 * square - r_between**2) / 2
    covariance /= max(1 - square, EXACT) ** 2
    z = fisher_z(np.array([r_first, r_second]))
    number = effective_number(families) if families else len(y)
    error = math.sqrt(max(2 * (1 - covariance), 0) / (number - 3)) if number > 3 else math.nan
    return Estimate(float(z[0] - z[1]), error)


def holm(ps: Sequence[float]) -> list[float]:
    """Level at which each hypothesis is decided, so that all decisions are right in a share 1 - LEVEL of cases.

    The smallest of m p-values is compared with LEVEL / m, the next one with LEVEL / (m - 1), and so on. The first that is not
    below its level, and all larger ones, get this same level, so that none of them is below it.

    ps: p-values of the hypotheses; a hypothesis with nan is not tested, and its level is LEVEL.
    Source: Holm (1979).
    """
    tested = sorted((p, number) for number, p in enumerate(ps) if not math.isnan(p))
    levels, rejecting = [LEVEL] * len(ps), True
    for rank, (p, number) in enumerate(tested):
        levels[number] = LEVEL / (len(tested) - rank) if rejecting else levels[tested[rank - 1][1]]
        rejecting = rejecting and p < levels[number]
    return levels


def holm_adjusted(p: np.ndarray) -> np.ndarray:
    """P-values (m,) corrected for multiple tests (Holm 1979); nan stays nan and does not count as a test."""
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # nan sorts last
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks of values, (n,), from 1; equal values share the mean of their ranks."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[numbers]
    return ranks
