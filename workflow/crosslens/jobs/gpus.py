"""Distribution of several GPUs on one machine without a scheduler: each job locks its own until its process ends.

`snakemake --cores 16 --resources gpu=4` runs as many jobs as there are GPUs, but Snakemake only counts GPUs. This module decides
which GPU a job gets. It locks a file for each GPU, and the kernel releases the lock however the process ends. SLURM assigns GPUs
to its own jobs; several Snakemake jobs inside a SLURM job share these GPUs in the same way. Small jobs may share a GPU (JOBS).
"""

import fcntl
import logging
import os
import re
import shutil
import subprocess
import tempfile
import time
from itertools import product, takewhile
from pathlib import Path

from crosslens.jobs.errors import DataError
from crosslens.jobs.machine import processor

VISIBLE = "CUDA_VISIBLE_DEVICES"
MIG = "MIG-"  # prefix of the UUID of a MIG instance, a part of a GPU; CUDA gives a process only one
JOBS = "CROSSLENS_JOBS_PER_GPU"  # environment variable: number of jobs that may hold the same GPU at a time; default 1
SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")  # environment variables set in the jobs of schedulers
SECONDS = 1.0  # between two attempts to find a free GPU
_HELD: list[int] = []  # file descriptors of the locks that this process holds


def take(number: int, log: logging.Logger, folder: Path | None = None) -> list[str]:
    """Wait for `number` GPUs that are held by fewer than JOBS other jobs of this user, make only these visible, and return them.

    Must be called before CUDA is initialised. Takes no GPU and returns [] if none is requested, if a scheduler has assigned no
    more than requested, or if there is at most one, which jobs share. If CUDA_VISIBLE_DEVICES is set, only the GPUs in it count.
    A job gets at most one MIG instance. folder: for the locks; None: below the system's folder for temporary files. Raises
    DataError if JOBS is not a positive number.
    """
    places, gpus, job = jobs_per_gpu(), available(), next(filter(None, map(os.environ.get, SCHEDULERS)), None)
    if number and VISIBLE in os.environ:
        os.environ[VISIBLE] = ",".join(gpus)  # drops entries that CUDA ignores
    if job and len(gpus) <= number:
        return []
    number = min(number, 1 if MIG in "".join(gpus) else len(gpus))  # a batch may have more parts than there are GPUs
    if not number or len(gpus) == 1:
        return []
    name = "-".join(filter(None, ("crosslens-gpus", str(os.getuid()), job)))  # two scheduler jobs may number different GPUs alike
    folder = folder or Path(tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True)
    waited = False
    while not (locked := _some(gpus, number, places, folder)):
        if not waited:
            log.info("waiting for %d of %d GPUs, which other jobs hold: --resources gpu=%d starts fewer jobs", number,
                     len(gpus), places * len(gpus))  # fmt: skip
        waited = True
        time.sleep(SECONDS)
    os.environ[VISIBLE] = ",".join(locked)
    log.info("GPU %s of %d", os.environ[VISIBLE], len(gpus))
    return locked


def jobs_per_gpu() -> int:
    """Number of jobs that may hold the same GPU at a time, from JOBS. Raises DataError if it is not a positive number."""
    text = os.environ.get(JOBS, "1")
    if not (text.isdecimal() and int(text)):
        raise DataError(
            f"{JOBS}: expected a whole number from 1, found {text!r}: unset it, or set it to how many jobs share a GPU"
        )
    return int(text)


def available() -> list[str]:
    """GPUs or MIG instances that this process may use: those in CUDA_VISIBLE_DEVICES, else all that nvidia-smi lists."""
    if VISIBLE in os.environ:
        # Like CUDA, read up to the first entry of another kind (torch/cuda/__init__.py, _parse_visible_devices), each only once.
        entries = [entry.strip() for entry in os.environ[VISIBLE].split(",")]
        kind = next((kind for kind in ("GPU-", MIG, r"\d") if re.match(kind, entries[0])), "$.")
        return list(dict.fromkeys(takewhile(re.compile(kind).match, entries)))
    # MIG instances are indented below their GPU, which can then not be chosen itself.
    uuids = re.findall(rf"^(?!GPU.*\n +{MIG[:-1]}).*\(UUID: (\S+)\)", _nvidia_smi("--list-gpus"), re.MULTILINE)
    return uuids if MIG in "".join(uuids) else [str(number) for number, _ in enumerate(uuids)]


def check(gpu: str | None, build: str) -> None:
    """Log the device of a job. gpu: name of the GPU that PyTorch sees; None if it sees none. build: build of PyTorch.

    Raises DataError if the job has a GPU that PyTorch does not see.
    """
    if not gpu and (available() or VISIBLE not in os.environ and "SLURM_JOB_GPUS" in os.environ):
        driver = _nvidia_smi("--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0] or "unknown"
        remedy = f"install a build for this driver (docs/install.md), or set {VISIBLE} to nothing to compute on the processor"
        raise DataError(f"expected PyTorch to see the GPU of this job, found none: {build}, driver {driver}: {remedy}")
    logging.getLogger("crosslens").info("device: %s, %s", gpu or processor(), build)


def _nvidia_smi(*options: str) -> str:
    """Standard output of nvidia-smi, which may be an error message; "" if it is not installed."""
    if not (program := shutil.which("nvidia-smi")):
        return ""
    return subprocess.run([program, *options], capture_output=True, encoding="utf-8", errors="replace").stdout


def _some(gpus: list[str], number: int, places: int, folder: Path) -> list[str]:
    """Lock one place on each of `number` GPUs and return these GPUs; if fewer are free, lock none and return [].

    Two jobs that each held half of the GPUs they need would wait for ever. places: number of jobs that may hold a GPU. All GPUs
    get a first job before any gets a second.
    """
    choosing = os.open(folder / "choice.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(choosing, fcntl.LOCK_EX)
    locks: dict[str, int] = {}
    try:
        for place, gpu in product(range(places), gpus):
            if gpu in locks:
                continue
            lock = os.open(folder / f"{gpu.replace('/', '-')}.{place}.lock", os.O_CREAT | os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            locks[gpu] = lock
            if len(locks) == number:
                _HELD.extend(locks.values())
                return list(locks)
        for lock in locks.values():
            os.close(lock)
        return []
    finally:
        os.close(choosing)
