"""The page of a comparison of passports in one file: three sentences, the picture, and values beside their baselines."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs.quantities import listed
from crosslens.papers.passport.comparison import COVERAGE, LETTERS
from crosslens.papers.passport.comparison_figure import most_different
from crosslens.papers.passport.facts import MEANS, SUMMARY, Baseline, Measure, Passport, measures, name_of
from crosslens.papers.passport.page import SIGNS, shown_number, title_facts
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.sentences import percent, warnings
from crosslens.reports.cells import where
from crosslens.reports.templates import read_template

CERTAIN = 0.05  # corrected probability below which a difference without an interval counts
EXAMPLES = 3  # languages that a sentence names
KINDS: tuple[Baseline, ...] = ("", "random weights")
SHARES = {
    "neighbours": "the nearest neighbour is the translation for",
    "topic": "topics learned in English are right in the other languages for",
}


def page(
    cells: pd.DataFrame, passports: Sequence[Passport], picture: bytes, pretraining: Pretraining, template: Path, style: Path
) -> str:
    """The page of a comparison as HTML.

    cells: see `comparison.table`, of each pair of the passports. picture: the figure as SVG.
    template, style: files of the Jinja template and of the style sheet that all pages share.
    """
    facts = [title_facts(passport, pretraining) for passport in passports]
    covered = [name for name in COVERAGE.values() if len(passports) == 2 and (cells["column"] == name).any()]
    means = {key: _Means(measure, cells, passports) for key, measure in measures().items()}
    return read_template(template).render(
        names=[passport.facts["name"] for passport in passports],
        letters=LETTERS[: len(passports)].upper(),
        facts={label: [texts[label] for texts in facts] for label in facts[0]},
        findings=[*_overall(means, passports), *_meaning(passports), *_languages(passports)],
        warnings=[(passport.facts["name"], text) for passport in passports for text in warnings(passport)],
        picture=b64encode(picture).decode(),
        covered=covered,
        lines=[of_measure.line(covered) for of_measure in means.values()],
        languages=int(cells["n"].max()) if cells["n"].notna().any() else 0,
        version=passports[0].facts["version"],
        style=style.read_text("utf-8"),
    )


class _Means:
    """Mean differences between encoders in a measure.

    rows: (a, b) -> row of the table, by numbers of encoders; at_baseline: of each encoder.
    """

    def __init__(self, measure: Measure, cells: pd.DataFrame, passports: Sequence[Passport]) -> None:
        self.measure, self.cells, self.passports = measure, where(cells, metric=measure.key), passports
        means = self.cells[self.cells["column"].isin(MEANS)].drop_duplicates("item").set_index("item")
        names = [passport.facts["name"] for passport in passports]
        pairs = {(a, b): f"{names[a]}-{names[b]}" for b in range(len(names)) for a in range(b)}
        self.rows = {pair: means.loc[item] for pair, item in pairs.items() if item in means.index}
        layer = str(self.rows[0, 1]["layer"]) if (0, 1) in self.rows else ""
        self.layers = [layer if layer in (SUMMARY, "") else str(passport.depth) for passport in passports]
        self.at_baseline = [passport.at_baseline(measure, at) for passport, at in zip(passports, self.layers, strict=True)]

    def is_better(self, one: int, other: int) -> bool:
        """Whether an encoder is certainly better than another: above its baseline, and with a difference that is not chance."""
        row = self.rows.get((min(one, other), max(one, other)))
        sign = (1 if one < other else -1) * (1 if self.measure.better == "higher" else -1)
        if row is None or self.at_baseline[one] or sign * row["here"] <= 0:
            return False
        return bool(row["low"] > 0 or row["high"] < 0) if pd.notna(row["low"]) else bool(row["p_holm"] < CERTAIN)

    def best(self) -> int | None:
        """The encoder that is certainly better than each other; None where there is none."""
        numbers = range(len(self.passports))
        return next((one for one in numbers if all(one == other or self.is_better(one, other) for other in numbers)), None)

    def line(self, covered: Sequence[str]) -> dict[str, Any]:
        """A line of the table: value and baseline of each encoder, and what sets the first apart from each other one."""
        measure, others = self.measure, [self.rows.get((0, other)) for other in range(1, len(self.passports))]
        line = {"number": measure.number, "title": measure.title, "sign": SIGNS[measure.better], "meaning": measure.meaning}
        rows = [row for row in others if row is not None]
        if len(rows) < len(others):
            return line | {"values": []}
        numbers = [rows[0]["value_a"], *(row["value_b"] for row in rows)]
        baselines = [passport.baseline(measure, at)[1] for passport, at in zip(self.passports, self.layers, strict=True)]
        values = [
            (shown_number(number), f"{'at ' * low}baseline {shown_number(baseline.value)}" if baseline else "")
            for number, baseline, low in zip(numbers, baselines, self.at_baseline, strict=True)
        ]
        groups = [where(self.cells, column=name) for name in covered]
        return line | {
            "values": values,
            "differences": [self._difference(row, other) for other, row in enumerate(rows, 1)],
            "by_coverage": ["–" if group.empty else _signed(group["here"].iloc[0]) for group in groups],
            "layer": {SUMMARY: SUMMARY, "": ""}.get(self.layers[0], "last"),
            "remark": next((row["remark"] for row in rows if pd.notna(row["remark"])), ""),
        }

    def _difference(self, row: pd.Series, other: int) -> dict[str, str]:
        """The first encoder's value less that of another, with its interval, the languages in which it is better, and p."""
        tested, ahead = pd.notna(row["p"]), 0 if (row["here"] > 0) == (self.measure.better == "higher") else other
        won = f"{row['won']} of {row['won'] + row['lost']}" if tested else ""
        if self.measure.better != "neither" and row["here"] and self.at_baseline[ahead]:
            won = f"none: {LETTERS[ahead].upper()} is at its baseline"
        return {
            "number": _signed(row["here"]),
            "interval": "" if pd.isna(row["low"]) else f"{_signed(row['low'])} to {_signed(row['high'])}",
            "won": won,
            "p": ("<0.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}") if tested else "",
        }


