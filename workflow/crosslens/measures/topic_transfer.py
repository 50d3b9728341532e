"""Accuracy of topic classification in other languages, by layer: probes of frozen states learn from English only."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import read
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.parallel import FORMULA, NOT_MEASURED, SHUFFLED_PAIRS, Parallel, mean_over_blocks
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.f1 import macro_f1, overall, token_counts
from crosslens.numerics.halves import blocks, centred, halves
from crosslens.numerics.linear import leace
from crosslens.numerics.probe import Fitted, convergence, logistic_probe
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.streams import stream

RAW, CENTRED, ERASED, OFFICIAL, MACRO_F1 = "raw", "centred", "erased", "official split", "macro F1"


def measure(
    subject: Subject, *, corpus: str, training: str, source: str, block: int, penalties: list[float], tolerance: float
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy in each language at each layer; the `item` of a baseline's record names the baseline.

    Probes are trained on each half of the articles in turn and tested on the other. For the official split they are trained on
    all of `training`. If sentences have no topics, or too few to learn from, a record says why nothing was measured.

    corpus: parallel test sentences with topics. training: sentences in `source` with topics and the same numbering. block:
    length of a block in the numbering of sentences. penalties, tolerance: of `logistic_probe`.
    """
    parallel = Parallel.read(subject.folder / corpus, block)
    common = {"corpus": corpus, "split": "test"}
    options = {"penalties": penalties, "tolerance": tolerance, "seed": subject.seed}
    try:
        records = list(_of_layers(parallel, subject.folder, training, source, block, options))
    except DataError as error:
        records = [{"measure": "topic", "language": "all", "definition": NOT_MEASURED, "item": str(error)}]
    yield from (common | record for record in records)


def _of_layers(
    parallel: Parallel, folder: Path, training: str, source: str, block: int, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the records of all layers and the share of the largest topic; arguments as for `measure` and `of_layer`.

    Raises DataError if sentences have no topics, or those of a half have fewer than two.
    """
    number = parallel.number(source)
    for layer, states in zip(parallel.layers, parallel.states, strict=True):
        train = read(folder / training, layer)
        train = train.take((train.languages == source) & np.isfinite(train.vectors).all(1))
        if not train.has_labels() or not (parallel.labels != "").all():
            raise DataError(f"{folder}: expected sentences with topics in {training} and the parallel texts, found none")
        ids = [text.partition("/")[2] for text in train.texts]
        english = Training(train.vectors.astype(np.float64), train.labels, blocks(ids, block), halves(ids, block))
        for record in of_layer(parallel, states.astype(np.float64), english, number, options):
            yield {"layer": layer} | record
    share = max(np.unique(parallel.labels, return_counts=True)[1]) / len(parallel.labels)
    formula = {"definition": RAW, "item": FORMULA, "value": float(share), "n": len(parallel.labels)}
    yield {"measure": "topic", "language": "all"} | formula


@dataclass(frozen=True)
class Training:
    """m sentences that probes learn topics from."""

    states: np.ndarray  # (m, d)
    topics: np.ndarray  # (m,)
    blocks: np.ndarray  # (m,) number of each sentence's block of neighbouring sentences
    half: np.ndarray  # (m,) 0 or 1, the same halves as those of the parallel sentences


def of_layer(
    parallel: Parallel, states: np.ndarray, training: Training, source: int, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the records of a layer.

    states: (K, n, d), of the parallel sentences. source: index of the source language. options: of `logistic_probe`.
    """
    languages, n, width = states.shape
    predictions = {name: np.empty((languages, n), object) for name in (RAW, CENTRED, ERASED, SHUFFLED_PAIRS)}
    generator = np.random.default_rng(stream(options["seed"], "topics"))
    moved, fits = centred(states, parallel.half), []
    for half in (0, 1):
        chosen, tested = training.half == half, parallel.half != half
        vectors, topics, groups = training.states[chosen], training.topics[chosen], training.blocks[chosen]
        mean = states[source, ~tested].mean(0)
        erase = _eraser(states[:, ~tested], parallel.languages)
        for name, train, test, labels in (
            (RAW, vectors, states, topics),
            (CENTRED, vectors - mean, moved, topics),
            (ERASED, erase(vectors), erase(states.reshape(-1, width)).reshape(states.shape), topics),
            (SHUFFLED_PAIRS, vectors, states, generator.permutation(topics)),
        ):
            (fitted,) = logistic_probe(train, labels, groups, [test[:, tested].reshape(-1, width)], **options)
            predictions[name][:, tested] = fitted.predicted.reshape(languages, -1)
            fits.append(fitted)
    (official,) = logistic_probe(training.states, training.topics, training.blocks, [states.reshape(-1, width)], **options)
    predictions[OFFICIAL] = official.predicted.reshape(languages, n)
    fits.append(official)
    yield from ({"measure": "topic"} | record for record in _records(parallel, predictions, source, fits))


def _records(parallel: Parallel, predictions: dict[str, np.ndarray], source: int, fits: list[Fitted]) -> Iterator[dict[str, Any]]:
    of_fits = convergence(fits)
    names, gold = np.unique(parallel.labels, return_inverse=True)
    right = {name: (values == parallel.labels).astype(float) for name, values in predictions.items()}
    for number, language in enumerate(parallel.languages):
        for name, outcome in right.items():
            place = {"language": language, "definition": RAW if name == SHUFFLED_PAIRS else name} | of_fits
            floor = {"item": SHUFFLED_PAIRS} if name == SHUFFLED_PAIRS else {}
            yield place | mean_over_blocks(outcome[number], parallel.blocks) | floor
        classes = np.searchsorted(names, predictions[RAW][number].astype(str))
        counts = token_counts(gold, classes, np.arange(len(gold)), len(gold), len(names) + 1)
        yield {"language": language, "definition": MACRO_F1, "value": float(macro_f1(overall(counts), "true")), "n": len(gold)}
        if number != source:
            gap = right[RAW][source] - right[RAW][number]
            yield {"language": language, "definition": "gap"} | mean_over_blocks(gap, parallel.blocks, score=False)


def _eraser(states: np.ndarray, languages: list[str]) -> Any:
    """Return a function that removes from states what LEACE, fitted on `states` (K, m, d), finds of the language."""
    statistics = Statistics(states.shape[-1])
    for language, vectors in zip(languages, states, strict=True):
        statistics.update(vectors, language)
    subspace = leace(statistics)
    patterns = statistics.total @ subspace.filters / statistics.sizes.sum()
    return lambda vectors: vectors - ((vectors - subspace.centre) @ subspace.filters) @ patterns.T
