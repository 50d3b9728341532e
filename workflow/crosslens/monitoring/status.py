"""State of each table and figure: built, stale (and why) or missing.

`make status`, or python -m crosslens.monitoring.status [SCALE ...]
"""

import csv
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from rich.console import Console
from rich.table import Table

from crosslens.config.scales import Scale, scales
from crosslens.monitoring.hints import SHOWN
from crosslens.monitoring.plan import Job, plan
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import readable
from crosslens.sources.pins import LOCK, digests
from crosslens.sources.registry import Source, load
from crosslens.storage.trainings import CHECKPOINT, HALF_WRITTEN

WHY = {
    "params changed": "settings or code changed",
    "set of input files changed": "different inputs than before",
    "updated input files": "newer inputs",
}
ALL = "demo_all"  # the rule that builds every item
NAMED = 5  # files that a line names
UPSTREAM = "changes upstream"  # nothing of its own changed


@dataclass(frozen=True)
class Item:
    """A table or figure.

    path: of the file to ask for. state: built, stale or missing. why: it is stale, or when it was built. jobs: of it, by rule.
    """

    path: str
    state: str
    why: str
    jobs: Counter[str]

    def __str__(self) -> str:
        """Its state in words."""
        if self.state == "built":
            return f"built {self.why}"
        return f"{self.state}{f' because of {self.why}' * bool(self.why)}: {_counted(self.jobs)}"


@dataclass(frozen=True)
class Status:
    """State of a scale. jobs: those that would build everything, by rule; causes: reason -> jobs that it concerns, by rule."""

    items: list[Item]
    jobs: Counter[str]
    causes: Mapping[str, Counter[str]]


def has_results(root: Path, scale: Scale) -> bool:
    """Whether the results folder of a scale holds anything built."""
    return any((root / scale.results / stage).is_dir() for stage in ("sources", "corpora", "models"))


def status(summary: str, planned: Sequence[Job], results: str) -> Status:
    """Items and jobs, from what `snakemake --summary` prints and a plan; results: the folder that items lie in."""
    lines, jobs = summary.splitlines(), _by_item(planned)
    header = next((i for i, line in enumerate(lines) if line.startswith("output_file\t")), None)
    if header is None:
        raise ValueError("expected the output of `snakemake --summary`, found no line that begins with 'output_file'")
    items, causes = [], defaultdict[str, set[tuple[str, str]]](set)
    for row in csv.DictReader(lines[header:], delimiter="\t", quoting=csv.QUOTE_NONE):
        path, rule, missing = PurePath(row["output_file"]), row["rule"], row["date"] == "-"
        # The plan decides. The status also knows of changes that rerun nothing here, such as a comment in a script.
        pending = row["plan"] != "no update"
        if pending and row["status"] in WHY:
            causes[WHY[row["status"]]].add((rule, row["log-file(s)"] or row["output_file"]))  # a job has one log
        if path.suffix == SHOWN.get(rule):
            name = str(path.with_suffix("").relative_to(results))
            state = ("missing" if missing else "stale") if pending else "built"
            why = {"built": _day(row["date"]), "missing": ""}.get(state, WHY.get(row["status"], UPSTREAM))
            items.append(Item(str(path), state, why, jobs.get(name, Counter())))
    counts = {why: Counter(rule for rule, _ in concerned) for why, concerned in causes.items()}
    return Status(sorted(items, key=lambda item: item.path), _rules(planned), counts)


def _by_item(planned: Sequence[Job]) -> dict[str, Counter[str]]:
    """Table or figure -> jobs that are to run for it, by rule."""
    makers = {file: number for number, job in enumerate(planned) for file in job.output}
    ahead = [{makers[file] for file in job.input if file in makers} for job in planned]
    jobs = {}
    for number, job in enumerate(planned):
        if job.rule in SHOWN:
            reached, fresh = {number}, {number}
            while fresh := set().union(*(ahead[number] for number in fresh)) - reached:
                reached |= fresh
            jobs[job.wildcards["item"]] = _rules([planned[number] for number in reached])
    return jobs


def _rules(jobs: Iterable[Job]) -> Counter[str]:
    """Number of jobs by rule, without the one that names all items."""
    return Counter(job.rule for job in jobs if job.rule != ALL)


def _counted(jobs: Counter[str]) -> str:
    trainings = sum(count for rule, count in jobs.items() if rule.startswith("train"))
    parts = ((jobs.total(), "job"), (trainings, "training"))
    return " with ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in parts if count)


