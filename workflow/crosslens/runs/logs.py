"""A rule's log, which begins with what ran, and the one line in which a rule's error ends."""

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
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal

from crosslens.runs import signals
from crosslens.runs.call import command
from crosslens.runs.errors import NO_ROOM, DataError
from crosslens.runs.machine import revision, versions
from crosslens.runs.quantities import readable

# A disk without room, in the words of what writes without Python or without its errors: safetensors, torch, numpy.
FULL = re.compile(r"[Nn]o space left|os error (27|28|122)\b|unexpected pos \d+ vs|file write failed|requested and \d+ written")


def start(log_path: str | None, made: str, *, seed: int | None = None) -> logging.Logger:
    """Send the library's log to a rule's file, and warnings to stderr too; the first lines say how to reproduce the run.

    From here on a job that is stopped by a signal, or by bad input, says so in one line. made: what the rule makes, or the first
    of it.
    """
    sys.excepthook = partial(report, made)  # from now on, since the log's own disk may be full
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
    atexit.register(signals.ignore)  # the script has ended: what is written is whole
    atexit.register(gc.freeze)  # else a job that imported torch looks for garbage for up to a second while Python shuts down
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    log.info("command: %s", command(made) or shlex.join(sys.orig_argv))
    log.info("versions: %s, crosslens %s", ", ".join(map(" ".join, versions().items())), revision() or "(unversioned)")
    host = ", SLURM job ".join(filter(None, (platform.node(), os.environ.get("SLURM_JOB_ID"))))
    log.info("host %s, %s cores, OMP_NUM_THREADS %s, seed %s", host, os.cpu_count(), threads, seed)
    return log


def in_file(path: str, mode: Literal["w", "a"]) -> logging.Handler:
    """Writes a rule's log, with the time of each line."""
    file = _LogFile(path, mode=mode, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    return file


class _LogFile(logging.FileHandler):
    """A log that says nothing where its disk is full: the rule's own error does."""

    def handleError(self, record: logging.LogRecord) -> None:
        """As of any log, but for a disk's errors."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def report(made: str, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Log the error of a rule that fails, also on stderr: in one line a signal, or what a user can mend, else with its traceback.

    made: what the rule makes.
    """
    log = logging.getLogger("crosslens")
    if isinstance(error, signals.Stopped):
        signals.ignore()
        log.error("%s", error)
        sys.exit(error.status)  # in a hook too this ends Python with that status
    line = in_one_line(error, made)
    where = None if line else (kind, error, traceback)
    log.error("%s", line or "stopped by an error", exc_info=where)


def in_one_line(error: BaseException, made: str) -> str:
    """What a user can mend; "" of an error that is ours. made: what the rule makes."""
    return str(error) if isinstance(error, DataError) else _of_disk(error, made)


def _of_disk(error: BaseException, made: str) -> str:
    """The line for a disk that is full, or that may not be written; "" for another error. made: what the rule makes."""
    found: BaseException | None = error
    while found:
        number = found.errno if isinstance(found, OSError) else None
        name = str(getattr(found, "filename2", None) or getattr(found, "filename", None) or made)  # the copy, of a copy
        if number in NO_ROOM or number is None and FULL.search(str(found)):
            folders = dict.fromkeys((_existing(Path(name)), Path(tempfile.gettempdir())))
            free = ", ".join(f"{readable(shutil.disk_usage(folder).free)} free now in {folder}" for folder in folders)
            reason = os.strerror(number or errno.ENOSPC)
            return f"{name}: expected room to write it, found: {reason} ({free}): make room there; see docs/cluster.md"
        if number in (errno.EROFS, errno.EACCES, errno.EPERM):
            return (
                f"{name}: expected a file that may be read, or a folder that may be written, found: {os.strerror(number)}: "
                "change its permissions, or write elsewhere; see docs/cluster.md"
            )
        found = found.__cause__ or found.__context__
    return ""


def _existing(path: Path) -> Path:
    """The folder of a path that exists."""
    return next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
