"""Where trainings lie: each in a folder of its own, or, as trials that share a job, in folders below the job's."""

from collections.abc import Iterable
from pathlib import Path

from crosslens.files import remove

CHECKPOINT = "checkpoint.safetensors"  # in the folder of a training
HALF_WRITTEN = (".*.part-*", ".tmp??????", ".running.*", ".*.running.*")  # by files.written, by safetensors, by a lock


def seen(outputs: Iterable[str]) -> None:
    """Remove what finished trainings kept for a next start: their outputs are safe now."""
    for output in map(Path, outputs):
        remove(output.with_name(CHECKPOINT))
        for begun in output.parent.glob(f".{output.name}.begun-*"):
            remove(begun)


def trainings(path: Path, name: str) -> list[tuple[str, Path]]:
    """Name and folder of each training that a path is of: a file of the training `name`, or the folder of a job of that name."""
    if path.is_dir():
        return [(f"{name}/{record.parent.name}", record.parent) for record in sorted(path.glob("*/record.json"))]
    return [(name, path.parent)]
