"""Scripts of the workflow on a disk that is full, or that may not be written: one line, and nothing under a final name."""

import json
import os
import resource
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crosslens.jobs.checksums import write_checksums
from synthetic.archives import tarred

ROOT = Path(__file__).parents[2]
CALL = """
import json, runpy, sys
from types import SimpleNamespace
class Files(SimpleNamespace):
    def __iter__(self):
        return iter(vars(self).values())
    def get(self, name):
        return vars(self).get(name)
given = json.loads(sys.argv[2])
objects = {name: Files(**given.get(name, {})) for name in ("wildcards", "input", "params")}
config = {"mirror": given.get("mirror", [])}
snakemake = SimpleNamespace(**objects, output=[given["output"]], log=[given["log"]], config=config, threads=1)
runpy.run_path(sys.argv[1], {"snakemake": snakemake})
"""


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[int | None]:
    """A disk of that size at `folder`, where one may be mounted; else yields the size in bytes that its files may have."""
    folder.mkdir()
    size = f"size={kilobytes}k"
    command = ["mount", "-t", "tmpfs", "-o", size, "none", str(folder)]
    mounted = bool(shutil.which("mount")) and not subprocess.run(command, capture_output=True).returncode
    try:
        yield None if mounted else kilobytes * 1000
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def called(script: str, given: dict[str, Any], *, temporary: Path | None = None, largest: int | None = None) -> tuple[str, str]:
    """What a script that must fail says, and its log."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "OMP_NUM_THREADS": "1"}
    environment |= {"TMPDIR": str(temporary)} if temporary else {}

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [sys.executable, "-c", textwrap.dedent(CALL), str(ROOT / "workflow/scripts" / script), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, preexec_fn=limit, timeout=120)
    assert done.returncode == 1, done.stderr
    log = Path(given["log"])
    return done.stderr, log.read_text("utf-8") if log.exists() else ""


def cases(folder: Path, encoder: Path, corpora: Path) -> list[tuple[str, int, bool, dict[str, Any]]]:
    """Script, kilobytes of the disk, whether that has the temporary files instead of the output, and what the script is given."""
    mirror = folder / "mirror"
    mirror.mkdir()
    (mirror / "file.bin").write_bytes(Random(0).randbytes(10**6))
    archive = folder / "ud.tar"
    archive.write_bytes(tarred({"ud/x.conllu": bytes(10**6)}))
    known = {"source": "folder", "path": str(encoder), "corpora": []}
    fetched = {"urls": [], "mirror": [""], "sha256": None, "size": None, "manual": None}
    parts = {str(archive): {"de.test": ["*.conllu"]}}
    fetch = {"wildcards": {"source": "s", "path": "file.bin"}, "params": {"settings": fetched}, "mirror": [str(mirror)]}
    tokenizer = {"input": {"hub": [], "shared": []}, "params": {"settings": {"encoder": known, "texts": [], "package": {}}}}
    settings = {"encoder": known, "package": {}, "rehearse": None}
    weights = {"input": {"hub": [], "tokenizer": str(encoder)}, "params": {"settings": settings}}
    files = {"parts": [["de", "train"]], "files": [str(corpora / "sentences" / "de.train.parquet")]}
    tokens = {
        "wildcards": {"tokenisation": "short"},
        "input": {"tokenizer": str(encoder), "punkt": []},
        "params": {"settings": files | {"tokenisation": {"maximum": 24, "drop_unknown": False}, "shared": {"languages": []}}},
    }
    write_checksums(archive)
    corpus = {
        "input": {"archive": str(archive)},
        "params": {"settings": {"reader": "treebanks", "parts": parts, "rows": {"seed": 0, "limits": {}, "texts": {}}}},
    }
    return [
        ("encoder.py", 64, False, weights),
        ("fetch.py", 200, False, fetch),
        ("corpus.py", 64, True, corpus),
        ("tokens.py", 4, False, tokens),
        ("tokenizer.py", 8, False, tokenizer),
        ("encoder.py", 200, False, weights),
        ("fetch.py", 4, False, fetch),
    ]


def test_full_disks(tmp_path, encoder_folder, corpora, often, tally) -> None:
    counted = tally("The disk is full while a job writes")
    once = cases(tmp_path, encoder_folder, corpora)
    tries = [(*case, log_too) for log_too in (False, True) for case in once if not (log_too and case[2])]
    for number, (script, kilobytes, temporary, given, log_too) in enumerate(tries[: often(len(tries), 1)]):
        disk = tmp_path / f"disk {number}"
        with small_disk(disk, kilobytes) as largest:
            output = tmp_path / f"results{number}" / "made" if temporary else disk / "made"
            log = disk / "log" if log_too else tmp_path / f"{number}.log"
            paths = {"output": str(output), "log": str(log)}
            said, logged = called(script, given | paths, temporary=disk if temporary else None, largest=largest)
            files = [path for folder in (disk, output.parent) for path in folder.rglob("*") if path.is_file()]
        assert set(files) <= {log}, f"{script}: half-written: {files}"
        assert "Traceback" not in said + logged and "Logging error" not in said, said
        last = said.strip().splitlines()[-1]
        assert "expected room to write it, found: " in last and f" free now in {tmp_path}" in last, said
        assert "docs/troubleshooting.md" in last, said
        counted.refused += 1
        counted.seen = counted.seen or last.replace(str(tmp_path), "RESULTS")


def test_a_folder_that_may_not_be_written(tmp_path, encoder_folder, corpora, often, tally) -> None:
    """Read-only, as a mount is where there may be one; else by its permissions, which a root does not heed."""
    counted = tally("A job's folder may not be written")
    disk = tmp_path / "disk"
    with small_disk(disk, 4000) as largest:
        if largest is not None and os.getuid() == 0:
            pytest.skip("root heeds no permissions, and nothing can be mounted")
        if largest is None:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        else:
            disk.chmod(0o555)
        try:
            for number, (script, _, _, given) in enumerate(cases(tmp_path, encoder_folder, corpora)[: often(5, 1)]):
                output = disk / "made"
                said, _ = called(script, given | {"output": str(output), "log": str(tmp_path / f"{number}.log")})
                assert "Traceback" not in said, said
                assert "expected a file that may be read, or a folder that may be written" in said.strip().splitlines()[-1]
                counted.refused += 1
                counted.seen = said.strip().splitlines()[-1].replace(str(tmp_path), "RESULTS")
        finally:
            if largest is not None:
                disk.chmod(0o755)
