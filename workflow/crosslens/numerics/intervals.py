"""95 % intervals: by leaving out one text or language at a time, or from the spread of repeated runs (docs/intervals.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crosslens.config.translations import shared_id
from crosslens.numerics.f1 import Counts, overall

EXACT = 1e-12  # largest standard error that counts as no variation
LEVEL = 0.05  # share of cases in which an interval misses the true value


class Interval(NamedTuple):
    """A value and the ends of its 95 % interval, which are nan if there is no interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """Sampling design of n units: they are sampled by whole texts, translations together, within strata of fixed sizes."""

    numbers: np.ndarray  # (n,) number of each unit's text, from 0
    strata: np.ndarray  # (texts,) number of each text's stratum, from 0

    @classmethod
    def of(cls, ids: Sequence[str] | np.ndarray, languages: Sequence[str] | np.ndarray) -> "Sample":
        """Sample of units with these ids and languages, (n,) each; units whose ids denote translations belong to one text.

        The texts that occur in one language only are a stratum for that language. Those shared by several are another stratum.
        """
        numbers = np.unique([shared_id(id) for id in ids], return_inverse=True)[1]
        codes = np.unique(languages, return_inverse=True)[1]
        first, last = np.full(numbers.max() + 1, codes.max()), np.zeros(numbers.max() + 1, int)
        np.minimum.at(first, numbers, codes)
        np.maximum.at(last, numbers, codes)
        return cls(numbers, np.unique(np.where(first == last, first, codes.max() + 1), return_inverse=True)[1])


def score_interval(counts: Counts, score: Callable[[Counts], np.ndarray], sample: Sample | None = None) -> Interval:
    """A score from 0 to 1 with its interval over texts.

    score: function that maps counts of shape (..., k) to values of shape (...). sample: sampling design of the rows of counts;
    None: each row is a text.
    """
    if sample:
        counts = counts.together(sample.numbers)
    total = overall(counts)
    leave_one_out = score(Counts(total.true - counts.true, total.predicted - counts.predicted, total.correct - counts.correct))
    number = int((counts.true + counts.predicted).any(axis=1).sum())
    low, high = jackknife(score(total), leave_one_out, number, sample.strata if sample else None)
    return Interval(float(score(total)), float(low), float(high))


