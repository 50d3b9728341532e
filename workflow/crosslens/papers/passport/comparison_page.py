"""The page that compares passports, in one file: three sentences, the picture, languages, and values with their baselines."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs.quantities import listed
from crosslens.papers.passport.comparison import COVERAGE, LETTERS, shared_values
from crosslens.papers.passport.facts import MEANS, SUMMARY, Measure, Passport, measures, name_of
from crosslens.papers.passport.page import SIGNS, TOO_SMALL, shown_number, title_facts
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.sentences import percent, warnings
from crosslens.reports.cells import where
from crosslens.reports.templates import read_template

CERTAIN = 0.05  # corrected p below which a difference without an interval counts
SHOWN, EXAMPLES = 10, 3  # number of languages in the table, and of names in a sentence
SHARES = {
    "neighbours": "the nearest neighbour is the translation (strong alignment) for",
    "topic": "a topic classifier trained on English is right in the other languages for",
}
Tables = Mapping[tuple[int, int], pd.DataFrame]  # numbers of two encoders -> their `comparison.table`


def page(tables: Tables, passports: Sequence[Passport], picture: bytes, pretraining: Pretraining, template: Path) -> str:
    """Render the page of a comparison as HTML.

    picture: the figure as SVG.
    template: file of the Jinja template.
    """
    names, facts = [passport.facts["name"] for passport in passports], [title_facts(part, pretraining) for part in passports]
    covered = [name for name in COVERAGE.values() if len(names) == 2 and (tables[0, 1]["column"] == name).any()]
    lines = [_line(measure, tables, passports, covered) for measure in measures().values()]
    layer, languages = _most_different(passports)
    n = int(tables[0, 1]["n"].max()) if tables[0, 1]["n"].notna().any() else 0
    tests = sum(bool(line["values"]) and any(part["p"] for part in line["differences"]) for line in lines)
    return read_template(template).render(
        names=names,
        letters=LETTERS[: len(names)].upper(),
        facts={label: [texts[label] for texts in facts] for label in facts[0]},
        findings=[_overall(lines, names), *_meaning(passports, names), *_languages(languages, layer)],
        warnings=[(name, text) for name, passport in zip(names, passports, strict=True) for text in warnings(passport)],
        picture=b64encode(picture).decode(),
        different=languages,
        layer=layer,
        covered=covered,
        lines=lines,
        languages=n,
        least_p=f"{least:.2g}" if (least := min(1.0, tests * 2.0 ** (1 - n))) >= CERTAIN else "",
        version=passports[0].facts["version"],
    )


def _line(measure: Measure, tables: Tables, passports: Sequence[Passport], covered: Sequence[str]) -> dict[str, Any]:
    """A line of the table: values and baselines, the first encoder's difference from each other one, and the best encoder."""
    line: dict[str, Any] = {"measure": measure, "sign": SIGNS[measure.better], "values": [], "best": None, "remark": ""}
    cells = {pair: where(table, metric=measure.key) for pair, table in tables.items()}
    means = {pair: rows[rows["column"].isin(MEANS)].iloc[:1].to_dict("records") for pair, rows in cells.items()}
    if not all(means.values()):
        return line
    layer = means[0, 1][0]["layer"]
    layers = [layer if layer in (SUMMARY, "") else str(passport.depth) for passport in passports]
    low = [passport.at_baseline(measure, at) for passport, at in zip(passports, layers, strict=True)]
    small = [measure.key == "premium" and passport.premium_too_small() for passport in passports]
    flaws = [
        TOO_SMALL if is_small else "no better than its baseline" * is_low for is_low, is_small in zip(low, small, strict=True)
    ]
    wins = [0] * len(passports)
    for (a, b), (mean,) in means.items():
        is_certain = mean["low"] > 0 or mean["high"] < 0 or (pd.isna(mean["low"]) and mean["p_holm"] < CERTAIN)
        wins[a if (mean["here"] > 0) == (measure.better == "higher") else b] += is_certain
    numbers = [means[0, 1][0]["value_a"], *(means[0, place][0]["value_b"] for place in range(1, len(passports)))]
    for passport, at, is_low, is_small, number in zip(passports, layers, low, small, numbers, strict=True):
        baseline = passport.baseline(measure, at)[1]
        remarks = [f"baseline {shown_number(baseline.value)}"] + [measure.no_better] * is_low if baseline else []
        text = ", ".join(remarks + [TOO_SMALL] * is_small)
        line["values"].append((shown_number(number), text))
    groups = [where(cells[0, 1], column=name) for name in covered]
    return line | {
        "best": next((place for place, won in enumerate(wins) if won == len(wins) - 1 and not flaws[place]), None),
        "differences": [_difference(measure, means[0, place][0], flaws, place) for place in range(1, len(passports))],
        "by_coverage": ["–" if group.empty else _signed(group["here"].iloc[0]) for group in groups],
        "layer": layer,
        "remark": "" if pd.isna(means[0, 1][0]["remark"]) else means[0, 1][0]["remark"],
    }


