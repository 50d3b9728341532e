"""Coordinates of hidden states in language subspaces that were fitted on other words, by seed: the input of linear probes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import read_random, read_random_texts, width
from crosslens.jobs.errors import DataError
from crosslens.measures.subspaces import METHODS
from crosslens.numerics.inlp import inlp
from crosslens.numerics.intervals import mean_intervals, pairs_intervals
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.numerics.windows import Window

INLP = "inlp"
SHARE = 0.8  # share of the words, or of the texts, that probes learn from
INLP_ROUNDS, INLP_WORDS = 2, 300  # rounds of at most n - 1 directions; words per language that it is fitted on

States = Mapping[str, np.ndarray]
"""Language -> states or coordinates of m words, (m, d)."""
Words = Mapping[int, Mapping[str, np.ndarray | slice]]
"""Seed -> language -> indices among the evenly sampled words of a split."""


def words_of_seeds(paths: Mapping[str, Path], split: str, seeds: Sequence[int], share: float | None) -> Words:
    """Return the words of a split that each seed may read: all of them or, if `share` is None, those of its own texts.

    paths: language -> file of states. Texts are divided at random among the seeds, about as many for each. Raises DataError if a
    language has fewer texts than there are seeds.
    """
    if share is not None:
        return {seed: dict.fromkeys(paths, slice(None)) for seed in seeds}
    words: dict[int, dict[str, np.ndarray | slice]] = {seed: {} for seed in seeds}
    for language, path in paths.items():
        names, numbers = np.unique(read_random_texts(path, split), return_inverse=True)
        if len(names) < len(seeds):
            raise DataError(
                f"{path}: expected a {split} text for each of {len(seeds)} seeds, found {len(names)}; set a share of words"
            )
        places = np.random.default_rng(stream(0, "texts of seeds")).permutation(len(names)) % len(seeds)
        for place, seed in enumerate(seeds):
            words[seed][language] = np.flatnonzero(places[numbers] == place)
    return words


def subspaces(
    paths: Mapping[str, Path], layer: int, methods: Sequence[str], words: Words, share: float | None
) -> dict[int, dict[str, Subspace]]:
    """Return seed -> method -> subspace of all d directions, fitted on a random share of the words that the seed may read.

    The released code samples half of the words, once for all seeds and layers (liang2021: densray_lda.py, lines 61-64; no fit
    of a second seed, lines 72 and 88). Here each seed has its own sample, the same at all layers. One language is in memory at
    a time, and a few words of all languages for INLP.

    paths: language -> file of states. words: from `words_of_seeds` for train. share: fraction of these words; None: all of
    them.
    """
    sums = {seed: Statistics(width(next(iter(paths.values())), layer)) for seed in words}
    samples: dict[int, dict[str, np.ndarray]] = {seed: {} for seed in words}
    for language, path in paths.items():
        states = read_random(path, layer, "train")
        for seed in words:
            readable = states[words[seed][language]]
            order = np.random.default_rng(stream(seed, "fit", language)).permutation(len(readable))
            chosen = readable[order[: max(1, round((1 if share is None else share) * len(readable)))]]
            sums[seed].update(chosen, language)
            if INLP in methods:
                samples[seed][language] = chosen[:INLP_WORDS]
    return {
        seed: {
            method: (inlp(samples[seed], INLP_ROUNDS) if method == INLP else METHODS[method](sums[seed])).completed(seed=seed)
            for method in methods
        }
        for seed in words
    }


def held_out(paths: Mapping[str, Path], layer: int, words: Words) -> dict[int, dict[str, np.ndarray]]:
    """Return seed -> language -> states of words of test texts, on which no subspace was fitted, (m, d) float32 each.

    words: from `words_of_seeds` for test.
    """
    return _by_seed({language: read_random(path, layer, "test") for language, path in paths.items()}, words)


def held_out_texts(paths: Mapping[str, Path], words: Words) -> dict[int, dict[str, np.ndarray]]:
    """Return seed -> language -> id of the text of each word of `held_out`, (m,)."""
    return _by_seed({language: read_random_texts(path, "test") for language, path in paths.items()}, words)


def _by_seed(arrays: Mapping[str, np.ndarray], words: Words) -> dict[int, dict[str, np.ndarray]]:
    return {seed: {language: arrays[language][chosen] for language, chosen in words[seed].items()} for seed in words}


def split_words(states: States, seed: int, most: int | None = None) -> tuple[States, States]:
    """Return random words of each language to train probes on, and the rest to test them on.

    most: number of words per language to use; None: all. A fraction SHARE is for training, as in liang2021, section 4.1: 8,000
    of 10,000.
    """
    train, test = {}, {}
    for language, vectors in states.items():
        order = np.random.default_rng(stream(seed, "split", language)).permutation(len(vectors))[:most]
        cut = round(SHARE * len(order))
        train[language], test[language] = vectors[order[:cut]], vectors[order[cut:]]
    return train, test


def split_texts(states: States, texts: Mapping[str, np.ndarray], seed: int) -> tuple[States, States]:
    """Return train and test states split by whole texts, so that words of one text, and its topic, are on one side only.

    Languages with a single text are left out. texts: language -> text of each word, (m,).
    """
    train, test = {}, {}
    for language, vectors in states.items():
        names, numbers = np.unique(texts[language], return_inverse=True)
        if len(names) < 2:
            continue
        order = np.random.default_rng(stream(seed, "split", language)).permutation(len(names))
        train_texts = order[: min(len(names) - 1, max(1, round(SHARE * len(names))))]
        inside = np.isin(numbers, train_texts)
        train[language], test[language] = vectors[inside], vectors[~inside]
    return train, test


@dataclass(frozen=True)
class Coordinates:
    """Train and test states along directions of a subspace, and the columns of each draw of each window."""

    train: States
    test: States
    windows: Sequence[Window]
    columns: list[np.ndarray]  # columns of each draw, window by window
    owners: np.ndarray  # (draws,) number of each draw's window

    @classmethod
    def of(cls, subspace: Subspace, train: States, test: States, windows: Sequence[Window]) -> "Coordinates":
        """Return centred coordinates along the directions that occur in any of the windows."""
        draws = [draw for window in windows for draw in window.draws]
        directions = np.unique(np.concatenate(draws))
        along = [
            {language: subspace.coordinates(vectors, directions, centred=True) for language, vectors in part.items()}
            for part in (train, test)
        ]
        owners = np.repeat(np.arange(len(windows)), [len(window.draws) for window in windows])
        return cls(along[0], along[1], windows, [np.searchsorted(directions, draw) for draw in draws], owners)

    def records(
        self, values: np.ndarray, pairs: Sequence[tuple[str, str]] | None = None, /, **common: Any
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Yield a record for each window: the mean over items of the mean over draws, with its interval; nothing without items.

        values: (items, draws). pairs: the pair of languages of each item, for intervals over languages; None: intervals over
        items.
        """
        if not len(values):
            return
        by_window = np.stack([values[:, self.owners == number].mean(1) for number in range(len(self.windows))], 1)
        intervals = pairs_intervals(by_window, pairs) if pairs else mean_intervals(by_window, items=True)
        for window, value, low, high in zip(self.windows, *intervals, strict=True):
            place = {"window": window.kind, "x": window.x, "language": "all", "split": "test", "n": len(values)}
            yield common | place | {"value": float(value), "low": float(low), "high": float(high)}
