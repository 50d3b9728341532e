"""Installation: envs/install.sh, and when the Makefile calls it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from study import REPOSITORY, copy_repository, snakemake

PIP = """#!/bin/sh
# Answers as pip does, at length.
case "$*" in
*freeze) exec "{python}" -c 'print("torch=={torch}"); [print("package==1.0") for _ in range(100_000)]' ;;
*check) exec "{python}" -c 'print("torch {torch} requires nvidia-x, which is not installed."); print(".\\n" * 100_000)' ;;
*) echo "$*" >>"{calls}" ;;
esac
"""

OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # variables of the make that runs the tests
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in OF_MAKE}


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
    result = subprocess.run(command, cwd=clone, capture_output=True, text=True, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize("name", ["a b", "a{b}", "a}", "a'b", 'a"b', "a$b", "a;b", "a(b)", "a&b", "a`b", "a\tb"])
@pytest.mark.fault("A clone in whose path jobs cannot start", "refused")
def test_a_clone_in_whose_path_nothing_would_run_is_refused_first(clone, name):
    folder = clone.rename(clone.with_name(name))
    result = subprocess.run(["make", "install"], cwd=folder, capture_output=True, text=True, env=ENVIRONMENT)
    assert result.returncode
    assert result.stderr.startswith(f"{folder}: expected a path without spaces, braces, quotes or other")
    assert not (folder / "calls").exists() and not result.stdout


@pytest.mark.parametrize("name", ["clone", "é日本", "a-b_c.d+e,f@g=h%i~j#k"])
def test_other_paths_are_installed_into(clone, name):
    folder = clone.rename(clone.with_name(name))
    (folder / "envs/install.sh").write_text("#!/bin/sh\n")
    command = ["make", "install", f"PYTHON={sys.executable}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=ENVIRONMENT)
    assert (folder / ".venv/installed").exists()


@pytest.mark.fault("A clone in whose path jobs cannot start", "refused")
def test_a_clone_with_braces_in_its_path_is_refused_in_a_line(tmp_path):
    """Without make too: Snakemake would take them for wildcards."""
    root = copy_repository(tmp_path / "a{b}")
    said = snakemake(root, "--profile", "demo", "-n", "--", "results/demo/corpora/xnli", works=False)
    assert f"{root}: expected a path without {{ and }}, which mark wildcards; move the clone" in said
    assert "Traceback" not in said and "NameError" not in said and len(said.splitlines()) < 7, said


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


def test_a_moved_or_copied_clone_is_installed_again(clone):
    """Its programs would run the packages of the other."""
    pip = clone / ".venv/bin/pip"
    pip.write_text(f"#!{clone}/.venv/bin/python\n")
    make(clone)
    assert "Installing" not in make(clone)
    moved = clone.rename(clone.with_name("moved"))
    (moved / "envs/install.sh").write_text(f"#!/bin/sh\nmkdir -p .venv/bin; echo '#!{moved}/.venv/bin/python' > .venv/bin/pip\n")
    assert "belong to a clone in another folder" in make(moved)
    assert not (moved / ".venv/bin/python").exists() and "Installing" not in make(moved)


RECORDER = """#!/bin/sh
printf '%s\\0' "$@" >>"{calls}"
"""
# make starts each of these for SETTING=VALUE: the target, and the word or words that the program then receives; of TARGET, its
# words.
USES = {
    ("ENCODER", "try"): ["{}"],
    ("ENCODER", "passport"): ["{}"],
    ("ENCODER", "convert"): ["{}"],
    ("OUT", "convert"): ["{}"],
    ("RESULTS", "archive"): ["{}"],
    ("OUT", "archive"): ["{}"],
    ("ARCHIVE", "verify"): ["{}"],
    ("TARGET", "cost"): ["--"],
    ("TARGET", "prefetch"): ["--"],
    ("RESULTS", "status"): ["--", "{}"],
    ("PAPER", "status"): ["--paper={}"],
    ("OVERLAY", "cost"): ["--overlay={}"],
    ("OVERLAY", "prefetch"): ["--overlay={}"],
    ("GPUS", "cost"): ["--gpus={}"],
    ("PROFILE", "cost"): ["--profile={}"],
    ("PROFILE", "prefetch"): ["--profile={}"],
    ("REHEARSE", "cost"): ["--config", "rehearse={}"],
    ("SEEDS", "demo"): ["--config", "seeds=[{}]"],
    ("LIST", "prefetch"): ["--dry-run"],
    ("PACKAGES", "lock"): [],
    ("PYTHON", "build/site-tools/installed"): [],
}
NAMES = [
    "$(touch x)", "`touch x`", "; touch x;", "' ; touch x ; '", '" ; touch x ; "', "a & touch x &", "a | touch x", "a\ntouch x\n",
    "> x", "$(shell touch x)", "${shell touch x}", "$(eval x := $(shell touch x))", "$${IFS}", "$HOME", "$$", "$(RESULTS)", "-x",
    "--help", "a b", " a", "a\\", "a\\\n", "#a", "a#b", "%", "*", "~", "a:b=c", "ü\t日本", "$(info x)$(error x)", "!x", "{a,b}", 
    "a\r", ")", "$(",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(USES)))
@pytest.mark.parametrize("source", ["command line", "environment"])
@pytest.mark.fault("Shell commands in the settings of make and in the clone's name", "survived")
def test_what_a_user_sets_arrives_whole_and_is_not_run(clone, number, source):
    """Each setting with every fourth name, each name with several settings."""
    setting, target = [*USES][number]
    calls = clone / "calls"
    for name in ("python", "snakemake"):
        (clone / ".venv/bin" / name).write_text(RECORDER.format(calls=calls))
        (clone / ".venv/bin" / name).chmod(0o755)
    (clone / ".venv/installed").touch()
    (clone / "docs/site").mkdir(parents=True)
    (clone / "docs/site/requirements.lock").touch()
    names = NAMES[number % 4 :: 4]
    for value in names if source == "environment" else map(str.lstrip, names):  # from its command line make removes such blanks
        words = [f"{setting}={value}"] if source == "command line" else []
        variables = ENVIRONMENT | ({setting: value} if source == "environment" else {})
        subprocess.run(["make", target, *words], cwd=clone, capture_output=True, env=variables)
        received = calls.read_bytes().decode().split("\0") if calls.exists() else []
        expected = [word.format(value) for word in USES[setting, target]]
        expected += re.findall(r"[^ \t\n]+", value) if setting == "TARGET" else []
        assert not [name for name in ("x", "x;", "-x") if (clone / name).exists()], value
        assert any(received[start : start + len(expected)] == expected for start in range(len(received) + 1)), (value, received)
        calls.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "name", ["$(touch x)", "`touch x`", "a;touch x", "a'b", 'a"b', "a$b", "a&b", "-a", "a%b", "a*b", "(a)", "a|b"]
)
@pytest.mark.fault("Shell commands in the settings of make and in the clone's name", "survived")
def test_the_name_of_the_clone_is_not_run(clone, name):
    other = clone / name
    other.mkdir()
    for part in ("Makefile", "envs", "requirements.lock", ".venv"):
        (clone / part).rename(other / part)
    (other / ".venv/bin/python").write_text(RECORDER.format(calls=clone / "calls"))
    result = subprocess.run(["make", "status"], cwd=other, capture_output=True, text=True, env=ENVIRONMENT)
    assert not list(clone.rglob("x")) and ("expected a path without" in result.stderr or (clone / "calls").exists()), (
        result.stderr
    )
