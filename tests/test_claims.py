"""Claims: each verdict on planted numbers, and what a ledger may not say."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crosslens.numerics.estimates import Correlation, Estimate, correlation, holm, over_families, over_runs, varied
from crosslens.reports.claims.contrasts import Contrasts
from crosslens.reports.claims.evidence import Evidence
from crosslens.reports.claims.ledger import Ledger, read_ledger
from crosslens.reports.claims.verdicts import Decision, decide
from crosslens.runs.errors import DataError
from crosslens.storage import records
from crosslens.storage.seals import sealed
from scipy import stats

LANGUAGES = ("de", "fr", "es", "ru", "zh", "ja", "ar", "hi", "tr", "fi", "vi", "th")
CELLS = ("row", "column", "metric", "definition", "here", "low", "high", "sd", "seeds", "n")
TUNED, FROZEN, RANDOM = "p/tuned", "p/frozen", "p/random"
SELECTIONS = {"tuned": {"recipe": TUNED}, "frozen": {"recipe": FROZEN}, "random": {"recipe": RANDOM}}
LEARNED = [
    {
        "selections": ["tuned"],
        "of": {"records": "accuracy", "item": "task"},
        "above": {"chance": 33.3, "random weights": "random"},
    }
]


def claim(**fields: Any) -> dict[str, Any]:
    """A claim of scores by seed, unless fields say otherwise."""
    usual = {"says": "Tuning helps.", "where": "1", "kind": "direction", "unit": "seeds", "expected": {"above": 0}}
    return usual | {"effect": {"of": SCORES, "plus": "tuned", "minus": "frozen"}} | fields


SCORES = {"records": "accuracy", "item": "scores"}


def rows(recipe: str, item: str, values: Any, language: str | None = None, half: float | None = None) -> list[dict[str, Any]]:
    """Records, one a seed, of shares; half: of their intervals over texts."""
    return [
        {"recipe": recipe, "item": item, "seed": seed, "language": language or "all", "measure": "score", "definition": "accuracy",
         "value": float(value), "low": value - half if half else None, "high": value + half if half else None, "n": 100}
        for seed, value in enumerate(np.atleast_1d(values))
    ]  # fmt: skip


def verdicts(
    tmp_path: Path, numbers: list[dict[str, Any]], *claims: dict[str, Any], trained: tuple[str, ...] = (TUNED,), **ledger: Any
) -> list[Decision]:  # fmt: skip
    """Decisions on claims by records."""
    if not any(row["item"] == "task" for row in numbers):
        numbers = [*numbers, *rows(TUNED, "task", 0.8, half=0.02), *rows(RANDOM, "task", 0.4, half=0.02)]
    files: dict[str, list[str]] = {}
    for recipe in dict.fromkeys(row["recipe"] for row in numbers):
        path = tmp_path / f"{recipe.replace('/', '-')}.parquet"
        records.write([row for row in numbers if row["recipe"] == recipe], path, {})
        files[recipe] = [str(path)]
    facts = {name: {name: {"encoder": "e", "trained": name in trained, "pretrainings": None}} for name in (TUNED, FROZEN, RANDOM)}
    settings = {"tables": {}, "records": {"accuracy": files}, "recipes": facts}
    entries = Ledger.model_validate(
        {"selections": SELECTIONS, "learned": LEARNED, "claims": {f"c{n}": fields for n, fields in enumerate(claims)}} | ledger
    )
    return list(decide(entries, Contrasts(entries, Evidence(settings), lambda name: None)).values())


def scores(difference: float, spread: float = 0.01, seeds: int = 5) -> list[dict[str, Any]]:
    """A frozen encoder at 50 %, and tuned ones that differ from it."""
    noise = spread * np.array([-1, 1, -0.5, 0.5, 0, 0.8, -0.8, 0.3, -0.3, 0.1][:seeds])
    return [*rows(FROZEN, "scores", 0.5, half=0.01), *rows(TUNED, "scores", 0.5 + difference + noise)]


@pytest.mark.parametrize(
    ("difference", "fields", "verdict"),
    [
        (0.05, {}, "holds"),
        (-0.05, {}, "fails"),
        (0.001, {}, "undecided"),
        (0.05, {"expected": {"below": 0}}, "fails"),
        (0.05, {"kind": "magnitude", "expected": {"above": 3}}, "holds"),
        (0.05, {"kind": "magnitude", "expected": {"above": 6}}, "fails"),
        (0.05, {"kind": "magnitude", "expected": {"above": 4.9}}, "undecided"),
        (0.001, {"kind": "equality", "expected": {"within": 3}}, "holds"),
        (0.001, {"kind": "equality", "expected": {"within": 0.5}}, "undecided"),
        (0.05, {"kind": "equality", "expected": {"within": 3}}, "fails"),
    ],
)
def test_an_interval_over_seeds_decides(tmp_path, difference, fields, verdict):
    (decision,) = verdicts(tmp_path, scores(difference), claim(**fields))
    assert decision.verdict == verdict
    assert decision.part.n == 5 and decision.part.seeds == 5
    assert decision.part.estimate.value == pytest.approx(100 * difference)
