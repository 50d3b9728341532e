"""Folders of training runs: one for each, or, for trials that share a job, folders below the job's."""

import csv
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from crosslens.jobs.checksums import verified
from crosslens.jobs.files import remove

CHECKPOINT = "checkpoint.safetensors"  # in the folder of a training
HALF_WRITTEN = (".*.part-*", ".tmp??????", ".running.*", ".*.running.*")  # of files.written, of safetensors and of locks


def seen(outputs: Iterable[str | Path]) -> None:
    """Remove checkpoints and finished trials of training runs whose outputs are safe now; what cannot be removed stays."""
    for output in map(Path, outputs):
        for leftover in (output.with_name(CHECKPOINT), *output.parent.glob(f".{output.name}.begun-*")):
            with suppress(OSError):  # another user's, or held open on a network file system
                remove(leftover)


def training_runs(path: Path, name: str) -> list[tuple[str, Path]]:
    """Name and folder of each training run of a path: a file of the training `name`, or the folder of the job `name`.

    Raises DataError if the folder has changed since it was written.
    """
    if path.is_dir():
        return [(f"{name}/{record.parent.name}", record.parent) for record in sorted(verified(path).glob("*/record.json"))]
    return [(name, path.parent)]


def stages_without_improvement(history: Path, recipe: Mapping[str, Any]) -> list[str]:
    """Stages of a training run that kept the weights with which they began, since no epoch was better on the validation data.

    history: history.csv of the training run. recipe: its settings as its record has them.
    """
    stages = [stage["name"] for stage in recipe.get("stages", ()) if stage.get("keep", "best") == "best" and stage["epochs"]]
    if not stages:
        return []
    with verified(history).open(newline="", encoding="utf-8") as stream:
        best = {row["stage"]: row["best_epoch"] for row in csv.DictReader(stream)}
    return [stage for stage in stages if best.get(stage) == "0"]
