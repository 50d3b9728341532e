"""A rule's log: first what ran, then progress with the time left, then throughput and peak memory."""

import atexit
import errno
import gc
import logging
import os
import platform
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from crosslens import signals
from crosslens.errors import NO_ROOM, DataError
from crosslens.files import readable

T = TypeVar("T")
PACKAGES = ("numpy", "pyarrow", "torch", "transformers")  # whose versions can move a number
EVERY = 10.0  # seconds between two lines of progress
COMMAND = "CROSSLENS_COMMAND"  # environment variable: how Snakemake was called (`called`); jobs inherit it, on a cluster too
# A disk without room, in the words of what writes without Python or without its errors: safetensors, torch, numpy.
FULL = re.compile(r"[Nn]o space left|os error (27|28|122)\b|unexpected pos \d+ vs|file write failed|requested and \d+ written")
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes that ru_maxrss counts in


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of the installed packages that matter; nothing is imported."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass  # a rule's own environment holds only what it needs
    return found


def machine(threads: int, precision: str = "float32") -> dict[str, Any]:
    """Facts about this process and its machine that can move a number in its last digits, for records.

    device: the GPU where one is used, else the processor. threads: for computing. precision: of the forward pass.
    """
    torch = sys.modules.get("torch")  # where nothing has imported it, nothing runs on a GPU
    gpu = torch.cuda.get_device_name() if torch and torch.cuda.is_available() else None
    facts = {"processor": processor(), "threads": threads, "precision": precision}
    return {"device": gpu or facts["processor"], **facts}


def processor() -> str:
    """Model of the processor, as the system names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # no Linux, or a processor that names no model
        return platform.processor() or platform.machine()


def revision() -> str | None:
    """Git revision of the library, with '+changes' if files differ from it; None outside a working copy."""
    git = ["git", "--no-optional-locks", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+changes"]
    here = Path(__file__).parent
    try:
        return subprocess.run(git, cwd=here, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def called(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """A call of Snakemake without its targets, and without the options that decide only how it runs."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", default=environment.get("SNAKEMAKE_PROFILE"))
    parser.add_argument("--snakefile", "-s")
    parser.add_argument("--directory", "-d")
    parser.add_argument("--configfile", "--configfiles", nargs="+")
    parser.add_argument("--config", "-C", nargs="*")
    known, _ = parser.parse_known_args(arguments)
    words = ["snakemake"]
    for option, value in vars(known).items():
        if value:
            words += [f"--{option}", *([value] if isinstance(value, str) else value)]
    return shlex.join([*words, *["--"][: bool(known.configfile or known.config)]])  # a target is not one more file or value


def command(made: str | os.PathLike[str]) -> str | None:
    """The command that makes a file again; None outside a run of the workflow."""
    return f"{call} {shlex.quote(os.fspath(made))}" if (call := os.environ.get(COMMAND)) else None


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


def peak_memory() -> int:
    """Most bytes that this process held at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT


def duration(seconds: float) -> str:
    """A time as one reads it: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"


class Progress:
    """Progress through `total` things: a line in the log at most every ten seconds, and a bar on a terminal.

    `with Progress(n, "tokens", log) as progress: ... progress.advance(512)`, or, for a loop over single things,
    `for language in Progress(len(languages), "languages", log).over(languages): ...`
    """

    def __init__(self, total: int, what: str, log: logging.Logger) -> None:
        """Count from now."""
        # Not at the top: every script imports this module, and many are done before they would have imported rich.
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.total, self.what, self.log, self.done = total, what, log, 0
        self.began = self.reported = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, transient=True, disable=not sys.stderr.isatty())
        self._bar.console.stderr = True  # stdout is for what a command answers
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Say how fast it went and how much memory it took; after an error, how far it came."""
        self._bar.stop()
        took = time.monotonic() - self.began
        done = f"{self.done} {self.what}" if kind is None else f"stopped after {self.done} of {self.total} {self.what}"
        rate, peak = self.done / (took or 1), peak_memory() / 2**30
        self.log.info("%s in %s, %.1f per second, peak memory %.2f GiB", done, duration(took), rate, peak)

    def advance(self, n: int = 1) -> None:
        """Count `n` more."""
        self.done += n
        self._bar.update(self._task, completed=self.done)
        now = time.monotonic()
        if now - self.reported >= EVERY and self.done:
            self.reported = now
            rate = self.done / (now - self.began)
            left = duration(max(0, self.total - self.done) / rate)
            self.log.info("%s: %d of %d, %.1f per second, %s left", self.what, self.done, self.total, rate, left)

    def over(self, things: Iterable[T]) -> Iterator[T]:
        """Yield the things and count each when the next one is asked for."""
        with self:
            for thing in things:
                yield thing
                self.advance()
