"""Facts about a process and its machine, for logs and records."""

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "pyarrow", "torch", "transformers")  # packages whose versions can change a result
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of installed packages, without importing them."""
    versions_by_package = {"python": platform.python_version()}
    for package in packages:
        try:
            versions_by_package[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass  # the environment of a rule has only the packages that it needs
    return versions_by_package


def machine(threads: int, precision: str = "float32") -> dict[str, Any]:
    """Facts about this process and its machine that can change the last digits of a result, for records.

    threads: number of threads for computing. precision: of the forward pass. The fact `device` is the GPU if PyTorch sees one,
    else the processor.
    """
    torch = sys.modules.get("torch")  # if nothing has imported torch, nothing runs on a GPU
    gpu = torch.cuda.get_device_name() if torch and torch.cuda.is_available() else None
    facts = {"processor": processor(), "threads": threads, "precision": precision}
    return {"device": gpu or facts["processor"], **facts}


def processor() -> str:
    """Name of the processor's model, according to the system."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux, or a processor without a model name
        return platform.processor() or platform.machine()


def revision() -> str | None:
    """Git revision of the library, with "+changes" if files differ from it; None outside a working copy."""
    git = ["git", "--no-optional-locks", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+changes"]
    here = Path(__file__).parent
    try:
        return subprocess.run(git, cwd=here, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def processor_clock(threads: int) -> Callable[[], float]:
    """Return a clock for this process: its CPU time in seconds divided by `threads`, which other jobs hardly affect."""
    return lambda: time.process_time() / threads


def peak_memory(process: int | None = None) -> int:
    """Peak memory of a process so far, in bytes; 0 if unknown, as when it has ended.

    process: its id; None: this process.
    """
    try:  # on Linux, ru_maxrss includes memory of the process that started this one
        status = Path(f"/proc/{process or 'self'}/status").read_text("utf-8")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    except (OSError, IndexError):
        return 0 if process else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT


def peak_gpu_memory() -> int:
    """Peak GPU memory that this process has reserved so far, in bytes; 0 if it uses no GPU."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.max_memory_reserved()) if torch and torch.cuda.is_initialized() else 0
