"""The call of Snakemake, and the command that makes a file again."""

import os
import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

COMMAND = "CROSSLENS_COMMAND"  # environment variable: the call of Snakemake (`called`); jobs inherit it, on a cluster too


def called(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """A call of Snakemake without its targets, and without the options that decide only how it runs."""
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
    return shlex.join([*words, *["--"][: bool(options.configfile or options.config)]])  # a target is not one more file or value


def command(target: str | os.PathLike[str]) -> str | None:
    """The command that makes a file again; None outside a run of the workflow."""
    return f"{call} {shlex.quote(os.fspath(target))}" if (call := os.environ.get(COMMAND)) else None


def set_aside(path: Path) -> str:
    """The command that moves a file or folder out of the way. It is not to be deleted: another working copy may have made it."""
    names = (path.with_name(f".{path.name}{number or ''}.damaged") for number in count())
    free = next(name for name in names if not os.path.lexists(name))
    return shlex.join(["mv", "--", str(path), str(free)])
