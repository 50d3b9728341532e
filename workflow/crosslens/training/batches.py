"""The batches of texts that a phase draws."""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from crosslens.encoding.texts import Texts
from crosslens.numerics.streams import stream
from crosslens.recipes import Data, Recipe, Stage

POOL = 50  # batches that are shuffled together before they are sorted by length


def phase_batches(
    recipe: Recipe, stage: Stage, number: int, epoch: int, texts: Mapping[Data, Texts], seed: int
) -> list[list[np.ndarray]]:  # fmt: skip
    """Texts of each term and step of the pass over a stage's phase of a number in an epoch, or in `interval` updates."""
    phase, batches = stage.phases[number], []
    if stage.interval:
        whole = stage.model_copy(update={"interval": None})
        epochs = [phase_batches(recipe, whole, number, each, texts, seed) for each in range(stage.epochs)]
        start = epoch * stage.interval
        return [[*chain(*of_term)][start : start + stage.interval] for of_term in zip(*epochs, strict=True)]
    for i, term in enumerate(phase.terms):
        lengths = texts[term.data].lengths
        if phase.updates:
            size = stage.texts_a_step(lengths.mean())
            start, stop = (epoch * phase.updates * size, (epoch + 1) * phase.updates * size)
            batches.append(stretch(len(lengths), size, start, stop, (seed, "batches", stage.name, number, i)))
            continue
        items = phase.items({data: len(read) for data, read in texts.items()})
        drawn = stream(seed, "batches", stage.name, epoch, number, i)
        batches.append(random_batches(lengths, stage.batch, drawn, items=items, pools=recipe.length_pools))
    return batches


def random_batches(
    lengths: np.ndarray, size: int, seed: int, *, items: int | None = None, pools: bool = False
) -> list[np.ndarray]:
    """Batches of `items` texts in random order (None: all, once); where there are fewer, they are recycled in new shuffles.

    As tanti2021's code has it (common/dataset/dataset.py 316-352): a batch may span two shuffles, has no text twice as long as
    there are enough, and the last one is cut. pools: texts of similar length come together, sorted within pools of POOL batches.
    The same seed gives the same batches, which is what lets a killed training resume exactly.
    """
    generator = np.random.default_rng(seed)
    items = len(lengths) if items is None else items
    order = np.zeros(0, np.int64)
    while len(order) < items:
        following, begun = _shuffled(lengths, size, generator, pools), len(order) % size
        fresh = np.flatnonzero(~np.isin(following, order[len(order) - begun :]))[: size - begun]  # end the batch that is begun
        order = np.concatenate([order, following[fresh], np.delete(following, fresh)])
    return np.split(order[:items], range(size, items, size))


def stretch(number: int, size: int, start: int, stop: int, name: Sequence[int | str]) -> list[np.ndarray]:
    """Batches of the texts at `start` to `stop` - 1 of an endless sequence: shuffle after shuffle of `number` texts.

    name: of the stream of each shuffle, seed first. Any stretch can be had without those before it.
    """
    seed, *names = name
    parts = []
    for turn in range(start // number, -(-stop // number)):
        order = np.random.default_rng(stream(int(seed), *names, "turn", turn)).permutation(number)
        parts.append(order[max(start - turn * number, 0) : stop - turn * number])
    return np.split(np.concatenate(parts), range(size, stop - start, size))


def _shuffled(lengths: np.ndarray, size: int, generator: np.random.Generator, pools: bool) -> np.ndarray:
    """All texts once."""
    order = generator.permutation(len(lengths))
    if not pools:
        return order
    shuffled_pools = np.split(order, range(size * POOL, len(order), size * POOL))
    alike = [pool[np.argsort(lengths[pool], kind="stable")] for pool in shuffled_pools]
    whole, last = np.split(np.concatenate(alike), [len(order) // size * size])
    return np.concatenate([generator.permutation(whole.reshape(-1, size)).reshape(-1), last])
