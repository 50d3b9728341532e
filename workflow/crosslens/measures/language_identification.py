"""Language identification from windows of coordinates, by linear probes: liang2021, section 4.1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import by_language, layers
from crosslens.measures.shared.coordinates import (
    Coordinates,
    States,
    held_out,
    held_out_texts,
    split_texts,
    split_words,
    subspaces,
    words_of_seeds,
)
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import (
    ONE_AGAINST_REST,
    PAIRS,
    PAIRS_ONE_DRAW,
    PAIRS_ONE_FIT,
    PAIRS_SHUFFLED,
    PAIRS_TEXTS,
)
from crosslens.numerics.logistic import LEFT_OUT, fit
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.numerics.windows import BAND, FIRST, SCATTERED, Window, of_layer, windows

AT_ONCE = 2**25  # coordinates of pairs of languages in memory at once


def measure(
    subject: Subject, *, corpus: str, methods: Sequence[str], compared: Sequence[str], seeds: Sequence[int],
    share: float | None, dimensions: Sequence[int], bands: Sequence[int], layer_dimension: int, band: int, draws: int, pairs: int,
    rest_words: int, tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy of linear probes for pairs of languages; each seed has its own fit, pairs, words and random windows.

    At every layer, probes read the first `layer_dimension` coordinates, and as many random ones. At the last layer they read
    windows of all kinds: of `dimensions` coordinates, and of `band` coordinates that end at `bands`. For `compared` methods
    they read only the first coordinates, at the last layer. The last layer also has probes that are tested on other texts,
    probes with shuffled labels, and probes of each language against the rest, with `rest_words` words per language. Two more
    definitions vary only the fit over seeds, or only the pairs and words.

    methods, compared: methods of fitting subspaces. share: fraction of the words that a subspace is fitted on; None: no two
    seeds share a text, either for subspaces or for probes. draws: number of random windows of each kind and size. pairs: number
    of pairs of languages.
    """
    paths = by_language(subject.folder / corpus)
    fit_words, test_words = (words_of_seeds(paths, split, seeds, share) for split in ("train", "test"))
    texts = held_out_texts(paths, test_words)
    stored_layers = layers(subject.folder / corpus)
    for layer in stored_layers:
        last = layer == stored_layers[-1]
        fits = subspaces(paths, layer, [*methods, *compared] if last else methods, fit_words, share)
        states_of_seeds = held_out(paths, layer, test_words)
        common = {"corpus": corpus, "item": "language", "layer": layer, "measure": "language identification"}
        for seed, states in states_of_seeds.items():
            words, chosen = split_words(states, seed), language_pairs_of(states, pairs, seed)
            for method, subspace in fits[seed].items():
                place = len(subspace.basis), subspace.rank
                layer_windows = of_layer(
                    last, dimensions=dimensions, bands=bands, layer_dimension=layer_dimension, width=place[0], rank=place[1],
                    size=band, draws=draws, seed=seed,
                )  # fmt: skip
                place_of_method = common | {"seed": seed, "subspace": method}
                if not last:
                    yield from of_pairs(subspace, words, layer_windows, chosen, tolerance, **place_of_method, definition=PAIRS)
                    continue
                few_windows = windows([FIRST], dimensions, *place, size=band, draws=1, seed=seed)
                controls = windows([SCATTERED], dimensions, *place, size=band, draws=1, seed=seed) if method == methods[0] else []
                few = split_words(states, seed, rest_words)
                yield from _of_rest(subspace, few, [*few_windows, *controls], tolerance, **place_of_method)
                if method in compared:
                    yield from of_pairs(subspace, words, few_windows, chosen, tolerance, **place_of_method, definition=PAIRS)
                    continue
                no_bands = [window for window in layer_windows if window.kind != BAND]
                first_pairs = language_pairs_of(states, pairs, seeds[0])
                by_text = split_texts(states, texts[seed], seed)
                pairs_by_text = [pair for pair in chosen if by_text[0].keys() >= {*pair}]
                dealt = shuffled(words[0], seed), shuffled(words[1], seed)
                fixed = fits[seeds[0]][method]
                for definition, fitted, split, window_list, pair_list in (
                    (PAIRS, subspace, words, layer_windows, chosen),
                    (PAIRS_TEXTS, subspace, by_text, no_bands, pairs_by_text),
                    (PAIRS_SHUFFLED, subspace, dealt, few_windows, chosen),
                    (PAIRS_ONE_FIT, fixed, words, few_windows, chosen),
                    (PAIRS_ONE_DRAW, subspace, split_words(states_of_seeds[seeds[0]], seeds[0]), few_windows, first_pairs),
                ):
                    yield from of_pairs(
                        fitted, split, window_list, pair_list, tolerance, **place_of_method, definition=definition
                    )


