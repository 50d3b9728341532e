"""Official files that a target reads, fetched before anything is made of them.

`make prefetch`, or python -m crosslens.commands.prefetch [--profile NAME] [--overlay FILE] [--dry-run] [TARGET ...]
"""

import argparse
import subprocess
import sys

from crosslens.commands.planned_jobs import call_options
from crosslens.jobs.errors import DataError

UNTIL = ("--cores", "4", "--until", "fetch", "dump_sample")


def main(arguments: list[str]) -> None:
    """Fetch the files, or name them; exit with the status of snakemake."""
    parser = argparse.ArgumentParser(prog="crosslens.commands.prefetch", description=__doc__)
    parser.add_argument("--profile")
    parser.add_argument("--overlay")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("target", nargs="*")
    options = parser.parse_args(arguments)
    try:
        where = call_options(options.profile, options.overlay)
    except DataError as error:
        sys.exit(f"prefetch: {error}")
    dry = ["--dry-run"] if options.dry_run else []
    sys.exit(subprocess.run([sys.executable, "-m", "snakemake", *where, *dry, *UNTIL, "--", *options.target]).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
