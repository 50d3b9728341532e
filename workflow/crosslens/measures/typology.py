"""Accuracy of probes that predict typological features (WALS) from the states of words: liang2021, section 4.2.

A probe that is tested on the languages it was trained on, as in the paper, can learn languages instead of features. There are
two controls: values shuffled among languages, and a split that holds out whole families. The latter has a baseline, the most
frequent value.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import by_language, layers
from crosslens.jobs import parquet
from crosslens.measures.shared.coordinates import Coordinates, States, held_out, split_words, subspaces, words_of_seeds
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import (
    FEATURES,
    FEATURES_HELD_OUT,
    FEATURES_MAJORITY,
    FEATURES_SHUFFLED,
)
from crosslens.numerics.intervals import mean_interval
from crosslens.numerics.logistic import LEFT_OUT, fit
from crosslens.numerics.streams import stream
from crosslens.numerics.windows import FIRST, SCATTERED, of_layer

AT_ONCE = 2**26  # number of logits of test words in memory at a time
HELD_OUT = (FIRST, SCATTERED)  # kinds of windows that are tested with shuffled values and held-out families too

Values = Mapping[str, Mapping[str, int]]
"""Feature -> language -> value."""


def measure(
    subject: Subject, *, corpus: str, typology: str, methods: Sequence[str], seeds: Sequence[int], share: float | None,
    family: Mapping[str, str], features: int | None, words: int, held_out_words: int, folds: int, dimensions: Sequence[int],
    bands: Sequence[int], layer_dimension: int, band: int, draws: int, tolerance: float, multinomial: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the mean micro F1 over features; each seed has its own fit, words, features, folds and random windows.

    Windows are those of language_identification; only the kinds in `HELD_OUT` are tested with shuffled values and held-out
    families.

    typology: name of the corpus in subject.typology. family: language -> family. features: number of random features, the same
    at all layers; None: all. words, held_out_words: numbers of words per language for the paper's split and for the split by
    families. folds: number of parts of the families, each held out once. multinomial: whether one probe predicts all values of
    a feature, rather than one probe each value.
    """
    paths = by_language(subject.folder / corpus)
    stored_layers = layers(subject.folder / corpus)
    assert subject.typology is not None
    table = parquet.read(subject.typology, columns=["feature", "language", "value"])
    feature_values = of_languages(values_of(*(table[name].to_pylist() for name in table.column_names)), paths)
    fit_words, test_words = (words_of_seeds(paths, split, seeds, share) for split in ("train", "test"))
    for layer in stored_layers:
        fits = subspaces(paths, layer, methods, fit_words, share)
        for seed, states in held_out(paths, layer, test_words).items():
            chosen = sample_features(feature_values, features, seed)
            mixed, parts = shuffled(chosen, seed), folds_of(states, family, folds, seed)
            same, split_for_families = split_words(states, seed, words), split_words(states, seed, held_out_words)
            guessed = majority(chosen, parts)
            for method in methods:
                subspace = fits[seed][method]
                place: dict[str, Any] = {
                    "corpus": corpus,
                    "seed": seed,
                    "layer": layer,
                    "item": "typology",
                    "measure": "typology",
                }
                layer_windows = of_layer(
                    layer == stored_layers[-1], dimensions=dimensions, bands=bands, layer_dimension=layer_dimension,
                    width=len(subspace.basis), rank=subspace.rank, size=band, draws=draws, seed=seed,
                )  # fmt: skip
                few = [window for window in layer_windows if window.kind in HELD_OUT]
                for definition, values, part, window_list, split in (
                    (FEATURES, chosen, None, layer_windows, same),
                    (FEATURES_SHUFFLED, mixed, None, few, same),
                    (FEATURES_HELD_OUT, chosen, parts, few, split_for_families),
                ):
                    coordinates = Coordinates.of(subspace, *split, window_list)
                    scores = micro_f1(coordinates, values, part, tolerance, multinomial=multinomial)
                    convergence = {"gradient": scores.gradient, "converged": scores.gradient <= tolerance}
                    yield from coordinates.records(scores.values, **place, **convergence, subspace=method, definition=definition)
                if len(guessed):
                    value, low, high = mean_interval(guessed, items=True)
                    yield place | {"subspace": None, "definition": FEATURES_MAJORITY, "value": value, "low": low, "high": high,
                                 "n": len(guessed), "language": "all", "split": "test"}  # fmt: skip


