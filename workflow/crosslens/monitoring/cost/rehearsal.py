"""Time and memory of the jobs of a rehearsal, beside their requests and the bill of the same jobs of the study."""

import csv
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from crosslens.monitoring.cost.bill import Biller
from crosslens.monitoring.plan import Job
from crosslens.recipes import Recipe, Stage
from crosslens.runs.logs import SPENT
from crosslens.runs.quantities import duration, readable
from crosslens.storage.trainings import trainings

CUT = ("states", "measure_encoder")  # rules of jobs that read fewer texts in a rehearsal, beside the trainings


@dataclass
class Row:
    """Jobs of a kind. memory, gpu_memory: bytes, the most of a job; seconds: of the longest job, in the bill and here.

    updates: of trainings, the number in the study; update_billed, update_here: seconds of all of them.
    """

    kind: str
    jobs: int = 0
    ended: int = 0  # jobs whose logs say what they took
    request: int = 0  # bytes
    memory: float = 0.0
    gpu_memory: float = 0.0
    billed: float = 0.0
    here: float = 0.0
    updates: int = 0
    update_billed: float = 0.0
    update_here: float = 0.0

    def cells(self) -> list[str]:
        """Texts of the row of the table; "" for what is not known."""
        updated = [f"{seconds / self.updates:.3g}" if seconds else "" for seconds in (self.update_billed, self.update_here)]
        hours = [duration(seconds) if seconds else "" for seconds in (self.billed, self.here)]
        memory = [readable(int(size)) if size else "" for size in (self.request, self.memory, self.gpu_memory)]
        return [self.kind, f"{self.ended} of {self.jobs}", *memory, *updated, *hours]


class Rehearsal:
    """Rows of the jobs of a rehearsal. biller: of its configuration; its prices are those of the whole study."""

    def __init__(self, biller: Biller) -> None:
        self.biller = biller
        self.updates = biller.config.rehearse or 0

    def rows(self, jobs: Sequence[Job]) -> list[Row]:
        """Rows by kind of job, in the order of their time in the bill."""
        rows: dict[Hashable, Row] = {}
        for job in filter(lambda job: job.log, jobs):  # a rule without a log only names targets
            key, name = self._kind(job)
            self._add(rows.setdefault(key, Row(name)), job)
        return sorted(rows.values(), key=lambda row: -row.billed)

    def _kind(self, job: Job) -> tuple[Hashable, str]:
        """Key and name of a job's kind: trainings that compute alike, else its rule and the kind of a measure."""
        if not job.rule.startswith("train"):
            name = " ".join(filter(None, (job.rule, job.wildcards.get("kind"))))
            return name, name
        recipe = self.biller.recipes_of(job)[0]
        stages = [
            (stage.name, stage.batch, stage.trains_encoder(), *(len(phase.terms) for phase in stage.phases))
            for stage in recipe.stages
        ]
        return (job.rule, recipe.encoder, recipe.task, recipe.edit, *stages), recipe.name

    def _add(self, row: Row, job: Job) -> None:
        """Add a job to the row of its kind."""
        row.jobs += 1
        row.request = max(row.request, job.asked.get("mem_mb", 0) * 10**6)
        row.billed = max(row.billed, billed := self.biller.line(job).longest)
        log = Path(job.log[0])
        spent = SPENT.findall(log.read_text("utf-8")) if log.is_file() else []
        row.ended += bool(spent)
        for seconds, memory, gpu_memory in spent:  # processes that share a training have a line each
            row.memory = max(row.memory, float(memory) * 2**30)
            row.gpu_memory = max(row.gpu_memory, float(gpu_memory or 0) * 2**30)
            if not job.rule.startswith("train") and job.rule not in CUT:
                row.here = max(row.here, float(seconds))
        if job.rule.startswith("train") and spent:
            self._add_updates(row, job, billed)

    def _add_updates(self, row: Row, job: Job, billed: float) -> None:
        """Add the updates of a training, if it is the longest, and its time if all of it is as much longer as they are."""
        total, total_billed, total_here = 0, 0.0, 0.0
        folders = trainings(Path(job.output[0]), job.wildcards["recipe"])
        for recipe, (_, folder) in zip(self.biller.recipes_of(job), folders, strict=True):
            with (folder / "history.csv").open(newline="", encoding="utf-8") as stream:
                seconds = {line["stage"]: float(line["seconds"]) for line in csv.DictReader(stream)}
            for stage in recipe.stages:
                number, timed = self._counts(recipe, stage)
                if timed:
                    total += number
                    total_here += number * seconds[stage.name] / timed
                    total_billed += number * self.biller.update(recipe, stage, job)
        if total and (here := billed * total_here / total_billed) > row.here:
            row.here, row.updates, row.update_here, row.update_billed = here, total, total_here, total_billed

    def _counts(self, recipe: Recipe, stage: Stage) -> tuple[int, int]:
        """Updates of a stage in the study, and those of the rehearsal that were timed: all but the first of each phase."""
        sizes = {data: round(self.biller.size(recipe, data).texts) for data in recipe.data()}
        steps = [phase.steps(stage.batch, sizes) for phase in stage.phases]
        return stage.updates(sizes), sum(min(self.updates - 1, number) for number in steps)


def table(rows: Sequence[Row], updates: int, machine: str) -> Table:
    """Table of the rows, for a terminal."""
    title = f"Rehearsed with {updates} updates and texts; the bill, of the whole study, is for {machine}"
    grid = Table(title=title, title_justify="left")
    grid.add_column("jobs", no_wrap=True)
    for column in ("ended", "memory requested", "peak", "GPU peak", "s an update: bill", "here", "longest job: bill", "here"):
        grid.add_column(column, justify="right")
    for row in rows:
        grid.add_row(*row.cells())
    return grid
