"""muller2021, table 3: hyperparameters, and the trials of the grid search."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.layout import TASKS
from crosslens.reports import cells
from crosslens.reports.cells import Published
from crosslens.storage.records import read_json
from crosslens.storage.seals import verified

NOT_IN_GRID = "not in the printed grid"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table 3, or the search for it. settings: tasks, recipe -> task, and grid, key -> values; of the search, trials."""
    histories = {(recipe, seed): pd.read_csv(verified(path)) for recipe, seed, path in inputs.by_seed("history")}
    if name == "table3_search":
        lines = trial_lines(settings["trials"], {recipe: history for (recipe, _), history in histories.items()})
    else:
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
    """Table 3: a cell for each task and quantity, beside the printed value.

    tasks: recipe -> task; runs, histories: records and histories of the reference trainings from the first source, by recipe and
    seed; grid: of the search, by key. Epochs: the best one, the middle one of several seeds; minutes: of one training, mean over
    seeds.
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


def trial_lines(trials: Mapping[str, Mapping[str, Any]], histories: Mapping[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    """The trials of each task and source with their best score on the source's validation set, in percent, the best first.

    trials: recipe -> task, source and the hyperparameters that differ.
    """
    best = {name: history.to_dict("records")[int(history["score"].argmax())] for name, history in histories.items()}
    for name in sorted(trials, key=lambda name: (TASKS[trials[name]["task"]], trials[name]["source"], -best[name]["score"])):
        values = dict(trials[name])
        task, source = TASKS[values.pop("task")], values.pop("source")
        row = f"{task}, {source}, {', '.join(f'{key} {value:g}' for key, value in values.items())}"
        yield cells.line(row, "score", "validation score", "", {"here": cells.rounded(100 * best[name]["score"]), "seeds": 1})
        yield cells.line(row, "epoch", "best epoch", "", {"here": int(best[name]["epoch"]), "seeds": 1})
