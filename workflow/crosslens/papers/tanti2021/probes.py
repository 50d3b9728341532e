"""tanti2021: converged probes of the language of a word (nli: of a text), and their controls (beside tables 1 and 2)."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from crosslens.config.tanti2021 import Probe
from crosslens.measures.f1 import accuracy, token_counts
from crosslens.measures.intervals import bootstrap
from crosslens.measures.probes import logistic_probe, spelling_probe, split_by_text
from crosslens.papers.tanti2021.items import ACCURACY, PROBE, PROBE_INSIDE, PROBE_RANDOM
from crosslens.states.files import States


def probe_records(target: States, wiki: States, settings: Probe, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Language by converged probes: across corpora, within the target corpus, and on random labels."""
    learn, paragraphs = wiki.take(wiki.random & (wiki.splits == "train")), wiki.take(wiki.random & (wiki.splits == "test"))
    target = target.take(target.random)
    share = settings.test_words / (settings.train_words + settings.test_words)
    held_out = split_by_text(target.texts, share, seed)
    inside, outside = target.take(~held_out), target.take(held_out)
    probe = partial(logistic_probe, penalties=settings.penalties, tolerance=settings.tolerance, seed=seed)
    across = probe(learn.vectors, learn.languages, learn.texts, [outside.vectors, paragraphs.vectors])
    within = probe(inside.vectors, inside.languages, inside.texts, [outside.vectors])
    shuffled = np.random.default_rng(seed).permutation(learn.languages)
    tests = [outside.vectors, paragraphs.vectors]
    random = probe(learn.vectors, shuffled, learn.texts, tests, penalties=[across[0].penalty])  # no labels to choose by
    for item, definition, fitted, test in (
        ("language, target", PROBE, across[0], outside),
        ("language, wiki", PROBE, across[1], paragraphs),
        ("language, target", PROBE_INSIDE, within[0], outside),
        ("language, target", PROBE_RANDOM, random[0], outside),
        ("language, wiki", PROBE_RANDOM, random[1], paragraphs),
    ):
        ended = {"penalty": fitted.penalty, "gradient": fitted.gradient, "converged": fitted.converged}
        yield _accuracy_record(item, definition, fitted.predicted, test, resamples, seed) | ended


def spelling_records(target: States, wiki: States, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Language from spelling alone, trained on paragraphs: no encoder at all."""
    learn, paragraphs = wiki.take(wiki.random & (wiki.splits == "train")), wiki.take(wiki.random & (wiki.splits == "test"))
    for item, test in (("language, target", target.take(target.random)), ("language, wiki", paragraphs)):
        predicted = spelling_probe(learn.words.tolist(), learn.languages, test.words.tolist())
        yield _accuracy_record(item, ACCURACY, predicted, test, resamples, seed)


def _accuracy_record(
    item: str, definition: str, predicted: np.ndarray, test: States, resamples: int, seed: int
) -> dict[str, Any]:
    names, gold = np.unique(test.languages, return_inverse=True)
    known = {name: number for number, name in enumerate(names)}
    guess = np.array([known.get(name, len(names)) for name in predicted])
    texts, rows = np.unique(test.texts, return_inverse=True)
    counts = token_counts(gold, guess, rows, len(texts), len(names) + 1)
    value, low, high = bootstrap(counts, accuracy, resamples, seed)
    return {"item": item, "language": "all", "split": "test", "measure": "probe", "definition": definition,
            "value": value, "low": low, "high": high, "n": len(gold)}  # fmt: skip
