"""One run of a training at a time; what kills leave; files that a group can read."""

import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from crosslens.monitoring.status import leftovers
from crosslens.runs.errors import DataError
from crosslens.storage import trainings
from crosslens.storage.files import abandoned, remove, written
from crosslens.storage.seals import sealed
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


HOLDER = {"host": platform.node(), "job": "", "pid": 4567, "pids": _pids(), "began": "", "since": ""}
PIDS = [-1, 0, -(2**31), 2**31, 2**70, True, None, "12", 1.0, 1e300, [1], {"pid": 1}]
NO_HOLDERS = [{}, [], 3, None, "text", *({**HOLDER, "pid": pid} for pid in PIDS), {**HOLDER, "host": 3}, {**HOLDER, "job": {}},
              {**HOLDER, "host": "x" * 1000}, {"pid": 1}]  # fmt: skip
NO_TEXTS = [
    "",
    "{",
    "[" * 9999,
    '{"pid":' * 9999,
    '{"a": ' + "[" * 9000 + "]" * 9000 + "}",
    "\0" * 99,
    '{"pid": NaN}',
    "9" * 5000,
    '{"pid": ' + "9" * 9000 + "}",
]


@pytest.mark.parametrize("content", [*map(json.dumps, NO_HOLDERS), *NO_TEXTS], ids=lambda content: content[:20])
@pytest.mark.fault("A lock file that cannot be one", "refused")
def test_of_a_lock_that_says_nothing_the_user_is_asked(lock, content):
    lock.parent.mkdir()
    lock.write_text(content)
    assert f"{lock}: expected the name of who trains" in refusal(lock)


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
        server.bind(path.name)


def link_to_a_lock(path: Path) -> None:
    path.with_name("other").write_text(json.dumps(HOLDER))
    path.symlink_to("other")


@pytest.mark.parametrize(
    "place",
    [
        Path.mkdir, os.mkfifo, socket_at, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("missing"),
        lambda path: path.symlink_to(path), lambda path: path.symlink_to(path.parent), link_to_a_lock,
        lambda path: path.write_bytes(b"\xff\xfe"), lambda path: path.write_text(" " * 10**7),
        lambda path: (path / "in").mkdir(parents=True),
    ],
)  # fmt: skip
@pytest.mark.fault("A lock file that cannot be one", "refused")
def test_what_cannot_be_a_lock_is_named_and_stays(lock, place):
    lock.parent.mkdir()
    place(lock)
    before = sorted(lock.parent.rglob("*"))
    with pytest.raises(DataError) as error, alone(lock, lock.parent, WHAT):
        raise AssertionError("two at once")
    assert str(error.value).startswith(f"{lock}: expected a lock file, found") and "\n" not in str(error.value)
    assert sorted(lock.parent.rglob("*")) == before


def test_a_link_at_a_name_like_its_temporary_ones_is_not_followed(lock):
    lock.parent.mkdir()
    victim = lock.parents[1] / "victim"
    victim.write_text("x")
    (lock.parent / f".running.{platform.node()}-{os.getpid()}").symlink_to(victim)
    assert taken(lock) and victim.read_text() == "x"


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


def unfinished(path: Path) -> Path:
    """Temporary folder of a process that was killed while it wrote a path."""
    code = f"import os, signal\nfrom crosslens.storage.files import written\nwith written({str(path)!r}) as temporary:\n"
    code += "    temporary.mkdir(); (temporary / 'half').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "workflow")})
    (folder,) = path.parent.glob(f".{path.name}.part-*")
    return folder


def test_a_write_removes_what_a_killed_one_left_after_a_day(tmp_path, monkeypatch):
    folder, path = unfinished(tmp_path / "encoder"), tmp_path / "encoder"
    os.utime(folder, (0, 0))  # times that a copy has, too
    assert abandoned(path) == []
    monkeypatch.setattr("crosslens.storage.files.ABANDONED", 0.0)
    (tmp_path / ".encoder.part-link").symlink_to(tmp_path)
    (tmp_path / ".encoder.party").mkdir()
    assert abandoned(path) == [folder] and abandoned(tmp_path / "other") == []
    with written(path) as temporary:
        temporary.mkdir()
        assert temporary.parent not in abandoned(path)  # it is locked, whoever asks
        with written(path) as later:
            later.mkdir()
    assert parts(tmp_path) == [".encoder.part-link", ".encoder.party", "encoder"]


def test_a_writer_in_another_process_stays_whatever_its_number(tmp_path, monkeypatch):
    """As one in another container, whose number no process has here, or another process."""
    monkeypatch.setattr("crosslens.storage.files.ABANDONED", 0.0)
    path = tmp_path / "corpus"
    code = f"import sys\nfrom crosslens.storage.files import written\nwith written({str(path)!r}) as temporary:\n"
    code += "    temporary.mkdir(); (temporary / 'de').write_text('x'); print(flush=True)\n"
    code += "    sys.stdin.read(); (temporary / 'en').write_text('x')"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "workflow")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as other:
        other.stdout.readline()
        with written(path) as temporary:
            temporary.mkdir()
        other.communicate()
    assert other.returncode == 0 and parts(path) == ["de", "en"] and parts(tmp_path) == ["corpus"]


def planted_link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent / "elsewhere")


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.mkdir()


@pytest.mark.parametrize(
    "replace", [shutil.rmtree, planted_link, moved, lambda folder: (shutil.rmtree(folder), folder.write_text(""))]
)
@pytest.mark.parametrize("write", [written, sealed])
@pytest.mark.parametrize("again", [True, False])
@pytest.mark.fault("The temporary folder of a writer is replaced", "refused")
def test_what_lies_in_a_folder_that_was_replaced_is_not_sealed(tmp_path, replace, write, again):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "corpus").write_text("before")
    with pytest.raises((DataError, NotADirectoryError)), write(tmp_path / "corpus") as temporary:
        temporary.mkdir()
        (temporary / "de").write_text("x")
        replace(temporary.parent)
        if again:
            temporary.mkdir(parents=True)
            (temporary / "en").write_text("x")
    assert (tmp_path / "corpus").read_text() == "before" and not list(tmp_path.glob("*.sha256"))


def test_no_link_is_followed(tmp_path):
    """Neither at a name like a temporary one, nor at the path itself, nor at a leftover."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("x")
    for name in (f".corpus.part-{platform.node()}-{os.getpid()}", "corpus"):
        (tmp_path / name).symlink_to(victim)
    with written(tmp_path / "corpus") as temporary:
        temporary.mkdir()
    remove(tmp_path / f".corpus.part-{platform.node()}-{os.getpid()}")
    assert parts(tmp_path) == ["corpus", "victim"] and not (tmp_path / "corpus").is_symlink() and parts(victim) == ["file"]


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
