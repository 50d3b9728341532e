"""State of the studies: how many tables and figures are built, stale (and why) or missing, what runs, and what is left over.

`make status`, or python -m crosslens.commands.status [--paper PAPER] [STUDY ...]. A study is a preset or a folder of results.
The newest record in such a folder says with which options it is made.
"""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crosslens.commands.planned_jobs import Job, cause, last_call, plan, records
from crosslens.config.base import nearest
from crosslens.config.presets import read_presets, read_yaml
from crosslens.config.whole import Config
from crosslens.corpora.sources.pins import LOCK, digests
from crosslens.corpora.sources.registry import Source, load
from crosslens.graph.plan import ENDINGS
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import is_abandoned
from crosslens.jobs.quantities import counted, readable, shortened
from crosslens.jobs.training_folders import CHECKPOINT, HALF_WRITTEN
from crosslens.papers import KEYS, papers
from crosslens.reports.studies import Studies
from crosslens.training.lock import holders

ALL = "demo_all"  # the rule that builds every table and figure
DETAILED = 2  # up to so many studies are shown with a line for each paper


@dataclass(frozen=True)
class Study:
    """A study: its name, its folder of results, the options of snakemake that choose it, and the targets to build."""

    name: str
    results: str
    options: Sequence[str]
    targets: Sequence[str] = (ALL,)


@dataclass(frozen=True)
class Item:
    """A table or figure and its state.

    paper: key of its paper.
    path: file to ask for.
    state: built, stale or missing.
    remark: when it was built, or why it is stale.
    jobs: jobs that would build it.
    """

    paper: str
    path: str
    state: str
    remark: str = ""
    jobs: Sequence[Job] = ()


def studies(names: Sequence[str], root: Path) -> list[Study]:
    """Studies by name, each a preset or a folder of results; without names all that are begun, or else the demo.

    The targets of a preset are all tables and figures; those of another folder are what was built there.

    Raises DataError for a name that is neither, or a folder without a table or figure.
    """
    presets = [Study(preset.name, preset.results, ["--profile", preset.profile]) for preset in read_presets(root)]
    studies_by_name = {name: study for study in presets for name in (study.name, study.results)}
    own_folders = {f"results/{path.parent.name}" for form in ("csv", "svg") for path in root.glob(f"results/*/*.{form}.json")}
    folders = sorted(own_folders.union(study.results for study in presets))
    chosen = []
    for name in names or [folder for folder in folders if is_begun(root / folder)] or [presets[0].name]:
        folder = name.rstrip("/")
        if folder not in studies_by_name and folder.startswith("results/") and not (root / folder).exists():
            raise DataError(f"{folder}: not built yet: build a table or figure there, or correct RESULTS")
        if folder not in studies_by_name and not (root / folder).is_dir():
            expected = ", ".join(study.name for study in presets)
            remedy = nearest(name, studies_by_name) or "; correct RESULTS, or build that folder first"
            raise DataError(f"expected {expected} or a folder of results, found {name}{remedy}")
        if study := studies_by_name.get(folder):
            chosen.append(study)
        else:
            files = [str(record.relative_to(root).with_suffix("")) for record in records(root / folder)]
            chosen.append(Study(Path(folder).name, folder, last_call(root / folder), files))
    return chosen


def is_begun(results: Path) -> bool:
    """Whether a folder of results has training runs, tables or figures of a study. Those of passports do not count."""
    runs = (path for path in results.glob("models/*") if path.name != "passport")
    return any(runs) or any(any(results.glob(f"*.{ending}.json")) for ending in ("csv", "svg"))


def items(config: Config, jobs: Sequence[Job], root: Path = Path()) -> list[Item]:
    """Tables and figures that exist or are planned. jobs: jobs that would build everything."""
    makers = {file: job for job in jobs for file in job.output}
    rows = []
    for place, (paper, _, item) in sorted(Studies(config, papers()).items.items()):
        file = f"{config.results}/{place}{ENDINGS[item.form][0]}"
        exists, needed = (root / file).exists(), upstream(makers[file], makers) if file in makers else []
        if needed:
            rows.append(Item(paper.key, file, "stale" if exists else "missing", causes(needed) if exists else "", needed))
        elif exists:
            time = datetime.fromtimestamp((root / file).stat().st_mtime)
            rows.append(Item(paper.key, file, "built", f"{time:%Y-%m-%d %H:%M}"))
    return rows


def upstream(job: Job, makers: Mapping[str, Job]) -> list[Job]:
    """The job and the planned jobs that it waits for. makers: file -> planned job that makes it."""
    jobs, waiting = {}, [job]
    while waiting:
        job = waiting.pop()
        if job.output[0] not in jobs:
            jobs[job.output[0]] = job
            waiting += [makers[file] for file in job.input if file in makers]
    return list(jobs.values())


def causes(jobs: Iterable[Job]) -> str:
    """Why results are stale, each reason with the jobs that it causes: settings (train 2); code (table 1)."""
    rules: dict[str, Counter[str]] = {}
    for job in jobs:
        if words := cause(job.reason):
            rules.setdefault(words, Counter())[job.rule] += 1
    lists = {words: [f"{rule} {number}" for rule, number in numbers.most_common()] for words, numbers in rules.items()}
    return "; ".join(f"{words} ({shortened(numbers)})" for words, numbers in lists.items())


def united(rows: Iterable[Item]) -> list[Job]:
    """Jobs that any of these tables and figures would take, each once."""
    return list({job.output[0]: job for item in rows for job in item.jobs}.values())


