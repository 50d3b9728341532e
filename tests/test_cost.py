"""What a run will take: the jobs that Snakemake would run, and what jobs of their kinds took or are tabulated to take."""

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from crosslens.commands.cost import estimate, rehearsal
from crosslens.commands.cost.__main__ import cost, main, spent
from crosslens.commands.cost.estimate import FACTORS, HOURS, Estimator, wall_time
from crosslens.commands.cost.finished import finished_jobs
from crosslens.commands.planned_jobs import Job
from crosslens.config.whole import Config
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import rounded
from crosslens.papers.configuration import load as load_config
from rich.console import Console
from study import copy_repository, counts, environment, plan, snakemake
from test_config import merged

TABLE = """results,place,seconds,update,megabytes
results/demo,,5,,0.1
results/demo,models,40,0.5,3
results/demo,models/p/pos,100,0.5,2
results/demo,states,20,,1
results/demo,measures/probes,30,,1
"""


def job(place: str, rule: str = "train", results: str = "results/demo", **asked: int) -> Job:
    return Job(rule, {}, asked, [f"{results}/{place}"], [], [f"{results}/logs/{place}.log"])


def ended(place: str, *processes: str, text: str = "", results: str = "results/demo") -> None:
    """Write the log of a finished job, with a line for each process of it."""
    file = Path(results, f"logs/{place}.log")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "".join(f"2026-11-27 10:00:00 INFO took {process}\n" for process in processes))


def rehearsed(place: str, seconds: float, *, updates: int = 3, phases: int = 2) -> None:
    """Write what a rehearsed training leaves: its log, and the seconds of its updates in all, without the first of each phase."""
    ended(place, "9.0 s, peak memory 2.00 GiB, of the GPU 1.00 GiB", results="results/demo/rehearsal")
    folder = Path("results/demo/rehearsal", place)
    folder.mkdir(parents=True)
    stages = [{"name": "task", "phases": [{}] * phases}]
    (folder / "record.json").write_text(json.dumps({"encoder": {"rehearse": updates}, "recipe": {"stages": stages}}))
    (folder / "history.csv").write_text(f"stage,epoch,seconds\ntask,0,0.0\ntask,1,{seconds}\n")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Configuration of the demo, in a working directory without results, with a small table of hours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hours.csv").write_text(TABLE)
    monkeypatch.setattr(estimate, "HOURS", tmp_path / "hours.csv")
    return load_config(merged("demo"))


def test_finished_jobs_are_those_whose_logs_say_what_all_of_the_job_took(config):
    ended("tokens/a", "12.5 s, peak memory 1.50 GiB")
    ended(
        "models/p/two", "10.0 s, peak memory 2.00 GiB, of the GPU 0.50 GiB", "11.0 s, peak memory 1.00 GiB, of the GPU 4.00 GiB"
    )
    ended("models/p/failed")
    ended("models/p/resumed", "10.0 s, peak memory 2.00 GiB", text="2026-11-27 09:00:00 INFO resumed stage task at epoch 1\n")
    jobs = finished_jobs(Path("results/demo"))
    assert jobs.keys() == {"tokens/a", "models/p/two"}
    assert (jobs["tokens/a"].seconds, jobs["tokens/a"].memory, jobs["tokens/a"].gpu_memory) == (12.5, 1.5 * 2**30, 0)
    assert (jobs["models/p/two"].seconds, jobs["models/p/two"].gpu_memory) == (11, 4 * 2**30)
    folder = Path("results/demo/models/p/two")
    folder.mkdir(parents=True)
    (folder / "history.csv").write_text("stage,epoch,seconds\n")  # of a killed run, before its record
    assert finished_jobs(Path("results/demo")).keys() == jobs.keys()
    rehearsed("models/p/pos/a/seed0", 8.0)
    assert finished_jobs(Path("results/demo/rehearsal"))["models/p/pos/a/seed0"].update == 8 / 4


