"""Digests of files that no checksum is published for, pinned when they were first fetched: sources.lock.tsv."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from crosslens.errors import DataError
from crosslens.files import written

if TYPE_CHECKING:
    from crosslens.sources.registry import Source

LOCK = Path("sources.lock.tsv")  # in the working directory: beside the results that rest on it, to be committed with them
NAMED = 5  # files that the line on unverified ones names
FIELDS = ("file", "sha256", "bytes", "from")


def pinned(file: str, lock: Path) -> str | None:
    """The digest that a file (SOURCE/PATH) had when it was first fetched, None if it never was."""
    return _read(lock).get(file, {}).get("sha256")


def pin(file: str, sha256: str, size: int, origin: str, lock: Path) -> None:
    """Remember a file's digest, and where it came from; several jobs may do so at a time."""
    with FileLock(lock.with_name(f".{lock.name}.busy")):
        rows = _read(lock) | {file: dict(zip(FIELDS, (file, sha256, str(size), origin), strict=True))}
        with written(lock) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, FIELDS, delimiter="\t", lineterminator="\n")
            table.writeheader()
            table.writerows(rows[key] for key in sorted(rows))


def unverified(sources: Mapping[str, "Source"], lock: Path = LOCK) -> str:
    """A line on the files that rest on the first fetch alone: pinned, and of no known digest; "" where there are none."""
    paths = [file.partition("/") for file in _read(lock)]
    files = [f"{source}/{path}" for source, _, path in paths if source not in sources or not sources[source].sha256_of(path)]
    more = f" and {len(files) - NAMED} more" * (len(files) > NAMED)
    known = f"{lock}: {len(files)} files are unverified, for no digest of them is published: trusted as first fetched"
    return f"{known}: {', '.join(files[:NAMED])}{more}" * bool(files)


def _read(lock: Path) -> dict[str, dict[str, str]]:
    """Rows by file. Raises DataError where the table is not one."""
    if not lock.exists():
        return {}
    with open(lock, encoding="utf-8", newline="") as stream:
        table = csv.DictReader(stream, delimiter="\t")
        if table.fieldnames is None or set(table.fieldnames) != set(FIELDS):
            raise DataError(f"{lock}: expected columns {', '.join(FIELDS)}, found {table.fieldnames}; restore or delete the file")
        return {row["file"]: row for row in table}
