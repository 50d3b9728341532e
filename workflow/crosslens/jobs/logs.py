"""The log of a rule, which begins with facts on the run, and one-line reports of errors."""

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
"""Pattern of the last line in the log of a job that succeeded: seconds, GiB of memory, GiB of GPU memory."""
# Messages about a full disk from libraries that do not raise OSError with its number: safetensors, torch, numpy.
FULL = re.compile(r"[Nn]o space left|os error (27|28|122)\b|unexpected pos \d+ vs|file write failed|requested and \d+ written")


def start(log_path: str | None, target: str, *, seed: int | None = None) -> logging.Logger:
    """Send the library's log to a rule's log file, and warnings also to stderr. Return the logger.

    The first lines of the log tell how to reproduce the run. From now on, a job that is stopped by a signal or by bad input
    reports this in one line. log_path: the log file; None: only stderr. target: first output of the rule. seed: for the log.
    """
    sys.excepthook = partial(report, target)  # set first, since even creating the log may fail on a full disk
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
    atexit.register(signals.ignore)  # when the script has ended, its outputs are complete
    atexit.register(gc.freeze)  # else collecting the objects of torch as garbage takes up to a second at exit
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    log.info("command: %s", command(target) or shlex.join(sys.orig_argv))
    log.info("versions: %s, crosslens %s", ", ".join(map(" ".join, versions().items())), revision() or "(unversioned)")
    host = ", SLURM job ".join(filter(None, (platform.node(), os.environ.get("SLURM_JOB_ID"))))
    log.info("host %s, %s cores, OMP_NUM_THREADS %s, seed %s", host, os.cpu_count(), threads, seed)
    return log


def _spent(log: logging.Logger, began: float) -> None:
    """Log the time since `began` and the peak memory, also that of a GPU. `SPENT` parses this line."""
    gpu = f", of the GPU {peak_gpu_memory() / 2**30:.2f} GiB" if peak_gpu_memory() else ""
    log.info("took %.1f s, peak memory %.2f GiB%s", time.monotonic() - began, peak_memory() / 2**30, gpu)


def in_file(path: str, mode: Literal["w", "a"]) -> logging.Handler:
    """Return a handler that writes a rule's log to a file, with the time of each line."""
    file = _LogFile(path, mode=mode, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    return file


class _LogFile(logging.FileHandler):
    """A log file whose own disk errors are not reported, since the rule itself fails and reports them."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error of logging unless it is a disk error."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def report(target: str, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Log the error of a failed rule, also to stderr. Signals, and errors that users can correct, take one line.

    Other errors are logged with their traceback. target: output of the rule.
    """
    log = logging.getLogger("crosslens")
    atexit.unregister(_spent)  # the log ends with the error
    if isinstance(error, signals.Stopped):
        signals.ignore()
        log.error("%s", error)
        sys.exit(error.status)  # sets the exit status, even from an excepthook
    line = in_one_line(error, target)
    where = None if line else (kind, error, traceback)
    log.error("%s", line or "stopped by an error", exc_info=where)


def in_one_line(error: BaseException, target: str) -> str:
    """One-line message on an error that users can correct; "" for other errors. target: output of the rule."""
    return str(error) if isinstance(error, DataError) else _of_disk(error, target)


def _of_disk(error: BaseException, target: str) -> str:
    """One-line message if a disk is full, or a file not accessible; "" for other errors. target: output of the rule."""
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
    """Innermost existing folder above a path."""
    return next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
