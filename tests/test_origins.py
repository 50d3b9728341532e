"""Whether a fetched file is still what a mirror, or the table of pins, has: what planning asks of each official file."""

import gzip
import hashlib
import lzma
import os
from pathlib import Path

import pytest
from crosslens.runs.errors import DataError
from crosslens.sources import origins
from crosslens.sources.fetch import fetch, parts
from crosslens.sources.origins import Origin, Recorded, copy_stamp, reason_to_fetch, remember
from crosslens.sources.pins import digests, reading
from crosslens.storage.contents import Contents
from study import edit

FILE = "treebanks/de/test.conllu"
PATH = FILE.partition("/")[2]
OLD, NEW = b"1\tHaus\tNOUN\n" * 1000, b"1\tHaus\tVERB\n" * 1000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    (folder / PATH).parent.mkdir(parents=True)
    (folder / PATH).write_bytes(OLD)
    return folder


@pytest.fixture
def target(tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file as the rule fetches it from the mirror and a step reads it, with its record."""
    monkeypatch.setattr("crosslens.sources.fetch.FRESH", 0.0)
    monkeypatch.chdir(tmp_path)
    return fetched(tmp_path, mirror)


def fetched(tmp_path: Path, mirror: Path, reason: str = "") -> Path:
    target = tmp_path / "results" / PATH
    copy = copy_stamp(FILE, [mirror])
    digest = fetch(FILE, target, urls=[], mirror=[mirror])
    remember(target, Origin(digest, copy, None, reason))
    with reading([target]):  # which pins it
        return target


def reason(target: Path, *mirror: Path, published: str | None = None, contents: Contents | None = None) -> str:
    pin = digests().get(FILE)
    return reason_to_fetch(FILE, target, mirror, contents or Contents(), published=published, pin=pin)


def test_nothing_has_changed(target, mirror, tmp_path, monkeypatch):
    monkeypatch.setattr(origins, "_content", lambda *_: pytest.fail("read again"))
    assert reason(target, mirror) == reason(target) == reason(target, tmp_path / "gone") == ""
    assert reason(tmp_path / "never fetched", mirror) == ""


def test_a_touched_recompressed_or_replaced_copy_of_the_same_content_is_the_same(target, mirror):
    os.utime(mirror / PATH, ns=(1, 1))
    assert reason(target, mirror) == ""
    (mirror / PATH).unlink()
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress), ("", bytes)):
        copy = mirror / f"{PATH}{suffix}"
        copy.write_bytes(pack(OLD))
        assert reason(target, mirror) == ""
        copy.write_bytes(pack(NEW))
        with pytest.raises(DataError, match=sha256(NEW)):
            reason(target, mirror)
        copy.unlink()


def test_other_content_under_the_old_time_and_size_is_seen(target, mirror):
    times = (mirror / PATH).stat()
    (mirror / PATH).write_bytes(NEW)
    os.utime(mirror / PATH, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(DataError) as error:
        reason(target, mirror)
    message = str(error.value)
    assert message.startswith(f"{mirror / PATH}: expected sha256 {sha256(OLD)}, pinned in sources.lock.tsv when it was fetched, ")
    assert f"found {sha256(NEW)}; restore that copy or" in message and "\n" not in message
    assert message.endswith(r"made anew: sed -i.old '/^treebanks\/de\/test\.conllu[[:space:]]/d' sources.lock.tsv")


def test_a_copy_of_other_content_that_is_not_pinned_is_fetched_again_and_then_no_more(target, mirror, tmp_path):
    (mirror / PATH).write_bytes(NEW)
    Path("sources.lock.tsv").unlink()
    why = reason(target, mirror)
    assert why == f"{mirror / PATH} {sha256(NEW)}"
    assert fetched(tmp_path, mirror, why).read_bytes() == NEW
    assert reason(target, mirror) == why  # as the rule's param was, so that nothing is planned
    assert digests()[FILE] == sha256(NEW)


def test_another_pin_has_the_file_fetched_again(target, mirror, tmp_path):
    edit(Path("sources.lock.tsv"), (sha256(OLD), sha256(NEW)))
    assert reason(target, mirror) == f"sources.lock.tsv: {FILE} {sha256(NEW)}"


def test_a_copy_that_is_not_what_is_published_is_wrong_and_not_to_be_accepted(target, mirror):
    remember(target, Origin(sha256(OLD), copy_stamp(FILE, [mirror]), sha256(OLD), ""))
    (mirror / PATH).write_bytes(NEW)
    with pytest.raises(
        DataError, match=f"{sha256(OLD)}, as published, found {sha256(NEW)}; that copy is wrong: replace or remove"
    ):
        reason(target, mirror, published=sha256(OLD))
    assert reason(target, mirror, published=sha256(NEW)) == ""  # another setting of the rule, which fetches again


def test_a_mirror_that_is_added_after_a_download_is_not_looked_at(target, mirror):
    remember(target, Origin(sha256(OLD), None, None, ""))
    (mirror / PATH).write_bytes(NEW)
    assert reason(target, mirror) == ""


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"sha256": 1}', b"\xff", b"[" * 10**5])
def test_a_damaged_or_missing_record_has_the_file_fetched_again(target, mirror, damage):
    record = target.with_name(f".{target.name}.origin")
    record.write_bytes(damage)
    assert reason(target, mirror) == f"{record} is damaged"
    record.unlink()
    assert reason(target, mirror) == f"{record} is missing"


def test_of_a_dump_the_parts_that_were_read_count(target, mirror):
    """A touched dump of many gigabytes is not read whole."""
    with parts(FILE, urls=[], mirror=[mirror]) as whole:
        dump = Recorded(whole)
        assert dump.size == len(OLD) and dump.read(500, 20) == OLD[500:520] and dump.read(0, 4) == OLD[:4]
        remember(target, Origin(dump.sha256(), copy_stamp(FILE, [mirror]), None, "", dump.parts))
    (mirror / PATH).write_bytes(OLD[:600] + b"other")
    assert reason(target, mirror) == ""
    (mirror / PATH).write_bytes(OLD[:510] + b"other" + OLD[515:])
    found = sha256(OLD[500:510] + b"other" + OLD[515:520] + OLD[:4])
    assert reason(target, mirror) == f"{mirror / PATH} {found}"


def test_a_copy_is_read_once(target, mirror, tmp_path, monkeypatch):
    monkeypatch.setattr("crosslens.storage.contents.FRESH", 0)
    monkeypatch.setattr("crosslens.storage.contents.SLOW", 0)
    os.utime(mirror / PATH, ns=(1, 1))
    cache = tmp_path / ".snakemake/contents.json"
    assert reason(target, mirror, contents=Contents(cache)) == ""
    monkeypatch.setattr(origins, "_content", lambda *_: pytest.fail("read again"))
    assert reason(target, mirror, contents=Contents(cache)) == ""
    cache.write_text('{"damaged": 3')
    with pytest.raises(pytest.fail.Exception):
        reason(target, mirror, contents=Contents(cache))
