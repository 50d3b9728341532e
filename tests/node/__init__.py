"""A pretended node of a cluster, on which the tests run Snakemake and its jobs, since a machine of tests has few cores.

It has 64 cores, of which its cgroup grants 3, and 64 MB of shared memory. Files are private (umask 077), the home folder is not
writable, and there is no terminal and no locale. The usual variables ask libraries for 64 threads.
"""

import atexit
import json
import locale
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import joblib

FOLDER = Path(__file__).parent
PYTHON = str(FOLDER / "python.sh")  # in the place of Python
CORES, GRANTED = 64, 3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")


SEEN = {
    "cores": CORES, "affinity": CORES, "cores of a child": CORES, "threads": str(CORES), "granted": GRANTED,
    "shared memory": 64 * 2**20, "umask": 0o077, "writable home": False, "terminal": False, "locale": "C",
}  # fmt: skip
"""What a process of the node must see of it."""
MOUNTED = ("granted", "shared memory")  # which take a mount namespace
NEEDED = "needs Linux and a C compiler: apt install gcc libc6-dev"


@cache
def variables() -> dict[str, str]:
    """The environment of the node's processes; {} where there is no C compiler or no Linux, and so no node."""
    if sys.platform != "linux" or not (compiler := shutil.which("cc")):
        return {}
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    subprocess.run([compiler, "-shared", "-fPIC", FOLDER / "cores.c", "-o", f"{folder}/cores.so", "-ldl"], check=True)
    return dict.fromkeys(THREADS, str(CORES)) | {
        "LD_PRELOAD": f"{folder}/cores.so",
        "NODE_PYTHON": sys.executable,  # which python.sh starts
        "MPLCONFIGDIR": folder,  # else matplotlib makes a temporary folder, which the first forked process would remove
        "HOME": "/sys",
        "LANG": "C",
        "LC_ALL": "C",
    }


def look(path: str, environment: dict[str, str]) -> None:
    """Write what this process sees of its machine to a file, under the keys of SEEN."""
    os.environ.clear()
    os.environ.update(environment)
    shared = os.statvfs("/dev/shm")
    try:
        home = tempfile.mkdtemp(dir=Path.home())
    except OSError:
        home = ""
    child = subprocess.run([sys.executable, "-c", "import os; print(os.cpu_count())"], capture_output=True, check=True)
    seen = {
        "cores": os.cpu_count(),
        "affinity": len(os.sched_getaffinity(0)),
        "cores of a child": int(child.stdout),
        "threads": os.environ["OPENBLAS_NUM_THREADS"],
        "granted": joblib.cpu_count(),
        "shared memory": shared.f_blocks * shared.f_frsize,
        "umask": os.umask(0o077),
        "writable home": bool(home),
        "terminal": has_terminal(),
        "locale": locale.setlocale(locale.LC_CTYPE, ""),
    }
    Path(path).write_text(json.dumps(seen), "utf-8")


def has_terminal() -> bool:
    """Whether this process has a terminal to read from, or to ask the user on."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
        return True
    except OSError:
        return sys.stdin.isatty()
