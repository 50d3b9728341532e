"""Extraction of files from untrusted archives."""

import fnmatch
import lzma
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from crosslens.jobs.errors import NO_ROOM, DataError, shown
from crosslens.jobs.files import OPENERS, Budget, Limited
from crosslens.jobs.quantities import shortened

# RuntimeError: a zip with a password or an unknown compression.
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
MEGABYTE = 10**6
TAR_OPENERS = OPENERS | {".tgz": OPENERS[".gz"]}
END = bytes(tarfile.BLOCKSIZE)  # end of a tar
NESTED = re.compile(r"\.(zip|tar|tgz|tar\.gz|tar\.xz|tar\.bz2)/")  # end of a nested archive's name in a pattern
UNPACKED = ".unpacked"  # suffix of the folder for the members of a nested archive
SHOWN = 8  # members that a message names

Member = tuple[str, Callable[[], Any]]


@contextmanager
def whole(archive: Path) -> Iterator[None]:
    """Raise DataError if an archive that the `with` statement reads turns out to be damaged."""
    try:
        yield
    except DataError:
        raise
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        raise DataError(
            f"{archive}: expected a complete archive, found: {shown(str(error))}; delete it to fetch it again"
        ) from error


def members(archive: Path, budget: Budget | None = None) -> Iterator[Member]:
    """Yield the name and opener of each file in a tar or .zip, in order. Open a file at most once, before requesting the next.

    budget: bytes to which the archive may still expand; None: a hundred times its size, or 100 MB if that is more.
    Raises DataError if the budget is exceeded, and for a member that no honest archive has (see `_check`). For damage, see
    `whole`.
    """
    return (_zipped if archive.suffix == ".zip" else _tarred)(archive, budget or Budget(archive))


def _zipped(archive: Path, budget: Budget) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)  # 0 if the archive was not made on Unix
            _check(archive, member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
            budget.take(member.file_size)  # zipfile reads no more of a member than this declared size
            if not member.is_dir():
                yield member.filename, partial(zipped.open, member)


def _tarred(archive: Path, budget: Budget) -> Iterator[Member]:
    with TAR_OPENERS.get(archive.suffix, open)(archive, "rb") as stream:
        limited: Any = Limited(stream, budget)
        with tarfile.open(fileobj=limited, mode="r|") as tar:
            while (member := tar.next()) is not None:
                tar.members.clear()  # type: ignore[attr-defined]  # an archive may have 800,000
                _check(archive, member.name, member.isfile() and not member.issparse() or member.isdir())
                if member.isfile():
                    yield member.name, partial(tar.extractfile, member)
            while limited.read(MEGABYTE):
                pass  # to the checksum at the end of a compressed file
            if archive.suffix not in TAR_OPENERS:
                stream.seek(tar.offset)
                if stream.read(len(END)) != END:  # tarfile mistakes a damaged header for the end
                    raise tarfile.ReadError("no end after the last member")


def _check(archive: Path, name: str, plain: bool) -> None:
    """Raise DataError for a member outside the archive, a link, a device, or a sparse file, whose zeros take no space in it.

    plain: whether the member is a regular file or a folder.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not plain:
        raise DataError(
            f"{archive}: member '{shown(name)}' lies outside the archive, or is a link, a device or a sparse file: "
            "do not use this file; fetch it from its source"
        )


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Extract the members of an archive that match glob patterns, and yield their paths by split; then remove them.

    patterns: split -> glob patterns. A pattern may continue inside a nested archive: `*/de.tar.gz/train` is the member `train`
    of `de.tar.gz`.
    An archive with a member that no honest archive has (see `_check`) is refused as a whole, even if no pattern matches that
    member. So is an archive that contains such an archive, if that is opened. The content of a nested archive counts towards
    the budget of the outer one.

    Raises DataError, naming the member, for such an archive; for a damaged archive; and, naming members, if none matches the
    patterns of a split. An error that the `with` statement raises about a member names it as `ARCHIVE/MEMBER`.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            names, paths_by_split = list[str](), {split: list[Path]() for split in patterns}
            for name, path, splits in _extract(archive, Path(folder), patterns, Budget(archive)):
                names.append(name)
                for split in splits:
                    paths_by_split[split].append(path)
            for split, globs in patterns.items():
                if globs and not paths_by_split[split]:
                    existing = shortened([*map(shown, names)], SHOWN) or "no file"
                    raise DataError(
                        f"{archive}: expected {' or '.join(globs)} for {split}, found {existing}; correct the pattern or name "
                        "another archive"
                    )
            yield {split: sorted(paths, key=lambda path: path.name) for split, paths in paths_by_split.items() if paths}
        except DataError as error:  # it names a temporary file, which is gone when the message is read
            raise DataError(str(error).replace(folder, str(archive)).replace(f"{UNPACKED}/", "/")) from error


def _extract(
    archive: Path, folder: Path, patterns: Mapping[str, Sequence[str]], budget: Budget
) -> Iterator[tuple[str, Path, list[str]]]:
    """Yield each member's name, its path in the folder and the splits whose patterns it matches.

    Only members that match, and nested archives with such members, are written.
    """
    with whole(archive):
        for name, opener in members(archive, budget):
            path = folder / name
            splits = [split for split, globs in patterns.items() if any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
            inside = {split: [rest for glob in globs for rest in _inside(name, glob)] for split, globs in patterns.items()}
            if splits or any(inside.values()):
                path.parent.mkdir(parents=True, exist_ok=True)
                with opener() as content, open(path, "xb") as stream:
                    shutil.copyfileobj(content, stream)
            yield name, path, splits
            if any(inside.values()):
                yield from _extract(path, Path(f"{path}{UNPACKED}"), inside, budget)


def _inside(name: str, glob: str) -> list[str]:
    """Remainders of a pattern that apply to the members of the nested archive `name`."""
    return [glob[end.end() :] for end in NESTED.finditer(glob) if fnmatch.fnmatchcase(name, glob[: end.end() - 1])]
