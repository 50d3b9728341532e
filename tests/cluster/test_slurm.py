"""The profile slurm/ on a real SLURM: a one-node cluster is brought up on this machine and taken down again.

It needs root on a Debian-like Linux and installs packages, so it runs only when it is asked for:
`pytest -m slurm tests/cluster`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
JOBS = {"gpu": "gpu.json", "memory": "memory.json", "gathered": "gathered.json"}


def obstacle() -> str | None:
    """What keeps this machine from being a cluster."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux, to start SLURM's daemons"
    if not (shutil.which("slurmctld") or shutil.which("apt-get")):
        return "needs SLURM, or apt-get to install it"
    conf = Path("/etc/slurm/slurm.conf")
    if conf.exists() and "ClusterName=onenode\n" not in conf.read_text():
        return "this machine belongs to a cluster already"
    return None


pytestmark = [pytest.mark.slurm, pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))]


def run(*command: str | Path, seconds: int, cwd: Path, **environment: str) -> str:
    """Run a command, killed for good when its time is over (Snakemake waits for its jobs when it is asked to end)."""
    limited = ["timeout", "-k", "10", str(seconds), *map(str, command)]
    result = subprocess.run(limited, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)
    output = result.stdout + result.stderr
    assert result.returncode == 0, f"{' '.join(map(str, command))}: status {result.returncode}\n{output}"
    return output


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running cluster; gives the folder of its logs."""
    state = tmp_path_factory.mktemp("cluster")
    settings = {"SLURM_STATE": str(state), "GPUS": "2", "CPUS": "4"}
    try:
        run("bash", HERE / "slurm_up.sh", seconds=300, cwd=state, **settings)
        yield state
    finally:
        run("bash", HERE / "slurm_down.sh", "--purge", seconds=60, cwd=HERE, **settings)


@pytest.fixture(scope="module")
def built(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The smoke workflow, built with the repository's profile; gives its folder and what Snakemake said."""
    folder = tmp_path_factory.mktemp("smoke")
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", HERE / "smoke" / "Snakefile", "--directory", folder]
    profile = ["--profile", REPOSITORY / "slurm"]
    # What differs from a real cluster: no accounting (so squeue, and any account will do), and a test in a hurry.
    resources = ["--default-resources", "mem_mb=500", "runtime=5", "slurm_account=nobody"]
    status = ["--slurm-status-command", "squeue", "--seconds-between-status-checks", "2"]
    hurry = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = run(*snakemake, *profile, *resources, *status, *hurry, seconds=170, cwd=folder, PATH=path)
    return folder, said


def witness(folder: Path, rule: str) -> dict[str, Any]:
    """What the job of a rule saw."""
    return json.loads((folder / JOBS[rule]).read_text())


def records(cluster: Path) -> dict[str, dict[str, str]]:
    """SLURM's own record of the jobs that ended, by id."""
    lines = (cluster / "jobcomp.txt").read_text().splitlines()
    jobs = [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in lines]
    return {job["JobId"]: job for job in jobs}


def test_slurm_itself_ran_every_job(cluster, built):
    folder, _ = built
    ended = records(cluster)
    for rule in JOBS:
        job = ended[witness(folder, rule)["SLURM_JOB_ID"]]
        assert (job["JobState"], job["WorkDir"], job["ExitCode"]) == ("COMPLETED", str(folder), "0:0")
    assert witness(folder, "gathered")["inputs"] == ["gpu.json", "memory.json"]


def test_a_gpu_is_granted_to_the_rule_that_asks_and_to_no_other(built):
    folder, _ = built
    assert witness(folder, "gpu")["CUDA_VISIBLE_DEVICES"] in ("0", "1")
    shown = run("scontrol", "--oneliner", "show", "job", witness(folder, "gpu")["SLURM_JOB_ID"], seconds=10, cwd=folder)
    assert re.search(r"TresPerJob=gres:gpu:1\b", shown)
    assert "JobState=COMPLETED" in shown
    assert not witness(folder, "gathered")["CUDA_VISIBLE_DEVICES"]


def test_a_job_that_outgrew_its_memory_gets_more_at_the_second_attempt(cluster, built):
    folder, said = built
    failed = [job for job in records(cluster).values() if job["JobState"] == "FAILED"]
    assert ["mem=700M" in job["Tres"] for job in failed] == [True]
    assert witness(folder, "memory")["mem_mb"] == 2800
    assert "exceeded memory limit" in said  # the profile shows the end of a failed job's log
    assert "smoke test: memory" in (folder / "logs" / "memory.log").read_text()


def test_scripts_import_the_library_of_the_working_copy(built):
    folder, _ = built
    assert {Path(witness(folder, rule)["library"]) for rule in JOBS} == {REPOSITORY / "workflow/crosslens/__init__.py"}
