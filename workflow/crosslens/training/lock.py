"""A lock file that lets only one process at a time carry out a training run, across all machines of a cluster.

Creating a file only if it does not exist works on every shared file system; kernel locks do not. filelock's SoftFileLease can
replace a dead holder only if two file names can be exchanged, which NFS does not support, and it knows nothing of SLURM.
"""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from crosslens.jobs import signals
from crosslens.jobs.bounded import read_text
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import remove
from crosslens.jobs.training_folders import CHECKPOINT, HALF_WRITTEN

ENDED = "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
"""SLURM's states of jobs that have ended."""
UNKNOWN = "unknown"  # start time of a running process, on a system that does not report it


class Holder(BaseModel, frozen=True):
    """A process that holds a lock.

    machine: host name and namespace of process numbers, since a container has its own namespace. began: boot id and start time
    of the process (`_began`). job: SLURM's job number; "" outside SLURM.
    """

    machine: str
    pid: Annotated[int, Field(gt=0, lt=2**31)]
    began: str
    job: str

    @classmethod
    def here(cls) -> "Holder":
        """Return the current process."""
        return cls(machine=_machine(), pid=os.getpid(), began=_began(os.getpid()), job=os.environ.get("SLURM_JOB_ID", ""))

    def is_dead(self) -> bool:
        """Return whether the process is certainly no longer running."""
        if self.machine == _machine():
            return _began(self.pid) not in (self.began, UNKNOWN)
        if not self.job:
            return False
        return self.job == os.environ.get("SLURM_JOB_ID") or _left_queue(self.job)  # a requeued job never runs twice at once

    def __str__(self) -> str:
        """Return a description of the process for messages."""
        return f"process {self.pid} on {self.machine.partition(' ')[0]}" + f", SLURM job {self.job}" * bool(self.job)


@contextmanager
def alone(lock: Path, folder: Path, training: str) -> Iterator[None]:
    """Hold the lock of a training run and remove half-written files of killed runs from its folder.

    training: name of the training run in messages. If a signal ends the work, its message says from which checkpoint the next
    attempt continues.
    """
    with locked(lock, training):
        for pattern in HALF_WRITTEN:
            for leftover in folder.rglob(pattern):
                remove(leftover)
        try:
            yield
        except signals.Stopped as stopped:
            if path := next(folder.rglob(CHECKPOINT), None):
                stopped.kept = f"{training} goes on from {path} in the next run"
            raise


@contextmanager
def locked(path: Path, training: str) -> Iterator[None]:
    """Hold a lock during a `with` statement. A holder that is certainly dead is replaced.

    training: name of the training run in messages. Raises DataError if another holder is alive, or may be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = Holder.here().model_dump_json()
    if not _create(path, content):
        _remove_dead(path, training)
        if not _create(path, content):
            raise _refusal(path, training, "one that has just begun")
    try:
        yield
    finally:
        with suppress(OSError, DataError):  # another process has removed it
            if read_text(path) == content:
                path.unlink()


def holders(results: Path) -> dict[Path, Holder]:
    """Return lock -> holder for all locks below a folder of results, without holders that are certainly dead."""
    running = {}
    for lock in sorted((*results.rglob(".running"), *results.rglob(".*.running"))):
        with suppress(OSError, DataError, ValidationError):  # released meanwhile, or not a lock
            holder = Holder.model_validate_json(read_text(lock))
            if not holder.is_dead():
                running[lock] = holder
    return running


def _create(path: Path, content: str) -> bool:
    """Create the lock file, and return whether it did not exist before."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _remove_dead(path: Path, training: str) -> None:
    """Remove the lock file of a dead holder. Raises DataError if the holder may be alive, or the file is no lock file."""
    try:
        text = read_text(path)
        holder = Holder.model_validate_json(text)
    except FileNotFoundError:  # the holder has finished meanwhile
        return
    except (OSError, DataError, ValidationError):
        raise _refusal(path, training, "a lock file that does not name its process") from None
    if not holder.is_dead():
        raise _refusal(path, training, str(holder))
    with suppress(FileNotFoundError), TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        aside = Path(folder, path.name)
        if read_text(path) == text:
            path.rename(aside)
            if read_text(aside) != text:  # another process has taken the lock meanwhile
                aside.rename(path)


def _machine() -> str:
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # a system without such namespaces
        return platform.node()


def _began(pid: int) -> str:
    """Return the boot id and start time of a process, which together with its number identify it.

    "" if it does not run; UNKNOWN if the system does not report them.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass  # another user's process
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    except OSError:
        return UNKNOWN
    return "" if state in "ZX" else f"{boot} {fields[18]}"


def _left_queue(job: str) -> bool:
    """Return whether SLURM reports that a job is not, or no longer, in its queue."""
    try:
        answer = subprocess.run(["squeue", "-h", "-o", "%T", "-j", job], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    if answer.returncode:
        return "Invalid job id" in answer.stderr
    return answer.stdout.strip() in ("", *ENDED)


def _refusal(path: Path, training: str, holder: str) -> DataError:
    return DataError(
        f"{training}: expected no second process for this training run, found {holder}: wait for it or end it; "
        f"if it surely has ended, delete {path} (docs/troubleshooting.md)"
    )
