"""Random choices from a seed, splits of meanings, and treebanks in an everyday register.

Every use draws from its own stream, named by a key, so that a larger request for one thing changes no other. The key of the
parallel set names no language, so that all languages have the same meanings.
"""

import hashlib
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from synthetic.grammar import Grammar
from synthetic.realise import Meaning, Sentence, realise
from synthetic.tables import Frame, check

Item = TypeVar("Item")
Drawn = TypeVar("Drawn", bound=Hashable)

SHARES = {"train": 60, "dev": 10, "test": 15, "parallel": 15}  # percent of the meanings without a held-out pair
HELD_OUT = 8  # percent of all pairs of fillers (buy + hat, doctor + wait, ...) that occur together in neither train nor dev
PATIENCE = 1000  # number of consecutive draws without anything new after which a split counts as exhausted


class Stream:
    """Random choices that depend on a seed and a key only.

    Built on `random.Random.random`, whose sequence for a string seed is the same in every version of Python.
    """

    def __init__(self, seed: int, *key: str) -> None:
        """Start the stream of a seed and a key."""
        self._random = random.Random("/".join((str(seed), *key)))

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random.random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """Whether an event with this probability happens."""
        return self._random.random() < share

    def pick(self, options: Sequence[Item]) -> Item:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffled(self, options: Iterable[Item]) -> list[Item]:
        """The options in random order."""
        items = list(options)
        for last in range(len(items) - 1, 0, -1):
            place = self.below(last + 1)
            items[last], items[place] = items[place], items[last]
        return items


def different(draw: Callable[[int], Drawn | None], n: int, subject: str) -> tuple[Drawn, ...]:
    """`n` different things that `draw` returns.

    draw: number of things so far -> a thing, or None to try again. subject: name of the things in the message if there are too
    few.
    """
    things: dict[Drawn, None] = {}
    misses = 0
    while len(things) < n:
        thing = draw(len(things))
        is_new = thing is not None and thing not in things
        misses = 0 if is_new else misses + 1
        if thing is not None:
            things[thing] = None
        check(
            misses < PATIENCE,
            "synthetic",
            f"{n} {subject} requested, only {len(things)} available; request fewer or add concepts",
        )
    return tuple(things)


# Treebanks.


def percent(*key: str) -> int:
    """Number from 0 to 99 that depends on a key only."""
    return int.from_bytes(hashlib.sha256("/".join(key).encode()).digest()[:8], "big") % 100


def split_of(meaning: Meaning) -> str:
    """The one split of SHARES in which a meaning may occur. It depends on the meaning only and is the same for every seed.

    Meanings with a held-out pair of fillers occur in test and parallel only: they combine words of train in a new way.
    """
    concepts = sorted(filler for _, filler in meaning.fillers)
    place = percent("split", meaning.frame, *itertools.chain(*meaning.fillers))
    if any(percent("pair", *pair) < HELD_OUT for pair in itertools.combinations(concepts, 2)):
        return "test" if place < 50 else "parallel"
    for split, share in SHARES.items():
        if place < share:
            return split
        place -= share
    raise AssertionError("shares add up to 100")


def draw(grammar: Grammar, frame: Frame, stream: Stream) -> Meaning:
    """A random meaning of a frame; no filler occurs twice."""
    chosen: dict[str, str] = {}
    for slot, kind in frame.slots:
        if kind == "number":
            chosen[slot] = str(10 * stream.between(12, 98))
        elif kind == "year":
            chosen[slot] = str(stream.between(1801, 1999))
        else:
            chosen[slot] = stream.pick([name for name in grammar.fillers(kind) if name not in chosen.values()])
    return Meaning(frame.name, tuple(chosen.items()))


def treebank(grammar: Grammar, split: str, n: int, seed: int) -> tuple[Sentence, ...]:
    """`n` different sentences of the everyday register from one split of SHARES.

    The parallel split has the same meanings in the same order in all languages; the others differ between languages.
    """
    key = ("treebank", split) if split == "parallel" else ("treebank", split, grammar.language.code)
    stream = Stream(seed, *key)
    frames = [frame for frame in grammar.frames.values() if frame.register == "everyday"]

    def draw_meaning(_: int) -> Meaning | None:
        meaning = draw(grammar, stream.pick(frames), stream)
        return meaning if split_of(meaning) == split else None

    meanings = different(draw_meaning, n, f"sentences of the {split} split")
    return tuple(realise(grammar, meaning) for meaning in meanings)
