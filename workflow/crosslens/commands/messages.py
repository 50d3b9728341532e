"""Messages of a run of the workflow: a line for each finished job with the time left, and in the end what failed and why.

The whole output of Snakemake stays in its own log, .snakemake/log/.
"""

import logging
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean
from typing import Any, TextIO

from crosslens.jobs.quantities import duration
from crosslens.jobs.training_folders import seen

SECONDS = {
    "train": 40.0, "train_without_weights": 30.0, "train_trials": 15.0, "states": 10.0, "encoder": 8.0, "paragraphs": 4.0,
    "fetch": 4.0,
}  # fmt: skip
"""First guess at how long a job of a rule takes: the demo on two cores. Replaced by the mean of those that have finished."""
OTHERS = 3.0
HIDDEN = "workflow_started job_info job_started job_finished job_error shellcmd progress resources_info".split()  # events
SAID_ELSEWHERE = ("Select jobs to execute", "Execute ", "Finished jobid")


class Jobs(logging.Handler):
    """Listens to Snakemake's events."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Count from now; stream: where lines go, stderr unless told."""
        super().__init__()
        self.stream, self.began = stream or sys.stderr, time.monotonic()
        self.left: Counter[str] = Counter()  # jobs by rule
        self.jobs: dict[int, Any] = {}  # job -> what Snakemake said of it
        self.running: dict[int, float] = {}  # job -> when it began
        self.took: dict[str, list[float]] = defaultdict(list)  # rule -> seconds of its finished jobs
        self.failed: dict[str, list[str]] = {}  # title of the job -> logs, once however often it was tried

    def emit(self, record: Any) -> None:
        """Take note of an event, and print a line where a job has ended."""
        match event_of(record):
            case "run_info" if not self.left:
                self.left.update({rule: count for rule, count in record.stats.items() if rule != "total"})
            case "job_info":
                self.jobs[record.jobid] = record
            case "job_started":
                self.running.update(dict.fromkeys(record.jobs, time.monotonic()))  # before Snakemake tells which jobs these are
            case "job_finished" if record.job_id in self.running and record.job_id in self.jobs:
                self._finished(self.jobs[record.job_id], time.monotonic() - self.running.pop(record.job_id))
            case "job_error":
                title = _title(self.jobs.get(record.jobid, record))
                self.failed[title] = [str(log) for log in record.log]
                self._print(f"FAILED: {title}; the reason is repeated at the end")

    def _finished(self, job: Any, seconds: float) -> None:
        if job.rule_name.startswith("train"):
            seen(job.output)
        self.took[job.rule_name].append(seconds)
        self.left[job.rule_name] -= 1
        self._print(f"{self._ahead()}  {_title(job)} ({duration(seconds)})")

    def _ahead(self) -> str:
        """Share of the work that is done, and the time left at the pace so far."""
        if not self.left.total():
            return "100%"
        now = time.monotonic()
        expectations = [(self._expected(rule), seconds) for rule, seconds in self._running()]
        done = sum(map(sum, self.took.values())) + sum(min(seconds, 0.9 * expected) for expected, seconds in expectations)
        total = sum(map(sum, self.took.values())) + sum(self._expected(rule) * count for rule, count in self.left.items())
        return f"{done / total:4.0%}, {duration(max(1, round((now - self.began) * (total / done - 1))))} left"

    def _expected(self, rule: str) -> float:
        """Seconds of a job: the mean of those that have finished, and of those running that already take longer."""
        typical = mean(self.took[rule] or [SECONDS.get(rule, OTHERS)])
        running = (seconds for name, seconds in self._running() if name == rule)
        times = [*self.took[rule], *(seconds for seconds in running if seconds > typical)]
        return mean(times) if times else typical

    def _running(self) -> list[tuple[str, float]]:
        """Rule of each job that runs, and the seconds that it has taken so far."""
        now = time.monotonic()
        return [(self.jobs[job].rule_name, now - start) for job, start in self.running.items() if job in self.jobs]

    def summary(self) -> None:
        """Say of each failed job why it failed and where its log is."""
        self._print(f"\n{len(self.failed) or 'No'} job{'s' * (len(self.failed) != 1)} failed.")
        for title, logs in self.failed.items():
            reasons = [reason for log in logs if (reason := _reason(Path(log)))]
            self._print(f"- {title}\n    {reasons[0] if reasons else 'it left no log'}\n    log: {', '.join(logs) or 'none'}")

    def _print(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


def event_of(record: logging.LogRecord) -> str:
    """Name of a record's event; 'None' of a plain message."""
    return str(getattr(record, "event", None))


def calm(record: logging.LogRecord) -> bool:
    """Whether Snakemake itself shows a record."""
    message = str(record.msg or "")
    # That a script ended with an error: what the error was stands in its log, and in the summary.
    is_script_error = getattr(record, "exception", None) == "RuleException" and "CalledProcessError" in message
    return event_of(record) not in HIDDEN and not message.startswith(SAID_ELSEWHERE) and not is_script_error


def _title(record: Any) -> str:
    """Message of a job's rule, or its name and wildcards."""
    wildcards = ", ".join(f"{name} {value}" for name, value in (getattr(record, "wildcards", None) or {}).items())
    return record.rule_msg or " ".join(filter(None, (record.rule_name, wildcards)))


def _reason(log: Path) -> str:
    """The last error of a log, without its time; else its last line."""
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.is_file() else []
    errors = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    if errors and errors[-1] != "stopped by an error":
        return errors[-1]
    return lines[-1] if lines else ""
