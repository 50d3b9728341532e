"""What probes tell of a language's typology from its words: WALS's features, liang2021, section 4.2.

A probe can learn a feature by learning languages, if it is tested on languages that it was trained on, as the paper tests it.
So beside that split stand values that were shuffled among languages, and a split that holds out whole families, with the most
frequent value.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosslens.encoding.stored import by_language, layers
from crosslens.measures.coordinates import Read, States, held_out, split_words, subspaces
from crosslens.measures.given import Given
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
from crosslens.storage import parquet

READS = ("states", "typology")
AT_ONCE = 2**26  # logits of test words in memory at once
HELD_OUT = (FIRST, SCATTERED)  # windows that are tested on families that were held out

Values = Mapping[str, Mapping[str, int]]
"""Feature -> language -> value."""


def measure(
    given: Given, *, corpus: str, typology: str, methods: Sequence[str], seeds: Sequence[int], share: float,
    family: Mapping[str, str], features: int | None, words: int, held_out_words: int, folds: int, dimensions: Sequence[int],
    bands: Sequence[int], layer_dimension: int, band: int, draws: int, tolerance: float, multinomial: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Mean micro F1 over features for each seed with a fit, words, features, folds and random windows of its own.

    typology: the corpus of given.typology. features: so many random ones, the same at all layers, None: all. words,
    held_out_words: of a language, for the first split and for the second. folds: parts of the families, each held out
    once. multinomial: one probe for all values of a feature instead of one for each. Windows as in language_identification;
    families are held out for those of `HELD_OUT` alone.
    """
    paths = by_language(given.folder / corpus)
    stored = layers(given.folder / corpus)
    assert given.typology is not None
    table = parquet.read(given.typology, columns=["feature", "language", "value"])
    known = of_languages(values_of(*(table[name].to_pylist() for name in table.column_names)), paths)
    for layer in stored:
        fits = subspaces(paths, layer, methods, seeds, share)
        states = held_out(paths, layer)
        for seed in seeds:
            chosen = drawn(known, features, seed)
            mixed, parts = shuffled(chosen, seed), folds_of(states, family, folds, seed)
            same, other = split_words(states, seed, words), split_words(states, seed, held_out_words)
            guessed = majority(chosen, parts)
            for method in methods:
                subspace = fits[seed][method]
                own: dict[str, Any] = {"corpus": corpus, "seed": seed, "layer": layer, "item": "typology", "measure": "typology"}
                shown = of_layer(
                    layer == stored[-1], dimensions=dimensions, bands=bands, layer_dimension=layer_dimension,
                    width=len(subspace.basis), rank=subspace.rank, size=band, draws=draws, seed=seed,
                )  # fmt: skip
                few = [window for window in shown if window.kind in HELD_OUT]
                for definition, of, part, these, split in (
                    (FEATURES, chosen, None, shown, same),
                    (FEATURES_SHUFFLED, mixed, None, few, same),
                    (FEATURES_HELD_OUT, chosen, parts, few, other),
                ):
                    read = Read.of(subspace, *split, these)
                    found = micro_f1(read, of, part, tolerance, multinomial=multinomial)
                    ended = {"gradient": found.gradient, "converged": found.gradient <= tolerance}
                    yield from read.records(found.values, **own, **ended, subspace=method, definition=definition)
                if len(guessed):
                    value, low, high = mean_interval(guessed, items=True)
                    yield own | {"subspace": None, "definition": FEATURES_MAJORITY, "value": value, "low": low, "high": high,
                                 "n": len(guessed), "language": "all", "split": "test"}  # fmt: skip


def values_of(features: Sequence[str], languages: Sequence[str], values: Sequence[int]) -> dict[str, dict[str, int]]:
    """Of rows, by feature and language."""
    found: dict[str, dict[str, int]] = {}
    for feature, language, value in zip(features, languages, values, strict=True):
        found.setdefault(feature, {})[language] = value
    return found


def of_languages(known: Values, languages: Container[str]) -> Values:
    """Of some languages, features with at least two values among them."""
    own = {name: {code: value for code, value in values.items() if code in languages} for name, values in known.items()}
    return {name: values for name, values in own.items() if len(set(values.values())) > 1}


def drawn(known: Values, count: int | None, seed: int) -> Values:
    """So many random features, or all."""
    names = sorted(known)
    order = np.random.default_rng(stream(seed, "features")).permutation(len(names))
    return {names[number]: known[names[number]] for number in np.sort(order[:count])}


def shuffled(known: Values, seed: int) -> Values:
    """The same values, of each feature in another order of its languages."""
    generator, found = np.random.default_rng(stream(seed, "shuffle")), {}
    for name, values in known.items():
        found[name] = dict(zip(values, generator.permutation([*values.values()]).tolist(), strict=True))
    return found


def folds_of(languages: Sequence[str] | States, family: Mapping[str, str], count: int, seed: int) -> list[list[str]]:
    """Languages in `count` parts or fewer, families whole: large ones first, each to the smallest part."""
    families: dict[str, list[str]] = {}
    for language in languages:
        families.setdefault(family[language], []).append(language)
    parts: list[list[str]] = [[] for _ in range(min(count, len(families)))]
    order = np.random.default_rng(stream(seed, "folds")).permutation(sorted(families))
    for name in sorted(order, key=lambda name: -len(families[name])):
        min(parts, key=len).extend(families[name])
    return parts


