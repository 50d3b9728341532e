"""The result of every method of finding language subspaces."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Subspace:
    """Directions of a d-dimensional space in which languages differ, the most telling first.

    A method finds at most `rank` of them; `completed` fills the basis up. States are read along `filters`, which are the basis
    where a method knows only orthogonal directions.
    """

    method: str
    languages: tuple[str, ...]  # languages it was fitted on, sorted
    eigenvalues: np.ndarray  # (rank,) falling: values of what the method maximises
    basis: np.ndarray  # (d, k) orthonormal; the first r columns span what the first r filters span
    filters: np.ndarray  # (d, rank)
    centre: np.ndarray  # (d,) mean of the states it was fitted on

    @classmethod
    def orthogonal(
        cls, method: str, languages: tuple[str, ...], eigenvalues: np.ndarray, basis: np.ndarray, centre: np.ndarray
    ) -> Self:
        """Subspace of orthonormal directions, basis (d, rank)."""
        basis = upright(basis)
        return cls(method, languages, eigenvalues, basis, basis, centre)

    @classmethod
    def oblique(
        cls, method: str, languages: tuple[str, ...], eigenvalues: np.ndarray, filters: np.ndarray, centre: np.ndarray
    ) -> Self:
        """Subspace of filters (d, rank); its basis is that of the filters, by Gram and Schmidt."""
        return cls(method, languages, eigenvalues, upright(np.linalg.qr(filters)[0]), upright(filters), centre)

    @property
    def rank(self) -> int:
        """Number of directions that the method determines."""
        return len(self.eigenvalues)

    def completed(self, seed: int) -> Self:
        """Subspace whose basis has d orthonormal columns: those beyond the rank are orthogonal to it and uniformly random.

        No method prefers any of them, so that any two windows beyond the rank are alike but for chance, which what rounding
        leaves of an eigendecomposition is not.
        """
        width, fitted = self.basis.shape[0], self.basis[:, : self.rank]
        draws = np.random.default_rng(seed).standard_normal((width, width - self.rank))
        rest, triangle = np.linalg.qr(draws - fitted @ (fitted.T @ draws))
        rest = rest * np.sign(np.diag(triangle))  # uniform under rotations, which a QR without this is not
        rest -= fitted @ (fitted.T @ rest)
        return replace(self, basis=np.hstack([fitted, rest]))

    def coordinates(self, states: np.ndarray, columns: np.ndarray | None = None, *, centred: bool) -> np.ndarray:
        """States (m, d) along the filters and, beyond the rank, along the basis: (m, k), around the centre or as they are.

        columns: numbers of the directions that are wanted, None: all.
        """
        directions = np.hstack([self.filters, self.basis[:, self.rank :]])
        directions = (directions if columns is None else directions[:, columns]).astype(states.dtype)
        along: np.ndarray = states @ directions
        return along - self.centre.astype(states.dtype) @ directions if centred else along


def upright(columns: np.ndarray) -> np.ndarray:
    """Columns (d, k), each turned so that its largest component is positive: a decomposition leaves signs open."""
    largest = np.abs(columns).argmax(0)
    turned: np.ndarray = columns * np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return turned