def test_an_estimate_rests_on_the_best_that_is_there(config):
    def estimates(*jobs: Job) -> list[tuple[float, str]]:
        estimator = Estimator(config)
        return [(time.seconds, time.basis) for job in jobs if (time := estimator.estimate(job))]

    training, other, states = job("models/p/pos/b", gpu=1), job("models/q/x", gpu=1), job("states/p/pos/b", "states", gpu=1)
    probes = job("measures/probes@p/p/pos/b", "measure_states")
    table = job("table1.csv", "table")
    jobs = training, other, states, probes, table
    assert estimates(*jobs) == [(100, "tabulated"), (40, "tabulated"), (20, "tabulated"), (30, "tabulated"), (5, "tabulated")]
    rehearsed("models/p/pos/a/seed0", 4.0)  # an update takes twice as long as the table says
    ended("measures/probes/p/pos/a", "70.0 s, peak memory 2.00 GiB", results="results/demo/rehearsal")
    ended("states/p/pos/a", "1.0 s, peak memory 2.00 GiB", results="results/demo/rehearsal")  # of few texts
    assert estimates(*jobs) == [(200, "rehearsed"), (80, "scaled"), (40, "scaled"), (70, "rehearsed"), (5, "tabulated")]
    ended("models/p/pos/a/seed0", "300.0 s, peak memory 2.00 GiB")
    ended("models/p/pos/c/seed0", "400.0 s, peak memory 2.00 GiB")
    ended("measures/probes/p/pos/c", "50.0 s, peak memory 2.00 GiB")
    assert estimates(*jobs) == [(350, "measured"), (140, "scaled"), (70, "scaled"), (50, "measured"), (5, "tabulated")]


def test_a_study_that_reuses_another_is_expected_to_take_as_long(config):
    config = load_config(merged("demo") | {"results": "results/mine", "reuse": ["results/demo"]})
    ended("measures/probes/p/pos/a", "50.0 s, peak memory 2.00 GiB")  # in results/demo
    jobs = [job(place, results="results/mine") for place in ("measures/probes@p/p/pos/b", "models/p/pos/b")]
    assert [(time.seconds, time.basis) for job in jobs if (time := Estimator(config).estimate(job))] == [
        (50, "scaled"),
        (100, "tabulated"),
    ]


def test_without_a_table_of_the_folder_nothing_is_guessed(config):
    config = load_config(merged("demo") | {"results": "results/mine"})
    jobs = [job("models/p/pos/b", results="results/mine", gpu=1), job("tokens/a", "tokens", results="results/mine")]
    assert [Estimator(config).estimate(job) for job in jobs] == [None, None]
    ended("models/p/pos/a", "12.0 s, peak memory 2.00 GiB", results="results/mine")
    assert Estimator(config).estimate(jobs[0]).seconds == 12
    *_, total = cost(jobs, Estimator(config))
    assert total.bases == {"measured": 1, "": 1}
    assert total.cells() == ["all", "2", "< 0.01", "unknown", "", "", "unknown"]
    assert Estimator(config).on_gpus and not Estimator(load_config(merged("demo"))).on_gpus
    *_, total = cost(jobs[1:], Estimator(config))
    assert total.cells() == ["all", "1", "", "unknown", "unknown", "", "unknown"]


def test_lines_add_up(config):
    jobs = [
        job("models/p/pos/a", gpu=4, mem_mb=48_000, runtime=1), job("models/q/b", gpu=1, mem_mb=8_000, runtime=60),
        job("table1.csv", "table", mem_mb=4_000),
    ]  # fmt: skip
    train, table, total = cost(jobs, Estimator(config))
    assert (train.rule, train.jobs, train.memory, train.longest, train.over) == ("train", 2, 48_000, 100, 1)
    assert train.encoders == pytest.approx([440 / FACTORS["tabulated"], 440, 440 * FACTORS["tabulated"]])  # GPUs that are held
    assert (table.others[1], table.encoders[1]) == (5, 0)
    assert (total.jobs, total.encoders, total.others, total.disk) == (3, train.encoders, table.others, pytest.approx(5.1e6))
    assert cost(list(reversed(jobs)), Estimator(config))[0].rule == "train"


def test_hours_are_rounded_to_what_they_are_worth():
    ranges = {"17 (6 to 51)": 61_200, "10 (3 to 30)": 35_990, "< 0.01": 30, "0.3 (0.1 to 1)": 1200, "": 0}
    assert [spent([seconds / 3, seconds, 3 * seconds]) for seconds in ranges.values()] == [*ranges]
    durations = {"10 h": 35_700, "4 h": 15_780, "80 min": 4_800, "6 min": 350, "40 s": 40}
    assert [rounded(seconds) for seconds in durations.values()] == [*durations]


