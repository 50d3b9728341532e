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
from crosslens.commands.status import leftovers
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import abandoned, written
from crosslens.jobs.training_folders import seen
from crosslens.training.lock import Holder, alone
from safetensors.torch import save_file

WHAT = "tanti2021/pos/frozen seed 0"
LIBRARY = {"PYTHONPATH": str(Path(__file__).parents[1] / "workflow")}


@pytest.fixture
def lock(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no squeue
    return tmp_path / "seed0/.running"


def hold(lock: Path, **changes: object) -> None:
    """As another process holds it."""
    lock.parent.mkdir(exist_ok=True)
    holder = {"machine": "node3 pid:[1]", "job": "", "pid": 4567, "began": "some time"} | changes
    lock.write_text(json.dumps(holder))


def squeue(lock: Path, script: str) -> None:
    """A command of that name."""
    path = lock.parents[1] / "bin/squeue"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def refusal(lock: Path) -> str:
    before = sorted(lock.parent.rglob("*"))
    with pytest.raises(DataError) as error, alone(lock, lock.parent, WHAT):
        raise AssertionError("two at once")
    assert sorted(lock.parent.rglob("*")) == before
    assert "\n" not in str(error.value) and f"delete {lock}" in str(error.value)
    return str(error.value)


def taken(lock: Path) -> bool:
    with alone(lock, lock.parent, WHAT):
        assert json.loads(lock.read_text())["pid"] == os.getpid()
    return not lock.exists()


def test_a_second_run_is_refused_and_the_next_one_is_not(lock):
    with pytest.raises(KeyError), alone(lock, lock.parent, WHAT):
        holder = f"process {os.getpid()} on {platform.node()}"
        assert f"{WHAT}: expected no second process for this training run, found {holder}:" in refusal(lock)
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
    hold(lock, machine=Holder.here().machine, pid=os.getpid() if "later" in ended else process.pid)
    assert taken(lock)
    process.wait()


@pytest.mark.parametrize(
    ("script", "refused"),
    [
        ("echo RUNNING", True),
        ("echo REQUEUED", True),
        ("", False),
        ("echo TIMEOUT", False),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", False),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", True),
    ],
)
def test_of_a_job_elsewhere_the_queue_is_asked(lock, script, refused):
    hold(lock, job="123")
    squeue(lock, script)
    if refused:
        assert "process 4567 on node3, SLURM job 123" in refusal(lock)
    else:
        assert taken(lock)


def test_a_job_that_was_queued_again_goes_on(lock, monkeypatch):
    hold(lock, job="123")
    assert "SLURM job 123" in refusal(lock)
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    assert taken(lock)


def test_of_a_process_in_another_container_the_user_is_asked(lock):
    """Two containers may have the same host name and number their processes alike, so a missing process proves nothing."""
    hold(lock, machine=f"{platform.node()} pid:[1]", pid=2**22 + 1)
    assert f"process {2**22 + 1} on {platform.node()}" in refusal(lock)


NO_LOCKS = [
    "", "{", "[" * 9999, "{}", "[]", '{"pid": 4567}', " " * 10**7,
    *(json.dumps({"machine": Holder.here().machine, "job": "", "began": "", "pid": pid}) for pid in (-1, 0, 2**31, 2**70)),
    Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("missing"),
]  # fmt: skip


@pytest.mark.parametrize("place", NO_LOCKS, ids=range(len(NO_LOCKS)))
@pytest.mark.fault("A lock file that cannot be one", "refused")
def test_of_a_lock_that_says_nothing_the_user_is_asked(lock, place):
    lock.parent.mkdir()
    lock.write_text(place) if isinstance(place, str) else place(lock)
    refusal(lock)


RACE = """
import sys, time
from pathlib import Path
from crosslens.jobs.errors import DataError
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


def test_of_many_at_once_one_has_it(lock):
    hold(lock, machine=Holder.here().machine, pid=2**22 + 1)  # dead: all find so
    command = [sys.executable, "-c", RACE, str(lock), str(time.time() + 1.0)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen(command, env=os.environ | LIBRARY, **pipes) for _ in range(8)]
    assert sorted(racer.stdout.readline().strip() for racer in racers) == ["in", *["out"] * 7]
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


def test_a_write_removes_what_a_killed_one_left_after_a_day(tmp_path, monkeypatch):
    path = tmp_path / "encoder"
    code = f"import os, signal\nfrom crosslens.jobs.files import written\nwith written({str(path)!r}) as temporary:\n"
    code += "    temporary.mkdir(); (temporary / 'half').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], env=os.environ | LIBRARY)
    (folder,) = tmp_path.glob(".encoder.part-*")
    os.utime(folder, (0, 0))  # times that a copy has, too
    (tmp_path / ".encoder.part-link").symlink_to(tmp_path)
    (tmp_path / ".encoder.party").mkdir()
    assert abandoned(path) == []
    monkeypatch.setattr("crosslens.jobs.files.ABANDONED", -1.0)
    with written(path) as temporary:
        temporary.mkdir()
    assert parts(tmp_path) == [".encoder.part-link", ".encoder.party", "encoder"]


def test_what_a_training_kept_goes_once_its_outputs_are_seen(tmp_path):
    (tmp_path / ".seed0.begun-0123/trial00").mkdir(parents=True)
    (tmp_path / ".seed1.begun-0123").mkdir()
    for name in ("checkpoint.safetensors", "record.json"):
        (tmp_path / name).write_text("x")
    assert [path.name for path in leftovers(tmp_path)] == ["checkpoint.safetensors"]
    seen([f"{tmp_path}/seed0"])
    assert parts(tmp_path) == [".seed1.begun-0123", "record.json"]
    seen([f"{tmp_path}/seed0"])  # there is nothing


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
