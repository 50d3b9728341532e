"""wu2019: the grid of learning rate, batch size and number of epochs, scored on the development set."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from crosslens.papers import grid_search
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.names import PAPER, TASKS
from crosslens.reports import cells


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The table of all trials. settings: trials, name -> task, variant and hyperparameters."""
    histories = inputs.by_seed("history")
    return cells.table([*grid_search.lines(settings["trials"], histories, "score on the development set", TASKS)], PAPER, name)
