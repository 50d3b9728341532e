"""What files outside the results hold: digests of their content, read once for as long as a file stays the same."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosslens.runs.errors import DataError
from crosslens.runs.quantities import readable
from crosslens.storage.bounded import regular
from crosslens.storage.files import sha256, written

SLOW = 0.01  # seconds of reading that are worth writing down
SPARSE = 100  # times the room it takes on the disk that a file's size may be, as of file systems that compress
LARGE = 10**9  # bytes from which it matters
FRESH = 10**9  # nanoseconds in which a file can change twice under one stamp, by the clocks of file systems


def stamp(path: Path) -> list[int]:
    """What changes with every writing, renaming or replacing of a file, as with some touches: size, times, inode."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


class Cache:
    """What was computed from files, in a file of JSON in `.snakemake`: NAME -> [stamp, value]."""

    def __init__(self, file: Path | None) -> None:
        """Take the values of earlier calls; without a file nothing is left behind."""
        self.file, self.changed = file, False
        self.entries: dict[str, list[Any]] = {}
        if file and file.exists():
            try:
                entries = json.loads(file.read_text(encoding="utf-8"))
                self.entries = {name: entry for name, entry in entries.items() if len(entry) == 2}
            except (OSError, ValueError, TypeError, AttributeError):
                pass  # damaged, which is as good as none

    def value(self, name: str, stamp: list[int], compute: Callable[[], Any]) -> Any:
        """The value for a stamp, computed where it is not known."""
        entry = self.entries.get(name)
        if entry is None or entry[0] != stamp:
            entry = self.entries[name] = [stamp, compute()]
            self.changed = True
        return entry[1]

    def save(self) -> None:
        """Write what is new, whole or not at all: jobs on several nodes may write at once."""
        if self.file and self.changed:
            try:
                with written(self.file) as temporary:
                    temporary.write_text(json.dumps(self.entries), encoding="utf-8")
            except OSError:
                pass  # a read-only working copy goes without
        self.changed = False


class Contents:
    """Digests of files' contents."""

    def __init__(self, file: Path | None = None) -> None:
        """Take the digests of earlier calls from a file in `.snakemake`."""
        self.cache, self.unsaved = Cache(file), 0.0  # seconds of reading
        self.digests: dict[tuple[Path, str], str] = {}  # that this process has asked for

    def __call__(self, path: Path, read: Callable[[Path], str] = sha256, part: str = "") -> str:
        """Hex digest of a file's content, by default its sha256; where `read` computes another, `part` says of what.

        Raises DataError where it is no regular file, or one of zeros that take no room; OSError where it may not be read.
        """
        if (path, part) not in self.digests:
            check_whole(path)
            before = stamp(path)
            if time.time_ns() - max(before[1:3]) < FRESH:
                self.digests[path, part] = read(path)
            else:
                began = time.perf_counter()
                self.digests[path, part] = self.cache.value(f"{part}{path}", before, lambda: read(path))
                self.unsaved += time.perf_counter() - began
                if self.unsaved > SLOW:
                    self.cache.save()
                    self.unsaved = 0.0
        return self.digests[path, part]


def check_whole(path: Path) -> None:
    """Raise DataError where a path is no regular file, or has less content than its size says; OSError where there is none."""
    size, room = regular(path), path.stat().st_blocks * 512
    if size > LARGE and size > SPARSE * room:
        raise DataError(f"{path}: expected a file with {readable(size)} of content, found {readable(room)}; copy it again")
