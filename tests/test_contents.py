"""Digests of files outside the results, and small files that planning reads: read once, and never without end."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from crosslens.jobs.bounded import read_json, read_text
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("crosslens.jobs.digest_cache.FRESH", 0)
    monkeypatch.setattr("crosslens.jobs.digest_cache.SLOW", 0)
    path = tmp_path / "weights"
    path.write_bytes(b"a" * 1000)
    return path


def test_a_file_is_read_again_only_when_something_of_it_has_changed(file):
    cache, reads = file.with_name("contents.json"), []

    def digest(contents: Contents) -> str:
        return contents(file, lambda path: reads.append(path) or sha256(path))

    contents = Contents(cache)
    assert digest(contents) == digest(contents) == digest(Contents(cache)) == hashlib.sha256(b"a" * 1000).hexdigest()
    assert len(reads) == 1
    times = file.stat()
    file.write_bytes(b"b" * 1000)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest(Contents(cache)) == hashlib.sha256(b"b" * 1000).hexdigest()
    file.touch()
    digest(Contents(cache))
    assert len(reads) == 3


def test_a_file_that_was_just_written_may_change_under_the_same_times(file, monkeypatch):
    monkeypatch.setattr("crosslens.jobs.digest_cache.FRESH", 10**12)
    Contents(file.with_name("contents.json"))(file)
    assert not file.with_name("contents.json").exists()


@pytest.mark.parametrize("damage", [b"", b'{"a": [1]}', b"\xff", b"null"])
def test_a_damaged_cache_is_as_good_as_none(file, damage):
    cache = file.with_name("contents.json")
    cache.write_bytes(damage)
    assert Contents(cache)(file) == hashlib.sha256(b"a" * 1000).hexdigest()
    assert len(json.loads(cache.read_text())) == 1


def test_small_files_are_read(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"x" * 100)
    assert read_text(path) == "x" * 100
    path.write_bytes("ä".encode("latin-1"))
    with pytest.raises(DataError, match="expected UTF-8, found byte 0 that is not"):
        read_text(path)
    path.write_text("[" * 10**5)
    with pytest.raises(DataError, match="not valid JSON: "):
        read_json(path)
