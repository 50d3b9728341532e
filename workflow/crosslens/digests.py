"""Digests of what one step writes and another reads: sealed when it is written, verified whenever it is read."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from crosslens.errors import DataError
from crosslens.files import sha256, written
from crosslens.logs import command

SUMS = ".SHA256SUMS"  # digests of what a folder holds; that of a file lies beside it as .NAME.sha256; sha256sum checks both
NO_DIGEST = "without the digest that it was written with"
UNFINISHED = re.compile(r"\..*\.part-.+")  # names of `written`'s temporary folders


@contextmanager
def sealed(path: str | os.PathLike[str]) -> Iterator[Path]:
    """As `written`, and what is written gets a digest, which `verified` expects: for all that a later step reads.

    A file of a folder that is itself being written has its digest among the folder's.
    """
    path = Path(path)
    with written(path) as temporary:
        yield temporary
        if temporary.is_dir() or not any(UNFINISHED.fullmatch(parent.name) for parent in path.parents):
            seal(temporary, path)


def seal(content: Path, path: Path | None = None) -> None:
    """Write the digests of all that a folder holds into it, or that of a file beside it; path: that the file will have."""
    if content.is_dir():
        lines = [f"{sha256(file)}  {file.relative_to(content).as_posix()}\n" for file in sorted(_held(content))]
    else:
        lines = [f"{sha256(content)}  {(path or content).name}\n"]
    with written(content / SUMS if content.is_dir() else _beside(path or content)) as sums:
        sums.write_text("".join(lines), "utf-8")


def verified(path: Path) -> Path:
    """A file or folder that was sealed, or what lies in such a folder: the path, when every byte of it is as it was written.

    Raises DataError, with the command that makes it again, where something is damaged, missing or new. A file is read for this
    once in a process.
    """
    made, digests = _digests(path)
    expected = {file: digest for file, digest in digests.items() if path in (file, *file.parents)}
    found = _held(path) if path.is_dir() else [path] if path.exists() else []
    if others := expected.keys() ^ found:
        raise _damaged(min(others), made, "missing" if min(others) in expected else NO_DIGEST)
    if not expected:
        raise _damaged(path, made, "missing")
    for file, expected_digest in expected.items():
        if digest(file) != expected_digest:
            raise _damaged(file, made, "not what was written, damaged or changed since")
    return path


def digest(file: Path) -> str:
    """sha256 of a file, computed once in a process while the file stays the same."""
    status = file.stat()
    return _digest(file, status.st_mtime_ns, status.st_size)


def _digests(path: Path) -> tuple[Path, dict[Path, str]]:
    """The file or folder that was sealed with `path`, and the digests of its files."""
    made = next((folder for folder in (path, *path.parents) if (folder / SUMS).is_file()), path)
    sums = _beside(path) if made == path and not path.is_dir() else made / SUMS
    try:
        lines = [line.split("  ", 1) for line in sums.read_text("utf-8").split("\n")[:-1]]
        return made, {sums.parent / name: digest for digest, name in lines}
    except FileNotFoundError:
        raise _damaged(path, made, NO_DIGEST if path.exists() else "missing") from None
    except ValueError:
        raise _damaged(sums, made, "damaged") from None


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    return sha256(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def _held(folder: Path) -> set[Path]:
    """All files inside a folder but hidden ones, which Snakemake, editors and file systems leave there, and their digests."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)}


def _damaged(file: Path, made: Path, what: str) -> DataError:
    again = command(made)
    remedy = f"rm -rf {shlex.quote(os.fspath(made))} && {again}" if again else f"remove {made} and build it again"
    return DataError(f"{file}: {what}; {remedy}")
