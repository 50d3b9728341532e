"""A linear probe: multinomial logistic regression on standardised states, trained to convergence, with a selected penalty."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosslens.numerics.logistic import Regressions, fit

VALIDATION = 0.2  # share of the texts that are held out to select a penalty


@dataclass(frozen=True)
class Fitted:
    """Predictions of a probe on its test items, and the convergence of its fit."""

    predicted: np.ndarray  # (n_test,)
    penalty: float  # C selected by validation
    gradient: float  # largest component of the objective's gradient at the end of the fit
    converged: bool  # whether the gradient is at most the tolerance

    def convergence(self) -> dict[str, float | bool]:
        """Return part of a record: the penalty, the gradient, and whether the fit has converged."""
        return {"penalty": self.penalty, "gradient": self.gradient, "converged": self.converged}


def convergence(fits: Sequence[Fitted]) -> dict[str, float | bool]:
    """Return part of a record: the largest gradient of several fits, and whether all have converged."""
    return {"gradient": max(fitted.gradient for fitted in fits), "converged": all(fitted.converged for fitted in fits)}


@dataclass(frozen=True)
class Standardisation:
    """Mean and standard deviation of each of d columns, (d,) each; a column without variation is divided by 1.

    The numbers equal those of scikit-learn's StandardScaler, bit for bit. The package itself is not installed where encoders
    run.
    """

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray) -> "Standardisation":
        """Return mean and deviation of the columns of states (n, d) float64."""
        n, precision = len(states), np.finfo(np.float64).eps
        mean = states.sum(0) / n
        distances = states - mean
        variance = ((distances**2).sum(0) - distances.sum(0) ** 2 / n) / n
        constant = variance <= n * precision * variance + (n * mean * precision) ** 2
        return cls(mean, np.where(constant, 1.0, np.sqrt(variance)))

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Return the standardised states, (m, d)."""
        standardised: np.ndarray = (states - self.mean) / self.deviation
        return standardised


def draw_evenly(groups: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the numbers of at most `most` random items, ascending, spread evenly over groups.

    No group gets a second item before each group has one. groups: (n,), group of each item, such as its text.
    """
    order = np.random.default_rng(seed).permutation(len(groups))
    sizes = np.unique(groups, return_counts=True)[1]
    turns = np.empty(len(groups), np.int64)  # how many items of the group precede each in the random order
    turns[np.argsort(groups[order], kind="stable")] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.argsort(turns, kind="stable")[:most]])


def split_by_text(texts: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a random mask of whole texts, (n,) bool, true for a share `share` of the texts. texts: (n,), text of each item."""
    names = np.unique(texts)
    chosen = np.random.default_rng(seed).permutation(names)[: max(1, round(share * len(names)))]
    return np.isin(texts, chosen)


def logistic_probe(
    train: np.ndarray,
    truth: np.ndarray,
    texts: np.ndarray,
    tests: Sequence[np.ndarray],
    *,
    penalties: Sequence[float],
    tolerance: float,
    seed: int,
) -> list[Fitted]:
    """Fit multinomial logistic regression on standardised states to convergence, and return predictions for each test set.

    train: (n, d). truth: (n,), classes. texts: (n,), text of each item, or another group that must not be divided. tests: (m,
    d) each. penalties: values of C; of several, the one with the highest accuracy on a held-out fifth of the texts is used. A
    fit has converged if no component of the gradient exceeds `tolerance`. It runs in float64, since in float32 the gradient
    stays at 1e-5 to 1e-4.
    """
    states, (names, classes) = train.astype(np.float64), np.unique(truth, return_inverse=True)

    def fitted(rows: np.ndarray, strengths: Sequence[float]) -> tuple[Standardisation, Regressions]:
        standardise = Standardisation.of(states[rows])
        targets = np.repeat(classes[None, None, rows], len(strengths), 1)
        return standardise, fit(standardise(states[rows])[None], targets, penalties=strengths, tolerance=tolerance)

    best = penalties[0]
    if len(penalties) > 1:
        held_out = split_by_text(texts, VALIDATION, seed)
        standardise, tried = fitted(~held_out, penalties)
        right = tried.predict(standardise(states[held_out])[None])[0, 0] == classes[held_out]
        best = penalties[int(right.mean(1).argmax())]
    standardise, regressions = fitted(np.ones(len(train), bool), [best])
    gradient = float(regressions.gradients[0, 0, 0])
    predicted = [names[regressions.predict(standardise(test.astype(np.float64))[None])[0, 0, 0]] for test in tests]
    return [Fitted(classes, best, gradient, gradient <= tolerance) for classes in predicted]
