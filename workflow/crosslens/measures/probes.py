"""A linear probe trained until it converges, and its controls."""

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
    """Predictions of a probe on its test items."""

    predicted: np.ndarray  # (n_test,)
    penalty: float  # C that validation chose
    converged: bool


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
    seed: int,
    iterations: int = 2000,
) -> list[Fitted]:
    """Multinomial logistic regression on standardised states, trained to convergence; predictions for each test set.

    train (n, d), truth (n,) classes, texts (n,) sentence of each word. C is chosen on a fifth of the sentences when there are
    several penalties.
    """

    def fit(rows: np.ndarray, penalty: float):  # type: ignore[no-untyped-def]
        model = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=iterations, tol=1e-3))
        return model.fit(train[rows], truth[rows])

    everything = np.ones(len(train), bool)
    best = penalties[0]
    if len(penalties) > 1:
        held_out = split_by_text(texts, 0.2, seed)
        best = max(penalties, key=lambda penalty: fit(~held_out, penalty).score(train[held_out], truth[held_out]))
    model = fit(everything, best)
    converged = bool(model[-1].n_iter_.max() < iterations)
    return [Fitted(model.predict(test), best, converged) for test in tests]


def spelling_probe(train: Sequence[str], truth: np.ndarray, test: Sequence[str]) -> np.ndarray:
    """Classes from the spelling alone: naive Bayes on character 1- to 3-grams of the word; what an encoder has to beat."""
    model = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), lowercase=False), MultinomialNB(alpha=0.1))
    return np.asarray(model.fit(train, truth).predict(test))