def _difference(measure: Measure, mean: Mapping[Any, Any], flaws: Sequence[str], second: int) -> dict[str, str]:
    """Texts for the first encoder's value minus another's, its interval, the number of languages in which it is better, and p.

    mean: line with the mean difference; flaws: why the value of each encoder cannot win, "" if it can; second: number of the
    other encoder.
    """
    is_tested, ahead = pd.notna(mean["p"]), 0 if (mean["here"] > 0) == (measure.better == "higher") else second
    won = f"{mean['won']} of {mean['won'] + mean['lost']}" if is_tested else ""
    if measure.better != "neither" and mean["here"] and flaws[ahead]:
        won = f"none: {LETTERS[ahead].upper()} is {flaws[ahead]}"
    p = ("<0.001" if mean["p_holm"] < 0.001 else f"{mean['p_holm']:.3f}") if is_tested else ""
    ends = "" if pd.isna(mean["low"]) else f"{_signed(mean['low'])} to {_signed(mean['high'])}"
    return {"number": _signed(mean["here"]), "interval": ends, "won": won, "p": p}


def _overall(lines: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """A sentence on the measures in which each encoder is best."""
    best = {line["measure"].title: line["best"] for line in lines if line["measure"].better != "neither"}
    titles = [[title for title, winner in best.items() if winner == number] for number in (*range(len(names)), None)]
    *counts, rest = [f"{len(group)}" + f" ({', '.join(group)})" * (0 < len(group) <= EXAMPLES) for group in titles]
    parts = listed([f"{name} in {count}" for name, count in zip(names, counts, strict=True)])
    return (
        f"Of {len(best)} measures in which one value is better than another, the clear best is {parts}; in {rest} there is none."
    )


def _meaning(passports: Sequence[Passport], names: Sequence[str]) -> list[str]:
    """A list with a sentence on translations and topics, with the shares for random weights; empty without values."""
    parts = []
    for key, words in SHARES.items():
        texts = []
        for passport, name in zip(passports, names, strict=True):
            value, random = (passport.value(key, str(passport.depth), baseline=kind) for kind in ("", "random weights"))
            beside = f" (random weights {percent(random.value)})" if random else ""
            texts += [f"{percent(value.value)} of sentences in {name}{beside}"] if value else []
        parts += [f"{words} {listed(texts)}"] if texts else []
    return [f"Meaning, at the last layer: {'; '.join(parts)}."] if parts else []


def _languages(different: Mapping[str, Sequence[str]], layer: str) -> list[str]:
    """A list with a sentence on the languages in which the encoders differ most; empty without any."""
    examples = [f"{name} ({', '.join(shares)})" for name, shares in [*different.items()][:EXAMPLES]]
    words = f"at the {layer} layer, the encoders differ most in strong alignment for"
    return [f"Languages: {words} {listed(examples)}."] if examples else []


def _most_different(passports: Sequence[Passport]) -> tuple[str, dict[str, list[str]]]:
    """The layer at which strong alignment is compared, and the languages that differ most: name -> share of each encoder."""
    layer, values = shared_values(passports, measures()["neighbours"])
    shares = values.drop(columns="family")
    spread = (shares.max(axis=1) - shares.min(axis=1)).sort_values(ascending=False, kind="stable")
    return layer, {name_of(str(code)): [percent(share) for share in shares.loc[code]] for code in spread.index[:SHOWN]}


def _signed(difference: float) -> str:
    """A difference with its sign."""
    text = shown_number(difference)
    return f"+{text}" if difference > 0 and float(text) else text
