"""Messages in addition to those of Snakemake: on unknown targets and, before the first job, on what a run lacks."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crosslens.config.base import nearest
from crosslens.config.presets import Preset
from crosslens.config.whole import Config

KEPT_IN_SPITE = (
    "Some jobs run because of changes to settings, code or the set of inputs: -n --verbose says which. To keep results all "
    "the same: the same command with --touch instead of -n."
)
RAISED = (
    r"^Error:\n  WorkflowError:\n(.*?)\nWildcards:$",
    r"^WorkflowError in file [^\n]+:\n(.+?)\n  File ",
)  # Snakemake's message on an error that a function raised, and that a file raised


def unknown_target(
    message: str, targets: Sequence[str], results: str, presets: Iterable[Preset], misfits: Mapping[str, str] = {}
) -> str:
    """Message with advice, to replace Snakemake's "No rule to produce TARGET ...".

    message: Snakemake's message.
    targets: rules, and files of tables and figures.
    results: folder of the results of this call.
    misfits: key of a paper, or folder of its tables and figures -> why the paper does not fit the configuration. This is then
    the whole message.
    """
    target = message.partition("No rule to produce ")[2].partition(" (")[0]
    folder, *words = [os.path.dirname(target), *re.split("[/.]", target)]
    if paper := next(filter(misfits.__contains__, (folder, *words)), None):
        return misfits[paper]
    for preset in presets:
        if target.startswith(f"{preset.results}/") and f"{results}/{os.path.relpath(target, preset.results)}" in targets:
            return f"{message}\nIt belongs to the {preset.name} preset: add --profile {preset.profile}."
    files = {name: file for file in reversed(targets) for name in (file, Path(file).name, Path(file).stem)}
    figure = f"{os.path.splitext(target)[0]}.svg"
    if figure in targets:
        return f"{target}: figures are drawn as .svg and .png only; ask for {figure}"
    near = dict.fromkeys(files[name] for name in get_close_matches(target, files, n=3))
    return f"{message}\n" + (f"Did you mean {' or '.join(near)}?" if near else "`make status` lists all tables and figures.")


def reason(message: str) -> str:
    """Text of a WorkflowError, without the lines in which Snakemake says where it was raised; other messages unchanged."""
    matches = (re.search(form, message, re.DOTALL | re.MULTILINE) for form in RAISED)
    match = next(filter(None, matches), None)
    return "\n".join(line.strip() for line in match[1].split("\n")) if match else message


def missing_command(executor: str | None) -> str | None:
    """Message if a cluster profile is used on a machine that cannot submit jobs; None otherwise."""
    if executor != "slurm" or shutil.which("sbatch"):
        return None
    return (
        "sbatch: command not found, so no job can be submitted: start this on a login node of the cluster, load its SLURM "
        "module, or run here with --executor local --cores N"
    )


def missing_image(methods: Iterable[object], image: str) -> str | None:
    """Message if jobs are to run in an image that does not exist; None otherwise. methods: values of --sdm."""
    if "apptainer" not in map(str, methods) or Path(image).exists():
        return None
    return f"{image}: expected the image for --sdm apptainer, found none; build it as docs/install.md says, or link to it here"


def missing_mirrors(mirrors: Iterable[str], files: str) -> str:
    """Message on folders under `mirror` that do not exist; "" if all do. files: names of the configuration files."""
    missing = [path for path in map(Path, mirrors) if not path.is_dir()]
    return "\n".join(
        f"{files}: mirror: expected a folder, found none at {path}: correct it, or leave it out"
        f"{nearest(path.name, [folder.name for folder in path.parent.glob('*/')])}"
        for path in missing
    )


def unknown_rules(names: Iterable[str], rules: Sequence[str]) -> str:
    """Message on rules in set-resources that do not exist, which Snakemake does not notice; "" if all do."""
    return "\n".join(
        f"set-resources: expected the name of a rule, found '{name}'{nearest(name, rules) or '; correct or remove it'}"
        for name in names
        if name not in rules
    )


def published_here(executor: str | None, results: str, rules: Iterable[str]) -> str | None:
    """Warning if training runs of the full study would run on this machine; None otherwise. rules: rule of each job to run."""
    training_runs = sum(rule.startswith("train") for rule in rules)
    if executor != "local" or results != "results" or not training_runs:
        return None
    return (
        f"this is the full study: {training_runs} training runs of its size on this machine; `make cost` says how long they "
        "take. Add --profile demo for the small study, --profile slurm for a cluster"
    )


def warnings(values: Mapping[str, Any], config: Config, misfits: Mapping[str, str] = {}) -> list[str]:
    """Warnings on a configuration, before anything runs.

    They name papers that do not fit it, folders of other results and of encoders that do not exist, and encoders that are
    fetched because their package has no wheel for this platform.

    values: the configuration as its files have it.
    misfits: key of a paper -> why it does not fit.
    """
    missing = [
        f"reuse: expected a folder of results, found none at {path}; everything is made here"
        for path in config.reuse
        if not Path(path).is_dir()
    ]
    fetched = [
        f"encoders.{name}: no package for this platform, so {encoder.id} is fetched from the hub; its weights are not quantised, "
        "and results differ slightly from those in the documentation"
        for name, encoder in config.encoders.items()
        if encoder.source == "hub" and values["encoders"][name]["source"] != "hub"
    ]
    absent = [
        f"encoders.{name}.path: expected a folder with config.json, found none at {encoder.path}; correct it before it is needed"
        for name, encoder in config.encoders.items()
        if encoder.source == "folder" and not Path(encoder.path, "config.json").is_file()
    ]
    omitted = [f"papers.{key} is omitted: {why}" for key, why in misfits.items()]
    return missing + fetched + absent + omitted
