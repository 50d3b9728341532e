"""Files out of an archive, without trusting it."""

import fnmatch
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from crosslens.errors import DataError

# The last: a zip with a password or an unknown compression.
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Members of a tar or .zip archive whose names match glob patterns, by split, in a folder that goes when the block ends.

    Only regular files are read, and under names of our own, so that no path of the archive is ever written to. Raises
    DataError for an archive that is damaged.
    """
    form, members = ("zip", _zipped) if archive.suffix == ".zip" else ("tar", _tarred)
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[Path]] = {split: [] for split in patterns}
        try:
            for name, opened in members(archive):
                for split, globs in patterns.items():
                    if any(fnmatch.fnmatchcase(name, glob) for glob in globs):
                        target = Path(folder) / split / Path(name).name
                        target.parent.mkdir(exist_ok=True)
                        with opened() as content, open(target, "wb") as stream:
                            shutil.copyfileobj(content, stream)
                        found[split].append(target)
        except DAMAGED as error:
            raise DataError(f"{archive}: a whole {form} archive expected ({error}): delete it to fetch it again") from error
        yield {split: sorted(paths) for split, paths in found.items() if paths}


def _tarred(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Name and opener of each regular file."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile():
                yield member.name, partial(_content, tar, member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None  # a regular file has content
    return content


def _zipped(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Name and opener of each regular file."""
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made on Unix
            if not member.is_dir() and kind in (0, stat.S_IFREG):
                yield member.filename, partial(zipped.open, member)
