"""Downloads by libcurl: resumed, tried again with back-off, limited in time, and with one connection per host."""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import urlsplit

import certifi
import pycurl
from filelock import FileLock

from crosslens.jobs.bounded import read_text
from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import written
from crosslens.jobs.progress import Progress
from crosslens.jobs.quantities import duration, readable

logger = logging.getLogger(__name__)
T = TypeVar("T")

MEGABYTE = 10**6
ATTEMPTS = 5  # attempts in a row that bring nothing
PAUSE = 2.0  # seconds before the second attempt, doubled each time
PATIENCE = 600.0  # longest wait in seconds that a server may ask for
LONGEST = 2 * 86400  # longest download in seconds; a later one resumes it
SPACING = 0.2  # seconds between two requests to a host
CONNECT = 15  # seconds to connect
SLOWEST, WINDOW = 1000, 60  # lowest rate in bytes a second, and the seconds over which it is measured
TICK = 1.0  # seconds between two checks of a silent connection
UNMEASURED = 1000 * MEGABYTE  # most bytes of a body of unknown size
RESERVE = 1000 * MEGABYTE  # bytes to keep free on a disk; on a small disk, a hundredth of it
HUB = "https://huggingface.co/"
ENDPOINT = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/") + "/"  # the hub or a copy of it, set as for huggingface_hub
CERTIFICATES = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")  # variables that name a file of certificates
TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
FINAL = {
    pycurl.E_UNSUPPORTED_PROTOCOL,
    pycurl.E_URL_MALFORMAT,
    pycurl.E_COULDNT_RESOLVE_HOST,
    pycurl.E_TOO_MANY_REDIRECTS,
    pycurl.E_PEER_FAILED_VERIFICATION,
}
"""Errors of libcurl that another attempt would not resolve."""


class Unavailable(Exception):
    """A file cannot be obtained from a server; the message says why."""


class _Interrupted(Exception):
    """A failure that another attempt may resolve. wait: seconds that the server asks to wait."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def at_endpoint(url: str) -> str:
    """Address at ENDPOINT of a file on the Hugging Face hub; any other address is returned unchanged."""
    return f"{ENDPOINT}{url.removeprefix(HUB)}" if url.startswith(HUB) else url


class _Answer:
    """A server's answer to a request: its head, and its body chunk by chunk.

    status: HTTP status. headers: by name in lower case. Creating and reading an answer raise _Interrupted, or Unavailable if
    another attempt would not help.
    """

    def __init__(self, url: str, headers: list[str]) -> None:
        """Send the request and wait for the head. headers: in addition to those of every request."""
        self._url, self._running = url, 1
        self._head: list[bytes] = []
        self._chunks: list[bytes] = []
        self._curl, self._multi = pycurl.Curl(), pycurl.CurlMulti()
        for option, value in _options(url).items():
            self._curl.setopt(option, value)
        self._curl.setopt(pycurl.HTTPHEADER, [*_headers(url), *headers])
        # list.append runs no Python code, in which a signal handler's exception would be lost in libcurl.
        self._curl.setopt(pycurl.HEADERFUNCTION, self._head.append)
        self._curl.setopt(pycurl.WRITEFUNCTION, self._chunks.append)
        self._multi.add_handle(self._curl)
        while self._running and not self._chunks:
            self._advance()
        if not self._chunks:
            self._expect_success()
        self.status, self.headers = self._curl.getinfo(pycurl.RESPONSE_CODE), _parsed(self._head)

    @property
    def version(self) -> str:
        """Version of the file: a strong ETag or else the date; "" without either."""
        tag = self.headers.get("etag", "")
        return tag if tag.startswith('"') else self.headers.get("last-modified", "")

    @property
    def size(self) -> int | None:
        """Bytes of the whole file, None if the server does not report them."""
        size = self.headers.get("content-range", "").rpartition("/")[2] or self.headers.get("content-length", "")
        return int(size) if size.isascii() and size.isdigit() else None

    @property
    def origin(self) -> str:
        """The address, and the address that it redirected to, if any."""
        if not self._curl.getinfo(pycurl.REDIRECT_COUNT):
            return self._url
        final = urlsplit(self._curl.getinfo(pycurl.EFFECTIVE_URL))._replace(query="").geturl()  # a query may have expiring keys
        return f"{self._url} by way of {shown(final, 500)}"

    def is_part(self, start: int, version: str) -> bool:
        """Whether the body is a part of the file that begins at byte `start`, in a version ("": any version)."""
        place = self.headers.get("content-range", "")
        return self.status == 206 and place.startswith(f"bytes {start}-") and version in ("", self.version)

    def expect_file(self) -> None:
        """Raise _Interrupted or Unavailable if the status says that the server does not send the file."""
        reason, wait = f"{self._url}: the server answers with status {self.status}", self._curl.getinfo(pycurl.RETRY_AFTER)
        if self.status in TRY_AGAIN:
            raise _Interrupted(f"{reason} and asks to wait {duration(wait)}" if wait else reason, wait)
        if self.status in (401, 403) and self._url.startswith(at_endpoint(HUB)):
            reason += ": if it is private or gated, accept its conditions and set HF_TOKEN to a token that may read it"
        if self.status not in (200, 206):
            raise Unavailable(reason)

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it arrives."""
        while self._chunks or self._running:
            yield from self._chunks
            self._chunks.clear()
            if self._running:
                self._advance()
        self._expect_success()

    def close(self) -> None:
        """End the connection."""
        self._multi.remove_handle(self._curl)
        self._curl.close()
        self._multi.close()

    def _advance(self) -> None:
        """Receive data that has arrived, or wait for some."""
        _, self._running = self._multi.perform()
        if self._running and not self._chunks and self._multi.select(TICK) <= 0:
            time.sleep(TICK / 100)  # select has nothing to wait for while a host name is looked up

    def _expect_success(self) -> None:
        """Raise _Interrupted or Unavailable unless the transfer has ended well."""
        _, _, failures = self._multi.info_read()
        for _, code, message in failures:
            reason = f"{self._url}: {shown(message, 300)}"
            raise Unavailable(reason) if code in FINAL else _Interrupted(reason)


