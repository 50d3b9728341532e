"""tanti2021: tables 4 and 5, the grid of hyperparameters, what is used of it, and what a random search finds."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from crosslens.papers.tanti2021.items import TASKS

HYPERPARAMETERS = {
    "init_sd": "Init. standard deviation",
    "batch": "Minibatch size",
    "head_rate": "Classifier learning rate",
    "encoder_rate": "mBERT learning rate",
    "reversal": "Gradient reversal lambda",
    "uniformity": "Entropy max. weighting",
}  # name here -> name in the paper
EXPERIMENTS = {"frozen": "frozen", "finetuned": "fine-tuned", "gradient_reversal": "grad. rev.",
               "entropy_maximisation": "ent. max."}  # fmt: skip
"""Run -> name in table 5."""


def grid(search: Mapping[str, Any], published: pd.DataFrame) -> pd.DataFrame:
    """Table 4: a line for each value that is searched, beside the printed one."""
    lines = []
    for key, name in HYPERPARAMETERS.items():
        printed = _printed(published, "table4", name)
        for number in range(max(len(search[key]), len(printed))):
            line: dict[str, Any] = {"hyperparameter": name, "number": number + 1}
            for column, values in (("value", search[key]), ("published", printed)):
                line[column] = values[number] if number < len(values) else None
            lines.append(line)
    return pd.DataFrame(lines)


def used(tasks: Mapping[str, Mapping[str, Mapping[str, Any]]], published: pd.DataFrame) -> pd.DataFrame:
    """Table 5: a line for each hyperparameter of each training, as it is used here and as it is printed.

    tasks: task -> run -> hyperparameters.
    """
    lines = []
    for task, runs in tasks.items():
        for run, name in EXPERIMENTS.items():
            printed = published_run(published, task, run)
            for key, label in HYPERPARAMETERS.items():
                value = runs.get(run, {}).get(key)
                if value is not None or key in printed:
                    lines.append({"experiment": f"{TASKS[task]} {name}", "hyperparameter": label, "value": value,
                                  "published": printed.get(key)})  # fmt: skip
    return pd.DataFrame(lines)


def searched(
    trials: Mapping[str, Mapping[str, Any]], scores: pd.DataFrame, published: pd.DataFrame, definition: str
) -> pd.DataFrame:
    """Table 5 by search: a line a trial, the best of each experiment first, and the printed choice below.

    trials: name of the recipe -> hyperparameters; scores: records of the dev sets; definition: the score that selects.
    """
    scores = scores[(scores["language"] == "all") & (scores["definition"] == definition)].set_index("recipe")
    lines: dict[str, list[tuple[Any, dict[str, Any]]]] = {}  # experiment -> exact score and line
    for recipe, values in trials.items():
        _, task, run, trial = recipe.split("/")
        found = scores.loc[recipe]
        line = {"experiment": f"{TASKS[task]} {EXPERIMENTS.get(run, run)}", "trial": trial, **_row(values),
                "definition": definition, "score": round(100 * found["value"], 2), "low": round(100 * found["low"], 2),
                "high": round(100 * found["high"], 2)}  # fmt: skip
        lines.setdefault(f"{task}/{run}", []).append((found["value"], line))
    ordered: list[dict[str, Any]] = []
    for experiment, group in lines.items():
        group.sort(key=lambda each: -each[0])  # stable: the first best wins
        printed = published_run(published, *experiment.split("/"))
        ordered += [line | {"selected": line is group[0][1]} for _, line in group]
        ordered.append({"experiment": group[0][1]["experiment"], "trial": "published", **_row(printed)})
    return pd.DataFrame(ordered)


def published_run(published: pd.DataFrame, task: str, run: str) -> dict[str, float]:
    """Table 5's printed choice for a training: name here -> value; empty for a control of ours."""
    here = published[(published["item"] == "table5") & (published["row"] == f"{TASKS[task]} {EXPERIMENTS.get(run, '-')}")]
    values = dict(zip(here["column"], here["value"], strict=True))
    return {key: float(values[name]) for key, name in HYPERPARAMETERS.items() if name in values}


def _row(values: Mapping[str, Any]) -> dict[str, Any]:
    return {label: values.get(key) for key, label in HYPERPARAMETERS.items()}


def _printed(published: pd.DataFrame, item: str, name: str) -> list[float]:
    return published[(published["item"] == item) & (published["row"] == name)]["value"].astype(float).tolist()
