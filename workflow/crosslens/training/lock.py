"""One run of a training at a time, on whatever machines: a file names who is at it.

A file that is made only where there is none works on every shared file system; locks of the kernel do not. The soft lock of
filelock knows a holder's host and process, but not its SLURM job, which alone tells that a holder on another node is dead.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from crosslens.runs import signals
from crosslens.runs.errors import DataError
from crosslens.storage.files import remove
from crosslens.storage.trainings import CHECKPOINT, HALF_WRITTEN

Holder = dict[str, str | int]
ENDED = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
)  # fmt: skip
"""SLURM's states of jobs that are over."""


@contextmanager
def alone(lock: Path, folder: Path, what: str) -> Iterator[None]:
    """Work at a training that no other run works at: `locked`, and without what kills have left in its folder half written.

    A signal's line says what the next run goes on from.
    """
    with locked(lock, what):
        for pattern in HALF_WRITTEN:
            for leftover in folder.rglob(pattern):
                remove(leftover)
        try:
            yield
        except signals.Stopped as stopped:
            if kept := next(folder.rglob(CHECKPOINT), None):
                stopped.kept = f"{what} goes on from {kept} in the next run"
            raise


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock while the block runs. A holder that certainly is dead is replaced.

    Raises DataError where there is another that lives, or of which that cannot be known. what: is held, for its message.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = json.dumps(_me())
    while not _made(path, mine):
        found = _read(path)
        if found is None:
            continue  # it has ended since
        holder = _holder(found)
        if not _dead(holder):
            raise DataError(_refusal(path, what, holder))
        _take(path, found)
    try:
        yield
    finally:
        if _read(path) == mine:
            path.unlink()


def _me() -> Holder:
    job, pid = os.environ.get("SLURM_JOB_ID", ""), os.getpid()
    since = f"{datetime.now():%Y-%m-%d %H:%M}"
    return {"host": platform.node(), "job": job, "pid": pid, "pids": _pids(), "began": _began(pid), "since": since}


def _made(path: Path, content: str) -> bool:
    """Whether the file could be made: whole, as a second name of one that is written, and only where there is none."""
    own = path.with_name(f"{path.name}.{platform.node()}-{os.getpid()}")
    own.write_text(content, encoding="utf-8")
    try:
        os.link(own, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without second names
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(content)
        except FileExistsError:
            return False
    finally:
        own.unlink(missing_ok=True)
    return True


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _holder(found: str) -> Holder:
    """What a lock says; nothing where it was cut short."""
    try:
        return dict(json.loads(found))
    except (ValueError, TypeError):
        return {}


def _take(path: Path, found: str) -> None:
    """Remove the lock of a dead holder, unless another has done so and has the lock now."""
    aside = path.with_name(f"{path.name}.{platform.node()}-{os.getpid()}")
    with suppress(FileNotFoundError):
        path.rename(aside)
        if _read(aside) != found:
            with suppress(FileExistsError):
                os.link(aside, path)
        aside.unlink()


def _dead(holder: Holder) -> bool:
    """Whether a holder certainly no longer runs."""
    host, job, pid = holder.get("host"), holder.get("job"), holder.get("pid")
    if host == platform.node() and holder.get("pids") == _pids():
        return isinstance(pid, int) and not _runs(pid, str(holder.get("began")))
    if not job:
        return False
    return job == os.environ.get("SLURM_JOB_ID") or _left_queue(str(job))  # a job that was queued again is in one place


def _pids() -> str:
    """What the process numbers of this machine belong to: a container has its own, and sees no others."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _runs(pid: int, began: str) -> bool:
    """Whether a process of this machine runs, which began then if that is known."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's
    return not began or _began(pid) == began


def _began(pid: int) -> str:
    """When a process began, in words that no other process of its number has; "dead" of one that has ended; "" if unknown."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return "dead" if state in "ZX" else f"{Path('/proc/sys/kernel/random/boot_id').read_text('utf-8').strip()} {fields[18]}"
    except (OSError, ValueError, IndexError):
        return ""


def _left_queue(job: str) -> bool:
    """Whether SLURM says that a job is not, or no longer, in its queue."""
    try:
        asked = subprocess.run(["squeue", "-h", "-o", "%T", "-j", job], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    if asked.returncode:
        return "Invalid job id" in asked.stderr
    return asked.stdout.strip() in ("", *ENDED)


def _refusal(path: Path, what: str, holder: Holder) -> str:
    if not holder:
        return f"{path}: expected the name of who trains {what}, found none: delete the file once no other run is at it"
    place = f"{holder.get('host')}" + (f", SLURM job {holder['job']}" if holder.get("job") else "")
    end = f"scancel {holder['job']}" if holder.get("job") else "end it"
    return (
        f"{what}: expected no other run of this training, found one on {place}, process {holder.get('pid')}, since "
        f"{holder.get('since')}: wait for it or {end}; if it surely has ended, delete {path} (docs/cluster.md)"
    )
