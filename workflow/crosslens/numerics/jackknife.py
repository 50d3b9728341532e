"""Intervals of CKA by the delete-one-block jackknife, from the adjusted kernels of all sentences."""

from collections.abc import Sequence

import numpy as np

from crosslens.numerics.intervals import t_quantile
from crosslens.numerics.kernels import CANCELLED, LEAST, Centring, Side, cosine

BlockSums = tuple[np.ndarray, np.ndarray, np.ndarray]


class Deletions:
    """CKA without each block of sentences, from the adjusted kernels of all m sentences.

    Let A and B be adjusted kernels, D a block and R the rows outside D. A * B is summed over R x R, then corrected for centring
    on R alone. If A is centred, its rows sum to zero, so what is left of row j sums to minus its part in D.
    """

    def __init__(self, labels: np.ndarray, centring: Centring) -> None:
        """Find the blocks. labels: (m,), number of each sentence's block, which rises by at most one from row to row."""
        self.first = int(labels[0]) if len(labels) else 0
        self.starts = np.flatnonzero(np.diff(labels, prepend=-1))
        self.centring = centring
        self.rest = len(labels) - np.diff(self.starts, append=len(labels))
        self.within = np.nonzero(labels[:, None] == labels)  # pairs of sentences in one block, by row
        self.within_starts = np.searchsorted(self.within[0], np.arange(len(labels)))

    def values(self, sides: Sequence[Side], whole: np.ndarray, blocks: int) -> np.ndarray:
        """CKA of the first side with each of the L others, without each block, (L, blocks).

        whole: (L,), CKA of all sentences; it is also the value for blocks that are not in this window. blocks: number of blocks
        in all windows.
        """
        values = np.repeat(whole[:, None], blocks, axis=1)
        if not len(self.starts):
            return values
        sums = [self._sums(side.matrix) for side in sides]
        squares = []
        for side, side_sums in zip(sides, sums, strict=True):
            leave_one_out = self._products(side.matrix, side_sums, side.matrix, side_sums)
            squares.append(np.where(leave_one_out > CANCELLED * side.squares, leave_one_out, np.nan))
        for row, side, side_sums, leave_one_out in zip(values, sides[1:], sums[1:], squares[1:], strict=True):
            products = self._products(sides[0].matrix, sums[0], side.matrix, side_sums)
            row[self.first : self.first + len(self.starts)] = cosine(products, squares[0], leave_one_out)
        return values

    def _sums(self, matrix: np.ndarray) -> BlockSums:
        """Sums of each row over each block (m, blocks) and over its own block (m,), and the entries within blocks."""
        within = matrix[self.within]
        sums = matrix if len(self.starts) == len(matrix) else np.add.reduceat(matrix, self.starts, axis=1)
        return sums, np.add.reduceat(within, self.within_starts), within

    def _products(self, a: np.ndarray, sums_of_a: BlockSums, b: np.ndarray, sums_of_b: BlockSums) -> np.ndarray:
        """Sum of A * B without each block, centred again, (blocks,); nan if too few sentences are left."""
        (sums_a, own_a, within_a), (sums_b, own_b, within_b) = sums_of_a, sums_of_b
        rows = np.einsum("ij,ij->i", a, b)
        products: np.ndarray = rows.sum() - 2 * np.add.reduceat(rows, self.starts)
        products += np.add.reduceat(within_a * within_b, self.within_starts[self.starts])
        if self.centring == "none":
            return products
        lost = np.einsum("jd,jd->d", sums_a, sums_b) - np.add.reduceat(own_a * own_b, self.starts)
        totals = np.add.reduceat(own_a, self.starts) * np.add.reduceat(own_b, self.starts)
        less = 0 if self.centring == "centred" else 2
        with np.errstate(invalid="ignore", divide="ignore"):
            products += totals / ((self.rest - less) * (self.rest - less / 2)) - 2 * lost / (self.rest - less)
        return np.where(self.rest < LEAST[self.centring], np.nan, products)


def half_width(value: float, leave_one_out: np.ndarray, sizes: np.ndarray) -> float:
    """Half the width of a value's 95 % interval, by leaving out blocks of unequal sizes; nan for a single block.

    leave_one_out: (G,), the value without each of G blocks. sizes: (G,), sentences in each block. Source: Busing et al. 1999.
    """
    blocks = len(sizes)
    if blocks < 2:
        return float("nan")
    ratio = sizes.sum() / sizes
    centre = blocks * value - ((1 - 1 / ratio) * leave_one_out).sum()
    pseudo = ratio * value - (ratio - 1) * leave_one_out
    return float(t_quantile(blocks - 1) * np.sqrt(np.mean((pseudo - centre) ** 2 / (ratio - 1))))
