"""Accuracy of converged linear probes that tell the language of a word from its states, and their controls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from crosslens.encoding.drawn import Drawn
from crosslens.encoding.stored import States, read
from crosslens.measures.subject import Subject
from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM, PROBE_WITHIN
from crosslens.numerics.f1 import accuracy, token_counts
from crosslens.numerics.intervals import Sample, score_interval
from crosslens.numerics.logistic import Regressions, fit

READS = ("states",)


def measure(
    subject: Subject, *, target: str, paragraphs: str, train_words: int, test_words: int, penalties: Sequence[float],
    tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy on the words of `target` and of `paragraphs` of probes trained on either, and on random labels.

    train_words, test_words: numbers of words a language; probes within `target` are tested on the share test_words /
    (train_words + test_words) of its texts.
    """
    states = {corpus: read(subject.folder / corpus) for corpus in (target, paragraphs)}
    share = test_words / (train_words + test_words)
    probe = partial(logistic_probe, penalties=penalties, tolerance=tolerance, seed=subject.seed)
    for corpus, record in probe_records(states[target], states[paragraphs], probe, share, subject.seed):
        yield record | {"corpus": {"target": target, "paragraphs": paragraphs}[corpus]}


def probe_records(
    target: States, paragraphs: States, probe: Any, share: float, seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the corpus of the test words ("target" or "paragraphs") and a record of each probe.

    probe: `logistic_probe` with its settings. share: fraction of the texts of `target` that is held out.
    """
    train, test = (paragraphs.take(paragraphs.random & (paragraphs.splits == split)) for split in ("train", "test"))
    target = target.take(target.random)
    held_out = split_by_text(target.texts, share, seed)
    inside, outside = target.take(~held_out), target.take(held_out)
    tests = [outside.vectors, test.vectors]
    across = probe(train.vectors, train.languages, train.texts, tests)
    within = probe(inside.vectors, inside.languages, inside.texts, [outside.vectors])
    shuffled = np.random.default_rng(seed).permutation(train.languages)
    random = probe(
        train.vectors, shuffled, train.texts, tests, penalties=[across[0].penalty]
    )  # the penalty cannot be selected by random labels
    for corpus, definition, fitted, words in (
        ("target", PROBE_ACROSS, across[0], outside),
        ("paragraphs", PROBE_ACROSS, across[1], test),
        ("target", PROBE_WITHIN, within[0], outside),
        ("target", PROBE_RANDOM, random[0], outside),
        ("paragraphs", PROBE_RANDOM, random[1], test),
    ):
        fit_record = {"penalty": fitted.penalty, "gradient": fitted.gradient, "converged": fitted.converged}
        yield corpus, {"measure": "probe", "definition": definition} | fit_record | accuracy_of(fitted.predicted, words)


def accuracy_of(predicted: np.ndarray, words: Drawn) -> dict[str, Any]:
    """Return part of a record: the share of correctly classified words with its interval over texts. predicted: (n,)."""
    names, gold = np.unique(words.languages, return_inverse=True)
    number = {name: number for number, name in enumerate(names)}
    guess = np.array([number.get(name, len(names)) for name in predicted])
    ids = [text.partition("/")[2] for text in words.texts]  # the language's prefix is dropped
    counts = token_counts(gold, guess, np.arange(len(gold)), len(gold), len(names) + 1)
    value, low, high = score_interval(counts, accuracy, Sample.of(ids, words.languages))
    return {"item": "language", "language": "all", "split": "test", "value": value, "low": low, "high": high, "n": len(gold)}


@dataclass(frozen=True)
class Fitted:
    """Predictions of a probe on its test items, and the convergence of its fit."""

    predicted: np.ndarray  # (n_test,)
    penalty: float  # C selected by validation
    gradient: float  # largest component of the objective's gradient where the fit ended
    converged: bool  # whether the gradient is at most the tolerance


def split_by_text(texts: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a mask of about `share` of the items, (n,) bool, by whole texts, so that words of one text stay together."""
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

    train: (n, d); truth: (n,) classes; texts: (n,) text of each word; tests: (m, d) each. penalties: values of C; among several,
    the one that is best on a fifth of the texts is used. A fit has converged if no component of the gradient exceeds
    `tolerance`; it runs in float64, since in float32 the gradient stays at 1e-5 to 1e-4.
    """
    states, (names, classes) = train.astype(np.float64), np.unique(truth, return_inverse=True)

    def fitted(rows: np.ndarray, strengths: Sequence[float]) -> tuple[np.ndarray, np.ndarray, Regressions]:
        mean, scale = standardisation(states[rows])
        targets = np.repeat(classes[None, None, rows], len(strengths), 1)
        return mean, scale, fit(((states[rows] - mean) / scale)[None], targets, penalties=strengths, tolerance=tolerance)

    best = penalties[0]
    if len(penalties) > 1:
        held_out = split_by_text(texts, 0.2, seed)
        mean, scale, tried = fitted(~held_out, penalties)
        right = tried.predict(((states[held_out] - mean) / scale)[None])[0, 0] == classes[held_out]
        best = penalties[int(right.mean(1).argmax())]
    mean, scale, regressions = fitted(np.ones(len(train), bool), [best])
    gradient = float(regressions.gradients[0, 0, 0])
    predicted = [names[regressions.predict(((test.astype(np.float64) - mean) / scale)[None])[0, 0, 0]] for test in tests]
    return [Fitted(classes, best, gradient, gradient <= tolerance) for classes in predicted]


def standardisation(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each dimension, (d,) each; the deviation is 1 where a dimension is constant.

    The numbers are those of scikit-learn's StandardScaler, bit for bit, without the package, which is not there where encoders
    run. states: (n, d) float64.
    """
    n, precision = len(states), np.finfo(np.float64).eps
    mean = states.sum(0) / n
    distances = states - mean
    variance = ((distances**2).sum(0) - distances.sum(0) ** 2 / n) / n
    constant = variance <= n * precision * variance + (n * mean * precision) ** 2
    return mean, np.where(constant, 1.0, np.sqrt(variance))
