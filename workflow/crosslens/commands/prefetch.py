"""Fetch the official files that a target reads, before anything is made from them.

`make prefetch`, or python -m crosslens.commands.prefetch [--profile NAME] [--overlay FILE] [--dry-run] [TARGET ...]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from crosslens.commands.planned_jobs import Job, call_options, plan
from crosslens.corpora.sources.registry import load, place_of, size_of
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import counted, readable
from crosslens.papers.configuration import WholeConfig

UNTIL = ("--cores", "4", "--until", "fetch", "dump_sample")


def file_lines(config: WholeConfig, jobs: Sequence[Job]) -> list[str]:
    """A line for each file that jobs fetch (path below a mirror, known or estimated size, address or advice), and a total."""
    sources, lines, total = load(additions=config.sources), [], 0
    for job in jobs:
        file = os.path.relpath(job.output[0], f"{config.results}/sources")
        key, path, blocks = place_of(file, sources)
        size, source = size_of(file, sources), sources[key]
        address = next(iter(source.urls_of(path)), source.manual or "")
        share = f" ({counted(blocks, 'block')} of it)" if blocks else ""
        lines.append(f"{key}/{path}{share}\t{readable(size) if size else 'unknown'}\t{address}")
        total += size or 0
    return [*sorted(lines), f"{counted(len(lines), 'file')}, {readable(total)} as far as sizes are known or estimated"]


def main(arguments: list[str]) -> None:
    """Fetch the files and exit with the status of snakemake, or only list them (--dry-run)."""
    parser = argparse.ArgumentParser(prog="crosslens.commands.prefetch", description=__doc__)
    parser.add_argument("--profile")
    parser.add_argument("--overlay", default="")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("target", nargs="*")
    options = parser.parse_args(arguments)
    try:
        command = [*call_options(options.profile, options.overlay), *UNTIL, "--", *options.target]
        if options.dry_run:
            print("\n".join(file_lines(*plan(command))))
            return
    except DataError as error:
        sys.exit(f"prefetch: {error}")
    sys.exit(subprocess.run([sys.executable, "-m", "snakemake", *command]).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
