"""Jobs that a run would execute, as Snakemake plans them; results that are built and up to date have none."""

import ast
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosslens.commands import hints
from crosslens.config.base import nearest
from crosslens.config.presets import read_presets, read_yaml
from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError
from crosslens.papers import KEYS
from crosslens.papers.configuration import WholeConfig, load_fitting

FILE = "CROSSLENS_PLAN"
"""Environment variable: a file to which a dry run writes its configuration, and then a line for each job."""

UNKNOWN = {"no record of how it was made": "no record of how they were made", "made as ": "being made for another place"}
WHY = {  # part of Snakemake's reason for a job -> words; with a part in UNKNOWN, all params count as changed
    "made from another ": "other content of inputs",
    "Set of input files has changed": "another set of inputs",
    "Incomplete output files": "a run that was killed",
    "Updated input files": "newer inputs without a checksum",
}
EXCLUSIVE = re.compile(r"before: (.+) now: (.+?) (?=; |$)")  # params that differ, in Snakemake's reason
CODE = re.compile(r"'[0-9a-f]{16}(?: [0-9a-f]{16})*'")  # digests of code or packages among the params that have changed


class Recorder(logging.Handler):
    """Logging handler that writes the configuration and the jobs of a dry run to a file once Snakemake has planned them."""

    def __init__(self, config: Mapping[str, Any], workflow: Any) -> None:
        """config: configuration as Snakemake merged it. workflow: Snakemake's workflow object."""
        super().__init__()
        self.path, self.workflow = Path(os.environ[FILE]), workflow
        self._write(config)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the jobs once they are counted."""
        if event_of(record) == "run_info":
            for job in jobs_of(self.workflow.dag).values():
                self._write(vars(job))

    def _write(self, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def event_of(record: logging.LogRecord) -> str:
    """Name of a record's event; 'None' for a plain message."""
    return str(getattr(record, "event", None))


@dataclass(frozen=True)
class Job:
    """A job that would run, and Snakemake's reason. asked: requested resources, such as mem_mb, runtime (minutes) and gpu."""

    rule: str
    wildcards: Mapping[str, str]
    asked: Mapping[str, int]
    output: Sequence[str]
    input: Sequence[str]
    log: Sequence[str] = ()
    reason: str = ""


def jobs_of(dag: Any) -> dict[int, Job]:
    """Jobs that would run, by Snakemake's number. dag: Snakemake's graph of jobs."""
    jobs = {}
    for job in dag.needrun_jobs():
        resources = {name: value for name, value in job.resources.items() if isinstance(value, int)}
        output, inputs, log = ([*map(str, files)] for files in (job.output, job.input, job.log))
        jobs[dag.jobid(job)] = Job(job.rule.name, dict(job.wildcards_dict), resources, output, inputs, log, str(dag.reason(job)))
    return jobs


def cause(reason: str) -> str:
    """Why the outputs of a job are stale, from Snakemake's reason; "" if they are missing, or only follow other jobs."""
    if words := next((why for part, why in UNKNOWN.items() if part in reason), ""):
        return words
    changed = reason.partition("Params have changed")[2].partition(" now: ")[2].partition(";")[0]
    changed = changed.replace("<nothing exclusive>", "")
    kinds = {"code": bool(CODE.search(changed)), "settings": bool(CODE.sub("", changed).strip(" ,"))}
    return " and ".join([*filter(kinds.get, kinds), *(why for part, why in WHY.items() if part in reason)])


def changed_keys(reason: str) -> str:
    """Snakemake's reason with only the values that differ, each with its path, not whole params: 'stages.0.epochs: 2'."""
    match = EXCLUSIVE.search(reason)
    try:
        before, now = ([*_leaves(ast.literal_eval(f"[{side}]"))] for side in match.groups()) if match else ([], [])
    except (ValueError, SyntaxError):  # no params, or a placeholder for an input
        return reason
    sides = [leaf for leaf in before if leaf not in now], [leaf for leaf in now if leaf not in before]
    texts = [", ".join(map(repr, side)) or "<nothing exclusive>" for side in sides]
    return EXCLUSIVE.sub(lambda _: "before: {} now: {}".format(*texts), reason)


