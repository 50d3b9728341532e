"""Kernel matrices of states whose rows are sentences, adjusted so that CKA is the cosine of two of them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial.distance import squareform

from crosslens.jobs.errors import DataError

Centring = Literal["none", "centred", "unbiased"]

LEAST = {"none": 1, "centred": 2, "unbiased": 4}  # number of sentences below which a centring is undefined
ROUNDING = 1e-24  # a sum of squares this small relative to what was subtracted is rounding and counts as zero
CANCELLED = 1e-12  # the same limit for a difference of sums of squares


def checked(states: np.ndarray, n: int, name: str) -> np.ndarray:
    """States (n, d) in float64. Raises DataError, with `name`, if the shape is another or a value is not finite."""
    states = np.asarray(states, np.float64)
    if states.ndim != 2 or len(states) != n:
        raise DataError(f"{name}: expected states of shape ({n}, d), found {states.shape}; both sides need the same sentences")
    if not np.isfinite(states).all():
        raise DataError(f"{name}: expected finite states, found infinity or NaN; extract them in float32")
    return states


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of a * b, (m, k) each. np.vdot would start BLAS threads, which cost more than the sum on a busy machine."""
    return float(np.einsum("ij,ij->i", a, b).sum())


def cosine(product: np.ndarray | float, squares_x: np.ndarray | float, squares_y: np.ndarray | float) -> np.ndarray:
    """Cosine from sum(A * B), sum(A * A) and sum(B * B), each of any shape; nan if one of the squares is 0 or nan."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value: np.ndarray = product / np.sqrt(squares_x) / np.sqrt(squares_y)
    return value


def deviations(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) of states (n, d), and the states minus it; the mean of no states is 0."""
    mean = states.mean(0) if len(states) else np.zeros(states.shape[1])
    return mean, states - mean


@dataclass(frozen=True)
class Gram:
    """Inner products of n states: x_i . x_j = centred_ij + shift_i + shift_j."""

    centred: np.ndarray  # (n, n) products of x - mean, since a large mean would cost digits of what varies
    shift: np.ndarray  # (n,)

    @classmethod
    def from_states(cls, states: np.ndarray) -> "Gram":
        """Inner products of states (n, d)."""
        mean, centred = deviations(states)
        return cls(centred @ centred.T, centred @ mean + mean @ mean / 2)

    def linear(self, window: slice, *, centred: bool) -> np.ndarray:
        """New linear kernel of a window of m states, (m, m).

        centred: whether the mean of all n states is subtracted first.
        """
        products = self.centred[window, window]
        shift = np.zeros(len(products)) if centred else self.shift[window]
        kernel: np.ndarray = products + shift
        kernel += shift[:, None]
        return kernel

    def rbf(self, window: slice) -> np.ndarray:
        """New kernel exp(-distance^2 / (2 b^2)) of a window of m states, (m, m); b^2 is the median non-zero squared distance."""
        products = self.centred[window, window]
        squares = products.diagonal()
        distances = -2 * products
        distances += squares
        distances += squares[:, None]
        distances = squareform(distances, checks=False)  # each pair once
        # Equal sentences are at distance zero up to rounding; as in the released code, the median ignores them.
        apart = distances[distances > CANCELLED * distances.max(initial=0)]
        if not len(apart):
            return np.zeros_like(products)
        distances *= -0.5 / np.median(apart, overwrite_input=True)
        kernel: np.ndarray = squareform(np.exp(np.minimum(distances, 0, out=distances), out=distances))
        np.fill_diagonal(kernel, 1)
        return kernel


@dataclass(frozen=True)
class Side:
    """One of the two adjusted kernels whose cosine is CKA."""

    matrix: np.ndarray  # (m, m) adjusted kernel
    squares: float  # sum of its squares; nan if CKA is undefined


def adjusted(kernel: np.ndarray, centring: Centring) -> Side:
    """A kernel (m, m), overwritten by its adjusted form: "none" as it is, "centred", or "unbiased" (U-centred)."""
    m = len(kernel)
    if m < LEAST[centring]:
        return Side(np.zeros((m, m)), np.nan)
    before = dot(kernel, kernel)
    if centring == "centred":
        means = kernel.mean(0)
        kernel -= means
        kernel -= (means - means.mean())[:, None]
    elif centring == "unbiased":  # U-centring of Szekely and Rizzo 2014; the sum of products is n (n - 3) HSIC_1
        np.fill_diagonal(kernel, 0)
        means = kernel.sum(0) / (m - 2)
        kernel -= means
        kernel -= (means - means.sum() / (m - 1))[:, None]
        np.fill_diagonal(kernel, 0)
    squares = dot(kernel, kernel)
    return Side(kernel, squares if squares > ROUNDING * before else np.nan)
