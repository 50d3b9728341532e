"""tanti2021: tables 1 to 3 and footnote 6."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from crosslens.measures.intervals import mean_interval
from crosslens.papers.tanti2021.items import ACCURACY, CAPTIONS, MICRO_F1, PAPER, TABLES, TASKS, V_PAPER, column, recipe_name


def table(name: str, scores: pd.DataFrame, published: pd.DataFrame, runs: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """A table in percent: a line for each row and definition; for each run its value, 95 % interval, n and the published value.

    Probes that did not converge are named under `remark`. scores: the paper's records; published:
    resources/published/tanti2021.csv; runs: those that were configured, by task.
    """
    spec = TABLES[name]
    scores = scores[scores["language"] == "all"]
    if name == "footnote6":
        return _footnote6(scores, published, runs)
    lines = []
    for row, item in spec.rows.items():
        here = scores[(scores["item"] == item) & scores["measure"].isin(spec.measures)]
        for definition in dict.fromkeys(here["definition"]):
            line: dict[str, Any] = {"row": row, "definition": definition}
            remarks = []
            for task in runs:
                for run in spec.runs:
                    if run not in runs[task] and run != "spelling":
                        continue
                    found = here[(here["definition"] == definition) & (here["recipe"] == recipe_name(task, run))]
                    line |= cells(column(task, run), found)
                    if found["converged"].eq(False).any():
                        remarks.append(f"{column(task, run)}: not converged, gradient {found['gradient'].max():.0e}")
                    if run in CAPTIONS:
                        printed = _published(published, name, row, task, run) if definition in (PAPER, V_PAPER) else None
                        line[f"{column(task, run)} published"] = printed
            lines.append(line | {"remark": "; ".join(remarks)})
    return frame(lines)


def _footnote6(scores: pd.DataFrame, published: pd.DataFrame, tasks: Collection[str]) -> pd.DataFrame:
    """Footnote 6 in percent: the fine-tuned model under the scores that others print, beside the published values."""
    lines = []
    for task in tasks:
        definition = MICRO_F1 if task == "pos" else ACCURACY
        chosen = (scores["recipe"] == recipe_name(task, "finetuned")) & (scores["item"] == "task")
        chosen &= scores["definition"] == definition
        line: dict[str, Any] = {"row": TASKS[task], "definition": definition} | cells("Fine-T.", scores[chosen])
        for name, printed in (("published", "fine-tuned (this paper)"), ("XTREME published", "XTREME (Hu et al. 2020)")):
            cell = published[(published["row"] == TASKS[task]) & (published["column"] == printed)]
            line[name] = float(cell["value"].iloc[0])
        lines.append(line)
    return frame(lines)


def cells(name: str, found: pd.DataFrame) -> dict[str, Any]:
    """Mean over seeds in percent; interval: of one seed's bootstrap, or t over several seeds; n: units, fewest of a seed."""
    if found.empty:
        return {name: None, f"{name} low": None, f"{name} high": None, f"{name} n": None}
    if len(found) == 1:
        value, low, high = found[["value", "low", "high"]].astype(float).iloc[0]
    else:
        value, low, high = mean_interval(found["value"].to_numpy())
    percent = {name: round(100 * value, 2), f"{name} low": round(100 * low, 2), f"{name} high": round(100 * high, 2)}
    return percent | {f"{name} n": found["n"].min()}


def frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Lines of cells as a table; numbers of units stay whole numbers where a line has none."""
    made = pd.DataFrame(lines)
    return made.astype({name: "Int64" for name in made.columns if name.endswith(" n")})


def _published(published: pd.DataFrame, name: str, row: str, task: str, run: str) -> float | None:
    """The printed value of a cell; V-measures of the table 1 runs are printed in the captions of figures 3 and 4."""
    cell = published[(published["item"] == name) & (published["row"] == row) & (published["column"] == column(task, run))]
    if cell.empty and name == "table3":
        kind = {
            "Target labels": f"{TASKS[task]} labels",
            "Language (Target)": f"{TASKS[task]} languages",
            "Language (Wiki)": "Wikipedia languages",
        }[row]
        figure = published["item"].str.startswith("figure3" if task == "pos" else "figure4")
        cell = published[figure & (published["row"] == f"{kind} {CAPTIONS[run]}") & (published["metric"] == "V-measure")]
    return None if cell.empty else float(cell["value"].iloc[0])
