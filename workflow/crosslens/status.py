"""What is built, out of date (and why) or missing: `make status`, or python -m crosslens.status [PROFILE ...]."""

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

PROFILES = {"demo": "demo", "laptop": "laptop", "published": "slurm"}  # scale -> profile
WHY = {
    "params changed": "settings or code changed",
    "set of input files changed": "different inputs than before",
    "updated input files": "newer inputs",
}
UPSTREAM = "an input will be rebuilt"  # nothing of its own changed


@dataclass
class Outputs:
    """How many outputs of a rule are built, stale for which reason, and missing."""

    built: int = 0
    missing: int = 0
    stale: Counter[str] = field(default_factory=Counter)


def status(summary: str) -> dict[str, Outputs]:
    """Outputs by rule, from what `snakemake --summary` prints."""
    lines = summary.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith("output_file\t")), None)
    if header is None:
        raise ValueError("expected the output of `snakemake --summary`, found no line that begins with 'output_file'")
    rules: dict[str, Outputs] = {}
    for row in csv.DictReader(lines[header:], delimiter="\t", quoting=csv.QUOTE_NONE):
        outputs = rules.setdefault(row["rule"], Outputs())
        # The plan decides. The status also knows of changes that rerun nothing here, such as a comment in a script, and
        # a removed temporary file is as it should be.
        if row["plan"] == "no update":
            outputs.built += 1
        elif row["date"] == "-":
            outputs.missing += 1
        else:
            outputs.stale[WHY.get(row["status"], UPSTREAM)] += 1
    return dict(sorted(rules.items()))


def table(scales: Mapping[str, Mapping[str, Outputs]]) -> Table:
    """One table for all scales."""
    shown = Table("scale", "rule", "built", "stale", "missing", "why stale")
    for column in shown.columns[2:5]:
        column.justify = "right"
    shown.columns[1].min_width = max((len(rule) for rules in scales.values() for rule in rules), default=0)
    for scale, rules in scales.items():
        for i, (rule, outputs) in enumerate(rules.items()):
            why = ", ".join(f"{n} {reason}" for reason, n in outputs.stale.most_common())
            counts = (outputs.built, outputs.stale.total(), outputs.missing)
            shown.add_row(scale if i == 0 else "", rule, *(str(n or "") for n in counts), why)
        shown.add_section()
    return shown


def main(names: list[str]) -> None:
    """Ask Snakemake about each scale and print the table."""
    if unknown := set(names) - PROFILES.keys():
        sys.exit(f"status: expected one of {', '.join(PROFILES)}, found {', '.join(sorted(unknown))}")
    scales: dict[str, dict[str, Outputs]] = {}
    failed = False
    for name in names or PROFILES:
        command = [sys.executable, "-m", "snakemake", "--profile", PROFILES[name], "--summary"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            scales[name] = status(result.stdout)
        else:
            failed = True
            print(f"status: {name}: {' '.join(command[1:])} failed:\n{result.stderr}", file=sys.stderr)
    Console().print(table(scales))
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
