"""The archive of a small study: what is in it, what a changed byte affects, and that its tables are made again from it."""

import os
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from crosslens.monitoring.archive.__main__ import main
from crosslens.monitoring.archive.comparison import differences, differing, read_rows
from crosslens.monitoring.archive.packing import pack
from crosslens.monitoring.archive.verification import Unpacked, unpack
from crosslens.runs.errors import DataError
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


def altered(archive: Path, file: Path, edits: dict[str, Callable[[bytes], bytes]]) -> Path:
    """A copy of an archive with some of its files edited, each by a function."""
    with zipfile.ZipFile(archive) as packed, zipfile.ZipFile(file, "w") as copy:
        for member in packed.infolist():
            edit = edits.get(member.filename.removeprefix(f"{RESULTS}/"), bytes)
            copy.writestr(member, edit(packed.read(member)))
    return file


def flipped(content: bytes) -> bytes:
    """A file with one bit of a byte in its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def effects(archive: Path, folder: Path) -> list[str]:
    return list(Unpacked(folder, unpack(archive, folder)).effects())


def cells(lines: list[str], table: str) -> set[tuple[str, str]]:
    """Rows and columns of the cells that are named below a table."""
    at = next(number for number, line in enumerate(lines) if line.startswith(f"  {table}:"))
    names = [line.strip() for line in lines[at + 1 :]]
    named = names[: next((number for number, name in enumerate(names) if name.endswith("rest on it")), len(names))]
    return {tuple(name.split(" | ")[:2]) for name in named if " | " in name}


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
def test_a_byte_of_a_measure_names_the_cells_that_rest_on_it(archive, tmp_path):
    lines = effects(altered(archive, tmp_path / "a.zip", {PROBES: flipped}), tmp_path / "a")
    assert lines[0] == f"{RESULTS}/{PROBES}: changed"
    named = cells(lines, "table2.csv")
    assert {column for _, column in named} == {"UDPOS Grad."}
    assert {row for row, _ in named} <= {"Lang. ID (Target)", "Lang. ID (Wiki)"} and named


@pytest.mark.long
def test_a_byte_of_predictions_names_the_cells_of_all_measures_of_them(archive, tmp_path):
    lines = effects(altered(archive, tmp_path / "a.zip", {PREDICTIONS: flipped}), tmp_path / "a")
    named = cells(lines, "table2.csv")
    assert {column for _, column in named} == {"UDPOS Grad."}
    assert "Target task" in {row for row, _ in named}


@pytest.mark.long
def test_a_byte_of_a_table_is_found_by_making_it_again_and_others_are_verified_all_the_same(archive, tmp_path, capsys):
    table = pd.read_csv(f"{RESULTS}/table2.csv", dtype=str, keep_default_na=False)
    cell = table.iloc[3]

    def edit(content: bytes) -> bytes:
        lines = content.decode().split("\n")
        assert f",{cell['here']}," in lines[4]
        lines[4] = lines[4].replace(f",{cell['here']},", ",99.99,", 1)
        return "\n".join(lines).encode()

    with pytest.raises(SystemExit, match="1"):
        main(["verify", str(altered(archive, tmp_path / "a.zip", {"table2.csv": edit}))])
    said = capsys.readouterr().out
    name = " | ".join(cell[["row", "column", "metric", "definition"]])
    assert f"table2.csv: {name}: here '99.99', made again '{cell['here']}'" in said
    assert "differ: 1" in said


@pytest.mark.long
def test_a_byte_of_a_seal_names_what_it_seals_and_the_rest_of_the_archive_is_read(archive, tmp_path):
    seal = f"{PROBES.removesuffix('seed0.parquet')}.seed0.parquet.sha256"
    unpacked = Unpacked(tmp_path / "a", unpack(altered(archive, tmp_path / "a.zip", {seal: flipped}), tmp_path / "a"))
    assert unpacked.faulty == {PROBES}
    assert {column for _, column in cells([*unpacked.effects()], "table2.csv")} == {"UDPOS Grad."}
    assert unpacked.rebuilt and "table2.csv" not in unpacked.rebuilt and not unpacked.summaries


@pytest.mark.long
def test_a_missing_and_an_added_file_are_named(archive, tmp_path):
    with zipfile.ZipFile(archive) as packed, zipfile.ZipFile(tmp_path / "a.zip", "w") as copy:
        for member in packed.infolist():
            if member.filename != f"{RESULTS}/{PROBES}":
                copy.writestr(member, packed.read(member))
        copy.writestr("other.txt", "")
    assert unpack(tmp_path / "a.zip", tmp_path / "a") == {f"{RESULTS}/{PROBES}": "missing", "other.txt": "added"}


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


def test_a_name_outside_the_archive_and_another_file_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("../outside", "")
    with pytest.raises(DataError, match="expected names of files inside it"):
        unpack(tmp_path / "a.zip", tmp_path / "a")
    assert not (tmp_path / "outside").exists()
    (tmp_path / "b.zip").write_text("no archive")
    with pytest.raises(DataError, match="expected what `make archive` wrote"):
        unpack(tmp_path / "b.zip", tmp_path / "b")


def test_rows_differ_by_text_and_by_numbers_beyond_rounding(tmp_path):
    for name, numbers in (("before", "1.5,2,x"), ("after", "1.50000001,3,x")):
        (tmp_path / f"{name}.csv").write_text(f"row,column,metric,definition,here,n,remark,command\nr,c,m,d,{numbers},{name}\n")
    before, after = (read_rows(tmp_path / f"{name}.csv") for name in ("before", "after"))
    assert list(differences(before, after)) == ["r | c | m | d: here '1.5', made again '1.50000001'; n '2', made again '3'"]
    assert differing(before, before).tolist() == [False]
    assert differing(before, before.assign(here="1.50000001")).tolist() == [False]
