"""muller2021: table 3, the hyperparameters, and table3_search, the trials of the grid search."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from crosslens.jobs.checksums import verified
from crosslens.jobs.records import read_json
from crosslens.papers import grid_search
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.names import TASKS
from crosslens.reports import cells
from crosslens.reports.cells import Published

NOT_IN_GRID = "not in the printed grid"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table 3 or table3_search. settings: tasks, recipe -> task, and grid, key -> values; or trials (see `grid_search.lines`)."""
    if name == "table3_search":
        trials = {trial: dict(values, task=TASKS[values["task"]]) for trial, values in settings["trials"].items()}
        lines = grid_search.lines(trials, inputs.by_seed("history"), "validation score")
    else:
        histories = {(recipe, seed): pd.read_csv(verified(path)) for recipe, seed, path in inputs.by_seed("history")}
        runs = {(recipe, seed): read_json(path) for recipe, seed, path in inputs.by_seed("record")}
        lines = hyperparameters(settings["tasks"], runs, histories, inputs.published, settings["grid"])
    return cells.table([*lines], "muller2021", name)


def hyperparameters(
    tasks: Mapping[str, str],
    runs: Mapping[tuple[str, int], Mapping[str, Any]],
    histories: Mapping[tuple[str, int], pd.DataFrame],
    published: Published,
    grid: Mapping[str, Sequence[float]],
) -> Iterator[dict[str, Any]]:
    """Lines of table 3: a cell for each task and quantity, next to the printed value.

    The epoch is the best one, with several seeds their (upper) median. Minutes are those of one training run, mean over seeds.

    tasks: recipe -> task.
    runs, histories: records and histories of the training runs on English without re-initialised layers, by recipe and seed.
    grid: key -> values of the search.
    """
    sizes = f"{len(grid['batch'])} batch sizes x {len(grid['rate'])} rates, as in the text; the printed number is not explained"
    for task, head in TASKS.items():
        runs_of_task = [run for run in runs if tasks[run[0]] == task]
        if not runs_of_task:
            continue
        stage = runs[runs_of_task[0]]["recipe"]["stages"][0]
        best = sorted(int(histories[run]["best_epoch"].iloc[-1]) for run in runs_of_task)
        minutes = sum(runs[run]["seconds"] for run in runs_of_task) / len(runs_of_task) / 60
        here = {
            "batch size": (stage["batch"], None, "" if stage["batch"] in grid["batch"] else NOT_IN_GRID),
            "learning rate": (stage["encoder_rate"], None, "" if stage["encoder_rate"] in grid["rate"] else NOT_IN_GRID),
            "epochs (best)": (
                best[len(best) // 2], len(runs_of_task), f"of {stage['epochs']}; the paper prints the maximum number of epochs"
            ),
            "#grid": (len(grid["batch"]) * len(grid["rate"]), None, sizes),
            "Run-time (min)": (round(minutes, 1), len(runs_of_task), f"on {runs[runs_of_task[0]]['device']}"),
        }  # fmt: skip
        for row, (value, seeds, remark) in here.items():
            numbers = {"here": value, "seeds": seeds}
            yield cells.line(row, head, "value", "", numbers, published.value("table3", row, head), remark, digits=7)
