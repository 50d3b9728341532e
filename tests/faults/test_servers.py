"""Servers that do their worst, to a file of which nothing is known: refused in one line, never without end, nothing pinned.

A bad server is a function of the request's headers and of what sends bytes. It is asked for a file that has no published
digest, so that whatever passes for the file would be pinned.
"""

import contextlib
import hashlib
import json
import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy
import pytest
from crosslens.config.encoders import VocabularyEncoder
from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.sources import network
from crosslens.corpora.sources.fetch import fetch
from crosslens.corpora.sources.pins import pinned, reading
from crosslens.encoding.encoders.describe import describe
from crosslens.jobs.errors import DataError
from safetensors.numpy import load_file, save
from test_corpora_mutations import Format, formats

CONTENT = bytes(range(256)) * 400
SECONDS = 60.0  # that a refusal may take; with the constants below none takes a tenth of it
Headers = dict[str, str]
Send = Callable[[bytes], None]
Server = Callable[[Headers, Send], None]
NUMBER = iter(range(10**9))  # another each time


def answer(body: bytes = CONTENT, status: str = "200 OK", length: int | None = -1, **headers: str) -> bytes:
    """A whole answer. length: announced; -1: that of the body, None: nothing is announced."""
    if length is not None:
        headers["Content_Length"] = str(len(body) if length == -1 else length)
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def always(content: bytes) -> Server:
    """Answers so, whatever is asked for."""
    return lambda headers, send: send(content)


def trickling(head: bytes, drop: bytes, every: float = 0.02) -> Server:
    """A beginning, and a drop again and again."""

    def serve(_: Headers, send: Send) -> None:
        send(head)
        while True:
            send(drop)
            time.sleep(every)

    return serve


