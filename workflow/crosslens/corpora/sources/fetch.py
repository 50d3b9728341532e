"""Fetching of official files from a mirror or the network; they are verified before they get their name."""

import hashlib
import io
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from crosslens.corpora.sources.formats import fault
from crosslens.corpora.sources.mirrors import found_in, opened
from crosslens.corpora.sources.network import Remote, Unavailable
from crosslens.corpora.sources.pins import LOCK, await_reading, forget, pinned
from crosslens.jobs import files
from crosslens.jobs.digest_cache import stamp
from crosslens.jobs.errors import DataError

logger = logging.getLogger(__name__)

CHUNK = 10**6  # bytes copied at a time
FRESH = 1.0  # seconds for which a mirror's file must not have changed before it may be pinned


def fetch(
    file: str,
    target: Path,
    *,
    urls: Sequence[str],
    mirror: Sequence[Path],
    sha256: str | None = None,
    git_blob: str | None = None,
    size: int | None = None,
    smallest: int = 0,
    manual: str | None = None,
    lock: Path = LOCK,
) -> str:
    """Put an official file at `target`, whole and verified, and return its sha256.

    file: SOURCE/PATH, with PATH as in the official distribution, with slashes.
    urls: addresses of the file, in order of preference; [] if it cannot be downloaded.
    mirror: folders of this source, in order. Each may have the file as it is, or with .xz or .gz added. They come before the
    network.
    sha256, git_blob, size: expected digest, git blob ID and bytes of the official file, without the compression that a mirror
    added; None if unknown.
    If neither digest nor ID is known, the file is trusted on first use, and the log says so. It must begin as its format does
    (formats.py), have at least `smallest` bytes, and not be cut short; a mirror's copy must not be still being written. Once a
    step has read it, its digest is pinned in `lock` and expected from then on (pins.py).
    manual: how a person can obtain the file, for the message if it is in no mirror and cannot be downloaded.
    An interrupted download is resumed by the next call: the part waits in `target`.part.
    Raises DataError if the file cannot be obtained or is not as expected. Nothing is then put at `target`; a wrong
    download is kept as `target`.wrong.
    """
    path = _path(file)
    expected = sha256 or (None if git_blob else pinned(file, lock))
    first_fetch = not (expected or git_blob)
    target.parent.mkdir(parents=True, exist_ok=True)
    part, copy = target.with_name(f"{target.name}.part"), found_in(path, mirror)
    origin, complete = (str(copy), True) if copy else _download(file, part, urls, mirror, size, manual)
    with files.written(target) as temporary:
        if copy:
            _copy(copy, path, temporary, size, settled=first_fetch)
        else:
            os.replace(part, temporary)
        digest, received = files.sha256(temporary), temporary.stat().st_size
        wrong = [f"expected {size} bytes, found {received}"] if size not in (None, received) else []
        no_file = _no_file(temporary, path, complete, smallest) if first_fetch else ""
        wrong += [no_file] if no_file else []
        if git_blob and (blob := _git_blob(temporary)) != git_blob:
            wrong.append(f"expected git blob {git_blob}, found {blob}")
        if expected not in (None, digest):
            since = "" if sha256 else f" (pinned in {lock} when it was first read)"
            wrong.append(f"expected sha256 {expected}{since}, found {digest}")
        if wrong:
            aside = target.with_name(f"{target.name}.wrong")
            remedy = f"the received file is kept as {aside}; try again later, or put a correct copy into a mirror"
            if copy:
                remedy = "replace that copy"
            else:
                os.replace(temporary, aside)
            if expected and not sha256:
                remedy += f"; if the change of the file is intended, delete its line in {lock}"
            if no_file:
                remedy += "; if it is the official file, state its sha256 in the table of sources"
            raise DataError(f"{file}: {', '.join(wrong)} in {origin}; {remedy}")
        if first_fetch:
            where = "a mirror" if copy else origin
            trusted = "%s: no digest is published: trusting what %s has; once it has been read, sha256 %s is pinned in %s"
            logger.warning(trusted, file, where, digest, lock)
            await_reading(target, file, digest, received, where)
        else:
            forget(target)
    return digest


@dataclass(frozen=True)
class Parts:
    """A file of which any part can be read.

    name: its name in messages. size: bytes. read: (start, length) -> bytes; raises DataError if they cannot be obtained.
    """

    name: str
    size: int
    read: Callable[[int, int], bytes]