def pairs_intervals(values: np.ndarray, pairs: Sequence[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over pairs of languages, and the ends of their intervals over languages, (c,) each.

    values: (n_pairs, c), scores from 0 to 1. Pairs that share a language are not independent, so the jackknife leaves out one
    language at a time, with all its pairs.
    """
    names = sorted({name for pair in pairs for name in pair})
    member = np.array([[name in pair for pair in pairs] for name in names], dtype=float)
    mean = values.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # if a language is in all pairs, no pair is left without it
        leave_one_out = (values.sum(axis=0) - member @ values) / (len(pairs) - member.sum(axis=1))[:, None]
    return mean, *jackknife(mean, leave_one_out, len(names))


def jackknife(
    value: float | np.ndarray, leave_one_out: np.ndarray, number: int, strata: np.ndarray | None = None, *, score: bool = True
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Ends of the intervals of values, (...) each, by the delete-one jackknife (Efron and Stein 1981).

    value: (...). leave_one_out: (m, ...), the values without each of m items. number: number of items that the values rest on.
    strata: (m,), stratum in which each item was sampled; None: there is one. score: whether values are scores from 0 to 1, so
    that the ends stay there too. Degrees of freedom are m minus the number of strata.
    """
    strata = np.zeros(len(leave_one_out), int) if strata is None else strata
    sizes = np.bincount(strata)
    square = np.zeros(leave_one_out.shape[1:])
    for stratum, size in enumerate(sizes):
        inside = leave_one_out[strata == stratum]
        square += (size - 1) / size * ((inside - inside.mean(axis=0)) ** 2).sum(axis=0)
    freedom = len(leave_one_out) - len(sizes)
    return bounded(value, np.sqrt(square), freedom, number) if score else _unbounded(value, np.sqrt(square), freedom)


def mean_interval(values: np.ndarray, *, score: bool = True, items: bool = False) -> Interval:
    """Mean of values (m,) and its interval by Student's t; a single value has none.

    score: whether values are scores from 0 to 1, so that the ends stay there too (`bounded`). If some are outside, such as
    chance-corrected scores below chance, the interval is not bounded. items: whether values are those of single items, such as
    words. Their number then bounds how near 0 or 1 the mean may be if all are 0 or all are 1. Equal values of repeated runs
    tell nothing about that, and have no interval.
    """
    means, low, high = mean_intervals(np.asarray(values, float)[:, None], score=score, items=items)
    return Interval(float(means[0]), float(low[0]), float(high[0]))


def mean_intervals(values: np.ndarray, *, score: bool = True, items: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of columns and the ends of their intervals, (c,) each, as in `mean_interval`. values: (m, c); nan is left out."""
    inside = np.isfinite(values)
    number = inside.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(inside, values, 0).sum(axis=0) / number
        square = (np.where(inside, values - mean, 0) ** 2).sum(axis=0) / (number - 1)
        error = np.where(number > 1, np.sqrt(square / number), np.nan)
    if score and np.nanmin(values, initial=0) >= 0 and np.nanmax(values, initial=1) <= 1:
        return mean, *bounded(mean, error, number - 1, number if items else np.nan)
    return mean, *_unbounded(mean, error, number - 1)


def prediction_interval(mean: float, deviation: float, number: int) -> Interval:
    """The 95 % interval of one new run, from the mean and standard deviation of `number` runs; none if nothing varies.

    It is Student's t interval: a new run differs from the mean by its own spread and by the error of the mean.
    """
    low, high = _unbounded(mean, np.asarray(deviation * np.sqrt(1 + 1 / max(number, 1))), number - 1)
    return Interval(mean, float(low), float(high))


def bounded(
    value: float | np.ndarray, error: float | np.ndarray, freedom: int | np.ndarray, number: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Ends of the 95 % intervals of scores from 0 to 1, which stay within 0 and 1; all arguments are broadcast.

    The interval is Wilson's interval of a share over as many items as would give this error: value (1 - value) / error^2, the
    effective size of Korn and Graubard (1998). If a value other than 0 or 1 does not vary, there is no interval: nan.

    error: standard errors.
    freedom: degrees of freedom of the errors.
    number: size used instead of the effective size if a value is 0 or 1; nan: such a value has no interval.
    """
    value, error = np.clip(value, 0, 1), np.asarray(error)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(error > EXACT, value * (1 - value) / error**2, np.nan)
        size = np.where((value == 0) | (value == 1), np.where(np.isnan(error), np.nan, number), size)
        low, high = wilson(value, size, freedom)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def wilson(
    share: float | np.ndarray, size: float | np.ndarray, freedom: float | np.ndarray, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Ends of Wilson's interval of a share (1927), with Student's t in place of the normal quantile; arguments are broadcast.

    share: from 0 to 1.
    size: number of items that the share is of.
    freedom: degrees of freedom.
    level: share of cases in which the interval misses the true value.
    """
    ratio = t_quantile(freedom, level) ** 2 / size
    half = np.sqrt(ratio * share * (1 - share) + ratio**2 / 4)
    return (share + ratio / 2 - half) / (1 + ratio), (share + ratio / 2 + half) / (1 + ratio)


def _unbounded(
    value: float | np.ndarray, error: np.ndarray, freedom: int | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    half = np.where(error > EXACT, t_quantile(freedom) * error, np.nan)
    return value - half, value + half


def t_quantile(freedom: float | np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Quantile of Student's t at 1 - level / 2, in the shape of `freedom`; nan if there are no degrees of freedom.

    freedom: degrees of freedom; cut at 1e9, where the distribution is practically normal.
    level: share of cases in which a two-sided interval with this quantile misses the true value.
    """
    from scipy.special import stdtrit  # imported late, and not scipy.stats, because every table imports this module

    degrees = np.asarray(freedom, float)
    with np.errstate(invalid="ignore"):
        return np.where(degrees > 0, stdtrit(np.minimum(degrees, 1e9), 1 - level / 2), np.nan)
