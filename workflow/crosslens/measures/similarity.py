"""CKA of a reference language's sentences with their translations, by layer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.corpora.treebanks import document
from crosslens.encoding.stored import by_language, read_layers
from crosslens.measures.cka import compare
from crosslens.measures.given import Given
from crosslens.runs.errors import DataError

READS = ("states",)


def measure(given: Given, *, corpus: str, reference: str, draws: int) -> Iterator[dict[str, Any]]:
    """CKA by language, layer and definition, and its floor, `draws` shuffled pairings.

    corpus: of parallel texts, whose sentences are aligned by their ids; the jackknife leaves out documents. Raises DataError
    where a language has other sentences.
    """
    paths = by_language(given.folder / corpus)
    ids, states = read_layers(paths[reference])
    blocks = np.unique([document(id) for id in ids], return_inverse=True)[1]
    others = {language: _aligned(path, reference, ids) for language, path in paths.items() if language != reference}
    common = {"item": "similarity", "corpus": corpus, "split": "test"}
    by_definition = compare(states, others, draws=draws, seed=given.seed, blocks=blocks, threads=given.threads)
    for definition, similarity in by_definition.items():
        for row, language in enumerate(others):
            for layer in range(len(states)):
                place = common | {"language": language, "layer": layer, "definition": definition, "n": similarity.n}
                value, low, high = (float(part[row, layer]) for part in (similarity.value, similarity.low, similarity.high))
                yield place | {"measure": "cka", "value": value, "low": low, "high": high}
                yield place | {"measure": "cka floor", "value": float(similarity.floor[row, layer])}


def _aligned(path: Path, reference: str, ids: list[str]) -> list[np.ndarray]:
    """States of a language whose sentences are those of the reference, in the same order."""
    own_ids, states = read_layers(path)
    if own_ids != ids:
        different = ", ".join(sorted(set(own_ids) ^ set(ids))[:3]) or "in another order"
        raise DataError(
            f"{path}: expected translations of the sentences of {reference}, with the same ids, found others ({different}): name "
            "parallel treebanks, or remove the language"
        )
    return states
