"""Pages of claims, complete in themselves: all of them, and the front page of a scale with the central ones."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt

from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.contrasts import Part
from crosslens.reports.claims.forest import forest, interval, number
from crosslens.reports.claims.ledger import Region
from crosslens.reports.claims.table import command, encoder
from crosslens.reports.claims.verdicts import CONTROL_FAILS, FAILS, HOLDS, NOT_MEASURED, UNDECIDED, Decision

Decisions = Mapping[str, Mapping[str, Decision]]
MEANINGS = {
    HOLDS: "the whole interval lies where the paper claims it",
    FAILS: "the whole interval lies elsewhere",
    UNDECIDED: "the interval covers both sides, or it rests on one seed or family of languages, or a training learned nothing",
    CONTROL_FAILS: "the effect is also there where it must not be",
    NOT_MEASURED: "nothing has been run that decides it",
}
MOST = 4  # parts of a claim in a picture of the front page


def pages(decided: Decisions, about: Mapping[str, Any], folder: Path, template: Path, style: Path) -> tuple[str, str]:
    """The page of all claims, and the front page.

    about: settings of each paper, see Plan.settings; folder: in which the pages will lie, and what they link to.
    """
    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters["inline"] = MarkdownIt("commonmark", {"html": False}).renderInline
    text = jinja.from_string(template.read_text("utf-8"))
    papers = [_paper(key, of_paper, about[key], folder) for key, of_paper in decided.items()]
    scale = next((settings["scale"] for settings in about.values()), "")
    common = {"papers": papers, "meanings": MEANINGS, "scale": scale, "style": style.read_text("utf-8")}
    whole, front = (text.render(**common, front=front) for front in (False, True))
    return whole, front


def _paper(key: str, decided: Mapping[str, Decision], about: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    claims = [_claim(key, name, decision, about, folder) for name, decision in decided.items()]
    central = [claim for claim in claims if claim["central"]]
    report = folder / f"{about['report']}.html"
    return {
        "key": key,
        "study": about["study"],
        "apart": about["apart"],
        "encoder": about["encoders"][""],
        "report": os.path.relpath(report, folder) if report.exists() else "",
        "claims": claims,
        "central": central,
        "unmeasured": [claim for claim in central if not claim["measured"]],
        "counts": _counts(claims),
        "central_counts": _counts(central),
    }


def _counts(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """How many claims have each verdict, in the order of MEANINGS."""
    counts = Counter(claim["verdict"] for claim in claims)
    return [(verdict, counts[verdict]) for verdict in MEANINGS if counts[verdict]]


def _claim(paper: str, key: str, decision: Decision, about: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A claim as the template takes it."""
    claim, controls = decision.claim, [part for _, part in decision.controls]
    title = f"{claim.says} {decision.verdict}"
    printed = claim.printed.effect if claim.printed and not about["apart"] or decision.in_print and claim.printed else None
    shown = sorted(decision.parts, key=decision.parts.index)
    few = shown if len(shown) <= MOST else [decision.part]
    return {
        "id": f"{paper}-{key}",
        "says": claim.says,
        "central": claim.central,
        "verdict": decision.verdict,
        "measured": decision.verdict != NOT_MEASURED,
        "answer": _answer(decision),
        "printed": claim.printed.text if claim.printed else "",
        "reason": decision.reason,
        "control": "; ".join(f"{control.says}: {interval(part)}" for control, part in decision.controls[:1]),
        "picture": forest(shown, controls, printed, title),
        "small": forest([part for part in few if part], controls[:1] if len(few) < 2 else [], printed, title),
        "more": len(shown) - len(few),
        "facts": dict(_facts(decision, about)),
        "links": list(_links(decision, about, folder)),
    }


def _answer(decision: Decision) -> str:
    """What was found, in a line: the effect, where it was claimed to be, and of how many units."""
    part = decision.part
    if part is None or math.isnan(part.estimate.value):
        return ""
    of = f", {part.n} {part.unit}" if part.n and part.unit else ""
    families = f" of {part.families} families" if part.families else ""
    which = f"{part.name}: " if part.name and len(decision.parts) > 1 else ""
    return f"{which}{interval(part)}{of}{families}; claimed: {_region(part.region)}"


def _region(region: Region) -> str:
    """Where a claim expects its effect, in words."""
    low, high = region.ends
    if region.within is not None:
        return f"within {region.within:g} of {region.of:g}"
    if math.isfinite(low) and math.isfinite(high):
        return f"between {number(low, 0, plus=False)} and {number(high, 0, plus=False)}"
    end, word = (low, "above") if math.isfinite(low) else (high, "below")
    return f"{word} {end:g}".replace("-", "−")


def _facts(decision: Decision, about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is to be known of a claim, by its name; nothing that is empty."""
    claim, printed = decision.claim, decision.claim.printed
    holds = {
        "in full": "it follows from the print",
        "in part": "it follows from the print in part",
        "not": "the print contradicts it",
    }
    facts = {
        "Where": claim.where,
        "Kind": claim.kind + " claim" * (claim.kind != "interpretation") + ", central" * claim.central,
        "Generalises over": claim.unit,
        "In print": "; ".join(filter(None, (printed.text, holds.get(printed.holds or "", "")))) if printed else "",
        "Verdict": f"{decision.verdict}{': ' * bool(decision.reason)}{decision.reason}",
        "Effect": "; ".join(_described(part) for part in decision.parts),
        "Control": "; ".join(f"{control.says}: {_described(part)}" for control, part in decision.controls),
        "Probability": "" if math.isnan(decision.tested) else f"{decision.p:.2g}, decided below {decision.level:.3g}"
        + " (Holm, over the paper's central claims)" * (decision.level != LEVEL),
        "Limits": claim.note if decision.reason != claim.note else "",
        "Encoder": encoder(decision, about) or "none: decided by what was printed" * decision.in_print,
        "Replicates": _replicates(decision, about),
        "Command": command(decision, about) if decision.verdict == NOT_MEASURED else "",
    }  # fmt: skip
    yield from ((name, text) for name, text in facts.items() if text)


def _replicates(decision: Decision, about: Mapping[str, Any]) -> str:
    if decision.in_print or not decision.parts:
        return ""
    return f"the claim, not its number: {'; '.join(about['apart'])}" if about["apart"] else "the claim and its number"


def _described(part: Part) -> str:
    seeds = f", {part.seeds} seed{'s' * (part.seeds > 1)}" if part.seeds and part.unit != "seeds" else ""
    of = f", {part.n} {part.unit}" if part.n and part.unit else ""
    return f"{part.name}{': ' * bool(part.name)}{interval(part)}{of}{seeds}"


def _links(decision: Decision, about: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Pages of the items that decide a claim, or their tables, as far as there are any: name and address."""
    for name in decision.items:
        if place := about["items"].get(name):
            files = (folder / f"{place}{ending}" for ending in (".html", ".csv", ".svg"))
            yield from ((place, os.path.relpath(file, folder)) for file in [*filter(Path.exists, files)][:1])
