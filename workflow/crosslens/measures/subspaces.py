"""Subspaces in which the hidden states of languages differ, by layer and method, for training runs and probes to read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from crosslens.encoding import subspaces as files
from crosslens.encoding.stored_states import by_language, layers, read_random, width
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.densray import centroids, densray
from crosslens.numerics.linear import lda, leace, lsar
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace

SCHEMA = files.SCHEMA
"""Columns of the rows, one for each layer and method, which this kind yields instead of records."""
METHODS: Mapping[str, Callable[[Statistics], Subspace]] = {
    "densray": densray,
    "means": centroids,
    "lda": lda,
    "leace": leace,
    "lsar": lambda statistics: lsar(statistics, len(statistics.languages) - 1),
}


def measure(subject: Subject, *, corpus: str, split: str, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a row of SCHEMA for each stored layer of a corpus and each method, from the evenly sampled words of a split.

    One language's states at one layer are in memory at a time. Directions beyond the rank are random (`Subspace.completed`).
    """
    paths = by_language(subject.folder / corpus)
    for layer in layers(subject.folder / corpus):
        statistics = Statistics(width(next(iter(paths.values())), layer))
        for language, path in paths.items():
            statistics.update(read_random(path, layer, split), language)
        for method in methods:
            subspace = METHODS[method](statistics).completed(seed=subject.seed)
            yield {"layer": layer, "method": method, "n": statistics.sizes.astype(int).tolist()} | files.row(subspace)