def majority(known: Values, parts: Sequence[Sequence[str]]) -> np.ndarray:
    """Micro F1 of naming the most frequent value of the languages that are not held out, of features that can be tested so."""
    found = []
    for values in known.values():
        right = total = 0
        for part in parts:
            rest = [value for language, value in values.items() if language not in part]
            if len(set(rest)) < 2:  # as of a probe: nothing can be learnt
                continue
            tested = [value for language, value in values.items() if language in part and value in rest]
            total += len(tested)
            right += sum(value == max(sorted(set(rest)), key=rest.count) for value in tested)
        found += [right / total] if total else []
    return np.array(found)


@dataclass(frozen=True)
class Found:
    """Micro F1 of each feature that can be tested and draw, (features, draws), and the largest gradient where a fit ended."""

    values: np.ndarray
    gradient: float


def micro_f1(
    read: Read, known: Values, parts: Sequence[Sequence[str]] | None, tolerance: float, *, multinomial: bool
) -> Found:  # fmt: skip
    """Micro F1, the share of words whose value is named, by the probes of a feature and part.

    These are one for each value against the rest, of which the most certain names the value (liang2021, section 4.2), or a
    multinomial one: what LogisticRegression() of the released code is depends on the version of scikit-learn, the former until
    0.21, the latter since. Of two values they are the same.
    parts: languages that are held out together, each probe being tested on those words of theirs whose value it was trained on;
    None: no language is, and probes are tested on other words of the same languages. Features with equally many values are
    solved together, and so are all parts.
    """
    predict = _multinomial if multinomial else _one_against_rest
    names = list(known)
    train, test = (np.concatenate([*part.values()]) for part in (read.train, read.test))
    correct, tested = np.zeros((len(names), len(read.columns))), np.zeros(len(names))
    gradient = 0.0
    for numbers in _alike(known):
        targets = [(number, part) for number in numbers for part in (parts if parts is not None else [()])]
        of_train, of_test = [], []
        for number, part in targets:
            classes = _classes(known[names[number]])
            seen = {language: number for language, number in classes.items() if language not in part}
            asked = {language: number for language, number in classes.items() if language in part} if parts is not None else seen
            of_train.append(_by_word(read.train, seen))
            of_test.append(_by_word(read.test, {language: value for language, value in asked.items() if value in seen.values()}))
        two = [len(np.unique(row[row != LEFT_OUT])) > 1 for row in of_train]  # of others nothing can be learnt
        rows = np.flatnonzero(two)
        truth = np.array(of_test)[rows]
        owners = np.array([number for number, _ in targets])[rows]
        np.add.at(tested, owners, (truth != LEFT_OUT).sum(1))
        size = max(1, AT_ONCE // (max(1, truth.size) * len(set(known[names[numbers[0]]].values()))))
        for start in range(0, len(read.columns) if len(rows) else 0, size):
            some = slice(start, start + size)
            predictions, largest = predict(train, np.array(of_train)[rows], test, read.columns[some], tolerance)
            gradient = max(gradient, largest)
            right = ((predictions == truth) & (truth != LEFT_OUT)).sum(2)
            for place, of_draw in enumerate(right, start):
                np.add.at(correct[:, place], owners, of_draw)
    complete = tested > 0
    return Found(correct[complete] / tested[complete, None], gradient)


def _multinomial(
    train: np.ndarray, classes: np.ndarray, test: np.ndarray, columns: Sequence[np.ndarray], tolerance: float
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Classes of test words (m, d) by one probe for each target and set of columns, (columns, targets, m); largest gradient.

    train: (n, d); classes: of each target, (targets, n), LEFT_OUT where a word is none of its.
    """
    probes = fit(train[None], classes[None], columns, penalties=1.0, tolerance=tolerance)
    return probes.predict(test[None])[0], float(probes.gradients.max())


def _one_against_rest(
    train: np.ndarray, classes: np.ndarray, test: np.ndarray, columns: Sequence[np.ndarray], tolerance: float
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Classes of test words by a probe for each class of a target against its others; largest gradient. See `_multinomial`.

    A word has the class whose probe has the highest score.
    """
    pairs = [(target, number) for target, row in enumerate(classes) for number in np.unique(row[row != LEFT_OUT])]
    binary = [np.where(classes[target] == LEFT_OUT, LEFT_OUT, classes[target] == number) for target, number in pairs]
    probes = fit(train[None], np.array(binary)[None], columns, penalties=1.0, tolerance=tolerance)
    logits = probes.logits(test[None])[0, :, :, 0].cpu().numpy()  # (columns, pairs, m)
    best = np.full((len(columns), len(classes), len(test)), -np.inf, logits.dtype)
    predictions = np.zeros(best.shape, np.int64)
    for place, (target, number) in enumerate(pairs):
        higher = logits[:, place] > best[:, target]
        predictions[:, target] = np.where(higher, number, predictions[:, target])
        best[:, target] = np.where(higher, logits[:, place], best[:, target])
    return predictions, float(probes.gradients.max())


def _alike(known: Values) -> list[list[int]]:
    """Numbers of features, those with equally many values together."""
    groups: dict[int, list[int]] = {}
    for number, values in enumerate(known.values()):
        groups.setdefault(len(set(values.values())), []).append(number)
    return list(groups.values())


def _classes(values: Mapping[str, int]) -> dict[str, int]:
    """Language -> number of its value among those that occur."""
    numbers = {value: number for number, value in enumerate(sorted(set(values.values())))}
    return {language: numbers[value] for language, value in values.items()}


def _by_word(states: States, classes: Mapping[str, int]) -> np.ndarray:
    """Of each word its language's class, LEFT_OUT where it has none: (words,)."""
    return np.repeat([classes.get(language, LEFT_OUT) for language in states], [len(vectors) for vectors in states.values()])
