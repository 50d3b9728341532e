"""How well a linear probe that is trained until it converges tells the language of a word (of a text), and its controls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from crosslens.encoding.drawn import Drawn
from crosslens.encoding.stored import States, read
from crosslens.measures.given import Given
from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM, PROBE_WITHIN
from crosslens.numerics.f1 import accuracy, token_counts
from crosslens.numerics.intervals import Sample, score_interval
from crosslens.numerics.logistic import Regressions, fit

READS = ("states",)


def measure(
    given: Given, *, target: str, paragraphs: str, train_words: int, test_words: int, penalties: Sequence[float],
    tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Languages of the words of `target`, and of `paragraphs`, by probes that learned on either, and on random labels.

    train_words, test_words: a language, of which probes within `target` keep that share to be tested on.
    """
    states = {corpus: read(given.folder / corpus) for corpus in (target, paragraphs)}
    share = test_words / (train_words + test_words)
    probe = partial(logistic_probe, penalties=penalties, tolerance=tolerance, seed=given.seed)
    for corpus, record in probe_records(states[target], states[paragraphs], probe, share, given.seed):
        yield record | {"corpus": {"target": target, "paragraphs": paragraphs}[corpus]}


def probe_records(
    target: States, paragraphs: States, probe: Any, share: float, seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """See `measure`: "target" or "paragraphs", the corpus of the words that are tested, and a record.

    probe: `logistic_probe` with its settings. share: of the texts of `target` that are held out.
    """
    train, test = (paragraphs.take(paragraphs.random & (paragraphs.splits == split)) for split in ("train", "test"))
    target = target.take(target.random)
    held_out = split_by_text(target.texts, share, seed)
    inside, outside = target.take(~held_out), target.take(held_out)
    tests = [outside.vectors, test.vectors]
    across = probe(train.vectors, train.languages, train.texts, tests)
    within = probe(inside.vectors, inside.languages, inside.texts, [outside.vectors])
    shuffled = np.random.default_rng(seed).permutation(train.languages)
    random = probe(train.vectors, shuffled, train.texts, tests, penalties=[across[0].penalty])  # no labels to choose by
    for corpus, definition, fitted, words in (
        ("target", PROBE_ACROSS, across[0], outside),
        ("paragraphs", PROBE_ACROSS, across[1], test),
        ("target", PROBE_WITHIN, within[0], outside),
        ("target", PROBE_RANDOM, random[0], outside),
        ("paragraphs", PROBE_RANDOM, random[1], test),
    ):
        ended = {"penalty": fitted.penalty, "gradient": fitted.gradient, "converged": fitted.converged}
        yield corpus, {"measure": "probe", "definition": definition} | ended | accuracy_of(fitted.predicted, words)


def accuracy_of(predicted: np.ndarray, words: Drawn) -> dict[str, Any]:
    """Part of a record: share of the words whose language was named, with its interval over texts. predicted (n,)."""
    names, gold = np.unique(words.languages, return_inverse=True)
    number = {name: number for number, name in enumerate(names)}
    guess = np.array([number.get(name, len(names)) for name in predicted])
    ids = [text.partition("/")[2] for text in words.texts]  # without the language
    counts = token_counts(gold, guess, np.arange(len(gold)), len(gold), len(names) + 1)
    value, low, high = score_interval(counts, accuracy, Sample.of(ids, words.languages))
    return {"item": "language", "language": "all", "split": "test", "value": value, "low": low, "high": high, "n": len(gold)}


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
) -> list[Fitted]:
    """Multinomial logistic regression on standardised states, trained to convergence; predictions for each test set.

    train (n, d), truth (n,) classes, texts (n,) sentence of each word. C is chosen on a fifth of the sentences when there are
    several penalties. A fit has converged where no component of the gradient is above `tolerance`; float64, since in float32 it
    stops at 1e-5 to 1e-4.
    """
    states, (names, classes) = train.astype(np.float64), np.unique(truth, return_inverse=True)

    def fitted(rows: np.ndarray, strengths: Sequence[float]) -> tuple[StandardScaler, Regressions]:
        scaler = StandardScaler().fit(states[rows])
        targets = np.repeat(classes[None, None, rows], len(strengths), 1)
        inside = scaler.transform(states[rows])[None]
        return scaler, fit(inside, targets, penalties=strengths, tolerance=tolerance)

    best = penalties[0]
    if len(penalties) > 1:
        held_out = split_by_text(texts, 0.2, seed)
        scaler, tried = fitted(~held_out, penalties)
        right = tried.predict(scaler.transform(states[held_out])[None])[0, 0] == classes[held_out]
        best = penalties[int(right.mean(1).argmax())]
    scaler, found = fitted(np.ones(len(train), bool), [best])
    gradient = float(found.gradients[0, 0, 0])
    predicted = [names[found.predict(scaler.transform(test.astype(np.float64))[None])[0, 0, 0]] for test in tests]
    return [Fitted(each, best, gradient, gradient <= tolerance) for each in predicted]
