"""Alignment of sentences with their translations in a pivot language, by layer.

Measures: correlation, CKA, MEXA, neighbours, hubness and cosines.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from crosslens.measures.shared.cka import OURS, compare
from crosslens.measures.shared.parallel import FORMULA, SHUFFLED_PAIRS, Parallel, estimate, lengths, mean_over_blocks
from crosslens.measures.shared.subject import Subject
from crosslens.numerics import alignment
from crosslens.numerics.alignment import FEWEST, Cosines, length_out, units
from crosslens.numerics.dispersion import mean_cosine, participation, skewness
from crosslens.numerics.halves import centred
from crosslens.numerics.streams import stream

RAW, CENTRED, LENGTH_OUT = "raw", "centred", "raw, length out"
NEAREST = ("mexa", "strong", "own", "mutual_knn")  # measures that are means over sentences


def measure(
    subject: Subject, *, corpus: str, pivot: str, block: int, k: int, shuffles: int
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the alignment of each language with the pivot at each layer; the `item` of a baseline's record names the baseline.

    Intervals leave out blocks of neighbouring sentences. The length of a sentence is its number of subwords as the encoder
    reads it, including special ones.

    block: length of a block in the numbering of sentences. k: number of neighbours. shuffles: number of random pairings for the
    baseline.
    """
    parallel = Parallel.read(subject.folder / corpus, block)
    tokens = subject.tokens[corpus]
    subwords = [lengths(tokens / f"{language}.test.parquet", parallel.ids) for language in parallel.languages]
    orders = parallel.orders(shuffles, subject.seed)
    common = {"corpus": corpus, "split": "test"}
    records = of_languages(parallel, np.stack(subwords), parallel.number(pivot), k, orders)
    yield from (common | record for part in (parallel.left_out, records) for record in part)


def of_languages(parallel: Parallel, subwords: np.ndarray, pivot: int, k: int, orders: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield all records; k as for `measure`.

    subwords: (K, n), number of subwords of each sentence. pivot: index of the pivot among the languages. orders: (draws, n),
    orders of the sentences for shuffled pairs.
    """
    n, width = len(parallel.ids), parallel.states[0].shape[-1]
    yield from _by_formula(n, width, k)
    for layer, states in zip(parallel.layers, parallel.states, strict=True):
        place = {"layer": layer, "n": n}
        rest = np.stack([length_out(values, sizes) for values, sizes in zip(states.astype(np.float64), subwords, strict=True)])
        for definition, vectors in ((RAW, states), (LENGTH_OUT, rest)):
            for record in _correlations(parallel, vectors, pivot, orders, with_cka=definition == RAW or n >= FEWEST):
                yield place | {"definition": definition} | record
        for definition, vectors in ((RAW, states), (CENTRED, centred(states.astype(np.float64), parallel.half))):
            for record in _nearest(parallel, units(vectors), definition, pivot, k, orders):
                yield place | record
        for language, values in zip(parallel.languages, states, strict=True):
            mean, rogue = mean_cosine(values)
            place_of_language = place | {"measure": "isotropy", "language": language}
            yield place_of_language | {"definition": "mean cosine", "value": mean}
            yield place_of_language | {"definition": "rogue dimensions", "value": rogue}
        ratio = participation(states.reshape(-1, width))
        number = len(parallel.languages) * n
        yield place | {"measure": "isotropy", "language": "all", "definition": "participation ratio", "value": ratio, "n": number}


def _by_formula(n: int, width: int, k: int) -> Iterator[dict[str, Any]]:
    """Yield the chance levels for n sentences: by formula or, for hubness, from independent normal states of the same shape."""
    generator = np.random.default_rng(stream(0, "hubness", n, width))
    x, y = units(generator.standard_normal((2, n, width)))
    for measure, value in (
        ("mexa", 1 / (2 * n - 1)),
        ("mutual_knn", k / (n - 1)),
        ("hubness", skewness(alignment.occurrences(x @ y.T, k).astype(float))),
    ):
        yield {"measure": measure, "language": "all", "definition": RAW, "item": FORMULA, "value": value, "n": n}


def _correlations(
    parallel: Parallel, states: np.ndarray, pivot: int, orders: np.ndarray, *, with_cka: bool
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the average neuron-wise correlation (ANC) of states (K, n, d) with the pivot's and, if asked for, their CKA."""
    numbers = [number for number in range(len(states)) if number != pivot]
    reference = states[pivot].astype(np.float64)
    for number in numbers:
        place = {"measure": "anc", "language": parallel.languages[number]}
        value, without = alignment.correlation(states[number], reference, parallel.blocks)
        yield place | estimate(value, without, len(reference), score=False)
        shuffled = _shuffled_correlation(states[number], reference, orders)
        yield place | {"item": SHUFFLED_PAIRS, "value": shuffled}
    if not with_cka:
        return
    translations = {parallel.languages[number]: [states[number]] for number in numbers}
    similarity = compare([reference], translations, [OURS], draws=len(orders), seed=0, blocks=parallel.blocks)[OURS]
    for row, language in enumerate(translations):
        place = {"measure": "cka", "language": language}
        value, low, high = (float(part[row, 0]) for part in (similarity.value, similarity.low, similarity.high))
        yield place | {"value": value, "low": low, "high": high}
        yield place | {"item": SHUFFLED_PAIRS, "value": float(similarity.floor[row, 0])}


def _shuffled_correlation(x: np.ndarray, y: np.ndarray, orders: np.ndarray) -> float:
    """Return the ANC of x and y, (n, d) each, averaged over shuffled pairs; computed from standardised columns."""
    x, y = (alignment.standardised(side) for side in (x, y))
    values = [float(np.nanmean(np.einsum("nd,nd->d", x, y[order]))) for order in orders]
    return float(np.mean(values)) if values else np.nan


def _nearest(
    parallel: Parallel, vectors: np.ndarray, definition: str, pivot: int, k: int, orders: np.ndarray
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the neighbour measures with their shuffled-pairs baseline, hubness and, for raw states, the margin.

    vectors: (K, n, d), of unit length.
    """
    for number, language in enumerate(parallel.languages):
        if number == pivot:
            continue
        cosines = Cosines.of(vectors[number], vectors[pivot])
        values = _by_sentence(cosines, k)
        shuffled = [_by_sentence(cosines.paired(order), k) for order in orders]
        for name in NEAREST:
            quantity = name in ("strong", "own")
            place = {"measure": "neighbours" if quantity else name, "language": language}
            place |= {"definition": f"{name}, {definition}" if quantity else definition}
            yield place | mean_over_blocks(values[name], parallel.blocks)
            yield place | {"item": SHUFFLED_PAIRS, "value": float(np.mean([part[name].mean() for part in shuffled]))}
        hubs = skewness(alignment.occurrences(cosines.between, k).astype(float))
        yield {"measure": "hubness", "language": language, "definition": definition, "value": hubs}
        if definition == RAW:
            translations = cosines.between.diagonal()
            margin = translations - (cosines.between.sum(1) - translations) / (len(translations) - 1)
            place = {"measure": "isotropy", "language": language, "definition": "margin"}
            yield place | mean_over_blocks(margin, parallel.blocks, score=False)


def _by_sentence(cosines: Cosines, k: int) -> Mapping[str, np.ndarray]:
    """Return neighbour measure -> its value for each sentence, (n,) float."""
    strong, same = alignment.neighbours(cosines)
    values = (alignment.mexa(cosines), strong, same, alignment.mutual_neighbours(cosines, k))
    return {name: part.astype(float) for name, part in zip(NEAREST, values, strict=True)}
