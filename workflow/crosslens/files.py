"""Opening and writing files: compression by suffix, and whole or not at all."""

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed when its name ends in .xz, .gz or .bz2."""
    return cast(BinaryIO, OPENERS.get(path.suffix, open)(path, "rb"))


def sha256(path: Path) -> str:
    """Hex digest of a file as it lies on disk."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def decompress(data: bytes) -> bytes:
    """The content of whole bz2 streams. Raises EOFError where the last one is cut short, OSError where one is damaged.

    Unlike bz2.decompress, which ignores whatever follows the first stream and is no stream.
    """
    parts = []
    while data:
        stream = bz2.BZ2Decompressor()
        parts.append(stream.decompress(data))
        if not stream.eof:
            raise EOFError("a compressed block that is cut short")
        data = stream.unused_data
    return b"".join(parts)


def readable(size: int) -> str:
    """Bytes as one reads them: 17.9 MB."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.1f} {unit}"
    return f"{size} bytes"


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its name when the block ends well and vanishes when it does not.

    Works for a file and for a folder (an existing folder is replaced).
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part-{os.getpid()}")
    try:
        yield temporary
        if temporary.is_dir() and path.is_dir():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        temporary.unlink(missing_ok=True)
