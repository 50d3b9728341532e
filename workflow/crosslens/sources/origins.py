"""Files that only a mirror has, such as a user's own treebanks: whether the mirror still has what was fetched."""

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from crosslens.runs.errors import DataError
from crosslens.sources.fetch import found_in, opened
from crosslens.sources.pins import LOCK
from crosslens.storage.contents import Contents


def digest_in_mirror(file: str, mirror: Sequence[Path], contents: Contents, pin: str | None) -> str:
    """sha256 of a mirror's copy of a file, without the compression that the mirror added; the pin where no mirror has it.

    As a rule's param it has the file fetched again when the copy changes. file: SOURCE/PATH. mirror: folders of its source.
    pin: digest of the file when it was first read, None if it never was. Raises DataError, one line with both digests, where the
    copy is not what was pinned.
    """
    path = PurePosixPath(file.partition("/")[2])
    copy = found_in(path, mirror)
    if copy is None:
        return pin or ""
    digest = contents(copy, lambda copy: _unpacked(copy, path), "unpacked ")
    if pin not in (None, digest):
        raise DataError(
            f"{copy}: expected sha256 {pin}, pinned in {LOCK} when it was first read, found {digest}; restore that copy or, if "
            f"the change is intended, delete the line of {file} in {LOCK}, and what follows from it is made anew"
        )
    return digest


def _unpacked(copy: Path, path: PurePosixPath) -> str:
    with opened(copy, path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
