"""Self-contained pages of claims: the page of all claims, and the front page of a preset with the central ones."""

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.decisions import Outcome
from crosslens.reports.claims.effects import Part
from crosslens.reports.claims.forest import STYLE, forest, interval
from crosslens.reports.claims.table import command, encoder
from crosslens.reports.claims.verdicts import (
    CONTROL_FAILS,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    ONE_SEED,
    UNDECIDED,
    Decision,
    sure,
)
from crosslens.reports.templates import read_template

Decisions = Mapping[str, Mapping[str, Decision]]
MEANINGS = {
    HOLDS: "the whole interval lies where the paper claims it",
    FAILS: "the whole interval lies elsewhere",
    UNDECIDED: "the interval covers both sides, or there is no basis for a verdict: a model has not been shown to learn, a model "
    "was trained with only one seed, the effect does not surely exceed its control, or the variation of the effect is unknown",
    CONTROL_FAILS: "the control shows the same effect, and the effect does not surely exceed the control",
    NOT_MEASURED: "no run has produced the numbers that decide the claim",
}
DIRECTION = "direction only (one seed)"  # how a claim is counted if only its single seed leaves it undecided
NAMES = 4  # up to so many effects of a claim are named; of more, only the number is given
MOST = 4  # up to so many parts of a claim are in the picture on the front page; of more, only the decisive one
ANSWERS = {-1: "as claimed", 1: "not as claimed", 0: "unclear"}  # `sure` of an effect -> whether it is as claimed
MOST_OF_ALL = 24  # up to so many parts are in the picture on the page of all claims; of more, the least certain ones


def pages(
    decisions: Decisions,
    outcomes: Mapping[str, Outcome],
    settings: Mapping[str, Any],
    folder: Path,
    template: Path,
) -> tuple[str, str]:
    """The page of all claims, and the front page, as HTML.

    decisions: paper -> claim -> decision.
    outcomes: paper -> its main result, with which the front page begins.
    settings: paper -> settings of its claims, see Plan.settings.
    folder: folder of the two pages, and of the pages, tables and figures that they link to.
    template: file of the Jinja template.
    """
    papers = [
        _paper(key, decisions_on_paper, settings[key], folder) | _outcome(outcomes.get(key), settings[key], folder)
        for key, decisions_on_paper in decisions.items()
    ]
    preset = next((paper_settings["preset"] for paper_settings in settings.values()), "")
    central = [claim for paper in papers for claim in paper["central"]["measured"] if claim["measured"]]
    content = {
        "papers": papers,
        "meanings": MEANINGS,
        "preset": preset,
        "opening": frequencies(map(_counted_as, central)),
        "picture_style": STYLE,
    }
    page = read_template(template)
    return page.render(content, front=False), page.render(content, front=True)


