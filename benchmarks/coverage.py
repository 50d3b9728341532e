"""How often 95 % intervals cover the true value, simulated at the sizes of the studies (docs/intervals.md).

The first table is about intervals of scores (crosslens.numerics.intervals), the second about intervals of claims
(crosslens.numerics.estimates). `--write` writes them to coverage_scores.csv and coverage_claims.csv in the folder of this file;
benchmarks/README.md sums them up. Values and mean widths are in percent.
"""

import argparse
import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product, starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from crosslens.numerics.estimates import Estimate, add_errors, over_families, over_runs
from crosslens.numerics.f1 import Counts, accuracy, macro_f1, overall, token_counts
from crosslens.numerics.intervals import Sample, mean_interval, pairs_intervals, score_interval

FOLDER = Path(__file__).parent
SCORES = ("what varies", "true value", "coverage", "width")
CLAIMS = ("seeds", "languages", "families", "score", "effect", "coverage over seeds", "width over seeds")
CLAIMS += ("coverage over languages", "width over languages")
ALIKE = 0.65  # correlation of correctness between the languages of an XNLI pair, in the demo
POPULATION = 10**6

Ends = tuple[float, float]
Sampling = Callable[[np.random.Generator], Ends]


class Case(NamedTuple):
    """A row of the table; all numbers are fractions.

    name: what varies.
    truth: the true value.
    draw: returns the ends of the interval for a simulated sample.
    """

    name: str
    truth: float
    draw: Sampling


def pooled(pairs: int, languages: int, share: float) -> Case:
    """Accuracy over all languages of XNLI pairs, whose translations tend to be right or wrong together: a beta-binomial.

    share: true accuracy.
    """
    a, b = (part * (1 / ALIKE - 1) for part in (share, 1 - share))
    sample = Sample(np.tile(np.arange(pairs), languages), np.zeros(pairs, int))

    def draw(generator: np.random.Generator) -> Ends:
        right = (generator.random((languages, pairs)) < generator.beta(a, b, pairs)).astype(float).reshape(-1, 1)
        return score_interval(Counts(np.ones_like(right), np.ones_like(right), right), accuracy, sample)[1:]

    over = f"over {languages} languages" if languages > 1 else "in one language"
    return Case(f"pairs of XNLI: accuracy {over}, {pairs:,} pairs", share, draw)


