"""Sums over batches of states from which linear CKA follows exactly, for data of which no Gram matrix fits in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from crosslens.measures.kernels import CANCELLED, LEAST, ROUNDING, Centring, checked, deviations, dot


@dataclass(frozen=True)
class Sums:
    """All that linear CKA needs of the rows of x (n, d_x) and y (n, d_y), in O(d_x d_y); `+` joins batches.

    Exact for each centring: HSIC is |cross|^2, and the unbiased one needs from the diagonals of the Gram matrices
    sum_i |u_i|^2 |v_i|^2 besides, with u and v the rows minus their means. Means are known only at the end, so sums of third
    order are kept to move that one. RBF kernels, shuffling and the jackknife need rows or Gram matrices: `compare`.
    """

    n: int
    mean_x: np.ndarray  # (d_x,)
    mean_y: np.ndarray  # (d_y,)
    cross: np.ndarray  # (d_x, d_y) sum of u v'
    square_x: float  # sum of |u|^2
    square_y: float
    cubic_x: np.ndarray  # (d_x,) sum of |v|^2 u
    cubic_y: np.ndarray  # (d_y,) sum of |u|^2 v
    quartic: float  # sum of |u|^2 |v|^2

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> "Sums":
        """Sums of one batch (n, d_x), (n, d_y), any n. Raises DataError where n differs or a value is not finite."""
        x, y = checked(x, len(x), "x"), checked(y, len(x), "y")
        (mean_x, u), (mean_y, v) = deviations(x), deviations(y)
        lengths_u, lengths_v = np.einsum("ij,ij->i", u, u), np.einsum("ij,ij->i", v, v)
        return cls(
            len(x), mean_x, mean_y, u.T @ v, float(lengths_u.sum()), float(lengths_v.sum()),
            lengths_v @ u, lengths_u @ v, float(lengths_u @ lengths_v),
        )  # fmt: skip

    def __add__(self, other: "Sums") -> "Sums":
        n = max(1, self.n + other.n)
        mean_x = (self.n * self.mean_x + other.n * other.mean_x) / n
        mean_y = (self.n * self.mean_y + other.n * other.mean_y) / n
        sides = zip(self._about(mean_x, mean_y), other._about(mean_x, mean_y), strict=True)
        return Sums(self.n + other.n, mean_x, mean_y, *(a + b for a, b in sides))

    def _about(self, mean_x: np.ndarray, mean_y: np.ndarray) -> tuple[Any, ...]:
        """The sums about other means, from cross on: u - a and v - b instead of u and v, whose sums are zero."""
        a, b, n = mean_x - self.mean_x, mean_y - self.mean_y, self.n
        aa, bb = a @ a, b @ b
        along_a, along_b = a @ self.cross, self.cross @ b
        return (
            self.cross + n * np.outer(a, b),
            self.square_x + n * aa,
            self.square_y + n * bb,
            self.cubic_x - a * self.square_y - 2 * along_b - n * bb * a,
            self.cubic_y - b * self.square_x - 2 * along_a - n * aa * b,
            self.quartic - 2 * (b @ self.cubic_y + a @ self.cubic_x) + bb * self.square_x + aa * self.square_y
            + 4 * along_a @ b + n * aa * bb,
        )  # fmt: skip

    def product(self, centring: Centring) -> float:
        """Sum of A * B over the adjusted Gram matrices: HSIC up to a factor of n."""
        cross = self.cross + self.n * np.outer(self.mean_x, self.mean_y) if centring == "none" else self.cross
        product = dot(cross, cross)
        if centring == "unbiased" and self.n >= LEAST[centring]:
            n = self.n
            product += self.square_x * self.square_y / ((n - 1) * (n - 2)) - n / (n - 2) * self.quartic
        return product

    def defined(self, centring: Centring) -> bool:
        """Whether the states of x vary; of sums of x with itself."""
        if centring == "none":
            return bool(self.square_x > 0 or self.mean_x.any())
        varies = self.square_x > ROUNDING * (self.square_x + self.n * (self.mean_x @ self.mean_x))
        enough = self.product(centring) > CANCELLED * self.product("centred")
        return bool(self.n >= LEAST[centring] and varies and enough)
