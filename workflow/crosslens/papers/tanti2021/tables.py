"""tanti2021: tables 1 to 3."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from crosslens.measures.intervals import mean_interval
from crosslens.papers.tanti2021.items import CAPTIONS, COLUMNS, TABLES


def table(name: str, scores: pd.DataFrame, published: pd.DataFrame, runs: Sequence[str]) -> pd.DataFrame:
    """A table in percent: a line for each row and definition; for each run its value, 95 % interval and the published value.

    scores: the paper's records; published: resources/published/tanti2021.csv; runs: those that were configured.
    """
    spec = TABLES[name]
    scores = scores[scores["language"] == "all"]
    lines = []
    for row, item in spec.rows.items():
        here = scores[(scores["item"] == item) & scores["measure"].isin(spec.measures)]
        for definition in dict.fromkeys(here["definition"]):
            line: dict[str, Any] = {"row": row, "definition": definition}
            for run in spec.runs:
                if run not in runs and run != "spelling":
                    continue
                found = here[(here["definition"] == definition) & (here["recipe"] == f"tanti2021/pos/{run}")]
                line |= _cells(COLUMNS[run], found)
                printed = _published(published, name, row, run) if definition.startswith("paper") else None
                if run in CAPTIONS:
                    line[f"{COLUMNS[run]} published"] = printed
            lines.append(line)
    return pd.DataFrame(lines)


def _cells(column: str, found: pd.DataFrame) -> dict[str, Any]:
    """Mean over seeds in percent; interval: of one seed's bootstrap, or t over several seeds."""
    if found.empty:
        return {column: None, f"{column} low": None, f"{column} high": None}
    if len(found) == 1:
        value, low, high = found[["value", "low", "high"]].iloc[0]
    else:
        value, low, high = mean_interval(found["value"].to_numpy())
    return {column: round(100 * value, 2), f"{column} low": round(100 * low, 2), f"{column} high": round(100 * high, 2)}


def _published(published: pd.DataFrame, name: str, row: str, run: str) -> float | None:
    """The printed value of a cell; V-measures of the table 1 runs are printed in the captions of figure 3."""
    cell = published[(published["item"] == name) & (published["row"] == row) & (published["column"] == COLUMNS[run])]
    if cell.empty and name == "table3" and run in CAPTIONS:
        kind = {
            "Target labels": "UDPOS labels",
            "Language (Target)": "UDPOS languages",
            "Language (Wiki)": "Wikipedia languages",
        }[row]
        cell = published[(published["row"] == f"{kind} {CAPTIONS[run]}") & (published["metric"] == "V-measure")]
    return None if cell.empty else float(cell["value"].iloc[0])
