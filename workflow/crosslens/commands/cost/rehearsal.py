"""Time and memory of the jobs of a rehearsal, compared with what they requested and what is tabulated for the study."""

from collections import defaultdict
from collections.abc import Sequence

from rich.table import Table

from crosslens.commands.cost.estimate import Estimator, mean_update
from crosslens.commands.planned_jobs import Job
from crosslens.jobs.quantities import duration, readable

UPDATE, JOB = "s an update, tabulated", "job of the study, tabulated"
COLUMNS = ("finished", "requested memory", "peak", "GPU peak", UPDATE, "here", JOB, "here")


def table(estimator: Estimator, jobs: Sequence[Job], updates: int) -> Table:
    """Table with a row for each kind of job, for a terminal. jobs: all jobs of the rehearsal, finished or not."""
    jobs_by_kind = defaultdict(list)
    for job in jobs:
        jobs_by_kind[estimator.kind_of(job)].append(job)
    grid = Table(title=f"Rehearsed with {updates} updates and texts; hours are of the whole study", title_justify="left")
    grid.add_column("jobs", no_wrap=True)
    for column in COLUMNS:
        grid.add_column(column, justify="right")
    for kind, jobs_of_kind in sorted(jobs_by_kind.items()):
        grid.add_row(kind or "others", *_cells(estimator, kind, jobs_of_kind))
    return grid


def _cells(estimator: Estimator, kind: str, jobs: Sequence[Job]) -> list[str]:
    """Texts of a row; "" for what is unknown."""
    finished, row, estimate = estimator.finished["rehearsed"].get(kind, []), estimator.rows.get(kind), estimator.estimate(jobs[0])
    memory = (
        max(job.asked.get("mem_mb", 0) * 10**6 for job in jobs),
        max((job.memory for job in finished), default=0),
        max((job.gpu_memory for job in finished), default=0),
    )
    updates = (row and row.update, mean_update(finished))
    seconds = (row and row.seconds, estimate.seconds if estimate and estimate.basis != "tabulated" else None)
    return [
        f"{len(finished)} of {len(jobs)}",
        *(readable(int(size)) if size else "" for size in memory),
        *(f"{update:.3g}" if update else "" for update in updates),
        *(duration(time) if time else "" for time in seconds),
    ]
