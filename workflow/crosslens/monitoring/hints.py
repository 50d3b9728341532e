"""What Snakemake's own messages leave out: unknown targets, and what a run lacks, said before its first job."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crosslens.config.scales import Scale
from crosslens.config.whole import Config

KEPT_IN_SPITE = (
    "Some jobs run because of changes to settings, code or the set of inputs: see their reasons. To keep results all the same: "
    "the same command with --touch instead of -n."
)
SHOWN = {"table": ".csv", "figure": ".svg"}  # what a table and a figure make first: the file to ask for


def unknown_target(said: str, known: Sequence[str], results: str, scales: Iterable[Scale]) -> str:
    """What helps where Snakemake has said "No rule to produce TARGET ...".

    known: rules, and files of tables and figures; results: the folder of this call's.
    """
    target = said.partition("No rule to produce ")[2].partition(" (")[0]
    longest_first = sorted(scales, key=lambda scale: -len(scale.results))
    of = next((scale for scale in longest_first if target.startswith(f"{scale.results}/")), None)
    here = f"{results}/{target.removeprefix(f'{of.results}/')}" if of else ""
    if of and of.results != results and (here in known or of.results != "results"):
        other = f", or ask for {here}, which this profile makes" if here in known else ""
        return f"It belongs to the {of.name} scale: add --profile {of.profile}{other}."
    names = {Path(file).name: file for file in reversed(known)} | {Path(file).stem: file for file in reversed(known)}
    if target in names:
        return f"Give the whole path: {names[target]}"
    near = get_close_matches(target, known, n=3)
    return f"Did you mean {' or '.join(near)}?" if near else "`make status` lists all tables and figures."


def reason(said: str) -> str:
    """Our own lines in what Snakemake says of a function that raised WorkflowError; all of it where another error was raised."""
    ours = re.search(r"^Error:\n  WorkflowError:\n(.*?)\nWildcards:$", said, re.DOTALL | re.MULTILINE)
    return "\n".join(line.strip() for line in ours[1].split("\n")) if ours else said


def missing_command(executor: str | None) -> str | None:
    """The message for a cluster profile on a machine from which no job can be submitted."""
    if executor != "slurm" or shutil.which("sbatch"):
        return None
    return (
        "sbatch: command not found, so no job can be submitted: start this on a login node of the cluster, load its SLURM "
        "module, or run here with --executor local --cores N"
    )


def published_here(executor: str | None, results: str, rules: Iterable[str]) -> str | None:
    """A warning where the trainings of the published study would run on this machine. rules: of the jobs that are to run."""
    trainings = sum(rule.startswith("train") for rule in rules)
    if executor != "local" or results != "results" or not trainings:
        return None
    return (
        f"this is the published study: {trainings} trainings of its size on this machine, for which one GPU is a matter of days; "
        "add --profile demo for the small one, --profile slurm for a cluster"
    )


def warnings(written: Mapping[str, Any], config: Config) -> list[str]:
    """What to say of a configuration before anything runs. written: as it stands in the files.

    Mirrors and encoders' folders that do not exist, and encoders that are fetched because their package has no wheel for this
    platform.
    """
    missing = [
        f"mirror: expected a folder, found none at {mirror}; files are downloaded where no other mirror has them"
        for mirror in config.mirror
        if not Path(mirror).is_dir()
    ]
    fetched = [
        f"encoders.{name}: no package for this platform, so {encoder.id} is fetched from the hub; its weights are not quantised, "
        "and results differ slightly from those in the documentation"
        for name, encoder in config.encoders.items()
        if encoder.source == "hub" and written["encoders"][name]["source"] != "hub"
    ]
    absent = [
        f"encoders.{name}.path: expected a folder with config.json, found none at {encoder.path}; correct it before it is needed"
        for name, encoder in config.encoders.items()
        if encoder.source == "folder" and not Path(encoder.path, "config.json").is_file()
    ]
    return missing + fetched + absent
