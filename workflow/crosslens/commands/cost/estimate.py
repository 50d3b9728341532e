"""Estimated hours of jobs: from jobs of the same kind that have finished, in the study or its rehearsal, else from hours.csv.

hours.csv has a row for each kind of job: the folder of results, the beginning of the path of its log below logs/ ("" for all
other jobs), seconds of a job, seconds of an update in a rehearsed training run, and megabytes of the files that it leaves.
"""

import csv
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from statistics import mean, median

from crosslens.commands.cost.finished import Finished, finished_jobs
from crosslens.commands.planned_jobs import Job
from crosslens.corpora.sources.registry import load, size_of
from crosslens.papers.configuration import WholeConfig

HOURS = Path(__file__).with_name("hours.csv")
ENCODERS = ("models", "states")  # first parts of the places of jobs that run an encoder
# Basis of an estimate -> factor by which the actual time may be longer or shorter.
FACTORS = {"measured": 1.25, "rehearsed": 1.5, "scaled": 2.0, "tabulated": 3.0}


@dataclass(frozen=True)
class Row:
    """Row of hours.csv. update: None for jobs that are not training runs."""

    seconds: float
    update: float | None
    megabytes: float


@dataclass(frozen=True)
class Estimate:
    """Likely seconds of a job. basis: what they rest on, a key of FACTORS."""

    seconds: float
    basis: str

    @property
    def range(self) -> list[float]:
        """Least, likely and most seconds."""
        factor = FACTORS[self.basis]
        return [self.seconds / factor, self.seconds, self.seconds * factor]


def tabulated(results: str) -> dict[str, Row]:
    """Rows of hours.csv for a folder of results, by the beginning of a place."""
    with HOURS.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["results"] == results]
    return {
        row["place"]: Row(float(row["seconds"]), float(row["update"]) if row["update"] else None, float(row["megabytes"]))
        for row in rows
    }


