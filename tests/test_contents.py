"""Digests of files outside the results and of records, and small files that planning reads: read once, and never without end."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from crosslens.jobs.bounded import read_json, read_text
from crosslens.jobs.checksums import read_checksums, write_checksums
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.errors import DataError, short
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


def test_what_is_no_file_with_content_is_refused(file, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with open(tmp_path / "holes", "wb") as stream:
        stream.truncate(3 * 10**9)
    expected = {"folder": "expected a file, found a folder", "pipe": "found a folder, a pipe", "device": "a pipe or a device",
                "holes": "expected a file with 3.0 GB of content, found 0 bytes; copy it again"}  # fmt: skip
    for name, line in expected.items():
        with pytest.raises(DataError, match=f"{tmp_path / name}: .*{line}"):
            Contents()(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Contents()(tmp_path / "nothing")


def test_small_files_are_read_up_to_their_size(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"x" * 100)
    assert read_text(path, 100) == "x" * 100
    with pytest.raises(DataError, match="expected at most 99 bytes, found 100 bytes; put the right file there"):
        read_text(path, 99)
    path.write_bytes("ä".encode("latin-1"))
    with pytest.raises(DataError, match="expected UTF-8, found byte 0 that is not"):
        read_text(path)
    path.write_text("[" * 10**5)
    with pytest.raises(DataError, match="not valid JSON: "):
        read_json(path)


def test_values_are_cut_before_they_are_shown():
    """Lists in lists that take an hour to print, numbers of a million digits: their text is never built."""
    value: object = "x"
    for _ in range(60):
        value = [value] * 9
    assert len(short(value)) == 80 and short(10**10**5) == "a number of 332,193 bits"
    assert short("x" * 10**6).startswith("'xxx") and short([1, "a", {"b": None}]) == "[1, 'a', {'b': None}]"


def checksummed_record(folder: Path, **changes: object) -> str:
    """Identity of a record of a table, in a folder of its own, with some values changed."""
    record = {
        "made": "noon",
        "command": "snakemake a",
        "settings": {"seconds": 1},
        "training_runs": [{"seed": 0, "seconds": 2.5}],
    }
    folder.mkdir()
    (folder / "table1.csv.json").write_text(json.dumps(record | changes))
    write_checksums(folder / "table1.csv.json")
    return read_checksums(folder / "table1.csv.json").identity


def test_what_is_made_again_as_it_was_keeps_its_identity_and_what_differs_does_not(tmp_path):
    first = checksummed_record(tmp_path / "a")
    assert checksummed_record(tmp_path / "b", made="later", command="b", training_runs=[{"seed": 0, "seconds": 9}]) == first
    others = [
        {"training_runs": [{"seed": 1, "seconds": 2.5}]},
        {"settings": {"seconds": 2}},
        {"training_runs": []},
        {"device": "x"},
    ]
    assert len({first, *(checksummed_record(tmp_path / str(number), **other) for number, other in enumerate(others))}) == 5
    for folder, seconds, score in (("d", 1.0, 0.5), ("e", 2.0, 0.5), ("f", 1.0, 0.6)):
        (tmp_path / folder / "trial0").mkdir(parents=True)
        (tmp_path / folder / "trial0/history.csv").write_text(f"stage,epoch,score,seconds\ntask,1,{score},{seconds}\n")
        write_checksums(tmp_path / folder)
    d, e, f = (read_checksums(tmp_path / name) for name in "def")
    assert d.identity == e.identity != f.identity
    # The note counts only with the sums that it was written for.
    replace(f, notes=d.notes).write()
    assert read_checksums(tmp_path / "f").identity not in (d.identity, f.identity)
