"""What is built, stale (and why) or missing, by table and figure: `make status`, or python -m crosslens.status [SCALE ...]."""

import csv
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from rich.console import Console
from rich.table import Table

from crosslens.errors import DataError
from crosslens.hints import SHOWN
from crosslens.scales import Scale, scales

WHY = {
    "params changed": "settings or code changed",
    "set of input files changed": "different inputs than before",
    "updated input files": "newer inputs",
}
UPSTREAM = "something that it is made of"  # changed; nothing of its own did


@dataclass(frozen=True)
class Item:
    """A table or figure. state: built, stale, missing; why: it is stale, or when it was built."""

    name: str
    state: str
    why: str


@dataclass(frozen=True)
class Status:
    """Of a scale. jobs: that it would take to build everything, by rule; causes: reasons -> jobs that they concern, by rule."""

    items: list[Item]
    jobs: Counter[str]
    causes: Mapping[str, Counter[str]]


def built(root: Path) -> dict[str, Scale]:
    """Scales by name, of those whose results folder holds anything built."""
    stages = ("sources", "corpora", "models")
    return {each.name: each for each in scales(root) if any((root / each.results / stage).is_dir() for stage in stages)}


def status(summary: str, results: str) -> Status:
    """Items and jobs, from what `snakemake --summary` prints; results: the folder that items lie in."""
    lines = summary.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith("output_file\t")), None)
    if header is None:
        raise ValueError("expected the output of `snakemake --summary`, found no line that begins with 'output_file'")
    items, jobs, causes = [], defaultdict[str, set[str]](set), defaultdict[str, set[tuple[str, str]]](set)
    for row in csv.DictReader(lines[header:], delimiter="\t", quoting=csv.QUOTE_NONE):
        path, rule, missing = PurePath(row["output_file"]), row["rule"], row["date"] == "-"
        job = row["log-file(s)"] if row["log-file(s)"] not in ("", "-") else row["output_file"]  # a job has one log
        # The plan decides. The status also knows of changes that rerun nothing here, such as a comment in a script.
        planned = row["plan"] != "no update"
        if planned:
            jobs[rule].add(job)
        if planned and row["status"] in WHY:
            causes[WHY[row["status"]]].add((rule, job))
        if path.suffix == SHOWN.get(rule):
            state = ("missing" if missing else "stale") if planned else "built"
            why = {"built": row["date"], "missing": ""}.get(state) or WHY.get(row["status"], UPSTREAM) * (state == "stale")
            items.append(Item(str(path.with_suffix("").relative_to(results)), state, why))
    counted = {why: Counter(rule for rule, _ in concerned) for why, concerned in causes.items()}
    return Status(sorted(items, key=lambda item: item.name), Counter({rule: len(its) for rule, its in jobs.items()}), counted)


def table(found: Mapping[str, Status]) -> Table:
    """One table for all scales."""
    shown = Table("scale", "table or figure", "state", "built on, or stale because of")
    for scale, its in found.items():
        for i, item in enumerate(its.items):
            shown.add_row(scale if i == 0 else "", item.name, item.state, item.why)
        shown.add_section()
    return shown


def outlook(scale: str, its: Status) -> str:
    """What it would take to build everything of a scale, and what has changed."""
    if not its.jobs:
        return f"{scale}: everything is built."
    takes = ", ".join(f"{rule} {number}" for rule, number in its.jobs.most_common())
    changed = [f"{why} ({', '.join(f'{rule} {n}' for rule, n in rules.most_common())})" for why, rules in its.causes.items()]
    return f"{scale}: {its.jobs.total()} jobs to build everything: {takes}." + f" Changed: {'; '.join(changed)}." * bool(changed)


def main(names: list[str], root: Path = Path()) -> None:
    """Ask Snakemake about each scale and print the table."""
    try:
        known = built(root)
    except DataError as error:
        sys.exit(f"status: {error}")
    if unknown := set(names) - known.keys():
        expected = f"one of {', '.join(known)}" if known else "a scale of which anything is built"
        sys.exit(f"status: expected {expected}, found {', '.join(sorted(unknown))}")
    if not known:
        sys.exit("status: nothing is built yet; make demo builds the headline tables and figures of the demo")
    found: dict[str, Status] = {}
    failed = False
    for name in names or known:
        command = [sys.executable, "-m", "snakemake", "--profile", known[name].profile, "demo_all", "--summary"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=root)
        if result.returncode == 0:
            found[name] = status(result.stdout, known[name].results)
        else:
            failed = True
            print(f"status: {name}: {' '.join(command[1:])} failed:\n{result.stderr}", file=sys.stderr)
    console = Console()
    console.print(table(found))
    for name, its in found.items():
        console.print(outlook(name, its), soft_wrap=True)
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
