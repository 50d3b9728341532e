"""Decisions on the claims of several papers, by the tables and records that exist."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs.errors import DataError
from crosslens.reports.claims.claims_file import read_claims_file
from crosslens.reports.claims.evidence import Evidence
from crosslens.reports.claims.verdicts import Decision, decide


def decisions(settings: Mapping[str, Any], texts: Mapping[str, Path]) -> dict[str, dict[str, Decision]]:
    """Decisions on all claims: paper -> claim -> decision.

    settings: paper -> settings of its claims, see Plan.settings.
    texts: name in these settings -> file of a claims file or of a table of printed cells.
    """
    return {paper: _decisions_on_paper(paper, paper_settings, texts) for paper, paper_settings in settings.items()}


def _decisions_on_paper(paper: str, settings: Mapping[str, Any], texts: Mapping[str, Path]) -> dict[str, Decision]:
    file, *printed = (texts[name] for name in settings["texts"])
    evidence = Evidence(settings["evidence"], pd.read_csv(printed[0]) if printed else None, settings["apart"])

    def function(name: str) -> Any:
        # Imported by name, since papers/ lies above reports/; the rule's fingerprint includes these modules.
        return getattr(import_module(f"crosslens.papers.{paper}.claims"), name)

    claims_file = read_claims_file(file, settings["names"])
    try:
        return decide(claims_file, evidence, function)
    except DataError as error:
        raise DataError(f"{file}: {error}" if str(error).startswith("claims.") else str(error)) from None
