"""Snakemake in a process forked from one that has imported it: a second less than in a new one, at each of a hundred calls."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).parent
OWN = (TESTS, TESTS.parent / "workflow", TESTS.parent / "workflow/scripts")  # pytest's paths; a user's call has none of them
SECONDS = 900

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["snakemake.cli"])


def snakemake(options: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Call Snakemake in a folder as a command would; returns its exit status and what it said."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        process = SERVER.Process(target=_call, args=(list(options), folder, dict(environment), said.name))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.terminate()
            process.join()
        return process.exitcode, said.read()


def _call(options: list[str], folder: Path, environment: dict[str, str], said: str) -> None:
    from snakemake.cli import main

    stream = os.open(said, os.O_WRONLY)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [path for path in sys.path if Path(path) not in OWN]
    sys.argv = ["snakemake", *options]
    main()
