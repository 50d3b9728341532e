"""Pearson's correlation over languages, plain or partial: its p, and its interval over languages."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr  # scipy.stats takes half a second to import

LEAST = 5  # languages for an interval; resamples of four often have no correlation
DRAWS = 2000  # resamples of an interval
EXACT = 1e-9  # share of a variable's variation up to which it counts as explained wholly


@dataclass(frozen=True)
class Pearson:
    """r, its 95 % bootstrap interval over languages (of a plain one alone), two-sided p of t; nan and a remark if undefined."""

    r: float
    low: float
    high: float
    p: float
    n: int
    remark: str = ""


def pearson(x: np.ndarray, y: np.ndarray, covariates: np.ndarray | None = None) -> Pearson:
    """Correlation of x and y, both (n,), or of what least squares on covariates (n, c) and a constant leaves of both.

    t = r sqrt(df / (1 - r^2)) with df = n - 2 - k, where k is the number of covariates that are no combination of others.
    Resamples in which x or y is constant have no r: left out.
    """
    n = len(x)
    design = np.column_stack([np.ones(n), *([covariates] if covariates is not None else [])])
    rank = int(np.linalg.matrix_rank(design)) if n else 1
    df = n - 1 - rank
    if df < 1:
        given = f" given {rank - 1} covariates" * (rank > 1)
        return Pearson(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {n} languages{given}, at least {rank + 2} needed")
    rest = [values - design @ np.linalg.lstsq(design, values)[0] for values in (x, y)]
    if any(np.linalg.norm(left) <= EXACT * np.linalg.norm(values) for left, values in zip(rest, (x, y), strict=True)):
        return Pearson(np.nan, np.nan, np.nan, np.nan, n, "undefined: nothing varies" + " beside the covariates" * (rank > 1))
    r = float(np.clip(rowwise(rest[0][None], rest[1][None])[0], -1, 1))
    t = -abs(r) * np.sqrt(df / max(1 - r * r, np.finfo(float).tiny))
    low = high = np.nan
    if covariates is None and n >= LEAST:
        chosen = np.random.default_rng(0).integers(n, size=(DRAWS, n))
        low, high = np.nanpercentile(rowwise(x[chosen], y[chosen]), [2.5, 97.5])
    return Pearson(r, float(low), float(high), float(2 * stdtr(df, t)), n)


def rowwise(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's r of each row: (m, n), (m, n) -> (m,); nan where one is constant."""
    a, b = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    r: np.ndarray = np.divide((a * b).sum(axis=1), scale, out=np.full(len(a), np.nan), where=scale > 0)
    return r
