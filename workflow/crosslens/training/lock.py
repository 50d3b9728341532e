"""A lock file that admits one run of a training at a time on all machines of a cluster.

Creating a file only if it does not exist works on every shared file system; kernel locks do not. The soft lock of filelock
records a holder's host and process, but not its SLURM job, which alone can tell that a holder on another node is dead.
"""

import os
import platform
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from crosslens.runs import signals
from crosslens.runs.errors import DataError
from crosslens.storage.bounded import read_text
from crosslens.storage.files import remove
from crosslens.storage.trainings import CHECKPOINT, HALF_WRITTEN

DELETE = "delete it once no other run is at it"
Text = Annotated[str, Field(max_length=300)]
ENDED = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
)  # fmt: skip
"""SLURM's states of jobs that are over."""


class Holder(BaseModel, strict=True, frozen=True):
    """Process that holds a lock. job: of SLURM, or "". pids: namespace of its number. began: see `_began`. since: in messages."""

    host: Text
    job: Text
    pid: Annotated[int, Field(gt=0, lt=2**31)]
    pids: Text = ""
    began: Text = ""
    since: Text = ""


@contextmanager
def alone(lock: Path, folder: Path, training: str) -> Iterator[None]:
    """Hold the lock of a training and remove half-written files of killed runs from its folder.

    training: its name in messages. The message of a signal says from which checkpoint the next run continues.
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
    """Hold a lock while the block runs. A holder that is certainly dead is replaced.

    training: its name in messages. Raises DataError if another holder is alive, or may be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _me().model_dump_json()
    while not _create(path, content):
        text = _read(path)
        if text is None:
            continue  # the holder has finished meanwhile
        try:
            holder = Holder.model_validate_json(text)
        except ValidationError:
            raise DataError(f"{path}: expected the name of who trains {training}, found none: {DELETE}") from None
        if not _dead(holder):
            raise DataError(_refusal(path, training, holder))
        _take(path, text)
    try:
        yield
    finally:
        with suppress(DataError):  # something else is there by now
            if _read(path) == content:
                path.unlink()


def _me() -> Holder:
    job, pid = os.environ.get("SLURM_JOB_ID", ""), os.getpid()
    since = f"{datetime.now():%Y-%m-%d %H:%M}"
    return Holder(host=platform.node(), job=job, pid=pid, pids=_pids(), began=_began(pid), since=since)


def _create(path: Path, content: str) -> bool:
    """Create the lock file with its content, as a hard link to a complete file, and return whether it did not exist before."""
    with TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        complete = Path(folder, path.name)
        complete.write_text(content, "utf-8")
        try:
            os.link(complete, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            try:
                with open(path, "x", encoding="utf-8") as file:
                    file.write(content)
            except FileExistsError:
                return False
    return True


def _read(path: Path) -> str | None:
    """Content of a lock file; None if there is none. Raises DataError if it cannot be one."""
    with suppress(DataError):
        try:
            if not path.is_symlink():
                return read_text(path)
        except FileNotFoundError:
            return None
    raise DataError(f"{path}: expected a lock file, found a link, a folder or another kind of file: {DELETE}")


def _take(path: Path, text: str) -> None:
    """Remove the lock file of a dead holder, unless another process has replaced it meanwhile."""
    with suppress(FileNotFoundError), TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        aside = path.rename(Path(folder, path.name))
        if _read(aside) != text:
            with suppress(FileExistsError):
                os.link(aside, path)


def _dead(holder: Holder) -> bool:
    """Whether a holder is certainly no longer running."""
    if holder.host == platform.node() and holder.pids == _pids():
        return not _runs(holder.pid, holder.began)
    if not holder.job:
        return False
    return holder.job == os.environ.get("SLURM_JOB_ID") or _left_queue(holder.job)  # a requeued job runs once at a time


def _pids() -> str:
    """Return the namespace of this machine's process numbers, since a container has its own; "" if unknown."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _runs(pid: int, began: str) -> bool:
    """Whether a process of this machine runs and, if `began` is not empty, is the one that began then."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's
    return not began or _began(pid) == began


def _began(pid: int) -> str:
    """Return boot and start time of a process, which no other process of its number shares; "dead" or "" (unknown)."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return "dead" if state in "ZX" else f"{Path('/proc/sys/kernel/random/boot_id').read_text('utf-8').strip()} {fields[18]}"
    except (OSError, ValueError, IndexError):
        return ""


def _left_queue(job: str) -> bool:
    """Whether SLURM reports that a job is not or no longer in its queue."""
    try:
        answer = subprocess.run(["squeue", "-h", "-o", "%T", "-j", job], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    if answer.returncode:
        return "Invalid job id" in answer.stderr
    return answer.stdout.strip() in ("", *ENDED)


def _refusal(path: Path, training: str, holder: Holder) -> str:
    place = holder.host + (f", SLURM job {holder.job}" if holder.job else "")
    end = f"scancel {shlex.quote(holder.job)}" if holder.job else "end it"
    return (
        f"{training}: expected no other run of this training, found one on {place}, process {holder.pid}, since {holder.since}: "
        f"wait for it or {end}; if it surely has ended, delete {path} (docs/cluster.md)"
    )
