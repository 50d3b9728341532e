"""Seals of what one step writes and another reads: written with the artefact, verified whenever it is read.

A seal has the sha256 of every file and, in comment lines, which `sha256sum --check` ignores, what the artefact is: its place
below the folder of results, and how it was made (storage/adoption.py).
"""

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from crosslens.runs.call import command
from crosslens.runs.errors import DataError
from crosslens.storage.files import sha256, written

SUMS = ".SHA256SUMS"  # digests of what a folder holds; that of a file lies beside it as .NAME.sha256; sha256sum checks both
RESULTS = "CROSSLENS_RESULTS"  # environment variable: the folders of results, joined by os.pathsep; jobs inherit it
NO_DIGEST = "without the digest that it was written with"
UNFINISHED = re.compile(r"\..*\.part-.+")  # names of `written`'s temporary folders


@dataclass(frozen=True)
class Seal:
    """Content of a seal.

    file: where it lies. sums: its lines with digests. notes: its comments by their first word: `artefact`, the place of the
    artefact below the folder of results; `record` and `inputs`, how it was made. Seals of earlier versions have none.
    """

    file: Path
    sums: str
    notes: Mapping[str, str]

    @cached_property
    def identity(self) -> str:
        """Sixteen hex digits that stand for the sealed content."""
        return hashlib.sha256(self.sums.encode()).hexdigest()[:16]

    @property
    def digests(self) -> dict[Path, str]:
        """File -> sha256. Raises ValueError where a line has no digest."""
        lines = [line.split("  ", 1) for line in self.sums.split("\n")[:-1]]
        return {self.file.parent / name: digest for digest, name in lines}

    def write(self) -> None:
        """Write the seal, whole or not at all."""
        comments = [f"# {word} {text}\n" for word, text in self.notes.items()]
        with written(self.file) as temporary:
            temporary.write_text("".join(comments) + self.sums, "utf-8")


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
    """Write the digests of all that a folder holds into it, or that of a file beside it; path: that the artefact will have."""
    path = path or content
    if content.is_dir():
        lines = [f"{sha256(file)}  {file.relative_to(content).as_posix()}\n" for file in sorted(_held(content))]
    else:
        lines = [f"{sha256(content)}  {path.name}\n"]
    place = _place(path)
    Seal(content / SUMS if content.is_dir() else _beside(path), "".join(lines), {"artefact": place} if place else {}).write()


def read_seal(artefact: Path) -> Seal:
    """The seal of a file or folder. Raises FileNotFoundError where it has none, ValueError where it is not text."""
    file = artefact / SUMS if artefact.is_dir() else _beside(artefact)
    lines = file.read_text("utf-8").split("\n")[:-1]
    comments = [line[2:].partition(" ") for line in lines if line.startswith("# ")]
    sums = [line for line in lines if not line.startswith("# ")]
    return Seal(file, "".join(f"{line}\n" for line in sums), {word: text for word, _, text in comments})


def verified(path: Path) -> Path:
    """A file or folder that was sealed, or what lies in such a folder: the path, when every byte of it is as it was written.

    Raises DataError, with the command that makes it again, where something is damaged, missing, new, or belongs elsewhere. A file
    is read for this once in a process.
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
    try:
        seal = read_seal(made)
        digests = seal.digests
    except FileNotFoundError:
        raise _damaged(path, made, NO_DIGEST if path.exists() else "missing") from None
    except ValueError:
        raise _damaged(made / SUMS if made.is_dir() else _beside(made), made, "damaged") from None
    place = Path(seal.notes.get("artefact", ""))
    if made.absolute().parts[-len(place.parts) :] != place.parts and place.parts:
        what = f"expected what belongs here, found what was made as {place}"
        raise _damaged(made, made, what, "restore the right one, or ")
    return made, digests


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    return sha256(path)


def _place(path: Path) -> str:
    """Where an artefact lies below its folder of results; "" outside a run of the workflow."""
    roots = [Path(root) for root in os.environ.get(RESULTS, "").split(os.pathsep) if root and path.is_relative_to(root)]
    return path.relative_to(max(roots, key=lambda root: len(root.parts))).as_posix() if roots else ""


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def _held(folder: Path) -> set[Path]:
    """All files inside a folder but hidden ones, which Snakemake, editors and file systems leave there, and their digests."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)}


def _damaged(file: Path, made: Path, what: str, first: str = "") -> DataError:
    again = command(made)
    remedy = f"rm -rf {shlex.quote(os.fspath(made))} && {again}" if again else f"remove {made} and build it again"
    return DataError(f"{file}: {what}; {first}{remedy}")
