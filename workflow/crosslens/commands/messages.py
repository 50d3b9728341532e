"""Messages of a run of the workflow: a line for each finished job with the time left, and at the end what failed and why.

The whole output of Snakemake is in its own log, .snakemake/log/.
"""

import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosslens.commands.cost.estimate import Estimate, Estimator
from crosslens.commands.planned_jobs import Job, cause, changed_keys, event_of
from crosslens.jobs.quantities import counted, duration, shortened
from crosslens.jobs.training_folders import seen

UNKNOWN = Estimate(5.0, "tabulated")  # for a job of a kind that is neither measured nor tabulated
NARROW = 2.0  # one number is shown if the most time left is at most so many times the least
ENOUGH = 3  # finished jobs of a kind that it takes to trust their mean
LONG = 60.0  # seconds; a job that is expected to take longer has a line for its start, too
HIDDEN = "workflow_started job_info job_started job_finished job_error shellcmd progress resources_info".split()  # events
SAID_ELSEWHERE = ("Select jobs to execute", "Execute ", "Finished jobid")


class Jobs(logging.Handler):
    """Logging handler that follows Snakemake's events and prints the messages of a run.

    planned: returns the cost model, and the jobs of the run by Snakemake's number; called once, when the run begins.
    """

    def __init__(self, planned: Callable[[], tuple[Estimator, dict[int, Job]]]) -> None:
        super().__init__()
        self.planned, self.began = planned, time.monotonic()
        self.left: dict[int, Job] = {}
        self.titles: dict[int, str] = {}
        self.running: dict[int, float] = {}  # job -> when it began
        self.seconds_by_kind: dict[str, list[float]] = defaultdict(list)  # of finished jobs
        self.failed: dict[str, list[str]] = {}  # title of the job -> logs; one entry, however often it was tried

    def emit(self, record: Any) -> None:
        """Take note of an event, and print a line if a job has ended or a long one begins."""
        match event_of(record):
            case "run_info" if not self.left:
                self.estimator, self.left = self.planned()
            case "job_info":
                self.titles[record.jobid] = _title(record)
                if (seconds := self._estimate(record.jobid).seconds) > LONG:
                    self._print(f"begins: {self.titles[record.jobid]}, about {duration(seconds)}")
            case "job_started":
                self.running.update(dict.fromkeys(record.jobs, time.monotonic()))  # only a later event describes these jobs
            case "job_finished" if record.job_id in self.running and record.job_id in self.titles:
                self._finished(record.job_id, time.monotonic() - self.running.pop(record.job_id))
            case "job_error":
                title = self.titles.get(record.jobid) or _title(record)
                self.failed[title] = [str(log) for log in record.log]
                self._print(f"FAILED: {title}; the reason is repeated at the end")

    def _finished(self, number: int, seconds: float) -> None:
        if job := self.left.pop(number, None):
            if job.rule.startswith("train"):
                seen(job.output)
            if job.log:
                self.seconds_by_kind[self.estimator.kind_of(job)].append(seconds)
        self._print(f"{self._ahead()}  {self.titles[number]} ({duration(seconds)}){self._beside()}")

    def _ahead(self) -> str:
        """Share of the work that is done, and the time left, as a range while it is uncertain."""
        if not any(job.log for job in self.left.values()):  # rules without a log only name targets
            return "100%"
        now = time.monotonic()
        running = {number: now - start for number, start in self.running.items()}
        done = sum(map(sum, self.seconds_by_kind.values())) + sum(running.values())
        self.estimator.learn(self._seconds(running))
        ranges = [self._remaining(number, running.get(number, 0.0)) for number in self.left]
        width = max(1.0, len(running), done / max(now - self.began, 1e-9))  # jobs at a time
        low, likely, high = (max(sum(times) / width, *times) for times in zip(*ranges, strict=True))
        time_left = duration(likely) if high <= NARROW * low else f"{duration(low)} to {duration(high)}"
        return f"{done / (done + sum(seconds for _, seconds, _ in ranges)):4.0%}, {time_left} left"

    def _seconds(self, running: Mapping[int, float]) -> dict[str, list[float]]:
        """Seconds of finished jobs by kind, and of running jobs that already take longer than expected of their kind."""
        seconds = {kind: list(times) for kind, times in self.seconds_by_kind.items()}
        for number, spent in running.items():
            if number in self.left and self.left[number].log and spent > self._estimate(number).seconds:
                seconds.setdefault(self.estimator.kind_of(self.left[number]), []).append(spent)
        return seconds

    def _remaining(self, number: int, spent: float) -> list[float]:
        """Least, likely and most seconds that a job will still take; if it runs longer than expected, shares of `spent`."""
        return [
            max(time - spent, share * spent) for time, share in zip(self._estimate(number).range, (0.05, 0.2, 0.5), strict=True)
        ]

    def _estimate(self, number: int) -> Estimate:
        job = self.left.get(number)
        if job and not job.log:
            return Estimate(0.0, "measured")
        estimate = job and self.estimator.estimate(job)
        if job and estimate and estimate.basis == "measured" and len(self.seconds_by_kind[self.estimator.kind_of(job)]) < ENOUGH:
            return replace(estimate, basis="scaled")
        return estimate or UNKNOWN

    def _beside(self) -> str:
        """Text on the job that has been running longest, if longer than LONG, and the number of others; "" otherwise."""
        since = {number: start for number, start in self.running.items() if number in self.titles}
        number = min(since, key=since.__getitem__, default=-1)
        if number < 0 or (seconds := time.monotonic() - since[number]) < LONG:
            return ""
        return f"; running: {self.titles[number]} ({duration(seconds)})" + f" and {len(since) - 1} more" * (len(since) > 1)

    def summary(self) -> None:
        """Print why each failed job failed, and where its log is."""
        self._print(f"\n{len(self.failed) or 'No'} job{'s' * (len(self.failed) != 1)} failed.")
        for title, logs in self.failed.items():
            reasons = [reason for log in logs if (reason := _reason(Path(log)))]
            self._print(
                f"- {title}\n    {reasons[0] if reasons else 'the job wrote no log'}\n    log: {', '.join(logs) or 'none'}"
            )

    def _print(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class DryRun:
    """Logging filter of a dry run: it counts the files to fetch by source, and at the end gives the reasons for jobs."""

    def __init__(self, every_job: bool = False, by_hand: Callable[[list[str]], Sequence[str]] = lambda files: ()) -> None:
        """every_job: whether to show jobs that fetch files one by one, too. by_hand: files to fetch -> lines about them."""
        self.every_job, self.by_hand = every_job, by_hand
        self.files: Counter[str] = Counter()  # to be fetched, by source
        self.fetched: list[str] = []
        self.titles: dict[str, list[str]] = defaultdict(list)  # why jobs would run -> their titles
        self.counted = False  # whether Snakemake has counted the jobs, which it does again after listing them

    def filter(self, record: logging.LogRecord) -> bool:
        """Take note of a record, and return whether Snakemake shows it."""
        job: Any = record
        if event_of(record) == "run_info":
            is_repeated, self.counted = self.counted, True
            return is_repeated
        if event_of(record) == "job_info":
            if "/" in job.rule_name:  # a rule that stands for a target, and runs nothing
                return False
            self.titles[cause(job.reason) or ("missing" if "Missing output" in job.reason else "")].append(_title(job))
            job.reason = changed_keys(job.reason)
            if job.rule_name in ("fetch", "dump_sample"):
                self.files[job.wildcards["source"]] += 1
                self.fetched += job.output
                return self.every_job
        if str(record.msg).startswith("Reasons:"):
            record.msg = "\n".join(self._summary())
        return record.levelno > logging.DEBUG

    def _summary(self) -> list[str]:
        files = [f"{number:,} of {source}" for source, number in self.files.most_common()]
        lines = [f"Files to fetch: {', '.join(files)}"] * bool(files)
        following = len(self.titles.pop("", []))
        for why, titles in self.titles.items():
            count = counted(len(titles), "job")
            lines.append(
                f"Missing: outputs of {count}" if why == "missing" else f"Because of {why}: {count}: {shortened(titles)}"
            )
        lines += self.by_hand(self.fetched)
        return [*lines, *[f"After these, reading their outputs: {counted(following, 'job')}"] * bool(following)]


def calm(record: logging.LogRecord) -> bool:
    """Whether Snakemake shows a record of a run; what our own messages say is hidden."""
    message = str(record.msg or "")
    # It only says that a script ended with an error; the script's log and our summary say which.
    is_script_error = getattr(record, "exception", None) == "RuleException" and "CalledProcessError" in message
    return event_of(record) not in HIDDEN and not message.startswith(SAID_ELSEWHERE) and not is_script_error


def _title(record: Any) -> str:
    """Title of a job: the message of its rule, or the rule's name and wildcards."""
    wildcards = ", ".join(f"{name} {value}" for name, value in (getattr(record, "wildcards", None) or {}).items())
    return record.rule_msg or " ".join(filter(None, (record.rule_name, wildcards)))


def _reason(log: Path) -> str:
    """Last error in a log, without its time; if there is none, the last line."""
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.is_file() else []
    errors = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    if errors and errors[-1] != "stopped by an error":
        return errors[-1]
    return lines[-1] if lines else ""
