"""Rank correlation of scores with similarities over languages, its interval and permutation test; correction for many tests."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from crosslens.measures.shared.correlation import DRAWS, rowwise

LEAST = 5  # languages; the ranks of four agree wholly, or are reversed, by chance in a twelfth of all cases
EXACT = 7  # languages up to which all permutations are counted, 5,040
SHUFFLES = 9_999


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho, its 95 % bootstrap interval over languages and two-sided permutation p; nan and a remark if undefined.

    Ranks that agree perfectly do so in every resample; since such an interval would have no width, it is nan.
    """

    rho: float
    low: float
    high: float
    p: float
    n: int
    remark: str = ""


def spearman(x: np.ndarray, y: np.ndarray) -> Correlation:
    """Return the rank correlation of scores x and similarities y, both (n,).

    Bootstrap resamples in which x or y is constant have no rho and are left out.
    """
    n = len(x)
    if n < LEAST:
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {n} languages, at least {LEAST} needed")
    for name, values in (("scores", x), ("similarities", y)):
        if np.ptp(values) == 0:
            return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: all {name} are equal")
    generator = np.random.default_rng(0)
    rho = float(_rho(x[None], y[None])[0])
    chosen = generator.integers(n, size=(DRAWS, n))
    low, high = np.nanpercentile(_rho(x[chosen], y[chosen]), [2.5, 97.5])
    remark = ""
    if abs(rho) > 1 - 1e-12:
        low, high, remark = np.nan, np.nan, "no interval: |rho| is 1 in every resample"
    if n <= EXACT:
        shuffled = np.array(list(permutations(y)))
    else:
        # The observed pairing counts as one of the shuffles, so that p is never 0.
        shuffled = np.vstack([y, generator.permuted(np.tile(y, (SHUFFLES, 1)), axis=1)])
    extreme = np.abs(_rho(np.broadcast_to(x, shuffled.shape), shuffled)) >= abs(rho) - 1e-12
    return Correlation(rho, float(low), float(high), float(extreme.mean()), n, remark)


def _rho(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Spearman's rho of each pair of rows, (m,), of x and y (m, n); ties share their mean rank; nan for constant rows."""
    a, b = (pd.DataFrame(values).rank(axis=1).to_numpy() for values in (x, y))  # scipy.stats takes half a second to import
    return rowwise(a, b)


def holm(p: np.ndarray) -> np.ndarray:
    """Return p values (m,) corrected for m tests (Holm 1979); nan stays nan and does not count as a test."""
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # nan sorts last
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
