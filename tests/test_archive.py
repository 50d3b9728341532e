"""The archive of a small study: what is in it, that its tables are made again from it, and that nothing else is done with it."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from crosslens.commands.archive import verification
from crosslens.commands.archive.__main__ import main
from crosslens.commands.archive.artefacts import Artefacts
from crosslens.commands.archive.packing import pack
from crosslens.commands.archive.verification import Unpacked, same, unpack
from crosslens.jobs.errors import DataError
from hypothesis import given, settings
from hypothesis import strategies as st
from study import RESULTS, tiny

REPOSITORY = Path(__file__).parents[1]
VALIDATOR = REPOSITORY / "build/crate-tools/bin/python"
PROBES = "measures/probes/tanti2021/pos/gradient_reversal/seed0.parquet"
TOKENS = "tokens/random/without_unknown/udpos"
PREDICTIONS = "models/tanti2021/pos/gradient_reversal/seed0/predictions.parquet"


@pytest.fixture(scope="module")
def root(edited: Path) -> Iterator[Path]:
    """The tiny study, the working directory, with no other item than table 2, and verdicts and the scoreboard on that."""
    results = edited / RESULTS
    for paper in ("muller2021", "liang2021", "wu2019", "liu2020", "passport"):
        for folder in [*results.rglob(paper)]:
            shutil.rmtree(folder)
    for file in results.iterdir():
        if file.is_file() and "table2" not in file.name:
            file.unlink()
    tiny(edited, "claims")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(edited)
        yield edited


@pytest.fixture(scope="module")
def archive(root: Path) -> Path:
    file = root / "tiny.zip"
    pack(Path(RESULTS), file)
    return file


def content_of(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def write_archive(file: Path, content: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in content.items():
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def with_digests(content: dict[str, bytes], edits: dict[str, bytes]) -> dict[str, bytes]:
    """Content with some files replaced, and their digests in checksum files, records, metadata and the list of checksums.

    A checksum file that changes loses the note that binds it to its former digests.
    """
    content, changes = dict(content), dict(edits)
    while changes:
        name, data = changes.popitem()
        before, content[name] = digest(content.get(name, b"")).encode(), data
        for other, text in content.items():
            if before in text and other != "SHA256SUMS":
                changed = changes.get(other, text).replace(before, digest(data).encode())
                changes[other] = re.sub(rb"^# content .*\n", b"", changed, flags=re.MULTILINE)
    lines = [f"{digest(data)}  {name}\n" for name, data in sorted(content.items()) if name != "SHA256SUMS"]
    return content | {"SHA256SUMS": "".join(lines).encode()}


def flipped(content: bytes) -> bytes:
    """A file with one bit of a byte in its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def verify(archive: Path, capsys: pytest.CaptureFixture[str]) -> tuple[object, list[str]]:
    """Exit status and lines of `make verify`."""
    with pytest.raises(SystemExit) as end:
        main(["verify", str(archive)])
    return end.value.code, capsys.readouterr().out.splitlines()


