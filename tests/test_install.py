"""Installation: envs/install.sh, and when the Makefile calls it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from study import REPOSITORY

PIP = """#!/bin/sh
# Answers as pip does, at length.
case "$*" in
*freeze) exec "{python}" -c 'print("torch=={torch}"); [print("package==1.0") for _ in range(100_000)]' ;;
*check) exec "{python}" -c 'print("torch {torch} requires nvidia-x, which is not installed."); print(".\\n" * 100_000)' ;;
*) echo "$*" >>"{calls}" ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of the repository that installing needs, and a pip that answers at length and installs nothing."""
    for name in ("Makefile", "envs/install.sh", "requirements.lock", "requirements-cpu.lock", "requirements-cuda.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((REPOSITORY / name).read_bytes())
    (tmp_path / "envs/install.sh").chmod(0o755)
    lock = (tmp_path / "requirements.lock").read_text()
    torch = lock.split("\ntorch==")[1].split()[0]
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP.format(python=sys.executable, torch=torch, calls=tmp_path / "calls"))
    python.chmod(0o755)
    return tmp_path


def make(clone: Path) -> str:
    """Output of `make install`, and the calls of pip that install."""
    command = ["make", "install", f"PYTHON={sys.executable}"]
    result = subprocess.run(command, cwd=clone, capture_output=True, text=True, env=os.environ | {"MAKEFLAGS": ""})
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_an_installation_complains_of_nothing(clone):
    """pip, whose answers are cut short, would: BrokenPipeError."""
    assert "Installing the packages" in make(clone)
    installed = [line.split()[-1] for line in (clone / "calls").read_text().splitlines()]
    assert installed == ["requirements.lock", "requirements-cuda.lock"]  # torch is there, its libraries are not
    assert "Installing" not in make(clone)  # once


def test_into_the_environment_of_another_clone_nothing_is_installed(clone, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (clone / ".venv").rename(other / ".venv")
    (clone / ".venv").symlink_to(other / ".venv")
    make(clone)
    assert not (clone / "calls").exists()
    (clone / "requirements.lock").touch()
    make(clone)
    assert not (clone / "calls").exists()
