"""Folders of training runs: one for each run or, for trials that share a job, one for each trial below the job's folder."""

import csv
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from crosslens.jobs.checksums import verified
from crosslens.jobs.files import remove

CHECKPOINT = "checkpoint.safetensors"  # in the folder of a training run
HALF_WRITTEN = (".*.part-*", ".tmp??????", ".running.*", ".*.running.*")  # by files.written, by safetensors, for locks


def seen(outputs: Iterable[str | Path]) -> None:
    """Remove checkpoints, and temporary copies of finished trials, of training runs whose outputs are now complete.

    outputs: files of training runs, or folders of jobs with several trials. Files that cannot be removed stay.
    """
    for output in map(Path, outputs):
        for leftover in (output.with_name(CHECKPOINT), *output.parent.glob(f".{output.name}.begun-*")):
            with suppress(OSError):  # another user's, or held open on a network file system
                remove(leftover)


def training_runs(path: Path, name: str) -> list[tuple[str, Path]]:
    """Name and folder of each training run at a path.

    path: a file of a training run, or the folder of a job with several trials. name: name of the training run or job. Raises
    DataError if the folder has changed since it was written.
    """
    if path.is_dir():
        return [(f"{name}/{record.parent.name}", record.parent) for record in sorted(verified(path).glob("*/record.json"))]
    return [(name, path.parent)]


def stages_without_improvement(history: Path, recipe: Mapping[str, Any]) -> list[str]:
    """Stages of a training run that ended with their initial weights, since no epoch improved the validation score.

    history: path of the training run's history.csv. recipe: settings of the recipe, from the training run's record.
    """
    stages = [stage["name"] for stage in recipe.get("stages", ()) if stage.get("keep", "best") == "best" and stage["epochs"]]
    if not stages:
        return []
    with verified(history).open(newline="", encoding="utf-8") as stream:
        best = {row["stage"]: row["best_epoch"] for row in csv.DictReader(stream)}
    return [stage for stage in stages if best.get(stage) == "0"]
