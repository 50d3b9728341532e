"""tanti2021: table 4 (the grid of hyperparameters), table 5 (the selected values), and the trials of the random search."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import Any

import pandas as pd

from crosslens.numerics.definitions import MACRO_F1
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import HYPERPARAMETERS, PAPER, PAPER_F1, SEARCHED, TASKS
from crosslens.papers.tanti2021.records import named
from crosslens.reports import cells
from crosslens.reports.cells import Published

PLACES = 12  # decimals of differences; learning rates are as small as 1e-6

EXPERIMENTS = {"frozen": "frozen", "finetuned": "fine-tuned", "gradient_reversal": "grad. rev.",
               "entropy_maximisation": "ent. max."}  # fmt: skip
"""Run -> its name in table 5."""


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table 4, table 5, or the trials of the random search (table5_search).

    settings: for table 4, search (hyperparameter -> values); for table 5, tasks (task -> run -> hyperparameters); for the
    trials, trials (see `trial_lines`), select_by (the criterion for the best trial) and wiki (key of the corpus of paragraphs).
    """
    published = inputs.published
    if name == "table4":
        lines = grid(settings["search"], published)
    elif name == "table5":
        lines = selected_values(settings["tasks"], published)
    else:
        scores = named(inputs.records(), settings["wiki"])
        lines = trial_lines(settings["trials"], scores, published, PAPER_F1 if settings["select_by"] == "paper" else MACRO_F1)
    return cells.table([*lines], PAPER, name)


def grid(search: Mapping[str, Sequence[float]], published: Published) -> Iterator[dict[str, Any]]:
    """Lines of table 4: each value of the grid next to the printed one. search: hyperparameter -> values."""
    for key, name in HYPERPARAMETERS.items():
        for number in count():
            column = f"value {number + 1}"
            here, printed = next(iter(search[key][number:]), None), published.value("table4", name, column)
            if here is None and printed is None:
                break
            yield cells.line(name, column, "search value", "", {"here": here}, printed, digits=PLACES)


def selected_values(tasks: Mapping[str, Mapping[str, Mapping[str, Any]]], published: Published) -> Iterator[dict[str, Any]]:
    """Lines of table 5: each hyperparameter of each training run, as used here and as printed.

    tasks: task -> run -> hyperparameters.
    """
    for task, runs in tasks.items():
        for run, name in EXPERIMENTS.items():
            printed = published_run(published, task, run)
            for key, label in HYPERPARAMETERS.items():
                value = runs.get(run, {}).get(key)
                if value is not None or key in printed:
                    row = f"{TASKS[task]} {name}"
                    yield cells.line(row, label, "selected value", "", {"here": value}, printed.get(key), digits=PLACES)


def trial_lines(
    trials: Mapping[str, Mapping[str, Any]], scores: pd.DataFrame, published: Published, definition: str
) -> Iterator[dict[str, Any]]:
    """Lines of table5_search: the trials of each experiment, the best first, followed by the printed choice.

    With the paper's definition, each trial has the authors' score of the same hyperparameters next to it, if they tried them.

    trials: name of the recipe -> task, run, trial and hyperparameters.
    scores: `named` records of the development sets.
    definition: definition of the score that ranks the trials.
    """
    scores = cells.where(scores, definition=definition).set_index("recipe")
    dev = scores["value"].astype(float).to_dict()
    for (task, run), recipes in groupby(trials, key=lambda recipe: (trials[recipe]["task"], trials[recipe]["run"])):
        experiment, printed = f"{TASKS[task]} {EXPERIMENTS.get(run, run)}", published_run(published, task, run)
        released = authors_scores(published, experiment) if definition == PAPER_F1 else {}
        ranked = sorted(recipes, key=lambda recipe: -dev[recipe])  # a stable sort: among equal scores the first trial wins
        for recipe in ranked:
            row = f"{experiment}, {trials[recipe]['trial']}"
            values = {key: trials[recipe][key] for key in HYPERPARAMETERS if key in trials[recipe]}
            remark = "selected" if recipe == ranked[0] else ""
            for key, value in values.items():
                yield cells.line(row, HYPERPARAMETERS[key], "trial", definition, {"here": value}, remark=remark, digits=PLACES)
            authors_score = released.get(authors_name(values))
            yield cells.line(row, "score", "trial", definition, cells.cell(scores.loc[[recipe]]), authors_score, remark)
        for key, value in printed.items():
            yield cells.line(f"{experiment}, published", HYPERPARAMETERS[key], "trial", definition, {}, value)
        if authors_name(printed) in released:
            yield cells.line(f"{experiment}, published", "score", "trial", definition, {}, released[authors_name(printed)])


def authors_scores(published: Published, experiment: str) -> dict[str, float]:
    """`authors_name` -> the authors' development score of an experiment with these hyperparameters, in percent."""
    rows = cells.where(published.table, item="table5_search", row=experiment)
    return dict(zip(rows["column"], rows["value"].astype(float), strict=True))


def authors_name(values: Mapping[str, float]) -> str:
    """Name of a set of hyperparameters in the authors' logs (experiments/hyperparam_search/*/results.csv, column exp_id)."""
    return ",".join(f"{name}={values[key]:g}" for key, name in SEARCHED.items() if key in values)


def published_run(published: Published, task: str, run: str) -> dict[str, float]:
    """Hyperparameters of a training run as printed in table 5: name -> value; empty for our controls."""
    row = f"{TASKS[task]} {EXPERIMENTS.get(run, '-')}"
    values = {key: published.value("table5", row, name) for key, name in HYPERPARAMETERS.items()}
    return {key: value for key, value in values.items() if value is not None}
