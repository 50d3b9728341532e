"""One run of a training at a time; what kills leave; files that a group can read."""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from crosslens.monitoring.status import leftovers
from crosslens.runs.errors import DataError
from crosslens.storage import trainings
from crosslens.storage.files import abandoned, written
from crosslens.storage.trainings import seen
from crosslens.training.lock import _pids, alone
from safetensors.torch import save_file

WHAT = "tanti2021/pos/frozen seed 0"


@pytest.fixture
def lock(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no squeue
    return tmp_path / "seed0/.running"


def hold(lock: Path, **changes: object) -> None:
    """As another process holds it."""
    lock.parent.mkdir(exist_ok=True)
    holder = {"host": "node3", "job": "", "pid": 4567, "began": "some time", "since": "2026-11-23 05:00"} | changes
    lock.write_text(json.dumps(holder))


def squeue(lock: Path, script: str) -> None:
    """A command of that name."""
    path = lock.parents[1] / "bin/squeue"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def refusal(lock: Path) -> str:
    before = lock.read_text()
    with pytest.raises(DataError) as error, alone(lock, lock.parent, WHAT):
        raise AssertionError("two at once")
    assert lock.read_text() == before and [path.name for path in lock.parent.iterdir()] == [".running"]
    assert "\n" not in str(error.value)
    return str(error.value)


def taken(lock: Path) -> bool:
    with alone(lock, lock.parent, WHAT):
        assert json.loads(lock.read_text())["pid"] == os.getpid()
    return not lock.exists()


def test_a_second_run_is_refused_and_the_next_one_is_not(lock):
    with alone(lock, lock.parent, WHAT):
        said = refusal(lock)
    for part in (WHAT, platform.node(), f"process {os.getpid()}", f"delete {lock}"):
        assert part in said
    assert taken(lock)


def test_an_error_gives_it_back(lock):
    with pytest.raises(KeyError), alone(lock, lock.parent, WHAT):
        raise KeyError
    assert taken(lock)


@pytest.mark.parametrize("ended", ["no such process", "a process of that number that began later", "a zombie"])
def test_a_holder_on_this_machine_that_is_dead_is_replaced(lock, ended):
    process = subprocess.Popen([sys.executable, "-c", ""])
    if ended == "a zombie":
        while "Z" not in Path(f"/proc/{process.pid}/stat").read_text():
            time.sleep(0.01)
    else:
        process.wait()
    hold(lock, host=platform.node(), pids=_pids(), pid=os.getpid() if "later" in ended else process.pid)
    assert taken(lock)
    process.wait()


@pytest.mark.parametrize(
    ("script", "refused"),
    [
        ("echo RUNNING", True),
        ("echo PENDING", True),
        ("", False),
        ("echo REQUEUED", True),
        ("echo TIMEOUT", False),
        ("echo PREEMPTED", False),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", False),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", True),
    ],
)
def test_of_a_job_elsewhere_the_queue_is_asked(lock, script, refused):
    hold(lock, job="123")
    squeue(lock, script)
    if refused:
        said = refusal(lock)
        assert "node3, SLURM job 123, process 4567" in said and "scancel 123" in said and "docs/cluster.md" in said
    else:
        assert taken(lock)


def test_of_a_process_in_another_container_the_user_is_asked(lock):
    """Of the same name, whose processes are numbered anew: that there is none of this number says nothing."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    hold(lock, host=platform.node(), pid=process.pid, pids="pid:[1]")
    assert f"delete {lock}" in refusal(lock)


def test_a_job_that_was_queued_again_goes_on(lock, monkeypatch):
    hold(lock, job="123")
    assert "SLURM job 123" in refusal(lock)
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    assert taken(lock)


@pytest.mark.parametrize("content", ["", "{", "[]", "3"])
def test_of_a_lock_that_says_nothing_the_user_is_asked(lock, content):
    lock.parent.mkdir()
    lock.write_text(content)
    assert f"{lock}: expected the name of who trains" in refusal(lock)


RACE = """
import sys, time
from pathlib import Path
from crosslens.runs.errors import DataError
from crosslens.training.lock import alone
lock = Path(sys.argv[1])
while time.time() < float(sys.argv[2]):
    pass
