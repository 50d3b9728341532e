"""What CKA is by chance: its floor, z and p from shuffled pairings of the same sentences."""

from collections.abc import Sequence

import numpy as np

from crosslens.numerics.kernels import CANCELLED

ROWS = 10  # of kernels shuffled at once


def shuffled_orders(n: int, draws: int, shared: slice, seed: int) -> np.ndarray:
    """Orders of n sentences, (draws, n), in which those of the slice change places and the others keep theirs."""
    orders = np.tile(np.arange(n), (draws, 1))
    orders[:, shared] = np.random.default_rng(seed).permuted(orders[:, shared], axis=1)
    return orders


def shuffled_products(reference: np.ndarray, others: Sequence[np.ndarray], orders: np.ndarray) -> np.ndarray:
    """sum_ij reference[o_i, o_j] other_ij, (L, B), for each of B orders o (B, m); all matrices (m, m) and symmetric.

    One permuted reference serves all languages; some rows at a time, so that theirs stay in the cache.
    """
    m = len(reference)
    products = np.zeros((len(others), len(orders)))
    for start in range(0, m if len(orders) else 0, ROWS):
        rows, columns = slice(start, start + ROWS), slice(start, m)
        stack = np.stack([other[rows, columns] for other in others])
        stack[:, :, ROWS:] *= 2  # for what lies below the diagonal
        stack = stack.reshape(len(others), -1)
        for draw, order in enumerate(orders):
            products[:, draw] += stack @ np.take(reference[order[rows]], order[columns], axis=1).ravel()
    return products


def chance(value: np.ndarray, shuffled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, z and one-sided p of values (L,) among shuffled ones (L, B), each (L,); nan for fewer than two."""
    draws = shuffled.shape[1]
    if draws < 2:
        return (np.full(len(value), np.nan),) * 3
    floor, deviation = shuffled.mean(1), shuffled.std(1, ddof=1)
    varies = deviation > CANCELLED
    z = np.where(varies, (value - floor) / np.where(varies, deviation, 1), np.nan)
    # Orders that change nothing are ties but for rounding.
    p = (1 + (shuffled >= value[:, None] - CANCELLED).sum(1)) / (1 + draws)
    return floor, z, np.where(np.isnan(value), np.nan, p)
