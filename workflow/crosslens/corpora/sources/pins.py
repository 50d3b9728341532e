"""Digests of files without a published checksum, pinned when the files were first read: sources.lock.tsv.

A file that is fetched for the first time may be anything. Its digest is noted next to it, in .NAME.unread, until a step has
read the file without an error. Only then is the digest pinned; later fetches must match it.
"""

import csv
import io
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from crosslens.jobs.bounded import read_text
from crosslens.jobs.call import set_aside
from crosslens.jobs.checksums import digest
from crosslens.jobs.errors import DataError, short
from crosslens.jobs.files import written

logger = logging.getLogger(__name__)

LOCK = Path("sources.lock.tsv")  # in the working directory, to be committed with the results that depend on it
NAMED = 5  # most files that a message names
LARGEST = 10**8  # largest size of the table, in bytes
FIELDS = ("file", "sha256", "bytes", "from")
PATIENCE = 60.0  # seconds to wait while other jobs pin their files

Row = dict[str, str]


def digests(lock: Path = LOCK) -> dict[str, str]:
    """Pinned digest of each file (SOURCE/PATH)."""
    return {file: row["sha256"] or "" for file, row in _read(lock).items()}


def pinned(file: str, lock: Path) -> str | None:
    """Digest that a file (SOURCE/PATH) had when it was first read; None if it never was."""
    return _read(lock).get(file, {}).get("sha256")


def await_reading(path: Path, file: str, sha256: str, size: int, origin: str) -> None:
    """Note next to `path` the digest to pin once the file has been read. The file itself is moved to `path` afterwards.

    file: SOURCE/PATH. size: bytes. origin: where it came from. An earlier note is replaced, since nothing has read that file.
    """
    with written(_note(path)) as temporary:
        temporary.write_text(_table([dict(zip(FIELDS, (file, sha256, str(size), origin), strict=True))]), "utf-8")


def forget(path: Path) -> None:
    """Remove the note next to a file that needs no pin or already has one."""
    _note(path).unlink(missing_ok=True)


@contextmanager
def reading(paths: Iterable[str | Path], lock: Path = LOCK) -> Iterator[None]:
    """Pin in `lock` the files that were fetched for the first time, if the `with` statement reads them without an error.

    paths: the official files that it reads. Raises DataError if another digest of a file has been pinned meanwhile. If the
    statement raises a DataError, its message is extended: it says how to fetch again the unpinned files that it names, or else
    all unpinned files, and which of them to correct in a mirror first.
    """
    unread = {path: row for path in map(Path, paths) for row in _read(_note(path)).values()}
    try:
        yield
    except DataError as error:
        paths = [path for path in unread if str(path) in str(error)] or list(unread)
        if not paths:
            raise
        more = f" and {len(paths) - NAMED} more" * (len(paths) > NAMED)
        moves = " && ".join(set_aside(Path(path)) for path in paths[:NAMED])
        copied = [row["file"] for row in (unread[Path(path)] for path in paths[:NAMED]) if row["from"] == "a mirror"]
        correct = f"correct {', '.join(copied)} in your mirror, then " if copied else ""
        remedy = f"{correct}{moves}{more}, and the next run fetches again what nothing has read before"
        raise DataError(f"{error}; or {remedy}") from error
    for path, row in unread.items():
        try:
            _pin(path, row, lock)
            forget(path)
        except OSError as error:  # such as a read-only working directory; the files are valid all the same
            logger.warning("%s: its digest could not be pinned in %s: %s", path, lock, error)


def _pin(path: Path, row: Row, lock: Path) -> None:
    """Add a file's row to the lock; several jobs may do so at once. Raises DataError if lock or file has another digest."""
    with FileLock(lock.with_name(f".{lock.name}.busy"), timeout=PATIENCE):
        rows = _read(lock)
        expected, actual = rows.setdefault(row["file"], row)["sha256"], digest(path)
        if not expected == row["sha256"] == actual:
            raise DataError(
                f"{path}: expected sha256 {expected}, that of the first time, found {actual}; {set_aside(path)} to "
                f"fetch it again, or, if the change of the file is intended, delete the line of {row['file']} in {lock}"
            )
        with written(lock) as temporary:
            temporary.write_text(_table([rows[file] for file in sorted(rows)]), "utf-8")


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.unread")


def _table(rows: Iterable[Row]) -> str:
    """Rows as tab-separated text with a header."""
    text = io.StringIO()
    table = csv.DictWriter(text, FIELDS, delimiter="\t", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _read(lock: Path) -> dict[str, Row]:
    """Rows by file; none if there is no such table. Raises DataError if it does not have the columns FIELDS."""
    if not lock.exists():
        return {}
    table = csv.DictReader(io.StringIO(read_text(lock, LARGEST), newline=""), delimiter="\t")
    if table.fieldnames is None or set(table.fieldnames) != set(FIELDS):
        raise DataError(
            f"{lock}: expected columns {', '.join(FIELDS)}, found {short(table.fieldnames)}; restore or delete the file"
        )
    return {row["file"]: row for row in table}
