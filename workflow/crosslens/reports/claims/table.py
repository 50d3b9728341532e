"""The claims of papers as a table: a line a claim."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.numerics.estimates import Correlation
from crosslens.reports.cells import rounded
from crosslens.reports.claims.contrasts import Part
from crosslens.reports.claims.verdicts import NOT_MEASURED, Decision
from crosslens.runs import call as commands

COLUMNS = (
    "paper", "claim", "says", "where", "central", "kind", "effect", "low", "high", "n", "unit", "seeds", "control", "control_low",
    "control_high", "control_shows", "p", "level", "verdict", "reason", "encoder", "comparable", "printed", "printed_effect",
    "printed_holds", "item", "command",
)  # fmt: skip
"""effect, low, high: with the 95 % interval, in points of the items' scales; of several parts those of the one that is least
surely as claimed. n, unit: how many of what it is over. seeds: of a training of an encoder, the fewest. control: the largest
effect where there should be none. p: of the claim or its opposite, the smaller one; level: with which it is compared, after Holm
for central claims. encoder: that it was decided on. comparable: whether encoder and corpora are the paper's, so that numbers are
too; else it is a replication of the claim. item: tables and figures that decide it; command: that makes what is missing."""
WHOLE = ("n", "seeds")


def table(decisions: Mapping[str, Mapping[str, Decision]], about: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Decisions by paper and claim as a table of COLUMNS.

    about: settings of each paper, see Plan.settings.
    """
    lines = [_line(paper, key, decision, about[paper]) for paper, of in decisions.items() for key, decision in of.items()]
    return pd.DataFrame(lines, columns=list(COLUMNS)).astype(dict.fromkeys(WHOLE, "Int64"))


def _line(paper: str, key: str, decision: Decision, about: Mapping[str, Any]) -> dict[str, Any]:
    claim, part = decision.claim, decision.part
    controls = sorted(decision.controls, key=lambda control: abs(control[1].estimate.value))
    control = controls[-1][1] if controls else None
    printed = claim.printed
    return {
        "paper": paper,
        "claim": f"{paper}-{key}",
        "says": claim.says,
        "where": claim.where,
        "central": claim.central,
        "kind": claim.kind,
        **_numbers(part, ("effect", "low", "high")),
        "n": part.n if part else None,
        "unit": part.unit if part else claim.unit,
        "seeds": min((part.seeds for part in decision.parts if part.seeds), default=None),
        **_numbers(control, ("control", "control_low", "control_high")),
        "control_shows": controls[-1][0].says if controls else "",
        "p": None if math.isnan(decision.p) else float(f"{decision.p:.2g}"),
        "level": float(f"{decision.level:.3g}"),
        "verdict": decision.verdict,
        "reason": decision.reason,
        "encoder": encoder(decision, about),
        "comparable": not about["apart"],
        "printed": printed.text if printed else "",
        "printed_effect": printed.effect if printed else None,
        "printed_holds": (printed.holds or "") if printed else "",
        "item": ", ".join(dict.fromkeys(place for name in decision.items if (place := about["items"].get(name)))),
        "command": command(decision, about) if decision.verdict == NOT_MEASURED else "",
    }


def _numbers(part: Part | None, names: tuple[str, str, str]) -> dict[str, float | None]:
    """Value and ends of a part, rounded as its scale needs it."""
    if part is None or math.isnan(part.estimate.value):
        return dict.fromkeys(names)
    digits = 3 if isinstance(part.estimate, Correlation) or abs(part.estimate.value) < 1 else 2
    return {name: rounded(number, digits) for name, number in zip(names, part.estimate.interval(), strict=True)}


def encoder(decision: Decision, about: Mapping[str, Any]) -> str:
    """Encoders that a claim was decided on: none where it is about what was printed."""
    if decision.in_print or not decision.parts:
        return ""
    recipes = dict.fromkeys(recipe for part in decision.parts for recipe in part.recipes) or [""]
    return ", ".join(dict.fromkeys(about["encoders"][recipe] for recipe in recipes))


def command(decision: Decision, about: Mapping[str, Any]) -> str:
    """The commands that make what is missing of a claim, or make it again where nothing is."""
    files = [file for name in decision.items if (file := about["evidence"]["tables"].get(name))]
    missing = [file for file in files if not Path(file).exists()] or files
    return " && ".join(filter(None, map(commands.command, dict.fromkeys(missing))))
