"""Copies of official files in mirrors, which may have compressed them."""

import hashlib
import lzma
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path, PurePosixPath

from crosslens.corpora.sources.pins import LOCK
from crosslens.jobs import files
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.errors import NO_ROOM, DataError

COMPRESSIONS = ("", ".xz", ".gz")  # what a mirror may add to an official file's name


def in_mirrors(mirrors: Iterable[str | Path], folders: Iterable[str]) -> list[Path]:
    """Folders of a source in all mirrors, in order. folders: names of the source's folders inside each mirror."""
    return [Path(mirror) / folder for mirror in mirrors for folder in folders]


def found_in(path: PurePosixPath, mirror: Sequence[Path]) -> Path | None:
    """First copy of a file in a source's mirror folders, perhaps compressed; None if there is none."""
    candidates = (folder / f"{path}{suffix}" for folder in mirror for suffix in COMPRESSIONS)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@contextmanager
def opened(copy: Path, path: PurePosixPath) -> Iterator[BufferedReader]:
    """Open a mirror's copy of a file, without the compression that the mirror added. Raises DataError if it is damaged."""
    added = copy.name != path.name
    try:
        with files.open_binary(copy) if added else open(copy, "rb") as stream:
            yield stream
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        form = f"{copy.suffix} file" if added else "file"
        raise DataError(f"{copy}: expected a complete {form}, found: {error}; replace it") from None


def content_in_mirror(file: str, mirror: Sequence[Path], contents: Contents, pin: str | None) -> str:
    """sha256 of a mirror's copy of a file, without the compression that the mirror added; the pin or "" if no mirror has it.

    As a rule's param, it causes the file to be fetched again when the copy changes. file: SOURCE/PATH. mirror: folders of its
    source. contents: cache of digests. pin: digest of the file when it was first read, None if it never was. Raises DataError,
    in one line with both digests, if the copy differs from the pin.
    """
    path = PurePosixPath(file.partition("/")[2])
    copy = found_in(path, mirror)
    if copy is None:
        return pin or ""
    digest = contents(copy, lambda copy: _sha256(copy, path), "unpacked ")
    if pin not in (None, digest):
        raise DataError(
            f"{copy}: expected sha256 {pin}, pinned in {LOCK} when it was first read, found {digest}; restore that copy or, if "
            f"the change is intended, delete the line of {file} in {LOCK}; what depends on it is then rebuilt"
        )
    return digest


def _sha256(copy: Path, path: PurePosixPath) -> str:
    with opened(copy, path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
