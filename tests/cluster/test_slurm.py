"""The profile slurm/ on a real SLURM: a one-node cluster is brought up on this machine and taken down again.

A slice of the study runs on it, on hardly any data, and everything that docs/cluster.md tells a user to do after a fault is
done. It needs root on a Debian-like Linux and installs packages, so it runs only when it is asked for:
`pytest -m slurm tests/cluster`. GPUs are pretended, and so is memory: jobs ask for what they ask for on a cluster.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from study import copy_repository, edit

HERE = Path(__file__).parent
RESULTS = "results/tiny"
TABLE = f"{RESULTS}/footnote6.csv"  # two training runs
# What differs from another cluster: no accounting, and a test in a hurry. GPUs are in a partition of their own.
SITE = """
default-resources: {mem_mb: 2000, runtime: 5, slurm_partition: main, slurm_account: nobody}
set-resources:
  train: {slurm_partition: gpu, gpu_model: pretend}
slurm-status-command: squeue
seconds-between-status-checks: 2
slurm-init-seconds-before-status-checks: 2
latency-wait: 5
"""
Value = TypeVar("Value")


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


def run(*command: str | Path, seconds: int, cwd: Path, works: bool = True, **environment: str) -> str:
    """Run a command, killed for good when its time is over (Snakemake waits for its jobs when it is asked to end)."""
    limited = ["timeout", "-k", "10", str(seconds), *map(str, command)]
    result = subprocess.run(limited, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)
    output = result.stdout + result.stderr
    assert (result.returncode == 0) == works, f"{' '.join(map(str, command))}: status {result.returncode}\n{output}"
    return output


def wait(condition: Callable[[], Value], what: str, seconds: float = 300) -> Value:
    """Until something holds; returns its value. Much longer than it takes, since the machine may be busy."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not after {seconds:.0f} s"
        time.sleep(0.2)
    return value


