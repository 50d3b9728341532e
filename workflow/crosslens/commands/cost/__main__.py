"""Print the cost of a run: python -m crosslens.commands.cost [TARGET ...] [--profile NAME] [options of snakemake]."""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crosslens.commands.cost import rehearsal
from crosslens.commands.cost.estimate import FACTORS, Estimator, wall_time
from crosslens.commands.planned_jobs import Job, call_options, plan
from crosslens.config.presets import read_presets
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import counted, readable, rounded

COLUMNS = ("longest job", "memory requested", "disk")
HOURS_COLUMNS = {True: ("GPU hours", "CPU hours"), False: ("encoder hours", "other hours")}  # by whether a GPU is used
BASES = {
    "measured": "jobs of this kind have finished here",
    "rehearsed": "jobs of this kind were rehearsed here",
    "scaled": "as in a study whose results this one reuses, or tabulated, times the pace of the training runs that have run here",
    "tabulated": "with the settings as they come, for an A100 (the full study) or two cores; see docs/cluster.md",
}


@dataclass
class Line:
    """Cost of the jobs of a rule, or of all rules.

    encoders, others: least, likely and most seconds in all, of jobs that request a GPU and of others.
    longest: likely seconds of the longest job.
    memory: largest request, in megabytes.
    disk: bytes.
    """

    rule: str
    jobs: int = 0
    encoders: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    others: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    longest: float = 0.0
    memory: int = 0
    disk: float = 0.0
    over: int = 0  # jobs that likely take longer than the time that they request
    bases: Counter[str] = field(default_factory=Counter)  # basis of the estimate -> number of jobs; "" for no estimate
    unknown: set[bool] = field(default_factory=set)  # whether jobs without an estimate request a GPU

    def add(self, job: Job, estimator: Estimator) -> None:
        """Add the cost of a job."""
        self.jobs += 1
        self.memory = max(self.memory, job.asked.get("mem_mb", 0))
        self.disk += estimator.disk(job)
        estimate = estimator.estimate(job)
        self.bases[estimate.basis if estimate else ""] += 1
        gpus = job.asked.get("gpu", 0)
        if not estimate:
            self.unknown.add(gpus > 0)
        else:
            total = self.encoders if gpus else self.others
            total[:] = [before + max(1, gpus) * seconds for before, seconds in zip(total, estimate.range, strict=True)]
            self.longest = max(self.longest, estimate.seconds)
            self.over += estimate.seconds > 60 * job.asked.get("runtime", 10**9)

    def cells(self) -> list[str]:
        """Texts of the row in the table."""
        gpu_hours = spent(self.encoders) or "unknown" * (True in self.unknown)
        cpu_hours = spent(self.others) or "unknown" * (False in self.unknown)
        unknown = "unknown" * (self.bases[""] == self.jobs)
        longest = unknown or (rounded(self.longest) if self.longest >= 60 else "")
        memory = readable(self.memory * 10**6) if self.memory else ""
        disk = readable(int(self.disk)) if self.disk else "unknown"
        return [self.rule, f"{self.jobs:,}", gpu_hours, cpu_hours, longest, memory, disk]


def spent(seconds: Sequence[float]) -> str:
    """Likely hours with their range, as text: 17 (5.6 to 50)."""
    if not seconds[1]:
        return ""
    if seconds[1] < 36:
        return "< 0.01"
    low, likely, high = (f"{time / 3600:,.0f}" if time >= 36000 else f"{float(f'{time / 3600:.1g}'):g}" for time in seconds)
    return f"{likely} ({low} to {high})"


def cost(jobs: Sequence[Job], estimator: Estimator) -> list[Line]:
    """Lines of all rules, the most expensive first, and of their sum last."""
    lines: dict[str, Line] = {}
    total = Line("all")
    for job in jobs:
        for line in (lines.setdefault(job.rule, Line(job.rule)), total):
            line.add(job, estimator)
    return [*sorted(lines.values(), key=lambda line: (-line.encoders[1], -line.others[1])), total]


