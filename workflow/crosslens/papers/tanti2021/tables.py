"""tanti2021: tables 1 to 3 and footnote 6."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from crosslens import cells
from crosslens.measures.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import (
    CAPTIONS,
    MICRO_F1,
    PAPER,
    SPELLING,
    TABLES,
    TASKS,
    V_PAPER,
    column,
    metric,
    recipe_name,
)
from crosslens.papers.tanti2021.records import named

XTREME = "XTREME (Hu et al. 2020)"
FINE_TUNED = "fine-tuned (this paper)"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A table in percent. settings: runs, those that are configured, by task; wiki, the corpus of paragraphs."""
    return made(name, named(inputs.records(), settings["wiki"]), inputs.published, settings["runs"])


def made(name: str, scores: pd.DataFrame, published: cells.Published, runs: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Of `named` records: for each row, definition and run its value, and the published one beside the paper's definition.

    A probe that did not converge says so under `remark`.
    """
    lines = _footnote6(scores, published, runs) if name == "footnote6" else _lines(name, scores, published, runs)
    return cells.table([*lines], "tanti2021", name)


def _lines(
    name: str, scores: pd.DataFrame, published: cells.Published, runs: Mapping[str, Collection[str]]
) -> Iterator[dict[str, Any]]:
    spec = TABLES[name]
    for row, item in spec.rows.items():
        here = scores[scores["item"] == item]
        for definition in dict.fromkeys(here["definition"]):
            for task in runs:
                for run in spec.runs:
                    if run not in runs[task] and run != SPELLING:
                        continue
                    found = here[(here["definition"] == definition) & (here["recipe"] == recipe_name(task, run))]
                    printed = _published(published, name, row, task, run) if definition in (PAPER, V_PAPER) else None
                    if len(found) or printed is not None:
                        head, remark = column(task, run), _remark(column(task, run), found)
                        yield cells.line(row, head, metric(definition), definition, cells.cell(found), printed, remark)


def _remark(head: str, found: pd.DataFrame) -> str:
    if not found["converged"].eq(False).any():
        return ""
    return f"{head}: not converged, gradient {found['gradient'].max():.0e}"


def _footnote6(scores: pd.DataFrame, published: cells.Published, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """The fine-tuned model under the scores that others print: beside the paper's, and beside XTREME's."""
    for task in tasks:
        definition = MICRO_F1 if task == "pos" else ACCURACY
        chosen = (scores["recipe"] == recipe_name(task, "finetuned")) & (scores["item"] == "task")
        numbers = cells.cell(scores[chosen & (scores["definition"] == definition)])
        for head in (FINE_TUNED, XTREME):
            printed = published.value("text", TASKS[task], head)  # where the footnote is listed
            yield cells.line(TASKS[task], head, metric(definition), definition, numbers, printed)


def _published(published: cells.Published, name: str, row: str, task: str, run: str) -> float | None:
    """The printed value of a cell; V-measures of the table 1 runs are printed in the captions of figures 3 and 4."""
    printed = published.value(name, row, column(task, run))
    if printed is not None or name != "table3" or run not in CAPTIONS:
        return printed
    panel = {"Target labels": f"{TASKS[task]} labels", "Language (Target)": f"{TASKS[task]} languages",
             "Language (Wiki)": "Wikipedia languages"}[row]  # fmt: skip
    figure = "figure3" if task == "pos" else "figure4"
    rows = published.table
    caption = rows["item"].str.startswith(figure) & (rows["row"] == f"{panel} {CAPTIONS[run]}") & (rows["metric"] == "V-measure")
    return float(rows[caption]["value"].iloc[0]) if caption.any() else None
