"""A pretended node of a cluster, on which the tests run Snakemake and its jobs, since a machine of tests has few cores.

It has 64 cores, of which its cgroup grants 3, and 64 MB of shared memory. Files are private (umask 077), the home folder is not
writable, and there is no terminal and no locale. The usual variables ask libraries for 64 threads.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
PYTHON = str(FOLDER / "python.sh")  # in the place of Python
CORES = 64
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")

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
