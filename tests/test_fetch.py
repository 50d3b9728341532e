"""Official files arrive whole and verified, from a mirror or a server that breaks off, or not at all."""

import gzip
import hashlib
import http.server
import lzma
import os
import random
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
from crosslens.commands.status import unverified
from crosslens.corpora.sources import network
from crosslens.corpora.sources.fetch import fetch, parts
from crosslens.corpora.sources.pins import await_reading, pinned, reading
from crosslens.corpora.sources.registry import load
from crosslens.jobs.errors import DataError

CONTENT = b"BZh9" + random.Random(0).randbytes(299_996)
OTHER = CONTENT[:4] + CONTENT[:3:-1]  # as long
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FILE = "wikipedia/xwiki/20200420/x.bz2"
PATH = FILE.partition("/")[2]


def mirror_with(tmp_path: Path, suffix: str, content: bytes = CONTENT, name: str = PATH) -> Path:
    packed = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}[suffix](content)
    path = tmp_path / "mirror" / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    return tmp_path / "mirror"


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mirrors of these tests are as they stay."""
    monkeypatch.setattr("crosslens.corpora.sources.fetch.FRESH", 0.0)


def got(tmp_path: Path, file: str = FILE, **settings: object) -> bytes:
    """A file that was fetched and read; nothing else is left in its folder."""
    target = tmp_path / "target" / "x"
    known: dict[str, object] = {"urls": [], "mirror": [], "lock": tmp_path / "sources.lock.tsv"}
    known |= settings
    digest = fetch(file, target, **known)  # type: ignore[arg-type]
    with reading([target], known["lock"]):  # type: ignore[arg-type]
        content = target.read_bytes()
    assert [path.name for path in target.parent.iterdir()] == ["x"]
    assert digest == hashlib.sha256(content).hexdigest()
    target.unlink()
    return content


def failure(tmp_path: Path, **settings: object) -> str:
    """The one line of a fetch that must fail and leave nothing under the file's name."""
    with pytest.raises(DataError) as error:
        got(tmp_path, **settings)  # type: ignore[arg-type]
    assert not (tmp_path / "target" / "x").exists()
    message = str(error.value)
    assert "\n" not in message
    return message


# From a mirror


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_mirror_is_unpacked(tmp_path: Path, suffix: str) -> None:
    mirror = [tmp_path / "nothing in it", mirror_with(tmp_path, suffix)]
    urls = ["https://never.invalid/"]
    assert got(tmp_path, urls=urls, sha256=DIGEST, size=len(CONTENT), mirror=mirror) == CONTENT


def test_what_is_wrong_in_a_mirror_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    mirror = mirror_with(tmp_path, ".xz")
    message = failure(tmp_path, sha256="0" * 64, mirror=[mirror])
    assert FILE in message and "0" * 64 in message and DIGEST in message and "replace that copy" in message
    packed = mirror / f"{PATH}.xz"
    packed.write_bytes(packed.read_bytes()[:-20])
    message = failure(tmp_path, mirror=[mirror])
    assert str(packed) in message and "replace it" in message
    assert not list((tmp_path / "target").iterdir())


def test_nowhere_says_what_to_put_where(tmp_path: Path) -> None:
    message = failure(tmp_path, mirror=[tmp_path / "m"], manual="buy it from the LDC")
    assert str(tmp_path / "m" / PATH) in message and "buy it from the LDC" in message
    with pytest.raises(DataError, match="cannot be downloaded"), parts(FILE, urls=[], mirror=[tmp_path]):
        pass


