"""Opening and writing files: compression by suffix, within bounds, and whole or not at all."""

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from crosslens.runs.errors import DataError

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
EXPANSION = 100  # times its own size that the content of a compressed file may be: text comes to 20 at most
SMALL = 10**8  # bytes that any compressed file may unpack to


class Budget:
    """Bytes that a compressed file, and those inside it, may unpack to."""

    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size
        self.limit = self.left = max(SMALL, EXPANSION * self.size)

    def take(self, number: int) -> None:
        """Raise DataError where that is more than is left."""
        self.left -= number
        if self.left < 0:
            raise DataError(
                f"{self.path}: expands from {self.size} bytes to more than {self.limit // 10**6} MB, which no archive of "
                "texts does: do not use this file; fetch it from its source"
            )


class Limited(io.RawIOBase):
    """A decompressed stream that may not grow without end, not even where nothing is asked of it."""

    def __init__(self, stream: Any, budget: Budget) -> None:
        self.stream, self.budget = stream, budget

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """As the stream is."""
        return bool(self.stream.seekable())

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """As of any stream; a decompressed one reads up to there."""
        return int(self.stream.seek(place, whence))

    def tell(self) -> int:
        """As of any stream."""
        return int(self.stream.tell())

    def readinto(self, buffer: Any) -> int:
        """As of any stream."""
        count = int(self.stream.readinto(buffer))
        self.budget.take(count)
        return count

    def close(self) -> None:
        """The stream too."""
        self.stream.close()
        super().close()


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed when its name ends in .xz, .gz or .bz2.

    Reading raises DataError where it unpacks to more than a hundred times its size.
    """
    if path.suffix not in OPENERS:
        return open(path, "rb")
    return cast(BinaryIO, io.BufferedReader(Limited(OPENERS[path.suffix](path, "rb"), Budget(path)), 2**16))


def sha256(path: Path) -> str:
    """Hex digest of a file as it lies on disk."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def decompress(data: bytes) -> bytes:
    """The content of whole bz2 streams. Raises EOFError where the last one is cut short, OSError where one is damaged or a bomb.

    Unlike bz2.decompress, which ignores whatever follows the first stream and is no stream.
    """
    parts: list[bytes] = []
    left = max(SMALL, EXPANSION * len(data))
    while data:
        stream = bz2.BZ2Decompressor()
        parts.append(stream.decompress(data, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise OSError("a compressed block that expands beyond all measure")
        if not stream.eof:
            raise EOFError("a compressed block that is cut short")
        data = stream.unused_data
    return b"".join(parts)


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its name when the block ends well and vanishes when it does not.

    Works for a file and for a folder (an existing folder is replaced).
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in abandoned(path):
        remove(leftover)
    temporary = path.with_name(f".{path.name}.part-{platform.node()}-{os.getpid()}")
    try:
        yield temporary
        share(temporary)
        if temporary.is_dir() and path.is_dir():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Delete a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def abandoned(path: Path) -> list[Path]:
    """What kills have left of earlier attempts to write a path: of processes that have ended, elsewhere of at least a day ago."""
    found = []
    for part in path.parent.glob(f".{glob.escape(path.name)}.part-*"):
        host, _, pid = part.name.rpartition(".part-")[2].rpartition("-")
        try:
            if host == platform.node():
                os.kill(int(pid), 0)
            elif time.time() - part.stat().st_mtime > 86400:
                found.append(part)
        except ProcessLookupError:
            found.append(part)
        except (OSError, ValueError):
            pass  # another user's process, or a name that no part has
    return found


def share(path: Path) -> None:
    """Give files the mode that the user's umask asks for: safetensors makes them readable for their owner alone."""
    umask = os.umask(0o077)  # which cannot be read without being set
    os.umask(umask)
    for each in path.rglob("*") if path.is_dir() else [path]:
        if each.is_file() and not each.is_symlink():
            each.chmod(0o666 & ~umask)
