"""Bytes from a server, through interruptions: resumed, retried with back-off, one connection a host, never without end."""

import io
import logging
import os
import random
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

import requests
from filelock import FileLock, Timeout
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from crosslens.runs.errors import DataError, shown
from crosslens.runs.progress import Progress
from crosslens.runs.quantities import duration, readable
from crosslens.storage.bounded import read_text
from crosslens.storage.files import written

logger = logging.getLogger(__name__)

MEGABYTE = 10**6
ATTEMPTS = 5  # in a row that bring little; one that brings more begins the count anew
LITTLE = 0.01  # of what is lacking, or a megabyte: a server may not send byte after byte for ever
PAUSE = 2.0  # seconds before the second attempt, doubled each time
PATIENCE = 600.0  # seconds that a server may ask us to wait
LONGEST = 2 * 86400.0  # seconds of a download; a later one goes on
SPACING = 0.2  # seconds between two requests to a host
TIMEOUT = (15, 60)  # seconds to connect, and without a byte
REDIRECTS = 10  # in a row
ANSWER = 120.0  # seconds until the head of an answer, redirects followed, is here
WINDOW, SLOWEST = 60.0, 1000.0  # seconds over which a rate is measured, and the lowest, in bytes a second
GRACE, PACE = 3600.0, 10_000.0  # seconds of bodies after which so many bytes a second must have come: slow lines reach that
TICK = 1.0  # seconds between two looks at a body
SEAM = 4096  # bytes that are asked for again where a download goes on, to see whether the file is still the same
UNMEASURED = 1000 * MEGABYTE  # bytes of a body whose size nobody knows
RESERVE = 1000 * MEGABYTE  # bytes that stay free on a disk, or a hundredth of a smaller one
HUB = "https://huggingface.co/"
ENDPOINT = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/") + "/"  # the hub, or a copy of it, as for huggingface_hub
TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
# Compressed transfers would hide the size, and unpack official files that are compressed themselves.
HTML = ("text/html", "application/xhtml+xml")
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "crosslens (research on multilingual encoders)"}


class Unavailable(Exception):
    """A server does not give a file; the message says why."""


class _Interrupted(Exception):
    """An answer that another attempt may better; `wait` is how many seconds the server wants to be left alone."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class _Session(requests.Session):
    """One connection for many requests."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Nowhere: redirects are followed by `_asked`. Those of requests would read a redirect's body, which may have no end."""


class _Pace:
    """How fast the bodies of a file come, over all requests: bytes, and the seconds that they took."""

    def __init__(self) -> None:
        self.bytes, self.seconds, self.since = 0, 0.0, 0.0

    def add(self, number: int) -> None:
        """Count bytes that came. Raises _Interrupted where they come too slowly on the whole."""
        self.bytes += number
        self._advance()
        if crawling := self.crawling():
            raise _Interrupted(crawling)

    def crawling(self) -> str:
        """Why no more is waited for, "" where bytes come fast enough: so the size of a file bounds the time that it takes."""
        if self.seconds <= GRACE + self.bytes / PACE:
            return ""
        return f"received {self.bytes} bytes in {duration(self.seconds)}, expected {PACE:.0f} a second after {duration(GRACE)}"

    def _advance(self) -> None:
        now = time.monotonic()
        self.seconds, self.since = self.seconds + now - self.since, now

    @contextmanager
    def watched(self, answer: requests.Response, deadline: float) -> Iterator[None]:
        """End a body that stops coming or takes too long, whatever its reader waits for. Raises _Interrupted."""
        reasons: list[str] = []
        done = threading.Event()
        self.since = time.monotonic()

        def watch() -> None:
            began, before = time.monotonic(), self.bytes
            while not reasons and not done.wait(TICK):
                now = time.monotonic()
                if now > deadline:
                    reasons.append("the time is up")
                elif now - began >= WINDOW:
                    if self.bytes - before < SLOWEST * WINDOW:
                        reasons.append(f"received {self.bytes - before} bytes in {duration(now - began)}")
                    began, before = now, self.bytes
            if reasons:
                with suppress(OSError, ValueError, RuntimeError):  # it has just ended
                    answer.raw.shutdown()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except (HTTPError, OSError, ValueError):  # what a reader meets when its connection is shut down
            if not reasons:
                raise
        finally:
            done.set()
            thread.join()
            self._advance()
        if reasons:
            raise _Interrupted(reasons[0])


def at_endpoint(url: str) -> str:
    """The address at ENDPOINT of a file on the Hugging Face hub; any other as it is."""
    return f"{ENDPOINT}{url.removeprefix(HUB)}" if url.startswith(HUB) else url