def tags(sentences: int, best: float, worst: float, score: Callable[[Counts], np.ndarray], name: str) -> Case:
    """A score of tags in one language, with 17 classes of falling frequency; some sentences are harder than others.

    best, worst: share of correct tags in the most and in the least frequent class, without lucky guesses.
    """
    k = 17
    frequency = 1 / np.arange(1, k + 1) ** 1.5
    frequency, threshold = frequency / frequency.sum(), ndtri(np.linspace(best, worst, k)) * np.sqrt(1.3)

    def sample(generator: np.random.Generator, n: int) -> Counts:
        rows = np.repeat(np.arange(n), generator.integers(5, 30, n))
        gold, guesses = (generator.choice(k, len(rows), p=frequency) for _ in range(2))
        hardness = np.sqrt(0.3) * generator.standard_normal(n)[rows]
        right = generator.random(len(rows)) < ndtr(threshold[gold] + hardness)
        return token_counts(gold, np.where(right, gold, guesses), rows, n, k)

    def draw(generator: np.random.Generator) -> Ends:
        return score_interval(sample(generator, sentences), score)[1:]

    truth = float(score(overall(sample(np.random.default_rng(0), POPULATION // 20))))
    return Case(f"sentences: {name} of tags, {sentences:,} sentences", truth, draw)


def seeds(number: int, level: float, spread: float) -> Case:
    """Mean score of several training runs, with normal logits. level, spread: mean and standard deviation of the logits."""

    def draw(generator: np.random.Generator) -> Ends:
        return mean_interval(expit(level + spread * generator.standard_normal(number)))[1:]

    values = expit(level + spread * np.random.default_rng(0).standard_normal(POPULATION))
    return Case(f"seeds: {number} trainings, sd {100 * values.std():.1f}", float(values.mean()), draw)


def pairs_of_languages(languages: int, number: int | None, logit: float, of_language: float, of_pair: float) -> Case:
    """Mean accuracy of probes for pairs of languages, some easier to tell apart than others; 400 test words for each pair.

    number: most pairs in a sample; None: all.
    logit: mean logit of the accuracies.
    of_language, of_pair: standard deviations of the effects of languages and of pairs on the logit.
    """
    all_pairs = np.array(list(combinations(range(languages), 2)))

    def draw(generator: np.random.Generator) -> Ends:
        pairs = all_pairs[np.sort(generator.permutation(len(all_pairs))[:number])]
        effects = of_language * generator.standard_normal(languages)
        logits = logit + effects[pairs].sum(1) + of_pair * generator.standard_normal(len(pairs))
        values = generator.binomial(400, expit(logits)) / 400
        _, low, high = pairs_intervals(values[:, None], [(f"{a}", f"{b}") for a, b in pairs])
        return float(low[0]), float(high[0])

    noise = np.sqrt(2 * of_language**2 + of_pair**2) * np.random.default_rng(0).standard_normal(POPULATION)
    count = min(number or len(all_pairs), len(all_pairs))
    return Case(f"pairs of languages: {count} of {languages} languages", float(expit(logit + noise).mean()), draw)


def cases() -> Iterator[Case]:
    """Cases of the first table."""
    yield pooled(5010, 14, 0.70)
    yield pooled(60, 9, 0.86)
    yield pooled(60, 9, 0.99)
    for share in (0.86, 0.98, 0.995):
        yield pooled(60, 1, share)
    for sentences in (60, 1000):
        yield tags(sentences, 0.97, 0.6, accuracy, "accuracy")
        yield tags(sentences, 0.97, 0.6, partial(macro_f1, classes="true"), "macro F1")
        yield tags(sentences, 0.9995, 0.98, accuracy, "accuracy")
    for number in (3, 5):
        for level, spread in ((2.0, 0.1), (4.0, 0.3), (4.0, 1.0)):
            yield seeds(number, level, spread)
    for languages, number in ((5, None), (12, None), (33, None), (104, 600)):
        yield pairs_of_languages(languages, number, 3.0, 0.5, 0.5)
    yield pairs_of_languages(33, None, 1.0, 0.4, 0.6)


def row(case: Case, repeats: int) -> list[str]:
    """A line of the first table; a missing interval does not cover the true value."""
    generator = np.random.default_rng(1)
    low, high = np.array([case.draw(generator) for _ in range(repeats)]).T
    coverage = ((low <= case.truth) & (case.truth <= high)).mean()
    return [case.name, f"{100 * case.truth:.1f}", f"{coverage:.2f}", f"{100 * np.nanmean(high - low):.1f}"]


class Study(NamedTuple):
    """A simulated study of two models; the logits of their scores are normal.

    seeds: number of training runs of each model.
    families: number of languages in each family.
    score: typical score of the first model, as a fraction.
    """

    seeds: int
    families: tuple[int, ...]
    score: float

    @property
    def names(self) -> list[str]:
        """Family of each language."""
        return [f"{number}" for number, size in enumerate(self.families) for _ in range(size)]

    def languages(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Level of the first model and effect of the second in each language, in logits; families have 0.4 of the variance."""

        def by_language(spread: float) -> np.ndarray:
            of_families = np.repeat(generator.standard_normal(len(self.families)), self.families)
            alone = generator.standard_normal(len(of_families))
            return spread * (np.sqrt(0.4) * of_families + np.sqrt(0.6) * alone)

        return logit(self.score) + by_language(0.5), 0.3 + by_language(0.25)

    def differences(self, generator: np.random.Generator, levels: np.ndarray, effects: np.ndarray, seeds: int) -> np.ndarray:
        """Second model minus first, in points, (n_languages, n_seeds); languages share three quarters of a seed's variance."""

        def trained(means: np.ndarray) -> np.ndarray:
            common, alone = generator.standard_normal((1, seeds)), generator.standard_normal((len(means), seeds))
            return expit(means[:, None] + 0.15 * (np.sqrt(0.75) * common + np.sqrt(0.25) * alone))

        return 100 * (trained(levels + effects) - trained(levels))


FAMILIES = {8: (5, 1, 1, 1), 15: (8, 1, 1, 1, 1, 1, 1, 1), 33: (17, 3, 2, 2, *[1] * 9)}
"""Number of languages -> sizes of their families, about as in the papers."""


def over_languages(values: np.ndarray, families: Sequence[str], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """Mean over families of languages and over runs, with the error over families and the error over runs.

    All languages share the runs.

    values: (n_languages, n_runs).
    families: family of each language.
    """
    estimate = over_families(values.mean(axis=1), families, bounds)
    if values.shape[1] == 1:
        return estimate
    return add_errors(estimate, over_runs(np.array([over_families(run, families).value for run in values.T])))


def of_claim(study: Study, repeats: int) -> tuple[float, np.ndarray, np.ndarray]:
    """True mean effect over languages; coverage and mean width, each (2,), of intervals over seeds and over languages."""
    generator, bounds = np.random.default_rng(1), (-100.0, 100.0)
    fixed = study.languages(generator)
    truths = [
        study.differences(generator, *fixed, POPULATION // 50).mean(),
        np.mean([study.differences(generator, *study.languages(generator), 1).mean() for _ in range(POPULATION // 50)]),
    ]
    ends = [
        (
            over_runs(study.differences(generator, *fixed, study.seeds).mean(0), bounds).interval()[1:],
            over_languages(
                study.differences(generator, *study.languages(generator), study.seeds), study.names, bounds
            ).interval()[1:],
        )
        for _ in range(repeats)
    ]
    low, high = np.moveaxis(np.array(ends), 2, 0)
    return float(truths[1]), ((low <= truths) & (truths <= high)).mean(0), (high - low).mean(0)


def row_of_claim(study: Study, repeats: int) -> list[str]:
    """A line of the second table."""
    truth, coverage, width = of_claim(study, repeats)
    sizes = (study.seeds, sum(study.families), len(study.families))
    cells = [text for share, points in zip(coverage, width, strict=True) for text in (f"{share:.3f}", f"{points:.1f}")]
    return [*map(str, sizes), f"{100 * study.score:.0f}", f"{truth:.1f}", *cells]


def main() -> None:
    """Print the tables, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="to coverage_scores.csv and coverage_claims.csv")
    arguments = parser.parse_args()
    studies = starmap(Study, product((3, 5, 10), FAMILIES.values(), (0.03, 0.5, 0.97)))
    for name, head, rows in (
        ("scores", SCORES, (row(case, arguments.repeats) for case in cases())),
        ("claims", CLAIMS, (row_of_claim(study, 2 * arguments.repeats) for study in studies)),
    ):
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        for line in (head, *rows):
            writer.writerow(line)
            print(", ".join(line), flush=True)
        if arguments.write:
            (FOLDER / f"coverage_{name}.csv").write_text(table.getvalue(), "utf-8")


if __name__ == "__main__":
    main()
