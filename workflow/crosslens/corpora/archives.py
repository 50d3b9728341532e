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
from pathlib import Path, PurePosixPath
from typing import IO, Any

from crosslens.errors import DataError
from crosslens.files import OPENERS

# The last: a zip with a password or an unknown compression.
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
TAR_OPENERS = OPENERS | {".tgz": OPENERS[".gz"], ".tar": open}
EXPANSION = 100  # times an archive's own size that its content may be: text comes to 20 at most
SMALL = 10**8  # bytes that any archive may unpack to


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Members of a tar or .zip archive whose names match glob patterns, by split, in a folder that goes when the block ends.

    Members are written under names of our own. An archive that has a member outside it, a link or a device, or that
    unpacks to more than a hundred times its size, is refused whole, even where that member is not asked for.
    Raises DataError for such an archive, naming the member, and for one that is damaged.
    """
    form, members = ("zip", _zipped) if archive.suffix == ".zip" else ("tar", _tarred)
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[Path]] = {split: [] for split in patterns}
        try:
            for number, (name, opened) in enumerate(members(archive)):
                for split, globs in patterns.items():
                    if any(fnmatch.fnmatchcase(name, glob) for glob in globs):
                        target = Path(folder) / split / str(number) / PurePosixPath(name).name
                        target.parent.mkdir(parents=True)
                        with opened() as content, open(target, "wb") as stream:
                            shutil.copyfileobj(content, stream)
                        found[split].append(target)
        except DataError:
            raise
        except DAMAGED as error:
            raise DataError(f"{archive}: a whole {form} archive expected ({error}): delete it to fetch it again") from error
        yield {split: sorted(paths, key=lambda path: path.name) for split, paths in found.items() if paths}


def _tarred(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Name and opener of each regular file; each is to be read before the next one is asked for."""
    with TAR_OPENERS.get(archive.suffix, open)(archive, "rb") as stream:
        limited: Any = _Limited(stream, archive)
        with tarfile.open(fileobj=limited, mode="r|") as tar:
            for member in tar:
                _refuse(archive, member.name, member.isfile() or member.isdir())
                if member.isfile():
                    yield member.name, partial(_content, tar, member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None  # a regular file has content
    return content


def _zipped(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Name and opener of each regular file."""
    limit = _limit(archive)
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made on Unix
            _refuse(archive, member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
            limit -= member.file_size  # the module reads no more of a member than it declares
            if limit < 0:
                raise _bomb(archive)
            if not member.is_dir():
                yield member.filename, partial(zipped.open, member)


def _refuse(archive: Path, name: str, plain: bool) -> None:
    """Raise DataError for a member that no honest archive has."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{archive}: member '{name}' lies outside the archive: do not use this file; fetch it from its source")
    if not plain:
        raise DataError(f"{archive}: member '{name}' is a link or a device: do not use this file; fetch it from its source")


def _limit(archive: Path) -> int:
    """Bytes that an archive may unpack to."""
    return max(SMALL, EXPANSION * archive.stat().st_size)


def _bomb(archive: Path) -> DataError:
    return DataError(
        f"{archive}: unpacks to more than {_limit(archive) // 10**6} MB from {archive.stat().st_size} bytes, which no archive of "
        "texts does: do not use this file; fetch it from its source"
    )


class _Limited:
    """A decompressed tar that may not grow without end, not even where nothing is asked of it."""

    def __init__(self, stream: Any, archive: Path) -> None:
        self.stream, self.archive, self.left = stream, archive, _limit(archive)

    def read(self, size: int) -> bytes:
        """As of any stream."""
        content: bytes = self.stream.read(size)
        self.left -= len(content)
        if self.left < 0:
            raise _bomb(self.archive)
        return content
