"""The site file of a cluster, slurm/site.yaml: options that differ between clusters, for the profile slurm/config.yaml."""

import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from crosslens.config.base import nearest
from crosslens.config.presets import read_yaml
from crosslens.jobs.errors import DataError

RESOURCES = (
    "clusters constraint cpus_per_gpu cpus_per_task disk_mb gpu gpu_model gres mem_mb mem_mb_per_cpu nodes qos runtime "
    "slurm_account slurm_extra slurm_partition tasks tasks_per_gpu"
).split()
"""Resources that a job may request: those that snakemake-executor-plugin-slurm passes on to sbatch."""
OPTIONS = (
    "apptainer-args conda-prefix jobs latency-wait precommand retries seconds-between-status-checks "
    "slurm-init-seconds-before-status-checks slurm-qos slurm-reservation slurm-status-command software-deployment-method"
).split()
"""Options of Snakemake with a single value that a site file may set."""
ALL_JOBS, RULES = "default-resources", "set-resources"
"""Options of Snakemake that contain resources: for all jobs, and for the jobs of each rule."""


def site_options(file: str) -> dict[str, Any]:
    """Options of Snakemake in a site file; {} if the file does not exist.

    Snakemake calls this while it reads the profile, before it plans. The values are printed to standard error. If the file is
    invalid, the process ends with a one-line message.
    """
    path = Path(file)
    if not path.exists():
        return {}
    try:
        site = read_site(path)
    except DataError as error:
        sys.exit(str(error))
    print(f"{path}: {summary(site) or 'no values'}", file=sys.stderr)
    return site


def read_site(path: Path) -> dict[str, Any]:
    """Options of Snakemake in a site file, without top-level keys that have no value.

    Raises DataError for an unknown key, and for a value that is not text or a number.
    """
    site = {key: value for key, value in read_yaml(path).items() if value is not None}
    jobs = {ALL_JOBS: site.get(ALL_JOBS, {})}
    jobs |= {f"{RULES}.{rule}": resources for rule, resources in _section(path, RULES, site.get(RULES, {})).items()}
    _check(path, "", {key: value for key, value in site.items() if key not in (ALL_JOBS, RULES)}, [*OPTIONS, ALL_JOBS, RULES])
    for key, resources in jobs.items():
        _check(path, f"{key}.", _section(path, key, resources), RESOURCES)
    return site


def summary(site: Mapping[str, Any]) -> str:
    """Values of a site file in one line. Adjacent rules with the same resources are grouped."""
    rules = site.get(RULES, {})
    groups = [("", site.get(ALL_JOBS, {}))]
    groups += [(f"{', '.join(map(str, names))}: ", resources) for resources, names in groupby(rules, rules.get)]
    groups += [("", {key: value for key, value in site.items() if key not in (ALL_JOBS, RULES)})]
    return "; ".join(names + ", ".join(f"{key}={value}" for key, value in values.items()) for names, values in groups if values)


def _section(path: Path, key: str, values: Any) -> Mapping[str, Any]:
    """Return the mapping below a key. Raises DataError if `values` is not a mapping."""
    if not isinstance(values, dict):
        raise DataError(f"{path}: {key}: expected `key: value` lines below it, found {values!r:.80}; indent them")
    return values


def _check(path: Path, place: str, values: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise DataError for the first unknown key, or value that is neither text nor a number. place: prefix of the keys."""
    for key, value in values.items():
        if key not in keys:
            hint = nearest(key, keys) or f"; expected one of {', '.join(keys)}"
            raise DataError(f"{path}: {place}{key}: unknown key{hint}")
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise DataError(
                f"{path}: {place}{key}: expected text or a number, found {value!r:.80}; correct it, or remove the line"
            )