def endless(head: bytes, chunk: bytes) -> Server:
    return trickling(head, chunk * (100_000 // len(chunk)), 0.0)


def start(headers: Headers) -> int:
    return int(headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])


def half_then(rest: Callable[[int], bytes]) -> Server:
    """Half of the file, and to whoever asks for the rest, something else."""

    def serve(headers: Headers, send: Send) -> None:
        first = start(headers)
        send(rest(first) if first else answer(CONTENT[: len(CONTENT) // 2], length=len(CONTENT), ETag='"1"'))

    return serve


def part(first: int, body: bytes, size: int = len(CONTENT), **headers: str) -> bytes:
    where = f"bytes {first}-{first + len(body) - 1}/{size}"
    return answer(body, "206 Partial Content", Content_Range=where, **headers)


def redirect(to: str, body: bytes = b"") -> Server:
    return always(answer(body, "302 Found", Location=to, Connection="close"))


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n" % (len(body), body)


PAGE = b"<!DOCTYPE html><html><body>Please sign in</body></html>"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZE = {"size": len(CONTENT)}
BAD: dict[str, tuple[Server, dict[str, Any], str]] = {  # server, what is known of the file, what the refusal says
    "endless body": (endless(answer(b"", length=None), b"x"), {}, "at most, received more"),
    "endless body, size known": (endless(answer(b"", length=None), b"x"), SIZE, "expected 102400 bytes at most, received more"),
    "endless chunks": (endless(CHUNKED, b"3e8\r\n" + b"x" * 1000 + b"\r\n"), {}, "at most, received more"),
    "more than is known": (always(answer(CONTENT * 2)), SIZE, "expected 102400 bytes at most, received more"),
    "trickling body": (trickling(answer(b"", length=10**6), b"x"), {}, "too slow"),
    "trickling head": (trickling(b"HTTP/1.1 200 OK\r\nX-More: ", b"x"), {}, "too slow"),
    "endless trailers": (trickling(CHUNKED + chunked(CONTENT), b"X-More: x\r\n"), {}, "too slow"),
    "silence": (lambda *_: time.sleep(3), {}, "too slow"),
    "closes at once": (lambda *_: None, {}, "Empty reply|reset"),
    "closes in the head": (always(b"HTTP/1.1 200 OK\r\nContent-Le"), {}, ""),
    "no answer of HTTP": (always(b"SSH-2.0-OpenSSH_9.2\r\n"), {}, "HTTP/0.9"),
    "announces too much": (always(answer(CONTENT, length=len(CONTENT) + 9)), {}, "9 bytes"),
    "announces too little": (always(answer(CONTENT, length=100)), SIZE, "expected 102400 bytes, found 100"),
    "announces no size": (always(answer(CONTENT[:9], length=None)), {}, "may be cut short"),
    "announces no number": (always(answer(b"", length=None, Content_Length="\xb2") + CONTENT), {}, "Content-Length"),
    "last chunk missing": (always(CHUNKED + b"3\r\nabc\r\n"), {}, "chunk|outstanding|ended|closed"),
    "web page": (always(answer(PAGE)), {}, "found a web page"),
    "empty": (always(answer(b"")), {}, "found nothing in it"),
    "no content": (always(b"HTTP/1.1 204 No Content\r\n\r\n"), {}, "204"),
    "redirects to itself": (redirect("/file"), {}, "redirects"),
    "redirects to a file": (redirect("file:///etc/passwd"), {}, "[Pp]rotocol"),
    "redirects to no address": (redirect("http://[::1/x"), {}, "URL|IPv6|host"),
    "another part": (half_then(lambda first: part(first + 7, CONTENT[first + 7 :], ETag='"1"')), {}, "received others|missing"),
    "a part of no place": (always(answer(CONTENT, "206 Partial Content")), {}, "received others|missing"),
    "fails": (always(answer(PAGE, "500 \x1b[2J\x1b]0;x\x07")), {}, "status 500"),
}  # fmt: skip


class Handler(socketserver.StreamRequestHandler):
    """Reads one request and lets the server's function answer it."""

    def handle(self) -> None:
        lines = [line for line in iter(self.rfile.readline, b"\r\n") if line]
        headers = dict(re.findall(r"^([^:\s]+):\s*(.*?)\r$", b"".join(lines).decode("latin-1"), re.MULTILINE))
        with contextlib.suppress(OSError):
            self.server.serve({name.lower(): value for name, value in headers.items()}, self.send)  # type: ignore[attr-defined]

    def send(self, content: bytes) -> None:
        if self.server.over:  # type: ignore[attr-defined]
            raise ConnectionResetError
        self.request.sendall(content)


@contextlib.contextmanager
def serving(server: Server, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a file on a server of this machine."""
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.block_on_close = False
        # What it has sent, and counts as time, is soon received.
        listening.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 14)
        listening.serve, listening.over = server, False  # type: ignore[attr-defined]
        if context:
            listening.socket = context.wrap_socket(listening.socket, server_side=True)
        threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http{'s' if context else ''}://127.0.0.1:{listening.server_address[1]}/file"
        listening.over = True  # type: ignore[attr-defined]
        listening.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads give up after seconds, not hours."""
    constants = {"PAUSE": 0.0, "SPACING": 0.0, "ATTEMPTS": 2, "SLOWEST": 10_000, "WINDOW": 1, "UNMEASURED": 3 * 10**6}
    for name, value in constants.items():
        monkeypatch.setattr(network, name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def read(target: Path, lock: Path) -> bytes:
    """A file's content, which a step takes for what it should be."""
    with reading([target], lock):
        return target.read_bytes()


def refusal(folder: Path, url: str, **known: Any) -> str:
    """The one line of a fetch, which leaves no file and no pin."""
    folder.mkdir()
    began = time.monotonic()
    with pytest.raises(DataError) as error:
        fetch("source/path/file.bin", folder / "file.bin", urls=[url], mirror=[], lock=folder / "lock.tsv", **known)
    assert time.monotonic() - began < SECONDS, "endless, or nearly so"
    assert not (folder / "file.bin").exists() and not (folder / "lock.tsv").exists(), "pinned garbage"
    message = str(error.value)
    assert message.isprintable() and len(message) < 1000 and "source/path/file.bin" in message, message
    return message


def test_bad_servers(tmp_path, often, tally, impatient) -> None:
    counted = tally("A server does its worst to a file of which nothing is known")
    for number, (name, (server, known, says)) in enumerate(list(BAD.items())[:: often(1, 5)]):
        with serving(server) as url:
            try:
                message = refusal(tmp_path / str(number), url, **known)
                assert re.search(says, message), message
            except BaseException as failure:
                failure.add_note(f"server: {name}")
                counted.silent.append(name)
                raise
        counted.refused += 1
        counted.seen = counted.seen or message.replace(url, "https://SERVER/file")
    assert counted.silent == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_what_is_asked_for_by_https_does_not_come_by_http(tmp_path, impatient, monkeypatch) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("CURL_CA_BUNDLE", str(certificate))
    with serving(always(answer(CONTENT))) as plain, serving(redirect(plain), context) as url:
        assert "rotocol" in refusal(tmp_path / "refused", url)
    moved: Server = lambda headers, send: send(answer())  # noqa: E731
    with serving(moved, context) as final, serving(redirect(f"{final}?key=secret"), context) as url:
        lock = tmp_path / "lock.tsv"
        target = tmp_path / "target" / "file"
        fetch("source/file", target, urls=[url], mirror=[], lock=lock)
        read(target, lock)
        assert f"\t{url} by way of {final}\n" in lock.read_text()


@pytest.mark.parametrize("name", ["fails", "a part of no place", "redirects to itself", "closes at once"])
def test_a_part_outlives_another_server_that_does_its_worst(tmp_path, impatient, name) -> None:
    server, known, says = BAD[name]
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "file.part").write_bytes(CONTENT[:-7])
    with serving(server) as url, pytest.raises(DataError, match=says):
        fetch("source/file", folder / "file", urls=[url], mirror=[], lock=tmp_path / "lock.tsv", **known)
    assert (folder / "file.part").read_bytes() == CONTENT[:-7]


def test_a_file_is_trusted_once_and_another_refused(tmp_path, impatient, caplog) -> None:
    contents = [CONTENT, CONTENT, CONTENT[::-1]]
    with serving(lambda headers, send: send(answer(contents.pop(0)))) as url:
        for _ in range(2):
            fetch("source/file", tmp_path / "file", urls=[url], mirror=[], lock=tmp_path / "lock.tsv")
            read(tmp_path / "file", tmp_path / "lock.tsv")
        with pytest.raises(DataError, match="pinned in .* when it was first read"):
            fetch("source/file", tmp_path / "again" / "file", urls=[url], mirror=[], lock=tmp_path / "lock.tsv")
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 1 and "no digest is published: trusting what http" in said[0]


@pytest.mark.parametrize("content", [b"", PAGE], ids=["empty", "web page"])
def test_what_is_no_file_in_a_mirror_is_not_pinned(tmp_path, content) -> None:
    (tmp_path / "file.bin").write_bytes(content)
    with pytest.raises(DataError, match="replace that copy"):
        fetch("source/file.bin", tmp_path / "x" / "file.bin", urls=[], mirror=[tmp_path], lock=tmp_path / "lock.tsv")
    assert not (tmp_path / "lock.tsv").exists()


def test_a_lock_that_cannot_be_made_stops_nobody(tmp_path, impatient, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    (tmp_path / "none").touch()
    with serving(always(answer())) as url:
        fetch("source/file", tmp_path / "file", urls=[url], mirror=[], lock=tmp_path / "lock.tsv")


# What passes for a file


ERROR = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><HostId>x</HostId></Error>"
PAGES: dict[str, bytes] = {  # answers of status 200 in the place of a file
    "an error in XML": b'<?xml version="1.0" encoding="UTF-8"?>\n' + ERROR,
    "an error in XML alone": ERROR,
    "an error in JSON": b'{"error": "too many requests"}',
    "an error in lines of JSON": b'{\n  "message": "slow down",\n  "documentation_url": "x"\n}\n',
    "a list of errors": b'[{"error": "too many requests"}]',
    "plain words": b"Too many requests",
    "lines of two words": b"Service unavailable\nError 503\nRequest 1234-abcd\nPlease wait\n",
    "a number": b"error code: 1015\n",
    "a sentence": b"upstream connect error or disconnect/reset before headers, reset reason: overflow",
    "a web page": PAGE,
    "a web page after comments": b"\xef\xbb\xbf\r\n\t<!-- a\n--> <!-- b --> \n" + PAGE.upper(),
    "XHTML": b'<?xml version="1.0"?>\n<!-- x --><!DOCTYPE html PUBLIC "x" "">\n<html xmlns="x"><body/></html>',
    "a piece of a web page": b"<center><h1>503 Service Temporarily Unavailable</h1></center>\n<hr>nginx\n",
    "a web page in UTF-16": "\ufeff<!DOCTYPE html><html></html>".encode("utf-16-le"),
    "a pointer of git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 12345\n" % (b"0" * 64),
    "a pointer of git-annex": b"/annex/objects/SHA256E-s12345--%b.conllu\n" % (b"0" * 64),
    "a comment": b"# Too many requests, try again later\n",
    "nothing but blanks": b" \r\n" * 500,
}


def in_splits(name: str, content: bytes) -> Format:
    """Running text, of which each split has pages of its own, as in the workflow."""
    shares = {"train": 0.5, "test": 0.5}

    def sample(folder: Path, output: Path) -> None:
        outputs = {split: output.with_name(f"{split}.parquet") for split in shares}
        write_paragraphs(folder / name, outputs, language="de", form="lines", paragraphs=16, minimum_characters=20, shares=shares,
                         per_page=3, candidates=1, seed=0)  # fmt: skip

    return Format({name: content}, sample, None)


def of_encoders() -> dict[str, Format]:
    """Official files of encoders, by readers that take any JSON and any tensors: what is none must be refused before."""
    pieces = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Wort"]).encode()
    vocabulary = VocabularyEncoder(source="vocabulary", vocabulary="x")
    readers: dict[str, tuple[bytes, Callable[[Path, Path], object]]] = {
        "config.json": (b'{"model_type": "bert"}', lambda folder, _: json.loads((folder / "config.json").read_bytes())),
        "tokenizer_config.json": (b"{}", lambda folder, _: json.loads((folder / "tokenizer_config.json").read_bytes())),
        "model.safetensors": (save({"a": numpy.ones(9)}), lambda folder, _: load_file(folder / "model.safetensors")),
        "vocab.txt": (pieces, lambda folder, _: describe(vocabulary, [], folder / "out", getLogger("crosslens"), folder)),
    }
    return {name: Format({name: content}, reader, None) for name, (content, reader) in readers.items()}


def test_error_pages_are_no_data(tmp_path, often, tally, monkeypatch) -> None:
    """Each is refused, by fetching or by reading; the right file that comes later is pinned, without an edit of the lock."""
    counted, refused_at_once = tally("An error page of status 200 in the place of a file of which nothing is known"), 0
    forms = formats() | {"cc-100": in_splits("de.txt", formats()["cc-100"].content)} | of_encoders()
    cases = [(page, form) for form in forms for page in PAGES]
    for number, (page, form) in enumerate(cases[:: often(1, 71)]):
        its, folder = forms[form], tmp_path / str(number)
        target, lock, mirror = folder / "in" / its.name, folder / "lock.tsv", folder / "mirror"
        (mirror / its.name).parent.mkdir(parents=True)
        for name, content in its.files.items():
            (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "in" / name).write_bytes(content)

        def refusal_of(content: bytes, its=its, folder=folder, target=target, lock=lock, mirror=mirror) -> str:
            """Message of fetching or reading this content in the place of the file, "" if it is accepted."""
            (mirror / its.name).write_bytes(content)
            target.unlink(missing_ok=True)
            try:
                fetch(f"source/{its.name}", target, urls=[], mirror=[mirror], lock=lock)
                with reading([target], lock):
                    its.read(folder / "in", folder / "out.parquet")
            except DataError as error:
                return str(error)
            return ""

        message = refusal_of(PAGES[page])
        if not message or lock.exists():
            counted.silent.append(f"{page} as {form}: {'pinned' if lock.exists() else 'read'}")
            continue
        assert message.isprintable() and len(message) < 2000, message
        assert refusal_of(its.content) == "" and pinned(f"source/{its.name}", lock) == hashlib.sha256(its.content).hexdigest()
        counted.refused += 1
        refused_at_once += "replace that copy" in message
        counted.seen = counted.seen or message.replace(str(folder), "SOURCES")
    assert counted.silent == [] and refused_at_once > 0.75 * counted.refused


def test_a_file_below_the_smallest_size_is_no_file(tmp_path, impatient) -> None:
    with serving(always(answer(b"Rate limited\n"))) as url:
        assert "expected at least 100 bytes, found 13" in refusal(tmp_path / "a", url, smallest=100)
        digest = hashlib.sha256(b"Rate limited\n").hexdigest()
        fetch("source/f", tmp_path / "f", urls=[url], mirror=[], lock=tmp_path / "lock.tsv", smallest=100, sha256=digest)
