"""Opening and writing of files: decompression by suffix, with a limit on the size, and atomic writing."""

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crosslens.jobs.errors import DataError

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
EXPANSION = 100  # maximum ratio of a compressed file's content to its size; text reaches at most 20
SMALL = 10**8  # bytes to which every compressed file may expand, whatever the ratio
ABANDONED = 86400.0  # seconds without a change after which a temporary folder is assumed to belong to a killed process


class Budget:
    """Number of bytes to which a compressed file, together with those inside it, may expand."""

    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size
        self.limit = self.remaining = max(SMALL, EXPANSION * self.size)

    def take(self, number: int) -> None:
        """Subtract bytes from the budget. Raises DataError if it is exceeded."""
        self.remaining -= number
        if self.remaining < 0:
            raise DataError(
                f"{self.path}: expands from {self.size} bytes to more than {self.limit // 10**6} MB, which no archive of "
                "texts does: do not use this file; fetch it from its source"
            )


class Limited(io.RawIOBase):
    """A decompressed stream that raises DataError once its budget is exceeded."""

    def __init__(self, stream: Any, budget: Budget) -> None:
        self.stream, self.budget = stream, budget

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def seekable(self) -> bool:
        """Whether the stream can seek."""
        return bool(self.stream.seekable())

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place and return it; a decompressed stream is read up to there."""
        return int(self.stream.seek(place, whence))

    def tell(self) -> int:
        """Return the current place."""
        return int(self.stream.tell())

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return the number of bytes read."""
        count = int(self.stream.readinto(buffer))
        self.budget.take(count)
        return count

    def close(self) -> None:
        """Close this stream and the one below it."""
        self.stream.close()
        super().close()


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file for reading, decompressed if its name ends in .xz, .gz or .bz2.

    Reading raises DataError if the content exceeds both SMALL and a hundred times the size of the file.
    """
    if path.suffix not in OPENERS:
        return open(path, "rb")
    return io.BufferedReader(Limited(OPENERS[path.suffix](path, "rb"), Budget(path)), 2**16)


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def decompress(data: bytes) -> bytes:
    """Content of complete bz2 streams. Raises EOFError if the last is truncated, OSError if one is damaged or a bomb.

    bz2.decompress, by contrast, ignores data after the first stream if they are not another stream.
    """
    parts: list[bytes] = []
    remaining = max(SMALL, EXPANSION * len(data))
    while data:
        stream = bz2.BZ2Decompressor()
        parts.append(stream.decompress(data, remaining + 1))
        remaining -= len(parts[-1])
        if remaining < 0:
            raise OSError("a compressed block that expands to more than a hundred times its size")
        if not stream.eof:
            raise EOFError("a compressed block that is cut short")
        data = stream.unused_data
    return b"".join(parts)


@contextmanager
def written(path: str | os.PathLike[str], finish: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` if the `with` block succeeds and removed if it fails.

    The block may write a file or a folder; an existing file or folder is replaced. The temporary path is in a new folder next to
    `path`, which has a random name and is closed to other users. finish: function called with the temporary path before it is
    renamed; None: `share`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in abandoned(path):
        shutil.rmtree(leftover, ignore_errors=True)  # some may belong to another user
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.part-", dir=path.parent, ignore_cleanup_errors=True) as folder:
        temporary = Path(folder, path.name)
        yield temporary
        (finish or share)(temporary)
        if temporary.is_dir() and os.path.lexists(path):
            path.rename(Path(folder, f"{path.name}.earlier"))
        os.replace(temporary, path)


def abandoned(path: Path) -> list[Path]:
    """Temporary folders left by killed processes that were writing `path`: those unchanged for a day."""
    return [folder for folder in path.parent.glob(f".{glob.escape(path.name)}.part-*") if is_abandoned(folder)]


def is_abandoned(folder: Path) -> bool:
    """Whether a temporary folder or file has been unchanged for so long (ABANDONED) that its process must have ended."""
    try:
        latest = max(entry.lstat().st_ctime for entry in (folder, *folder.rglob("*")))  # unlike mtime, copies do not keep ctime
    except OSError:  # removed meanwhile, or another user's
        return False
    return time.time() - latest > ABANDONED


def remove(path: Path) -> None:
    """Delete a file, a link or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def share(path: Path) -> None:
    """Set the mode of files as the user's umask says, since safetensors makes files that only their owner can read."""
    umask = os.umask(0o077)  # it cannot be read without being set
    os.umask(umask)
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file() and not file.is_symlink():
            file.chmod(0o666 & ~umask)
