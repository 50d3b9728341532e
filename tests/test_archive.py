"""The archive of a small study: what is in it, that its tables are made again from it, and that nothing else is done with it."""

import contextlib
import hashlib
import json
import os
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from crosslens.monitoring.archive import verification
from crosslens.monitoring.archive.__main__ import main
from crosslens.monitoring.archive.comparison import differences, differing, read_rows
from crosslens.monitoring.archive.packing import pack
from crosslens.monitoring.archive.verification import unpack
from crosslens.runs.errors import DataError
from hypothesis import given, settings
from hypothesis import strategies as st
from study import RESULTS, copy_repository, tiny

REPOSITORY = Path(__file__).parents[1]
VALIDATOR = REPOSITORY / "build/crate-tools/bin/python"
PROBES = "measures/probes/tanti2021/pos/gradient_reversal/seed0.parquet"
TOKENS = "tokens/random/without_unknown/udpos"
PREDICTIONS = "models/tanti2021/pos/gradient_reversal/seed0/predictions.parquet"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the repository, the working directory, with table 2 of the tiny study, its verdicts and the scoreboard."""
    root = copy_repository(tmp_path_factory.mktemp("archived"))
    for target in (f"{RESULTS}/table2.csv", "claims"):
        tiny(root, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        yield root


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
    """Content with some files replaced, and their digests in seals, records, metadata and the list of checksums."""
    content, changes = dict(content), dict(edits)
    while changes:
        name, data = changes.popitem()
        before, content[name] = digest(content.get(name, b"")).encode(), data
        for other, text in content.items():
            if before in text and other != "SHA256SUMS":
                changes[other] = changes.get(other, text).replace(before, digest(data).encode())
    lines = [f"{digest(data)}  {name}\n" for name, data in sorted(content.items()) if name != "SHA256SUMS"]
    return content | {"SHA256SUMS": "".join(lines).encode()}


def altered(archive: Path, file: Path, edits: dict[str, Callable[[bytes], bytes]]) -> Path:
    """A copy of an archive with some of its files edited, each by a function."""
    content = content_of(archive)
    return write_archive(file, content | {name: edit(content[name]) for name, edit in edits.items()})


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
def test_every_file_has_a_digest_that_sha256sum_checks(archive, tmp_path):
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
        names = {*packed.namelist()}
    result = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {line.removesuffix(": OK") for line in result.stdout.splitlines()} == names - {"SHA256SUMS"}


@pytest.mark.long
def test_it_has_no_texts_and_no_weights(archive):
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        for place, column in (
            ("draws/tanti2021/pos/udpos/en", "word"),
            (f"{TOKENS}/en.test", "words"),
            (f"{TOKENS}/en.test", "pieces"),
        ):
            file = f"{RESULTS}/{place}.parquet"
            before, after = (pd.read_parquet(source)[column].explode() for source in (file, packed.open(file)))
            assert len(after) == len(before) and after.isin(["", 0]).all() and not before.isin(["", 0]).all()
    assert not [name for name in names if name.endswith((".safetensors", ".conllu")) or f"{RESULTS}/corpora" in name]
    assert {f"{RESULTS}/{place}" for place in ("table2.csv", "claims.csv", PREDICTIONS, PROBES)} <= {*names}
    assert [name for name in names if name.startswith("seals/states/")]


@pytest.mark.long
def test_equal_results_give_equal_bytes(archive, tmp_path):
    missing, stale = pack(Path(RESULTS), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert "table1.csv" in missing and not stale


@pytest.mark.long
def test_what_is_intact_is_made_again_and_equal(archive, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["verify", str(archive)])
    said = capsys.readouterr().out
    assert "not as archived: none" in said and "differ: none" in said
    assert "verdicts" in said and "lines of the scoreboard" in said
    assert "measures: probes" in said


@pytest.mark.long
@pytest.mark.parametrize(
    "place", [PROBES, PREDICTIONS, "table2.csv", f"{PROBES.removesuffix('seed0.parquet')}.seed0.parquet.sha256"]
)
def test_a_changed_byte_is_named_with_the_tables_that_rest_on_it_and_nothing_is_run(
    archive, tmp_path, capsys, monkeypatch, place
):
    monkeypatch.setattr(verification.subprocess, "run", None)
    name = f"{RESULTS}/{place}"
    status, lines = verify(altered(archive, tmp_path / "a.zip", {name: flipped}), capsys)
    assert status == 1 and len(lines) == 3 and lines[2].startswith("nothing was made again")
    assert lines[1] == f"{name}: changed" + "; made from it: table2.csv" * (place != "table2.csv")


@pytest.mark.long
def test_a_cell_that_was_changed_with_all_its_digests_is_found_by_making_it_again(archive, tmp_path, capsys):
    table = pd.read_csv(f"{RESULTS}/table2.csv", dtype=str, keep_default_na=False)
    cell, name, content = table.iloc[3], f"{RESULTS}/table2.csv", content_of(archive)
    lines = content[name].decode().split("\n")
    assert f",{cell['here']}," in lines[4]
    lines[4] = lines[4].replace(f",{cell['here']},", ",99.99,", 1)
    status, said = verify(write_archive(tmp_path / "a.zip", with_digests(content, {name: "\n".join(lines).encode()})), capsys)
    name = " | ".join(cell[["row", "column", "metric", "definition"]])
    assert status == 1 and f"table2.csv: {name}: here '99.99', made again '{cell['here']}'" in said
    assert "not as archived: none" in said[0] and any(line.endswith("differ: 1") for line in said)


@pytest.mark.long
def test_a_missing_and_an_added_file_are_named(archive, tmp_path):
    content = content_of(archive)
    del content[f"{RESULTS}/{PROBES}"]
    file = write_archive(tmp_path / "a.zip", content | {f"{RESULTS}/other.csv": b""})
    faults = unpack(file, tmp_path / "a")
    assert faults == {f"{RESULTS}/{PROBES}": "missing", f"{RESULTS}/other.csv": "added"}


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


TABLE, SEAL, RECORD, METADATA = "results/a/t.csv", "results/a/.t.csv.sha256", "results/a/t.csv.json", "ro-crate-metadata.json"


def small(**edits: bytes) -> dict[str, bytes]:
    """Content of a small archive. edits: files that are added or replaced, listed with their digests."""
    content = {TABLE: b"x\n1\n", "README.md": b"#", "Snakefile": b"", "configuration.yaml": b"results: results/a\n"} | edits
    content.setdefault(SEAL, f"# artefact t.csv\n{digest(content[TABLE])}  t.csv\n".encode())
    content.setdefault(RECORD, json.dumps({"file": "t.csv", "sha256": digest(content[TABLE])}).encode())
    entities = [{"@id": name, "@type": "File", "sha256": digest(data)} for name, data in content.items()]
    content.setdefault(METADATA, json.dumps({"@graph": [{"@id": "./"}, *entities]}).encode())
    return with_digests(content, {})


def test_a_small_archive_is_as_archived(tmp_path):
    assert unpack(write_archive(tmp_path / "a.zip", small()), tmp_path / "a") == {}
    unpacked = {path.relative_to(tmp_path / "a").as_posix() for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert unpacked == {TABLE, SEAL, RECORD, METADATA, "configuration.yaml"}


FORBIDDEN = [
    "/etc/x.csv", "//x.csv", "../x.csv", "results/../../x.csv", "results/a/../t2.csv", "a/../../x.csv", "./results/x.csv",
    "results//x.csv", "results/./x.csv", "results/..\\x.csv", "C:\\x.csv", "C:/x.csv", ".snakemake/scripts/json.py",
    ".snakemake/metadata/x.json", "results/.snakemake/x.csv", "results/a/.x.csv", "results/a/.x", "workflow/x.csv",
    "scripts/x.csv", "profiles/default/config.yaml", "rules/common.smk", "results/a/sitecustomize.py",
    "results/a/x.pth", "results/a/x.so", "results/a/x.pyc", "results/a/x.zip", "results/a/x", "results/a/x.csv ",
    "results/a/é.csv", "results/a/e\u0301.csv", "results/a/x\u202e.csv", "results/a/x\n.csv", "results/a/x.csv\r",
    "results/$(touch x).csv", "x.csv", "~/x.csv", "seals/../x.csv", "Results/a/x.csv", "results/a/.SHA256SUMS/x.csv",
    "configuration.yaml/x.csv", "sources.lock.tsv.py",
]  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_name_that_no_archive_has_is_not_unpacked(tmp_path, capsys, name):
    """Though the list of checksums and the metadata name it."""
    before = {*tmp_path.parent.rglob("*")}
    if "\n" in name:
        with pytest.raises(DataError, match="expected a digest and a new name"):
            unpack(write_archive(tmp_path / "a.zip", small(**{name: b"x"})), tmp_path / "in/a")
        return
    faults = unpack(write_archive(tmp_path / "a.zip", small(**{name: b"x"})), tmp_path / "in/a")
    assert faults.keys() == {name}
    new = {path.relative_to(tmp_path).as_posix() for path in {*tmp_path.parent.rglob("*")} - before if path.is_file()}
    assert new == {"a.zip", *(f"in/a/{place}" for place in (TABLE, SEAL, RECORD, METADATA, "configuration.yaml"))}


def member(name: str, mode: int = 0, data: bytes = b"x") -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info, data


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ([member("results/a/l.csv", mode)], "results/a/l.csv: expected a file, found a link or a device")
        for mode in (stat.S_IFLNK | 0o777, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR)
    ]
    + [
        ([member(TABLE)], f"{TABLE}: occurs twice"),
        ([member(TABLE, data=b"x\n1\n")], f"{TABLE}: occurs twice"),
        ([member("results/a/T.csv")], "results/a/T.csv: occurs twice"),
        ([member("results/A/t.csv")], "results/A/t.csv: occurs twice"),
        ([member("SHA256SUMS")], "SHA256SUMS: occurs twice"),
        ([member("readme.md")], "readme.md: expected a name"),
        ([member("../x/")], "../x/: expected a name"),
        ([member("/x/")], "/x/: expected a name"),
        ([member("results/a/b.csv")], "results/a/b.csv: added"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_what_is_no_file_of_its_own_is_named(tmp_path, capsys, members, fault):
    file = write_archive(tmp_path / "a.zip", small())
    with zipfile.ZipFile(file, "a") as packed:
        for info, data in members:
            packed.writestr(info, data)
    try:
        said = [f"{name}: {why}" for name, why in unpack(file, tmp_path / "a").items()]
    except DataError as error:
        said = [str(error)]
    assert any(line.startswith(fault) for line in said) or fault.startswith("SHA256SUMS"), said
    assert not [path for path in (tmp_path / "a").rglob("*") if path.is_symlink() or path.name in ("l.csv", "T.csv", "b.csv")]


@pytest.mark.parametrize("bit", [0x1, 0x40, 0x41])
@pytest.mark.parametrize("name", [TABLE, "SHA256SUMS", METADATA])
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_an_encrypted_file_is_named(tmp_path, bit, name):
    content = bytearray(write_archive(tmp_path / "a.zip", small()).read_bytes())
    for signature, flags, start in ((b"PK\3\4", 6, 30), (b"PK\1\2", 8, 46)):
        at = content.index(signature)
        while content[at + start : at + start + len(name)] != name.encode():
            at = content.index(signature, at + 1)
        content[at + flags] |= bit
    (tmp_path / "a.zip").write_bytes(content)
    try:
        said = f"{unpack(tmp_path / 'a.zip', tmp_path / 'a')}"
    except DataError as error:
        said = str(error)
    assert "encrypted" in said and "\n" not in said


NESTED = b"[" * 10**5
WRONG = {  # name of a file -> contents of it that contradict the list of checksums, or cannot be read
    METADATA: [NESTED, b"", b"[]", b"{}", b"3", b"\xff", b'{"@graph": 3}', b'{"@graph": [3]}', b'{"@graph": [{"sha256": "x"}]}',
               b'{"@graph": []}', b'{"@graph": [{"@id": ["x"], "sha256": "x"}]}', b'{"@graph":' * 10**4, b'{"@graph": {"a": 1}}'],
    RECORD: [NESTED, b"", b"{", b'{"file": "t.csv", "sha256": "0"}', b'{"file": "../../x", "sha256": "0"}',
             b'{"file": 3, "sha256": 3}', b'{"file": "", "sha256": ""}', b'{"file": "t.csv", "sha256": null}', b"\xff\xfe",
             b'{"a":' * 10**5, b"9" * 10**5],
    SEAL: [b"x\n", b"0" * 64 + b"  t.csv\n", b"0" * 64 + b"\n", b"t.csv\n", b"\xff\n", digest(b"").encode() + b"  ../../../x\n",
           digest(b"").encode() + b"  /etc/hostname\n", b"\0\n", digest(b"").encode() + b" t.csv\n", b"0  t.csv\n", b"\n"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, contents in WRONG.items() for data in contents])
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_seal_a_record_and_the_metadata_agree_with_the_list(tmp_path, name, data):
    faults = unpack(write_archive(tmp_path / "a.zip", small(**{name: data})), tmp_path / "a")
    assert [*faults] == [name] and "\n" not in faults[name] and len(faults[name]) < 500


NO_LISTS = [b"", b"x", b"\n", digest(b"").encode(), digest(b"").encode() + b" README.md", digest(b"").encode() + b"\tREADME.md",
            b"README.md", digest(b"").upper().encode() + b"  README.md", b"0  README.md", b"sha256\n", b"\xff\xfe", NESTED,
            (digest(b"#") + "  README.md\n").encode() * 2, digest(b"").encode() + b"  "]  # fmt: skip


@pytest.mark.parametrize("data", NO_LISTS)
@pytest.mark.fault("A hostile archive: names, links, encryption, contradicting digests", "refused")
def test_a_list_of_checksums_without_a_column_is_refused_in_a_line(tmp_path, capsys, data):
    content = small()
    status, lines = verify(write_archive(tmp_path / "a.zip", content | {"SHA256SUMS": data}), capsys)
    assert status == 1 and lines[-1].startswith("nothing was made again") or str(status).startswith("archive: ")
    assert "\n" not in str(status)


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
    names = {path.relative_to(folder / "in").as_posix() for path in (folder / "in").rglob("*") if path.is_file()}
    assert all((folder / "in" / name).read_bytes() == small()[name] for name in names)


@pytest.mark.parametrize("place", [Path.touch, Path.mkdir, lambda path: path.symlink_to("missing"), os.mkfifo])
@pytest.mark.fault("An archive in the place of something else", "refused")
def test_an_archive_takes_no_other_place(tmp_path, capsys, place):
    place(tmp_path / "a.zip")
    with pytest.raises(SystemExit, match="expected no such file, found one: remove it, or name another"):
        main(["pack", "results/none", str(tmp_path / "a.zip")])


def test_rows_differ_by_text_and_by_numbers_beyond_rounding(tmp_path):
    for name, numbers in (("before", "1.5,2,x"), ("after", "1.50000001,3,x")):
        (tmp_path / f"{name}.csv").write_text(f"row,column,metric,definition,here,n,remark,command\nr,c,m,d,{numbers},{name}\n")
    before, after = (read_rows(tmp_path / f"{name}.csv") for name in ("before", "after"))
    assert list(differences(before, after)) == ["r | c | m | d: here '1.5', made again '1.50000001'; n '2', made again '3'"]
    assert differing(before, before).tolist() == [False]
    assert differing(before, before.assign(here="1.50000001")).tolist() == [False]