def test_wall_time_is_that_of_the_gpus_and_of_what_waits_for_what(config):
    """Trainings of 100, 100 and 40 s, states of 20 s of the first, and a table of 5 s of these."""
    names = ("models/p/pos/a", "models/p/pos/b", "models/q/c", "states/p/pos/a")
    train_a, train_b, train_c, states = (job(name, gpu=1) for name in names)
    states = replace(states, input=train_a.output)
    jobs = [replace(job("table1.csv", "table"), input=states.output), states, train_a, train_b, train_c]
    times = {gpus: wall_time(jobs, Estimator(config), gpus) for gpus in (1, 2, 3)}
    assert times == {1: 100 + 100 + 40 + 20 + 5, 2: 100 + 40, 3: 100 + 20 + 5}
    assert wall_time([job("models/p/pos/a", gpu=4)], Estimator(config), 2) == 200  # two share the work of four


def test_a_rehearsal_shows_requests_beside_what_was_taken(config):
    """In the row of a kind: its jobs, requested memory, peaks, seconds of an update and of a job, tabulated and here."""
    for name in "ab":
        rehearsed(f"models/p/pos/{name}/seed0", 4.0)
    jobs = [job(f"models/p/pos/{name}/seed0", gpu=1, mem_mb=48_000) for name in "abc"]
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rehearsal.table(Estimator(config), jobs, 3))
    (row,) = [line.strip("│ ") for line in console.export_text().splitlines() if "models/p/pos" in line]
    cells = ["models/p/pos", "2 of 3", "48.0 GB", "2.1 GB", "1.1 GB", "0.5", "1", "1 min 40 s", "3 min 20 s"]
    assert [cell.strip() for cell in row.split("│")] == cells


# The plan.


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_repository(tmp_path_factory.mktemp("cost"))


@pytest.mark.long
def test_only_what_would_run_is_planned(edited):
    (edited / "results/tiny/table1.csv").unlink()
    options = ("--profile", "tests/workflow", "results/tiny/table1.csv")
    config, jobs = plan(edited, *options)
    assert Counter(job.rule for job in jobs) | {"total": len(jobs)} == counts(snakemake(edited, "-n", *options))
    (table,) = (job for job in jobs if job.rule == "table")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(edited)
        assert Estimator(config).estimate(table).basis == "measured"


def test_the_full_study_is_tabulated(root):
    """Hours and gigabytes are in docs/cluster.md; here that each kind of job has some, and that disk is what weights take."""
    config, jobs = plan(root, "--profile", "slurm", "results/table2.csv")
    estimator, jobs = Estimator(config), [job for job in jobs if job.log]
    total = cost(jobs, estimator)[-1]
    low, likely, high = total.encoders
    assert total.jobs == len(jobs) and total.bases == {"tabulated": len(jobs)}
    assert low < 17 * 3600 < high and likely == pytest.approx(17 * 3600, rel=0.15)
    assert total.disk == pytest.approx(13e9, rel=0.15) and total.memory == 48_000
    training_runs = [job for job in jobs if job.rule == "train"]
    assert len(training_runs) == 8 and all(estimator.rows[estimator.kind_of(job)].update for job in training_runs)
    trial = "models/tanti2021/pos/frozen/trials"
    kinds = {"models/sixth/x/seed0": "models", f"{trial}07/seed0": trial, "measures/probes@x/y/seed0": "measures/probes"}
    assert {place: estimator.kind(place) for place in kinds} == kinds


def test_the_table_is_sorted_and_has_no_row_twice():
    table = list(csv.DictReader(HOURS.open(encoding="utf-8")))
    places = [(row["results"], row["place"]) for row in table]
    assert places == sorted(set(places)) and {(results, "") for results, _ in places} <= set(places)
    assert all(float(row["seconds"]) > 0 and float(row["update"] or 1) > 0 and float(row["megabytes"]) > 0 for row in table)


@pytest.mark.long
def test_make_cost_prints_a_table(root, monkeypatch):
    monkeypatch.chdir(root)
    command = [sys.executable, "-m", "crosslens.commands.cost", "--profile", "slurm", "results/table1.csv"]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment() | {"PYTHONPATH": "workflow"})
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Planning: snakemake --profile slurm results/table1.csv\n")
    assert re.search(r"│ train .*│ +\d+ \(\d+ to \d+\) │", said.stdout) and re.search(r"│ all .*48.0 GB", said.stdout)
    assert re.search(r"\d+ jobs tabulated: .*A100.*within a factor of 3", said.stdout)
    with pytest.raises(SystemExit, match="profile dmeo: expected one of demo, laptop, slurm, found .*; did you mean 'demo'"):
        main(["--profile", "dmeo", "demo"])
    with pytest.raises(DataError, match="(?s)expected a plan, found an error:.*results/table1.csv"):
        plan(root, "--profile", "slurm", "results/tabel1.csv")
