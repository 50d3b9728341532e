"""The page of a passport: a single HTML file, one screen long."""

from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from crosslens.jobs.quantities import listed, number
from crosslens.numerics.intervals import Interval
from crosslens.papers.passport.facts import MEANS, SUMMARY, Measure, Passport, measures, name_of
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.sentences import sentences
from crosslens.reports.cells import where
from crosslens.reports.templates import read_template

SECTIONS = {"A": "Text into subwords", "B": "Where the language is", "C": "Same meaning, same place", "D": "Use"}
WORST = 3  # number of languages that the table names as the worst
SIGNS = {"higher": "↑", "lower": "↓", "neither": ""}
UNKNOWN = "unknown"
TOO_SMALL = "too small because of unknown subwords"
shown_number = partial(number, digits=2, plus=False)


def page(passport: Passport, picture: bytes, pretraining: Pretraining, template: Path) -> str:
    """Render the page as HTML.

    picture: the figure as SVG.
    template: file of the Jinja template.
    """
    return read_template(template).render(
        name=passport.facts["name"],
        facts=title_facts(passport, pretraining),
        picture=b64encode(picture).decode(),
        sections=_sections(passport),
        sentences=sentences(passport),
        absent=_absent(passport),
        cut=", ".join(f"{name_of(language)} {count}" for language, count in passport.facts.get("cut", {}).items()),
        n=passport.facts["n"],
        corpus=_corpus(passport.facts),
        command=passport.record.get("command"),
        revision=passport.record.get("crosslens") or UNKNOWN,
        date=passport.record["made"][:10],
        version=passport.facts["version"],
    )


def title_facts(passport: Passport, pretraining: Pretraining) -> dict[str, str]:
    """Facts about the encoder for the line below the title: name -> text."""
    encoder, languages = passport.encoder, passport.facts["languages"]
    covered = pretraining.covered(passport.id, languages)
    positions = encoder.get("positions")
    return {
        "encoder": encoder["id"] or encoder.get("source") or UNKNOWN,
        "commit": (encoder.get("revision") or UNKNOWN)[:12],
        "size": f"{encoder['parameters'] / 1e6:.3g} M parameters" if encoder.get("parameters") else UNKNOWN,
        "shape": f"{encoder['layers']} layers × {encoder['width']}"
        + ", pre-norm" * bool(encoder.get("prenorm"))
        + ", a decoder" * bool(encoder.get("causal")),
        "tokenizer": f"{encoder['tokenizer']}, {encoder['vocabulary']:,} subwords" if encoder.get("vocabulary") else UNKNOWN,
        "positions": f"{positions:,}" if isinstance(positions, int) else positions or UNKNOWN,
        "coverage": UNKNOWN if covered is None else f"{len(covered)} of {len(languages)} languages",
        "parallel text": pretraining.parallel(passport.id),
        "passport": passport.facts["version"],
    }


def _sections(passport: Passport) -> dict[str, list[dict[str, Any]]]:
    """Heading -> lines of the table."""
    lines: dict[str, list[dict[str, Any]]] = {heading: [] for heading in SECTIONS.values()}
    for measure in measures().values():
        lines[SECTIONS[measure.section]].append(_line(passport, measure))
    return lines


def _line(passport: Passport, measure: Measure) -> dict[str, Any]:
    """A line of the table: values at layer 0, the last layer and the summary layer, baseline, and the worst languages."""
    key, last = measure.key, passport.last(measure.key)
    value = passport.value(key, last)
    kind, baseline = passport.baseline(measure, last)
    remarks = [kind] + [measure.no_better] * passport.at_baseline(measure, last)
    remarks += [TOO_SMALL] * (key == "premium" and passport.premium_too_small())
    return {
        "number": measure.number,
        "title": measure.title,
        "sign": SIGNS[measure.better],
        "meaning": measure.meaning,
        "definition": measure.definition,
        "first": _number(passport.value(key, "0")),
        "last": _number(value),
        "interval": _interval(value),
        "summary": _number(passport.value(key, SUMMARY)),
        "baseline": _number(baseline),
        "baseline_kind": kind,
        "remarks": remarks,
        "worst": _worst(passport, measure, last),
    }


def _worst(passport: Passport, measure: Measure, layer: str) -> str:
    """Names and values of the WORST languages, worst first, or of all that share the worst value if these are more.

    The text is empty for a measure that is neither better high nor low.
    """
    if measure.better == "neither":
        return ""
    values = passport.languages(measure.key, layer)["here"].sort_values(ascending=measure.better == "higher", kind="stable")
    numbers = values.map(shown_number)
    if len(numbers) and (equal := int((numbers == numbers.iloc[0]).sum())) > WORST:
        better, worst = ([name_of(str(language)) for language in part] for part in (numbers.index[equal:], numbers.index[:equal]))
        names = f"all but {', '.join(better)}" if len(better) < equal else ", ".join(worst)
        return f"{names if better else 'all'}: {numbers.iloc[0]}"
    return ", ".join(f"{name_of(str(language))} {number}" for language, number in numbers.head(WORST).items())


def _absent(passport: Passport) -> dict[str, str]:
    """Quantity or language that was not measured -> reason."""
    titles = {key: measure.title for key, measure in measures().items()}
    reasons = {titles.get(key, key): reason for key, reason in passport.facts["not_measured"].items()}
    missing = [measure.title for key, measure in measures().items() if passport.value(key, passport.last(key)) is None]
    languages = {name_of(code): reason for code, reason in passport.facts.get("languages_not_measured", {}).items()}
    return {title: "no value could be computed" for title in missing} | _gaps(passport) | languages | reasons


def _gaps(passport: Passport) -> dict[str, str]:
    """Measure with the languages for which it has no value at the last layer -> reason."""
    gaps = {}
    for key, measure in measures().items():
        rows = where(passport.rows(key), layer=passport.last(key))
        codes = rows.loc[rows["here"].isna() & ~rows["column"].isin(MEANS), "column"]
        if len(codes):
            names = listed([name_of(code) for code in codes])
            gaps[f"{measure.title} in {names}"] = "no value at the last layer, where its states do not vary"
    return gaps


def _corpus(facts: Mapping[str, Any]) -> str:
    """A line that describes the texts."""
    parts = [facts["corpus"], f"commit {facts['commit'][:12]}" * bool(facts.get("commit")), facts.get("split") or ""]
    return f"{', '.join(filter(None, parts))}: {facts['n']:,} sentences in {_languages(facts)} languages"


def _languages(facts: Mapping[str, Any]) -> str:
    """Number of measured languages; "A of B" if some were not measured."""
    measured, unmeasured = len(facts["languages"]), len(facts.get("languages_not_measured", {}))
    return f"{measured} of {measured + unmeasured}" if unmeasured else str(measured)


def _number(value: Interval | None) -> str:
    return "–" if value is None else shown_number(value.value)


def _interval(value: Interval | None) -> str:
    """The interval of a value; "" if it has none."""
    return "" if value is None or value.low != value.low else f"{shown_number(value.low)} to {shown_number(value.high)}"
