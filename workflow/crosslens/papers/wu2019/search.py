"""wu2019: the grid of learning rate, batch size and number of epochs, scored on the development set."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.layout import PAPER, TASKS
from crosslens.reports import cells
from crosslens.storage.seals import verified


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each trial, the best of each recipe first. settings: trials, name -> task, variant and hyperparameters."""
    best: dict[str, Mapping[Any, Any]] = {}
    for trial, _, path in inputs.by_seed("history"):
        history = pd.read_csv(verified(path))
        best[trial] = history.to_dict("records")[int(history["score"].argmax())]
    lines = []
    trials = settings["trials"]
    for trial in sorted(best, key=lambda name: (trials[name]["task"], trials[name]["variant"], -best[name]["score"])):
        values = dict(trials[trial])
        task, variant = TASKS[values.pop("task")], values.pop("variant")
        row = f"{task}, {variant}, {', '.join(f'{key} {value:g}' for key, value in values.items())}"
        score = {"here": cells.rounded(100 * best[trial]["score"]), "seeds": 1}
        lines.append(cells.line(row, "score", "score on the development set", "", score))
        lines.append(cells.line(row, "epoch", "best epoch", "", {"here": int(best[trial]["epoch"]), "seeds": 1}))
    return cells.table(lines, PAPER, name)
