"""CKA of a reference language's sentences with their translations, by layer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.corpora.treebanks import document
from crosslens.encoding.stored import by_language, read_layers
from crosslens.measures.cka import compare
from crosslens.measures.subject import Subject
from crosslens.runs.errors import DataError

READS = ("states",)


def measure(subject: Subject, *, corpus: str, reference: str, draws: int) -> Iterator[dict[str, Any]]:
    """Yield CKA by language, layer and definition, and its floor from `draws` shuffled pairings.

    corpus: parallel texts, whose sentences are aligned by their ids; the jackknife leaves out documents. reference: language with
    which all others are compared. Raises DataError if the sentences of a language differ from the reference's.
    """
    paths = by_language(subject.folder / corpus)
    ids, states = read_layers(paths[reference])
    blocks = np.unique([document(id) for id in ids], return_inverse=True)[1]
    translations = {language: _aligned(path, reference, ids) for language, path in paths.items() if language != reference}
    common = {"item": "similarity", "corpus": corpus, "split": "test"}
    by_definition = compare(states, translations, draws=draws, seed=subject.seed, blocks=blocks, threads=subject.threads)
    for definition, similarity in by_definition.items():
        for row, language in enumerate(translations):
            for layer in range(len(states)):
                place = common | {"language": language, "layer": layer, "definition": definition, "n": similarity.n}
                value, low, high = (float(part[row, layer]) for part in (similarity.value, similarity.low, similarity.high))
                yield place | {"measure": "cka", "value": value, "low": low, "high": high}
                yield place | {"measure": "cka floor", "value": float(similarity.floor[row, layer])}


def _aligned(path: Path, reference: str, ids: list[str]) -> list[np.ndarray]:
    """Return the states of a language, whose sentences must be those of the reference in the same order."""
    own_ids, states = read_layers(path)
    if own_ids != ids:
        different = ", ".join(sorted(set(own_ids) ^ set(ids))[:3]) or "in another order"
        raise DataError(
            f"{path}: expected translations of the sentences of {reference}, with the same ids, found others ({different}): name "
            "parallel treebanks, or remove the language"
        )
    return states
