"""Pearson's correlation over languages, plain or partial, with its p value and its interval over languages."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr  # scipy.stats takes half a second to import

LEAST = 5  # languages for an interval; the correlation of resamples of four is often undefined
DRAWS = 2000  # resamples of an interval
EXACT = 1e-9  # share of unexplained variation up to which a variable counts as wholly explained


@dataclass(frozen=True)
class Pearson:
    """Pearson's r, its 95 % bootstrap interval over languages (plain r only) and two-sided p; nan and a remark if undefined."""

    r: float
    low: float
    high: float
    p: float
    n: int
    remark: str = ""


def pearson(x: np.ndarray, y: np.ndarray, covariates: np.ndarray | None = None) -> Pearson:
    """Return the correlation of x and y, both (n,), or of their residuals after least squares on covariates and a constant.

    covariates: (n, c). Of DRAWS bootstrap resamples, those in which x or y is constant have no r and are left out.
    t = r sqrt(df / (1 - r^2)) with df = n - 2 - k, where k is the number of linearly independent covariates.
    """
    n = len(x)
    design = np.column_stack([np.ones(n), *([covariates] if covariates is not None else [])])
    rank = int(np.linalg.matrix_rank(design)) if n else 1
    df = n - 1 - rank
    if df < 1:
        condition = f" given {rank - 1} covariates" * (rank > 1)
        return Pearson(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {n} languages{condition}, at least {rank + 2} needed")
    rest = [values - design @ np.linalg.lstsq(design, values)[0] for values in (x, y)]
    if any(np.linalg.norm(residuals) <= EXACT * np.linalg.norm(values) for residuals, values in zip(rest, (x, y), strict=True)):
        return Pearson(np.nan, np.nan, np.nan, np.nan, n, "undefined: nothing varies" + " beside the covariates" * (rank > 1))
    r = float(np.clip(rowwise(rest[0][None], rest[1][None])[0], -1, 1))
    t = -abs(r) * np.sqrt(df / max(1 - r * r, np.finfo(float).tiny))
    low = high = np.nan
    if covariates is None and n >= LEAST:
        chosen = np.random.default_rng(0).integers(n, size=(DRAWS, n))
        low, high = np.nanpercentile(rowwise(x[chosen], y[chosen]), [2.5, 97.5])
    return Pearson(r, float(low), float(high), float(2 * stdtr(df, t)), n)


def rowwise(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Pearson's r of each pair of rows, (m,), of x and y (m, n); nan where one of them is constant."""
    a, b = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    r: np.ndarray = np.divide((a * b).sum(axis=1), scale, out=np.full(len(a), np.nan), where=scale > 0)
    return r
