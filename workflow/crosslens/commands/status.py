"""State of each table and figure: built, stale (and why) or missing.

`make status`, or python -m crosslens.commands.status [PRESET ...]
"""

import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crosslens.commands.hints import SHOWN
from crosslens.commands.planned_jobs import Job, plan
from crosslens.config.presets import Preset, read_presets
from crosslens.corpora.sources.pins import LOCK, digests
from crosslens.corpora.sources.registry import Source, load
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import readable
from crosslens.jobs.training_folders import CHECKPOINT, HALF_WRITTEN
from crosslens.papers import papers
from crosslens.reports.studies import Studies

WHY = {  # part of Snakemake's reason for a job -> words
    "Params have changed": "settings or code changed",
    "Set of input files has changed": "different inputs than before",
    "Updated input files": "newer inputs",
}
ALL = "demo_all"  # the rule that builds every item
SHORT = 5  # files that a line names


@dataclass(frozen=True)
class Item:
    """A table or figure: the file to ask for, its state in words, and the number of jobs that would run for it, by rule."""

    path: str
    state: str
    jobs: Counter[str]

    def __str__(self) -> str:
        """Its state, and what it would take."""
        training_runs = sum(number for rule, number in self.jobs.items() if rule.startswith("train"))
        parts = ((self.jobs.total(), "job"), (training_runs, "training"))
        cost = " with ".join(f"{number} {noun}{'s' * (number > 1)}" for number, noun in parts if number)
        return ": ".join(filter(None, (self.state, cost)))


def has_results(folder: Path) -> bool:
    """Whether a folder of results holds anything built."""
    return any((folder / stage).is_dir() for stage in ("sources", "corpora", "models"))


def items(files: Iterable[str], jobs: Sequence[Job], root: Path = Path()) -> list[Item]:
    """Items that exist or are planned. files: of tables and figures; jobs: those that would build everything."""
    makers = {file: job for job in jobs for file in job.output}
    states = []
    for file in sorted(files):
        job, path = makers.get(file), root / file
        if job:
            state = f"stale because of {reason(job) or 'changes upstream'}" if path.exists() else "missing"
            states.append(Item(file, state, by_rule(upstream(job, makers))))
        elif path.exists():
            states.append(Item(file, f"built {datetime.fromtimestamp(path.stat().st_mtime):%Y-%m-%d %H:%M}", Counter()))
    return states


def reason(job: Job) -> str:
    """Why the outputs of a job no longer count, where that is not that they are missing or that other jobs run before it."""
    return next((words for part, words in WHY.items() if part in job.reason), "")


def upstream(job: Job, makers: Mapping[str, Job]) -> list[Job]:
    """The job and the planned jobs that it waits for. makers: planned job of each file."""
    jobs, waiting = {}, [job]
    while waiting:
        job = waiting.pop()
        if job.output[0] not in jobs:
            jobs[job.output[0]] = job
            waiting += [makers[file] for file in job.input if file in makers]
    return list(jobs.values())


def by_rule(jobs: Iterable[Job]) -> Counter[str]:
    """Number of jobs by rule, without the one that names all items."""
    return Counter(job.rule for job in jobs if job.rule != ALL)


def outlook(preset: Preset, jobs: Sequence[Job]) -> str:
    """Sentences on the jobs that would build everything of a preset, on what has changed, and on the commands that build."""
    numbers = by_rule(jobs)
    if not numbers:
        return f"{preset.name}: everything is built."
    causes = defaultdict[str, list[Job]](list)
    for job in jobs:
        if cause := reason(job):
            causes[cause].append(job)
    changes = "; ".join(f"{cause} ({counted(by_rule(concerned))})" for cause, concerned in causes.items())
    command = f"snakemake --profile {shlex.quote(preset.profile)}"
    return (
        f"{preset.name}: {numbers.total()} jobs to build everything: {counted(numbers)}."
        + f" Changed: {changes}." * bool(changes)
        + f" To build one of these: {command} FILE; everything: {command} {ALL}."
    )


def counted(numbers: Counter[str]) -> str:
    """Rules and their numbers, the most frequent first."""
    return ", ".join(f"{rule} {number}" for rule, number in numbers.most_common())


def table(items_by_preset: Mapping[str, Sequence[Item]]) -> Table:
    """One table for all presets."""
    grid = Table("preset")
    grid.add_column("table or figure", no_wrap=True)  # whole, to be copied
    grid.add_column("state, and what it would take")
    for preset, rows in items_by_preset.items():
        for number, item in enumerate(rows):
            grid.add_row("" if number else preset, item.path, str(item))
        grid.add_section()
    return grid


def leftovers(results: Path) -> list[Path]:
    """Half-written files of killed runs, and checkpoints, altered or of finished training runs, below a folder of results."""
    paths = {path for pattern in (*HALF_WRITTEN, "*.damaged") for path in results.rglob(pattern)}
    return sorted(paths | {path for path in results.rglob(CHECKPOINT) if path.with_name("record.json").exists()})


def advice(preset: str, paths: Sequence[Path]) -> str:
    """Sentences on the leftovers of a preset."""
    files = [file for path in paths for file in (path, *path.rglob("*")) if file.is_file()]
    size = readable(sum(file.stat().st_size for file in files))
    return (
        f"{preset}: {len(paths)} left by kills, {size}: {shortened(paths)}. Runs of what made them remove those half written, "
        "after a day; or delete them while nothing runs."
    )


def unverified(sources: Mapping[str, Source], lock: Path) -> str:
    """A line on the pinned files of which no digest is published; "" where there are none."""
    places = [(file, *file.partition("/")[::2]) for file in digests(lock)]
    files = [file for file, source, path in places if source not in sources or not sources[source].sha256_of(path)]
    line = f"{lock}: {len(files)} files are unverified, for no digest of them is published: trusted as first read"
    return f"{line}: {shortened(files)}" * bool(files)


def shortened(files: Sequence[object]) -> str:
    """The first files, and the number of the others."""
    return ", ".join(map(str, files[:SHORT])) + f" and {len(files) - SHORT} more" * (len(files) > SHORT)


def main(names: list[str], root: Path = Path()) -> None:
    """Print the state of presets, by default of those of which anything is built, or else of the demo."""
    items_by_preset, sentences, failed = {}, [], False
    try:
        presets_by_name = {preset.name: preset for preset in read_presets(root)}
        if unknown := set(names) - presets_by_name.keys():
            raise DataError(f"expected one of {', '.join(presets_by_name)}, found {', '.join(sorted(unknown))}")
        pinned = unverified(load(), root / LOCK)
    except DataError as error:
        sys.exit(f"status: {error}")
    with_results = [name for name, preset in presets_by_name.items() if has_results(root / preset.results)]
    for name in names or with_results or [*presets_by_name][:1]:  # by name the demo is the first
        preset = presets_by_name[name]
        try:
            config, jobs = plan(["--profile", preset.profile, ALL], root)
        except DataError as error:
            failed = True
            print(f"status: {name}: {error}", file=sys.stderr)
            continue
        places = Studies(config, papers()).items.items()
        items_by_preset[name] = items(
            (f"{preset.results}/{place}{SHOWN[item.form]}" for place, (_, _, item) in places), jobs, root
        )
        sentences.append(outlook(preset, jobs))
        if paths := leftovers(root / preset.results):
            sentences.append(advice(name, paths))
    console = Console()
    if items_by_preset:
        console.print(table(items_by_preset))
    for sentence in filter(None, [*sentences, pinned]):
        console.print(sentence, soft_wrap=True)
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
