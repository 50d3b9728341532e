"""Chance level of CKA from shuffled pairings of the same sentences: the mean (floor), z and p."""

from collections.abc import Sequence

import numpy as np

from crosslens.numerics.kernels import CANCELLED

ROWS = 10  # rows of a kernel that are shuffled at once


def shuffled_orders(n: int, draws: int, shared: slice, seed: int) -> np.ndarray:
    """Return random orders of n sentences, (draws, n), that permute the sentences of the slice and leave the rest in place."""
    orders = np.tile(np.arange(n), (draws, 1))
    orders[:, shared] = np.random.default_rng(seed).permuted(orders[:, shared], axis=1)
    return orders


def shuffled_products(reference: np.ndarray, kernels: Sequence[np.ndarray], orders: np.ndarray) -> np.ndarray:
    """Return sum_ij reference[o_i, o_j] kernel_ij, (L, B), for each of L kernels and each of B orders o.

    reference, kernels: (m, m), symmetric; orders: (B, m). One permuted reference serves all languages; rows are permuted a few at
    a time, so that they stay in the cache.
    """
    m = len(reference)
    products = np.zeros((len(kernels), len(orders)))
    for start in range(0, m if len(orders) else 0, ROWS):
        rows, columns = slice(start, start + ROWS), slice(start, m)
        stack = np.stack([kernel[rows, columns] for kernel in kernels])
        stack[:, :, ROWS:] *= 2  # stands for the part below the diagonal too
        stack = stack.reshape(len(kernels), -1)
        for draw, order in enumerate(orders):
            products[:, draw] += stack @ np.take(reference[order[rows]], order[columns], axis=1).ravel()
    return products


def chance(value: np.ndarray, shuffled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of shuffled values (L, B), and z and one-sided p of values (L,) among them, each (L,); nan if B < 2."""
    draws = shuffled.shape[1]
    if draws < 2:
        return (np.full(len(value), np.nan),) * 3
    floor, deviation = shuffled.mean(1), shuffled.std(1, ddof=1)
    varies = deviation > CANCELLED
    z = np.where(varies, (value - floor) / np.where(varies, deviation, 1), np.nan)
    # An order that changes nothing counts too: up to rounding, its shuffled value equals the value.
    p = (1 + (shuffled >= value[:, None] - CANCELLED).sum(1)) / (1 + draws)
    return floor, z, np.where(np.isnan(value), np.nan, p)