def taken(jobs: Sequence[Job]) -> str:
    """Number of jobs, and of training runs among them, as text; "" for none."""
    training_runs = sum(job.rule.startswith("train") for job in jobs)
    parts = ((len(jobs), "job"), (training_runs, "training run"))
    return " with ".join(counted(number, noun) for number, noun in parts if number)


def headline(study: Study, rows: Sequence[Item]) -> str:
    """Sentences on how much of a study is built, why the rest is not, and the command that builds it."""
    states = Counter(item.state for item in rows)
    text = f"{study.name}: {states['built']} of {len(rows)} tables and figures built"
    text += f", {states['stale']} stale, {states['missing']} missing."
    if stale := causes(united(item for item in rows if item.state == "stale")):
        text += f" Stale because of {stale}."
    if jobs := united(rows):
        command = shlex.join(["snakemake", *study.options, *["--"] * (len(study.options) > 2)])
        text += f" The rest takes {taken(jobs)}: {command} {ALL}, or one: {command} FILE."
    return text


def by_paper(rows: Sequence[Item]) -> Table:
    """Table with a row for each paper."""
    grid = Table("paper", "built", "stale", "missing", "the rest takes", box=None)
    for paper in dict.fromkeys(item.paper for item in rows):
        of_paper = [item for item in rows if item.paper == paper]
        states = Counter(item.state for item in of_paper)
        grid.add_row(paper, *(str(states[state]) for state in ("built", "stale", "missing")), taken(united(of_paper)))
    return grid


def by_item(rows: Sequence[Item]) -> Table:
    """Table with a row for each table and figure."""
    grid = Table(box=None)
    grid.add_column("table or figure", no_wrap=True)  # not wrapped, so that it can be copied
    for column in ("state", "since, or because of", "takes"):
        grid.add_column(column)
    for item in rows:
        grid.add_row(item.path, item.state, item.remark, taken(item.jobs))
    return grid


def activity(results: Path, root: Path) -> list[str]:
    """Sentences on what runs in a folder of results, and on what killed runs have left there."""
    running = holders(results)
    sentences = []
    if running:
        names = [f"{lock.parent.relative_to(results)} ({holder})" for lock, holder in running.items()]
        sentences.append(f"Running: {shortened(names)}.")
    snakemake_runs = any((root / ".snakemake/locks").glob("*.output.lock"))
    if snakemake_runs:
        sentences.append("Snakemake is running here; if it was killed, run `snakemake --unlock`.")
    paths = [
        path
        for path in leftovers(results)
        if not any(lock.parent in path.parents for lock in running) and (not snakemake_runs or is_abandoned(path))
    ]
    if paths:
        files = [file for path in paths for file in (path, *path.rglob("*")) if file.is_file()]
        size = readable(sum(file.stat().st_size for file in files))
        sentences.append(f"Left by killed runs, and not needed: {len(paths)} files and folders, {size}: {shortened(paths)}.")
    return sentences


def leftovers(results: Path) -> list[Path]:
    """Half-written files, and checkpoints that are damaged or of finished training runs, below a folder of results."""
    paths = {path for pattern in (*HALF_WRITTEN, "*.damaged") for path in results.rglob(pattern)}
    return sorted(paths | {path for path in results.rglob(CHECKPOINT) if path.with_name("record.json").exists()})


def unverified(sources: Mapping[str, Source], lock: Path) -> str:
    """A line on pinned files without a published digest; "" if there are none."""
    places = [(file, *file.partition("/")[::2]) for file in digests(lock)]
    files = [file for file, source, path in places if source not in sources or not sources[source].known(path).sha256]
    line = f"{lock}: files without a published digest, trusted as first read: {len(files)}"
    return f"{line}, {shortened(files)}" * bool(files)


def invalid(files: Iterable[Path]) -> list[str]:
    """A line on each YAML file that is not valid, since Snakemake does not say where."""
    lines = []
    for file in files:
        try:
            read_yaml(file)
        except DataError as error:
            lines.append(str(error))
    return lines


def main(arguments: list[str], root: Path = Path()) -> None:
    """Print the state of studies, by default of those that are begun, or else of the demo; exit with 1 if one has no plan."""
    parser = argparse.ArgumentParser(prog="crosslens.commands.status", description=__doc__)
    parser.add_argument("--paper", choices=KEYS)
    parser.add_argument("study", nargs="*")
    options = parser.parse_args(arguments)
    try:
        chosen, pinned = studies(options.study, root), unverified(load(), root / LOCK)
    except DataError as error:
        sys.exit(f"status: {error}")
    console, failed = Console(), False
    with ThreadPoolExecutor() as pool:  # each plan is a process of its own
        plans = [pool.submit(plan, [*study.options, "--", *study.targets], root) for study in chosen]
    for study, planned in zip(chosen, plans, strict=True):
        try:
            config, jobs = planned.result()
        except DataError as error:
            failed = True
            print(f"status: {study.name}: {error}", file=sys.stderr)
            continue
        rows = items(config, jobs, root)
        if options.paper:
            rows = [item for item in rows if item.paper == options.paper]
        console.print(headline(study, rows), soft_wrap=True, highlight=False, markup=False)
        if options.paper or len(chosen) <= DETAILED:
            console.print(by_item(rows) if options.paper else by_paper(rows))
        for sentence in activity(root / study.results, root):
            console.print(sentence, soft_wrap=True, highlight=False, markup=False)
    hint = "`make status PAPER=KEY` lists each table and figure of a paper." * (not options.paper)
    for sentence in filter(None, [*invalid(sorted([*root.glob("*.yaml"), *root.glob("overlays/*.yaml")])), pinned, hint]):
        console.print(sentence, soft_wrap=True, highlight=False, markup=False)
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
