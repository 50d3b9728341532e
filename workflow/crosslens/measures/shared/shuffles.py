"""Shuffled pairings of the same sentences, whose CKA is the baseline."""

from collections.abc import Sequence

import numpy as np

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
