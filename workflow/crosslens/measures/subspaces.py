"""Subspaces in which the hidden states of languages differ, by layer and method; an artefact that trainings and probes read."""

from collections.abc import Iterator, Sequence
from typing import Any

from crosslens.measures.given import Given
from crosslens.states.files import layers, read_random
from crosslens.subspaces import files
from crosslens.subspaces.densray import DensRay

READS = ("states",)
SCHEMA = files.SCHEMA
"""A row a layer and method in the place of records."""


def measure(given: Given, *, corpus: str, split: str, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row of SCHEMA for each layer that is stored of a corpus, from its evenly drawn words of a split.

    One language's states at one layer are in memory at a time.
    """
    folder = given.folder / corpus
    paths = sorted(folder.glob("*.parquet"))
    for layer in layers(folder):
        for method in methods:
            fitter = METHODS[method]()
            sizes = []
            for path in paths:
                states = read_random(path, layer, split)
                fitter.update(states, path.stem)
                sizes.append(len(states))
            yield {"layer": layer, "method": method, "languages": [p.stem for p in paths], "n": sizes} | fitter.fit()


METHODS = {"densray": DensRay}
