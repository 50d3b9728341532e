"""Bytes from a server, through interruptions: resumed, retried with back-off, one connection a host."""

import getpass
import io
import logging
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import requests
from filelock import FileLock, Timeout
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from crosslens.logs import Progress, duration

logger = logging.getLogger(__name__)

ATTEMPTS = 5  # in a row that bring nothing; one that brings a byte begins the count anew
PAUSE = 2.0  # seconds before the second attempt, doubled each time
PATIENCE = 600.0  # seconds that a server may ask us to wait
SPACING = 0.2  # seconds between two requests to a host
TIMEOUT = (15, 60)  # seconds to connect, and without a byte
MEGABYTE = 10**6
TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
# Compressed transfers would hide the size, and unpack official files that are compressed themselves.
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "crosslens (research on multilingual encoders)"}


class Unavailable(Exception):
    """A server does not give a file; the message says why."""


class _Interrupted(Exception):
    """An answer that another attempt may better; `wait` is how many seconds the server wants to be left alone."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Remote:
    """A file on a server, of which any part can be read.

    url: its address. name: what messages call it. size: bytes, None until an answer has told it. version: what tells
    one version of the file from another (its ETag, or else its date), so that parts of two are never joined.
    """

    def __init__(self, url: str, name: str) -> None:
        """Nothing is asked for yet."""
        self.url, self.name = url, name
        self.size: int | None = None
        self.version: str | None = None
        self.session = requests.Session()  # one connection for many parts

    def measure(self) -> int | None:
        """Its size in bytes, None if the server does not tell it. Raises Unavailable."""
        if self.size is None:
            self.read(0, 1)
        return self.size

    def read(self, start: int, length: int) -> bytes:
        """`length` bytes from `start` on. Raises Unavailable."""
        sink = io.BytesIO()
        self._receive(sink, start, start + length)
        return sink.getvalue()

    def download(self, part: Path) -> None:
        """Put the whole file at `part`, or what is lacking there since an earlier call. Raises Unavailable.

        Beside the part lies what version of which URL it is of. It is begun anew where the server has another version by
        now, or cannot send a part.
        """
        about = part.with_name(f"{part.name}.of")
        url, _, version = about.read_text("utf-8").partition("\n") if about.exists() else ("", "", "")
        self.version = version if url == self.url and version else None
        with open(part, "ab") as sink:
            if self.version is None:
                sink.truncate(0)
            self._receive(sink, 0, None, about)
        about.unlink(missing_ok=True)

    def _receive(self, sink: BinaryIO, start: int, stop: int | None, about: Path | None = None) -> None:
        """Write bytes `start` to `stop` (the end if None) in as many requests as it takes; `sink` may hold the first ones."""
        fails = 0
        while True:
            before = sink.seek(0, io.SEEK_END)
            try:
                return self._request(sink, start, stop, about)
            except (_Interrupted, RequestException, HTTPError) as error:
                reason, asked = " ".join(str(error).split())[:300], getattr(error, "wait", 0.0)
            sink.flush()  # the wait may be long, and the process killed
            fails = 0 if sink.seek(0, io.SEEK_END) > before else fails + 1
            if fails == ATTEMPTS:
                raise Unavailable(f"{self.url}: {reason}")
            if asked > PATIENCE:
                raise Unavailable(f"{self.url}: {reason}; the server asks to wait {duration(asked)}")
            wait = max(asked, PAUSE * 2 ** max(fails - 1, 0) * random.uniform(0.75, 1.25))
            logger.info("%s: %s; trying again in %s", self.name, reason, duration(wait))
            time.sleep(wait)

    def _request(self, sink: BinaryIO, start: int, stop: int | None, about: Path | None) -> None:
        """One request for what `sink` lacks. Raises _Interrupted where that did not suffice, Unavailable where nothing will."""
        have = sink.seek(0, io.SEEK_END)
        headers = dict(HEADERS)
        if have or stop is not None:
            headers["Range"] = f"bytes={start + have}-{'' if stop is None else stop - 1}"
            if self.version:
                headers["If-Range"] = self.version
        with (
            _alone(urlsplit(self.url).hostname or ""),
            self.session.get(self.url, headers=headers, stream=True, timeout=TIMEOUT) as answer,
        ):
            first, size = _content_range(answer)
            match answer.status_code:
                case 206 if first == start + have:
                    self.size = size
                case 200 if stop is None:  # from the beginning: a first request, another version, or no parts to be had
                    sink.truncate(0)
                    have = sink.seek(0)
                    length = answer.headers.get("Content-Length", "")
                    self.size = int(length) if length.isdigit() else None
                case 200:
                    raise Unavailable(f"{self.url}: requested a part, received the whole file or another version")
                case 416 if stop is None and have and have == size:
                    return  # nothing was lacking
                case 206 | 416:
                    sink.truncate(0)
                    received = answer.headers.get("Content-Range")
                    raise _Interrupted(f"requested a part from byte {start + have} on, received {received}")
                case status if status in TRY_AGAIN:
                    raise _Interrupted(f"{status} {answer.reason}", _wait(answer.headers.get("Retry-After", "")))
                case status:
                    raise Unavailable(f"{self.url}: {status} {answer.reason}")
            self.version = _version(answer)
            if about:
                about.write_text(f"{self.url}\n{self.version or ''}", "utf-8")
            end = self.size if stop is None else stop - start
            # Whoever reads parts shows how far it is.
            progress = Progress(((end or have) - have) // MEGABYTE, f"MB of {self.name}", logger) if stop is None else None
            began = have
            with progress or nullcontext():
                while chunk := answer.raw.read1(MEGABYTE):  # what has come, not so many: nothing is lost when it breaks off
                    have += sink.write(chunk)
                    if progress:
                        progress.advance((have - began) // MEGABYTE - progress.done)
            if end is not None and have != end:
                raise _Interrupted(f"received {have} of {end} bytes")


def size_of(urls: Sequence[str]) -> tuple[int | None, bool]:
    """Bytes of the first of some addresses that tells, None if none does; and whether a server answered at all."""
    answered = not urls
    for url in urls:
        try:
            with requests.head(url, headers=HEADERS, allow_redirects=True, timeout=5) as answer:
                answered = True
                length = answer.headers.get("Content-Length", "")
                if answer.ok and length.isdigit():
                    return int(length), True
        except RequestException:
            pass
    return None, answered


@contextmanager
def _alone(host: str) -> Iterator[None]:
    """Wait until no other process of this user talks to a host, and a moment longer."""
    folder = Path(tempfile.gettempdir()) / f"crosslens-{getpass.getuser()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(folder / f"{host}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.info("waiting for another download from %s", host)
        lock.acquire()
    try:
        yield
        time.sleep(SPACING)
    finally:
        lock.release()


def _version(answer: requests.Response) -> str | None:
    """What If-Range takes: a strong ETag, or the date of the last change."""
    tag = answer.headers.get("ETag", "")
    return tag if tag.startswith('"') else answer.headers.get("Last-Modified")


def _content_range(answer: requests.Response) -> tuple[int | None, int | None]:
    """First byte of a part and size of the whole, of `bytes 0-9/100`, `bytes 0-9/*` or `bytes */100`; None if not told."""
    part, _, size = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    first = part.partition("-")[0]
    return int(first) if first.isdigit() else None, int(size) if size.isdigit() else None


def _wait(retry_after: str) -> float:
    """Seconds of a Retry-After header: a number, or a date."""
    if retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return 0.0
