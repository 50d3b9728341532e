"""What every method of finding language subspaces results in."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Subspace:
    """Directions of a d-dimensional space in which languages differ, the most telling first.

    A method finds at most `rank` of them, of whatever follows in `basis` see `completed`. States are read along `filters` and
    written along `patterns`, filters' patterns = identity; both are the basis where a method knows only orthogonal directions.
    """

    method: str
    languages: tuple[str, ...]  # of which it was fitted, sorted
    eigenvalues: np.ndarray  # (rank,) falling: of what the method maximises
    basis: np.ndarray  # (d, k) orthonormal; the first r columns span what the first r filters span
    filters: np.ndarray  # (d, rank)
    patterns: np.ndarray  # (d, rank)
    centre: np.ndarray  # (d,) mean of what it was fitted on

    @classmethod
    def orthogonal(
        cls, method: str, languages: tuple[str, ...], eigenvalues: np.ndarray, basis: np.ndarray, centre: np.ndarray
    ) -> Self:
        """Of orthonormal directions (d, rank)."""
        basis = upright(basis)
        return cls(method, languages, eigenvalues, basis, basis, basis, centre)

    @classmethod
    def oblique(
        cls, method: str, languages: tuple[str, ...], eigenvalues: np.ndarray, filters: np.ndarray, patterns: np.ndarray,
        centre: np.ndarray,
    ) -> Self:  # fmt: skip
        """Of filters and patterns (d, rank); the basis is that of the filters, by Gram and Schmidt."""
        signs = _signs(filters)
        basis = upright(np.linalg.qr(filters)[0])
        return cls(method, languages, eigenvalues, basis, filters * signs, patterns * signs, centre)

    @property
    def rank(self) -> int:
        """Directions that the method determines."""
        return len(self.eigenvalues)

    @property
    def explained(self) -> np.ndarray:
        """Share of each eigenvalue in the sum of the positive ones, (rank,); 0 for negative ones."""
        positive = np.maximum(self.eigenvalues, 0)
        shares: np.ndarray = positive / positive.sum()
        return shares

    def completed(self, seed: int) -> Self:
        """The same with d orthonormal columns: those beyond the rank are orthogonal to it and uniformly random, by the seed.

        No method prefers any of them, so that any two windows beyond the rank are alike but for chance, which what rounding
        leaves of an eigendecomposition is not.
        """
        width, known = self.basis.shape[0], self.basis[:, : self.rank]
        draws = np.random.default_rng(seed).standard_normal((width, width - self.rank))
        rest, triangle = np.linalg.qr(draws - known @ (known.T @ draws))
        rest = rest * np.sign(np.diag(triangle))  # uniform under rotations, which a QR without this is not
        rest -= known @ (known.T @ rest)
        return replace(self, basis=np.hstack([known, rest]))

    def coordinates(self, states: np.ndarray, columns: np.ndarray | None = None, *, centred: bool) -> np.ndarray:
        """States (m, d) along the filters and, beyond the rank, along the basis: (m, k), around the centre or as they are.

        columns: numbers of the directions that are wanted, None: all.
        """
        directions = np.hstack([self.filters, self.basis[:, self.rank :]])
        directions = (directions if columns is None else directions[:, columns]).astype(states.dtype)
        along: np.ndarray = states @ directions
        return along - self.centre.astype(states.dtype) @ directions if centred else along


def upright(columns: np.ndarray) -> np.ndarray:
    """The same directions, each with its largest component positive: a decomposition leaves signs open."""
    turned: np.ndarray = columns * _signs(columns)
    return turned


def _signs(columns: np.ndarray) -> np.ndarray:
    largest = np.abs(columns).argmax(0)
    return np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