def values_of(features: Sequence[str], languages: Sequence[str], values: Sequence[int]) -> dict[str, dict[str, int]]:
    """Return feature -> language -> value, from the columns of a table with one row per value."""
    values_by_feature: dict[str, dict[str, int]] = {}
    for feature, language, value in zip(features, languages, values, strict=True):
        values_by_feature.setdefault(feature, {})[language] = value
    return values_by_feature


def of_languages(feature_values: Values, languages: Container[str]) -> Values:
    """Return the values of some languages, without features that have fewer than two different values among them."""
    values_of_languages = {
        name: {code: value for code, value in values.items() if code in languages} for name, values in feature_values.items()
    }
    return {name: values for name, values in values_of_languages.items() if len(set(values.values())) > 1}


def sample_features(feature_values: Values, count: int | None, seed: int) -> Values:
    """Return `count` random features, or all if count is None."""
    names = sorted(feature_values)
    order = np.random.default_rng(stream(seed, "features")).permutation(len(names))
    return {names[number]: feature_values[names[number]] for number in np.sort(order[:count])}


def shuffled(feature_values: Values, seed: int) -> Values:
    """Return the feature values, with those of each feature shuffled among its languages."""
    generator, shuffled_values = np.random.default_rng(stream(seed, "shuffle")), {}
    for name, values in feature_values.items():
        shuffled_values[name] = dict(zip(values, generator.permutation([*values.values()]).tolist(), strict=True))
    return shuffled_values


def folds_of(languages: Sequence[str] | States, family: Mapping[str, str], count: int, seed: int) -> list[list[str]]:
    """Return the languages in at most `count` parts without dividing families.

    The largest family is placed first, into the smallest part. family: language -> family.
    """
    families: dict[str, list[str]] = {}
    for language in languages:
        families.setdefault(family[language], []).append(language)
    parts: list[list[str]] = [[] for _ in range(min(count, len(families)))]
    order = np.random.default_rng(stream(seed, "folds")).permutation(sorted(families))
    for name in sorted(order, key=lambda name: -len(families[name])):
        min(parts, key=len).extend(families[name])
    return parts


