"""CKA of a reference language's sentences with their translations, by layer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.corpora.treebanks import document
from crosslens.encoding.stored_states import by_language, read_layers
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.cka import LENGTH_OUT, OURS, Similarity, compare
from crosslens.measures.shared.parallel import lengths
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.alignment import FEWEST, length_out


@dataclass(frozen=True)
class WithoutLength(Sequence[np.ndarray]):
    """States of n sentences, K matrices (n, d), with the effect of sentence length removed; computed when a layer is read.

    Sentences of the same length are alike in any encoder: random weights have a CKA of 0.4, nearly all of it due to length.
    """

    states: Sequence[np.ndarray]
    sizes: np.ndarray  # (n,) number of subwords of each sentence

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, layer: Any) -> Any:
        return length_out(self.states[layer].astype(np.float64), self.sizes)


def measure(subject: Subject, *, corpus: str, reference: str, draws: int) -> Iterator[dict[str, Any]]:
    """Yield CKA by language, layer and definition, and its baseline from `draws` shuffled pairings.

    corpus: parallel texts, with the same sentence ids in all languages; intervals are over documents. reference: language that
    all others are compared with. Raises DataError if the sentences of a language differ from the reference's.
    """
    paths = by_language(subject.folder / corpus)
    ids, states = read_layers(paths[reference])
    blocks = np.unique([document(id) for id in ids], return_inverse=True)[1]
    translations = {language: _aligned(path, reference, ids) for language, path in paths.items() if language != reference}
    options: dict[str, Any] = {"draws": draws, "seed": subject.seed, "blocks": blocks, "threads": subject.threads}
    by_definition = compare(states, translations, **options)
    if len(ids) >= FEWEST:
        files = {language: subject.tokens[corpus] / f"{language}.test.parquet" for language in paths}
        rest = {
            code: WithoutLength(layers, lengths(files[code], ids)) for code, layers in {reference: states, **translations}.items()
        }
        by_definition[LENGTH_OUT] = compare(rest.pop(reference), rest, (OURS,), **options)[OURS]
    common = {"item": "similarity", "corpus": corpus, "split": "test"}
    yield from (common | record for record in _records(by_definition, [*translations], len(states)))


def _records(by_definition: Mapping[str, Similarity], languages: Sequence[str], layers: int) -> Iterator[dict[str, Any]]:
    """Yield the records of each definition, language and layer."""
    for definition, similarity in by_definition.items():
        for row, language in enumerate(languages):
            for layer in range(layers):
                place = {"language": language, "layer": layer, "definition": definition, "n": similarity.n}
                value, low, high = (float(part[row, layer]) for part in (similarity.value, similarity.low, similarity.high))
                yield place | {"measure": "cka", "value": value, "low": low, "high": high}
                yield place | {"measure": "cka floor", "value": float(similarity.floor[row, layer])}


def _aligned(path: Path, reference: str, ids: list[str]) -> list[np.ndarray]:
    """Return the states of a language at each layer, (n, d) each.

    Raises DataError if its sentences are not those of the reference, in the same order.
    """
    own_ids, states = read_layers(path)
    if own_ids != ids:
        different = ", ".join(sorted(set(own_ids) ^ set(ids))[:3]) or "in another order"
        raise DataError(
            f"{path}: expected translations of the sentences of {reference}, with the same ids, found others ({different}): name "
            "parallel treebanks, or remove the language"
        )
    return states
