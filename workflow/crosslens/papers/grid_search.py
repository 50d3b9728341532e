"""Tables of the trials of a grid search, shared by two papers."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from crosslens.jobs.checksums import verified
from crosslens.reports import cells


def lines(
    trials: Mapping[str, Mapping[str, Any]],
    histories: Iterable[tuple[str, int, Path]],
    metric: str,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Two lines per trial: its best validation score, in percent, and that score's epoch; the best trial of each group first.

    trials: recipe -> task, group (source or variant) and the hyperparameters searched, in this order.
    histories: recipe, seed and history.csv of each trial.
    metric: name of the score in the table.
    titles: task -> its title in the table; a task that is not listed is its own title.
    """
    best: dict[str, dict[Any, Any]] = {}
    for recipe, _, path in histories:
        history = pd.read_csv(verified(path))
        best[recipe] = history.to_dict("records")[int(history["score"].argmax())]
    for recipe in sorted(best, key=lambda recipe: (*[*trials[recipe].values()][:2], -best[recipe]["score"])):
        (task, group), values = [*trials[recipe].values()][:2], [*trials[recipe].items()][2:]
        row = f"{titles.get(task, task)}, {group}, {', '.join(f'{key} {value:g}' for key, value in values)}"
        yield cells.line(row, "score", metric, "", {"here": cells.rounded(100 * best[recipe]["score"]), "seeds": 1})
        yield cells.line(row, "epoch", "best epoch", "", {"here": int(best[recipe]["epoch"]), "seeds": 1})
