"""How an encoder represents the language of sentences, by layer: identification, share of variance, genealogy."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform

from crosslens.measures.shared.parallel import FORMULA, SHUFFLED_PAIRS, Parallel, estimate, mean_over_blocks
from crosslens.measures.shared.subject import Subject
from crosslens.numerics import genealogy
from crosslens.numerics.densray import densray
from crosslens.numerics.dispersion import axes_of_means, language_share
from crosslens.numerics.halves import centred
from crosslens.numerics.logistic import fit
from crosslens.numerics.probe import Fitted, convergence, logistic_probe
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.streams import stream

RAW, CENTRED, DIRECTIONS = "raw", "centred", "directions"
ENOUGH = 0.9  # share of the full accuracy that the counted directions reach
MUTUAL_INFORMATION, MANTEL = "mutual information", "Mantel correlation"


def measure(
    subject: Subject, *, corpus: str, block: int, penalty: float, tolerance: float, permutations: int,
    kinship: Mapping[str, Sequence[str]],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how well languages can be told apart at each layer; the `item` of a baseline's record names the baseline.

    Probes are trained on each half of the sentences in turn and tested on the other.

    block: length of a block in the numbering of sentences. penalty: C of the probes. tolerance: largest gradient component of a
    converged fit. permutations: number of permutations of the languages that a baseline averages over. kinship: language -> its
    family and genus.
    """
    parallel = Parallel.read(subject.folder / corpus, block)
    common = {"corpus": corpus, "split": "test"}
    yield from (common | record for record in of_layers(parallel, kinship, penalty, tolerance, permutations, subject.seed))