class Estimator:
    """Estimates of the jobs of a study, or of the study whose rehearsal a configuration describes."""

    def __init__(self, config: WholeConfig, like: str = "") -> None:
        """config: of the study. like: folder of results to use if hours.csv has no rows for the study or what it reuses."""
        self._kinds: dict[str, str] = {}  # log -> kind
        self.logs, self.official = f"{config.results}/logs", f"{config.results}/sources"
        self.sources = load(additions=config.sources)
        study, rehearsal = (config.results, config.counterpart)[:: -1 if config.rehearse else 1]
        table = next(filter(tabulated, (study, *config.reuse, like)), "")
        self.rows = tabulated(table)
        self.on_gpus = table in ("results", "")  # rows of the small presets were measured on two cores
        self.kinds = self.rows or tabulated("results")
        reused = {kind: jobs for results in config.reuse for kind, jobs in self._by_kind(results).items()}
        self.finished = {"measured": self._by_kind(study), "rehearsed": self._by_kind(rehearsal), "scaled": reused}
        self.pace = self._pace()

    def learn(self, seconds_by_kind: Mapping[str, Sequence[float]]) -> None:
        """Base estimates on the present run. seconds_by_kind: kind of job -> seconds that each of its finished jobs took."""
        jobs = {kind: [Finished(time, 0, 0) for time in seconds] for kind, seconds in seconds_by_kind.items()}
        self.finished["measured"] = {**self.finished["measured"], **jobs}
        self.pace = self._pace()

    def kind(self, place: str) -> str:
        """Kind of the job at a place: the longest beginning of it that is tabulated, or else its first folder."""
        # A measure KIND@PAPER counts as KIND, and the jobs trials00, trials01, ... of a search count as trials.
        parts = re.sub(r"@[^/]*|(?<=/trials)\d+", "", place).split("/")
        beginnings = ("/".join(parts[:number]) for number in range(len(parts), 0, -1))
        return next(filter(self.kinds.__contains__, beginnings), "/".join(parts[:-1][:1]))

    def kind_of(self, job: Job) -> str:
        """Kind of a job of a plan."""
        if job.log[0] not in self._kinds:
            self._kinds[job.log[0]] = self.kind(os.path.relpath(job.log[0], self.logs).removesuffix(".log"))
        return self._kinds[job.log[0]]

    def estimate(self, job: Job) -> Estimate | None:
        """Estimate of a job; None if its kind is neither measured nor tabulated."""
        kind, runs_encoder = self.kind_of(job), bool(job.asked.get("gpu"))
        measured, rehearsed, scaled = (self.finished[basis].get(kind, []) for basis in ("measured", "rehearsed", "scaled"))
        row = self._row(kind)
        if measured:
            return Estimate(mean(job.seconds for job in measured), "measured")
        if rehearsed and not runs_encoder:  # a rehearsal reads all texts, too
            return Estimate(mean(job.seconds for job in rehearsed), "rehearsed")
        if row and row.update and (update := mean_update(rehearsed)):
            return Estimate(row.seconds * update / row.update, "rehearsed")
        if scaled:  # from a study whose results this one reuses, perhaps with another encoder
            return Estimate(mean(job.seconds for job in scaled), "scaled")
        if row and runs_encoder and self.pace:
            return Estimate(row.seconds * self.pace, "scaled")
        return Estimate(row.seconds, "tabulated") if row else None

    def disk(self, job: Job) -> float:
        """Bytes that a job writes: for an official file the size in the table of sources, else as tabulated; 0 if unknown."""
        official = job.rule in ("fetch", "dump_sample")
        size = size_of(os.path.relpath(job.output[0], self.official), self.sources) if official else None
        row = self._row(self.kind_of(job))
        return size or (row.megabytes * 1e6 if row else 0.0)

    def _row(self, kind: str) -> Row | None:
        """Row of hours.csv for a kind, or else the row for all other kinds; None if there is neither."""
        return self.rows.get(kind, self.rows.get(""))

    def _by_kind(self, results: str) -> Mapping[str, list[Finished]]:
        """Finished jobs of a folder of results by their kind."""
        jobs = defaultdict(list)
        for place, job in finished_jobs(Path(results)).items():
            jobs[self.kind(place)].append(job)
        return jobs

    def _pace(self) -> float | None:
        """Median, over kinds of jobs that run an encoder, of measured divided by tabulated time; None if none has run."""
        ratios = []
        for kind, row in self.rows.items():
            if kind.split("/")[0] in ENCODERS:
                if jobs := self.finished["measured"].get(kind):
                    ratios.append(mean(job.seconds for job in jobs) / row.seconds)
                elif row.update and (update := mean_update(self.finished["rehearsed"].get(kind, []))):
                    ratios.append(update / row.update)
        return median(ratios) if ratios else None


def wall_time(jobs: Sequence[Job], estimator: Estimator, gpus: int) -> float:
    """Likely seconds until the last job of a plan ends, if `gpus` GPUs take jobs in the order in which they become ready.

    Jobs without a GPU only wait for their inputs. A job that asks for more GPUs than there are takes longer accordingly.
    """
    makers = {file: number for number, job in enumerate(jobs) for file in job.output}
    needs = [{makers[file] for file in job.input if file in makers} for job in jobs]
    followers = defaultdict(list)
    for number, numbers in enumerate(needs):
        for need in numbers:
            followers[need].append(number)
    begins, free, end = [0.0] * len(jobs), [0.0] * gpus, 0.0
    ready = [(0.0, number) for number, numbers in enumerate(needs) if not numbers]
    while ready:
        begin, number = heappop(ready)
        estimate, requested = estimator.estimate(jobs[number]), jobs[number].asked.get("gpu", 0)
        released = [heappop(free) for _ in range(min(requested, gpus))]  # when the GPUs that it takes are free
        done = max([begin, *released]) + (estimate.seconds if estimate else 0.0) * max(1, requested / gpus)
        end = max(end, done)
        for _ in released:
            heappush(free, done)
        for follower in followers[number]:
            needs[follower].remove(number)
            begins[follower] = max(begins[follower], done)
            if not needs[follower]:
                heappush(ready, (begins[follower], follower))
    return end


def mean_update(jobs: Sequence[Finished]) -> float | None:
    """Mean seconds of an update in rehearsed training runs; None if there are none."""
    updates = [job.update for job in jobs if job.update]
    return mean(updates) if updates else None
