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

PACKAGES = ("numpy", "pyarrow", "torch", "transformers")  # whose versions can move a number
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes that ru_maxrss counts in


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of installed packages, without importing them."""
    versions_by_package = {"python": platform.python_version()}
    for package in packages:
        try:
            versions_by_package[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass  # a rule's own environment holds only what it needs
    return versions_by_package


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


def processor_clock(threads: int) -> Callable[[], float]:
    """A clock of this process: the processor's seconds over its threads, which other jobs on the machine do not change much."""
    return lambda: time.process_time() / threads


def peak_memory(process: int | None = None) -> int:
    """Largest memory of this or another process so far, in bytes; 0 if the other has ended, or where the system does not say."""
    try:  # Linux counts in ru_maxrss what the process held that started this one
        status = Path(f"/proc/{process or 'self'}/status").read_text("utf-8")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    except (OSError, IndexError):
        return 0 if process else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT


def peak_gpu_memory() -> int:
    """Largest memory that this process has held on its GPU so far, in bytes; 0 where it uses none."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.max_memory_reserved()) if torch and torch.cuda.is_initialized() else 0
