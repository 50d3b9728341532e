"""Jobs in conda environments and in the image of the Dockerfile, by stand-ins; switching either on, or off, reruns nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from study import REPOSITORY, copy_repository, edit, environment

pytestmark = pytest.mark.deployment

TARGET = "results/tiny/corpora/udpos"
CONDA = ("--sdm", "conda")
PYTHON = f"""#!/bin/sh
echo "$APPTAINER_CONTAINER $HOME" >>"$HOME/containers.txt"
exec "{sys.executable}" "$@"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the repository, beside bin/ with the stand-ins."""
    subprocess.run([sys.executable, REPOSITORY / "tests/condashim", "install", tmp_path], check=True)
    (tmp_path / "bin/apptainer").symlink_to(REPOSITORY / "tests/apptainershim")
    return copy_repository(tmp_path / "clone")


def snakemake(root: Path, *options: str, status: int = 0) -> str:
    """Output of Snakemake, as a command, whose scripts run in environments and containers."""
    command = [sys.executable, "-m", "snakemake", "--profile", "tests/workflow", TARGET, *options]
    path = f"{root.parent / 'bin'}:{environment()['PATH']}"
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment() | {"PATH": path})
    assert result.returncode == status, result.stderr
    return result.stdout + result.stderr


def test_jobs_run_in_environments_and_in_the_image_and_switching_reruns_nothing(root):
    apptainer = ("--sdm", "apptainer", "--apptainer-args", f"--nv --bind {root.parent}")
    assert "crosslens.sif: expected the image for --sdm apptainer, found none; build it" in snakemake(root, *apptainer, status=1)
    assert not (root / TARGET).exists()

    said = snakemake(root, *CONDA)
    assert "Creating conda environment" in said and "Activating conda environment" in said
    assert (root / TARGET).exists()
    assert "Nothing to be done" in snakemake(root)
    pins = root / "envs/corpora.yaml"
    pins.write_text(f"# a comment\n{pins.read_text()}")
    assert "Nothing to be done" in snakemake(root, *CONDA)

    python = root / "crosslens.sif/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    assert "Nothing to be done" in snakemake(root, *apptainer)
    edit(pins, ("  - python=", "  - pip\n  - python="))
    assert "Params have changed" in snakemake(root, "-n", "--quiet", "host")
    assert "Activating singularity image crosslens.sif" in snakemake(root, *apptainer)
    containers = (root / "containers.txt").read_text().splitlines()
    assert containers == [f"{root / 'crosslens.sif'} {root}"] * 2  # the treebanks are written, then read
    os.utime(root / "crosslens.sif")
    assert "Nothing to be done" in snakemake(root, *apptainer)