def _paper(key: str, decisions: Mapping[str, Decision], settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A paper and its claims, as the template shows them."""
    claims = [_claim(key, name, decision, settings, folder) for name, decision in decisions.items()]
    central = _by_source([claim for claim in claims if claim["central"]])
    claims.sort(key=lambda claim: (not claim["measured"], claim["in_print"]))
    report = folder / f"{settings['report']}.html"
    return {
        "key": key,
        "study": settings["study"],
        "apart": settings["apart"],
        "synthetic": settings["synthetic"],
        "departures": settings["departures"],
        "encoder": settings["encoders"][""],
        "report": os.path.relpath(report, folder) if report.exists() else "",
        "claims": claims,
        "central": central,
        "present": any(claim["measured"] for claim in central["measured"]),
        "unmeasured": [claim for claim in central["measured"] if not claim["measured"]],
        "counts": {source: _counts(claims_of_source) for source, claims_of_source in _by_source(claims).items()},
        "central_counts": {source: _counts(claims_of_source) for source, claims_of_source in central.items()},
    }


def _outcome(outcome: Outcome | None, settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The main result of a paper, as the template shows it, with the address of its figure if this exists."""
    if outcome is None:
        return {"outcome": None}
    figure = folder / f"{settings['items'].get(outcome.figure)}.svg"
    return {
        "outcome": outcome,
        "seeds": counted(outcome.seeds, "seeds") if outcome.seeds else "",
        "figure": os.path.relpath(figure, folder) if figure.exists() else "",
    }


def _by_source(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Claims by what decides them: `measured` for a run, even one still to come, and `in_print` for printed numbers alone."""
    return {
        source: [claim for claim in claims if claim["in_print"] == in_print]
        for source, in_print in (("measured", False), ("in_print", True))
    }


def _counts(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Each verdict, in the order of MEANINGS, then DIRECTION; how many claims have it; if undecided, the causes in words."""
    verdicts = Counter(map(_counted_as, claims))
    causes = frequencies(claim["cause"] for claim in claims if not claim["direction"])
    return [(name, verdicts[name], causes if name == UNDECIDED else "") for name in (*MEANINGS, DIRECTION) if verdicts[name]]


def _counted_as(claim: Mapping[str, Any]) -> str:
    """Verdict under which a claim is counted; if only its single seed leaves it undecided, it counts as a direction."""
    return DIRECTION if claim["direction"] else str(claim["verdict"])


def frequencies(names: Iterable[str]) -> str:
    """Names with their frequencies as text, most frequent first, without the empty name: 8 one seed, 2 learning not shown."""
    return ", ".join(f"{number} {name}" for name, number in Counter(names).most_common() if name)


def _claim(paper: str, key: str, decision: Decision, settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A claim, as the template shows it."""
    claim, controls = decision.claim, [control.part for control in decision.controls]
    title = f"{claim.says} {decision.verdict}"
    printed = None if decision.in_print or decision.apart else claim.printed.effect
    parts = decision.parts
    few = parts if len(parts) <= MOST else [decision.part]
    return {
        "id": f"{paper}-{key}",
        "says": claim.says,
        "central": decision.central,
        "verdict": decision.verdict,
        "measured": decision.verdict != NOT_MEASURED,
        "in_print": decision.in_print and decision.verdict != NOT_MEASURED,
        "cause": decision.cause,
        "sides": _sides(decision),
        "direction": _direction(decision) if decision.cause == ONE_SEED else "",
        "answer": f"{_describe(part)}; claimed: {part.region}"
        if (part := decision.part) and not math.isnan(part.estimate.value)
        else "",
        "printed": re.sub(r"(?<![\w.])-(?=\d)", "−", claim.printed.text),
        "reason": decision.reason,
        "control": _control(decision),
        "picture": forest(decision.least_certain(MOST_OF_ALL), controls[:MOST_OF_ALL], printed, title),
        "undrawn": max(0, len(parts) - MOST_OF_ALL),
        "small": forest(
            [part for part in few if part], [control.part] if (control := decision.strongest_control) else [], printed, title
        ),
        "more": len(parts) - len(few),
        "facts": dict(_facts(decision, settings)),
        "links": list(_links(decision, settings, folder)),
    }


def _control(decision: Decision) -> str:
    """The strongest control in words, with its interval and whether it has the effect too; "" if there is none."""
    if (comparison := decision.strongest_control) is None:
        return ""
    excess = f"; effect less control {interval(comparison.excess.estimate)}" if comparison.excess else ""
    return f"{comparison.control.says}: {comparison.answer}, {interval(comparison.part.estimate)}{excess}"


def _sides(decision: Decision) -> str:
    """How many, and which, effects of a claim are as claimed or not, in words; "" if the claim has fewer than two."""
    if len(decision.parts) < 2:
        return ""
    inside, outside = ([part for part in decision.parts if sure(part) == side] for side in (-1, 1))
    texts = []
    for parts, words in ((inside, f"of {len(decision.parts)} effects are as claimed"), (outside, "lie elsewhere")):
        names = f" ({', '.join(part.name for part in parts)})" * (0 < len(parts) <= NAMES)
        texts.append(f"{len(parts)} {words}{names}")
    needed = f"; {decision.claim.at_least} must be as claimed" if decision.claim.at_least else ""
    together = f"; taken together, at least {decision.supported} are shown to be as claimed" * bool(decision.supported)
    return f"{', '.join(texts)}{together}{needed}"


def _direction(decision: Decision) -> str:
    """Whether the effects of a claim with a single seed are as claimed, in words; intervals are over texts."""
    sides = [sure(part) for part in decision.parts]
    if len(sides) > 1:
        first, *rest = [(sides.count(side), answer) for side, answer in ANSWERS.items() if side in sides]
        return ", ".join([f"{first[0]} of {len(sides)} effects {first[1]}", *(f"{number} {answer}" for number, answer in rest)])
    (part,) = decision.parts
    return f"{interval(part.estimate)}, {ANSWERS[sides[0]]} ({part.region})"


def counted(number: int, unit: str) -> str:
    """A number of units as text: 1 seed, 3 families. unit: name of the units, in the plural."""
    singular = {"families": "family"}.get(unit, unit.removesuffix("s"))
    return f"{number} {singular if number == 1 else unit}"


def _units(part: Part) -> str:
    """Number and name of a part's units, and degrees of freedom of its interval, in words; "" if it has neither."""
    units = counted(part.n, part.unit) if part.n and part.unit else ""
    units = "mean over " * bool(part.at_large) + units
    if part.estimate.error == 0:
        return ", ".join(filter(None, (units, "exact: an arithmetic result has no interval")))
    return units + f", {part.estimate.freedom:.3g} degrees of freedom" * math.isfinite(part.estimate.freedom)


def _facts(decision: Decision, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each fact about a claim; empty ones are left out."""
    claim, printed = decision.claim, decision.claim.printed
    holds = {
        "in full": "it follows from the published numbers",
        "in part": "part of it follows from the published numbers",
        "not": "the published numbers contradict it",
    }
    tested = f"the claim, not its number: {'; '.join(decision.apart)}" if decision.apart else "the claim and its number"
    controls = (
        f"whether {comparison.control.says}: {comparison.answer}, {_describe(comparison.part)}"
        for comparison in decision.controls
    )
    probability = "" if math.isnan(decision.tested) else f"{decision.p:.2g}, compared with {decision.level:.3g}"
    probability += " (Holm, over the paper's central claims)" * bool(probability and decision.level != LEVEL)
    facts = {
        "Quantity": claim.quantity,
        "Where": claim.where,
        "Central": "yes" * decision.central,
        "In print": "; ".join(filter(None, (printed.text, holds.get(printed.holds or "", "")))),
        "Verdict": f"{decision.verdict}{': ' * bool(decision.reason)}{decision.reason}",
        "Effect": "; ".join(_describe(part) for part in decision.parts),
        "Control": "; ".join(controls),
        "Languages at large": decision.at_large,
        "Probability": probability * (decision.cause != ONE_SEED),
        "Limits": claim.note if decision.reason != claim.note else "",
        "Encoder": encoder(decision, settings) or "none: decided by published numbers" * decision.in_print,
        "What is tested": tested * bool(decision.parts and not decision.in_print),
        "Command": command(decision, settings) if decision.verdict == NOT_MEASURED else "",
    }  # fmt: skip
    yield from ((name, text) for name, text in facts.items() if text)


def _describe(part: Part) -> str:
    """An effect in words, with its interval, units and seeds, followed by the interval for languages at large."""
    seeds = counted(part.seeds, "seeds") if part.seeds and part.unit != "seeds" else ""
    text = ", ".join(filter(None, (f"{part.name}{': ' * bool(part.name)}{interval(part.estimate)}", _units(part), seeds)))
    if part.at_large is None or math.isnan(part.at_large.error):
        return text
    return f"{text} (at large, by {counted(part.families or 0, 'families')}: {interval(part.at_large)})"


def _links(decision: Decision, settings: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Name and address of each table or figure that decides a claim, of its page or else its file, if either exists."""
    for name in decision.claim.decided_by:
        if place := settings["items"].get(name):
            files = (folder / f"{place}{ending}" for ending in (".html", ".csv", ".svg"))
            yield from ((place, os.path.relpath(file, folder)) for file in [*filter(Path.exists, files)][:1])
