"""The claims of all papers as a table, one row for each claim."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs import call as commands
from crosslens.numerics.estimates import Correlation, Estimate
from crosslens.reports.cells import rounded
from crosslens.reports.claims.verdicts import NOT_MEASURED, Decision, sure

COLUMNS = (
    "paper", "claim", "says", "quantity", "where", "central", "effect_of", "effect", "low", "high", "n", "unit", "seeds",
    "freedom", "at_large_low", "at_large_high", "at_large", "effects", "as_claimed", "supported", "control_of", "control",
    "control_low", "control_high", "control_shows", "excess", "excess_low", "excess_high", "p", "level", "claimed", "verdict",
    "cause", "reason", "encoder", "comparable", "printed", "printed_effect", "printed_holds", "item", "command",
)  # fmt: skip
"""Each row shows one effect of its claim: of several, the one that is least certain to be as claimed.

quantity: definition of the claim's effects, in words.
effect_of, effect, low, high: name and size of the effect that is shown, and its 95 % interval, in points of the score's scale,
for the measured languages or other units.
n, unit: number and name of the units.
seeds: smallest number of seeds of a training run of an encoder.
freedom: degrees of freedom of the interval.
at_large_low, at_large_high, at_large: interval and verdict for languages in general, by language family.
effects, as_claimed, supported: number of effects of the claim, number with intervals entirely inside their regions, and
largest number that partial conjunction shows to be inside.
control_of, control, control_low, control_high: the control with the clearest effect: the effect that it controls for, its size,
and its 95 % interval.
excess, excess_low, excess_high: the effect minus this control.
p, level: the smaller of two p-values, one if the claim were false and one if it were true, and the level with which it is
compared (after Holm's correction for central claims).
claimed: region in which the paper claims the effect to be.
cause: two or three words that say why the claim is undecided.
encoder: encoders on which the claim was decided.
comparable: whether encoder and corpora are the paper's; if not, the claim is tested, but not its number.
item: tables and figures that decide the claim.
command: command that builds the missing tables and figures.
"""
WHOLE = ("n", "seeds", "effects", "as_claimed", "supported")  # columns of whole numbers


def table(decisions: Mapping[str, Mapping[str, Decision]], settings: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """A table of COLUMNS, one row for each claim.

    decisions: paper -> claim -> decision.
    settings: paper -> settings of its claims, see Plan.settings.
    """
    rows = [
        _row(paper, key, decision, settings[paper])
        for paper, decisions_on_paper in decisions.items()
        for key, decision in decisions_on_paper.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(WHOLE, "Int64"))


def _row(paper: str, key: str, decision: Decision, settings: Mapping[str, Any]) -> dict[str, Any]:
    claim, part = decision.claim, decision.part
    comparison = decision.strongest_control
    excess = comparison.excess if comparison else None
    printed = claim.printed
    return {
        "paper": paper,
        "claim": f"{paper}-{key}",
        "says": claim.says,
        "quantity": claim.quantity,
        "where": claim.where,
        "central": decision.central,
        "effect_of": part.name if part else "",
        **_numbers(part.estimate if part else None, ("effect", "low", "high")),
        "n": part.n if part else None,
        "unit": part.unit if part else "",
        "seeds": min((part.seeds for part in decision.parts if part.seeds), default=None),
        "freedom": round(part.estimate.freedom, 1) if part and math.isfinite(part.estimate.freedom) else None,
        **_numbers(part.at_large if part else None, ("", "at_large_low", "at_large_high")),
        "at_large": decision.at_large,
        "effects": len(decision.parts) or None,
        "as_claimed": sum(sure(effect) < 0 for effect in decision.parts) if decision.parts else None,
        "supported": decision.supported if decision.parts else None,
        "control_of": comparison.part.name if comparison else "",
        **_numbers(comparison.part.estimate if comparison else None, ("control", "control_low", "control_high")),
        "control_shows": comparison.control.says if comparison else "",
        **_numbers(excess.estimate if excess else None, ("excess", "excess_low", "excess_high")),
        "p": None if math.isnan(decision.p) else float(f"{decision.p:.2g}"),
        "level": float(f"{decision.level:.3g}"),
        "claimed": str(part.region) if part else "",
        "verdict": decision.verdict,
        "cause": decision.cause,
        "reason": decision.reason,
        "encoder": encoder(decision, settings),
        "comparable": not (decision.apart if decision.parts else settings["apart"]),
        "printed": printed.text,
        "printed_effect": printed.effect,
        "printed_holds": printed.holds or "",
        "item": ", ".join(dict.fromkeys(place for name in claim.decided_by if (place := settings["items"].get(name)))),
        "command": command(decision, settings) if decision.verdict == NOT_MEASURED else "",
    }


def _numbers(estimate: Estimate | None, names: tuple[str, str, str]) -> dict[str, float | None]:
    """Value and ends of an estimate by column: rounded to two decimals, correlations and values below 1 to three."""
    if estimate is None or math.isnan(estimate.value):
        return dict.fromkeys(names)
    digits = 3 if isinstance(estimate, Correlation) or abs(estimate.value) < 1 else 2
    return {name: rounded(number, digits) for name, number in zip(names, estimate.interval(), strict=True)}


def encoder(decision: Decision, settings: Mapping[str, Any]) -> str:
    """Encoders on which a claim was decided, as text; "" if printed numbers alone decided it, or nothing did."""
    if decision.in_print or not decision.parts:
        return ""
    encoders = settings["encoders"]
    recipes = [recipe for part in decision.parts for recipe in part.recipes]
    tables = [name for selection in decision.claim.selections for name in selection.names if name in encoders]
    return ", ".join(dict.fromkeys(encoders[name] for name in recipes or tables or [""]))


def command(decision: Decision, settings: Mapping[str, Any]) -> str:
    """Commands that make the missing tables and figures of a claim, or all of them if none is missing; "" if there are none."""
    files = [file for name in decision.claim.decided_by if (file := settings["evidence"]["tables"].get(name))]
    missing = [file for file in files if not Path(file).exists()] or files
    return " && ".join(filter(None, map(commands.command, dict.fromkeys(missing))))
