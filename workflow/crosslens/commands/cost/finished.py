"""Time and memory of finished jobs, from their logs and from the histories of rehearsed training runs."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from crosslens.jobs.logs import SPENT

RESUMED = " resumed stage "  # in the log of a resumed training run, whose earlier logs are lost


@dataclass(frozen=True)
class Finished:
    """Seconds of a job, its peak memory on the machine and on a GPU in bytes, and the seconds of an update in a rehearsal."""

    seconds: float
    memory: float
    gpu_memory: float
    update: float | None = None


def finished_jobs(results: Path) -> dict[str, Finished]:
    """Finished jobs of a folder of results, each by the path of its log below logs/, without the ending .log."""
    logs = results / "logs"
    jobs = {}
    for file in sorted(logs.rglob("*.log")):
        text = file.read_text("utf-8", errors="replace")
        if (processes := SPENT.findall(text)) and RESUMED not in text:
            place = str(file.relative_to(logs).with_suffix(""))
            seconds, memory, gpu_memory = (
                max(float(number or 0) for number in numbers) for numbers in zip(*processes, strict=True)
            )
            jobs[place] = Finished(seconds, memory * 2**30, gpu_memory * 2**30, update_seconds(results / place))
    return jobs


def update_seconds(folder: Path) -> float | None:
    """Mean seconds of an update over the phases of a rehearsed training run, or of all trials of a job; None for others."""
    seconds, updates = 0.0, 0
    for file in folder.rglob("history.csv"):
        try:
            record = json.loads(file.with_name("record.json").read_text("utf-8"))
        except (OSError, ValueError):  # a training run that was killed as it wrote them, or a damaged record
            return None
        rehearsed = record["encoder"].get("rehearse")
        if not rehearsed:
            return None
        phases = {stage["name"]: len(stage["phases"]) for stage in record["recipe"].get("stages", ())}
        with file.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                if "stage" in row and float(row["seconds"]):
                    seconds += float(row["seconds"])
                    updates += phases[row["stage"]] * (rehearsed - 1)  # the first update, on the longest texts, is not timed
    return seconds / updates if updates else None