class Remote:
    """A file on a server, of which any part can be read.

    url: its address. name: its name in messages. expected_size: bytes according to the table of sources, None if unknown; the
    server may not send more. size: bytes according to the server, None before its first answer. version: of the parts read so
    far, as in _Answer. origin: the address, and the one that it redirected to.
    """

    def __init__(self, url: str, name: str, expected_size: int | None = None) -> None:
        """Store the address without sending a request."""
        self.url, self.name, self.expected_size = at_endpoint(url), name, expected_size
        self.size: int | None = None
        self.version, self.origin = "", self.url

    def measure(self) -> int | None:
        """Size in bytes, None if the server does not report it. Raises Unavailable."""
        if self.size is None:
            self.read(0, 1)
        return self.size

    def read(self, start: int, length: int) -> bytes:
        """Read `length` bytes from byte `start` on. Raises Unavailable."""
        return self._persist(lambda: self._read(start, length))

    def download(self, part: Path) -> None:
        """Download the file to `part`, or what an earlier call left missing there. Raises Unavailable.

        A note next to the part has its URL and version. The download starts again if the URL is another, or the server has
        another version, does not report the version or cannot send a part. The earlier part is kept until the file begins to
        arrive.
        """
        if os.path.lexists(part) and (part.is_symlink() or not part.is_file() or part.stat().st_nlink > 1):
            raise Unavailable(f"{part}: expected the part of a download, found a link or another kind of file: remove it")
        self._persist(lambda: self._continue(part), lambda: self.received(part))
        _note(part).unlink()

    def received(self, part: Path) -> int:
        """Bytes of a part that can be resumed from this address; 0 if it cannot."""
        url, version = _begun(part)
        return part.stat().st_size if url == self.url and version and part.exists() else 0

    def _persist(self, attempt: Callable[[], T], received: Callable[[], int] = lambda: 0) -> T:
        """Result of the first attempt that succeeds. received: counts the bytes that the attempts have brought so far."""
        fails, most, deadline = 0, received(), time.monotonic() + LONGEST
        while True:
            try:
                return attempt()
            except _Interrupted as error:
                reason, requested_wait = str(error), error.wait
            fails = 0 if received() > most else fails + 1
            most = max(most, received())
            if fails == ATTEMPTS or requested_wait > PATIENCE or time.monotonic() > deadline:
                raise Unavailable(reason)
            wait = max(requested_wait, PAUSE * 2 ** max(fails - 1, 0))
            logger.info("%s; trying again in %s", reason, duration(wait))
            time.sleep(wait)

    def _read(self, start: int, length: int) -> bytes:
        """Read a part of the file in one request."""
        with self._asked(f"Range: bytes={start}-{start + length - 1}") as answer:
            answer.expect_file()
            if not answer.is_part(start, self.version):
                raise Unavailable(f"{self.url}: requested a part, received the whole file or another version")
            self.version, self.size, content = answer.version, answer.size, bytearray()
            for chunk in answer.chunks():
                content += chunk
                if len(content) > length:
                    raise Unavailable(f"{self.url}: requested {length} bytes, received more")
        return bytes(content)

    def _continue(self, part: Path) -> None:
        """Add to a part what it lacks, in one request."""
        have = self.received(part)
        version = _begun(part)[1] if have else ""
        with self._asked(*([f"Range: bytes={have}-", f"If-Range: {version}"] if have else [])) as answer:
            if answer.status == 416 or answer.status == 206 and not answer.is_part(have, version):
                _note(part).unlink(missing_ok=True)
                raise _Interrupted(f"{self.url}: requested the bytes from {have} on, received others")
            answer.expect_file()
            have = have if answer.status == 206 else 0
            if not have:  # the earlier bytes must never be taken for a part of this version
                _note(part).unlink(missing_ok=True)
                part.unlink(missing_ok=True)
            with written(_note(part)) as temporary:
                temporary.write_text(f"{self.url}\n{answer.version}", "utf-8")
            self.size, self.origin = answer.size, answer.origin
            with open(part, "ab") as sink:
                self._save(answer, sink, have)

    def _save(self, answer: _Answer, sink: BinaryIO, have: int) -> None:
        """Write a body after the `have` bytes of a part. Raises Unavailable if it is too large."""
        most = next(size for size in (self.expected_size, self.size, UNMEASURED) if size is not None)
        began, rest = have, self.size - have if self.size else 0
        self._expect_room(sink, rest)
        with Progress(rest // MEGABYTE, f"MB of {self.name}", logger) as progress:
            for chunk in answer.chunks():
                have += len(chunk)
                if have > most:
                    sink.flush()
                    sink.truncate(0)
                    raise Unavailable(f"{self.url}: expected {most} bytes at most, received more")
                self._expect_room(sink, len(chunk))
                sink.write(chunk)
                progress.advance((have - began) // MEGABYTE - progress.done)
        if self.size is None and "transfer-encoding" in answer.headers:  # a body in chunks marks its own end
            self.size = have

    def _expect_room(self, sink: BinaryIO, number: int) -> None:
        """Raise Unavailable unless `number` bytes fit on the disk of an open file, with some to spare."""
        disk = os.fstatvfs(sink.fileno())
        free, reserve = disk.f_bavail * disk.f_frsize, min(RESERVE, disk.f_blocks * disk.f_frsize // 100)
        if number + reserve > free:
            expected = f"expected room for {readable(number)} and {readable(reserve)} to spare"
            raise Unavailable(f"{self.url}: {expected}, found {readable(free)} free: make room, if the file is of that size")

    @contextmanager
    def _asked(self, *headers: str) -> Iterator[_Answer]:
        """Send a request and yield the answer, while no other process of this user talks to the host. headers: extra ones."""
        lock = FileLock(Path(tempfile.gettempdir(), f"crosslens-{os.getuid()}-{urlsplit(self.url).hostname}.lock"))
        try:
            with suppress(OSError):  # the lock is a courtesy to the server: go on if it cannot be written
                lock.acquire()
            with closing(_Answer(self.url, [*headers])) as answer:
                yield answer
            time.sleep(SPACING)
        finally:
            lock.release()


def _begun(part: Path) -> tuple[str, str]:
    """URL and version of a partial download; "" if they are not known."""
    try:
        url, _, version = read_text(_note(part)).partition("\n")
    except (OSError, DataError):
        return "", ""
    return url, version


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.of")


def _options(url: str) -> dict[int, object]:
    """Options of libcurl for every request."""
    protocols = pycurl.PROTO_HTTPS | (pycurl.PROTO_HTTP if url.startswith("http:") else 0)
    return {
        pycurl.URL: url.encode(),
        pycurl.PROTOCOLS: protocols,
        pycurl.REDIR_PROTOCOLS: protocols,
        pycurl.FOLLOWLOCATION: 1,
        pycurl.MAXREDIRS: 10,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.NOSIGNAL: 1,
        pycurl.CONNECTTIMEOUT: CONNECT,
        pycurl.LOW_SPEED_LIMIT: SLOWEST,
        pycurl.LOW_SPEED_TIME: WINDOW,
        pycurl.TIMEOUT: LONGEST,
        pycurl.CAINFO: next(filter(None, map(os.environ.get, CERTIFICATES)), certifi.where()),
        pycurl.USERAGENT: "crosslens (research on multilingual encoders)",
    }


def _headers(url: str) -> list[str]:
    """Headers of every request. libcurl does not send the hub's token to other servers to which a redirect may lead."""
    token = os.environ.get("HF_TOKEN", "").strip() if url.startswith(at_endpoint(HUB)) else ""
    # Compressed transfers would hide the size, and unpack official files that are compressed themselves.
    return ["Accept-Encoding: identity", *([f"Authorization: Bearer {token}"] if token else [])]


def _parsed(head: list[bytes]) -> dict[str, str]:
    """Headers of the last answer, by name in lower case. head: header lines of all answers, including earlier redirects."""
    headers: dict[str, str] = {}
    for line in head:
        name, _, value = line.decode("latin-1").partition(":")
        if name.startswith("HTTP/"):
            headers = {}
        headers[name.strip().lower()] = value.strip()
    return headers