@dataclass
class Cluster:
    """A running cluster. state: the folder of its logs."""

    state: Path

    def kill_controller(self) -> None:
        """As a crash of its machine does."""
        pid = int(Path("/run/slurm-one-node/slurmctld.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        wait(lambda: not Path(f"/proc/{pid}").exists(), "the controller is gone")


@dataclass
class Study:
    """A copy of the repository, whose tiny study is built with the cluster's profile."""

    root: Path
    cluster: Cluster

    def copy(self, name: str, *edits: tuple[str, str]) -> "Study":
        """A copy of what is built, beside it, with another site file."""
        root = self.root.with_name(name)
        shutil.copytree(self.root, root, symlinks=True)
        edit(root / "slurm/site.yaml", *edits)
        return Study(root, self.cluster)

    def ended(self) -> list[dict[str, str]]:
        """SLURM's own record of the jobs of this study that ended."""
        file = self.cluster.state / "jobcomp.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        jobs = [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in lines]
        return [job for job in jobs if job["WorkDir"] == str(self.root)]

    def queued(self, *states: str) -> dict[str, str]:
        """Jobs of this study that have not ended: id -> the rule that the plugin names in its comment."""
        said = run("squeue", "--noheader", f"--states={','.join(states or ('PENDING', 'RUNNING'))}", "--format=%i %Z %k",
                   seconds=60, cwd=self.root)  # fmt: skip
        jobs = [line.split(maxsplit=2) for line in said.splitlines()]
        return {job: comment for job, folder, comment in jobs if folder == str(self.root)}

    def running(self, rule: str) -> list[str]:
        """Jobs of a rule that run."""
        return [job for job, comment in self.queued("RUNNING").items() if rule in comment]

    def command(self, *options: str) -> list[str]:
        """Command line of a user."""
        scale = ["--configfile", "config.yaml", "tests/workflow/overlay.yaml"]
        return [sys.executable, "-m", "snakemake", *scale, "--profile", "slurm", *options]

    @property
    def environment(self) -> dict[str, str]:
        """With this Python, whose jobs compute nodes run, before others."""
        return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def build(self, *options: str, seconds: int = 900, works: bool = True) -> str:
        """Run it to the end; returns what it said."""
        return run(*self.command(*options), seconds=seconds, cwd=self.root, works=works, **self.environment)

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Run it, and go on; what it says goes to a file."""
        with (self.root / "said.txt").open("wb") as said:
            return subprocess.Popen(self.command(*options), cwd=self.root, env=os.environ | self.environment, stdout=said,
                                    stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip

    def said(self) -> str:
        """By the one that was started last."""
        return (self.root / "said.txt").read_text()

    def finish(self, process: subprocess.Popen[bytes], seconds: float = 900) -> str:
        """Wait until one that was started has ended well; one that does not end is killed, for the sake of the next test."""
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        assert status == 0, self.said()
        return self.said()

    def folder(self, recipe: str) -> Path:
        """Return the folder that holds a recipe's training run with seed 0."""
        return self.root / f"{RESULTS}/models/{recipe}/seed0"

    def log(self, recipe: str) -> str:
        """Return the text of that training run's log, or an empty string before it has started."""
        file = self.root / f"{RESULTS}/logs/models/{recipe}/seed0.log"
        return file.read_text() if file.exists() else ""

    def again(self, recipe: str) -> str:
        """Have a training made anew; returns what to ask for."""
        shutil.rmtree(self.folder(recipe), ignore_errors=True)
        (self.root / f"{RESULTS}/logs/models/{recipe}/seed0.log").unlink(missing_ok=True)
        return f"{RESULTS}/models/{recipe}/seed0/record.json"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster, with two GPUs."""
    state = tmp_path_factory.mktemp("cluster")
    settings = {"SLURM_STATE": str(state), "GPUS": "2", "CPUS": "6", "MEMORY": "256000"}
    try:
        up = ["timeout", "-k", "10", "400", "bash", str(HERE / "slurm_up.sh")]
        made = subprocess.run(up, cwd=state, env=os.environ | settings, capture_output=True, text=True)
        if made.returncode == 75:
            pytest.skip(made.stderr.strip().splitlines()[-1])
        assert made.returncode == 0, made.stdout + made.stderr
        yield Cluster(state)
    finally:
        run("bash", HERE / "slurm_down.sh", "--purge", seconds=60, cwd=HERE, **settings)


@pytest.fixture(scope="module")
def study(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The slice that `test_a_slice...` looks at, built; the other tests start from it."""
    root = copy_repository(tmp_path_factory.mktemp("studies") / "study")
    (root / "slurm/site.yaml").write_text(SITE)
    study = Study(root, cluster)
    (root / "first.txt").write_text(study.build(TABLE))
    return study


def epochs(number: int) -> list[str]:
    """Options for training runs that take long enough for something to happen to them."""
    return ["--config", f'papers={{"tanti2021":{{"training":{{"epochs":{number}}}}}}}']


@pytest.fixture(scope="module", autouse=True)
def scarce(study: Study) -> Iterator[tuple[Study, subprocess.Popen[bytes]]]:
    """A copy of the study, whose training has too little memory at its first attempt, in the background of other tests."""
    copy = study.copy("scarce", ("train: {", "train: {mem_mb: 120 * attempt**5, "))
    process = copy.start(copy.again("tanti2021/pos/frozen"))
    yield copy, process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def test_a_slice_of_the_study_is_built_by_slurm(study):
    record = json.loads((study.root / f"{TABLE}.json").read_text())
    assert "--profile slurm" in json.dumps(record)
    said = (study.root / "first.txt").read_text()
    assert "slurm_partition=main, slurm_account=nobody; train: slurm_partition=gpu, gpu_model=pretend; " in said
    ended = study.ended()
    assert {job["JobState"] for job in ended} == {"COMPLETED"}
    planned = re.search(r"^total +(\d+)$", said, re.MULTILINE)
    assert planned and len(ended) == int(planned[1])  # all of them; only fetching would run on the login node
    # What a rule and the site file ask for is what SLURM grants: memory, partition, and GPUs where encoders run and nowhere else.
    assert Counter(job["Partition"] for job in ended) == {"main": len(ended) - 2, "gpu": 2}
    memory = [job["Tres"] for job in ended]
    assert sum("mem=48000M" in each or "mem=46.875G" in each for each in memory) == 2
    requests = [run("scontrol", "--oneliner", "show", "job", job["JobId"], seconds=60, cwd=study.root) for job in ended]
    assert sum("gres:gpu:pretend:1" in request for request in requests) == 2
    assert sum("TimeLimit=12:00:00" in request for request in requests) == 2
    assert "Nothing to be done" in study.build(TABLE)


def test_a_training_over_its_time_goes_on_where_it_was_cut(study):
    """Stopped while its time passes: SLURM's shortest limit is a minute, in which a fast machine would come to the end."""
    before = len(study.ended())
    recipe = "tanti2021/pos/gradient_reversal"
    process = study.start(study.again(recipe), *epochs(300))
    wait(lambda: re.search("stage task, epoch [1-9]", study.log(recipe)), "an epoch has ended")
    (job,) = study.running("train")
    os.kill(json.loads((study.folder(recipe) / ".running").read_text())["pid"], signal.SIGSTOP)
    minutes = run("squeue", "--noheader", f"--jobs={job}", "--format=%M", seconds=60, cwd=study.root).split(":")[0]
    run("scontrol", "update", f"JobId={job}", f"TimeLimit={int(minutes) + 1}", seconds=60, cwd=study.root)
    study.finish(process)
    assert [job["JobState"] for job in study.ended()[before:]] == ["TIMEOUT", "COMPLETED"]
    # The log is the second attempt's.
    assert re.search(r"resumed stage task at epoch [1-9]", study.log(recipe)), study.log(recipe)
    history = (study.folder(recipe) / "history.csv").read_text().splitlines()
    assert sum(line.startswith("task,") for line in history) == 301  # the untrained one too
    assert not list(study.folder(recipe).glob("checkpoint*"))


def test_a_training_over_its_memory_gets_more_at_the_next_attempt(scarce):
    study, process = scarce
    study.finish(process)
    first, second = study.ended()
    assert first["JobState"] in ("FAILED", "OUT_OF_MEMORY") and "mem=120M" in first["Tres"]
    assert second["JobState"] == "COMPLETED" and "mem=3840M" in second["Tres"]
    caught = (study.root / ".snakemake/slurm_logs").rglob(f"{first['JobId']}.log")
    assert ["exceeded memory limit" in log.read_text() for log in caught] == [True]


def test_a_cancelled_job_is_tried_again(study):
    process = study.start(study.again("tanti2021/pos/finetuned"))
    (job,) = wait(lambda: study.running("train"), "the training runs")
    run("scancel", job, seconds=60, cwd=study.root)
    study.finish(process)
    logged = max((study.root / ".snakemake/log").iterdir(), key=lambda log: log.stat().st_mtime).read_text()
    assert f"SLURM-job '{job}' failed, SLURM status is: 'CANCELLED'" in logged
    assert (study.folder("tanti2021/pos/finetuned") / "record.json").is_file()


def test_the_controller_may_die_and_come_back(study):
    before = len(study.ended())
    recipe = "tanti2021/pos/entropy_maximisation"
    process = study.start(study.again(recipe), *epochs(500))
    # By then Snakemake has asked for the job's status: where its first question fails, it asks the accounting for good.
    wait(lambda: "stage task, epoch" in study.log(recipe), "the training is in its epochs")
    time.sleep(10)  # SLURM saves its state every five seconds: a controller that dies before then has never heard of the job
    study.cluster.kill_controller()
    time.sleep(8)  # some checks of its status fail
    run("slurmctld", seconds=60, cwd=study.root)
    study.finish(process)
    assert [job["JobState"] for job in study.ended()[before:]] == ["COMPLETED"]


def test_the_documented_recovery_from_a_killed_snakemake(study):
    """Its jobs go on; the folder is locked; after scancel and --unlock the same command finishes."""
    recipe = "tanti2021/pos/entropy_maximisation"  # not of the table, whose training runs stay as they are
    targets = [study.again(recipe), *epochs(200)]
    process = study.start(*targets)
    (job,) = wait(lambda: study.running("train"), "the training runs")
    wait(lambda: "stage task, epoch" in study.log(recipe), "the training is in its epochs")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert study.running("train") == [job]  # it survives
    run("scancel", job, seconds=60, cwd=study.root)
    wait(lambda: not study.queued(), "the survivor has ended")
    assert "--unlock" in study.build(*targets, works=False)
    study.build("--unlock", *targets)
    study.build(*targets)
    assert "resumed stage" in study.log(recipe)  # scancel sends SIGTERM, as a time limit does
    assert (study.folder(recipe) / "record.json").is_file() and "Nothing to be done" in study.build("-n", *targets)
