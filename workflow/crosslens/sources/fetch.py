"""Official files, from a mirror or the network, verified before they get their name."""

import logging
import lzma
import shutil
import time
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from crosslens import files
from crosslens.errors import DataError
from crosslens.logs import Progress

logger = logging.getLogger(__name__)

COMPRESSIONS = ("", ".xz", ".gz")  # what a mirror may add to an official file's name
ATTEMPTS = 4
PAUSE = 2.0  # seconds before the second attempt, doubled each time
CHUNK = 10**6  # bytes copied at a time


def fetch(
    path: str,
    target: Path,
    *,
    url: str | None,
    sha256: str | None,
    mirror: Sequence[Path],
    manual: str | None = None,
) -> str:
    """Put the official file `path` at `target`, whole and verified, and return its sha256.

    path: inside the source, with slashes, as in the official distribution.
    url: where the official file is; None if it cannot be downloaded.
    sha256: expected digest of the official file, that is, of a mirror's file without the compression that the mirror
    added; None if unknown, and then whatever arrives is taken.
    mirror: folders of this source, in order; each may hold `path` as it is, or with .xz or .gz added. They come before
    the network.
    manual: what a person can do to obtain the file, for the message where it is in no mirror and cannot be downloaded.
    Raises DataError, and leaves nothing at `target`.
    """
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise DataError(f"{path}: a path inside the source expected, without '..'; correct the file's name")
    with files.written(target) as temporary:
        origin = _copy(path, temporary, mirror) or _download(path, temporary, url, mirror, manual)
        found = files.sha256(temporary)
        if sha256 is not None and found != sha256:
            remedy = "delete that copy" if origin != url else "try again later, or put a good copy into a mirror"
            raise DataError(f"{path}: sha256 {sha256} expected, found {found} in {origin}; {remedy}")
    return found


def _copy(path: str, target: Path, mirror: Sequence[Path]) -> str | None:
    """Copy from the first mirror folder that has the file; returns where it was, None if nowhere."""
    for folder in mirror:
        for suffix in COMPRESSIONS:
            candidate = folder / f"{path}{suffix}"
            if not candidate.is_file():
                continue
            try:
                with files.open_binary(candidate) if suffix else open(candidate, "rb") as source:
                    with open(target, "wb") as sink:
                        shutil.copyfileobj(source, sink, CHUNK)
            except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
                raise DataError(f"{candidate}: whole {suffix or 'file'} expected, found: {error}; replace it") from None
            return str(candidate)
    return None


def _download(path: str, target: Path, url: str | None, mirror: Sequence[Path], manual: str | None) -> str:
    """Download with retries; returns the URL."""
    places = " or ".join(str(folder / path) for folder in mirror) or "a folder named under `mirror` in the config"
    note = f" ({manual})" if manual else ""
    if url is None:
        raise DataError(f"{path}: it cannot be downloaded{note}; put it at {places}, as it is or with .xz or .gz added")
    import pooch  # slow to import, and most calls end in a mirror
    import requests

    # Compressed transfers would hide the size, and unpack official files that are compressed themselves.
    headers = {"Accept-Encoding": "identity"}
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            logger.info("%s: downloading %s", path, url)
            downloader = pooch.HTTPDownloader(progressbar=_Megabytes(path), chunk_size=CHUNK, headers=headers)
            downloader(url, str(target), None)
            return url
        except requests.exceptions.RequestException as error:
            reason = " ".join(str(error).split())
            answered = error.response is not None and error.response.status_code
            if answered and answered < 500 and answered not in (408, 429):
                break  # it is not there, and will not be there in a few seconds
    raise DataError(f"{path}: {url} could not be downloaded: {reason}{note}; try again later, or put it at {places}")


class _Megabytes:
    """What pooch asks of a progress bar, on top of the log's progress. total: bytes, set by pooch, 0 if unknown."""

    def __init__(self, path: str) -> None:
        self.path, self.total = path, 0
        self.progress: Progress | None = None

    def update(self, size: int) -> None:
        """One more chunk; at the end, after `reset`, pooch tells the whole size once more."""
        if self.progress is None:
            self.progress = Progress(self.total // CHUNK, f"MB of {self.path}", logger)
        if size == CHUNK:
            self.progress.advance()

    def reset(self) -> None:
        """Nothing is counted twice: see `update`."""

    def close(self) -> None:
        """Nothing is held."""
