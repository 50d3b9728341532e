"""Probes and language subspaces with the contract of scikit-learn's estimators: X (n, d) states, y (n,) classes or languages."""

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from crosslens.jobs.errors import DataError
from crosslens.measures.subspaces import METHODS
from crosslens.numerics.logistic import fit
from crosslens.numerics.probe import Standardisation
from crosslens.numerics.statistics import Statistics


class Probe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The workflow's logistic-regression probe on standardised states, trained to convergence, with one penalty (C)."""

    def __init__(self, penalty: float = 1.0, tolerance: float = 1e-6) -> None:
        self.penalty, self.tolerance = penalty, tolerance

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the probe until no component of the gradient exceeds the tolerance; warn if that is not reached."""
        if not self.penalty > 0:
            raise DataError(f"Probe: expected a penalty above 0, found {self.penalty}")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.standardise_ = Standardisation.of(X)
        states, targets = self.standardise_(X)[None], numbers[None, None]
        self.regressions_ = fit(states, targets, penalties=self.penalty, tolerance=self.tolerance)
        if (gradient := self.regressions_.gradients.max()) > self.tolerance:
            message = f"Probe: expected a gradient of at most {self.tolerance:g}, found {gradient:g}; raise the tolerance"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the logits of k classes, (m, k); for two classes, only those of the second, (m,)."""
        check_is_fitted(self)
        states = self.standardise_(validate_data(self, X, dtype=np.float64, reset=False))
        logits: np.ndarray = self.regressions_.logits(states[None])[0, 0, 0].numpy()
        return logits[0] if len(logits) == 1 else logits.T

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each state, (m, k)."""
        logits = self.decision_function(X)
        probabilities: np.ndarray = softmax(logits, 1) if logits.ndim == 2 else np.stack([expit(-logits), expit(logits)], 1)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each state, (m,)."""
        logits = self.decision_function(X)
        classes: np.ndarray = self.classes_[logits.argmax(1) if logits.ndim == 2 else (logits > 0).astype(int)]
        return classes


class LanguageSubspace(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Directions along which languages differ, fitted by one of METHODS.

    `subspace_`: the directions. `languages_`: the languages. `means_`: their mean states, in the same order.
    """

    def __init__(self, method: str = "densray") -> None:
        self.method = method

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the subspace to states X of languages y; each language counts once, whatever the number of its states."""
        if self.method not in METHODS:
            raise DataError(f"LanguageSubspace: expected a method of {', '.join(METHODS)}, found {self.method!r}")
        X, y = validate_data(self, X, y, ensure_min_samples=2)
        statistics = Statistics(X.shape[1])
        for language in np.unique(y):
            statistics.update(X[y == language], str(language))
        self.languages_, self.means_, self.subspace_ = statistics.languages, statistics.means, METHODS[self.method](statistics)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the states' coordinates along the directions, relative to the centre of the subspace, (m, rank)."""
        check_is_fitted(self)
        return self.subspace_.coordinates(validate_data(self, X, reset=False), centred=True)
