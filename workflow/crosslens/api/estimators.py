"""Probes and language subspaces with the contract of scikit-learn's estimators: X (n, d) states, y (n,) classes or languages."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from crosslens.jobs.errors import DataError
from crosslens.measures.subspaces import METHODS
from crosslens.numerics.probe import fit_probe
from crosslens.numerics.statistics import Statistics


class Probe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Multinomial logistic regression on standardised states, trained to convergence in float64.

    penalties: values of C, as LogisticRegression's; among several, the best on a fifth of the groups is used. tolerance: largest
    component of the gradient of a fit that has converged. seed: of the draw of that fifth.
    """

    def __init__(self, penalties: Sequence[float] = (1.0,), tolerance: float = 1e-6, seed: int = 0) -> None:
        self.penalties, self.tolerance, self.seed = penalties, tolerance, seed

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the probe. groups: (n,) such as the text of each word, which are not divided by the draw; None: each its own."""
        if not len(self.penalties) or not all(penalty > 0 for penalty in (*self.penalties, self.tolerance)):
            raise DataError(f"Probe: expected penalties and a tolerance above 0, found {self.penalties} and {self.tolerance}")
        X, y = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        groups = np.arange(len(y)) if groups is None else np.asarray(groups)
        check_consistent_length(X, groups)
        self.probe_ = fit_probe(X, y, groups, penalties=self.penalties, tolerance=self.tolerance, seed=self.seed)
        self.classes_ = self.probe_.classes
        if self.probe_.gradient > self.tolerance:
            message = f"expected a gradient of at most {self.tolerance:g}, found {self.probe_.gradient:g}"
            warnings.warn(f"Probe: {message}: raise the tolerance, or lower the penalties", ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return logits, (m, k), or those of the second of two classes, (m,)."""
        check_is_fitted(self)
        logits = self.probe_.logits(validate_data(self, X, reset=False))
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (m, k)."""
        logits = self.decision_function(X)
        probabilities: np.ndarray = softmax(logits, 1) if logits.ndim == 2 else np.stack([expit(-logits), expit(logits)], 1)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class, (m,)."""
        check_is_fitted(self)
        return self.probe_.predict(validate_data(self, X, reset=False))


class LanguageSubspace(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Directions along which states of different languages differ, the most telling first.

    method: "densray", "means" (principal axes of the languages' means), "lda", "leace" or "lsar". After `fit`, `subspace_` has
    `eigenvalues`, the orthonormal `basis` (d, rank) and the `centre` (d,); `languages_` and `means_` (languages, d) are the
    language means, each counted once whatever the number of its states.
    """

    def __init__(self, method: str = "densray") -> None:
        self.method = method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the subspace to states X of languages y."""
        return self._update(X, y, first=True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Add further states, so that not all need to be in memory. The first call needs two languages."""
        return self._update(X, y, first=not hasattr(self, "statistics_"))

    def _update(self, X: Any, y: Any, *, first: bool) -> Self:
        if self.method not in METHODS:
            raise DataError(f"LanguageSubspace: expected a method of {', '.join(METHODS)}, found {self.method!r}")
        X, y = validate_data(self, X, y, reset=first, ensure_min_samples=2 if first else 1)
        if first:
            self.statistics_ = Statistics(X.shape[1])
        for language in np.unique(y):
            self.statistics_.update(X[y == language], str(language))
        self.subspace_ = METHODS[self.method](self.statistics_)
        self.languages_, self.means_ = self.statistics_.languages, self.statistics_.means
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the states' coordinates along the directions, around the centre: (m, rank)."""
        check_is_fitted(self)
        return self.subspace_.coordinates(validate_data(self, X, reset=False), centred=True)