@pytest.mark.long
def test_it_has_no_texts_and_no_weights_and_a_digest_of_every_file(archive, tmp_path):
    """sha256sum checks the digests."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
        names = {*packed.namelist()}
    result = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {line.removesuffix(": OK") for line in result.stdout.splitlines()} == names - {"SHA256SUMS"}
    words = ("samples/tanti2021/pos/udpos/en", "word"), (f"{TOKENS}/en.test", "words"), (f"{TOKENS}/en.test", "subwords")
    for place, column in words:
        file = f"{RESULTS}/{place}.parquet"
        before, after = (pd.read_parquet(path)[column].explode() for path in (file, tmp_path / file))
        assert len(after) == len(before) and after.isin(["", 0]).all() and not before.isin(["", 0]).all()
    assert not [name for name in names if name.endswith((".safetensors", ".conllu")) or f"{RESULTS}/corpora" in name]
    assert {f"{RESULTS}/{place}" for place in ("table2.csv", "claims.csv", PREDICTIONS, PROBES)} <= names
    assert [name for name in names if name.startswith("checksums/states/")]


@pytest.mark.long
def test_equal_results_give_equal_bytes_and_what_is_intact_is_made_again_and_equal(archive, tmp_path, capsys):
    missing, stale = pack(Path(RESULTS), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert not stale and any(re.match(r"tanti2021: \d+ items \(.*table1.csv", paper) for paper in missing)
    assert any(re.fullmatch(r"wu2019: \d+ items", paper) for paper in missing)  # nothing of it is in the archive
    status, lines = verify(archive, capsys)
    assert status == 0 and lines[0].endswith("not as archived: none") and "of these differ: none" in lines
    assert "probes" in lines[-2] and any(re.match("recomputed: [3-9] tables and [1-9]", line) for line in lines)


@pytest.mark.long
@pytest.mark.parametrize("place", [PROBES, PREDICTIONS, "table2.csv", f"{Path(PROBES).parent}/.seed0.parquet.sha256"])
def test_a_file_that_is_changed_missing_or_added_is_named_and_nothing_is_run(archive, tmp_path, capsys, monkeypatch, place):
    monkeypatch.setattr(verification.subprocess, "run", None)
    content, name = content_of(archive), f"{RESULTS}/{place}"
    del content[f"{RESULTS}/claims.csv.json"]
    content |= {name: flipped(content[name]), f"{RESULTS}/other.csv": b""}
    status, lines = verify(write_archive(tmp_path / "a.zip", content), capsys)
    assert status == 1 and len(lines) == 5 and lines[-1].startswith("nothing was recomputed")
    assert {f"{name}: changed", f"{RESULTS}/other.csv: added", f"{RESULTS}/claims.csv.json: missing"} == {*lines[1:-1]}


@pytest.mark.long
def test_what_was_changed_with_its_digests_is_found_by_making_it_again_or_by_its_seal(archive, tmp_path, capsys):
    name, content = f"{RESULTS}/table2.csv", content_of(archive)
    here = pd.read_csv(name, dtype=str)["here"][3]
    table = content[name].replace(f",{here},".encode(), b",99.99,", 1)
    status, lines = verify(write_archive(tmp_path / "a.zip", with_digests(content, {name: table})), capsys)
    assert status == 1 and lines[0].endswith("not as archived: none")
    assert "table2.csv: recomputed, it has other values" in lines and "of these differ: 1" in lines
    name = f"{RESULTS}/{PROBES}"
    edited = with_digests(content | {name: flipped(content[name])}, {})
    status, lines = verify(write_archive(tmp_path / "b.zip", edited), capsys)
    assert status == 1 and lines[1] == f"{name}: not the content that its checksum file records" and len(lines) == 3


@pytest.mark.long
def test_code_in_an_archive_does_not_run(archive, tmp_path, capsys, monkeypatch):
    """Not even where all digests agree, and a relative search path would find it."""
    monkeypatch.setenv("PYTHONPATH", "workflow")
    content, mark = content_of(archive), tmp_path / "mark"
    code = f"open({str(mark)!r}, 'a').write(__file__)\n".encode()
    crate = json.loads(content["ro-crate-metadata.json"])
    folders = (".snakemake/scripts", "workflow", "workflow/crosslens", "results", RESULTS, "scripts")
    modules = ("json.py", "sitecustomize.py", "pandas/__init__.py", "crosslens/__init__.py")
    names = [f"{folder}/{module}" for folder in folders for module in modules]
    names += ["profiles/default/config.yaml", ".snakemake/config.yaml", "sitecustomize.py", "rules/common.smk"]
    crate["@graph"] += [{"@id": name, "@type": "File", "sha256": digest(code)} for name in names]
    file = write_archive(
        tmp_path / "a.zip",
        with_digests(content | dict.fromkeys(names, code), {"ro-crate-metadata.json": json.dumps(crate).encode()}),
    )
    status, said = verify(file, capsys)
    assert status == 1 and {line.split(": ")[0] for line in said[1:-1]} == {*names} and not mark.exists()


@pytest.mark.crate
@pytest.mark.skipif(not VALIDATOR.exists(), reason="needs the validator: make test-crate")
@pytest.mark.parametrize("profile", ["ro-crate-1.1", "process-run-crate", "workflow-ro-crate", "workflow-run-crate"])
def test_it_is_a_valid_crate(archive, tmp_path, profile):
    """All that the profile requires; what it recommends is printed where the test fails."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    command = [str(VALIDATOR), str(REPOSITORY / "tests/crate/validate.py"), str(tmp_path), profile]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
    assert not result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize(("facts", "rebuilt"), [({}, []), ({"unknown_subwords": {}}, ["t.csv"])])
