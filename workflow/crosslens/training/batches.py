"""Batches of texts for the phases of a training run, and the micro-batches that they are split into."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from crosslens.config.recipes import Data, Recipe, Stage
from crosslens.encoding.batches import Batch, Padding
from crosslens.encoding.texts import Texts
from crosslens.numerics.streams import stream
from crosslens.training.cpu import Concatenated
from crosslens.training.heads.head import Number

POOL = 50  # batches that are shuffled together before they are sorted by length


@dataclass(frozen=True)
class MicroBatch:
    """Texts of a loss term whose gradient is computed in one pass."""

    seed: int | None  # seed of its dropout; None: dropout continues the training run's own random stream
    batch: Batch | Concatenated | None  # None if the states come from a cache
    states: torch.Tensor | None  # (n_words, width) from the cache; None if they are computed
    labels: dict[str, torch.Tensor]  # kind of label -> (n_words,)
    counted: torch.Tensor  # (n_counted,) rows of the words that count in the loss; the row n_words is padding
    padding: Padding  # padding of each text's labelled words
    words: Number  # number of words that count in the whole batch
    sentences: Number  # number of sentences in the whole batch


class Place(NamedTuple):
    """Position of an update in a training run; the update's random streams are named by it."""

    stage: str
    epoch: int
    phase: int
    step: int


def phase_batches(
    recipe: Recipe, stage: Stage, number: int, epoch: int, texts: Mapping[Data, Texts], seed: int
) -> list[list[np.ndarray]]:  # fmt: skip
    """Return the numbers of the texts in each step of one pass over a phase: a list of steps for each term.

    number: number of the phase in its stage. epoch: number of the pass. A pass is an epoch or, if the stage has an `interval`,
    that many updates.
    """
    phase, batches = stage.phases[number], []
    if stage.interval:
        whole = stage.model_copy(update={"interval": None})
        epochs = [phase_batches(recipe, whole, number, earlier, texts, seed) for earlier in range(stage.epochs)]
        start = epoch * stage.interval
        return [[*chain(*of_term)][start : start + stage.interval] for of_term in zip(*epochs, strict=True)]
    for i, term in enumerate(phase.terms):
        lengths = texts[term.data].lengths
        if phase.updates:
            size = stage.texts_a_step(lengths.mean())
            start, stop = (epoch * phase.updates * size, (epoch + 1) * phase.updates * size)
            batches.append(stretch(len(lengths), size, start, stop, (seed, "batches", stage.name, number, i)))
            continue
        items = phase.items({data: len(part) for data, part in texts.items()})
        batch_seed = stream(seed, "batches", stage.name, epoch, number, i)
        batches.append(random_batches(lengths, stage.batch, batch_seed, items=items, pools=recipe.length_pools))
    return batches


def random_batches(
    lengths: np.ndarray, size: int, seed: int, *, items: int | None = None, pools: bool = False
) -> list[np.ndarray]:
    """Return batches of text numbers in random order.

    lengths: (n,), number of subwords in each text. size: texts per batch. items: number of texts to draw, in further shuffles
    if it exceeds n; None: n. pools: whether texts of similar length are batched together, sorted within pools of POOL batches.

    A batch may span two shuffles, but repeats no text while there are enough others. The last batch may be smaller. The same
    seed gives the same batches, so a killed training run resumes exactly.
    Source: tanti2021's code (common/dataset/dataset.py 316-352).
    """
    generator = np.random.default_rng(seed)
    items = len(lengths) if items is None else items
    order = np.zeros(0, np.int64)
    while len(order) < items:
        following, surplus = _shuffled(lengths, size, generator, pools), len(order) % size
        fresh = np.flatnonzero(~np.isin(following, order[len(order) - surplus :]))[: size - surplus]  # complete the last batch
        order = np.concatenate([order, following[fresh], np.delete(following, fresh)])
    return np.split(order[:items], range(size, items, size))


def rehearsed(batches: Sequence[np.ndarray], lengths: np.ndarray, updates: int) -> list[np.ndarray]:
    """Return the batches of a rehearsal: one of the longest texts, which needs the most memory, then the first of the pass.

    batches: those of the whole pass. lengths: (n,), number of subwords in each text. updates: largest number of batches.
    """
    longest = np.argsort(-lengths, kind="stable")[: max(map(len, batches))]
    return [longest, *batches][:updates]


def stretch(number: int, size: int, start: int, stop: int, name: Sequence[int | str]) -> list[np.ndarray]:
    """Return batches of the texts at positions `start` to `stop` - 1 in an endless sequence of shuffles of `number` texts.

    size: texts per batch. name: seed and name of the shuffles' random stream. A stretch does not depend on earlier stretches.
    """
    seed, *names = name
    parts = []
    for turn in range(start // number, -(-stop // number)):
        order = np.random.default_rng(stream(int(seed), *names, "turn", turn)).permutation(number)
        parts.append(order[max(start - turn * number, 0) : stop - turn * number])
    return np.split(np.concatenate(parts), range(size, stop - start, size))


def _shuffled(lengths: np.ndarray, size: int, generator: np.random.Generator, pools: bool) -> np.ndarray:
    """Return the numbers of all texts in random order; if `pools`, each batch of `size` has texts of similar length."""
    order = generator.permutation(len(lengths))
    if not pools:
        return order
    shuffled_pools = np.split(order, range(size * POOL, len(order), size * POOL))
    alike = [pool[np.argsort(lengths[pool], kind="stable")] for pool in shuffled_pools]
    whole, last = np.split(np.concatenate(alike), [len(order) // size * size])
    return np.concatenate([generator.permutation(whole.reshape(-1, size)).reshape(-1), last])
