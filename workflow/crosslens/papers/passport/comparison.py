"""Pairwise comparison of passports: differences paired by language, with intervals over families, and their tests."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from crosslens.jobs.errors import DataError
from crosslens.numerics.estimates import holm_adjusted, over_families
from crosslens.papers.passport.facts import FAMILIES, LANGUAGES, LEAST, SUMMARY, TABLE_COLUMNS, Measure, Passport, measures
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.terms import PIVOT
from crosslens.reports.cells import rounded

COLUMNS = (*TABLE_COLUMNS, "value_a", "value_b", "won", "lost", "p", "p_holm")
"""Columns of A-B.csv. here: A's value less B's, in a language or averaged over families; won, lost: number of languages in
which A is better, or worse, than B; p: of a two-sided sign test; p_holm: p corrected for all measures that are tested."""
COVERAGE = {(True, True): "both cover", (True, False): "only A", (False, True): "only B", (False, False): "neither"}
"""(whether A, whether B was pretrained on a language) -> name for such languages."""
DIGITS = 6
LETTERS = "abcdef"  # columns of the compared encoders, in their order


def shared_values(passports: Sequence[Passport], measure: Measure) -> tuple[str, pd.DataFrame]:
    """Layer at which a measure is compared, and values by language: a column a, b, ... for each passport, and family.

    The layer is SUMMARY, "" for a measure without layers, or else "last". Languages are those that all passports have, without
    English; there are none if the measure has a single value for a layer.
    """
    names = LETTERS[: len(passports)]
    for name, layers in ((SUMMARY, [SUMMARY] * len(names)), ("", [""] * len(names)), ("last", [str(p.depth) for p in passports])):
        frames = [passport.languages(measure.key, layer) for passport, layer in zip(passports, layers, strict=True)]
        if all(map(len, frames)):
            values = {letter: frame["here"] for letter, frame in zip(names, frames, strict=True)}
            return name, pd.DataFrame({**values, "family": frames[0]["family"]}).dropna().drop(PIVOT, errors="ignore")
    return "", pd.DataFrame(columns=[*names, "family"])


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterable[str]:
    """Yield clauses on what two passports must have in common but do not. a, b: their facts."""
    if (first := a["version"].partition(".")[0]) != (second := b["version"].partition(".")[0]):
        yield f"major version, found {first} and {second}"
    for key in a["measures"]:
        if (first := a["measures"][key]) != (second := b["measures"].get(key)):
            yield f"version of {measures()[key].title}, found {first} and {second}"
    if (first := a["inputs_sha256"]) != (second := b["inputs_sha256"]):
        yield f"texts, found those of digests {first[:12]} and {second[:12]}"


def table(a: Passport, b: Passport, pretraining: Pretraining) -> pd.DataFrame:
    """Build A-B.csv: for each measure the difference in each language, its mean over families with a test, and by coverage.

    Raises DataError, which says what differs, if the numbers of the passports are not comparable.
    """
    for reason in _differences(a.facts, b.facts):
        names = f"{a.facts['name']} and {b.facts['name']}"
        raise DataError(f"passports of {names}: expected the same {reason}; rebuild both")
    lines = [line for measure in measures().values() for line in _lines((a, b), measure, pretraining)]
    tested = [line for line in lines if line["column"] == FAMILIES and "p" in line]
    for line, p in zip(tested, holm_adjusted(np.array([line["p"] for line in tested])), strict=True):
        line["p_holm"] = rounded(p, DIGITS)
    item = f"{a.facts['name']}-{b.facts['name']}"
    common = {"paper": "passport", "item": item, "comparable": True, "reason": ""}
    cells = pd.DataFrame([common | line for line in lines], columns=list(COLUMNS))
    return cells.astype({"won": "Int64", "lost": "Int64", "n": "Int64", "seeds": "Int64"})


def _lines(passports: Sequence[Passport], measure: Measure, pretraining: Pretraining) -> list[dict[str, Any]]:
    """Lines for a measure; none if one of the passports does not have it."""
    layer, values = shared_values(passports, measure)
    place = {"row": measure.title, "metric": measure.key, "definition": measure.definition, "layer": layer}
    place |= {"family": "", "baseline_kind": ""}
    if values.empty:
        a, b = (passport.value(measure.key, passport.last(measure.key)) for passport in passports)
        if a is None or b is None:
            return []
        return [place | {"layer": "last", "column": LANGUAGES, **_numbers(a.value, b.value)}]
    lines = [
        place | {"column": str(language), "family": family, **_numbers(a, b)}
        for language, a, b, family in values.itertuples(name=None)
    ]
    lines.append(place | _mean(values, FAMILIES) | _sign_test(values, measure))
    if measure.key == "anc" and len({passport.encoder["width"] for passport in passports}) > 1:
        lines[-1]["remark"] = "widths differ: a mean over dimensions is to be compared with care"
    for name, languages in _by_coverage(passports, values, pretraining).items():
        if languages:
            lines.append(place | _mean(values.loc[languages], name))
    return lines


def _mean(values: pd.DataFrame, column: str) -> dict[str, Any]:
    """Mean over families of the differences in some languages, with its interval if there are enough families."""
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
    """Numbers of languages won and lost, and p of a two-sided sign test; {} if no value is better than another."""
    if measure.better == "neither":
        return {}
    signs = np.sign(values["a"] - values["b"]) * (1 if measure.better == "higher" else -1)
    won, lost = int((signs > 0).sum()), int((signs < 0).sum())
    return {"won": won, "lost": lost, "p": rounded(binomtest(won, won + lost).pvalue if won + lost else 1.0, DIGITS)}


def _by_coverage(passports: Sequence[Passport], values: pd.DataFrame, pretraining: Pretraining) -> dict[str, list[str]]:
    """Languages on which both, one or neither of the encoders were pretrained; {} if that is unknown for one."""
    languages = [str(language) for language in values.index]
    a, b = (pretraining.covered(passport.encoder["id"], languages) for passport in passports)
    if a is None or b is None:
        return {}
    groups: dict[str, list[str]] = {name: [] for name in COVERAGE.values()}
    for language in languages:
        groups[COVERAGE[language in a, language in b]].append(language)
    return groups


def _numbers(a: float, b: float) -> dict[str, Any]:
    return {"here": rounded(a - b, DIGITS), "value_a": rounded(a, DIGITS), "value_b": rounded(b, DIGITS)}
