"""Where fetched files are from: whether a mirror, and the table of pinned digests, still have what was fetched.

A file that was copied from a mirror stands for one of the mirror: when somebody corrects a treebank of their own there, or a disk
spoils an official file, the results are no longer those of the mirror's files. Beside each fetched file lies what was fetched, as
`.NAME.origin`: its digest and, of one from a mirror, the copy's size, times and inode. As long as these are the same nothing is
read; else the copy's content is compared, without the compression that the mirror added.
"""

import hashlib
import json
import lzma
import re
import shlex
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from crosslens.runs.errors import DataError
from crosslens.sources.fetch import CHUNK, Parts, found_in
from crosslens.sources.pins import LOCK
from crosslens.storage.bounded import read_json
from crosslens.storage.contents import Contents, stamp
from crosslens.storage.files import open_binary, written

ESCAPED, ESCAPE = re.compile(r"([][\\.*^$/])"), r"\\\1"  # of a name in an expression for sed
Ranges = Sequence[tuple[int, int]]  # (first byte, how many) of each part that was read of a file


class Origin(NamedTuple):
    """Record of a fetched file: its content, its copy in a mirror, and the reason to fetch it."""

    sha256: str  # digest of the file, or of the parts that were read
    copy: list[int] | None  # stamp of a mirror's file, None of a download
    published: str | None  # digest of the file, or its id in a git repository
    reason: str  # as `reason_to_fetch` told it
    parts: Ranges | None = None  # None: the whole file


class Recorded:
    """A file that is read in parts, and what was read of it."""

    def __init__(self, file: Parts) -> None:
        """Nothing has been read yet."""
        self.name, self.size, self._file = file.name, file.size, file
        self.parts: list[tuple[int, int]] = []
        self._digest = hashlib.sha256()

    def read(self, start: int, length: int) -> bytes:
        """`length` bytes from `start` on."""
        data = self._file.read(start, length)
        self.parts.append((start, length))
        self._digest.update(data)
        return data

    def sha256(self) -> str:
        """Hex digest of all that was read, in the order in which it was."""
        return self._digest.hexdigest()


def copy_stamp(file: str, mirror: Sequence[Path]) -> list[int] | None:
    """Stamp of a mirror's copy of a file (SOURCE/PATH), to be taken before it is copied; None where no mirror has one."""
    copy = found_in(_path(file), mirror)
    return stamp(copy) if copy else None


def remember(target: Path, origin: Origin) -> None:
    """Write beside a fetched file where it is from."""
    with written(_beside(target)) as temporary:
        temporary.write_text(f"{json.dumps(origin._asdict())}\n", encoding="utf-8")


def reason_to_fetch(
    file: str,
    target: Path,
    mirror: Sequence[Path],
    contents: Contents,
    *,
    published: str | None,
    pin: str | None,
) -> str:
    """Which file has changed since a file was fetched, and its digest now; the reason that was true then as long as none has.

    Used as a rule's param, it has fetched again, once, what has changed: "" the first time, a pin that somebody set to another
    digest, or a mirror's copy with other content than was fetched of a file that is not pinned.
    file: SOURCE/PATH. mirror: folders of its source. contents: digests that are known. published: its digest or git id. pin: its
    digest in the table of pins. Nothing is compared with a download, nor where no mirror has the file any longer.
    Raises DataError, one line with both digests, where a mirror's copy is no longer what is published, or pinned.
    """
    record, path, partly = _beside(target), _path(file), ""
    if not record.is_file():
        return f"{record} is missing" if target.is_file() else ""
    if (origin := _read(record)) is None:
        return f"{record} is damaged"
    if published != origin.published:
        return origin.reason  # its settings have changed, too
    if origin.parts is not None:
        partly = " of the parts that were read of it"
    elif not published and pin not in (None, origin.sha256):
        return f"{LOCK}: {file} {pin:.80}"
    copy = found_in(path, mirror)
    if origin.copy is None or copy is None or stamp(copy) == origin.copy:
        return origin.reason
    content = contents(copy, lambda copy: _content(copy, path, origin.parts), _part(origin))
    if content == origin.sha256:
        return origin.reason
    expected = f"{copy}: expected sha256 {origin.sha256}{partly}"
    if published:
        raise DataError(f"{expected}, as published, found {content}; that copy is wrong: replace or remove it")
    if pin and not partly:
        line = shlex.quote(f"/^{ESCAPED.sub(ESCAPE, file)}[[:space:]]/d")
        raise DataError(
            f"{expected}, pinned in {LOCK} when it was fetched, found {content}; restore that copy or, if the change is "
            f"intended, delete its line there, and what follows from it is made anew: sed -i.old {line} {LOCK}"
        )
    return f"{copy} {content}"


def _content(copy: Path, path: PurePosixPath, parts: Ranges | None) -> str:
    """Hex digest of a mirror's copy, without the compression that was added, or of parts of it; in words where it is damaged."""
    digest = hashlib.sha256()
    try:
        with open_binary(copy) if copy.name != path.name else open(copy, "rb") as stream:
            if parts is None:
                while chunk := stream.read(CHUNK):
                    digest.update(chunk)
            for start, length in parts or ():
                stream.seek(start)
                digest.update(stream.read(length))
    except (EOFError, lzma.LZMAError, zlib.error, DataError):
        return f"a damaged {copy.suffix} file"
    return digest.hexdigest()


def _part(origin: Origin) -> str:
    """Name of the digested part in the cache."""
    if origin.parts is None:
        return "unpacked "
    return f"parts {hashlib.sha256(json.dumps(origin.parts).encode()).hexdigest()[:16]} of "


def _read(record: Path) -> Origin | None:
    try:
        return Origin(**read_json(record))
    except (OSError, ValueError, TypeError):
        return None


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.origin")


def _path(file: str) -> PurePosixPath:
    return PurePosixPath(*PurePosixPath(file).parts[1:])
