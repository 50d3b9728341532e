"""The claims of all papers as a table, one row for each claim."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs import call as commands
from crosslens.numerics.estimates import Correlation
from crosslens.reports.cells import rounded
from crosslens.reports.claims.claims_file import Region
from crosslens.reports.claims.contrasts import Part
from crosslens.reports.claims.verdicts import NOT_MEASURED, Decision

COLUMNS = (
    "paper", "claim", "says", "where", "central", "kind", "effect", "low", "high", "n", "unit", "seeds", "control", "control_low",
    "control_high", "control_shows", "p", "level", "claimed", "verdict", "cause", "tendency", "reason", "encoder", "comparable",
    "printed", "printed_effect", "printed_holds", "item", "command",
)  # fmt: skip
"""effect, low, high: the effect with its 95 % interval, in points of the score's preset; of several parts, the one that is least
surely as claimed. n, unit: number and name of the units that the effect is over. seeds: fewest seeds of a training run of an
encoder. control, control_low, control_high: the control that shows its effect most surely. p: the smaller of the probabilities of
the claim and of its opposite. level: level with which p is compared, after Holm for central claims. claimed: region in which the
paper claims the effect to be. cause: what keeps an undecided claim from a verdict, in two or three words. tendency: where the
95 % intervals of an undecided claim lie all the same. encoder: encoders on which the claim was decided. comparable: whether
encoder and corpora are the paper's; if not, the claim is replicated, but not its number. item: tables and figures that decide the
claim. command: command that makes what is missing."""
WHOLE = ("n", "seeds")  # columns of whole numbers


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
    control, control_part = decision.strongest_control or (None, None)
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
        **_numbers(control_part, ("control", "control_low", "control_high")),
        "control_shows": control.says if control else "",
        "p": None if math.isnan(decision.p) else float(f"{decision.p:.2g}"),
        "level": float(f"{decision.level:.3g}"),
        "claimed": claimed(part.region) if part else "",
        "verdict": decision.verdict,
        "cause": decision.cause,
        "tendency": decision.tendency,
        "reason": decision.reason,
        "encoder": encoder(decision, settings),
        "comparable": not (decision.apart if decision.parts else settings["apart"]),
        "printed": printed.text if printed else "",
        "printed_effect": printed.effect if printed else None,
        "printed_holds": (printed.holds or "") if printed else "",
        "item": ", ".join(dict.fromkeys(place for name in decision.items if (place := settings["items"].get(name)))),
        "command": command(decision, settings) if decision.verdict == NOT_MEASURED else "",
    }


def claimed(region: Region) -> str:
    """A region in words: above 0, between 0 and 5."""
    low, high = region.ends
    if region.within is not None:
        return f"within {region.within:g} of {region.of:g}"
    if math.isfinite(low) and math.isfinite(high):
        return f"between {low:g} and {high:g}".replace("-", "−")
    end, word = (low, "above") if math.isfinite(low) else (high, "below")
    return f"{word} {end:g}".replace("-", "−")


def region(text: str) -> Region:
    """The region that `claimed` puts into these words."""
    first, *rest = text.replace("−", "-").split()
    match first, rest:
        case "within", [distance, "of", center]:
            return Region(within=float(distance), of=float(center))
        case "between", [low, "and", high]:
            return Region(above=float(low), below=float(high))
        case _:
            return Region.model_validate({first: float(*rest)})


def _numbers(part: Part | None, names: tuple[str, str, str]) -> dict[str, float | None]:
    """Value and ends of a part by column: rounded to two decimals, correlations and values below 1 to three."""
    if part is None or math.isnan(part.estimate.value):
        return dict.fromkeys(names)
    digits = 3 if isinstance(part.estimate, Correlation) or abs(part.estimate.value) < 1 else 2
    return {name: rounded(number, digits) for name, number in zip(names, part.estimate.interval(), strict=True)}


def encoder(decision: Decision, settings: Mapping[str, Any]) -> str:
    """Encoders on which a claim was decided, as text; "" where print alone decided it."""
    if decision.in_print or not decision.parts:
        return ""
    recipes = dict.fromkeys(recipe for part in decision.parts for recipe in part.recipes) or [""]
    return ", ".join(dict.fromkeys(settings["encoders"][recipe] for recipe in recipes))


def command(decision: Decision, settings: Mapping[str, Any]) -> str:
    """Commands that make the missing tables and figures of a claim, or all of them where none is missing; "" without any."""
    files = [file for name in decision.items if (file := settings["evidence"]["tables"].get(name))]
    missing = [file for file in files if not Path(file).exists()] or files
    return " && ".join(filter(None, map(commands.command, dict.fromkeys(missing))))
