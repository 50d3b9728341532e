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
from typing import IO, Any, Self

from crosslens.runs.errors import NO_ROOM, DataError, shown
from crosslens.storage.files import OPENERS, Budget, Limited

# The last: a zip with a password or an unknown compression.
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
MEGABYTE = 10**6
TAR_OPENERS = OPENERS | {".tgz": OPENERS[".gz"], ".tar": open}
ATTRIBUTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
LONGEST = 2**14  # bytes of a member's attributes; a path has 4096 at most
NAMED = 8  # members that a message names
NESTED = re.compile(r"\.(zip|tar|tgz|tar\.gz|tar\.xz|tar\.bz2)/")  # in a pattern, the end of an archive's name inside another

Member = tuple[str, Callable[[], IO[bytes]]]


class Archive:
    """A tar or .zip archive: a file, or one inside another archive."""

    def __init__(self, path: Path, name: str = "", budget: Budget | None = None) -> None:
        """name: for messages, e.g. panx.zip/de.tar.gz; budget: bytes to which the outer archive may still unpack."""
        self.path, self.name, self.budget = path, name or str(path), budget or Budget(path)
        self.member = ""  # the one that was reached

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Raise DataError where the content that is read in the block turns out to be damaged."""
        try:
            yield
        except DataError:
            raise
        except DAMAGED as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            form = "zip" if self.path.suffix == ".zip" else "tar"
            place = f", found it damaged from member '{shown(self.member)}' on" if self.member else ""
            raise DataError(
                f"{self.name}: expected a complete {form} archive{place} ({shown(str(error))}): delete it to fetch it again"
            ) from error

    def members(self) -> Iterator[Member]:
        """Name and opener of each regular file; each is read at most once, and before the next one.

        Raises DataError for a member that no honest archive has, and where the archive unpacks to too much.
        """
        for name, opened in self._zipped() if self.path.suffix == ".zip" else self._tarred():
            self.member = name
            yield name, opened

    def _tarred(self) -> Iterator[Member]:
        with TAR_OPENERS.get(self.path.suffix, open)(self.path, "rb") as stream:
            limited: Any = Limited(stream, self.budget)
            with tarfile.open(fileobj=limited, mode="r|", tarinfo=_Header) as tar:
                while (member := tar.next()) is not None:
                    tar.members.clear()  # type: ignore[attr-defined]  # each holds a copy of what the archive says of all
                    self._refuse(member.name, member.isfile() and not member.issparse() or member.isdir())
                    if member.isfile():
                        yield member.name, partial(_content, tar, member)
            while limited.read(MEGABYTE):
                pass  # the zeros after the last member: a compressed file's checksum comes after them

    def _zipped(self) -> Iterator[Member]:
        with zipfile.ZipFile(self.path) as zipped:
            for member in zipped.infolist():
                kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made on Unix
                self._refuse(member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
                self.budget.take(member.file_size)  # the module reads no more of a member than it declares
                if not member.is_dir():
                    yield member.filename, partial(zipped.open, member)

    def _refuse(self, name: str, plain: bool) -> None:
        """Raise DataError for a path outside, a link, a device, or a sparse file: its zeros take no room in the archive."""
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise self.wrong(name, "lies outside the archive")
        if not plain:
            raise self.wrong(name, "is a link, a device or a sparse file")

    def wrong(self, name: str, fault: str) -> DataError:
        """The error for a member that no honest archive has. fault: end of the sentence on the member."""
        return DataError(f"{self.name}: member '{shown(name)}' {fault}: do not use this file; fetch it from its source")


class _Header(tarfile.TarInfo):
    """A member's header. Where one is damaged or missing, tarfile alone would take that for the archive's end.

    What comes before a header, long names and other attributes, would be read into memory whatever its size.
    """

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> Self:
        """Raises ReadError unless the archive has a header or, at its end, a block of zeros."""
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        """Raises ReadError for attributes that are too long, of a member or of all: the entry point for subclasses."""
        if self.type in ATTRIBUTES and self.size > LONGEST or len(str(tar.pax_headers)) > LONGEST:
            raise tarfile.ReadError(f"more than {LONGEST} bytes of attributes of a member")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None  # a regular file has content
    return content


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Members of an archive whose names match glob patterns, by split, in a folder that is removed when the block ends.

    A pattern may go on inside an archive that the archive holds: `*/de.tar.gz/train` is the member `train` of `de.tar.gz`.
    Members are written under names of our own. An archive that has a member outside it, a link or a device, or that unpacks to
    more than a hundred times its size, is refused whole, even where no pattern matches that member; so is an archive that holds
    such an archive, where that is opened; its content counts towards the outer one's.

    Raises DataError for such an archive, naming the member, for one that is damaged, and for one in which no member matches the
    patterns of a split, naming its members. An error that is raised in the block about a member names it as `ARCHIVE/MEMBER`.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths_by_split: dict[str, list[Path]] = {split: [] for split in patterns}
        names: dict[Path, str] = {}
        members: list[str] = []
        _extract(Archive(archive), patterns, Path(folder), paths_by_split, names, members)
        for split, globs in patterns.items():
            if globs and not paths_by_split[split]:
                first, more = ", ".join(map(shown, members[:NAMED])), len(members) - NAMED
                raise DataError(
                    f"{archive}: expected {' or '.join(globs)} for {split}, found {first or 'no file'}"
                    f"{f' and {more} more' if more > 0 else ''}; correct the pattern or name another archive"
                )
        try:
            yield {split: sorted(paths, key=lambda path: path.name) for split, paths in paths_by_split.items() if paths}
        except DataError as error:
            message = str(error)
            for path, name in names.items():  # a reader names the file, which is gone when one reads the message
                message = message.replace(shown(str(path), len(str(path))), name)
            raise DataError(message) from error


def _extract(
    archive: Archive, patterns: Mapping[str, Sequence[str]], folder: Path, paths_by_split: Mapping[str, list[Path]],
    names: dict[Path, str], members: list[str],
) -> None:  # fmt: skip
    """Write the members that match into the folder; note their paths by split, their names in messages, and all members."""
    with archive.whole():
        matched_names: set[str] = set()
        for number, (name, opened) in enumerate(archive.members()):
            members.append(name)
            splits = [split for split, globs in patterns.items() if any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
            inside = {split: [rest for glob in globs for rest in _inside(name, glob)] for split, globs in patterns.items()}
            if not splits and not any(inside.values()):
                continue
            if name in matched_names:
                raise archive.wrong(name, "is there a second time")
            matched_names.add(name)
            path = folder / str(number) / PurePosixPath(name).name
            path.parent.mkdir()
            with opened() as content, open(path, "wb") as stream:
                shutil.copyfileobj(content, stream)
            names[path] = f"{archive.name}/{shown(name)}"
            for split in splits:
                paths_by_split[split].append(path)
            if any(inside.values()):
                _extract(Archive(path, names[path], archive.budget), inside, path.parent, paths_by_split, names, members)


def _inside(name: str, glob: str) -> list[str]:
    """Rests of a pattern that apply to the members of the archive `name`."""
    return [glob[end.end() :] for end in NESTED.finditer(glob) if fnmatch.fnmatchcase(name, glob[: end.end() - 1])]