def _overall(means: dict[str, _Means], passports: Sequence[Passport]) -> list[str]:
    """A sentence on the number of measures in which each encoder is best."""
    directed = [of_measure for of_measure in means.values() if of_measure.measure.better != "neither"]
    best = {of_measure.measure.title: of_measure.best() for of_measure in directed}
    titles = [[title for title, winner in best.items() if winner == number] for number in (*range(len(passports)), None)]
    *counts, undecided = [f"{len(of)}" + f" ({', '.join(of)})" * (0 < len(of) <= EXAMPLES) for of in titles]
    parts = listed([f"{passport.facts['name']} in {count}" for passport, count in zip(passports, counts, strict=True)])
    return [f"Overall, of {len(best)} measures that have a better side, the clear best is {parts}; in {undecided} there is none."]


def _meaning(passports: Sequence[Passport]) -> list[str]:
    """A sentence on translations and topics, beside the shares that random weights give."""
    parts = []
    for key, words in SHARES.items():
        texts = []
        for passport in passports:
            share, baseline = (passport.value(key, str(passport.depth), baseline=kind) for kind in KINDS)
            beside = f" (random weights {percent(baseline.value)})" if baseline else ""
            texts += [f"{percent(share.value)} of sentences in {passport.facts['name']}{beside}"] if share else []
        parts += [f"{words} {listed(texts)}"] if texts else []
    return [f"Meaning, at the last layer: {'; '.join(parts)}."] if parts else []


def _languages(passports: Sequence[Passport]) -> list[str]:
    """A sentence on the languages in which the encoders differ most."""
    letters = LETTERS[: len(passports)]
    examples = [
        f"{name_of(str(language))} ({', '.join(f'{letter.upper()} {percent(row[letter])}' for letter in letters)})"
        for language, row in most_different(passports).head(EXAMPLES).iterrows()
    ]
    return [f"Languages: by nearest neighbours they differ most in {listed(examples)}."] if examples else []


def _signed(difference: float) -> str:
    """A difference with its sign."""
    text = shown_number(difference)
    return f"+{text}" if difference > 0 and float(text) else text
