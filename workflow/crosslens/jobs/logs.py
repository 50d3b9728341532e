"""A rule's log, which begins with facts on the run, and the one-line report of a rule's error."""

import atexit
import errno
import gc
import logging
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal

from crosslens.jobs import signals
from crosslens.jobs.call import command
from crosslens.jobs.errors import NO_ROOM, DataError
from crosslens.jobs.machine import peak_gpu_memory, peak_memory, revision, versions
from crosslens.jobs.quantities import readable

SPENT = re.compile(r" took ([\d.]+) s, peak memory ([\d.]+) GiB(?:, of the GPU ([\d.]+) GiB)?$", re.MULTILINE)
"""Last line in the log of a job that has ended well: seconds, GiB of memory, GiB of a GPU's memory."""
# Messages about a full disk from libraries that do not raise OSError with its number: safetensors, torch, numpy.
FULL = re.compile(r"[Nn]o space left|os error (27|28|122)\b|unexpected pos \d+ vs|file write failed|requested and \d+ written")


def start(log_path: str | None, target: str, *, seed: int | None = None) -> logging.Logger:
    """Send the library's log to a rule's file, and warnings to stderr too; the first lines tell how to reproduce the run.

    From then on a job that is stopped by a signal, or by bad input, reports this in one line. target: (first) output of the rule.
    """
    sys.excepthook = partial(report, target)  # set first, since the log's own disk may be full
    log = logging.getLogger("crosslens")
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()
    log.setLevel(logging.INFO)
    log.propagate = False
    brief = logging.StreamHandler()
    brief.setLevel(logging.WARNING)
    brief.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    log.addHandler(brief)
    if log_path:
        Path(log_path).parent.mkdir(parents=True, exist_ok=True)
        log.addHandler(in_file(log_path, "w"))
    signals.handle()
    atexit.register(_spent, log, time.monotonic())
    atexit.register(signals.ignore)  # once the script has ended, its outputs are complete
    atexit.register(gc.freeze)  # else the objects of torch take up to a second of garbage collection while Python shuts down
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    log.info("command: %s", command(target) or shlex.join(sys.orig_argv))
    log.info("versions: %s, crosslens %s", ", ".join(map(" ".join, versions().items())), revision() or "(unversioned)")
    host = ", SLURM job ".join(filter(None, (platform.node(), os.environ.get("SLURM_JOB_ID"))))
    log.info("host %s, %s cores, OMP_NUM_THREADS %s, seed %s", host, os.cpu_count(), threads, seed)
    return log


def _spent(log: logging.Logger, began: float) -> None:
    """Log the time since `began` and the largest memory, of a GPU too; `SPENT` reads the line."""
    gpu = f", of the GPU {peak_gpu_memory() / 2**30:.2f} GiB" if peak_gpu_memory() else ""
    log.info("took %.1f s, peak memory %.2f GiB%s", time.monotonic() - began, peak_memory() / 2**30, gpu)


def in_file(path: str, mode: Literal["w", "a"]) -> logging.Handler:
    """Return a handler that writes a rule's log to a file, with the time of each line."""
    file = _LogFile(path, mode=mode, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    return file


class _LogFile(logging.FileHandler):
    """A log that does not report errors of its disk, which the rule's own error reports."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error of logging unless it is one of the disk."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def report(target: str, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Log the error of a failed rule, on stderr too: signals and errors that a user can correct in one line, others in full.

    target: output of the rule.
    """
    log = logging.getLogger("crosslens")
    atexit.unregister(_spent)  # the log ends with the error
    if isinstance(error, signals.Stopped):
        signals.ignore()
        log.error("%s", error)
        sys.exit(error.status)  # ends Python with that status even from a hook
    line = in_one_line(error, target)
    where = None if line else (kind, error, traceback)
    log.error("%s", line or "stopped by an error", exc_info=where)


def in_one_line(error: BaseException, target: str) -> str:
    """The line on an error that a user can correct; "" for other errors. target: output of the rule."""
    return str(error) if isinstance(error, DataError) else _of_disk(error, target)


def _of_disk(error: BaseException, target: str) -> str:
    """The line on a disk that is full or not writable; "" for other errors. target: output of the rule."""
    cause: BaseException | None = error
    while cause:
        number = cause.errno if isinstance(cause, OSError) else None
        names = (getattr(cause, "filename2", None), getattr(cause, "filename", None), target)  # filename2: destination of a copy
        name = str(next(filter(None, names)))
        if number in NO_ROOM or number is None and FULL.search(str(cause)):
            folders = dict.fromkeys((_existing(Path(name)), Path(tempfile.gettempdir())))
            free = ", ".join(f"{readable(shutil.disk_usage(folder).free)} free now in {folder}" for folder in folders)
            reason = os.strerror(number or errno.ENOSPC)
            return f"{name}: expected room to write it, found: {reason} ({free}): make room there; see docs/troubleshooting.md"
        if number in (errno.EROFS, errno.EACCES, errno.EPERM):
            return (
                f"{name}: expected a file that may be read, or a folder that may be written, found: {os.strerror(number)}: "
                "change its permissions, or write elsewhere; see docs/troubleshooting.md"
            )
        cause = cause.__cause__ or cause.__context__
    return ""


def _existing(path: Path) -> Path:
    """The innermost existing folder of a path."""
    return next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
