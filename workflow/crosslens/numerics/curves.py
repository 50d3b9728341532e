"""Points at which one curve stops being above another."""

import numpy as np


def meeting(x: np.ndarray, difference: np.ndarray) -> float:
    """Smallest x at which a difference is no longer above 0.

    x, difference: (m,), with x ascending. Between two points the difference is interpolated linearly. If it stays above 0, the
    last x is returned as a lower bound; if it is not above 0 at the first x, that is returned.
    """
    under = np.flatnonzero(difference <= 0)
    if not len(under):
        return float(x[-1])
    end = int(under[0])
    if end == 0:
        return float(x[0])
    before, after = difference[end - 1], difference[end]
    return float(x[end - 1] + (x[end] - x[end - 1]) * before / (before - after))