def _leaves(params: Sequence[Any]) -> Iterator[str]:
    """Values of params one by one, each as PATH: VALUE. For a param that is a text, NAME: VALUES, paths begin with NAME."""
    for param in params:
        name, _, text = param.partition(": ") if isinstance(param, str) else ("", "", repr(param))
        try:
            yield from _paths(ast.literal_eval(text), name)
        except (ValueError, SyntaxError):  # a digest
            yield param


def _paths(value: Any, path: str) -> Iterator[str]:
    """PATH: VALUE for a value, or for each value inside a mapping or list."""
    if isinstance(value, dict | list | tuple) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, f"{path}.{key}".removeprefix("."))
    else:
        yield f"{path}: {value!r}"


def plan(options: Sequence[str], root: Path = Path()) -> tuple[WholeConfig, list[Job]]:
    """Configuration and jobs of a call of snakemake with some options. Raises DataError if Snakemake has no plan for it."""
    values, jobs = merged_plan(options, root)
    return load_fitting(values)[0], jobs


def merged_plan(options: Sequence[str], root: Path = Path()) -> tuple[dict[str, Any], list[Job]]:
    """Configuration as Snakemake merged it from its files, and jobs, of a call of snakemake. Raises DataError like `plan`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.jsonl"
        # With both kinds of messages off, Snakemake ends when it has counted the jobs.
        command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "progress", *options]
        result = subprocess.run(command, capture_output=True, text=True, cwd=root, env=os.environ | {FILE: str(file)})
        if result.returncode or not file.exists():
            raise DataError(_error(f"{result.stderr}\n{result.stdout}", options, root))
        values, *rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return values, [Job(**row) for row in rows]


def call_options(profile: str | None, overlays: str) -> list[str]:
    """Options of snakemake that choose a profile, and overlays of its configuration. Raises DataError if one does not exist.

    overlays: names of files, separated by spaces.
    """
    where = ["--profile", profile] if profile else []
    if not (names := overlays.split()):
        return where
    if missing := [name for name in names if not Path(name).is_file()]:
        raise DataError(f"{missing[0]}: expected a file of settings, found none; correct OVERLAY")
    files = read_yaml(Path(profile, "config.yaml")).get("configfile") if profile else None
    return [*where, "--configfile", *(files or ["config.yaml"]), *names]


def records(results: Path) -> list[Path]:
    """Records of the tables and figures in a folder of results."""
    folders = [results, *(results / key for key in KEYS)]
    return [path for folder in folders for form in ("csv", "svg") for path in sorted(folder.glob(f"*.{form}.json"))]


def last_call(results: Path) -> list[str]:
    """Options of the call of snakemake that made the newest table or figure in a folder of results, without its target.

    Raises DataError if there is none.
    """
    paths = records(results)
    if not paths:
        raise DataError(f"{results}: expected a table or figure, found none: build one, or name the folder of another preset")
    newest = max(paths, key=lambda path: (path.stat().st_mtime, path))
    *options, _ = shlex.split(parse_json(verified(newest).read_bytes(), newest)["command"])[1:]
    return options[:-1] if options[-1:] == ["--"] else options


def _error(output: str, options: Sequence[str], root: Path) -> str:
    """Message on a call of snakemake without a plan: the workflow's own if it has one, else the command and Snakemake's."""
    if match := re.search(r"profile directory given \((.+?)\)", output):
        profiles = [preset.profile for preset in read_presets(root)]
        return f"profile {match[1]}: expected one of {', '.join(profiles)}, found none of that name{nearest(match[1], profiles)}"
    if (message := hints.reason(output)) != output:
        return message
    at = max(output.find("Exception"), output.find("Error"), 0)
    return f"{shlex.join(['snakemake', '-n', *options])}: expected a plan, found an error:\n{output[at:].strip()}"
