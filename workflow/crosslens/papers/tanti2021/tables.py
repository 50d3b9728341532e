"""tanti2021: tables 1 to 3 and footnote 6."""

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from crosslens.config.base import languages_table
from crosslens.encoding.tokens.counts import Vocabulary, unknown_shares
from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import (
    CAPTIONS,
    CLUSTER_ROWS,
    MICRO_F1,
    PANELS,
    PAPER,
    PAPER_F1,
    SPELLING,
    TABLES,
    TASKS,
    TUNED,
    V_PAPER,
    chance,
    column,
    metric,
    recipe_name,
)
from crosslens.papers.tanti2021.records import named
from crosslens.reports import cells

SCORES = ("macro F1", "micro F1", "accuracy")  # get a remark near 0, chance or 100; clustering scores do not


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table `name`, in percent. settings: runs, task -> its configured runs; wiki, key of the corpus of paragraphs."""
    return table_of(name, named(inputs.records(), settings["wiki"]), inputs.published, settings["runs"])


def record(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> dict[str, Any]:
    """How texts were tokenised, for the record of a table or figure; if unknown subwords were kept, also their shares."""
    facts = {key: settings[key] for key in ("tokenisation", "drop_unknown") if key in settings}  # figure 2 shows no texts
    if inputs.tokenizer is None:
        return facts
    vocabulary, names = Vocabulary.read(inputs.tokenizer), languages_table()
    shares = {corpus: unknown_shares(folder, vocabulary) for corpus, folder in inputs.tokens.items()}
    return facts | {
        "unknown_subwords": {key: {names[code]["name"]: share for code, share in part.items()} for key, part in shares.items()}
    }


def table_of(name: str, scores: pd.DataFrame, published: cells.Published, runs: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Table `name`: a line for each row, definition and run. The paper's definitions have the published value.

    A remark marks probes that did not converge.

    scores: `named` records.
    runs: task -> its configured runs.
    """
    lines = [*_footnote6(scores, published, runs)] if name == "footnote6" else []
    for row, item in TABLES[name].rows.items():
        here = cells.where(scores, item=item)
        for definition, task, run in product(dict.fromkeys(here["definition"]), runs, TABLES[name].runs):
            if run in runs[task] or run == SPELLING:
                records = cells.where(here, definition=definition, recipe=recipe_name(task, run))
                printed = _published(published, name, row, task, run) if definition in (PAPER_F1, V_PAPER) else None
                if len(records) or printed is not None:
                    head, numbers = column(task, run), cells.cell(records)
                    remarks = [cells.unconverged(records, head), _equal_runs(records)]
                    guessed = chance(task, definition) if item == "task" else 0
                    level = guessed if metric(definition) in SCORES else None
                    lines.append(cells.line(row, head, metric(definition), definition, numbers, printed, remarks, chance=level))
    return cells.table(lines, PAPER, name)


def _equal_runs(records: pd.DataFrame) -> str:
    """A remark if the k-means runs of a single seed all agree, which leaves no interval; otherwise ""."""
    alone = len(records) == 1 and records["measure"].eq("clusters").all() and records["low"].isna().all()
    return "no interval: the same in all k-means runs" if alone else ""


def _footnote6(scores: pd.DataFrame, published: cells.Published, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """Lines for the fine-tuned model under other papers' metrics, next to this paper's printed value, and for XTREME's."""
    for task in tasks:
        definition = MICRO_F1 if task == "pos" else ACCURACY
        records = cells.where(scores, recipe=recipe_name(task, "finetuned"), item="task", definition=definition)
        for head, numbers in (("fine-tuned (this paper)", cells.cell(records)), ("XTREME (Hu et al. 2020)", cells.EMPTY)):
            printed = published.value("text", TASKS[task], head)  # the published values list the footnote under "text"
            level = chance(task, definition)
            yield cells.line(TASKS[task], head, metric(definition), definition, numbers, printed, chance=level)


def _published(published: cells.Published, name: str, row: str, task: str, run: str) -> float | None:
    """Printed value of a cell; None if there is none. V-measures of table 1's runs are in the captions of figures 3 and 4."""
    if name != "table3" or run not in TUNED:
        return published.value(name, row, column(task, run))
    figure, panel = "figure3" if task == "pos" else "figure4", PANELS[CLUSTER_ROWS[row]].format(TASKS[task])
    values = [published.value(f"{figure}{letter}", f"{panel} {CAPTIONS[run]}", "caption", "V-measure") for letter in "abcdef"]
    return next((value for value in values if value is not None), None)
