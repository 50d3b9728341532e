"""Snakemake, and the scripts of its jobs, in processes forked from one that has imported what they need.

Tests call Snakemake a hundred times, and the study that they build has three hundred jobs: imports would take most of the time.
What a script needs to import is checked in test_environments.py; tests that kill a run start it as a command.
"""

import atexit
import gc
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from multiprocessing import forkserver, resource_tracker, spawn
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any
from unittest import mock

import node

TESTS = Path(__file__).parent
OWN = (TESTS, TESTS.parent / "workflow", TESTS.parent / "workflow/scripts")  # pytest's paths; a user's call has none of them
SECONDS = 3600  # against a run without end; a machine may be busy
READS = "READS_OF_JOBS"  # variable that names the file in which jobs' scripts record what they read
STATUS = threading.Lock()  # of jobs in parallel: whichever is started asks those before it whether they have ended

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # that libraries read once; the tests' jobs have one
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload([  # nothing of crosslens, of which tests change copies
    "snakemake.cli", "torch", "transformers.models.bert.modeling_bert", "sklearn.linear_model", "sklearn.cluster",
    "sklearn.manifold", "sklearn.naive_bayes", "scipy.stats", "pandas", "pyarrow.parquet", "matplotlib.pyplot", "forked",
])  # fmt: skip


def snakemake(options: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Call Snakemake in a folder as a command would, on the pretended node if there is one.

    Returns its exit status, and what it said.
    """
    _start()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        process = SERVER.Process(target=_call, args=(list(options), folder, said.name, {**environment, **node.variables()}))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.terminate()
            process.join()
        return process.exitcode, said.read()


def _start() -> None:
    """Start the process from which all others are forked, on the pretended node where there is one."""
    resource_tracker.ensure_running()  # not there, since it serves the tests too
    python = os.fsencode(node.PYTHON if node.variables() else sys.executable)
    with (
        mock.patch.dict(os.environ, node.variables() | THREADS, PYTHONPATH=str(TESTS)),
        mock.patch.object(spawn, "get_executable", lambda: python),
    ):
        forkserver.ensure_running()


def _call(options: list[str], folder: Path, said: str, environment: dict[str, str]) -> None:
    from snakemake.benchmark import benchmarked
    from snakemake.cli import main
    from snakemake.script import PythonScript

    gc.freeze()
    _become(folder, environment, said)
    forkserver._forkserver.ensure_running = lambda: None  # jobs are forked from the server that this process was forked from

    def execute_script(self: Any, script: str, edit: bool = False) -> None:
        threads = {"OMP_NUM_THREADS": str(self.threads)}
        begun, begin = SERVER.Pipe(duplex=False)
        process = SERVER.Process(target=_script, args=(script, Path.cwd(), os.environ | threads, said, begun))
        with STATUS:
            process.start()
        with benchmarked(process.pid, self.bench_record) if self.bench_record else nullcontext():
            begin.send(True)  # a script that ended before it is looked at would be an error of the benchmark
            wait([process.sentinel])
        with STATUS:
            status = process.exitcode
        if status:
            raise subprocess.CalledProcessError(status, script)

    PythonScript.execute_script = execute_script
    sys.argv = ["snakemake", *options]
    main()


def _script(path: str, folder: Path, environment: dict[str, str], said: str, begun: Connection) -> None:
    begun.recv()
    _become(folder, environment, said)
    sys.argv = [path]
    sys.path.insert(0, str(Path(path).parent))
    if reads := environment.get(READS):
        _record(reads, f"{Path(path).stem.rpartition('.')[2]}.py", folder)
    try:
        runpy.run_path(path, run_name="__main__")
        atexit._run_exitfuncs()  # multiprocessing ends a process without them
    except Exception:
        sys.excepthook(*sys.exc_info())  # which multiprocessing does not ask
        sys.exit(1)


def _record(reads: str, script: str, folder: Path) -> None:
    """Write which files of the folder, outside the results and the code, a script opens, and which folders of data it lists.

    Imports list folders of code. What is removed below another folder is opened under its name there.
    """
    lines = os.open(reads, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | os.PathLike):
            path = os.path.relpath(os.path.abspath(arguments[0]), folder)
            apart = path.startswith(("..", "results", ".snakemake")) or path.endswith((".py", ".pyc")) or not os.path.exists(path)
            code = os.path.isdir(path) and path.partition("/")[0] in (".", "workflow", "rules")
            if not apart and not code:
                os.write(lines, f"{script}\t{path}\n".encode())

    sys.addaudithook(hook)


def _become(folder: Path, environment: dict[str, str], said: str) -> None:
    """A process of a command of its own, whose output goes to a file."""
    stream = os.open(said, os.O_WRONLY | os.O_APPEND)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [path for path in sys.path if Path(path) not in OWN]