@pytest.mark.fault("A mirror's file is still being written when it is fetched for the first time", "refused")
def test_a_mirrors_file_that_grows_is_not_pinned(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("crosslens.corpora.sources.fetch.FRESH", 0.3)
    mirror, done = mirror_with(tmp_path, ""), threading.Event()

    def grow() -> None:
        while not done.wait(0.02):
            with open(mirror / PATH, "ab") as stream:
                stream.write(b"more")

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        assert "is being written" in failure(tmp_path, mirror=[mirror])
    finally:
        done.set()
        thread.join()
    assert not (tmp_path / "sources.lock.tsv").exists()


# What passes for a file

BEGINNINGS = {
    "x.zip": b"PK\x03\x04", "x.gz": b"\x1f\x8b\x08", "x.tgz": b"\x1f\x8b\x08", "x.bz2": b"BZh9", "x.xz": b"\xfd7zXZ\0",
    "x.safetensors": b"\x10" + bytes(7) + b'{"a"', "x.json": b'\n{"model_type": "bert"}', "x.jsonl": b'{"premise": "a"}\n',
    "x.xml": b"\xef\xbb\xbf<mediawiki>", "x.conllu": b"1-2\tzum\t_", "x.tsv": b"premise\thypo", "x.csv": b"row;tokens",
    "x.txt": b"Text",
}  # fmt: skip
PAGE = b"<!DOCTYPE html><html><body>Please sign in</body></html>"
PAGES = {  # answers of status 200 in the place of a file, and what they are called
    "an error in XML": (b'<?xml version="1.0"?>\n<Error><Code>SlowDown</Code></Error>', "an error in XML"),
    "an error in JSON": (b'{"error": "too many requests"}', "an error in JSON"),
    "a list of errors": (b'[{"message": "slow down"}]', "an error in JSON"),
    "a web page": (PAGE, "a web page"),
    "a web page after comments": (b"\xef\xbb\xbf\r\n\t<!-- a\n--> <!-- b --> \n" + PAGE.upper(), "a web page"),
    "a piece of a web page": (b"<center><h1>503 Service Temporarily Unavailable</h1></center>\n<hr>nginx\n", "a web page"),
    "a pointer of git LFS": (b"version https://git-lfs.github.com/spec/v1\n", "the pointer of a file that is stored elsewhere"),
    "a pointer of git-annex": (b"/annex/objects/SHA256E-s12345\n", "the pointer of a file that is stored elsewhere"),
    "nothing but blanks": (b" \r\n" * 500, "nothing in it"),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.fault("An error page of status 200 in the place of a file of which nothing is known", "refused")
def test_error_pages_are_no_data(tmp_path: Path, page: str) -> None:
    """Of any format, before a step reads it; the right file that comes later is fetched without an edit of the lock."""
    content, name = PAGES[page]
    for file, beginning in BEGINNINGS.items():
        mirror = mirror_with(tmp_path, "", content, file)
        message = failure(tmp_path, file=f"s/{file}", mirror=[mirror])
        assert f", found {name} in {tmp_path}/mirror/{file}; replace that copy" in message
        mirror_with(tmp_path, "", beginning, file)
        assert got(tmp_path, f"s/{file}", mirror=[mirror]) == beginning


def test_a_file_begins_as_its_format_does_and_is_no_smaller_than_it_may_be(tmp_path: Path) -> None:
    """Plain words are no file of any format but text."""
    for file in BEGINNINGS.keys() - {"x.txt"}:
        mirror = mirror_with(tmp_path, "", b"Too many requests\n", file)
        assert r", found 'Too many requests\n' in " in failure(tmp_path, file=f"s/{file}", mirror=[mirror])
    mirror, digest = mirror_with(tmp_path, "", b"BZh9"), hashlib.sha256(b"BZh9").hexdigest()
    assert "expected at least 100 bytes, found 4" in failure(tmp_path, mirror=[mirror], smallest=100)
    assert got(tmp_path, mirror=[mirror], smallest=100, sha256=digest) == b"BZh9"


# Pinned when they are first read


def unread(tmp_path: Path, file: str, content: bytes) -> Path:
    """A file that was fetched for the first time, and nothing has read it."""
    tmp_path.mkdir(exist_ok=True)
    target = tmp_path / file.replace("/", "-")
    target.write_bytes(content)
    await_reading(target, file, hashlib.sha256(content).hexdigest(), len(content), "a mirror")
    return target


def read(target: Path, lock: Path) -> None:
    with reading([target], lock):
        target.read_bytes()


def test_an_unknown_digest_is_pinned(tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock.tsv"
    mirror = mirror_with(tmp_path, "")
    got(tmp_path, mirror=[mirror])
    assert pinned(FILE, lock) == DIGEST and str(tmp_path) not in lock.read_text()
    got(tmp_path, mirror=[mirror])
    (mirror / PATH).write_bytes(OTHER)
    message = failure(tmp_path, mirror=[mirror])
    assert DIGEST in message and "pinned" in message and "delete its line" in message and str(lock) in message


def test_what_nothing_has_read_is_not_pinned(tmp_path: Path) -> None:
    """Its reader refuses it and says how to fetch it again; then another file comes, and is pinned when it has been read."""
    lock, target, mirror = tmp_path / "lock.tsv", tmp_path / "out" / "x.bz2", mirror_with(tmp_path, "")
    fetch(FILE, target, urls=[], mirror=[mirror], lock=lock)
    with pytest.raises(DataError) as error, reading([target], lock):
        raise DataError(f"{target}:1: expected data, found none; fetch the file again")
    move = f"mv -- {target} {target.parent}/.x.bz2.damaged"
    again = f"or correct {FILE} in your mirror, then {move}, and the next run fetches again what nothing has read before"
    assert str(error.value) == f"{target}:1: expected data, found none; fetch the file again; {again}"
    with pytest.raises(KeyboardInterrupt), reading([target], lock):
        raise KeyboardInterrupt
    assert not lock.exists()
    (mirror / PATH).write_bytes(OTHER)
    fetch(FILE, target, urls=[], mirror=[mirror], lock=lock)
    read(target, lock)
    assert pinned(FILE, lock) == hashlib.sha256(OTHER).hexdigest()
    assert [path.name for path in target.parent.iterdir()] == ["x.bz2"]
    with pytest.raises(DataError) as error, reading([target], lock):
        raise DataError(f"{target}:2: expected data")
    assert str(error.value) == f"{target}:2: expected data"


def test_another_file_than_the_first_is_never_pinned(tmp_path: Path) -> None:
    """Two scales fetch it for the first time, and the server changes in between; or a file is replaced after it was fetched."""
    lock = tmp_path / "lock.tsv"
    files = [unread(tmp_path / folder, "s/x", content) for folder, content in {"a": b"1", "b": b"1", "c": b"2"}.items()]
    read(files[0], lock)
    before = lock.read_text()
    read(files[1], lock)
    with pytest.raises(DataError, match=f"{files[2]}: .*, that of the first time, found .*; mv -- {files[2]} .* to fetch"):
        read(files[2], lock)
    replaced = unread(tmp_path, "s/y", b"1")
    replaced.write_bytes(b"2")
    with pytest.raises(DataError, match="that of the first time"):
        read(replaced, lock)
    assert lock.read_text() == before


BLOB = "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"  # of b"hello world\n": git hash-object


def test_a_file_of_known_digest_is_never_pinned(tmp_path: Path) -> None:
    """Be it sha256, the id in a git repository, or both, each of which is verified."""
    got(tmp_path, mirror=[mirror_with(tmp_path / "first", "")], sha256=DIGEST)
    mirror = mirror_with(tmp_path, ".gz", b"hello world\n")
    assert got(tmp_path, mirror=[mirror], git_blob=BLOB) == b"hello world\n"
    digest = hashlib.sha256(b"hello world\n").hexdigest()
    assert got(tmp_path, mirror=[mirror], git_blob=BLOB, sha256=digest) == b"hello world\n"
    assert not (tmp_path / "sources.lock.tsv").exists()
    assert f"expected sha256 {DIGEST}, found {digest}" in failure(tmp_path, mirror=[mirror], git_blob=BLOB, sha256=DIGEST)
    other = hashlib.sha1(b"blob 300000\0" + CONTENT).hexdigest()
    message = failure(tmp_path, mirror=[mirror_with(tmp_path / "other", "")], git_blob=BLOB)
    assert f"expected git blob {BLOB}, found {other} in {tmp_path}/other" in message and "delete its line" not in message


def test_pins_by_many_jobs_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock.tsv"
    files = [unread(tmp_path, f"s/{n}", str(n).encode()) for n in range(20)]
    jobs = [threading.Thread(target=read, args=(file, lock)) for file in files]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [pinned(f"s/{n}", lock) for n in range(20)] == [hashlib.sha256(str(n).encode()).hexdigest() for n in range(20)]


# From a server


def answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = -1) -> bytes:
    """A whole answer. length: announced; -1: that of the body, None: nothing is announced."""
    size = [] if length is None else [f"Content-Length: {len(body) if length == -1 else length}"]
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, *size, "", ""]).encode("latin-1") + body