def of_pairs(
    subspace: Subspace, split: tuple[States, States], window_list: Sequence[Window], pairs: Sequence[tuple[str, str]],
    tolerance: float, /,
    **common: Any,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Return a record for each window: the mean accuracy over pairs of languages, with its interval over languages."""
    coordinates = Coordinates.of(subspace, *split, window_list)
    accuracies = language_pairs(coordinates.train, coordinates.test, pairs, coordinates.columns, tolerance=tolerance)
    return coordinates.records(accuracies.values, pairs, **common, **accuracies.convergence())


def _of_rest(
    subspace: Subspace, split: tuple[States, States], window_list: Sequence[Window], tolerance: float, /, **common: Any
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Return a record for each window: the accuracy over all words, without an interval."""
    coordinates = Coordinates.of(subspace, *split, window_list)
    accuracy, accuracies = one_against_rest(coordinates.train, coordinates.test, coordinates.columns, tolerance=tolerance)
    return coordinates.records(accuracy[None], **common, **accuracies.convergence(), definition=ONE_AGAINST_REST)


def language_pairs_of(languages: Sequence[str] | States, count: int, seed: int) -> list[tuple[str, str]]:
    """Return at most `count` random pairs of languages; a seed has the same pairs at all layers."""
    every = list(combinations(sorted(languages), 2))
    order = np.random.default_rng(stream(seed, "pairs")).permutation(len(every))
    return [every[number] for number in np.sort(order[:count])]


def shuffled(states: States, seed: int) -> States:
    """Return the states redistributed at random, as many to each language as before, so that labels carry no information."""
    rows = np.random.default_rng(stream(seed, "shuffle")).permutation(np.concatenate([*states.values()]))
    parts = np.split(rows, np.cumsum([len(vectors) for vectors in states.values()])[:-1])
    return dict(zip(states, parts, strict=True))


@dataclass(frozen=True)
class Accuracies:
    """Accuracy of binary probes on test items, and the convergence of their fits; each array (probes, windows)."""

    values: np.ndarray
    gradients: np.ndarray  # largest absolute component of the gradient where the fit ended
    tolerance: float

    def convergence(self) -> dict[str, Any]:
        """Return part of a record: the largest gradient of all fits, and whether all have converged."""
        return {"gradient": float(self.gradients.max()), "converged": bool((self.gradients <= self.tolerance).all())}


def language_pairs(
    train: Mapping[str, np.ndarray], test: Mapping[str, np.ndarray], pairs: Sequence[tuple[str, str]],
    windows: Sequence[np.ndarray], *, tolerance: float,
) -> Accuracies:  # fmt: skip
    """Return the accuracies of a probe for each pair of languages and each window of coordinates.

    C is 1, scikit-learn's default.

    train, test: language -> coordinates, (m, d), m of any size. windows: numbers of the columns of each window. tolerance:
    largest gradient component of a converged fit.
    """
    columns = np.unique(np.concatenate(windows))
    places = [np.searchsorted(columns, window) for window in windows]
    longest = max(sum(len(train[language]) for language in pair) for pair in pairs)
    values, gradients = np.zeros((2, len(pairs), len(windows)))
    size = max(1, AT_ONCE // (longest * len(columns)))
    for start in range(0, len(pairs), size):
        block = slice(start, start + size)
        states, classes = _side_by_side(train, pairs[block], columns)
        probes = fit(states, classes[:, None], places, penalties=1.0, tolerance=tolerance)
        states, classes = _side_by_side(test, pairs[block], columns)
        correct = (probes.predict(states)[:, :, 0] == classes[:, None]).sum(2)
        values[block] = correct / (classes != LEFT_OUT).sum(1, keepdims=True)
        gradients[block] = probes.gradients[:, :, 0]
    return Accuracies(values, gradients, tolerance)


def one_against_rest(
    train: Mapping[str, np.ndarray], test: Mapping[str, np.ndarray], windows: Sequence[np.ndarray],
    *, tolerance: float,
) -> tuple[np.ndarray, Accuracies]:  # fmt: skip
    """Fit a probe for each language against all others and each window; arguments as for `language_pairs`.

    Returns the accuracy (= micro F1) of predicting the language whose probe has the highest score, (windows,), and the
    accuracies of the probes, (languages, windows), languages in the order of `train`.
    """
    numbers = np.arange(len(train))[:, None]
    classes = np.concatenate([np.full(len(train[name]), number) for number, name in enumerate(train)])
    truth = np.concatenate([np.full(len(test[name]), number) for number, name in enumerate(train)])
    states = np.concatenate([train[name] for name in train])[None]
    probes = fit(states, (classes == numbers)[None], windows, penalties=1.0, tolerance=tolerance)
    logits = probes.logits(np.concatenate([test[name] for name in train])[None])[0, :, :, 0].numpy()
    values = ((logits > 0) == (truth == numbers)).mean(2).T
    return (logits.argmax(1) == truth).mean(1), Accuracies(values, probes.gradients[0].T, tolerance)


def _side_by_side(
    states: Mapping[str, np.ndarray], pairs: Sequence[tuple[str, str]], columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates (pairs, n, columns) and classes (pairs, n); shorter pairs are padded with items of class LEFT_OUT."""
    sizes = [[len(states[language]) for language in pair] for pair in pairs]
    dtype = np.result_type(*{array.dtype for array in states.values()})
    padded = np.zeros((len(pairs), max(map(sum, sizes)), len(columns)), dtype)
    classes = np.full(padded.shape[:2], LEFT_OUT)
    for number, ((a, b), (m, n)) in enumerate(zip(pairs, sizes, strict=True)):
        padded[number, :m], padded[number, m : m + n] = states[a][:, columns], states[b][:, columns]
        classes[number, :m], classes[number, m : m + n] = 0, 1
    return padded, classes
