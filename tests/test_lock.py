"""The locks: exact versions with hashes, how envs/install.sh chooses among them, and the container's build steps."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_environments import REPOSITORY, lock

INSTALL = REPOSITORY / "envs/install.sh"
LOCKS = ("requirements.lock", "requirements-cuda.lock", "requirements-cpu.lock")
SOURCE_ONLY = ("connection-pool", "docopt", "seqeval")  # no wheels; all of them pure Python
# Stands in for a virtual environment's Python: notes what is installed, and says what the test lets it find.
STUB = """#!/bin/sh
case "$*" in
*" freeze") echo "$FREEZE" ;;
*" check") echo "$CHECK" ;;
*" install "*) echo "$*" | sed 's/.* -r //' >> "$NOTES"; case "$*" in *cpu.lock) exit "$WITHOUT_CPU" ;; esac ;;
esac
"""


def load_lock_script():
    spec = importlib.util.spec_from_file_location("lock", REPOSITORY / "envs/lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_a_version_and_hashes(name):
    text = (REPOSITORY / name).read_text(encoding="utf-8").replace("\\\n", "")
    entries = [line for line in text.splitlines() if line[:1].isalnum()]
    assert entries
    assert [entry for entry in entries if not re.search(r"==\S+.*--hash=sha256:[0-9a-f]{64}", entry)] == []
    others = [line for line in text.splitlines() if line and line not in entries and line[0] != "#"]
    assert others == (["-r requirements.lock"] if "cuda" in name else [])
    assert "://" not in text  # packages come from wherever pip looks for them


def test_the_builds_of_torch_are_of_one_version():
    versions = [lock(REPOSITORY / name) for name in LOCKS]
    assert versions[2] == {"torch": f"{versions[0]['torch']}+cpu"}
    assert not versions[0].keys() & versions[1].keys()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-cuda.lock", "docs/site/requirements.lock"])
def test_a_new_lock_holds_the_versions_of_the_old_one(name):
    script, names = load_lock_script(), lock(REPOSITORY / name)
    held = [Requirement(text) for text in script.held(REPOSITORY / name, set())]
    assert {canonicalize_name(requirement.name) for requirement in held} == names.keys()
    assert [requirement for requirement in held if len(requirement.specifier) != 1] == []
    twice = [requirement for requirement in held if sum(other.name == requirement.name for other in held) > 1]
    assert all(requirement.marker for requirement in twice)  # one version for each Python
    freed = next(iter(names))
    assert freed not in {canonicalize_name(Requirement(text).name) for text in script.held(REPOSITORY / name, {freed})}


def install(folder: Path, **said: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run install.sh on an environment whose Python is the stub."""
    stub, notes = folder / "bin/python", folder / "notes"
    stub.parent.mkdir(parents=True)
    stub.write_text(STUB)
    stub.chmod(0o755)
    values = {"FREEZE": "", "CHECK": "", "WITHOUT_CPU": "0"} | said | {"NOTES": str(notes)}
    result = subprocess.run([INSTALL, folder, sys.executable], env=os.environ | values, capture_output=True, text=True)
    return result, notes.read_text().splitlines()


def test_installs_the_torch_that_the_machine_can_have(tmp_path):
    torch = lock(REPOSITORY / "requirements.lock")["torch"]
    lacking = f"torch {torch} requires nvidia-cudnn-cu13, which is not installed."
    cases = [
        ({}, [LOCKS[2], LOCKS[0]]),  # for the CPU alone, where pip finds it
        ({"WITHOUT_CPU": "1"}, [LOCKS[2], LOCKS[0]]),  # macOS: none such, and none needed
        ({"WITHOUT_CPU": "1", "CHECK": lacking}, [LOCKS[2], LOCKS[0], LOCKS[1]]),
        ({"FREEZE": f"torch=={torch}+cu126"}, [LOCKS[0]]),  # it stays
        ({"FREEZE": "torch==1.0.0"}, [LOCKS[2], LOCKS[0]]),
    ]
    for number, (said, expected) in enumerate(cases):
        result, installed = install(tmp_path / str(number), **said)
        assert (result.returncode, installed) == (0, expected), (said, result.stderr)


def test_another_python_is_refused_before_anything_is_made(tmp_path):
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\ncase "$1" in -c) exit 1 ;; *) echo Python 3.10.12 ;; esac\n')
    old.chmod(0o755)
    result = subprocess.run([INSTALL, tmp_path / "venv", old], capture_output=True, text=True)
    assert result.returncode == 1
    assert (
        result.stderr
        == f"{old}: expected Python 3.11 to 3.13, found Python 3.10.12; name another one: make install PYTHON=python3.11\n"
    )
    assert not (tmp_path / "venv").exists()


def test_the_container_is_built_of_what_is_there():
    for script in ("install.sh", "container.sh"):
        subprocess.run(["sh", "-n", REPOSITORY / "envs" / script], check=True)
        assert os.access(REPOSITORY / "envs" / script, os.X_OK)
    steps = [line.split() for line in (REPOSITORY / "Dockerfile").read_text().splitlines() if line[:1].isupper()]
    named = [name for step, *words in steps if step == "COPY" for name in words[:-1] if name[:2] != "--"]
    assert [name for name in named if name != "." and not list(REPOSITORY.glob(name))] == []
    order = [step for step, *_ in steps]
    assert ["RUN", "envs/container.sh"] in steps
    assert order.index("RUN") < order.index("USER") < order.index("ENTRYPOINT")
    assert ["USER", "crosslens"] in steps and ["ENTRYPOINT", '["snakemake"]'] in steps


def test_the_image_of_apptainer_is_built_as_that_of_docker():
    """Both have the same base and steps, and read files that are there."""
    dockerfile, definition = ((REPOSITORY / name).read_text() for name in ("Dockerfile", "envs/crosslens.def"))
    (base,) = re.findall(r"^FROM (\S+)$", dockerfile, re.MULTILINE)
    sections = dict(re.findall(r"^%(\w+)\n((?:    .*\n)+)", definition, re.MULTILINE))
    assert f"Bootstrap: docker\nFrom: {base}\n" in definition and "    envs/container.sh\n" in sections["post"]
    sources = [line.split()[0] for line in sections["files"].splitlines()]
    assert {*LOCKS, "envs"} == {*sources} and all((REPOSITORY / source).exists() for source in sources)
    (path,) = re.findall(r"^ENV PATH=(\S+):\$PATH$", dockerfile, re.MULTILINE)
    assert f"export PATH={path}:$PATH" in sections["environment"]


@pytest.mark.registry
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin"])
def test_resolves_with_hashes(python, platform, tmp_path):
    """All that the packages ask for is locked, has a wheel for the platform and has that wheel's hash."""
    name = LOCKS[0] if "darwin" in platform else LOCKS[1]
    wheels = [f"--only-binary={package}" for package in lock(REPOSITORY / LOCKS[0]) if package not in SOURCE_ONLY]
    command = ["uv", "pip", "install", "--dry-run", "--require-hashes", "--target", tmp_path, "--python", sys.executable]
    command += ["--python-platform", platform, "--python-version", python, *wheels, "-r", REPOSITORY / name]
    result = subprocess.run(command, env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert f"torch=={lock(REPOSITORY / LOCKS[0])['torch']}" in result.stderr
    assert ("nvidia-cudnn" in result.stderr) == ("manylinux" in platform)
