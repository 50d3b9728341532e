"""Distribution of several GPUs on one machine without a scheduler: each job locks its own until its process ends.

`snakemake --cores 16 --resources gpu=4` runs as many jobs as there are GPUs, but Snakemake only counts them. Which GPU a job gets
is decided here, by a lock for each GPU, which the kernel releases however the process ends. SLURM assigns GPUs to its jobs; jobs
of Snakemake within one of these share them in the same way. Small jobs may share a GPU (JOBS).
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
MIG = "MIG-"  # begins the UUID of an instance of a divided GPU, of which CUDA gives a process one
JOBS = "CROSSLENS_JOBS_PER_GPU"  # environment variable: number of jobs that hold the same GPU at a time; 1 where it is not set
SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")  # environment variables of their jobs
SECONDS = 1.0  # between two looks for a GPU that is free
_HELD: list[int] = []  # open files, which lock GPUs


def take(number: int, log: logging.Logger, folder: Path | None = None) -> list[str]:
    """Wait for `number` GPUs that are held by fewer than JOBS other jobs of this user, make only these visible, and return them.

    Must be called before CUDA is initialised. Returns [] and leaves the environment unchanged if no GPU is requested, if a
    scheduler has assigned just as many, or if there is at most one, which jobs share. If CUDA_VISIBLE_DEVICES lists GPUs, there
    are no others. Of MIG instances a job gets one. Raises DataError if JOBS is not a positive number.
    """
    places, gpus, job = jobs_per_gpu(), available(), next(filter(None, map(os.environ.get, SCHEDULERS)), None)
    if number and VISIBLE in os.environ:
        os.environ[VISIBLE] = ",".join(gpus)  # without the entries that do not count
    if job and len(gpus) <= number:
        return []
    number = min(number, 1 if MIG in "".join(gpus) else len(gpus))  # a batch in more parts than there are GPUs
    if not number or len(gpus) == 1:
        return []
    name = "-".join(filter(None, ("crosslens-gpus", str(os.getuid()), job)))  # GPUs of two jobs may have the same numbers
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
    """GPUs or MIG instances that this process may use: those of CUDA_VISIBLE_DEVICES, else all that nvidia-smi lists."""
    if VISIBLE in os.environ:
        # As CUDA reads it, up to an entry of another kind (torch/cuda/__init__.py, _parse_visible_devices); none counts twice.
        entries = [entry.strip() for entry in os.environ[VISIBLE].split(",")]
        kind = next((kind for kind in ("GPU-", MIG, r"\d") if re.match(kind, entries[0])), "$.")
        return list(dict.fromkeys(takewhile(re.compile(kind).match, entries)))
    # Instances are indented below their GPU, which is then none to choose.
    uuids = re.findall(rf"^(?!GPU.*\n +{MIG[:-1]}).*\(UUID: (\S+)\)", _nvidia_smi("--list-gpus"), re.MULTILINE)
    return uuids if MIG in "".join(uuids) else [str(number) for number, _ in enumerate(uuids)]


def check(gpu: str | None, build: str) -> None:
    """Log the device of a job. Raises DataError if the job has a GPU that PyTorch, of that build, does not see."""
    if not gpu and (available() or VISIBLE not in os.environ and "SLURM_JOB_GPUS" in os.environ):
        driver = _nvidia_smi("--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0] or "unknown"
        remedy = f"install a build for this driver (docs/install.md), or set {VISIBLE} to nothing to compute on the processor"
        raise DataError(f"expected PyTorch to see the GPU of this job, found none: {build}, driver {driver}: {remedy}")
    logging.getLogger("crosslens").info("device: %s, %s", gpu or processor(), build)


def _nvidia_smi(*options: str) -> str:
    """Output of nvidia-smi, or of its error; "" where it is missing."""
    if not (program := shutil.which("nvidia-smi")):
        return ""
    return subprocess.run([program, *options], capture_output=True, encoding="utf-8", errors="replace").stdout


def _some(gpus: list[str], number: int, places: int, folder: Path) -> list[str]:
    """Lock a free place of `number` GPUs and return these; none if fewer are free, since two jobs with half would wait for ever.

    places: of each GPU, for one job each. All GPUs have a first job before one has a second.
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
