"""Pages of claims: all of them, and the front page of a scale."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.reports.claims.verdicts import Decision

TEMPLATE = "workflow/crosslens/reports/claims/claims.html.j2"


def claims_page(
    decided: Mapping[str, Mapping[str, Decision]], made: pd.DataFrame, about: Mapping[str, Any], template: Path
) -> str:
    return made.to_html()


def front_page(
    decided: Mapping[str, Mapping[str, Decision]], made: pd.DataFrame, about: Mapping[str, Any], template: Path
) -> str:
    return made.to_html()
