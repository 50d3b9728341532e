"""Iterative nullspace projection (INLP), which needs the vectors themselves instead of sums over them."""

from collections.abc import Mapping

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.numerics.logistic import fit
from crosslens.numerics.subspace import Subspace

PENALTY, TOLERANCE = 1.0, 1e-4  # C of the probes, and the largest gradient component at which a fit ends


def inlp(states: Mapping[str, np.ndarray], rounds: int) -> Subspace:
    """Subspace of linear probes for the language, each round's trained in the nullspace of the earlier (Ravfogel et al. 2020).

    states: language -> (m, d), a sample. rounds: largest number of rounds. Probes are multinomial logistic regressions; the
    released code takes any linear classifier (shauli-ravfogel/nullspace_projection, src/debias.py, lines 98-136). The basis has
    the directions round by round, at most n - 1 each, by falling singular value of the weights. Eigenvalues are these values
    squared, so they fall only within a round. Raises DataError for fewer than two languages.
    """
    languages = tuple(sorted(states))
    if len(languages) < 2:
        raise DataError(f"inlp: expected states of at least two languages, found {len(languages)}")
    vectors = np.concatenate([np.asarray(states[language], np.float64) for language in languages])
    classes = np.repeat(np.arange(len(languages)), [len(states[language]) for language in languages])
    basis, eigenvalues = np.zeros((vectors.shape[1], 0)), np.zeros(0)
    for _ in range(rounds):
        remainder = vectors - (vectors @ basis) @ basis.T
        probe = fit(remainder[None], classes[None, None], penalties=PENALTY, tolerance=TOLERANCE)
        weights = probe.weights[0, 0, 0].numpy()
        values, directions = np.linalg.svd(weights - (weights @ basis) @ basis.T, full_matrices=False)[1:]
        room = min(len(languages) - 1, len(basis) - basis.shape[1])
        usable = (values > values[0] * max(weights.shape) * np.finfo(float).eps) & (np.arange(len(values)) < room)
        if not usable.any():
            break
        added = directions[usable].T
        basis = np.hstack([basis, added - basis @ (basis.T @ added)])
        eigenvalues = np.append(eigenvalues, values[usable] ** 2)
    return Subspace.orthogonal("inlp", languages, eigenvalues, basis, vectors.mean(0))
