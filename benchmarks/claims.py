"""False positives and power of verdicts on claims, from simulations of the whole procedure with planted effects.

    python benchmarks/claims.py [--draws 10000]     # prints a table; an hour on one core

True claims are simulated a tenth as often, because their rates need not be as exact.

Each shape occurs among the claims of the papers. A false claim is only just false: its effect lies at the border of the region,
or its control has the same effect, or one of many parts has none. The effect of a true claim lies STEP standard deviations of a
training run beyond the border. The table shows how often the verdict is "holds".
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from crosslens.reports.claims.claims_file import ClaimsFile  # noqa: E402
from crosslens.reports.claims.evidence import Evidence  # noqa: E402
from crosslens.reports.claims.verdicts import HOLDS, decide  # noqa: E402

LANGUAGES = ("de", "fr", "es", "ru", "hi", "fi", "hu", "tr", "ar", "zh", "vi", "th", "sw", "ja")
"""Languages of nine families; five are Indo-European, two Uralic."""
FAMILIES = np.array([0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8])
STEP = 3.0  # standard deviations of a training run by which a true effect exceeds the border
Shape = Callable[[np.random.Generator, float], tuple[list[dict[str, Any]], dict[str, Any]]]
"""Function of a generator and of the distance of an effect from the border, 0 for a false claim. It returns rows of numbers,
and the claim about them."""
OF = {"records": "scores"}


class Planted(Evidence):
    """Evidence with planted numbers, instead of tables and records."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """rows: recipe, item, language, seed and value (in points) of each number."""
        frame = pd.DataFrame(rows)
        self.frame = frame.assign(error=np.nan, freedom=np.inf, seeds=1, n=100, measure="score", definition="accuracy")
        facts = {name: {name: {"encoder": "e", "trained": False, "pretrainings": None}} for name in frame["recipe"].unique()}
        super().__init__({"tables": {}, "records": {}, "recipes": facts})

    def _from_records(self, selection: Any, names: tuple[str, ...]) -> pd.DataFrame:
        return self.frame[self.frame["recipe"].isin(names)]


def rows(recipe: str, item: str, values: np.ndarray, languages: Sequence[str] = ("all",)) -> list[dict[str, Any]]:
    """Rows of planted numbers. values: (n_languages, n_seeds), or (n_seeds,) without languages."""
    return [
        {"recipe": recipe, "item": item, "language": language, "seed": seed, "value": value}
        for language, by_seed in zip(languages, np.atleast_2d(values), strict=True)
        for seed, value in enumerate(by_seed)
    ]


def claim(**fields: Any) -> dict[str, Any]:
    usual = {"of": OF, "plus": {"recipe": "p/tuned", "item": "effect"}, "minus": {"recipe": "p/plain", "item": "effect"}}
    return {"says": "s", "where": "w", "claimed": "above 0", "effect": usual} | fields


def two_trainings(seeds: int) -> Shape:
    """Difference between two training runs over seeds; their variances differ by a factor of up to four."""

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        sizes = generator.uniform(0.5, 1, 2)
        tuned, plain = (size * generator.normal(size=seeds) for size in sizes)
        return [*rows("p/tuned", "effect", beyond + tuned), *rows("p/plain", "effect", plain)], claim()

    return shape


def pooled(seeds: int) -> Shape:
    """One of twelve differences between training runs of the same task and metric; variances differ by a factor of nine."""

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        numbers = []
        for place in range(12):
            size = generator.choice([1.0, 3.0], p=[0.7, 0.3])
            numbers += rows("p/tuned", f"effect{place}", beyond * (place == 0) + size * generator.normal(size=seeds))
            numbers += rows("p/plain", f"effect{place}", size * generator.normal(size=seeds))
        effects = [
            {"of": OF | {"item": f"effect{place}"}, "plus": {"recipe": "p/tuned"}, "minus": {"recipe": "p/plain"}}
            for place in range(12)
        ]
        others = {f"c{place + 2}": claim(effect=effect) for place, effect in enumerate(effects[1:])}
        return numbers, claim(effect=effects[0]) | {"others": others}

    return shape


def over_languages(seeds: int) -> Shape:
    """Mean over fourteen languages with different effects; half of a seed's variance is common to all languages."""
    spread = np.linspace(-4, 4, len(LANGUAGES))

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        noise = generator.normal(size=seeds) + generator.normal(size=(len(LANGUAGES), seeds))
        numbers = [*rows("p/tuned", "effect", beyond + generator.permutation(spread)[:, None] + noise, LANGUAGES),
                   *rows("p/plain", "effect", np.zeros((len(LANGUAGES), seeds)), LANGUAGES)]  # fmt: skip
        return numbers, claim(effect=claim()["effect"] | {"over": "language"})

    return shape


