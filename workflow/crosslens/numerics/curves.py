"""Curves: where one ends to be above another."""

import numpy as np


def meeting(x: np.ndarray, difference: np.ndarray) -> float:
    """The smallest x at which a difference (m,) that is measured at x (m,), ascending, is no longer above 0.

    Between two measured points it is taken to be linear. The last x, as a lower bound, where it remains above 0; the first one
    where it is not above 0 there.
    """
    under = np.flatnonzero(difference <= 0)
    if not len(under):
        return float(x[-1])
    end = int(under[0])
    if end == 0:
        return float(x[0])
    before, after = difference[end - 1], difference[end]
    return float(x[end - 1] + (x[end] - x[end - 1]) * before / (before - after))