def _day(date: str) -> str:
    """Snakemake's date, shorter."""
    return f"{datetime.strptime(date, '%a %b %d %H:%M:%S %Y'):%Y-%m-%d %H:%M}" if date != "-" else ""


def leftovers(results: Path) -> list[Path]:
    """Half-written files of killed runs, and checkpoints, altered or of finished trainings, below a folder of results."""
    paths = {path for pattern in (*HALF_WRITTEN, "*.damaged") for path in results.rglob(pattern)}
    return sorted(paths | {path for path in results.rglob(CHECKPOINT) if path.with_name("record.json").exists()})


def unexpected_files(scale: str, paths: Sequence[Path]) -> str:
    """Sentence on leftovers."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    names = f"{', '.join(map(str, paths[:5]))}{', ...' if len(paths) > 5 else ''}"
    size = readable(sum(file.stat().st_size for file in files))
    return (
        f"{scale}: {len(paths)} left by kills, {size}: {names}. Runs of what made them remove those half written, after a day; "
        "or delete them while nothing runs."
    )


def table(statuses: Mapping[str, Status]) -> Table:
    """One table for all scales."""
    status_table = Table("scale")
    status_table.add_column("table or figure", no_wrap=True)  # whole, to be copied
    status_table.add_column("state, and what it would take")
    for scale, status in statuses.items():
        for i, item in enumerate(status.items):
            status_table.add_row(scale if i == 0 else "", item.path, str(item))
        status_table.add_section()
    return status_table


def outlook(scale: str, status: Status, profile: str) -> str:
    """Sentences on the jobs that would build everything of a scale, on what has changed, and on the commands that build."""
    if not status.jobs:
        return f"{scale}: everything is built."
    profile = shlex.quote(profile)
    takes = ", ".join(f"{rule} {number}" for rule, number in status.jobs.most_common())
    changed = [f"{why} ({', '.join(f'{rule} {n}' for rule, n in rules.most_common())})" for why, rules in status.causes.items()]
    return (
        f"{scale}: {status.jobs.total()} jobs to build everything: {takes}."
        + f" Changed: {'; '.join(changed)}." * bool(changed)
        + f" To build one of these: snakemake --profile {profile} FILE; everything: snakemake --profile {profile} {ALL}."
    )


def unverified(sources: Mapping[str, Source], lock: Path) -> str:
    """A line on the pinned files of which no digest is published; "" where there are none."""
    paths = [file.partition("/") for file in digests(lock)]
    files = [f"{source}/{path}" for source, _, path in paths if source not in sources or not sources[source].sha256_of(path)]
    more = f" and {len(files) - NAMED} more" * (len(files) > NAMED)
    line = f"{lock}: {len(files)} files are unverified, for no digest of them is published: trusted as first read"
    return f"{line}: {', '.join(files[:NAMED])}{more}" * bool(files)


def main(names: list[str], root: Path = Path()) -> None:
    """Ask Snakemake about scales, by default those of which anything is built or else the demo, and print the table."""
    try:
        scales_by_name = {scale.name: scale for scale in scales(root)}
    except DataError as error:
        sys.exit(f"status: {error}")
    if unknown := set(names) - scales_by_name.keys():
        sys.exit(f"status: expected one of {', '.join(scales_by_name)}, found {', '.join(sorted(unknown))}")
    statuses: dict[str, Status] = {}
    failed = False
    scales_with_results = [name for name, scale in scales_by_name.items() if has_results(root, scale)]
    for name in names or scales_with_results or [*scales_by_name][:1]:  # by name the demo is the first
        options = ["--profile", scales_by_name[name].profile, ALL]
        try:
            _, jobs = plan(options, root)
            command = [sys.executable, "-m", "snakemake", *options, "--summary"]
            summary = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout
            statuses[name] = status(summary, jobs, scales_by_name[name].results)
        except (DataError, subprocess.CalledProcessError) as error:
            failed = True
            print(f"status: {name}: {getattr(error, 'stderr', error)}", file=sys.stderr)
    console = Console()
    if statuses:
        console.print(table(statuses))
    for name in statuses:
        console.print(outlook(name, statuses[name], scales_by_name[name].profile), soft_wrap=True)
        if paths := leftovers(root / scales_by_name[name].results):
            console.print(unexpected_files(name, paths), soft_wrap=True)
    try:
        if line := unverified(load(), root / LOCK):
            console.print(line, soft_wrap=True)
    except DataError as error:
        sys.exit(f"status: {error}")
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