def majority(feature_values: Values, parts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the micro F1 of predicting the most frequent value of the languages that are not held out, (testable features,).

    parts: groups of languages, each held out together.
    """
    scores = []
    for values in feature_values.values():
        right = total = 0
        for part in parts:
            rest = [value for language, value in values.items() if language not in part]
            if len(set(rest)) < 2:  # a probe cannot be trained on one value, so the baseline skips it too
                continue
            tested = [value for language, value in values.items() if language in part and value in rest]
            total += len(tested)
            right += sum(value == max(sorted(set(rest)), key=rest.count) for value in tested)
        scores += [right / total] if total else []
    return np.array(scores)


@dataclass(frozen=True)
class Scores:
    """Micro F1 of each testable feature and draw, (features, draws), and the largest gradient at the end of a fit."""

    values: np.ndarray
    gradient: float


def micro_f1(
    coordinates: Coordinates, feature_values: Values, parts: Sequence[Sequence[str]] | None, tolerance: float,
    *, multinomial: bool,
) -> Scores:  # fmt: skip
    """Return the micro F1, the share of correctly classified words, of the probes of each feature.

    All parts and features are solved together; with multinomial probes, all parts of features with equally many values.

    parts: groups of languages, each held out together; a probe is tested on those of their words whose value occurs in its
    training data. None: no language is held out, and probes are tested on other words of the same languages.
    multinomial: whether a multinomial probe predicts all values. If not, one probe predicts each value against the rest, and
    the most certain one decides (liang2021, section 4.2). LogisticRegression() of the released code does the latter up to
    scikit-learn 0.21, the former since. For two values they are the same.
    """
    predict = _multinomial if multinomial else _one_against_rest
    names = list(feature_values)
    train, test = (np.concatenate([*part.values()]) for part in (coordinates.train, coordinates.test))
    correct, tested = np.zeros((len(names), len(coordinates.columns))), np.zeros(len(names))
    gradient = 0.0
    for numbers in _alike(feature_values) if multinomial else [range(len(names))]:
        targets = [(number, part) for number in numbers for part in (parts if parts is not None else [()])]
        of_train, of_test = [], []
        for number, part in targets:
            classes = _classes(feature_values[names[number]])
            train_classes = {language: number for language, number in classes.items() if language not in part}
            test_classes = (
                {language: number for language, number in classes.items() if language in part}
                if parts is not None
                else train_classes
            )
            of_train.append(_by_word(coordinates.train, train_classes))
            of_test.append(
                _by_word(
                    coordinates.test,
                    {language: value for language, value in test_classes.items() if value in train_classes.values()},
                )
            )
        two = [len(np.unique(row[row != LEFT_OUT])) > 1 for row in of_train]  # nothing can be learned from a single value
        rows = np.flatnonzero(two)
        truth = np.array(of_test)[rows]
        owners = np.array([number for number, _ in targets])[rows]
        np.add.at(tested, owners, (truth != LEFT_OUT).sum(1))
        classes_at_most = max(len(set(feature_values[names[number]].values())) for number in numbers)
        size = max(1, AT_ONCE // (max(1, truth.size) * classes_at_most))
        for start in range(0, len(coordinates.columns) if len(rows) else 0, size):
            block = slice(start, start + size)
            predictions, largest = predict(train, np.array(of_train)[rows], test, coordinates.columns[block], tolerance)
            gradient = max(gradient, largest)
            right = ((predictions == truth) & (truth != LEFT_OUT)).sum(2)
            for place, of_draw in enumerate(right, start):
                np.add.at(correct[:, place], owners, of_draw)
    complete = tested > 0
    return Scores(correct[complete] / tested[complete, None], gradient)


def _multinomial(
    train: np.ndarray, classes: np.ndarray, test: np.ndarray, columns: Sequence[np.ndarray], tolerance: float
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the classes of test words by one probe for each target and set of columns, and the largest gradient.

    The classes are (columns, targets, m). train: (n, d). test: (m, d). classes: (targets, n), LEFT_OUT if a target does not use
    a word.
    """
    probes = fit(train[None], classes[None], columns, penalties=1.0, tolerance=tolerance)
    return probes.predict(test[None])[0], float(probes.gradients.max())


def _one_against_rest(
    train: np.ndarray, classes: np.ndarray, test: np.ndarray, columns: Sequence[np.ndarray], tolerance: float
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the classes of test words by a probe for each class against the rest, and the largest gradient.

    The classes are (columns, targets, m); arguments as for `_multinomial`. A word gets the class of the probe with the highest
    score. If there are two classes, the first has no probe of its own, since its scores would be those of the second with the
    opposite sign.
    """
    present = [np.unique(row[row != LEFT_OUT]) for row in classes]
    probed = [numbers[1:] if len(numbers) == 2 else numbers for numbers in present]
    pairs = [(target, number) for target, numbers in enumerate(probed) for number in numbers]
    binary = [np.where(classes[target] == LEFT_OUT, LEFT_OUT, classes[target] == number) for target, number in pairs]
    probes = fit(train[None], np.array(binary)[None], columns, penalties=1.0, tolerance=tolerance)
    logits = probes.logits(test[None])[0, :, :, 0].cpu().numpy()  # (columns, pairs, m)
    best = np.zeros((len(columns), len(classes), len(test)), logits.dtype)
    predictions = np.broadcast_to(np.array([numbers[0] for numbers in present])[:, None], best.shape).copy()
    best[:, [len(numbers) > 2 for numbers in present]] = -np.inf
    for place, (target, number) in enumerate(pairs):
        higher = logits[:, place] > best[:, target]
        predictions[:, target] = np.where(higher, number, predictions[:, target])
        best[:, target] = np.where(higher, logits[:, place], best[:, target])
    return predictions, float(probes.gradients.max())


def _alike(feature_values: Values) -> list[list[int]]:
    """Return the numbers of the features, grouped by how many values a feature has."""
    groups: dict[int, list[int]] = {}
    for number, values in enumerate(feature_values.values()):
        groups.setdefault(len(set(values.values())), []).append(number)
    return list(groups.values())


def _classes(values: Mapping[str, int]) -> dict[str, int]:
    """Return language -> class, the rank of its value among the feature's different values, from 0."""
    numbers = {value: number for number, value in enumerate(sorted(set(values.values())))}
    return {language: numbers[value] for language, value in values.items()}


def _by_word(states: States, classes: Mapping[str, int]) -> np.ndarray:
    """Return the class of each word's language, (n_words,); LEFT_OUT where the language has none."""
    return np.repeat([classes.get(language, LEFT_OUT) for language in states], [len(vectors) for vectors in states.values()])
