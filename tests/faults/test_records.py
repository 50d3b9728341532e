"""Results whose records in .snakemake are gone, or are of another version: the plan is that of results which have theirs.

Outputs are pretended: small checksummed files, which Snakemake is made to take for built. What a plan looks at, records, checksum
files and times, is written by Snakemake and by the workflow.
"""

import json
import os
import random
import shutil
import subprocess
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest
from crosslens.jobs import checksums as digests
from crosslens.jobs.files import sha256
from crosslens.jobs.snakemake_metadata import ChecksumMetadata
from snakemake.io import _IOFile
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord, PersistenceBase
from snakemake.persistence.file import FilePersistence
from study import OVERLAY, RECIPE, RESULTS, changed, copy_repository, jobs_of, pretend, tiny

MODEL = f"{RESULTS}/models/{RECIPE}/seed0"
TOKENS = f"{RESULTS}/tokens/random/without_unknown/udpos"
TARGETS = (f"{RESULTS}/dataset_sizes.html", f"{RESULTS}/measures/classification/{RECIPE}.parquet")
READER = OVERLAY, ("withheld: clean", "withheld: paper")
LAMBDA = "config.yaml", ("head_rate: 1.0e-3, reversal: 0.1 }", "head_rate: 1.0e-3, reversal: 0.3 }")
CHANGES = {  # file, (old, new): what the reasons say
    None: "",
    LAMBDA: "reversal: 0.3",
    (OVERLAY, ("gradient_reversal: { batch: 16 }", "gradient_reversal: { batch: 4 }")): "batch: 4",
    READER: "withheld: 'paper'",
    ("workflow/crosslens/training/loop.py", ("float = 300.0", "float = 299.0")): "Params have changed",
    ("workflow/crosslens/papers/tanti2021/sizes.py", ('"equal"', '"the same"')): "Params have changed",
    ("workflow/crosslens/training/loop.py", ('"""The training loop', '"""A training loop')): "",
    ("config.yaml", ("head_rate: 1.0e-3, reversal: 0.1 }", "head_rate: 1.0e-3, reversal: 0.10 }")): "",
}
WAYS: dict[str, Callable[[Path, Path], object]] = {
    "cp -r": lambda one, two: subprocess.run(["cp", "-r", one, two], check=True),
    "mv": lambda one, two: (shutil.copytree(one, f"{one}-moved"), subprocess.run(["mv", f"{one}-moved", two], check=True)),
    "tar": lambda one, two: (two.mkdir(), subprocess.run(f"tar c -C {one} . | tar x -C {two}", shell=True, check=True)),
}


@pytest.fixture(scope="module")
def origin(tmp_path_factory) -> Path:
    root = copy_repository(tmp_path_factory.mktemp("origin"))
    pretend(root, "first", *TARGETS)
    return root


@pytest.fixture
def own(origin, tmp_path) -> Path:
    """A whole copy, times and all, which the test may spoil."""
    return Path(shutil.copytree(origin, tmp_path / "own", symlinks=True))


def clone(origin: Path, root: Path) -> Path:
    """A fresh clone: all of its files are newer than any result."""
    shutil.copytree(origin, root, ignore=shutil.ignore_patterns("results", ".snakemake"), copy_function=shutil.copyfile)
    (root / RESULTS).parent.mkdir(parents=True)
    return root


def plan(root: Path, change: tuple[str, tuple[str, str]] | None = None) -> tuple[list[str], str]:
    """Jobs that a dry run plans after a change, sorted, and all that it says."""
    with ExitStack() as stack:
        if change:
            stack.enter_context(changed(root / change[0], change[1]))
        said = tiny(root, *TARGETS, "-n", "--quiet", "host")
    return jobs_of(said), said


def artefacts(root: Path) -> list[str]:
    """Every output of which Snakemake has a record."""
    metadata = root / ".snakemake/metadata"
    names = [
        "".join(part.lstrip("@") for part in file.relative_to(metadata).parts) for file in metadata.rglob("*") if file.is_file()
    ]
    return sorted(urlsafe_b64decode(name).decode() for name in names)


def record_file(root: Path, name: str) -> Path:
    """Snakemake's record of an output."""
    persistence = FilePersistence(path=root / ".snakemake")
    return Path(persistence._record_path(persistence._metadata_path, name))


def restore(source: Path, target: Path, name: str, *, times: bool) -> None:
    """Copy one artefact with its checksum file from one folder into another."""
    copy = shutil.copy2 if times else shutil.copyfile
    if (source / name).is_dir():
        shutil.rmtree(target / name)
        shutil.copytree(source / name, target / name, copy_function=copy)
    else:
        for file in (name, f"{Path(name).parent}/.{Path(name).name}.sha256"):
            copy(source / file, target / file)


def test_every_output_carries_its_record(origin):
    """As Snakemake wrote it, but for the name of the folder of results; and a second run changes none."""
    names = artefacts(origin)
    assert {f"{MODEL}/predictions.parquet", TOKENS, TARGETS[0], f"{RESULTS}/samples/tanti2021/pos"} <= set(names)
    before = {}
    for name in names:
        checksums = digests.read_checksums(origin / name)
        assert checksums.notes["artefact"] == name.removeprefix(f"{RESULTS}/")
        record = json.loads(checksums.notes["record"].replace("{results}", RESULTS))
        assert record == json.loads(record_file(origin, name).read_text())
        inputs = {f"{RESULTS}/{path}" for path in json.loads(checksums.notes["inputs"])}
        assert inputs == {path for path in record["input"] if path.startswith("results/")}
        before[name] = checksums
    assert plan(origin)[0] == []
    assert {name: digests.read_checksums(origin / name) for name in names} == before


