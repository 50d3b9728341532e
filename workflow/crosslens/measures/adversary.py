"""Accuracy of an adversary, a head that an encoder is trained against, on its own task during the training run.

An adversary near chance shows nothing about the encoder that was trained against it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from crosslens.jobs.checksums import verified
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import ADVERSARY_BEST, ADVERSARY_END, ADVERSARY_START


def measure(subject: Subject, *, head: str) -> Iterator[dict[str, Any]]:
    """Yield the adversary's accuracy on held-out texts; nothing if it was not monitored during the task's stage.

    head: name of the adversary.
    """
    yield from adversary_records(pd.read_csv(verified(subject.folder / "history.csv")), head)


def adversary_records(history: pd.DataFrame, head: str) -> Iterator[dict[str, Any]]:
    """Yield the records of the adversary's accuracy: before the encoder moved, after the last epoch, and at its best.

    history: rows of history.csv. head: name of the adversary.
    """
    accuracy = f"accuracy {head}"
    names = [name for name in history.columns if name.startswith(accuracy)]
    task = history[history["stage"] == "task"].dropna(subset=accuracy) if names else history[:0]
    if not len(task):
        return
    alone = f"{accuracy}, after phase 1"  # recorded with entropy maximisation, which first trains the head in each epoch
    before = max(task[accuracy].iloc[0], task[alone].dropna().iloc[0] if alone in task else 0.0)
    training = history[history["stage"].isin(["adversary", "task"])]
    values = {
        ADVERSARY_START: before,
        ADVERSARY_END: task[accuracy].iloc[-1],
        ADVERSARY_BEST: np.nanmax(training[names].to_numpy()),
    }
    for definition, value in values.items():
        yield {"item": head, "language": "all", "split": "validation", "measure": "adversary", "definition": definition,
               "value": float(value), "n": int(task[f"n {head}"].iloc[0])}  # fmt: skip
