"""Where trainings lie: each in a folder of its own, or, as trials that share a job, in folders below the job's."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from crosslens.storage.files import remove
from crosslens.storage.seals import verified

CHECKPOINT = "checkpoint.safetensors"  # in the folder of a training
HALF_WRITTEN = (".*.part-*", ".tmp??????", ".running.*", ".*.running.*")  # by files.written, by safetensors, by a lock


def seen(outputs: Iterable[str | Path]) -> None:
    """Remove what finished trainings kept for a next start: their outputs are safe now. What cannot be removed stays."""
    for output in map(Path, outputs):
        for kept in (output.with_name(CHECKPOINT), *output.parent.glob(f".{output.name}.begun-*")):
            with suppress(OSError):  # another user's, or held open on a network file system
                remove(kept)


def trainings(path: Path, name: str) -> list[tuple[str, Path]]:
    """Name and folder of each training that a path is of: a file of the training `name`, or the folder of a job of that name.

    Raises DataError where the folder does not hold what was written.
    """
    if path.is_dir():
        return [(f"{name}/{record.parent.name}", record.parent) for record in sorted(verified(path).glob("*/record.json"))]
    return [(name, path.parent)]