class Remote:
    """A file on a server, of which any part can be read.

    url: its address. name: its name in messages. expected_size: bytes, where the table of sources tells them; a server may not
    send more. size: bytes, None until an answer has told it. version: what tells one version of the file from another (its
    ETag, or else its date); modified: its date. By them, and by the bytes where two parts meet, parts of two versions are told
    apart. pace: how fast it comes. origin: the address, and where that redirected to.
    """

    def __init__(self, url: str, name: str, expected_size: int | None = None) -> None:
        """Nothing is asked for yet."""
        self.url, self.name, self.expected_size = at_endpoint(url), name, expected_size
        self.size: int | None = None
        self.version: str | None = None
        self.modified: str | None = None
        self.pace = _Pace()
        # foreign: whether a part here is of something else, and gives way once this comes
        self.origin, self.foreign = self.url, False
        self.session = _Session()

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

        Beside the part lies what version of which URL it is of. It is begun anew where this URL is another, or the server has
        another version by now, does not tell the version, or cannot send a part; but not before the file begins to come.
        """
        about = part.with_name(f"{part.name}.of")
        if os.path.lexists(part) and (part.is_symlink() or not part.is_file() or part.stat().st_nlink > 1):
            raise Unavailable(f"{part}: expected the part of a download, found a link or another kind of file: remove it")
        url, version, modified = begun(part)
        self.version, self.modified = (version, modified or None) if url == self.url else (None, None)
        self.foreign = self.version is None
        with open(part, "a+b") as sink:
            self._receive(sink, 0, None, about)
        about.unlink(missing_ok=True)

    def _receive(self, sink: BinaryIO, start: int, stop: int | None, about: Path | None = None) -> None:
        """Write bytes `start` to `stop` (the end if None) in as many requests as it takes; `sink` may hold the first ones."""
        fails, most, deadline = 0, 0 if self.foreign else sink.seek(0, io.SEEK_END), time.monotonic() + LONGEST
        while True:
            try:
                return self._request(sink, start, stop, about, deadline)
            except (_Interrupted, RequestException, HTTPError, ValueError) as error:
                reason, requested_wait = shown(" ".join(str(error).split()), 300), getattr(error, "wait", 0.0)
                if isinstance(error, ValueError):  # an address that is none
                    raise Unavailable(f"{self.url}: {reason}") from None
            sink.flush()  # the wait may be long, and the process killed
            have = 0 if self.foreign else sink.seek(0, io.SEEK_END)
            end = (self.size if stop is None else stop - start) or self.expected_size
            enough = max(1.0, min(MEGABYTE, LITTLE * (end - most))) if end else MEGABYTE
            fails = 0 if have - most >= enough else fails + 1
            most = max(most, have)
            if crawling := self.pace.crawling():
                raise Unavailable(f"{self.url}: {crawling}; {have} bytes are here")
            if fails == ATTEMPTS:
                raise Unavailable(f"{self.url}: {reason}")
            if requested_wait > PATIENCE:
                raise Unavailable(f"{self.url}: {reason}; the server asks to wait {duration(requested_wait)}")
            wait = max(requested_wait, PAUSE * 2 ** max(fails - 1, 0) * random.uniform(0.75, 1.25))
            if time.monotonic() + wait > deadline:
                raise Unavailable(f"{self.url}: {reason}; not complete after {duration(LONGEST)}, {have} bytes are here")
            logger.info("%s: %s; trying again in %s", self.name, reason, duration(wait))
            time.sleep(wait)

    def _request(self, sink: BinaryIO, start: int, stop: int | None, about: Path | None, deadline: float) -> None:
        """One request for what `sink` lacks. Raises _Interrupted where that did not suffice, Unavailable where nothing will."""
        have = sink.seek(0, io.SEEK_END) if self.version and not self.foreign else 0  # the rest might be of another version
        again = min(have, SEAM)
        headers = dict(HEADERS)
        if have or stop is not None:
            headers["Range"] = f"bytes={start + have - again}-{'' if stop is None else stop - 1}"
            if self.version:
                headers["If-Range"] = self.version
        with _alone(urlsplit(self.url).hostname or ""), _asked(self.session, "GET", self.url, headers) as answer:
            first, size = _content_range(answer)
            rest = first == start + have - again
            same = self.version in (None, _version(answer)) and (size is None or self.size in (None, size))
            modified = answer.headers.get("Last-Modified")
            same = same and (None in (self.modified, modified) or self.modified == modified)
            match answer.status_code:
                case 206 if rest and same:
                    self.size = size or self.size
                case 200 if stop is None:  # from the beginning: a first request, another version, or no parts to be had
                    have = again = 0
                    self.size = _number(answer.headers.get("Content-Length", ""))
                case 200 | 206 if stop is not None and (rest or first is None):
                    raise Unavailable(f"{self.url}: requested a part, received the whole file or another version")
                case 206 | 416:
                    self.foreign = True
                    received = shown(answer.headers.get("Content-Range", "nothing"), 100)
                    raise _Interrupted(f"requested a part from byte {start + have - again} on, received {received}")
                case status if status in TRY_AGAIN:
                    raise _Interrupted(f"{status} {shown(answer.reason)}", _wait(answer.headers.get("Retry-After", "")))
                case 401 | 403 as status if self.url.startswith(at_endpoint(HUB)):
                    remedy = "if it is private or gated, accept its conditions and set HF_TOKEN to a token that may read it"
                    raise Unavailable(f"{self.url}: {status} {shown(answer.reason)}: {remedy}")
                case status:
                    raise Unavailable(f"{self.url}: {status} {shown(answer.reason)}")
            self._check(answer)
            sink.truncate(sink.seek(have))
            sink.seek(have - again)
            seam = sink.read(again)
            self.foreign = False
            self.version, self.modified = _version(answer), modified
            if about:
                with written(about) as temporary:
                    temporary.write_text(f"{self.url}\n{self.version or ''}\n{modified or ''}", "utf-8")
            end = self.size if stop is None else stop - start
            if about:
                self._expect_room(sink, (end or self.expected_size or have) - have)
            # Whoever reads parts shows how far it is.
            progress = Progress(((end or have) - have) // MEGABYTE, f"MB of {self.name}", logger) if stop is None else None
            began, most = have, next((limit for limit in (end, self.expected_size) if limit is not None), UNMEASURED)
            with progress or nullcontext(), self.pace.watched(answer, deadline):
                while chunk := answer.raw.read1(MEGABYTE):  # what has come, not so many: nothing is lost when it breaks off
                    self.pace.add(len(chunk))
                    if not chunk.startswith(seam[: len(chunk)]):
                        if stop is not None:  # other parts of that file are in use
                            raise Unavailable(f"{self.url}: requested a part, received one of another version")
                        self.foreign = True
                        raise _Interrupted(f"the file on the server has changed, as bytes before {have} show")
                    chunk, seam = chunk[len(seam) :], seam[len(chunk) :]
                    have += len(chunk)
                    if have > most:
                        sink.truncate(0)
                        raise Unavailable(f"{self.url}: expected {most} bytes{' at most' * (end is None)}, received more")
                    if about:
                        self._expect_room(sink, len(chunk))
                    sink.write(chunk)
                    if progress:
                        progress.advance((have - began) // MEGABYTE - progress.done)
            if end is None and answer.raw.chunked:  # such a body says where it ends
                end = self.size = have
            if seam or (end is not None and have != end):
                raise _Interrupted(f"received {have - len(seam)} of {end or 'unknown'} bytes")

    def _expect_room(self, sink: BinaryIO, number: int) -> None:
        """Raise Unavailable unless a number of bytes fits on the disk of a file, and some stay free for others."""
        disk = os.fstatvfs(sink.fileno())
        free, reserve = disk.f_bavail * disk.f_frsize, min(RESERVE, disk.f_blocks * disk.f_frsize // 100)
        if number + reserve > free:
            expected = f"expected room for {readable(number)} and {readable(reserve)} to spare"
            raise Unavailable(f"{self.url}: {expected}, found {readable(free)} free: make room, if the file is of that size")

    def _check(self, answer: requests.Response) -> None:
        """Raise Unavailable where the body that an answer announces cannot be the file; remember where it came from."""
        transfer, encoding, form = (
            answer.headers.get(name, "").partition(";")[0].strip().lower()
            for name in ("Transfer-Encoding", "Content-Encoding", "Content-Type")
        )
        path = urlsplit(self.url).path.lower()
        if encoding not in ("", "identity", *(("gzip", "x-gzip") if path.endswith((".gz", ".tgz")) else ())):
            raise Unavailable(f"{self.url}: expected the file as it is, received it encoded ({shown(encoding, 40)})")
        if transfer not in ("", "identity", "chunked"):  # its frames would be taken for the file
            raise Unavailable(f"{self.url}: expected the file as it is, received it transferred as {shown(transfer, 40)}")
        if form.startswith("multipart/"):
            raise Unavailable(f"{self.url}: expected a file, received several parts ({shown(form, 40)})")
        if form in HTML and not path.endswith((".html", ".htm")):
            raise Unavailable(f"{self.url}: expected a file, received a web page ({form})")
        if None not in (self.expected_size, self.size) and self.size > self.expected_size:  # type: ignore[operator]
            raise Unavailable(f"{self.url}: expected {self.expected_size} bytes, the server announces {self.size}")
        final = urlsplit(answer.url)._replace(query="", fragment="").geturl()  # in the query: keys that expire
        self.origin = self.url if not answer.history else f"{self.url} by way of {shown(final, 500)}"


def begun(part: Path) -> tuple[str, str, str]:
    """URL, version and date that a part of a download is of; "" each where it cannot be continued."""
    try:
        text = read_text(part.with_name(f"{part.name}.of"))
    except (OSError, DataError):
        text = ""
    url, version, modified = (*text.split("\n"), "", "", "")[:3]
    return (url, version, modified) if version else ("", "", "")


def size_of(urls: Sequence[str]) -> tuple[int | None, bool]:
    """Bytes of the first of some addresses that tells, None if none does; and whether a server answered at all."""
    answered = not urls
    for url in urls:
        try:
            with _Session() as session, _asked(session, "HEAD", at_endpoint(url), HEADERS, timeout=5) as answer:
                answered = True
                length = _number(answer.headers.get("Content-Length", ""))
                if answer.ok and length is not None:
                    return length, True
        except (Unavailable, _Interrupted, RequestException, ValueError):
            pass
    return None, answered


@contextmanager
def _asked(
    session: requests.Session, method: str, url: str, headers: Mapping[str, str], timeout: float | tuple[float, float] = TIMEOUT
) -> Iterator[requests.Response]:
    """The answer of a server, its body still to be read. Raises _Interrupted where even its head does not come to an end."""
    answers: list[requests.Response | Exception] = []

    def ask() -> None:
        try:
            answers.append(_followed(session, method, url, headers=headers, stream=True, timeout=timeout))
        except Exception as error:  # raised where it is waited for
            answers.append(error)

    # In a thread that may be left behind: a timeout of the connection begins anew with every byte of a head.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER)
    if not answers:
        raise _Interrupted(f"no answer within {duration(ANSWER)}")
    if isinstance(answers[0], Exception):
        raise answers[0]
    with answers[0] as answer:
        yield answer


def _followed(session: requests.Session, method: str, url: str, **options: Any) -> requests.Response:
    """The answer that redirects lead to. Raises Unavailable where they lead from https to anything else, or nowhere."""
    token = {"Authorization": f"Bearer {value}"} if (value := os.environ.get("HF_TOKEN", "").strip()) else {}
    history: list[requests.Response] = []
    while len(history) <= REDIRECTS:
        credentials = token if url.startswith(at_endpoint(HUB)) else {}  # no other server learns it
        answer = session.request(method, url, **options | {"headers": options["headers"] | credentials})
        answer.history = history
        if not answer.is_redirect:
            return answer
        answer.close()
        history.append(answer)
        target = urljoin(url, answer.headers["Location"].encode("latin-1").decode("utf-8", "replace"))
        scheme = urlsplit(target).scheme
        if scheme not in {"https", urlsplit(url).scheme}:
            raise Unavailable(f"{url}: redirected to {target[:200]!r}, expected https")
        url = target
    raise Unavailable(f"{history[0].url}: redirected more than {REDIRECTS} times")


@contextmanager
def _alone(host: str) -> Iterator[None]:
    """Wait until no other process of this user talks to a host, and a moment longer.

    Without a folder for the locks (a full disk, or another user's folder of that name) nobody waits: it is a courtesy.
    """
    folder = Path(tempfile.gettempdir()) / f"crosslens-{os.getuid()}"  # by number: a user of a container may have no name
    lock = FileLock(folder / f"{host}.lock")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to another user")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.info("waiting for another download from %s", host)
            lock.acquire()
    except OSError as error:
        logger.info("%s: other downloads are not waited for: %s", host, error)
    try:
        yield
        time.sleep(SPACING)
    finally:
        lock.release()


def _version(answer: requests.Response) -> str | None:
    """Value for If-Range: a strong ETag, or the date of the last change."""
    tag = answer.headers.get("ETag", "")
    return tag if tag.startswith('"') else answer.headers.get("Last-Modified")


def _content_range(answer: requests.Response) -> tuple[int | None, int | None]:
    """First byte of a part and size of the whole, of `bytes 0-9/100`, `bytes 0-9/*` or `bytes */100`; None if not told."""
    part, _, size = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    return _number(part.partition("-")[0]), _number(size)


def _number(text: str) -> int | None:
    """A number of bytes in a header; None where it is none."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _wait(retry_after: str) -> float:
    """Seconds of a Retry-After header: a number, or a date; 0 where it is neither."""
    if (seconds := _number(retry_after)) is not None:
        return float(seconds)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
