"""Hidden states of parallel sentences in several languages, and means over sentences with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.compute as pc

from crosslens.encoding.stored_states import by_language, layers, read_layers
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from crosslens.numerics.halves import blocks, halves
from crosslens.numerics.intervals import jackknife
from crosslens.numerics.streams import stream

NOT_FINITE = "its states are not finite numbers; extract them in float32"
NOT_MEASURED = "not measured"  # definition of a record without a value, whose item is the reason
SHUFFLED_PAIRS, FORMULA = "shuffled pairs", "formula"  # baselines: the items of their records; a measure itself has none


@dataclass(frozen=True)
class Parallel:
    """States of n sentences in K languages, in alphabetical order, at the stored layers."""

    languages: list[str]  # (K,)
    ids: list[str]  # (n,) sorted by block
    labels: np.ndarray  # (n,) topic, '' if the corpus has none
    blocks: np.ndarray  # (n,) number of each sentence's block of neighbouring sentences
    half: np.ndarray  # (n,) 0 or 1, the half that each sentence's block is in
    layers: list[int]
    states: list[np.ndarray]  # states at each layer, (K, n, d) float32
    left_out: Sequence[dict[str, str]] = ()  # a record without a value for each language that cannot be measured

    @classmethod
    def read(cls, folder: Path, block: int) -> Self:
        """Return the states of a corpus from its folder. block: length of a block in the numbering of sentences.

        Languages whose states are not finite are left out. Raises DataError if the sentences of languages differ, their ids are
        not whole numbers or are all in one half, or fewer than two languages are left.
        """
        paths = by_language(folder)
        pairs = {language: read_layers(path) for language, path in paths.items()}
        ids = next(iter(pairs.values()))[0]
        for language, (own_ids, _) in pairs.items():
            if own_ids != ids:
                different = ", ".join(sorted({*own_ids} ^ {*ids})[:3]) or "in another order"
                raise DataError(
                    f"{paths[language]}: expected the sentences of {next(iter(paths))}, with the same ids, found others "
                    f"({different}): name parallel texts, or remove the language"
                )
        depths, groups = layers(folder), blocks(ids, block)
        order = np.argsort(groups, kind="stable")  # makes each block a run of sentences, which the jackknife of CKA leaves out
        languages = [language for language, (_, parts) in pairs.items() if all(np.isfinite(part).all() for part in parts)]
        refused = {"measure": "neighbours", "definition": NOT_MEASURED, "item": NOT_FINITE}
        left_out = [refused | {"language": language} for language in paths if language not in languages]
        if len(languages) < 2:
            raise DataError(f"{folder}: expected finite states in two languages or more, found others; extract them in float32")
        states = [np.stack([pairs[language][1][number][order] for language in languages]) for number in range(len(depths))]
        labels = parquet.read(next(iter(paths.values())), columns=["label"])["label"].to_numpy(zero_copy_only=False)
        sentences = [ids[row] for row in order]
        return cls(languages, sentences, labels[order], groups[order], halves(sentences, block), depths, states, left_out)

    def number(self, language: str) -> int:
        """Return the index of a language among the languages. Raises DataError if it is missing."""
        if language not in self.languages:
            raise DataError(
                f"parallel texts: expected {language} among the languages with finite states, found {', '.join(self.languages)}"
            )
        return self.languages.index(language)

    def orders(self, draws: int, seed: int) -> np.ndarray:
        """Return random orders of the sentences, (draws, n), to shuffle pairs of translations."""
        generator = np.random.default_rng(stream(seed, "pairs"))
        return np.stack([generator.permutation(len(self.ids)) for _ in range(draws)])


def lengths(file: Path, ids: list[str]) -> np.ndarray:
    """Return the number of subwords of each sentence, including special ones, (n,), in the order of ids.

    file: tokens of a language. Raises DataError if a sentence is missing.
    """
    table = parquet.read(file, columns=["id", "subwords"])
    sizes = dict(zip(table["id"].to_pylist(), pc.list_value_length(table["subwords"]).to_pylist(), strict=True))
    if missing := [id for id in ids if id not in sizes]:
        raise DataError(f"{file}: expected a row for each sentence, found none for {missing[0]}; make the tokens again")
    return np.array([sizes[id] for id in ids])


def mean_over_blocks(values: np.ndarray, blocks: np.ndarray, *, score: bool = True) -> dict[str, Any]:
    """Return part of a record: the mean of values of sentences (n,), its interval over blocks, and n.

    score: whether values are from 0 to 1; the interval then is too.
    """
    sums, sizes = np.bincount(blocks, values), np.bincount(blocks)
    without = (values.sum() - sums) / (len(values) - sizes)
    return estimate(float(values.mean()), without, len(values), score=score)


def estimate(value: float, without: np.ndarray, n: int, *, score: bool = True) -> dict[str, Any]:
    """Return part of a record: a value of n sentences and its interval by the jackknife.

    without: (blocks,), the value without each block. score: as for `mean_over_blocks`.
    """
    low, high = jackknife(value, without, n, score=score)
    return {"value": value, "low": float(low), "high": float(high), "n": n}