def table(lines: Sequence[Line], on_gpus: bool = True) -> Table:
    """Table with a row for each rule, and one for all. on_gpus: whether jobs that run an encoder take GPU hours."""
    grid = Table("rule", title="What would run, and what it takes", title_justify="left")
    for column in ("jobs", *HOURS_COLUMNS[on_gpus], *COLUMNS):
        grid.add_column(column, justify="right")
    for line in lines:
        if line is lines[-1]:
            grid.add_section()
        grid.add_row(*line.cells())
    return grid


def assumptions(lines: Sequence[Line]) -> list[str]:
    """Sentences on the basis of the hours, on jobs that are not in them, and on jobs that may be cut off."""
    *rules, total = lines
    sentences = [
        f"{counted(total.bases[basis], 'job')} {basis}: {words}; expect the actual time within a factor of {FACTORS[basis]:g}."
        for basis, words in BASES.items()
        if total.bases[basis]
    ]
    if unknown := total.bases[""]:
        sentences.append(
            f"{counted(unknown, 'job')} unknown, and not in the sums: none of their kind has finished or is tabulated."
        )
    if total.over:
        names = ", ".join(f"{line.over} of {line.rule}" for line in rules if line.over)
        sentences.append(
            f"Time limits: {names} likely take longer than they request. Training runs resume where they were cut; for others "
            "raise runtime (minutes) in slurm/site.yaml, as in `tokens: { runtime: 600 }` under set-resources."
        )
    return [*sentences, "Downloads are not timed."]


def main(arguments: list[str]) -> None:
    """Ask Snakemake for the plan and print its cost; for a rehearsal, print what its jobs took."""
    parser = argparse.ArgumentParser(prog="crosslens.commands.cost", description=__doc__)
    parser.add_argument("--profile")
    parser.add_argument(
        "--overlay", default="", help="files of settings, with spaces between them, that are merged into those of the profile"
    )
    parser.add_argument("--gpus", type=int, help="number of GPUs for which the wall time is estimated")
    named_options, options = parser.parse_known_args(arguments)
    if named_options.gpus is not None and named_options.gpus < 1:
        sys.exit(f"cost: expected at least one GPU, found {named_options.gpus}; GPUS=2 estimates the wall time on two")
    try:
        where = call_options(named_options.profile, named_options.overlay)
        where += [] if named_options.profile else ["--cores", "1"]
        print("Planning:", shlex.join(["snakemake", *where, *options]), flush=True)
        config, jobs = plan([*where, *options])
        if config.rehearse:
            _, jobs = plan([*where, "--forceall", *options])
    except DataError as error:
        sys.exit(f"cost: {error}")
    jobs = [job for job in jobs if job.log]  # a rule without a log only names targets
    if not jobs:
        print("cost: everything is built; nothing would run")
        return
    like = next((preset.results for preset in read_presets(Path()) if preset.profile == named_options.profile), "")
    console, estimator = Console(width=None if sys.stdout.isatty() else 160), Estimator(config, like)
    if config.rehearse:
        console.print(rehearsal.table(estimator, jobs, config.rehearse))
        return
    lines = cost(jobs, estimator)
    console.print(table(lines, estimator.on_gpus))
    sentences = assumptions(lines)
    if named_options.gpus:
        likely, (low, mean, high) = wall_time(jobs, estimator, named_options.gpus), lines[-1].encoders
        times = " to ".join(rounded(likely * total / mean) for total in (low, high)) if mean else "others alone"
        number = named_options.gpus
        where_run = f"on {counted(number, 'GPU')}" if estimator.on_gpus else f"with {counted(number, 'encoder job')} at a time"
        sentences.insert(0, f"Wall time {where_run}: about {rounded(likely)} ({times}).")
    for sentence in sentences:
        console.print(f"- {sentence}", soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main(sys.argv[1:])
