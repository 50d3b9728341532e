"""Jobs in the image of the Dockerfile, by a stand-in for apptainer: switching it on, or off again, reruns nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from study import REPOSITORY, copy_repository, environment

TARGET = "results/tiny/corpora/udpos"
PYTHON = f"""#!/bin/sh
echo "$APPTAINER_CONTAINER $HOME" >>"$HOME/containers.txt"
exec "{sys.executable}" "$@"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the repository, with the stand-in in bin/."""
    root = copy_repository(tmp_path / "clone")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apptainer").symlink_to(REPOSITORY / "tests/apptainershim")
    return root


def snakemake(root: Path, *options: str, status: int = 0) -> str:
    """Output of Snakemake; a process of its own, since it keeps the Python of scripts."""
    command = [sys.executable, "-m", "snakemake", "--profile", "tests/workflow", TARGET, *options]
    path = f"{root.parent / 'bin'}:{environment()['PATH']}"
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment() | {"PATH": path})
    assert result.returncode == status, result.stderr
    return result.stdout + result.stderr


@pytest.mark.long
def test_jobs_run_in_the_image_and_switching_reruns_nothing(root):
    apptainer = ("--sdm", "apptainer", "--apptainer-args", f"--nv --bind {root.parent}")
    assert "crosslens.sif: expected the image for --sdm apptainer, found none; build it" in snakemake(root, *apptainer, status=1)
    assert not (root / TARGET).exists()

    python = root / "crosslens.sif/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    assert "Activating singularity image crosslens.sif" in snakemake(root, *apptainer)
    containers = (root / "containers.txt").read_text().splitlines()
    assert containers == [f"{root / 'crosslens.sif'} {root}"] * 2  # the treebanks are written, then read

    assert "Nothing to be done" in snakemake(root)
    assert "Nothing to be done" in snakemake(root, *apptainer)
    os.utime(root / "crosslens.sif")
    assert "Nothing to be done" in snakemake(root, *apptainer)
