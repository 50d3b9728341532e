"""Extraction of files from archives that are not trusted."""

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

# The last: a zip with a password or an unknown compression.
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
MEGABYTE = 10**6
TAR_OPENERS = OPENERS | {".tgz": OPENERS[".gz"]}
END = bytes(tarfile.BLOCKSIZE)  # of a tar
NESTED = re.compile(r"\.(zip|tar|tgz|tar\.gz|tar\.xz|tar\.bz2)/")  # in a pattern, the end of an archive's name inside another
UNPACKED = ".unpacked"  # end of the name of a folder with the members of an archive inside another
SHOWN = 8  # members that a message names

Member = tuple[str, Callable[[], Any]]


@contextmanager
def whole(archive: Path) -> Iterator[None]:
    """Raise DataError where an archive that is read in the block turns out to be damaged."""
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
    """Name and opener of each file of a tar or .zip, in order; each is opened at most once, and before the next one is reached.

    budget: bytes to which the archive may still unpack, by default a hundred times its size.
    Raises DataError where that is exceeded, and for a member that no honest archive has; for damage see `whole`.
    """
    return (_zipped if archive.suffix == ".zip" else _tarred)(archive, budget or Budget(archive))


def _zipped(archive: Path, budget: Budget) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made on Unix
            _check(archive, member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
            budget.take(member.file_size)  # the module reads no more of a member than it declares
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
                pass  # the checksum of a compressed file comes last
            if archive.suffix not in TAR_OPENERS:
                stream.seek(tar.offset)
                if stream.read(len(END)) != END:  # tarfile takes a damaged header for the end
                    raise tarfile.ReadError("no end after the last member")


def _check(archive: Path, name: str, plain: bool) -> None:
    """Raise DataError for a member outside the archive, a link, a device, or a sparse file, whose zeros take no room in it."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not plain:
        raise DataError(
            f"{archive}: member '{shown(name)}' lies outside the archive, or is a link, a device or a sparse file: "
            "do not use this file; fetch it from its source"
        )


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Members of an archive whose names match glob patterns, by split, in a folder that is removed when the block ends.

    A pattern may go on inside an archive that the archive holds: `*/de.tar.gz/train` is the member `train` of `de.tar.gz`.
    An archive with a member that no honest archive has (see `members`) is refused whole, even where no pattern matches it; so is
    one that holds such an archive, where that is opened; its content counts towards the outer one's.

    Raises DataError for such an archive, naming the member, for one that is damaged, and for one in which no member matches the
    patterns of a split, naming its members. An error that is raised in the block about a member names it as `ARCHIVE/MEMBER`.
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
                    first, more = ", ".join(map(shown, names[:SHOWN])), len(names) - SHOWN
                    raise DataError(
                        f"{archive}: expected {' or '.join(globs)} for {split}, found {first or 'no file'}"
                        f"{f' and {more} more' if more > 0 else ''}; correct the pattern or name another archive"
                    )
            yield {split: sorted(paths, key=lambda path: path.name) for split, paths in paths_by_split.items() if paths}
        except DataError as error:  # which names a file that is gone when one reads it
            raise DataError(str(error).replace(folder, str(archive)).replace(f"{UNPACKED}/", "/")) from error


def _extract(
    archive: Path, folder: Path, patterns: Mapping[str, Sequence[str]], budget: Budget
) -> Iterator[tuple[str, Path, list[str]]]:
    """Name of each member, its path below the folder, and the splits whose patterns it matches; others are not written."""
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
    """Rests of a pattern that apply to the members of the archive `name`."""
    return [glob[end.end() :] for end in NESTED.finditer(glob) if fnmatch.fnmatchcase(name, glob[: end.end() - 1])]
