"""How often the sentence that is nearest to a moved one is its translation, by layer."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from crosslens.encoding.stored_states import by_language, layers, read_layers
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.f1 import Counts, accuracy
from crosslens.numerics.intervals import score_interval

DEFINITION = "nearest neighbour after the mean shift"


def measure(subject: Subject, *, corpus: str, reference: str) -> Iterator[dict[str, Any]]:
    """Accuracy by language and layer, from the reference language, with intervals over sentences.

    corpus: of parallel texts, whose sentences are aligned by their ids. Raises DataError where a language has other sentences.
    """
    folder = subject.folder / corpus
    ids, source = read_layers(folder / f"{reference}.parquet")
    for language, path in by_language(folder).items():
        if language == reference:
            continue
        found, target = read_layers(path)
        if found != ids:
            raise DataError(
                f"{path}: not the sentences of {reference}, translations with the same ids expected: name parallel treebanks"
            )
        for layer, vectors, translations in zip(layers(folder), source, target, strict=True):
            right = nearest_is_translation(vectors, translations).astype(np.float64)[:, None]
            counts = Counts(np.ones_like(right), np.ones_like(right), right)
            value, low, high = score_interval(counts, accuracy)
            yield {"item": "translation", "corpus": corpus, "language": language, "split": "test", "layer": layer,
                   "measure": "translation", "definition": DEFINITION, "value": value, "low": low, "high": high,
                   "n": len(ids)}  # fmt: skip


def nearest_is_translation(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whether the target nearest to each source, moved by the mean of all differences, is its translation, (n,) bool.

    source, target: (n, d), sentence vectors, translations in the same row; distances are Euclidean (Pires et al. 2019, 5.1).
    """
    moved = source + (target - source).mean(axis=0)
    nearest: np.ndarray = cdist(moved, target).argmin(axis=1) == np.arange(len(source))
    return nearest
