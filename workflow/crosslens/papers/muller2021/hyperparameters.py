"""muller2021, table 3: hyperparameters, and what the grid search finds."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from crosslens.papers.muller2021.items import TASKS

NOT_IN_GRID = "not in the printed grid"


def hyperparameters(
    recipes: Sequence[Mapping[str, Any]],
    histories: Sequence[pd.DataFrame],
    published: pd.DataFrame,
    grid: Mapping[str, Sequence[float]],
) -> pd.DataFrame:
    """Table 3: a line for each task and quantity, beside the printed value.

    recipes: records of the reference trainings from the first source; histories: their epochs, in the same order; grid: of the
    search, by key. Epochs: the best one, of several seeds the middle one; minutes: of one training, the mean over seeds.
    """
    printed = published[published["item"] == "table3"].set_index(["row", "column"])["value"]
    lines = []
    for task, column in TASKS.items():
        named = [run["recipe"]["name"].split("/")[1] for run in recipes]
        runs = [each for each, of in zip(zip(recipes, histories, strict=True), named, strict=True) if of == task]
        if not runs:
            continue
        stage = runs[0][0]["recipe"]["stages"][0]
        best = sorted(int(history["best_epoch"].iloc[-1]) for _, history in runs)
        minutes = sum(run["seconds"] for run, _ in runs) / len(runs) / 60
        sizes = (
            f"{len(grid['batch'])} batch sizes x {len(grid['rate'])} rates, as in the text; the printed number is not explained"
        )
        here = {
            "batch size": (stage["batch"], "" if stage["batch"] in grid["batch"] else NOT_IN_GRID),
            "learning rate": (stage["encoder_rate"], "" if stage["encoder_rate"] in grid["rate"] else NOT_IN_GRID),
            "epochs (best)": (best[len(best) // 2], f"of {stage['epochs']}; printed are the most that were run"),
            "#grid": (len(grid["batch"]) * len(grid["rate"]), sizes),
            "Run-time (min)": (round(minutes, 1), f"on {runs[0][0]['device']}"),
        }
        for row, (value, remark) in here.items():
            lines.append({"task": column, "row": row, "here": value, "published": printed.get((row, column)), "remark": remark})
    return pd.DataFrame(lines, columns=["task", "row", "here", "published", "remark"])


def searched(trials: Mapping[str, Mapping[str, float]], histories: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The trials of each task and source with their best score on the source's validation set, in percent, the best first."""
    lines = []
    for (name, values), history in zip(trials.items(), histories, strict=True):
        _, task, source, *_ = name.split("/")
        best = int(history["score"].to_numpy().argmax())
        found = {"score": round(100 * float(history["score"].iloc[best]), 2), "epoch": int(history["epoch"].iloc[best])}
        lines.append({"task": TASKS[task], "source": source, **values, **found})
    return pd.DataFrame(lines).sort_values(["task", "source", "score"], ascending=[True, True, False], ignore_index=True)
