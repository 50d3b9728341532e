"""Accuracy of probes that identify the language of a word from its states, and their controls."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from crosslens.encoding.samples import SampledWords
from crosslens.encoding.stored_states import States, read
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM, PROBE_WITHIN
from crosslens.numerics.f1 import accuracy, token_counts
from crosslens.numerics.intervals import Sample, score_interval
from crosslens.numerics.probe import logistic_probe, split_by_text


def measure(
    subject: Subject, *, target: str, paragraphs: str, train_words: int, test_words: int, penalties: Sequence[float],
    tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy on `target` and `paragraphs` of probes trained on `paragraphs`, on `target`, and on random labels.

    Probes trained on `target` are tested on `target` alone. The test words of `target` come from a held-out share of its texts,
    test_words / (train_words + test_words).

    train_words, test_words: numbers of words per language. penalties, tolerance: of `logistic_probe`.
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
    )  # random labels cannot select a penalty
    for corpus, definition, fitted, words in (
        ("target", PROBE_ACROSS, across[0], outside),
        ("paragraphs", PROBE_ACROSS, across[1], test),
        ("target", PROBE_WITHIN, within[0], outside),
        ("target", PROBE_RANDOM, random[0], outside),
        ("paragraphs", PROBE_RANDOM, random[1], test),
    ):
        yield corpus, {"measure": "probe", "definition": definition} | fitted.convergence() | accuracy_of(fitted.predicted, words)


def accuracy_of(predicted: np.ndarray, words: SampledWords) -> dict[str, Any]:
    """Return part of a record: the share of correctly classified words with its interval over texts. predicted: (n,)."""
    names, gold = np.unique(words.languages, return_inverse=True)
    number = {name: number for number, name in enumerate(names)}
    guess = np.array([number.get(name, len(names)) for name in predicted])
    ids = [text.partition("/")[2] for text in words.texts]  # without the language's prefix, so that translations share an id
    counts = token_counts(gold, guess, np.arange(len(gold)), len(gold), len(names) + 1)
    value, low, high = score_interval(counts, accuracy, Sample.of(ids, words.languages))
    return {"item": "language", "language": "all", "split": "test", "value": value, "low": low, "high": high, "n": len(gold)}
