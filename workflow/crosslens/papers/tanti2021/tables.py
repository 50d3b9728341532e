"""tanti2021: tables 1 to 3 and footnote 6."""

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import (
    CAPTIONS,
    CLUSTER_ROWS,
    MICRO_F1,
    PANELS,
    PAPER,
    SPELLING,
    TABLES,
    TASKS,
    TUNED,
    V_PAPER,
    column,
    metric,
    recipe_name,
)
from crosslens.papers.tanti2021.records import named
from crosslens.reports import cells

SCORES = ("macro F1", "micro F1", "accuracy")  # in percent; V-measures and mutual information are not right or wrong


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A table in percent. settings: runs, those that are configured, by task; wiki, the corpus of paragraphs."""
    return made(name, named(inputs.records(), settings["wiki"]), inputs.published, settings["runs"])


def made(name: str, scores: pd.DataFrame, published: cells.Published, runs: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Of `named` records: for each row, definition and run its value, and the published one beside the paper's definition.

    A probe that did not converge says so under `remark`.
    """
    lines = [*_footnote6(scores, published, runs)] if name == "footnote6" else []
    for row, item in TABLES[name].rows.items():
        here = cells.where(scores, item=item)
        for definition, task, run in product(dict.fromkeys(here["definition"]), runs, TABLES[name].runs):
            if run in runs[task] or run == SPELLING:
                found = cells.where(here, definition=definition, recipe=recipe_name(task, run))
                printed = _published(published, name, row, task, run) if definition in (PAPER, V_PAPER) else None
                if len(found) or printed is not None:
                    head, numbers = column(task, run), cells.cell(found)
                    remarks, chance = [_remark(head, found), _equal_runs(found)], 0 if metric(definition) in SCORES else None
                    lines.append(cells.line(row, head, metric(definition), definition, numbers, printed, remarks, chance=chance))
    return cells.table(lines, "tanti2021", name)


def _remark(head: str, found: pd.DataFrame) -> str:
    if not found["converged"].eq(False).any():
        return ""
    return f"{head}: not converged, gradient {found['gradient'].max():.0e}"


def _equal_runs(found: pd.DataFrame) -> str:
    """Why the k-means runs of a single seed have no interval."""
    alone = len(found) == 1 and found["measure"].eq("clusters").all() and found["low"].isna().all()
    return "no interval: the same in all k-means runs" if alone else ""


def _footnote6(scores: pd.DataFrame, published: cells.Published, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """The fine-tuned model under the scores that others print: beside the paper's, and beside XTREME's."""
    for task in tasks:
        definition = MICRO_F1 if task == "pos" else ACCURACY
        found = cells.where(scores, recipe=recipe_name(task, "finetuned"), item="task", definition=definition)
        for head in ("fine-tuned (this paper)", "XTREME (Hu et al. 2020)"):
            printed = published.value("text", TASKS[task], head)  # where the footnote is listed
            yield cells.line(TASKS[task], head, metric(definition), definition, cells.cell(found), printed, chance=0)


def _published(published: cells.Published, name: str, row: str, task: str, run: str) -> float | None:
    """The printed value of a cell; V-measures of the table 1 runs are printed in the captions of figures 3 and 4."""
    if name != "table3" or run not in TUNED:
        return published.value(name, row, column(task, run))
    figure, panel = "figure3" if task == "pos" else "figure4", PANELS[CLUSTER_ROWS[row]].format(TASKS[task])
    values = [published.value(f"{figure}{letter}", f"{panel} {CAPTIONS[run]}", "caption", "V-measure") for letter in "abcdef"]
    return next((value for value in values if value is not None), None)
