"""Opening and writing files: decompression by suffix, and atomic writing."""

import bz2
import glob
import gzip
import hashlib
import lzma
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
ABANDONED = 86400.0  # seconds after which a temporary folder in which nothing changes is taken for that of a killed process


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed when its name ends in .xz, .gz or .bz2."""
    return cast(BinaryIO, OPENERS.get(path.suffix, open)(path, "rb"))


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def decompress(data: bytes) -> bytes:
    """The content of complete bz2 streams. Raises EOFError if the last is truncated, OSError if one is damaged.

    bz2.decompress, by contrast, ignores anything after the first stream that is not a stream.
    """
    parts: list[bytes] = []
    while data:
        stream = bz2.BZ2Decompressor()
        parts.append(stream.decompress(data))
        if not stream.eof:
            raise EOFError("a compressed block that is cut short")
        data = stream.unused_data
    return b"".join(parts)


@contextmanager
def written(path: str | os.PathLike[str], finish: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which is renamed to `path` when the block succeeds and removed when it fails.

    The block may write a file or a folder; an existing folder is replaced. finish: called with the temporary path before it is
    renamed; `share` unless stated. The temporary path lies in a new folder of a random name, closed to other users.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in abandoned(path):
        shutil.rmtree(leftover, ignore_errors=True)  # it may be another user's
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.part-", dir=path.parent, ignore_cleanup_errors=True) as folder:
        temporary = Path(folder, path.name)
        yield temporary
        (finish or share)(temporary)
        if temporary.is_dir() and os.path.lexists(path):
            path.rename(Path(folder, f"{path.name}.earlier"))
        os.replace(temporary, path)


def abandoned(path: Path) -> list[Path]:
    """Temporary folders in which killed processes were writing a path: unchanged for a day."""
    return [folder for folder in path.parent.glob(f".{glob.escape(path.name)}.part-*") if _is_abandoned(folder)]


def _is_abandoned(folder: Path) -> bool:
    try:
        latest = max(entry.lstat().st_ctime for entry in (folder, *folder.rglob("*")))  # which, unlike mtime, nothing copies
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
    """Give files the mode of the user's umask, since safetensors makes them readable by their owner alone."""
    umask = os.umask(0o077)  # it cannot be read without being set
    os.umask(umask)
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file() and not file.is_symlink():
            file.chmod(0o666 & ~umask)
