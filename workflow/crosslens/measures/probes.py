"""A linear probe trained until it converges, and its controls."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class Fitted:
    """Predictions of a probe on its test items, and how its fit ended."""

    predicted: np.ndarray  # (n_test,)
    penalty: float  # C that validation chose
    gradient: float  # largest component of the objective's gradient where the fit ended
    converged: bool  # whether that is at most the tolerance


def split_by_text(texts: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Mask of about `share` of the items, by whole texts, so that words of one sentence stay together."""
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
    iterations: int = 1000,
) -> list[Fitted]:
    """Multinomial logistic regression on standardised states, trained to convergence; predictions for each test set.

    train (n, d), truth (n,) classes, texts (n,) sentence of each word. C is chosen on a fifth of the sentences when there are
    several penalties. A fit has converged where no component of the gradient is above `tolerance`; float64, since in float32 it
    stops at 1e-5 to 1e-4, and by Newton steps, since states after training are badly conditioned.
    """

    def fit(rows: np.ndarray, penalty: float):  # type: ignore[no-untyped-def]
        solver = LogisticRegression(C=penalty, solver="newton-cg", max_iter=iterations, tol=tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stopped early is in the result
            return make_pipeline(StandardScaler(), solver).fit(states[rows], truth[rows])

    states, everything = train.astype(np.float64), np.ones(len(train), bool)
    best = penalties[0]
    if len(penalties) > 1:
        held_out = split_by_text(texts, 0.2, seed)
        best = max(penalties, key=lambda penalty: fit(~held_out, penalty).score(states[held_out], truth[held_out]))
    model = fit(everything, best)
    gradient = _largest_gradient(model[0].transform(states), truth, model[1])
    return [Fitted(model.predict(test), best, gradient, gradient <= tolerance) for test in tests]


def _largest_gradient(states: np.ndarray, truth: np.ndarray, model: LogisticRegression) -> float:
    """Largest component, in absolute value, of the gradient of mean cross entropy + |weights|^2 / (2 n C); states (n, d)."""
    errors = model.predict_proba(states) - (truth[:, None] == model.classes_)
    errors = errors[:, -len(model.coef_) :]  # of two classes one has weights
    weights = errors.T @ states / len(states) + model.coef_ / (len(states) * model.C)
    return float(max(np.abs(weights).max(), np.abs(errors.mean(axis=0)).max()))


def spelling_probe(train: Sequence[str], truth: np.ndarray, test: Sequence[str]) -> np.ndarray:
    """Classes from the spelling alone: naive Bayes on character 1- to 3-grams of the word; what an encoder has to beat."""
    model = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), lowercase=False), MultinomialNB(alpha=0.1))
    return np.asarray(model.fit(train, truth).predict(test))