def test_records_gone(origin, tmp_path, often, tally):
    """Results copied or moved into a fresh clone, with and without a change: planned as where they were built."""
    found, chance = tally("results without Snakemake's records, in a fresh clone"), random.Random(39)
    cases = [(change, way) for change in CHANGES for way in WAYS if (change, way) != (LAMBDA, "cp -r")]
    for change, way in [(LAMBDA, "cp -r"), *chance.sample(cases, often(12, 1) - 1)]:
        root = clone(origin, tmp_path / "clone")
        WAYS[way](origin / RESULTS, root / RESULTS)
        expected, reasons = plan(origin, change)
        jobs, said = plan(root, change)
        if jobs != expected or CHANGES[change] not in said:
            found.silent.append(f"{way}, {change}: {jobs} instead of {expected}")
        elif jobs:
            assert CHANGES[change] and CHANGES[change] in reasons
            found.rerun += 1
            found.seen = next(line for line in said.splitlines() if line.startswith("Reason: "))
        else:
            assert not CHANGES[change]
            found.survived += 1
        assert plan(root)[0] == []
        shutil.rmtree(root)
    assert found.silent == []


@pytest.mark.fault("An artefact of another study, with its seal and any time", "rerun")
def test_what_was_made_of_another_artefact_is_planned(own, tmp_path):
    """Settings are set back, and all but the training run is restored, times and all: it has read other tokens than lie there."""
    shutil.copytree(own / RESULTS, tmp_path / "earlier")
    with changed(own / READER[0], READER[1]):
        pretend(own, "second", *TARGETS)
    jobs, said = plan(own)
    assert "Tokenise udpos for random, without_unknown" in jobs and "Params have changed" in said, said
    for name in artefacts(own):
        if not name.startswith((MODEL, TARGETS[1])):
            restore(tmp_path / "earlier", own / RESULTS, name.removeprefix(f"{RESULTS}/"), times=True)
    jobs, said = plan(own)
    assert jobs == [f"Measure classification of {RECIPE}", f"Train {RECIPE}, seed 0"]
    assert f"made from another {TOKENS}" in said, said


@pytest.mark.long
def test_nobody_knows(own):
    """Seals that do not say how, or no checksum files and no records: planned again; --touch says that they fit."""
    for name in artefacts(own):
        checksums = digests.read_checksums(own / name)
        digests.Checksums(checksums.file, checksums.sums, {}).write()
    page = own / f"{RESULTS}/.dataset_sizes.html.sha256"
    page.unlink()
    jobs, said = plan(own)
    assert {f"Train {RECIPE}, seed 0", "Write the synthetic corpora", "Make dataset_sizes"} <= set(jobs)
    assert "no record of how it was made" in said
    tiny(own, *TARGETS, "--touch")
    assert plan(own)[0] == []
    shutil.rmtree(own / ".snakemake/metadata")
    assert plan(own)[0] == ["Lay out dataset_sizes"]  # the one without a checksum file


@pytest.mark.parametrize("names", [["model.safetensors"], ["model.safetensors", ".model.safetensors.sha256"]])
@pytest.mark.parametrize("records_gone", [True, False])
@pytest.mark.fault("A setting changes, and an output or its record is gone", "rerun")
def test_a_change_is_seen_although_an_output_has_no_record(own, names, records_gone):
    """Snakemake by itself compares nothing of a job as soon as one of its outputs has no record."""
    for name in names:
        (own / MODEL / name).unlink()
    if records_gone:
        shutil.rmtree(own / ".snakemake/metadata")
    assert plan(own)[0] == []
    assert f"Train {RECIPE}, seed 0" in plan(own, LAMBDA)[0]


@pytest.mark.fault("An edit of equal size under the old time", "rerun")
def test_times_say_nothing_and_an_edited_file_is_noticed(own):
    """Touched artefacts, as by `cp -r` of a whole clone, rerun nothing; an edit under the old time reruns what reads the file."""
    for name in artefacts(own):
        os.utime(own / name)
        if (own / name / ".snakemake_timestamp").exists():
            os.utime(own / name / ".snakemake_timestamp")
    assert plan(own)[0] == []
    path = own / f"{MODEL}/predictions.parquet"
    times = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.utime(digests.checksum_file_beside(path), (4e9, 4e9))  # the checksum file's time is ahead
    assert plan(own)[0] == [f"Measure classification of {RECIPE}"]


def test_snakemake_is_the_one_whose_insides_are_known():
    """Its methods are replaced by others of the same arguments; another format of records may need other code."""
    assert RECORD_FORMAT_VERSION == 6 and {"params", "input", "record_format_version"} <= MetadataRecord.model_fields.keys()
    methods = (PersistenceBase.metadata, PersistenceBase.has_metadata, PersistenceBase.finished, _IOFile.is_newer)
    arguments = [[*signature(method).parameters] for method in methods]
    assert arguments == [["self", "target"], ["self", "job"], ["self", "job"], ["self", "time"]]
    assert iscoroutinefunction(PersistenceBase.finished) and iscoroutinefunction(_IOFile.is_newer)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"params": 3}', "[" * 10**5])
def test_a_seal_whose_record_is_damaged_fits_no_job(tmp_path, text):
    metadata = ChecksumMetadata("results", dict, sha256)
    (tmp_path / "x").write_text("x")
    digests.write_checksums(tmp_path / "x")
    checksums = replace(digests.read_checksums(tmp_path / "x"), notes={"record": text, "inputs": text})
    assert metadata.values(checksums) == {} and not metadata.fits(checksums, set(), set())
    checksums.write()
    assert metadata.read(f"{tmp_path}/x") == metadata.unknown()
