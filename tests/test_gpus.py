"""Several GPUs on one machine: each job has its own. They are pretended, by a program in the place of nvidia-smi."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from crosslens.encoding.encoders.load import default_device
from crosslens.jobs import gpus
from crosslens.jobs.errors import DataError
from crosslens.jobs.machine import processor

LOG = logging.getLogger("crosslens.tests")
REPOSITORY = Path(__file__).parents[1]
JOB = """
import logging, os, sys, time
from pathlib import Path
from crosslens.jobs import gpus
from crosslens.jobs.errors import DataError
number, folder, seconds = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
gpus.SECONDS = 0.05
gpus.take(number, logging.getLogger(), folder)
print(os.environ["CUDA_VISIBLE_DEVICES"], time.monotonic(), flush=True)
time.sleep(seconds)
print(time.monotonic(), flush=True)
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """With as many GPUs as asked for."""
    for name in (gpus.VISIBLE, gpus.JOBS, "SLURM_JOB_GPUS", *gpus.SCHEDULERS):
        monkeypatch.delenv(name, raising=False)
    # What the test itself takes is given back, and is not seen by the tests after it.
    monkeypatch.setattr(gpus, "_HELD", [])

    def with_gpus(number: int, *, instances: tuple[int, ...] = ()) -> Path:
        """instances: number of MIG instances of each GPU."""
        program = tmp_path / "bin/nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        lines = []
        for gpu, parts in zip(range(number), [*instances, *[0] * number], strict=False):
            lines += [f"GPU {gpu}: NVIDIA A100-SXM4-40GB (UUID: GPU-{gpu})"]
            lines += [f"  MIG 3g.20gb     Device  {part}: (UUID: MIG-{gpu}{part})" for part in range(parts)]
        lists = "".join(f"    echo '{line}'\n" for line in lines)
        program.write_text(f"#!/bin/sh\nif test $1 = --list-gpus; then\n    :\n{lists}else echo 535.104.05; fi\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return tmp_path

    yield with_gpus
    for held in gpus._HELD:
        os.close(held)
    os.environ.pop(gpus.VISIBLE, None)


def job(folder: Path, number: int = 1, seconds: float = 0.5) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow")}
    command = [sys.executable, "-c", JOB, str(number), str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_jobs_at_a_time_never_share_a_gpu(machine):
    folder = machine(3)
    jobs = [job(folder) for _ in range(9)]
    spans = []
    for process in jobs:
        first, last = process.communicate(timeout=300)[0].splitlines()
        gpu, began = first.split()
        spans.append((gpu, float(began), float(last)))
    assert {gpu for gpu, *_ in spans} == {"0", "1", "2"} and max(Counter(gpu for gpu, *_ in spans).values()) <= 5
    for gpu, began, ended in spans:
        assert not [other for other in spans if other[0] == gpu and began < other[1] < ended]


def test_a_killed_job_gives_its_gpu_back(machine):
    folder = machine(2)
    held = [job(folder, seconds=60) for _ in range(2)]
    taken = sorted(each.stdout.readline().split()[0] for each in held)
    assert taken == ["0", "1"]
    waiting = job(folder, seconds=0)
    time.sleep(1.0)
    assert waiting.poll() is None
    held[0].send_signal(signal.SIGKILL)
    held[0].wait()
    assert waiting.communicate(timeout=300)[0].split()[0] in taken
    held[1].kill()
    held[1].wait()


def test_two_jobs_of_several_gpus_do_not_wait_for_each_other(machine):
    folder = machine(3)
    pairs = [job(folder, number=2, seconds=0.2) for _ in range(4)]
    assert {len(each.communicate(timeout=300)[0].split()[0].split(",")) for each in pairs} == {2}


def gpus_of_jobs(folder: Path, *numbers: int) -> list[list[str]]:
    """The GPUs of jobs of this process, one after the other, that ask for so many."""
    names = []
    for number in numbers:
        os.environ.pop(gpus.VISIBLE, None)
        names.append(gpus.take(number, LOG, folder))
    os.environ.pop(gpus.VISIBLE, None)
    return names


def test_as_many_jobs_share_a_gpu_as_is_allowed(machine, monkeypatch):
    """Every GPU has a first job before one has a second; a seventh job waits."""
    folder = machine(3)
    monkeypatch.setenv(gpus.JOBS, "2")
    assert gpus_of_jobs(folder, *[1] * 6) == [["0"], ["1"], ["2"]] * 2
    waiting = job(folder, seconds=0)
    time.sleep(1.0)
    assert waiting.poll() is None
    os.close(gpus._HELD.pop(1))
    assert waiting.communicate(timeout=300)[0].split()[0] == "1"


def test_a_job_of_several_gpus_never_has_two_places_of_one(machine, monkeypatch):
    """One that wants more than there are gets all."""
    monkeypatch.setenv(gpus.JOBS, "4")
    two, all_of_them = gpus_of_jobs(machine(3), 2, 4)
    assert two == ["0", "1"] and sorted(all_of_them) == ["0", "1", "2"]


@pytest.mark.parametrize("text", ["0", "two", "-1", ""])
def test_a_number_of_jobs_that_is_none_is_named(machine, monkeypatch, text):
    monkeypatch.setenv(gpus.JOBS, text)
    with pytest.raises(DataError, match=rf"^CROSSLENS_JOBS_PER_GPU: expected a whole number from 1, found '{text}': unset it"):
        gpus.take(1, LOG, machine(2))


@pytest.mark.parametrize(
    ("number", "asked", "environment"),
    [
        (4, 1, {"CUDA_VISIBLE_DEVICES": "2"}),  # set for each job
        (4, 1, {"CUDA_VISIBLE_DEVICES": ""}),  # switched off
        (4, 2, {"SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "0,1"}),  # what it asked for
        (4, 4, {"SLURM_JOB_ID": "7"}),
        (4, 0, {}),  # a job without
        (1, 1, {}),  # a machine with one, which jobs share as before
    ],
)
def test_nothing_changes_where_there_is_nothing_to_share_out(machine, monkeypatch, number, asked, environment):
    folder = machine(number)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert gpus.take(asked, LOG, folder) == []
    assert os.environ.get(gpus.VISIBLE) == environment.get(gpus.VISIBLE)


def test_jobs_within_an_allocation_share_it(machine, monkeypatch):
    """As on a machine without a scheduler; of another allocation the same numbers are other GPUs."""
    machine(4)
    monkeypatch.setenv(gpus.VISIBLE, "0,1")
    monkeypatch.setenv("TMPDIR", os.fspath(machine(4)))
    monkeypatch.setattr(tempfile, "tempdir", None)
    taken = []
    for allocation in ("7", "7", "8"):
        monkeypatch.setenv("SLURM_JOB_ID", allocation)
        monkeypatch.setenv(gpus.VISIBLE, "0,1")
        taken += gpus.take(1, LOG)
    assert taken == ["0", "1", "0"]


VARIABLES = {  # CUDA_VISIBLE_DEVICES -> the GPUs that CUDA shows
    "0,-1,1": "0", "1,0,1,2": "1 0 2", " 0,1, ,2": "0 1", "": "", "NoDevFiles": "",
    "GPU-8932f937,GPU-5d5b": "GPU-8932f937 GPU-5d5b", "0,GPU-8932f937": "0", "GPU-8932f937,MIG-5d5b": "GPU-8932f937",
    "MIG-GPU-5d5b/1/0,MIG-GPU-5d5b/2/0": "MIG-GPU-5d5b/1/0 MIG-GPU-5d5b/2/0",
}  # fmt: skip


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.fault("CUDA_VISIBLE_DEVICES with repeated, invalid and MIG entries", "survived")
def test_the_variable_is_read_as_cuda_reads_it(machine, monkeypatch, variable):
    """And a job gets one of them, or all that it asks for, without waiting for more."""
    folder, gpus_of_cuda = machine(0), VARIABLES[variable].split()
    monkeypatch.setenv(gpus.VISIBLE, variable)
    assert gpus.available() == gpus_of_cuda
    most = 1 if "MIG" in variable else len(gpus_of_cuda)
    assert gpus.take(3, LOG, folder / "locks") == gpus_of_cuda[:most] * (len(gpus_of_cuda) > 1)
    assert os.environ[gpus.VISIBLE] == ",".join(gpus_of_cuda[:most])


def test_mig_instances_are_what_can_be_used_of_a_gpu(machine):
    """One a process; a GPU that is not divided remains one."""
    folder = machine(1, instances=(2,))
    assert gpus.take(1, LOG, folder) == ["MIG-00"] and gpus.take(4, LOG, folder) == []
    assert gpus_of_jobs(folder, 4) == [["MIG-01"]]
    machine(3, instances=(0, 3))
    assert gpus.available() == ["GPU-0", "MIG-10", "MIG-11", "MIG-12", "GPU-2"]


@pytest.mark.parametrize(
    ("number", "environment", "refused"),
    [
        (0, {"SLURM_JOB_ID": "77", "CUDA_VISIBLE_DEVICES": "0"}, True),  # by a scheduler
        (0, {"SLURM_JOB_ID": "77", "SLURM_JOB_GPUS": "3"}, True),  # in a container without the driver
        (0, {"CUDA_VISIBLE_DEVICES": "MIG-GPU-5d5b/1/0"}, True),
        (1, {}, True),  # one that nvidia-smi lists
        (0, {}, False),  # a laptop without a GPU
        (0, {"SLURM_JOB_ID": "77"}, False),  # a job without a GPU
        (1, {"CUDA_VISIBLE_DEVICES": ""}, False),  # switched off
        (1, {"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, False),
    ],
)
def test_a_gpu_that_pytorch_does_not_see_is_an_error(machine, monkeypatch, caplog, number, environment, refused):
    """Where there is none, or it is switched off, the processor is logged."""
    machine(number)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    caplog.set_level(logging.INFO, "crosslens")
    if refused:
        expected = r"^expected PyTorch to see the GPU of this job, found none: torch \S+ \(CUDA \S+\), driver 535.104.05: install"
        with pytest.raises(DataError, match=expected):
            default_device()
    else:
        assert default_device().type == "cpu"
        assert [record.getMessage().partition(", torch")[0] for record in caplog.records] == [f"device: {processor()}"]
