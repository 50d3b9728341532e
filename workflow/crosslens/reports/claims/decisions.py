"""Decisions on the claims of several papers, and the papers' main results, from the tables and records that exist."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs.errors import DataError
from crosslens.reports.claims.claims_file import ClaimsFile, read_claims_file
from crosslens.reports.claims.evidence import Evidence, Missing
from crosslens.reports.claims.verdicts import Decision, decide


@dataclass(frozen=True)
class Outcome:
    """Main result of a paper, with the scores of a run.

    says: the sentence with its scores.
    seeds: smallest number of seeds of a training run of an encoder behind the scores; None if no encoder was trained.
    columns, rows: a small table: names of the columns, and name of a score -> its value in each column, in percent.
    figure: name of the figure that is shown below; "" for none.
    """

    says: str
    seeds: int | None
    columns: list[str]
    rows: dict[str, list[str]]
    figure: str


def decisions(
    settings: Mapping[str, Any], texts: Mapping[str, Path]
) -> tuple[dict[str, dict[str, Decision]], dict[str, Outcome]]:  # fmt: skip
    """Decisions on all claims: paper -> claim -> decision, and the main results of the papers that have one.

    settings: paper -> settings of its claims, see Plan.settings.
    texts: name, as in `texts` of these settings -> claims file or table of printed cells.
    """
    decisions_by_paper, outcomes = {}, {}
    for paper, paper_settings in settings.items():
        file, *printed = (texts[name] for name in paper_settings["texts"])
        claims_file = read_claims_file(file, paper_settings["names"])
        evidence = Evidence(paper_settings["evidence"], pd.read_csv(printed[0]) if printed else None, paper_settings["apart"])
        decisions_by_paper[paper] = _decide(paper, file, claims_file, evidence)
        if outcome := outcome_of(claims_file, evidence):
            outcomes[paper] = outcome
    return decisions_by_paper, outcomes


def _decide(paper: str, file: Path, claims_file: ClaimsFile, evidence: Evidence) -> dict[str, Decision]:
    def function(name: str) -> Any:
        # Imported by name, since papers/ is a layer above reports/; the rule's fingerprint includes these modules.
        return getattr(import_module(f"crosslens.papers.{paper}.claims"), name)

    try:
        return decide(claims_file, evidence, function)
    except DataError as error:
        raise DataError(f"{file}: {error}" if str(error).startswith("claims.") else str(error)) from None


def main_result(file: Path, names: Mapping[str, Any], tables: Mapping[str, Path]) -> str:
    """Main result of a paper as a sentence; "" if its claims file states none, or if tables lack its numbers.

    file: the claims file.
    names: see `read_claims_file`.
    tables: name -> file.
    """
    claims_file = read_claims_file(file, names)
    if (finding := claims_file.finding) is None:
        return ""
    rows = {  # without the training runs behind the cells, which only serve to count seeds
        name: [selection._replace(recipes=()) for selection in row] for name, row in finding.rows.items()
    }
    evidence = Evidence({"tables": defaultdict(str, tables), "records": {}, "recipes": {}})
    outcome = outcome_of(claims_file.model_copy(update={"finding": finding.model_copy(update={"rows": rows})}), evidence)
    return outcome.says if outcome else ""


def outcome_of(claims_file: ClaimsFile, evidence: Evidence) -> Outcome | None:
    """Main result of a paper; None if its claims file states none, or if one of its numbers has not been measured."""
    if (finding := claims_file.finding) is None:
        return None
    try:
        numbers = {name: [evidence.numbers(selection) for selection in row] for name, row in finding.rows.items()}
    except Missing:
        return None
    rows = {name: [f"{cell.rows['value'].mean():.1f}" for cell in row] for name, row in numbers.items()}
    first = dict(zip(finding.columns, next(iter(rows.values())), strict=True))
    seeds, _ = evidence.seeds_and_recipes([cell for row in numbers.values() for cell in row])
    return Outcome(finding.says.format(**first), seeds, finding.columns, rows, finding.figure)
