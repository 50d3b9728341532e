"""Digests of files outside the results, cached until a file changes."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crosslens.jobs.bounded import regular
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256, written
from crosslens.jobs.quantities import readable

SLOW = 0.01  # seconds of reading after which the cache is saved
SPARSE = 100  # maximum ratio of a file's size to its space on disk, which may be compressed
LARGE = 10**9  # bytes above which that ratio is checked
FRESH = 10**9  # nanoseconds within which a file may change without a new stamp, as clocks of file systems are coarse


def stamp(path: Path) -> list[int]:
    """Size, times and inode of a file, which change when it is written, renamed or replaced."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


class Cache:
    """Cache of values computed from files, in a JSON file in `.snakemake`: NAME -> [stamp, value]."""

    def __init__(self, file: Path | None) -> None:
        """Read the values of earlier calls. file: path of the cache; None: nothing is read or stored."""
        self.file, self.changed = file, False
        self.entries: dict[str, list[Any]] = {}
        if file and file.exists():
            try:
                entries = json.loads(file.read_text(encoding="utf-8"))
                self.entries = {name: entry for name, entry in entries.items() if len(entry) == 2}
            except (OSError, ValueError, TypeError, AttributeError, RecursionError):
                pass  # a damaged cache counts as empty

    def value(self, name: str, stamp: Sequence[int | str], compute: Callable[[], Any]) -> Any:
        """Value cached for a name and a stamp; if there is none, `compute` it and cache it."""
        entry = self.entries.get(name)
        if entry is None or entry[0] != [*stamp]:
            entry = self.entries[name] = [[*stamp], compute()]
            self.changed = True
        return entry[1]

    def save(self) -> None:
        """Write the cache if it has changed; atomically, since jobs on several nodes may write at the same time."""
        if self.file and self.changed:
            try:
                with written(self.file) as temporary:
                    temporary.write_text(json.dumps(self.entries), encoding="utf-8")
            except (OSError, DataError):
                pass  # a read-only working copy has no cache
        self.changed = False


class Contents:
    """Function that returns digests of files' contents, from a cache if possible."""

    def __init__(self, file: Path | None = None) -> None:
        """Read the digests of earlier calls. file: path of the cache in `.snakemake`; None: nothing is read or stored."""
        self.cache, self.unsaved = Cache(file), 0.0  # unsaved: seconds spent on digests that are not saved
        self.digests: dict[tuple[Path, str], str] = {}  # digests that this process has computed or looked up

    def __call__(self, path: Path, compute: Callable[[Path], str] = sha256, part: str = "") -> str:
        """Hex digest of a file's content, by default its sha256.

        compute: function that computes it. part: name of the digested part, if `compute` is not the default. Raises DataError if
        the file is sparse or not a regular file, OSError if it may not be read.
        """
        if (path, part) not in self.digests:
            check_whole(path)
            before = stamp(path)
            if time.time_ns() - max(before[1:3]) < FRESH:
                self.digests[path, part] = compute(path)
            else:
                began = time.perf_counter()
                self.digests[path, part] = self.cache.value(f"{part}{path}", before, lambda: compute(path))
                self.unsaved += time.perf_counter() - began
                if self.unsaved > SLOW:
                    self.cache.save()
                    self.unsaved = 0.0
        return self.digests[path, part]


def check_whole(path: Path) -> None:
    """Raise DataError if a path is not a regular file or is sparse, OSError if it does not exist."""
    size, room = regular(path), path.stat().st_blocks * 512
    if size > LARGE and size > SPARSE * room:
        raise DataError(f"{path}: expected a file with {readable(size)} of content, found {readable(room)}; copy it again")
