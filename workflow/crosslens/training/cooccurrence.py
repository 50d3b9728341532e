"""How often pieces stand near each other, for GloVe."""

from collections.abc import Iterator
from dataclasses import dataclass
from logging import Logger
from math import lcm

import numpy as np

from crosslens.encoding.texts import Texts
from crosslens.runs.progress import Progress

CHUNK = 1 << 21  # pieces whose pairs are in memory at once: about 0.5 GB with a window of 10
DISTANCE_BITS = 5  # windows of at most 31


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of pieces that stand near each other, each once, sorted; counts are the same in both orders, X(i, j) = X(j, i)."""

    first: np.ndarray  # (n,) int32
    second: np.ndarray  # (n,) int32, at least as large as `first`
    counts: np.ndarray  # (n,) float64: each time 1 / distance; of a piece with itself twice that, once for either order


def count(texts: Texts, vocabulary: int, window: int, log: Logger, chunk: int = CHUNK) -> Cooccurrence:
    """Count the pairs at most `window` pieces apart within a text, without the special pieces at its ends, weighted 1 / distance.

    As the released code of GloVe counts (stanfordnlp/GloVe 52f7dbc, src/cooccur.c:328-347, symmetric and weighted by distance;
    there a line is a text). Sums are of whole numbers, in units of 1 / lcm(1, ..., window): they do not depend on `chunk`, the
    pieces whose pairs are counted at a time.
    """
    unit = lcm(*range(1, window + 1))
    weights = np.array([0, *(unit // distance for distance in range(1, window + 1))])
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    with Progress(len(texts.pieces), "pieces counted", log) as progress:
        for chosen in _chunks(texts, chunk):
            pieces, ids = _inside(texts, chosen)
            part = _summed(*_weighted(_pairs(pieces, ids, vocabulary, window), weights))
            # As a binary counter adds: a pair is merged once for each doubling of what is counted.
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
    """Consecutive texts of about so many pieces."""
    number = texts.piece_offsets[:-1] // size
    yield from np.split(np.arange(len(texts)), np.flatnonzero(np.diff(number)) + 1)


def _inside(texts: Texts, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of consecutive texts without the special ones at their ends, and of which text each is."""
    rows = slice(texts.piece_offsets[chosen[0]], texts.piece_offsets[chosen[-1] + 1])
    ids = np.repeat(chosen, texts.lengths[chosen])
    ends = np.concatenate([texts.piece_offsets[chosen], texts.piece_offsets[chosen + 1] - 1]) - rows.start
    return np.delete(texts.pieces[rows], ends).astype(np.int64), np.delete(ids, ends)


def _pairs(pieces: np.ndarray, ids: np.ndarray, vocabulary: int, window: int) -> np.ndarray:
    """Each pair within the window, sorted: (smaller piece x vocabulary + larger piece) x 32 + distance."""
    found = []
    for distance in range(1, window + 1):
        near = ids[distance:] == ids[:-distance]
        left, right = pieces[:-distance][near], pieces[distance:][near]
        found.append((np.minimum(left, right) * vocabulary + np.maximum(left, right) << DISTANCE_BITS) + distance)
    packed = np.concatenate(found)
    packed.sort()
    return packed


def _weighted(packed: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return packed >> DISTANCE_BITS, weights[packed & (1 << DISTANCE_BITS) - 1]


def _summed(keys: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys, each once, and the sum of what belongs to each."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.add.reduceat(sums, starts) if len(starts) else sums


def _merged(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    keys, sums = (np.concatenate(both) for both in zip(one, other, strict=True))
    order = np.argsort(keys, kind="stable")  # which merges two sorted parts in linear time
    return _summed(keys[order], sums[order])
