"""The batches of texts that a phase draws."""

import numpy as np

POOL = 50  # batches that are shuffled together before they are sorted by length


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


def _shuffled(lengths: np.ndarray, size: int, generator: np.random.Generator, pools: bool) -> np.ndarray:
    """All texts once."""
    order = generator.permutation(len(lengths))
    if not pools:
        return order
    shuffled_pools = np.split(order, range(size * POOL, len(order), size * POOL))
    alike = [pool[np.argsort(lengths[pool], kind="stable")] for pool in shuffled_pools]
    whole, last = np.split(np.concatenate(alike), [len(order) // size * size])
    return np.concatenate([generator.permutation(whole.reshape(-1, size)).reshape(-1), last])
