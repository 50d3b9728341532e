"""Copies in mirrors that nothing else vouches for, and files that a person must put there."""

import gzip
import lzma
import os
from hashlib import sha256
from pathlib import Path

import pytest
from crosslens.corpora.sources.mirrors import content_in_mirror
from crosslens.corpora.sources.offline import by_hand
from crosslens.corpora.sources.registry import Source
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.errors import DataError

FILE = "treebanks/de/test.conllu"
OLD, NEW = b"1\tHaus\tNOUN\n" * 1000, b"1\tHaus\tVERB\n" * 1000
PIN = sha256(OLD).hexdigest()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "de/test.conllu"
    path.parent.mkdir(parents=True)
    path.write_bytes(OLD)
    return path


def content(copy: Path, pin: str | None) -> str:
    return content_in_mirror(FILE, [copy.parents[1]], Contents(), pin)


@pytest.mark.parametrize("pin", [PIN, None])
def test_a_touched_recompressed_or_removed_copy_is_the_same(copy, pin):
    os.utime(copy, ns=(1, 1))
    assert content(copy, pin) == PIN
    copy.unlink()
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        packed = copy.with_name(f"{copy.name}{suffix}")
        packed.write_bytes(pack(OLD))
        assert content(copy, pin) == PIN
        packed.unlink()
    assert content(copy, PIN) == PIN, "a mirror that is gone reruns nothing"


def test_other_content_under_the_old_time_and_size_is_another(copy):
    times = copy.stat()
    copy.write_bytes(NEW)
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content(copy, None) == sha256(NEW).hexdigest()
    with pytest.raises(DataError) as error:
        content(copy, PIN)
    message = str(error.value)
    assert message.startswith(f"{copy}: expected sha256 {PIN}, pinned in sources.lock.tsv") and sha256(NEW).hexdigest() in message
    assert f"delete the line of {FILE} in sources.lock.tsv" in message


def test_a_damaged_copy_is_told_in_one_line(copy):
    packed = copy.with_name(f"{copy.name}.xz")
    packed.write_bytes(lzma.compress(OLD)[:-9])
    copy.unlink()
    with pytest.raises(DataError, match=r"test.conllu.xz: expected a complete .xz file"):
        content(copy, None)


def test_what_is_supplied_by_hand_is_named_in_a_line_a_source(tmp_path):
    shared = {"title": "t", "version": "1", "licence": "l", "citation": "c", "example": "a"}
    sources = {
        "ud": Source(url=["https://ud.invalid/{path}"], mirror=["ud"], **shared),
        "rcv1": Source(url=[], manual="ask NIST", mirror=["rcv1"], **shared),
    }
    (tmp_path / "rcv1").mkdir()
    (tmp_path / "rcv1" / "here.xz").touch()
    files = ["rcv1/b", "ud/a.conllu", "rcv1/here", "rcv1/a"]
    rest = "in no mirror, and cannot be downloaded (ask NIST); put what is missing below"
    assert by_hand(files, sources, [str(tmp_path)]) == [f"rcv1/a, rcv1/b: {rest} {tmp_path}"]
    (line,) = by_hand([*files, "rcv1/c", "rcv1/d"], sources, [])
    assert line.startswith(f"rcv1/a, rcv1/b, rcv1/c and 2 more: {rest} a folder MIRROR, and add `mirror: [MIRROR]`")