def redirect(to: str) -> bytes:
    return answer(b"", f"Location: {to}", "Connection: close", status="302 Found")


UNMEASURED = answer(b"", length=None)
SIZE = {"size": len(CONTENT)}
BAD: dict[str, tuple[bytes, bytes, float, dict[str, int], str]] = {
    "endless body": (UNMEASURED, b"x" * 10**5, 0, {}, "at most, received more"),
    "endless body, size known": (UNMEASURED, b"x" * 10**5, 0, SIZE, "expected 300000 bytes at most, received more"),
    "trickling body": (answer(b"", length=10**6), b"x", 0.02, {}, "too slow"),
    "silence": (b"", b"", 3, {}, "too slow"),
    "closes at once": (b"", b"", 0, {}, "Empty reply|reset"),
    "announces too much": (answer(CONTENT, length=len(CONTENT) + 9), b"", 0, {}, "9 bytes"),
    "announces too little": (answer(CONTENT, length=100), b"", 0, SIZE, "expected 300000 bytes, found 100"),
    "announces no size": (answer(CONTENT[:9], length=None), b"", 0, {}, "may be cut short"),
    "last chunk missing": (answer(b"3\r\nabc\r\n", "Transfer-Encoding: chunked", length=None), b"", 0, {},
                           "chunk|outstanding|ended|closed"),
    "web page": (answer(PAGE), b"", 0, {}, "found a web page"),
    "empty": (answer(b""), b"", 0, {}, "found nothing in it"),
    "redirects to itself": (redirect("/file"), b"", 0, {}, "redirects"),
    "redirects to a file": (redirect("file:///etc/passwd"), b"", 0, {}, "[Pp]rotocol"),
    "a part of no place": (answer(CONTENT, status="206 Partial Content"), b"", 0, {}, "received others|missing"),
    "fails": (answer(PAGE, status="500 \x1b[2J\x1b]0;x\x07"), b"", 0, {}, "status 500"),
}  # fmt: skip
"""What a server sends at first, what again and again, the seconds between, what is known of the file, and the refusal."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `content`, each time in the next way of `ways` or BAD, the last one for ever; /absent is absent."""

    protocol_version = "HTTP/1.1"
    content = CONTENT
    version = '"1"'
    ways: list[str] = ["well"]
    asked: list[str] = []  # Range of each request
    tokens: list[tuple[str, str | None]] = []  # path of each request, and its Authorization
    announced = 0  # bytes, instead of the true number
    retry_after = "0"
    elsewhere = ""
    chance = random.Random(0)

    def do_GET(self) -> None:
        cls = type(self)
        cls.asked.append(self.headers.get("Range", "") if self.path == "/file" else self.path)
        cls.tokens.append((self.path, self.headers["Authorization"]))
        way = cls.ways.pop(0) if len(cls.ways) > 1 else cls.ways[0]
        self.close_connection = True
        if way in BAD:
            return self.send_badly(*BAD[way][:3])
        if self.path == "/absent":
            return self.send_error(404)
        if self.path.startswith("/owner/"):  # as the hub sends to its servers of large files
            self.send_response(302)
            self.send_header("Location", self.path.replace("/owner/model/resolve", cls.elsewhere))
            return self.end_headers()
        if way in ("429", "503", "401", "403"):
            self.send_response(int(way))
            self.send_header("Retry-After", cls.retry_after)
            return self.end_headers()
        if way.startswith("changes"):
            cls.content, cls.version = OTHER, '"2"'
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        same = self.headers.get("If-Range", cls.version) == cls.version or way == "changes under it"
        first, stop = 0, len(cls.content)
        if wanted and same and way != "no parts":
            first, stop = int(wanted[1]), min(stop, int(wanted[2] or stop) + 1)
            if first >= len(cls.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(cls.content)}")
                return self.end_headers()
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{stop - 1}/{len(cls.content)}")
        else:
            self.send_response(200)
        body = cls.content[first:stop]
        if way == "truncated":
            body = body[: len(body) // 2]
        if way != "unmeasured":
            self.send_header("Content-Length", str(cls.announced or len(body)))
        if "no version" not in way:
            self.send_header("ETag", cls.version)
        self.end_headers()
        if way == "stalls":
            self.wfile.write(body[: len(body) // 2])
            time.sleep(30)
        sent = cls.chance.randrange(1, len(body)) if way.startswith("breaks") and len(body) > 1 else len(body)
        self.wfile.write(body[: 0 if way == "breaks at once" else sent])

    def send_badly(self, first: bytes, again: bytes, seconds: float) -> None:
        with suppress(OSError):
            self.wfile.write(first)
            time.sleep(seconds)
            while again:
                self.wfile.write(again)
                time.sleep(seconds)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(network, "PAUSE", 0.0)
    monkeypatch.setattr(network, "SPACING", 0.0)
    for name in ("content", "version", "ways", "asked", "tokens", "retry_after", "elsewhere"):
        monkeypatch.setattr(Handler, name, copy(getattr(Handler, name)))  # as they are at first
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.mark.parametrize("way", BAD)
@pytest.mark.fault("A server does its worst to a file of which nothing is known", "refused")
def test_a_server_that_does_its_worst_is_refused_in_seconds(tmp_path: Path, server: str, monkeypatch, way: str) -> None:
    for name, value in {"ATTEMPTS": 2, "SLOWEST": 10_000, "WINDOW": 1, "UNMEASURED": 3 * 10**6}.items():
        monkeypatch.setattr(network, name, value)  # seconds, not hours
    Handler.ways = [way]
    message = failure(tmp_path, urls=[f"{server}/file"], **BAD[way][3])
    assert re.search(BAD[way][4], message) and message.isprintable() and len(message) < 1000 and FILE in message, message
    assert not (tmp_path / "sources.lock.tsv").exists(), "pinned garbage"


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_what_is_asked_for_by_https_does_not_come_by_http(tmp_path: Path, server: str, monkeypatch) -> None:
    """The certificate is one of the user's network; what has no such certificate is refused."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as secure:
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        threading.Thread(target=secure.serve_forever, args=(0.05,), daemon=True).start()
        url = f"https://127.0.0.1:{secure.server_port}/file"
        assert "certificate" in failure(tmp_path, urls=[url])
        monkeypatch.setenv(network.CERTIFICATES[0], str(certificate))
        assert got(tmp_path, urls=[url], sha256=DIGEST) == CONTENT
        Handler.elsewhere = f"{server}/x"
        assert "rotocol" in failure(tmp_path, urls=[url.replace("/file", "/owner/model/resolve/main/file")])
        secure.shutdown()


WAYS = [
    ["429", "503", "breaks", "503", "breaks at once", "429", "breaks", "well"],
    ["breaks"] * 30 + ["well"],  # more often than the attempts that may bring nothing
    ["breaks", "no parts"],
    ["breaks", "no version", "well"],
    ["unmeasured"],
    ["breaks", "changes", "well"],  # two versions are never joined, nor where the server takes no notice of If-Range
    ["breaks", "changes under it"],
    ["breaks, no version", "changes under it"],
]


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_a_bad_server(tmp_path: Path, server: str, ways: list[str]) -> None:
    Handler.ways = ways.copy()
    changes = any("changes" in way for way in ways)
    options = {} if changes else {"sha256": DIGEST, "mirror": [tmp_path / "m"]}
    assert got(tmp_path, urls=[f"{server}/file"], **options) == (OTHER if changes else CONTENT)


HUB_FILE = "https://huggingface.co/owner/model/resolve/main/file"


@pytest.mark.parametrize("token", [None, "hf_secret\n"])
def test_the_token_of_the_hub_is_sent_to_no_other_server(tmp_path: Path, server: str, monkeypatch, token: str | None) -> None:
    """Not after a redirect to another host, and neither to another source; the hub's address is the user's endpoint."""
    monkeypatch.setattr(network, "ENDPOINT", f"{server}/")
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    else:
        monkeypatch.delenv("HF_TOKEN", raising=False)
    authorization = "Bearer hf_secret" if token else None
    assert got(tmp_path, urls=[HUB_FILE], sha256=DIGEST) == CONTENT
    Handler.elsewhere = server.replace("127.0.0.1", "localhost")
    assert got(tmp_path, urls=[HUB_FILE], sha256=DIGEST) == CONTENT
    assert got(tmp_path, urls=[f"{server.replace('127.0.0.1', 'localhost')}/other"], sha256=DIGEST) == CONTENT
    hub = ("/owner/model/resolve/main/file", authorization)
    assert Handler.tokens == [hub, ("/main/file", authorization), hub, ("/main/file", None), ("/other", None)]


@pytest.mark.parametrize("way", ["401", "403"])
def test_a_closed_repository_is_explained(tmp_path: Path, server: str, monkeypatch, way: str) -> None:
    Handler.ways = [way]
    assert "HF_TOKEN" not in failure(tmp_path, urls=[f"{server}/file"])
    monkeypatch.setattr(network, "ENDPOINT", f"{server}/")
    message = failure(tmp_path, urls=[HUB_FILE])
    assert f"{server}/owner/model/resolve/main/file: " in message and way in message and "set HF_TOKEN" in message


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [("", "https://huggingface.co/a/b"), ("https://hub.example/copy/", "https://hub.example/copy/a/b")],
)
def test_the_hub_is_where_the_user_says(endpoint: str, address: str) -> None:
    code = "from crosslens.corpora.sources.network import at_endpoint as at; print(at('https://huggingface.co/a/b'), at('https://x/a'))"
    environment = os.environ | {"HF_ENDPOINT": endpoint, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == [address, "https://x/a"]


@pytest.mark.parametrize("size", [None, 10**15])
@pytest.mark.fault("A server announces more than the disk holds", "refused")
def test_a_file_that_the_disk_has_no_room_for_is_refused_before_a_byte_is_written(tmp_path, server, monkeypatch, size):
    monkeypatch.setattr(Handler, "announced", 10**15)
    assert "expected room for " in failure(tmp_path, urls=[f"{server}/file"], size=size)
    assert (tmp_path / "target/x.part").stat().st_size == 0


def test_a_disk_that_fills_ends_a_download_and_keeps_a_reserve(tmp_path, server, monkeypatch):
    blocks = [10**6, *range(15_000, 0, -500)]  # of a byte, 10**6 in all: free before each check
    disk = lambda _: SimpleNamespace(f_bavail=blocks.pop(0), f_blocks=10**6, f_frsize=1)  # noqa: E731
    monkeypatch.setattr(network, "os", SimpleNamespace(**{**vars(os), "fstatvfs": disk}))
    message = failure(tmp_path, urls=[f"{server}/file"], sha256=DIGEST)
    assert "and 10.0 kB to spare, found " in message and (tmp_path / "target/x.part").stat().st_size < len(CONTENT)


def test_a_later_call_goes_on(tmp_path: Path, server: str) -> None:
    Handler.ways = ["breaks", "breaks", "403"]
    assert "403" in failure(tmp_path, urls=[f"{server}/file"])
    have = (tmp_path / "target" / "x.part").stat().st_size
    Handler.ways = ["well"]
    assert got(tmp_path, urls=[f"{server}/file"], sha256=DIGEST) == CONTENT
    assert 0 < int(Handler.asked[1][6:-1]) < have < len(CONTENT) and Handler.asked[-1] == f"bytes={have}-"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_download_that_is_stopped_goes_on(tmp_path: Path, server: str, number: int) -> None:
    Handler.ways, part = ["stalls"], tmp_path / "target" / "x.part"
    call = (
        "from pathlib import Path; from crosslens.jobs import signals; from crosslens.corpora.sources.fetch import fetch; "
        "signals.handle(); "
        f"fetch({FILE!r}, Path({str(tmp_path / 'target/x')!r}), urls=['{server}/file'], mirror=[])"
    )
    library = os.environ | {"PYTHONPATH": str(Path(network.__file__).parents[3])}
    with subprocess.Popen([sys.executable, "-c", call], env=library, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(20)
    Handler.ways = ["well"]
    assert got(tmp_path, urls=[f"{server}/file"], sha256=DIGEST) == CONTENT
    assert re.fullmatch(r"bytes=[1-9]\d*-", Handler.asked[-1])


def part_of(tmp_path: Path, url: str, content: bytes) -> Path:
    """The part of a download of version 1 of an address."""
    part = tmp_path / "target" / "x.part"
    part.parent.mkdir()
    part.write_bytes(content)
    part.with_name("x.part.of").write_text(f'{url}\n"1"')
    return part


def test_a_part_is_continued_where_it_is_of_and_outlives_an_address_without_the_file(tmp_path: Path, server: str) -> None:
    part = part_of(tmp_path, f"{server}/file", CONTENT[:1000])
    Handler.ways = ["403"]
    failure(tmp_path, urls=[f"{server}/absent", f"{server}/file"])
    assert part.read_bytes() == CONTENT[:1000] and Handler.asked == ["bytes=1000-", "/absent"]
    Handler.ways = ["well"]
    assert got(tmp_path, urls=[f"{server}/absent", f"{server}/file"], sha256=DIGEST) == CONTENT
    assert Handler.asked[2:] == ["bytes=1000-"]
    part.parent.rmdir()
    others = [(server, CONTENT), (server, bytes(len(CONTENT) + 9)), ("https://elsewhere.invalid", CONTENT[::-1])]
    for address, content in others:  # whole, too long, or of another address: it gives way
        part_of(tmp_path, f"{address}/file", content)
        Handler.ways = ["503", "breaks", "well"]
        assert got(tmp_path, urls=[f"{server}/file"], sha256=DIGEST) == CONTENT
        part.parent.rmdir()


@pytest.mark.parametrize(
    ("way", "wait", "said", "attempts"),
    [("503", "0", "503", network.ATTEMPTS), ("429", "86400", "asks to wait", 1), ("absent", "0", "404", 1)],
)
def test_a_server_that_stays_bad(tmp_path: Path, server: str, way: str, wait: str, said: str, attempts: int) -> None:
    Handler.ways, Handler.retry_after = [way], wait
    url = f"{server}/{'absent' if way == 'absent' else 'file'}"
    message = failure(tmp_path, urls=[url], manual="ask the authors")
    assert f"{url}: " in message and said in message and "ask the authors" in message and len(Handler.asked) == attempts
    Handler.ways = ["well"]
    assert got(tmp_path, urls=[f"{server}/absent", f"{server}/file"]) == CONTENT


@pytest.mark.parametrize("known", [{"sha256": DIGEST}, {"size": len(CONTENT)}, {"git_blob": BLOB}], ids=str)
def test_a_wrong_file_is_kept_aside(tmp_path: Path, server: str, known: dict[str, object]) -> None:
    Handler.ways = ["truncated"]
    message = failure(tmp_path, urls=[f"{server}/file"], **known)
    half = CONTENT[: len(CONTENT) // 2]
    assert (tmp_path / "target" / "x.wrong").read_bytes() == half and "x.wrong; try again later" in message
    (value,) = known.values()
    facts = (str(len(half)), hashlib.sha256(half).hexdigest(), hashlib.sha1(b"blob %d\0" % len(half) + half).hexdigest())
    assert str(value) in message and any(fact in message for fact in facts)


# Parts


@pytest.mark.parametrize("ways", [["well"], ["well", "breaks", "503", "breaks", "well"]], ids=" ".join)
def test_parts_of_a_file(tmp_path: Path, server: str, ways: list[str]) -> None:
    """On a server, and in a mirror."""
    Handler.ways = ways
    for mirror in (tmp_path, mirror_with(tmp_path, "")):
        with parts(FILE, urls=[f"{server}/absent", f"{server}/file"], mirror=[mirror]) as file:
            assert file.size == len(CONTENT)
            assert file.read(1000, 50_000) == CONTENT[1000:51_000]
            assert file.read(len(CONTENT) - 5, 5) == CONTENT[-5:]


@pytest.mark.parametrize("ways", [["no parts"], ["well", "changes"], ["well", "changes under it"]], ids="; ".join)
def test_parts_that_are_not_to_be_had(server: str, ways: list[str]) -> None:
    Handler.ways = ways.copy()
    reason = "another version" if ways[1:] else "requested a part"
    with pytest.raises(DataError, match=reason), parts(FILE, urls=[f"{server}/file"], mirror=[]) as file:
        file.read(10, 10)


def test_what_rests_on_the_first_fetch_is_listed(tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock.tsv"
    assert unverified(load(), lock) == ""
    file_with_digest = "google-bert/bert-base-multilingual-cased/3f076fdb1ab68d5b2880cb87a0886f315b8146f8/config.json"
    for file in (f"hub/{file_with_digest}", "xnli/XNLI-1.0.zip", *(f"wikipedia/{n}wiki/x" for n in range(6))):
        read(unread(tmp_path, file, b"0"), lock)
    line = unverified(load(), lock)
    assert (
        line.startswith(f"{lock}: files without a published digest, trusted as first read: 7, ")
        and file_with_digest in line
        and line.endswith(" and 4 more")
    )
    assert "XNLI-1.0.zip" not in line  # its digest has become known
