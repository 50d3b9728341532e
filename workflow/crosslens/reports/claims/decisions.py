"""The claims of several papers, decided by what there is."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.reports.claims.contrasts import Contrasts
from crosslens.reports.claims.evidence import Evidence
from crosslens.reports.claims.ledger import read_ledger
from crosslens.reports.claims.verdicts import Decision, decide
from crosslens.runs.errors import DataError


def decisions(settings: Mapping[str, Any], texts: Mapping[str, Path]) -> dict[str, dict[str, Decision]]:
    """Paper -> claim -> decision. settings: of each paper, see Plan.settings; texts: files by their names there."""
    return {paper: _of_paper(paper, of_paper, texts) for paper, of_paper in settings.items()}


def _of_paper(paper: str, settings: Mapping[str, Any], texts: Mapping[str, Path]) -> dict[str, Decision]:
    ledger, *printed = (texts[name] for name in settings["texts"])
    published = pd.read_csv(printed[0]) if printed else None

    def function(name: str) -> Any:
        # Not an import at the top: papers lie above this room, and the rule's fingerprint takes in those that have claims.
        return getattr(import_module(f"crosslens.papers.{paper}.claims"), name)

    entries = read_ledger(ledger, settings["names"])
    try:
        return decide(entries, Contrasts(entries, Evidence(settings["evidence"], published, settings["apart"]), function))
    except DataError as error:
        raise DataError(f"{ledger}: {error}" if str(error).startswith("claims.") else str(error)) from None
