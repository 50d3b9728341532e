"""Two passports side by side: differences paired by language, with intervals over families, and their tests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from crosslens.jobs.errors import DataError
from crosslens.numerics.estimates import holm_adjusted, over_families
from crosslens.papers.passport.facts import FAMILIES, LANGUAGES, LEAST, MEANS, SUMMARY, TABLE_COLUMNS, Measure, Passport, measures
from crosslens.papers.passport.page import SIGNS, shown_number, title_facts
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.terms import PIVOT
from crosslens.reports.cells import rounded, where
from crosslens.reports.templates import read_template

COLUMNS = (*TABLE_COLUMNS, "value_a", "value_b", "won", "lost", "p", "p_holm")
"""Columns of A-B.csv. here: A's value less B's, of a language, or the mean over families; won, lost: languages in which A is
better, or worse, than B; p: of a two-sided sign test; p_holm: corrected for all measures that are tested."""
COVERAGE = {(True, True): "both cover", (True, False): "only A", (False, True): "only B", (False, False): "neither"}
"""Whether A and B were pretrained on a language -> name of such languages."""
DIGITS = 6


@dataclass(frozen=True)
class Pair:
    """Two passports that can be compared."""

    a: Passport
    b: Passport

    @classmethod
    def of(cls, a: Passport, b: Passport) -> "Pair":
        """Two passports. Raises DataError, a line that says what differs, where their numbers are not comparable."""
        names = f"{a.facts['name']} and {b.facts['name']}"
        for reason in _differences(a.facts, b.facts):
            raise DataError(f"passports of {names}: expected the same {reason}; make both anew")
        return cls(a, b)

    def values(self, measure: Measure) -> tuple[str, pd.DataFrame]:
        """Layer at which a measure is compared, and values of the languages that both have but English: a, b, family by language.

        The layer is that of summaries, "" of measures without layers, or else the last one. There are no languages where the
        measure is one of a layer as a whole.
        """
        for layers in ((SUMMARY,) * 2, ("",) * 2, (str(self.a.depth), str(self.b.depth))):
            a, b = (passport.languages(measure.key, layer) for passport, layer in zip((self.a, self.b), layers, strict=True))
            if len(a) and len(b):
                values = pd.DataFrame({"a": a["here"], "b": b["here"], "family": a["family"]}).dropna()
                layer = layers[0] if layers[0] == layers[1] in (SUMMARY, "") else "last"
                return layer, values.drop(PIVOT, errors="ignore")
        return "", pd.DataFrame(columns=["a", "b", "family"])


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterable[str]:
    """Clauses of a line on what two passports must share and do not."""
    if (first := a["version"].partition(".")[0]) != (second := b["version"].partition(".")[0]):
        yield f"major version, found {first} and {second}"
    for key in a["measures"]:
        if (first := a["measures"][key]) != (second := b["measures"].get(key)):
            yield f"version of {measures()[key].title}, found {first} and {second}"
    if (first := a["inputs_sha256"]) != (second := b["inputs_sha256"]):
        yield f"texts, found those of digests {first[:12]} and {second[:12]}"


def table(pair: Pair, pretraining: Pretraining) -> pd.DataFrame:
    """The table A-B.csv: for each measure the difference of each language, its mean over families with tests, and by coverage."""
    lines = [line for measure in measures().values() for line in _lines(pair, measure, pretraining)]
    tested = [line for line in lines if line["column"] == FAMILIES and "p" in line]
    for line, p in zip(tested, holm_adjusted(np.array([line["p"] for line in tested])), strict=True):
        line["p_holm"] = rounded(p, DIGITS)
    item = f"{pair.a.facts['name']}-{pair.b.facts['name']}"
    common = {"paper": "passport", "item": item, "comparable": True, "reason": ""}
    cells = pd.DataFrame([common | line for line in lines], columns=list(COLUMNS))
    return cells.astype({"won": "Int64", "lost": "Int64", "n": "Int64", "seeds": "Int64"})


def _lines(pair: Pair, measure: Measure, pretraining: Pretraining) -> list[dict[str, Any]]:
    """Lines of a measure; none where one of the passports does not have it."""
    layer, values = pair.values(measure)
    place = {"row": measure.title, "metric": measure.key, "definition": measure.definition, "layer": layer}
    place |= {"family": "", "baseline_kind": ""}
    if values.empty:
        a, b = (passport.value(measure.key, passport.last(measure.key)) for passport in (pair.a, pair.b))
        if a is None or b is None:
            return []
        return [place | {"layer": "last", "column": LANGUAGES, **_numbers(a.value, b.value)}]
    lines = [
        place | {"column": str(language), "family": family, **_numbers(a, b)}
        for language, a, b, family in values.itertuples(name=None)
    ]
    lines.append(place | _mean(values, FAMILIES) | _sign_test(values, measure))
    if measure.key == "anc" and pair.a.encoder["width"] != pair.b.encoder["width"]:
        lines[-1]["remark"] = "widths differ: a mean over dimensions is to be compared with care"
    for name, languages in _by_coverage(pair, values, pretraining).items():
        if languages:
            lines.append(place | _mean(values.loc[languages], name))
    return lines


def _mean(values: pd.DataFrame, column: str) -> dict[str, Any]:
    """Mean over families of the differences of some languages, with its interval where there are enough families."""
    families = [*values["family"]]
    a, b, difference = (
        over_families(part.to_numpy(float), families) for part in (values["a"], values["b"], values["a"] - values["b"])
    )
    numbers = {"column": column, **_numbers(a.value, b.value), "here": rounded(difference.value, DIGITS), "n": len(values)}
    if len({*families}) < LEAST:
        return numbers
    _, low, high = difference.interval()
    return numbers | {"low": rounded(low, DIGITS), "high": rounded(high, DIGITS)}


def _sign_test(values: pd.DataFrame, measure: Measure) -> dict[str, Any]:
    """Languages won and lost, and the probability of so uneven a number; nothing where no value is better than another."""
    if measure.better == "neither":
        return {}
    signs = np.sign(values["a"] - values["b"]) * (1 if measure.better == "higher" else -1)
    won, lost = int((signs > 0).sum()), int((signs < 0).sum())
    return {"won": won, "lost": lost, "p": rounded(binomtest(won, won + lost).pvalue if won + lost else 1.0, DIGITS)}


def _by_coverage(pair: Pair, values: pd.DataFrame, pretraining: Pretraining) -> dict[str, list[str]]:
    """Languages that both, one or none of the encoders were pretrained on; nothing where that is unknown of one."""
    languages = [str(language) for language in values.index]
    a, b = (pretraining.covered(passport.encoder["id"], languages) for passport in (pair.a, pair.b))
    if a is None or b is None:
        return {}
    groups: dict[str, list[str]] = {name: [] for name in COVERAGE.values()}
    for language in languages:
        groups[COVERAGE[language in a, language in b]].append(language)
    return groups


def _numbers(a: float, b: float) -> dict[str, Any]:
    return {"here": rounded(a - b, DIGITS), "value_a": rounded(a, DIGITS), "value_b": rounded(b, DIGITS)}


def page(cells: pd.DataFrame, pair: Pair, pretraining: Pretraining, template: Path, style: Path) -> str:
    """The page of a comparison as HTML.

    cells: see `table`.
    template, style: files of the Jinja template and of the style sheet that all pages share.
    """
    a, b = (title_facts(passport, pretraining) for passport in (pair.a, pair.b))
    covered = [name for name in COVERAGE.values() if (cells["column"] == name).any()]
    return read_template(template).render(
        names=[pair.a.facts["name"], pair.b.facts["name"]],
        facts={label: (text, b[label]) for label, text in a.items()},
        covered=covered,
        lines=[_shown(measure, where(cells, metric=measure.key), covered) for measure in measures().values()],
        languages=int(cells["n"].max()) if cells["n"].notna().any() else 0,
        version=pair.a.facts["version"],
        style=style.read_text("utf-8"),
    )


def _shown(measure: Measure, cells: pd.DataFrame, covered: Sequence[str]) -> dict[str, Any]:
    """A line of the page: both values, their difference with its interval, languages won, and means by coverage."""
    means = cells[cells["column"].isin(MEANS)]
    line = {"number": measure.number, "title": measure.title, "sign": SIGNS[measure.better], "meaning": measure.meaning}
    if means.empty:
        return line | dict.fromkeys(("a", "b", "difference", "interval", "won", "p", "layer", "remark"), "") | {"by_coverage": []}
    mean = means.iloc[0]
    tested = pd.notna(mean["p"])
    groups = {name: where(cells, column=name) for name in covered}
    return line | {
        "a": shown_number(mean["value_a"]),
        "b": shown_number(mean["value_b"]),
        "difference": _signed(mean["here"]),
        "interval": "" if pd.isna(mean["low"]) else f"{_signed(mean['low'])} to {_signed(mean['high'])}",
        "won": f"{mean['won']} of {mean['won'] + mean['lost']}" if tested else "",
        "p": ("<0.001" if mean["p_holm"] < 0.001 else f"{mean['p_holm']:.3f}") if tested else "",
        "layer": mean["layer"],
        "remark": "" if pd.isna(mean["remark"]) else mean["remark"],
        "by_coverage": ["–" if group.empty else _signed(group["here"].iloc[0]) for group in groups.values()],
    }


def _signed(difference: float) -> str:
    """A difference with its sign."""
    text = shown_number(difference)
    return f"+{text}" if difference > 0 and float(text) else text
