"""Official files arrive whole and verified, from a mirror or the network, or not at all."""

import gzip
import hashlib
import http.server
import lzma
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from crosslens.errors import DataError
from crosslens.sources import fetch as module
from crosslens.sources import registry
from crosslens.sources.fetch import fetch

CONTENT = "Tähän sisältö.\n".encode() * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NAME = "UD_X/x-ud-test.conllu"


def mirror_with(tmp_path: Path, suffix: str, content: bytes = CONTENT, name: str = NAME) -> Path:
    packed = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}[suffix](content)
    path = tmp_path / "mirror" / f"{name}{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(packed)
    return tmp_path / "mirror"


def failure(tmp_path: Path, **settings: object) -> str:
    """The one line of a fetch that must fail and leave nothing."""
    target = tmp_path / "target" / "x.conllu"
    with pytest.raises(DataError) as error:
        fetch(**({"path": NAME, "target": target, "url": None, "sha256": None, "mirror": []} | settings))  # type: ignore[arg-type]
    assert not target.parent.exists() or not list(target.parent.iterdir())
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_mirror_is_unpacked(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / "here" / "x.conllu"
    empty = tmp_path / "nothing in it"
    mirror = [empty, mirror_with(tmp_path, suffix)]
    assert fetch(NAME, target, url="https://never.invalid/", sha256=DIGEST, mirror=mirror) == DIGEST
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["x.conllu"]


def test_official_compression_stays(tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT)
    mirror = mirror_with(tmp_path, "", packed, "a/dump.gz")
    target = tmp_path / "dump.gz"
    fetch("a/dump.gz", target, url=None, sha256=hashlib.sha256(packed).hexdigest(), mirror=[mirror])
    assert target.read_bytes() == packed


def test_wrong_digest(tmp_path: Path) -> None:
    message = failure(tmp_path, sha256="0" * 64, mirror=[mirror_with(tmp_path, ".xz")])
    assert NAME in message and "0" * 64 in message and DIGEST in message and "mirror" in message


def test_truncated_mirror_file(tmp_path: Path) -> None:
    mirror = mirror_with(tmp_path, ".xz")
    packed = mirror / f"{NAME}.xz"
    packed.write_bytes(packed.read_bytes()[:-20])
    message = failure(tmp_path, mirror=[mirror])
    assert str(packed) in message and "replace it" in message


def test_nowhere_says_what_to_put_where(tmp_path: Path) -> None:
    message = failure(tmp_path, mirror=[tmp_path / "m"], manual="buy it from the LDC")
    assert str(tmp_path / "m" / NAME) in message and "buy it from the LDC" in message


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd"])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    assert "inside the source" in failure(tmp_path, path=path, mirror=[tmp_path])


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT: at /flaky only from the third time on, at /short only half of it."""

    asked: dict[str, int] = {}

    def do_GET(self) -> None:
        self.asked[self.path] = self.asked.get(self.path, 0) + 1
        if self.path == "/absent" or (self.path == "/flaky" and self.asked[self.path] < 3):
            self.send_error(404 if self.path == "/absent" else 503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/short" else CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(Handler, "asked", {})
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.mark.parametrize("place", ["whole", "flaky"])
def test_download(tmp_path: Path, server: str, place: str) -> None:
    target = tmp_path / "x"
    assert fetch(NAME, target, url=f"{server}/{place}", sha256=DIGEST, mirror=[tmp_path / "m"]) == DIGEST
    assert target.read_bytes() == CONTENT


def test_download_that_is_absent_is_asked_for_once(tmp_path: Path, server: str) -> None:
    assert "404" in failure(tmp_path, url=f"{server}/absent")
    assert Handler.asked == {"/absent": 1}


def test_download_cut_short(tmp_path: Path, server: str) -> None:
    assert f"{server}/short" in failure(tmp_path, url=f"{server}/short")
    assert Handler.asked == {"/short": module.ATTEMPTS}


def test_downloaded_file_is_verified(tmp_path: Path, server: str) -> None:
    message = failure(tmp_path, url=f"{server}/whole", sha256="0" * 64)
    assert DIGEST in message and "try again later" in message


# The table


def test_the_table_is_whole() -> None:
    sources = registry.load()
    ud = sources["ud-2.7"]
    path = "UD_English-EWT/en_ewt-ud-train.conllu"
    assert ud.url_of(path) == (
        "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.7/en_ewt-ud-train.conllu"
    )
    assert ud.files[path].bytes == 13469758 and ud.sha256_of(path) == ud.files[path].sha256
    assert ud.mirrors(["/a", "b"]) == [Path("/a/ud/r2.7"), Path("b/ud/r2.7")]
    dump = "elwiki/20230501/elwiki-20230501-pages-articles-multistream.xml.bz2"
    assert sources["wikipedia"].url_of(dump) == f"https://dumps.wikimedia.org/{dump}"
    assert sources["phrasebook"].url_of("ud/x.conllu") is None and sources["phrasebook"].manual


def test_path_of_another_shape() -> None:
    with pytest.raises(DataError, match="{treebank}/{file}"):
        registry.load()["ud-2.7"].url_of("en_ewt-ud-train.conllu")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("licens: x", "ud.licens"),
        ("url: ftp://x", "ud.url"),
        ("url: https://x/{missing}", "ud: .*missing"),
        ("files: {a: {sha256: 1}}", "ud.files.a"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, line: str, place: str) -> None:
    table = tmp_path / "sources.yaml"
    table.write_text(f"ud:\n  title: t\n  version: v\n  licence: l\n  citation: c\n  {line}\n")
    with pytest.raises(DataError, match=place) as error:
        registry.load(table)
    assert str(error.value).startswith(str(table)) and "\n" not in str(error.value)
