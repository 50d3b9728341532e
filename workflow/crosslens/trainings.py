"""Where trainings lie: each in a folder of its own, or, as trials that share a job, in folders below the job's."""

from pathlib import Path


def trainings(path: Path, name: str) -> list[tuple[str, Path]]:
    """Name and folder of each training that a path is of: a file of the training `name`, or the folder of a job of that name."""
    if path.is_dir():
        return [(f"{name}/{record.parent.name}", record.parent) for record in sorted(path.glob("*/record.json"))]
    return [(name, path.parent)]
