"""The jobs that a run would execute, as Snakemake plans them: what is built and current is not among them."""

import json
import logging
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosslens.commands.messages import event_of
from crosslens.config.base import nearest
from crosslens.config.presets import read_presets
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import WholeConfig, load_fitting

FILE = "CROSSLENS_PLAN"
"""Environment variable: a file to which a dry run writes its configuration, and then a line for each job."""


class Recorder(logging.Handler):
    """Listens to Snakemake's events, and writes jobs down."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """config: as Snakemake merged it."""
        super().__init__()
        self.path = Path(os.environ[FILE])
        self._write(config)

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a job."""
        if event_of(record) == "job_info":
            job: Any = record
            resources = {name: value for name, value in job.resources.items() if isinstance(value, int)}
            files = {name: [*map(str, getattr(job, name))] for name in ("output", "input", "log")}
            wildcards = dict(job.wildcards or {})
            self._write({"rule": job.rule_name, "wildcards": wildcards, "asked": resources, **files, "reason": job.reason})

    def _write(self, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


@dataclass(frozen=True)
class Job:
    """A job that would run, and why. asked: requested resources by name, mem_mb, runtime (minutes) and gpu among them."""

    rule: str
    wildcards: Mapping[str, str]
    asked: Mapping[str, int]
    output: Sequence[str]
    input: Sequence[str]
    log: Sequence[str] = ()
    reason: str = ""


def plan(options: Sequence[str], root: Path = Path()) -> tuple[WholeConfig, list[Job]]:
    """Configuration and jobs of a call of snakemake with some options. Raises DataError where Snakemake has no plan for it."""
    values, jobs = merged_plan(options, root)
    return load_fitting(values)[0], jobs


def merged_plan(options: Sequence[str], root: Path = Path()) -> tuple[dict[str, Any], list[Job]]:
    """Configuration as Snakemake merged it from its files, and jobs, of a call of snakemake; see `plan`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.jsonl"
        command = [sys.executable, "-m", "snakemake", "-n", *options]
        result = subprocess.run(command, capture_output=True, text=True, cwd=root, env=os.environ | {FILE: str(file)})
        if result.returncode or not file.exists():
            raise DataError(_error(f"{result.stderr}\n{result.stdout}", options, root))
        values, *rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return values, [Job(**row) for row in rows]


def _error(output: str, options: Sequence[str], root: Path) -> str:
    """Message on a call of snakemake without a plan: the workflow's own where it has one, else Snakemake's after the command."""
    if match := re.search(r"profile directory given \((.+?)\)", output):
        profiles = [preset.profile for preset in read_presets(root)]
        return f"profile {match[1]}: expected one of {', '.join(profiles)}, found none of that name{nearest(match[1], profiles)}"
    if match := re.search(r"^WorkflowError in file .+:\n(.+?)(?=\n  File )", output, re.MULTILINE | re.DOTALL):
        return match[1]
    at = max(output.find("Exception"), output.find("Error"), 0)
    return f"{shlex.join(['snakemake', '-n', *options])}: expected a plan, found an error:\n{output[at:].strip()}"