def of_layers(
    parallel: Parallel, kinship: Mapping[str, Sequence[str]], penalty: float, tolerance: float, permutations: int, seed: int
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the records of all layers; arguments as for `measure`."""
    probe = partial(logistic_probe, penalties=[penalty], tolerance=tolerance, seed=seed)
    families, genera = zip(*(kinship[language] for language in parallel.languages), strict=True)
    for layer, values in zip(parallel.layers, parallel.states, strict=True):
        states, place = values.astype(np.float64), {"layer": layer}
        for definition, vectors, shuffled in (
            (RAW, states, None), (RAW, states, stream(seed, "labels")), (CENTRED, centred(states, parallel.half), None),
        ):  # fmt: skip
            for record in _identification(parallel, vectors, probe, shuffled):
                yield place | {"measure": "identification", "definition": definition} | record
        number = np.mean([_directions(parallel, states, half, penalty, tolerance) for half in (0, 1)])
        yield place | {"measure": "identification", "language": "all", "definition": DIRECTIONS, "value": float(number)}
        yield from (place | {"measure": "share", "language": "all"} | record for record in _share(states, families, seed))
        means = states.mean(1)
        yield from (
            place | {"measure": "genealogy", "language": "all"} | record
            for record in _genealogy(means, families, genera, permutations, seed)
        )
    yield {"measure": "identification", "language": "all", "definition": RAW, "item": FORMULA,
           "value": 1 / len(parallel.languages), "n": states.shape[0] * states.shape[1]}  # fmt: skip


def _identification(
    parallel: Parallel, states: np.ndarray, probe: Callable[..., list[Fitted]], shuffled: int | None
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the share of sentences whose language a probe identifies, by language and over all.

    states: (K, n, d). shuffled: seed that shuffles the training labels, for a single record over all languages; None: not
    shuffled.
    """
    languages, n, width = states.shape
    right, fits, generator = np.zeros((languages, n)), [], None if shuffled is None else np.random.default_rng(shuffled)
    for half in (0, 1):
        train, test = (states[:, parallel.half == number] for number in (half, 1 - half))
        labels, sentences = np.repeat(np.arange(languages), train.shape[1]), np.tile(np.arange(train.shape[1]), languages)
        labels = labels if generator is None else generator.permutation(labels)
        (fitted,) = probe(train.reshape(-1, width), labels, sentences, [test.reshape(-1, width)])
        right[:, parallel.half != half] = fitted.predicted.reshape(languages, -1) == np.arange(languages)[:, None]
        fits.append(fitted)
    of_fits = {"penalty": fits[0].penalty} | convergence(fits)
    if generator is not None:
        yield {"language": "all", "item": SHUFFLED_PAIRS, "value": float(right.mean()), "n": right.size} | of_fits
        return
    for language, outcome in zip(parallel.languages, right, strict=True):
        yield {"language": language} | of_fits | mean_over_blocks(outcome, parallel.blocks)
    yield {"language": "all"} | of_fits | mean_over_blocks(right.mean(0), parallel.blocks)


def _directions(parallel: Parallel, states: np.ndarray, half: int, penalty: float, tolerance: float) -> int:
    """Return the number of DensRay directions with which a probe reaches 0.9 times the accuracy of all directions.

    It is found by bisection, which assumes that accuracy rises with the number of directions.

    half: half of the sentences that directions and probes are fitted on; the other is for testing.
    """
    languages = len(states)
    statistics = Statistics(states.shape[-1], scatters=False)
    for number, language in enumerate(parallel.languages):
        statistics.update(states[number, parallel.half == half], language)
    subspace = densray(statistics)
    train, test = (
        subspace.coordinates(states[:, parallel.half == number], centred=True).reshape(-1, subspace.rank)
        for number in (half, 1 - half)
    )
    deviations = train.std(0)
    truth, gold = (np.repeat(np.arange(languages), len(side) // languages) for side in (train, test))

    def accuracy(size: int) -> float:
        first = train[None, :, :size] / deviations[:size]
        probe = fit(first, truth[None, None], penalties=penalty, tolerance=tolerance)
        return float((probe.predict(test[None, :, :size] / deviations[:size])[0, 0, 0] == gold).mean())

    low, high = 0, subspace.rank
    enough = ENOUGH * accuracy(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accuracy(middle) >= enough else (middle, high)
    return high


def _share(states: np.ndarray, families: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the share of variance between languages with its interval over families, the axes of means, and a baseline.

    The baseline assigns the sentences to the languages at random. states: (K, n, d).
    """
    languages, n, width = states.shape
    means = states.mean(1)
    within = ((states - means[:, None]) ** 2).sum((1, 2))
    members = np.unique(families, return_inverse=True)[1]
    apart = [members != number for number in range(members.max() + 1)]
    without = np.array([language_share(means[rest], within[rest], n) for rest in apart if rest.sum() > 1])
    yield {"definition": RAW} | estimate(language_share(means, within, n), without, languages)
    yield {"definition": "axes", "value": axes_of_means(means), "n": languages}
    order = np.random.default_rng(stream(seed, "languages")).permutation(languages * n)
    dealt = states.reshape(-1, width)[order].reshape(languages, n, width)
    means = dealt.mean(1)
    within = ((dealt - means[:, None]) ** 2).sum((1, 2))
    yield {"definition": RAW, "item": SHUFFLED_PAIRS, "value": language_share(means, within, n), "n": languages}


def _genealogy(
    means: np.ndarray, families: Sequence[str], genera: Sequence[str], permutations: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the agreement of the distances between means (K, d) with genealogy; baselines are means over permuted languages.

    A baseline's `low` and `high` contain 95 % of the permutations. Only languages that have relatives in their family are
    clustered.
    """
    generator = np.random.default_rng(stream(seed, "families"))
    sizes = Counter(families)
    company = [number for number, family in enumerate(families) if sizes[family] > 1]
    kinds = np.unique([families[number] for number in company], return_inverse=True)[1] if company else np.zeros(0, int)
    if len(np.unique(kinds)) > 1:
        clusters = genealogy.clusters(genealogy.distances(means[company]), len(np.unique(kinds)))
        orders = np.stack([generator.permutation(len(company)) for _ in range(permutations)])
        yield from _permuted(MUTUAL_INFORMATION, *genealogy.mutual_information(kinds, clusters, orders), len(company))
    distances = squareform(genealogy.distances(means))
    kinship = squareform(genealogy.genealogical(families, genera))
    orders = np.stack([generator.permutation(len(means)) for _ in range(permutations)])
    yield from _permuted(MANTEL, *genealogy.mantel(distances, kinship, orders), len(means))


def _permuted(definition: str, value: float, draws: np.ndarray, n: int) -> Iterator[dict[str, Any]]:
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    yield {"definition": definition, "value": value, "n": n}
    yield {"definition": definition, "item": SHUFFLED_PAIRS, "value": float(draws.mean()), "low": low, "high": high, "n": n}