try:
    with alone(lock, lock.parent, "a race"):
        print("in", flush=True)
        sys.stdin.read()
except DataError:
    print("out", flush=True)
"""


def test_of_many_at_once_one_has_it(lock, monkeypatch):
    hold(lock, host=platform.node(), pids=_pids(), pid=2**22 + 1)  # dead: all find so
    start = str(time.time() + 1.0)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "workflow"))
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE, lock, start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    said = [racer.stdout.readline().strip() for racer in racers]
    assert sorted(said) == ["in", *["out"] * 7]
    for racer in racers:
        racer.communicate()


# What kills leave.


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_kill_left_half_written_goes_with_the_next_start(lock):
    folder = lock.parent
    folder.mkdir()
    half_written = (".record.json.part-node3-12", ".checkpoint.safetensors.part-4", ".tmpAb12cD", ".running.node3-12")
    for name in (*half_written, "record.json"):
        (folder / name).write_text("x")
    (folder / ".model.part-node3-7").mkdir()
    assert [path.name for path in leftovers(folder)] == [name for name in parts(folder) if name != "record.json"]
    assert taken(lock)
    assert parts(folder) == ["record.json"] and leftovers(folder) == []


def test_a_write_removes_the_parts_of_dead_ones_and_of_no_other(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here, path = platform.node(), tmp_path / "encoder"
    for name in (f"{here}-{ended.pid}", f"{here}-{os.getppid()}", "node3-12", "node4-12"):
        (tmp_path / f".encoder.part-{name}").mkdir()
    (tmp_path / ".other.part-node3-12").mkdir()
    os.utime(tmp_path / ".encoder.part-node4-12", (0, 0))
    assert {found.name for found in abandoned(path)} == {f".encoder.part-{here}-{ended.pid}", ".encoder.part-node4-12"}
    with written(path) as temporary:
        temporary.mkdir()
    kept = [f".encoder.part-{here}-{os.getppid()}", ".encoder.part-node3-12", ".other.part-node3-12", "encoder"]
    assert parts(tmp_path) == sorted(kept)


def test_what_a_training_kept_goes_once_its_outputs_are_seen(tmp_path):
    (tmp_path / ".seed0.begun-0123/trial00").mkdir(parents=True)
    (tmp_path / ".seed1.begun-0123").mkdir()
    for name in ("checkpoint.safetensors", "record.json"):
        (tmp_path / name).write_text("x")
    assert [path.name for path in leftovers(tmp_path)] == ["checkpoint.safetensors"]
    seen([f"{tmp_path}/seed0"])
    assert parts(tmp_path) == [".seed1.begun-0123", "record.json"]
    seen([f"{tmp_path}/seed0"])  # there is nothing


def test_what_cannot_be_removed_ends_no_run(tmp_path, monkeypatch):
    (tmp_path / "checkpoint.safetensors").write_text("x")

    def refuse(path):
        raise PermissionError(13, "not yours", str(path))

    monkeypatch.setattr(trainings, "remove", refuse)
    seen([f"{tmp_path}/record.json"])
    assert (tmp_path / "checkpoint.safetensors").exists()


@pytest.mark.parametrize(("umask", "mode"), [(0o002, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_files_have_the_mode_that_umask_gives(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        with written(tmp_path / "model.safetensors") as temporary:
            save_file({"a": torch.zeros(3)}, temporary)
        with written(tmp_path / "folder") as temporary:
            temporary.mkdir()
            save_file({"a": torch.zeros(3)}, temporary / "model.safetensors")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    for path in (tmp_path / "model.safetensors", tmp_path / "folder/model.safetensors"):
        assert path.stat().st_mode & 0o777 == mode