def test_a_table_is_made_again_if_it_reads_subwords_for_shares_of_unknown_ones_alone(tmp_path, facts, rebuilt):
    inputs = ["tokens/e/t/c", "tokenizers/e"]
    artefacts = Artefacts(tmp_path, dict.fromkeys(["t.csv", *inputs]))
    vars(artefacts)["records"] = {"t.csv": {"rule": "table", "input": inputs}}
    archive = Unpacked(tmp_path)
    vars(archive)["artefacts"] = artefacts
    (tmp_path / "t.csv.json").write_text(json.dumps({"p": facts}))
    assert archive.rebuilt == rebuilt


TABLE, CONFIGURATION = "results/a/t.csv", "configuration.json"


def small(**edits: bytes) -> dict[str, bytes]:
    """Content of a small archive. edits: files that are added or replaced, listed with their digests."""
    return with_digests(
        {TABLE: b"x\n1\n", "README.md": b"#", "Snakefile": b"", CONFIGURATION: b'{"results": "results/a"}'} | edits, {}
    )


def unpacked(folder: Path) -> set[str]:
    """Files below a folder and those around it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


FORBIDDEN = [
    "/etc/x.csv", "../x.csv", "results/../../x.csv", "results/a/../t2.csv", "./results/x.csv", "results//x.csv",
    "results/./x.csv", "results/..\\x.csv", "C:\\x.csv", ".snakemake/scripts/json.py", "results/.snakemake/x.csv",
    "results/a/.x.csv", "workflow/x.csv", "profiles/default/config.yaml", "rules/common.smk", "results/a/sitecustomize.py",
    "results/a/x.pth", "results/a/x", "results/a/x.csv ", "results/a/é.csv", "results/a/x\u202e.csv", "results/a/x.csv\r",
    "results/$(touch x).csv", "x.csv", "~/x.csv", "checksums/../x.csv", "results/a/.SHA256SUMS/x.csv", "configuration.json/x.csv",
    "sources.lock.tsv.py",
]  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_name_that_no_archive_has_is_not_unpacked(tmp_path, name):
    """Though the list of checksums names it."""
    faults = unpack(write_archive(tmp_path / "a.zip", small(**{name: b"x"})), tmp_path / "in/a")
    assert faults == {name: "expected a name of the results, found another: do not use it"}
    assert unpacked(tmp_path) == {"a.zip", f"in/a/{TABLE}", f"in/a/{CONFIGURATION}"}


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFIFO, stat.S_IFCHR])
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_link_or_a_device_becomes_a_file_or_nothing(tmp_path, mode):
    link = zipfile.ZipInfo("results/a/l.csv")
    link.external_attr = mode << 16
    write_archive(tmp_path / "a.zip", small(**{link.filename: b"/etc/passwd"}))
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as packed, warnings.catch_warnings(action="ignore"):
        packed.writestr(link, b"/etc/passwd")
    unpack(tmp_path / "a.zip", tmp_path / "in")
    assert (tmp_path / "in" / link.filename).read_bytes() == b"/etc/passwd" and not (tmp_path / "in" / link.filename).is_symlink()


NO_LISTS = [b"", b"x", digest(b"").encode(), digest(b"").encode() + b" README.md", b"README.md", b"0  README.md", b"\xff\xfe",
            digest(b"").upper().encode() + b"  README.md", f"{digest(b'#')}  README.md\n".encode() * 2]  # fmt: skip


@pytest.mark.parametrize("data", NO_LISTS)
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_list_of_checksums_without_a_column_is_refused_in_a_line(tmp_path, capsys, data):
    status, _ = verify(write_archive(tmp_path / "a.zip", small() | {"SHA256SUMS": data}), capsys)
    assert str(status).startswith(f"archive: {tmp_path}/a.zip: ") and "\n" not in str(status)


def test_a_bomb_and_what_is_no_archive_are_refused_in_a_line(tmp_path):
    write_archive(tmp_path / "0.zip", small(**{"results/a/b.csv": bytes(2 * 10**8)}))
    (tmp_path / "1.zip").write_text("no archive")
    (tmp_path / "2.zip").write_bytes(b"")
    (tmp_path / "3.zip").write_bytes(write_archive(tmp_path / "a.zip", small()).read_bytes()[:-30])
    write_archive(tmp_path / "4.zip", {"README.md": b""})
    (tmp_path / "5.zip").mkdir()
    for number in range(7):  # the last is missing
        with pytest.raises(DataError) as error:
            unpack(tmp_path / f"{number}.zip", tmp_path / "in")
        assert str(error.value).startswith(f"{tmp_path}/{number}.zip: ") and "\n" not in str(error.value)
        assert not (tmp_path / "in").exists()


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_bytes_change_nothing_is_unpacked_elsewhere(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("altered")
    content = bytearray(write_archive(folder / "a.zip", small()).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / "a.zip").write_bytes(content)
    with contextlib.suppress(DataError):
        unpack(folder / "a.zip", folder / "in")
    assert {path.name for path in folder.iterdir()} <= {"a.zip", "in"}
    assert all((folder / "in" / name).read_bytes() == small()[name] for name in unpacked(folder / "in"))


def test_an_archive_that_is_missing_is_named(tmp_path):
    with pytest.raises(
        SystemExit, match=re.escape(f"archive: {tmp_path}/a.zip: expected a file that `make archive` wrote, found no")
    ):
        main(["verify", str(tmp_path / "a.zip")])
    with pytest.raises(
        SystemExit, match=re.escape(f"archive: {tmp_path}: expected a file that `make archive` wrote, found a folder")
    ):
        main(["verify", str(tmp_path)])


@pytest.mark.parametrize("place", [Path.touch, Path.mkdir, lambda path: path.symlink_to("missing")])
@pytest.mark.fault("An archive in the place of something else", "refused")
def test_an_archive_takes_no_other_place(tmp_path, place):
    place(tmp_path / "a.zip")
    with pytest.raises(SystemExit, match="expected a new file, found one that exists; remove it"):
        main(["pack", "results/none", str(tmp_path / "a.zip")])


@pytest.mark.parametrize(
    ("after", "equal"),
    [
        ("1.5,2,x,other", True),
        ("1.50000001,2,x,other", True),
        ("1.501,2,x,other", False),
        ("1.5,3,x,a", False),
        ("1.5,2,y,a", False),
    ],
)
def test_tables_differ_by_text_and_by_numbers_beyond_rounding(tmp_path, after, equal):
    """Not by the command that made them."""
    for name, row in (("before", "1.5,2,x,a"), ("after", after)):
        (tmp_path / f"{name}.csv").write_text(f"here,n,remark,command\n{row}\n")
    assert same(tmp_path / "before.csv", tmp_path / "after.csv") == equal
    (tmp_path / "after.csv").write_text((tmp_path / "before.csv").read_text() + "1.5,2,x,a\n")
    assert not same(tmp_path / "before.csv", tmp_path / "after.csv")
