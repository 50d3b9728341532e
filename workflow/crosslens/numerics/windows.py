"""Windows of coordinates along a language subspace: the first ones, the following ones, narrow bands, random ones."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from crosslens.numerics.streams import stream

FIRST, FOLLOWING, BAND = "first", "following", "band"
CONTIGUOUS, BEYOND, SCATTERED = "contiguous random", "contiguous random beyond the rank", "random"
WINDOWS = (FIRST, FOLLOWING, BAND, CONTIGUOUS, BEYOND, SCATTERED)


class Window(NamedTuple):
    """Coordinates that a probe reads; random windows are drawn several times."""

    kind: str  # one of WINDOWS
    x: int  # number of coordinates; of a band, its end
    draws: tuple[np.ndarray, ...]  # numbers of the coordinates in each draw


def first(x: int) -> np.ndarray:
    """Window [0:x], the first x coordinates."""
    return np.arange(x)


def following(x: int, width: int) -> np.ndarray:
    """Window [x:2x], the next x coordinates, cut at the width."""
    return np.arange(x, min(2 * x, width))


def band(x: int, size: int) -> np.ndarray:
    """Window [x - size:x], as in figure 2 of liang2021."""
    return np.arange(x - size, x)


def contiguous(x: int, width: int, low: int, high: int, generator: np.random.Generator) -> np.ndarray:
    """Window of x consecutive coordinates that starts at random in [low, high), cut at the width.

    These are the "random dimensions" of liang2021. The released code starts in [x, width - x) for figure 1 (densray_lda.py,
    lines 29 and 36) and in [105, width - 10) for figure 2 (LI_figure2.py, line 102), so the first coordinates are never drawn.
    """
    start = int(generator.integers(low, high))
    return np.arange(start, min(start + x, width))


def scattered(x: int, width: int, generator: np.random.Generator) -> np.ndarray:
    """Window of x random coordinates, sampled without replacement, ascending."""
    return np.sort(generator.choice(width, x, replace=False))


def windows(
    kinds: Sequence[str], xs: Sequence[int], width: int, rank: int, *, size: int, draws: int, seed: int
) -> list[Window]:  # fmt: skip
    """Windows of the given kinds at each x, except those that do not fit into the width.

    width: number of coordinates. rank: number of coordinates that the method determines. size: number of coordinates in a band,
    and in a window beyond the rank, which does not depend on x. draws: number of draws of each random window. Each kind and x
    has its own random stream.
    """
    return [window for kind in kinds for window in _of_kind(kind, xs, width, rank, size, draws, seed)]


def of_layer(
    last: bool, *, dimensions: Sequence[int], bands: Sequence[int], layer_dimension: int, width: int, rank: int, size: int,
    draws: int, seed: int,
) -> list[Window]:  # fmt: skip
    """Windows that the figures of liang2021 show for a layer: all kinds for the last layer, else first and random ones.

    last: whether it is the last layer. dimensions: sizes of windows. bands: ends of bands. layer_dimension: size of the windows
    at layers below the last. The other parameters are those of `windows`.
    """
    if not last:
        return windows((FIRST, SCATTERED), [layer_dimension], width, rank, size=size, draws=draws, seed=seed)
    kinds, xs = (FIRST, FOLLOWING, CONTIGUOUS, BEYOND, SCATTERED), sorted({*dimensions, layer_dimension, size})
    at_dimensions = windows(kinds, xs, width, rank, size=size, draws=draws, seed=seed)
    return [*at_dimensions, *windows([BAND], bands, width, rank, size=size, draws=1, seed=seed)]


def _of_kind(
    kind: str, xs: Sequence[int], width: int, rank: int, size: int, draws: int, seed: int
) -> Iterator[Window]:  # fmt: skip
    for x in [size] if kind == BEYOND else [*xs]:
        generator = np.random.default_rng(stream(seed, "window", kind, x))
        if kind == FIRST and x <= width:
            yield Window(kind, x, (first(x),))
        if kind == FOLLOWING and x < width:
            yield Window(kind, x, (following(x, width),))
        if kind == BAND and size <= x <= width:
            yield Window(kind, x, (band(x, size),))
        if kind == CONTIGUOUS and 2 * x < width:
            yield Window(kind, x, tuple(contiguous(x, width, x, width - x, generator) for _ in range(draws)))
        if kind == BEYOND and rank + x < width:
            yield Window(kind, x, tuple(contiguous(x, width, rank, width - x, generator) for _ in range(draws)))
        if kind == SCATTERED and x <= width:
            yield Window(kind, x, tuple(scattered(x, width, generator) for _ in range(draws)))
