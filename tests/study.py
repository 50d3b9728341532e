"""The tiny study, tests/workflow: the real workflow on hardly any data, in copies of the repository."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import forked
import pytest
from crosslens.commands import planned_jobs as planning
from crosslens.config.whole import Config
from crosslens.jobs import checksums
from crosslens.jobs.fingerprint import Fingerprints

REPOSITORY = Path(__file__).parents[1]
FINGERPRINTS = ".snakemake/fingerprints.json"
OVERLAY = "tests/workflow/overlay.yaml"
RESULTS = "results/tiny"
SEARCHES = ("table5_search", "muller2021/table3_search", "wu2019/search")
ALL = ("demo_all", *(f"{RESULTS}/{name}.html" for name in SEARCHES))
RECIPE = "tanti2021/pos/gradient_reversal"


def copy_repository(root: Path) -> Path:
    """Copy the files of the repository, committed or not, without anything that is built, and the fingerprints of its code."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith("results/") and (REPOSITORY / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, root / name)
    fingerprints = Fingerprints(REPOSITORY)  # otherwise the first plan in each copy parses the whole library
    for script in REPOSITORY.glob("workflow/scripts/*.py"):
        fingerprints(str(script.relative_to(REPOSITORY)))
    fingerprints.save()
    if (REPOSITORY / FINGERPRINTS).exists():
        (root / ".snakemake").mkdir()
        shutil.copy2(REPOSITORY / FINGERPRINTS, root / FINGERPRINTS)
    return root


def environment() -> dict[str, str]:
    """The environment of a user's call of Snakemake."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "PYTHONPATH": "", "COLUMNS": "200"}


def snakemake(root: Path, *options: str, works: bool = True, **variables: str) -> str:
    """Run Snakemake and return what it said. works: whether it is to succeed; variables: of its environment."""
    status, said = forked.snakemake(options, root, environment() | variables)
    assert (status == 0) == works, said
    return said


def tiny(root: Path, *options: str, works: bool = True, **variables: str) -> str:
    """Run the tiny study, by default all of it."""
    return snakemake(root, *(options or ALL), "--profile", "tests/workflow", works=works, **variables)


def jobs_of(said: str) -> list[str]:
    """The messages of the rules in what a dry run said."""
    jobs = re.findall(r"^Job \d+: (.+)$", said, re.MULTILINE)
    assert jobs or "Nothing to be done" in said, said
    return sorted(set(jobs))


def planned(root: Path, *targets: str) -> list[str]:
    """Messages of the rules that would run, by default for all targets."""
    return jobs_of(tiny(root, *(targets or ALL), "-n"))


def plan(root: Path, *options: str) -> tuple[Config, list[planning.Job]]:
    """Configuration and jobs of a call of Snakemake, as `make cost` plans them, but for the start of a process."""

    def run(command: list[str], *, env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        status, said = forked.snakemake(command[3:], root, environment() | {planning.FILE: env[planning.FILE]})
        return subprocess.CompletedProcess(command, status or 0, said, "")

    with mock.patch.object(planning, "subprocess", SimpleNamespace(run=run)):
        return planning.plan(options, root)


def pretend(root: Path, word: str, *targets: str) -> None:
    """Put something in the place of each output that a run would make now, checksummed as by its job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(checksums.RESULTS, str(root / RESULTS))
        rows = tiny(root, *targets, "--summary").partition("output_file\t")[2].splitlines()[1:]
        for name in (row.split("\t")[0] for row in rows if row and not row.endswith("no update")):
            output = root / name
            output.parent.mkdir(parents=True, exist_ok=True)
            if not output.suffix:
                output.mkdir(exist_ok=True)
            (output if output.suffix else output / "en.test.parquet").write_text(f"{name} {word}")
            checksums.write_checksums(output)
    tiny(root, *targets, "--touch")


def counts(said: str) -> dict[str, int]:
    """Jobs by rule of what a dry run said."""
    table = said[said.index("Job stats:") :]
    return {rule: int(number) for rule, number in re.findall(r"^(\w+) +(\d+)$", table.split("\n\n")[0], re.MULTILINE)}


def committed_tables(preset: str = "") -> list[Path]:
    """Tables of cells in docs/results, of all presets or of one; claims and passports have columns of their own."""
    tables = (REPOSITORY / "docs/results" / preset).rglob("*.csv")
    return sorted(path for path in tables if path.stem != "claims" and path.parent.name != "passport")


def edit(path: Path, *edits: tuple[str, str]) -> None:
    """Replace parts of a file, each of which must be there."""
    text = path.read_bytes().decode()
    for old, new in edits:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new)
    path.write_text(text)


def add_kind(root: Path, kind: str) -> None:
    """Add a kind of measure of hidden states to the list of kinds, in a copy of the repository."""
    last = '    "units": Kind("encoder"),\n'
    edit(root / "workflow/crosslens/measures/kinds.py", (last, f'{last}    "{kind}": Kind("states"),\n'))


@contextlib.contextmanager
def changed(path: Path, *edits: tuple[str, str]) -> Iterator[None]:
    """A file with other text, put back as it was afterwards, its time included."""
    content, status = path.read_bytes(), path.stat()
    edit(path, *edits)
    try:
        yield
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
