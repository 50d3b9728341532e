"""The call of Snakemake, and shell commands that rebuild a file or set it aside."""

import os
import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

COMMAND = "CROSSLENS_COMMAND"  # environment variable: the call of Snakemake (`called`); jobs inherit it, on a cluster too


def called(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """Shell command of a call of Snakemake, without targets and without options that affect only how jobs are run.

    arguments: command line without the program's name. environment: environment variables, which may name a profile.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", default=environment.get("SNAKEMAKE_PROFILE"))
    parser.add_argument("--snakefile", "-s")
    parser.add_argument("--directory", "-d")
    parser.add_argument("--configfile", "--configfiles", nargs="+")
    parser.add_argument("--config", "-C", nargs="*")
    options, _ = parser.parse_known_args(arguments)
    words = ["snakemake"]
    for option, value in vars(options).items():
        if value:
            words += [f"--{option}", *([value] if isinstance(value, str) else value)]
    return shlex.join([*words, *["--"][: bool(options.configfile or options.config)]])  # else a target is read as another value


def command(target: str | os.PathLike[str]) -> str | None:
    """Shell command that makes a file again; None outside a run of the workflow."""
    return f"{call} {shlex.quote(os.fspath(target))}" if (call := os.environ.get(COMMAND)) else None


def set_aside(path: Path) -> str:
    """Shell command that renames a file or folder. It is not deleted, since another working copy may have made it."""
    names = (path.with_name(f".{path.name}{number or ''}.damaged") for number in count())
    free = next(name for name in names if not os.path.lexists(name))
    return shlex.join(["mv", "--", str(path), str(free)])
