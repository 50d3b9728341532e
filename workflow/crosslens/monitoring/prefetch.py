"""Fetch the official files that targets need, after saying how many and how large they are.

python -m crosslens.monitoring.prefetch [--profile NAME] [--list] [options of snakemake] -- [TARGET ...]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from crosslens.monitoring.plan import plan
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import readable
from crosslens.sources.offline import by_hand
from crosslens.sources.prefetch import BY_HAND, DOWNLOAD, MIRROR, Wanted, amount, wanted
from crosslens.sources.registry import load

RULES = ("fetch", "dump_sample")


def table(files: Sequence[Wanted]) -> Table:
    """Table with a row for each source, and one for all that is downloaded."""
    rows = Table("source", "", title="Official files that are read and not here yet", title_justify="left")
    for column in ("files", "size", "of it estimated", "of unknown size"):
        rows.add_column(column, justify="right")
    for origin in (DOWNLOAD, MIRROR, BY_HAND):
        for folder in sorted({file.folder for file in files if file.origin == origin}):
            rows.add_row(folder, origin, *_cells([file for file in files if (file.origin, file.folder) == (origin, folder)]))
    rows.add_section()
    rows.add_row("all", DOWNLOAD, *_cells([file for file in files if file.origin == DOWNLOAD]))
    return rows


def _cells(files: Sequence[Wanted]) -> list[str]:
    total = amount(files)
    estimated, unknown = readable(total.estimated) if total.estimated else "", f"{total.unknown:,}" if total.unknown else ""
    return [f"{total.files:,}", readable(total.bytes), estimated, unknown]


def lines(files: Sequence[Wanted]) -> Iterator[str]:
    """A line for each file: its size, path below MIRROR or results/sources, and origin."""
    for file in sorted(files, key=lambda file: file.path):
        about = "" if file.size.is_known else "about "
        words = "of unknown size" if file.size.bytes is None else f"{about}{readable(file.size.bytes)}"
        yield f"{words:>15}  {file.path}  {file.origin}"


def main(arguments: list[str]) -> int:
    """Print what is to be fetched, and fetch it; return the exit status of Snakemake."""
    parser = argparse.ArgumentParser(prog="crosslens.monitoring.prefetch", description=__doc__)
    parser.add_argument("--profile")
    parser.add_argument("--list", action="store_true", help="name each file, and fetch none")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    named_options, options = parser.parse_known_args(arguments[:at])
    options += ["--profile", named_options.profile] if named_options.profile else ["--cores", "1"]
    try:
        config, jobs = plan([*options, *arguments[at:]])
        outputs = [job.output[0] for job in jobs if job.rule in RULES]
        below = [os.path.relpath(output, f"{config.results}/sources") for output in outputs]
        sources = load(additions=config.sources)
        files = list(wanted(below, sources, config.mirror))
    except DataError as error:
        sys.exit(f"prefetch: {error}")
    if not files:
        print("prefetch: every official file that is read is here")
        return 0
    if named_options.list:
        print(*lines(files), sep="\n")
    Console(width=None if sys.stdout.isatty() else 140).print(table(files))
    if named_options.list:  # a run says it too
        print(*by_hand(below, sources, config.mirror), sep="\n", end="")
    return 0 if named_options.list else subprocess.call([sys.executable, "-m", "snakemake", *options, "--", *outputs])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
