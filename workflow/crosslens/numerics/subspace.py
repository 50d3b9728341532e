"""A language subspace, the result of every method that finds one."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Subspace:
    """Directions of a d-dimensional space along which languages differ, the most informative first.

    A method determines `rank` of them; `completed` adds random ones up to d. Coordinates are measured along `filters`, which
    equal the basis if a method finds only orthogonal directions.
    """

    method: str
    languages: tuple[str, ...]  # languages it was fitted on, sorted
    eigenvalues: np.ndarray  # (rank,) values of what the method maximises, falling
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
        """Subspace of filters (d, rank); its basis is the filters orthonormalised in their order."""
        return cls(method, languages, eigenvalues, upright(np.linalg.qr(filters)[0]), upright(filters), centre)

    @property
    def rank(self) -> int:
        """Number of directions that the method determines."""
        return len(self.eigenvalues)

    def completed(self, seed: int) -> Self:
        """Subspace whose basis has d orthonormal columns: those beyond the rank are orthogonal to it and uniformly random.

        No method prefers any of these, so two windows beyond the rank differ only by chance. The remaining directions of an
        eigendecomposition, which rounding determines, would not have this property.
        """
        width, fitted = self.basis.shape[0], self.basis[:, : self.rank]
        draws = np.random.default_rng(seed).standard_normal((width, width - self.rank))
        rest, triangle = np.linalg.qr(draws - fitted @ (fitted.T @ draws))
        rest = rest * np.sign(np.diag(triangle))  # uniform under rotations, unlike QR without this step
        rest -= fitted @ (fitted.T @ rest)
        return replace(self, basis=np.hstack([fitted, rest]))

    def coordinates(self, states: np.ndarray, columns: np.ndarray | None = None, *, centred: bool) -> np.ndarray:
        """Coordinates of states (m, d) along the filters and, beyond the rank, along the basis, (m, k).

        columns: numbers of the directions; None: all. centred: whether the centre is subtracted first.
        """
        directions = np.hstack([self.filters, self.basis[:, self.rank :]])
        directions = (directions if columns is None else directions[:, columns]).astype(states.dtype)
        along: np.ndarray = states @ directions
        return along - self.centre.astype(states.dtype) @ directions if centred else along


def upright(columns: np.ndarray) -> np.ndarray:
    """Columns (d, k) with signs that make each one's largest component positive: a decomposition leaves signs open."""
    largest = np.abs(columns).argmax(0)
    turned: np.ndarray = columns * np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return turned