def correlated(number: int) -> Shape:
    """Rank correlation over languages; languages of a family share half of the variance of both variables."""

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        chosen = np.sort(generator.permutation(len(LANGUAGES))[:number])

        def variable() -> np.ndarray:
            return np.sqrt(0.5) * (generator.normal(size=9)[FAMILIES[chosen]] + generator.normal(size=number))

        r = 0.8 * (beyond > 0)
        x = variable()
        y = r * x + np.sqrt(1 - r**2) * variable()
        names = [LANGUAGES[place] for place in chosen]
        effect = {
            "of": OF | {"recipe": "p/plain"},
            "function": "correlation",
            "reads": [{"item": "x"}, {"item": "y"}],
            "over": "language",
            "ranks": True,
            "least": 7,
        }
        numbers = [*rows("p/plain", "x", x[:, None], names), *rows("p/plain", "y", y[:, None], names)]
        return numbers, claim(effect=effect)

    return shape


def all_of_many(seeds: int) -> Shape:
    """Twelve effects that must all be as claimed; in a false claim, one is at the border and the others are far beyond."""

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        sizes = np.full(12, 5.0)
        sizes[0] = beyond
        numbers = []
        for place, size in enumerate(sizes):
            numbers += rows("p/tuned", f"effect{place}", size + generator.normal(size=seeds))
            numbers += rows("p/plain", f"effect{place}", np.zeros(seeds))
        effect = {"of": OF, "plus": {"recipe": "p/tuned"}, "minus": {"recipe": "p/plain"}, "over": "seed", "by": "item"}
        return numbers, claim(effect=effect)

    return shape


def equal(seeds: int) -> Shape:
    """A difference claimed to be within 3 of 0; it is 3 in a false claim, 0 in a true one."""

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        value = 0.0 if beyond else 3.0
        tuned = value + 0.7 * generator.normal(size=seeds)
        return [*rows("p/tuned", "effect", tuned), *rows("p/plain", "effect", np.zeros(seeds))], claim(claimed="within 3")

    return shape


def controlled(seeds: int, noise: float) -> Shape:
    """An effect with a control, which has the same effect in a false claim and none in a true one.

    noise: standard deviation of the control divided by that of the effect.
    """

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        numbers = [*rows("p/tuned", "effect", 5 + generator.normal(size=seeds)), *rows("p/plain", "effect", np.zeros(seeds))]
        numbers += rows("p/tuned", "control", 5 * (beyond == 0) + noise * generator.normal(size=seeds))
        numbers += rows("p/plain", "control", np.zeros(seeds))
        control = {"of": OF | {"item": "control"}, "plus": {"recipe": "p/tuned"}, "minus": {"recipe": "p/plain"}, "says": "c"}
        return numbers, claim(control=control)

    return shape


def shared_words() -> Shape:
    """Difference over three seeds that have half of their data in common."""
    share, seeds = 0.5, 3

    def shape(generator: np.random.Generator, beyond: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        noise = np.sqrt(share) * generator.normal() + np.sqrt(1 - share) * generator.normal(size=seeds)
        numbers = [*rows("p/tuned", "effect", beyond + noise), *rows("p/plain", "effect", np.zeros(seeds))]
        effect = claim()["effect"]
        return numbers, claim(effect=effect | {"of": OF | {"shared": share}})

    return shape


SHAPES: dict[str, Shape] = {
    **{f"difference of two, {seeds} seeds": two_trainings(seeds) for seeds in (3, 5)},
    **{f"difference of two, {seeds} seeds, variances of twelve moderated": pooled(seeds) for seeds in (3, 5)},
    **{f"mean over 14 languages, {seeds} seeds": over_languages(seeds) for seeds in (3, 5)},
    **{f"rank correlation over {number} languages": correlated(number) for number in (7, 11, 14)},
    **{f"all of 12 parts, {seeds} seeds": all_of_many(seeds) for seeds in (3, 5)},
    **{f"equality, {seeds} seeds": equal(seeds) for seeds in (3, 5)},
    **{f"control of {noise:g} times the effect's noise, 3 seeds": controlled(3, noise) for noise in (1, 2, 4, 6)},
    "seeds that share half of their data, 3 seeds": shared_words(),
}


def verdict(shape: Shape, generator: np.random.Generator, beyond: float) -> str:
    """Verdict on a claim of a shape, with a planted effect."""
    numbers, fields = shape(generator, beyond)
    claims = {"c1": {key: value for key, value in fields.items() if key != "others"}} | fields.get("others", {})
    claims_file = ClaimsFile.model_validate({"claims": claims})
    return decide(claims_file, Planted(numbers), lambda name: None)["c1"].verdict


def rate(shape: Shape, beyond: float, draws: int) -> float:
    """Percentage of simulations with the verdict that the claim holds. draws: number of simulations."""
    return 100 * float(np.mean([verdict(shape, np.random.default_rng(draw), beyond) == HOLDS for draw in range(draws)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    draws = parser.parse_args().draws
    error = 100 * np.sqrt(0.025 * 0.975 / draws)
    print(f"| shape | false claims that hold (%; standard error {error:.2f}) | true claims that hold (%) |\n|---|---|---|")
    for name, shape in SHAPES.items():
        began = time.monotonic()
        print(f"| {name} | {rate(shape, 0, draws):.2f} | {rate(shape, STEP, draws // 10):.0f} |", flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
