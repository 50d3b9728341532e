"""Several GPUs on one machine without a scheduler: each job takes its own, and holds it until its process ends.

`snakemake --cores 16 --resources gpu=4` runs as many jobs as there are GPUs, but Snakemake only counts them. Which one a job
gets is decided here, by a lock for each GPU that the kernel releases however the process ends. SLURM hands out those of a job;
jobs of Snakemake that run within one share them likewise.
"""

import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")  # environment variables of their jobs
SECONDS = 1.0  # between two looks for a GPU that is free
_HELD: list[int] = []  # open files, which lock GPUs


def take(number: int, log: logging.Logger, folder: Path | None = None) -> list[str]:
    """Let this process see so many GPUs that no other job of this user holds; waits until there are as many. Before CUDA begins.

    Returns their numbers; [] where nothing is to be shared out and the environment stays as it is: no GPU is asked for, a
    scheduler has given the job just these, or there is one at most, which jobs share. Where CUDA_VISIBLE_DEVICES lists some,
    those are all.
    """
    found, job = available(), next(filter(None, map(os.environ.get, SCHEDULERS)), None)
    if job and len(found) <= number:
        return []
    number = min(number, len(found))  # a batch in more parts than there are GPUs
    if not number or len(found) == 1:
        return []
    name = "-".join(filter(None, ("crosslens-gpus", str(os.getuid()), job)))  # GPUs of two jobs may have the same numbers
    folder = folder or Path(tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True)
    waited = False
    while not (taken := _some(found, number, folder)):
        if not waited:
            log.info("waiting for %d of %d GPUs, which other jobs hold: --resources gpu=%d starts fewer jobs", number,
                     len(found), len(found))  # fmt: skip
        waited = True
        time.sleep(SECONDS)
    os.environ[VISIBLE] = ",".join(taken)
    log.info("GPU %s of %d", os.environ[VISIBLE], len(found))
    return taken


def available() -> list[str]:
    """GPUs that this process may use: those that CUDA_VISIBLE_DEVICES lists, else all that nvidia-smi does."""
    if VISIBLE in os.environ:
        return [each for each in os.environ[VISIBLE].split(",") if each and each != "-1"]
    if not shutil.which("nvidia-smi"):
        return []
    listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True)
    return [str(number) for number, _ in enumerate(filter(None, listed.stdout.splitlines()))] if not listed.returncode else []


def _some(found: list[str], number: int, folder: Path) -> list[str]:
    """So many GPUs that are free, locked; none where there are fewer: two jobs that hold half each would wait for ever."""
    choosing = os.open(folder / "choice.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(choosing, fcntl.LOCK_EX)
    locks: dict[str, int] = {}
    try:
        for gpu in found:
            lock = os.open(folder / f"{gpu}.lock", os.O_CREAT | os.O_RDWR)
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
