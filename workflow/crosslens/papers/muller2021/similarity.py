"""muller2021: similarity of English and other languages under one model (table 4, figures 1 to 8)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.corpora.treebanks import document
from crosslens.errors import DataError
from crosslens.measures.cka import compare
from crosslens.states.files import read_layers


def similarity_records(folder: Path, reference: str, *, draws: int, seed: int, threads: int) -> Iterator[dict[str, Any]]:
    """CKA of a reference language's sentences with their translations, by language, layer and definition, and its floor.

    folder: states of parallel texts, LANGUAGE.parquet. Sentences are aligned by their ids; the jackknife leaves out documents.
    Raises DataError where a language has other sentences.
    """
    paths = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    ids, states = read_layers(paths[reference])
    blocks = np.unique([document(id) for id in ids], return_inverse=True)[1]

    others = {language: _aligned(path, reference, ids) for language, path in paths.items() if language != reference}
    common = {"item": "similarity", "corpus": folder.name, "split": "test"}
    for definition, found in compare(states, others, draws=draws, seed=seed, blocks=blocks, threads=threads).items():
        for row, language in enumerate(others):
            for layer in range(len(states)):
                place = common | {"language": language, "layer": layer, "definition": definition, "n": found.n}
                value, low, high = (float(of[row, layer]) for of in (found.value, found.low, found.high))
                yield place | {"measure": "cka", "value": value, "low": low, "high": high}
                yield place | {"measure": "cka floor", "value": float(found.floor[row, layer])}


def _aligned(path: Path, reference: str, ids: list[str]) -> list[np.ndarray]:
    """States of a language whose sentences are those of the reference, in the same order."""
    found, states = read_layers(path)
    if found != ids:
        odd = ", ".join(sorted(set(found) ^ set(ids))[:3]) or "in another order"
        raise DataError(
            f"{path}: not the sentences of {reference} ({odd}), translations with the same ids expected: name parallel "
            "treebanks, or leave the language out"
        )
    return states