@contextmanager
def parts(file: str, *, urls: Sequence[str], mirror: Sequence[Path], manual: str | None = None) -> Iterator[Parts]:
    """Open an official file in a mirror or on a server, to read parts of it. The arguments are those of `fetch`."""
    path = _path(file)
    if copy := found_in(path, mirror):
        with opened(copy, path) as stream:
            size = stream.seek(0, io.SEEK_END)

            def read(start: int, length: int) -> bytes:
                stream.seek(start)
                return stream.read(length)

            yield Parts(file, size, read)
        return
    remote, size = _remote(file, urls, mirror, manual)

    def receive(start: int, length: int) -> bytes:
        try:
            return remote.read(start, length)
        except Unavailable as reason:
            raise DataError(f"{file}: byte {start}: {reason}; try again later") from None

    yield Parts(file, size, receive)


def _remote(file: str, urls: Sequence[str], mirror: Sequence[Path], manual: str | None) -> tuple[Remote, int]:
    """First server that has a file, and the file's size there. Raises DataError if none has it."""
    reasons = []
    for url in urls:
        remote = Remote(url, file)
        try:
            if size := remote.measure():
                return remote, size
            reasons.append(f"{url}: the server does not report the file's size")
        except Unavailable as reason:
            reasons.append(str(reason))
    raise _nowhere(file, reasons, mirror, manual)


def _path(file: str) -> PurePosixPath:
    """PATH of a file SOURCE/PATH. Raises DataError if it leads out of the source."""
    parts = PurePosixPath(file).parts
    if len(parts) < 2 or parts[0] == "/" or ".." in parts:
        raise DataError(f"{file}: expected a path inside a source, without '..'; correct the file's name")
    return PurePosixPath(*parts[1:])


def _copy(copy: Path, path: PurePosixPath, target: Path, size: int | None, settled: bool) -> None:
    """Copy a mirror's file to `target`, without the compression that the mirror added.

    settled: whether to refuse a file that is still being written. Raises DataError if the file is damaged or has more than
    `size` bytes.
    """
    before = stamp(copy)
    if settled and time.time() - copy.stat().st_mtime < FRESH:
        time.sleep(FRESH)
    with open(target, "wb") as sink, opened(copy, path) as source:
        received = 0
        while chunk := source.read(CHUNK):
            received += len(chunk)
            if size is not None and received > size:
                raise DataError(f"{copy}: expected {size} bytes, found more; replace it")
            sink.write(chunk)
    if settled and stamp(copy) != before:
        raise DataError(f"{copy}: expected a file that is complete, found that it is being written; try again when it is")


def _git_blob(path: Path) -> str:
    """Id under which git stores a file's content: the SHA-1 of `blob SIZE`, a zero byte and the content."""
    header = b"blob %d\0" % path.stat().st_size
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.sha1(header, usedforsecurity=False)).hexdigest()


def _no_file(received: Path, path: PurePosixPath, complete: bool, smallest: int) -> str:
    """Reason why received bytes cannot be an official file whose digest is unknown; "" if they can.

    complete: whether all of the file is known to have arrived. smallest: fewest bytes.
    """
    if why := fault(received, path):
        return why
    if received.stat().st_size < smallest:
        return f"expected at least {smallest} bytes, found {received.stat().st_size}"
    return "" if complete else "expected a file whose size is known, found a body that may be cut short"


def _download(
    file: str, part: Path, urls: Sequence[str], mirror: Sequence[Path], size: int | None, manual: str | None
) -> tuple[str, bool]:
    """Download to `part`, resuming an earlier call; return the origin, and whether the file is known to be complete."""
    reasons = []
    remotes = [Remote(url, file, size) for url in urls]
    for remote in sorted(remotes, key=lambda remote: not remote.received(part)):  # first the server whose part can be resumed
        logger.info("%s: downloading %s", file, remote.url)
        try:
            remote.download(part)
            return remote.origin, remote.size is not None
        except Unavailable as reason:
            reasons.append(str(reason))
    raise _nowhere(file, reasons, mirror, manual)


def _nowhere(file: str, reasons: Sequence[str], mirror: Sequence[Path], manual: str | None) -> DataError:
    """The error for a file that is in no mirror and on no server."""
    path = _path(file)
    places = " or ".join(str(folder / path) for folder in mirror) or "a folder listed under `mirror` in the configuration"
    note = f" ({manual})" if manual else ""
    if not reasons:
        return DataError(f"{file}: cannot be downloaded{note}; put it at {places}, as it is or with .xz or .gz added")
    return DataError(f"{file}: could not be downloaded: {'; '.join(reasons)}{note}; try again later, or put it at {places}")
