"""Language probes, many solved together, compared with a loop of scikit-learn's LogisticRegression on the same coordinates.

    python benchmarks/probes.py

The states are synthetic: 13 languages with 3,000 vectors each, d = 384. The problems are the probes of one layer in figures 1
and 3 of liang2021: pairs of languages at [0:x], [x:2x] and x random coordinates, and each language against the rest at [0:x],
for x = 1, 10, 20, ... 190; and all pairs at x = 1. Coordinates are DensRay's; four fifths of the vectors are for training.

The loop uses scikit-learn's defaults. It is slow, so it solves an even share of the problems of each kind. It multiplies
matrices with vectors, which a second thread hardly helps and a busy machine slows down; so it has one thread, ours --threads.
On a busy machine, `--clock cpu --threads 1` counts seconds of the processor, not of the wall clock.
"""

import argparse
import itertools
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence

import common
import numpy as np
import torch
from crosslens.measures.language_identification import language_pairs, one_against_rest
from crosslens.numerics.densray import densray
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.windows import contiguous, first, following
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

TOLERANCE = 1e-5  # ours; scikit-learn stops at 1e-4
Split = Mapping[str, np.ndarray]


def made_up(languages: int, n: int, d: int) -> dict[str, np.ndarray]:
    """Random vectors around the mean of each language, (n, d); variation that languages share has a falling spectrum."""
    generator = np.random.default_rng(0)
    axes = np.linalg.qr(generator.normal(size=(d, d)))[0] * np.exp(-np.arange(d) / (d / 4))
    means = 0.1 * generator.normal(size=(languages, d))
    return {f"{i:02}": (mean + generator.normal(size=(n, d)) @ axes.T).astype(np.float32) for i, mean in enumerate(means)}


def coordinates(states: Split) -> tuple[Split, Split]:
    """Training and test coordinates, four fifths and one fifth of each language, in DensRay's basis, completed to d."""
    parts: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = {}, {}
    sums = Statistics(next(iter(states.values())).shape[1])
    for number, (language, vectors) in enumerate(states.items()):
        order = np.random.default_rng(number).permutation(len(vectors))
        cut = int(0.8 * len(order))
        parts[0][language], parts[1][language] = vectors[order[:cut]], vectors[order[cut:]]
        sums.update(parts[0][language], language)
    basis = densray(sums).completed(seed=0).basis.astype(np.float32)
    return {name: part @ basis for name, part in parts[0].items()}, {name: part @ basis for name, part in parts[1].items()}


def alone(train: np.ndarray, classes: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    """Test accuracy of one of scikit-learn's probes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(LogisticRegression().fit(train, classes).score(test, truth))


def pair_alone(train: Split, test: Split, pair: tuple[str, str], window: np.ndarray) -> float:
    parts = [np.concatenate([part[name] for name in pair])[:, window] for part in (train, test)]
    classes = [np.repeat([0, 1], [len(part[name]) for name in pair]) for part in (train, test)]
    return alone(parts[0], classes[0], parts[1], classes[1])


def rest_alone(train: Split, test: Split, language: str, window: np.ndarray) -> float:
    parts = [np.concatenate(list(part.values()))[:, window] for part in (train, test)]
    classes = [np.concatenate([np.full(len(part[name]), name == language) for name in part]) for part in (train, test)]
    return alone(parts[0], classes[0], parts[1], classes[1])


def times(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """How many times as long theirs takes, as text: median and range over repeats."""
    ratios = np.divide(theirs, ours)
    return f"{np.median(ratios):.1f} times ({ratios.min():.1f} to {ratios.max():.1f})"


def main() -> None:
    """Time both arms in turn, kind by kind, and compare their accuracies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", type=int, default=13)
    parser.add_argument("--vectors", type=int, default=3000, help="of each language")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--pairs", type=int, default=10, help="pairs of languages for the windows of figure 1")
    parser.add_argument("--looped", type=int, default=15, help="one problem of so many that the loop solves")
    common.machine_arguments(parser, 3)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    train, test = coordinates(made_up(settings.languages, settings.vectors, settings.width))
    width, names = next(iter(train.values())).shape[1], list(train)
    generator = np.random.default_rng(0)
    xs = [1, *range(10, 200, 10)]
    windows = [window for x in xs for window in (first(x), following(x, width), contiguous(x, width, x, width - x, generator))]
    pairs = list(itertools.combinations(names, 2))
    some = [pairs[i] for i in generator.permutation(len(pairs))[: settings.pairs]]
    prefixes = [first(x) for x in xs]
    kinds: dict[str, tuple[Callable[[], np.ndarray], list[Callable[[], float]]]] = {
        "figure 1, pairs": (
            lambda: language_pairs(train, test, some, windows, tolerance=TOLERANCE).values,
            [lambda p=p, w=w: pair_alone(train, test, p, w) for p in some for w in windows],  # type: ignore[misc]
        ),
        "figure 1, one against the rest": (
            lambda: one_against_rest(train, test, prefixes, tolerance=TOLERANCE)[1].values,
            [lambda n=n, w=w: rest_alone(train, test, n, w) for n in names for w in prefixes],  # type: ignore[misc]
        ),
        "figure 3, all pairs at x = 1": (
            lambda: language_pairs(train, test, pairs, [first(1)], tolerance=TOLERANCE).values,
            [lambda p=p: pair_alone(train, test, p, first(1)) for p in pairs],  # type: ignore[misc]
        ),
    }
    seconds: dict[tuple[str, str], list[float]] = {}
    accuracies: dict[str, np.ndarray] = {}
    gaps: dict[str, list[float]] = {}
    for repeat in range(settings.repeats):
        for kind, (together, loop) in kinds.items():
            torch.set_num_threads(settings.threads)
            with threadpool_limits(1):
                start = clock()
                accuracies[kind] = together().ravel()
                middle = clock()
                chosen = np.arange(repeat, len(loop), settings.looped)
                theirs = np.array([loop[i]() for i in chosen])
                end = clock()
            seconds.setdefault((kind, "ours"), []).append(middle - start)
            seconds.setdefault((kind, "loop"), []).append((end - middle) * len(loop) / len(chosen))
            gaps.setdefault(kind, []).extend(accuracies[kind][chosen] - theirs)
    print(f"{len(names)} languages, {sum(map(len, train.values()))} vectors to train, {sum(map(len, test.values()))} to test, "
          f"d = {width}, {common.machine(settings)}")  # fmt: skip
    for kind, (_, loop) in kinds.items():
        ours, theirs = (seconds[kind, arm] for arm in ("ours", "loop"))
        print(f"{kind}: {len(loop)} probes, ours {statistics.median(ours):.2f} s, {times(ours, theirs)} as fast; "
              f"mean accuracy {accuracies[kind].mean():.4f}, "
              f"differences {np.mean(gaps[kind]):+.5f} on average, {np.abs(gaps[kind]).max():.4f} at most")  # fmt: skip
    totals = (np.sum([seconds[kind, arm] for kind in kinds], axis=0) for arm in ("ours", "loop"))
    print(f"all: {times(*totals)}")


if __name__ == "__main__":
    main()
