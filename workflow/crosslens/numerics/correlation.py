"""Correlation over languages, of values or ranks, plain or partial, with its interval and p-value.

Plain correlations are computed as in claims (`estimates.correlation`), so that a correlation has the same p-value everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr  # scipy.stats takes half a second to import

from crosslens.numerics.estimates import correlation

LEAST = 8  # languages needed for an interval and a p-value, as in claims about correlations (claims_file.Effect)
EXACT = 1e-9  # a variable with at most this share of unexplained variation counts as fully explained


@dataclass(frozen=True)
class Correlation:
    """A correlation r over n languages with its 95 % interval and two-sided p-value.

    Numbers that are undefined are nan, and a remark says why.
    """

    r: float
    low: float
    high: float
    p: float
    n: int
    remark: str = ""


def over_languages(x: np.ndarray, y: np.ndarray, families: Sequence[str], *, ranks: bool = False) -> Correlation:
    """Return Pearson's correlation of x and y, both (n,), or Spearman's if `ranks`.

    families: family of each language; relatives count for fewer than their number.
    """
    n = len(x)
    estimate = correlation(x, y, ranks=ranks, families=families)
    if np.isnan(estimate.value):
        reason = f"{n} languages, at least 4 needed" if n < 4 else "one of the two does not vary"
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {reason}")
    if n < LEAST:
        return Correlation(estimate.value, np.nan, np.nan, np.nan, n, f"no interval: {n} languages, at least {LEAST} needed")
    return Correlation(*estimate.interval(), estimate.p(0.0), n)


def partial(x: np.ndarray, y: np.ndarray, covariates: np.ndarray) -> Correlation:
    """Return the correlation of the residuals of x and y, both (n,), after least squares on covariates and a constant.

    It has no interval. covariates: (n, c). t = r sqrt(df / (1 - r^2)) with df = n - 2 - k, where k is the number of linearly
    independent covariates.
    """
    n = len(x)
    design = np.column_stack([np.ones(n), covariates])
    rank = int(np.linalg.matrix_rank(design)) if n else 1
    df = n - 1 - rank
    if df < 1:
        needed = f"{n} languages given {rank - 1} covariates, at least {rank + 2} needed"
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {needed}")
    rest = [values - design @ np.linalg.lstsq(design, values)[0] for values in (x, y)]
    if any(np.linalg.norm(residuals) <= EXACT * np.linalg.norm(values) for residuals, values in zip(rest, (x, y), strict=True)):
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, "undefined: nothing varies beside the covariates")
    r = float(np.clip(np.corrcoef(*rest)[0, 1], -1, 1))
    t = -abs(r) * np.sqrt(df / max(1 - r * r, np.finfo(float).tiny))
    return Correlation(r, np.nan, np.nan, float(2 * stdtr(df, t)), n)
