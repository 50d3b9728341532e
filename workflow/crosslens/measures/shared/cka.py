"""Kernel alignment (CKA) of two matrices of states whose rows are the same sentences: muller2021, table 4, figures 1 to 8.

Every definition is a cosine: each side's kernel matrix (n, n) is adjusted (not at all, centred, or U-centred), and CKA is
sum(A * B) / sqrt(sum(A * A) sum(B * B)). One matrix per side therefore gives the value, the value without each sentence, and
the value of each shuffled pairing. The matrices are in numerics/kernels.py, the intervals in numerics/jackknife.py, the
baseline in shuffles.py.

An undefined value is nan: for states that do not vary (no kernel is left to align), for fewer than two pairs, and for fewer
than four if the estimate is unbiased. Only `as_printed`, which does not centre, is defined for constant states that are not
zero: it is 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.measures.shared.shuffles import shuffled_orders, shuffled_products
from crosslens.numerics.jackknife import Deletions, half_width
from crosslens.numerics.kernels import Centring, Gram, Side, adjusted, checked, cosine, dot


@dataclass(frozen=True)
class Definition:
    """One of the measures called CKA.

    centring: "none"; "centred", biased upwards unless n is much larger than d; "unbiased": HSIC_1 of Song et al. 2012, the
    estimate whose expectation is 0 for independent states, at any n. The ratio of such estimates can fall below 0.
    quarters: whether CKA is the mean over four windows of n // 4 sentences that start at 0, 1, 2, 3.
    """

    kernel: Literal["linear", "rbf"] = "linear"
    centring: Centring = "centred"
    quarters: bool = False

    def windows(self, n: int) -> list[slice]:
        """Return the rows that each estimate uses."""
        return [slice(start, start + n // 4) for start in range(4)] if self.quarters else [slice(0, n)]

    def side(self, gram: Gram, window: slice) -> Side:
        """Return one side of the cosine from the rows of a window; a centred linear kernel is computed from centred states."""
        if self.kernel == "rbf":
            return adjusted(gram.rbf(window), self.centring)
        return adjusted(gram.linear(window, centred=self.centring != "none"), self.centring)


DEFINITIONS = {
    # The printed formula does not centre, despite the name of CKA: it compares mean vectors above all.
    "as_printed": Definition(centring="none"),
    # first-align-then-predict, hidden_similarity/cka.py, lines 15-23 and 44-49; measure_similarity.py, lines 63, 84 and 128:
    # the script takes a batch's number for its start, so windows overlap in all but three sentences and only n // 4 + 3
    # sentences are used. Only the kernel is the script's, which reads raw text and includes special subwords in the means.
    "released_kernel": Definition("rbf", quarters=True),
    "linear": Definition(),
    "debiased": Definition(centring="unbiased"),
    "rbf": Definition("rbf"),
}
HEADINGS = {
    "as_printed": "linear, not centred (printed formula)",
    "released_kernel": "RBF, quarters (released kernel)",
    "linear": "linear, centred",
    "debiased": "linear, debiased (ours)",
    "rbf": "RBF, centred",
}
MAY_BE_PRINTED = ("as_printed", "released_kernel", "linear")  # one of these gave muller2021's numbers; which one is unknown
LENGTH_OUT = "debiased_length_out"  # OURS of states with the effect of length removed; not in DEFINITIONS, which fit any states
OURS = "debiased"  # all other definitions are high for independent states: 0.4 to 1 at n <= 1000, d = 768


@dataclass(frozen=True)
class Similarity:
    """CKA of a reference with L languages at K layers under one definition; each array (L, K)."""

    value: np.ndarray
    low: np.ndarray  # 95 % interval of the estimate's expectation at this n, by the delete-one-block jackknife; may exceed 1
    high: np.ndarray
    floor: np.ndarray  # mean over shuffled pairings
    n: int  # sentence pairs that the value depends on


def cka(x: np.ndarray, y: np.ndarray, definition: str | Definition = OURS) -> float:
    """Return CKA of x (n, d_x) and y (n, d_y), any float type, computed in float64.

    Raises DataError if n differs, a value is not finite, or no definition has that name.
    """
    if isinstance(definition, str) and definition not in DEFINITIONS:
        raise DataError(f"cka: expected a definition of {', '.join(DEFINITIONS)}, found {definition!r}")
    how = DEFINITIONS[definition] if isinstance(definition, str) else definition
    x, y = checked(x, len(x), "x"), checked(y, len(x), "y")
    grams = Gram.from_states(x), Gram.from_states(y)
    values = []
    for window in how.windows(len(x)):
        a, b = (how.side(gram, window) for gram in grams)
        values.append(cosine(dot(a.matrix, b.matrix), a.squares, b.squares))
    return float(np.mean(values))


def compare(
    reference: Sequence[np.ndarray],
    states_by_language: Mapping[str, Sequence[np.ndarray]],
    definitions: Iterable[str] = tuple(DEFINITIONS),
    *,
    draws: int = 200,
    seed: int = 0,
    blocks: np.ndarray | None = None,
    threads: int = 1,
) -> dict[str, Similarity]:
    """Return CKA of a reference language with L languages at K layers, by definition, with intervals and a baseline.

    reference: K matrices (n, d), one per layer.
    states_by_language: L sequences of K matrices whose rows are aligned with those of the reference; read one layer at a time.
    blocks: (n,) document of each sentence; the jackknife leaves out whole runs of equal documents, since sentences of one
    document are not independent. None: single sentences. The bandwidths remain those of all sentences.
    draws: number of shuffled pairings, the same for all languages and layers; below 2, floor is nan.
    threads: number of definitions measured at the same time.

    Each kernel is computed once per language and layer. Memory: 8 (L + 1) n^2 bytes, and as much again for each thread.
    Raises DataError, which names language and layer, if numbers of sentences or layers differ or a value is not finite.
    """
    layers, n = len(reference), len(reference[0])
    labels = np.arange(n)
    if blocks is not None:
        if blocks.shape != (n,):
            raise DataError(f"blocks: expected the document of each sentence, shape ({n},), found shape {blocks.shape}")
        labels = np.cumsum(np.append(False, blocks[1:] != blocks[:-1]))[:n]
    plans = {name: _Plan(DEFINITIONS[name], labels, draws, seed) for name in definitions}
    values = {name: np.full((4, len(states_by_language), layers), np.nan) for name in plans}
    with ThreadPoolExecutor(threads) as pool:
        for layer in range(layers):
            grams = [Gram.from_states(checked(reference[layer], n, f"reference, layer {layer}"))]
            for language, states in states_by_language.items():
                if len(states) != layers:
                    raise DataError(
                        f"{language}: expected {layers} layers as in the reference, found {len(states)}; extract the same layers"
                    )
                grams.append(Gram.from_states(checked(states[layer], n, f"{language}, layer {layer}")))
            for name, measured in zip(plans, pool.map(_Plan.measure, plans.values(), repeat(grams)), strict=True):
                values[name][:, :, layer] = measured
    return {name: Similarity(*values[name], len(plan.labels)) for name, plan in plans.items()}  # type: ignore[call-arg]


class _Plan:
    """Blocks and shuffled orders of one definition, shared by all layers and languages."""

    def __init__(self, how: Definition, labels: np.ndarray, draws: int, seed: int) -> None:
        self.how = how
        self.windows = how.windows(len(labels))
        self.labels = labels[: self.windows[-1].stop]
        self.deletions = [Deletions(self.labels[window], how.centring) for window in self.windows]
        # Only sentences that are in all windows are shuffled, so that each window's kernel is permuted instead of recomputed.
        shared = slice(self.windows[-1].start, self.windows[0].stop)
        self.orders = shuffled_orders(len(self.labels), draws, shared, seed)

    def measure(self, grams: Sequence[Gram]) -> np.ndarray:
        """Return value, low, high and floor of the first Gram matrix with each of the L others, (4, L)."""
        languages, blocks = len(grams) - 1, self.labels[-1] + 1 if len(self.labels) else 0
        value = np.zeros(languages)
        deleted = np.zeros((languages, blocks))
        shuffled = np.zeros((languages, len(self.orders)))
        for window, deletion in zip(self.windows, self.deletions, strict=True):
            sides = [self.how.side(gram, window) for gram in grams]
            squares = np.array([side.squares for side in sides])
            products = np.array([dot(sides[0].matrix, side.matrix) for side in sides[1:]])
            whole = cosine(products, squares[0], squares[1:])
            value += whole
            deleted += deletion.values(sides, whole, blocks)
            orders = self.orders[:, window] - window.start
            products = shuffled_products(sides[0].matrix, [side.matrix for side in sides[1:]], orders)
            shuffled += cosine(products, squares[0], squares[1:, None])
        count = len(self.windows)
        value, deleted, shuffled = value / count, deleted / count, shuffled / count
        sizes = np.bincount(self.labels)
        half = np.array([half_width(*pair, sizes) for pair in zip(value, deleted, strict=True)])
        floor = shuffled.mean(1) if len(self.orders) > 1 else np.full(languages, np.nan)
        return np.stack([value, value - half, value + half, floor])
