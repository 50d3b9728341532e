"""Counts of subwords that occur near each other, for GloVe."""

from collections.abc import Iterator
from dataclasses import dataclass
from logging import Logger
from math import lcm

import numpy as np

from crosslens.encoding.texts import Texts
from crosslens.jobs.progress import Progress

CHUNK = 1 << 21  # subwords whose pairs are in memory at once: about 0.5 GB with a window of 10
DISTANCE_BITS = 5  # bits for the distance in a packed pair; a window is at most 31


@dataclass(frozen=True)
class Cooccurrence:
    """Distinct pairs of subwords that occur near each other, sorted; counts are symmetric, X(i, j) = X(j, i)."""

    first: np.ndarray  # (n,) int32
    second: np.ndarray  # (n,) int32, at least as large as `first`
    counts: np.ndarray  # (n,) float64, sum of 1 / distance; doubled for a subword with itself, which counts in both orders


def count(texts: Texts, vocabulary: int, window: int, log: Logger, chunk: int = CHUNK) -> Cooccurrence:
    """Return the counts, weighted by 1 / distance, of pairs at most `window` subwords apart within a text.

    The special subwords at the ends of a text are left out. vocabulary: number of subwords in it. chunk: number of subwords
    whose pairs are counted at a time. It does not affect the sums, which are integers in units of 1 / lcm(1, ..., window).
    Source: the released code of GloVe (stanfordnlp/GloVe 52f7dbc, src/cooccur.c:328-347, symmetric and weighted by distance),
    where each line is a text.
    """
    unit = lcm(*range(1, window + 1))
    weights = np.array([0, *(unit // distance for distance in range(1, window + 1))])
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    with Progress(len(texts.subwords), "subwords counted", log) as progress:
        for chosen in _chunks(texts, chunk):
            subwords, ids = _inside(texts, chosen)
            part = _summed(*_weighted(_pairs(subwords, ids, vocabulary, window), weights))
            # Parts are merged like the digits of a binary counter: each pair once for each doubling of the count.
            while parts and len(parts[-1][0]) <= 2 * len(part[0]):
                part = _merged(parts.pop(), part)
            parts.append(part)
            progress.advance(int(texts.lengths[chosen].sum()))
    whole = parts.pop()
    while parts:
        whole = _merged(parts.pop(), whole)
    keys, sums = whole
    first, second = np.divmod(keys, vocabulary)
    return Cooccurrence(first.astype(np.int32), second.astype(np.int32), np.where(first == second, 2, 1) * sums / unit)


def _chunks(texts: Texts, size: int) -> Iterator[np.ndarray]:
    """Yield the numbers of consecutive texts, about `size` subwords at a time."""
    number = texts.subword_offsets[:-1] // size
    yield from np.split(np.arange(len(texts)), np.flatnonzero(np.diff(number)) + 1)


def _inside(texts: Texts, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the subwords of consecutive texts, without the special ones at their ends, and the text of each subword."""
    rows = slice(texts.subword_offsets[chosen[0]], texts.subword_offsets[chosen[-1] + 1])
    ids = np.repeat(chosen, texts.lengths[chosen])
    inside = np.ones(len(ids), bool)
    inside[texts.end_rows(chosen) - rows.start] = False
    return texts.subwords[rows][inside].astype(np.int64), ids[inside]


def _pairs(subwords: np.ndarray, ids: np.ndarray, vocabulary: int, window: int) -> np.ndarray:
    """Return each pair within the window, sorted, as (smaller subword x vocabulary + larger subword) x 32 + distance."""
    parts = []
    for distance in range(1, window + 1):
        near = ids[distance:] == ids[:-distance]
        first, second = subwords[:-distance][near], subwords[distance:][near]
        parts.append((np.minimum(first, second) * vocabulary + np.maximum(first, second) << DISTANCE_BITS) + distance)
    packed = np.concatenate(parts)
    packed.sort()
    return packed


def _weighted(packed: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return packed >> DISTANCE_BITS, weights[packed & (1 << DISTANCE_BITS) - 1]


def _summed(keys: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of sorted keys, and the sum of each key's values."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.add.reduceat(sums, starts) if len(starts) else sums


def _merged(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    keys, sums = (np.concatenate(arrays) for arrays in zip(first, second, strict=True))
    order = np.argsort(keys, kind="stable")  # a stable sort merges two sorted parts in linear time
    return _summed(keys[order], sums[order])
