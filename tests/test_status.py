"""What `make status` says of studies, from plans and the files that exist."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from crosslens.commands import status
from crosslens.commands.planned_jobs import Job, cause, changed_keys
from crosslens.commands.status import Study, activity, headline, items, main, taken
from crosslens.config.whole import Config
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import ABANDONED
from crosslens.jobs.records import write_json
from crosslens.papers.configuration import load
from crosslens.training import lock
from study import RESULTS, environment, tiny
from test_config import merged

REPOSITORY = Path(__file__).parents[1]
RESULTS_HERE = "results/demo"
PARAMS = "Params have changed since last execution: Union of exclusive params before and now across all output: before: "
CODE, OTHER_CODE = "'0123456789abcdef'", "'fedcba9876543210'"


def job(rule: str, output: str, *inputs: str, reason: str = "") -> Job:
    return Job(rule, {}, {}, [output], inputs, reason=reason)


def here(name: str) -> str:
    return f"{RESULTS_HERE}/{name}"


PLAN = [
    job("train_without_weights", "b/record.json", "tokens", reason=f"{PARAMS}{CODE} now: {OTHER_CODE} "),
    job("measure", "classification.parquet", "a/record.json", "b/record.json"),
    job("table", here("table1.csv"), "classification.parquet", "b/record.json", reason="Input files updated by another job: b"),
    job("table", here("wu2019/table3.csv"), reason="Set of input files has changed since last execution"),
    job("figure", here("figure3.svg"), reason=f"Missing output files: {here('figure3.svg')}"),
    job("demo_all", "", here("table1.csv"), here("wu2019/table3.csv"), here("figure2.svg"), here("figure3.svg")),
]


@pytest.fixture(scope="module")
def config() -> Config:
    return load(merged("demo"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the configuration of the demo and of the laptop's preset, and some tables and figures."""
    for name in ("config.yaml", "demo", "laptop", "slurm", "envs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    for name in map(here, ("table1.csv", "figure2.svg", "wu2019/table3.csv")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_tables_and_figures_with_reasons_and_what_they_would_take(root, config):
    figure, missing, table, other = rows = items(config, PLAN, root)
    assert (figure.path, figure.state, figure.jobs) == (here("figure2.svg"), "built", ()) and figure.remark.startswith("20")
    assert (missing.path, missing.state, taken(missing.jobs)) == (here("figure3.svg"), "missing", "1 job")
    assert (other.paper, other.state, other.remark) == ("wu2019", "stale", "another set of inputs (table 1)")
    assert (table.state, table.remark) == ("stale", "code (train_without_weights 1)")
    assert taken(table.jobs) == "3 jobs with 1 training run"
    assert headline(Study("demo", RESULTS_HERE, ["--profile", "demo"]), rows) == (
        "demo: 1 of 4 tables and figures built, 2 stale, 1 missing. Stale because of code (train_without_weights 1); another set "
        "of inputs (table 1). The rest takes 5 jobs with 1 training run: snakemake --profile demo demo_all, or one: "
        "snakemake --profile demo FILE."
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (f"{PARAMS}{CODE} now: {OTHER_CODE} ", "code"),
        (f"{PARAMS}'losses: 0.1' now: 'losses: 0.2' ", "settings"),
        (f"{PARAMS}{CODE},'losses: 0.1' now: {OTHER_CODE},'losses: 0.2' ", "code and settings"),
        (f"{PARAMS}made from another r/history.csv now: <nothing exclusive> ", "other content of inputs"),
        (f"{PARAMS}no record of how it was made now: {CODE},'losses: 0.2' ", "no record of how they were made"),
        ("Updated input files: r/table1.csv", "newer inputs without a checksum"),
        ("Input files updated by another job: r/table1.csv", ""),
        ("Missing output files: r/table1.csv", ""),
    ],
)
def test_the_reason_is_the_true_one(reason, words):
    assert cause(reason) == words


def test_of_settings_only_the_keys_that_differ_are_in_the_reason():
    stages = "stages: [{'name': 'task', 'epochs': 2, 'rates': {'encoder': 0.1}}, {'name': 'language', 'heads': []}]"
    slower = stages.replace("0.1", "5e-05").replace("'task', ", "'task', 'batch': 8, ")
    settings, fewer = {"limits": {"train": 600}, "parts": ["a; b"]}, {"limits": {}, "parts": ["a; b"]}
    for before, now, reason_now in (
        ([stages], [slower], "before: 'stages.0.rates.encoder: 0.1' now: 'stages.0.batch: 8', 'stages.0.rates.encoder: 5e-05'"),
        ([settings], [fewer], "before: 'limits.train: 600' now: 'limits: {}'"),
        (["0123456789abcdef", stages], ["fedcba9876543210", stages + " "], f"before: {CODE} now: {OTHER_CODE}"),
    ):
        sides = [",".join(map(repr, side)) for side in (before, now)]
        assert changed_keys(f"{PARAMS}{sides[0]} now: {sides[1]} ") == PARAMS.replace("before: ", reason_now), reason_now
        assert changed_keys(f"{PARAMS}{sides[0]} now: {sides[1]} ; Forced") == PARAMS.replace("before: ", reason_now) + "; Forced"
    for reason in (
        "Missing output files: a",
        f"{PARAMS}made from another r/a now: <nothing exclusive> ",
        f"{PARAMS}'a: 1' now: b'",
    ):
        assert changed_keys(reason) == reason


def test_studies_are_those_that_are_begun_or_named(root, monkeypatch, capsys):
    plan = Mock(side_effect=DataError("config.yaml: thraeds: unknown key; did you mean 'threads'?"))
    monkeypatch.setattr(status, "plan", plan)

    def options(*names: str) -> list[str]:
        plan.reset_mock()
        with pytest.raises(SystemExit) as ended:
            main([*names], root)
        assert ended.value.code == 1, ended.value.code
        said = capsys.readouterr()
        assert "status: " in said.err and f"{root}/mine.yaml:2:1: not valid YAML, while parsing a flow sequence" in said.out
        return [" ".join(call.args[0][:-2]) for call in plan.call_args_list]

    (root / "results/passport").mkdir()
    (root / "results/models/passport").mkdir(parents=True)  # one passport is not the full study
    (root / "mine.yaml").write_text("seeds: [0\n")
    (root / "odd").mkdir()
    (root / "odd/config.yaml").write_text("a: [\n")
    assert options() == ["--profile demo"]
    (root / "results/laptop/models/tanti2021").mkdir(parents=True)
    assert options() == ["--profile laptop"]
    call = "snakemake --profile demo --configfile config.yaml demo/overlay.yaml mine.yaml -- results/mine/table1.csv"
    (root / "results/mine").mkdir()
    write_json({"command": call}, root / "results/mine/table1.csv.json")
    assert options() == ["--profile laptop", "--profile demo --configfile config.yaml demo/overlay.yaml mine.yaml"]
    assert plan.call_args.args[0][-1] == "results/mine/table1.csv"  # what is there, not all that could be built
    (root / "results/models/tanti2021").mkdir()
    assert len(options()) == 3
    assert options("demo", "results/") == ["--profile demo", "--profile slurm"]
    with pytest.raises(SystemExit, match="status: expected demo, laptop, published or a folder of results, found dmeo; did you"):
        main(["dmeo"], root)
    with pytest.raises(SystemExit, match="status: results/mien: not built yet: build a table or figure there, or"):
        main(["results/mien"], root)
    with pytest.raises(SystemExit, match="found nosuch; correct RESULTS, or build that folder first"):
        main(["nosuch"], root)


def test_what_runs_is_not_called_left_over(tmp_path, monkeypatch):
    results = tmp_path / "results"
    folder = results / "models/a/seed0"
    with lock.locked(folder / ".running", "a"), checksummed(folder / "record.json") as temporary:
        temporary.write_text("half")
        (running,) = activity(results, tmp_path)
        assert running == f"Running: models/a/seed0 (process {os.getpid()} on {os.uname().nodename})."
        monkeypatch.setattr(lock, "_began", lambda pid: "")  # as if the process had ended
        (left,) = activity(results, tmp_path)
        assert left.startswith("Left by killed runs, and not needed: ")
        (tmp_path / ".snakemake/locks").mkdir(parents=True)
        (tmp_path / ".snakemake/locks/0.output.lock").touch()
        (under_way,) = activity(results, tmp_path)  # the file may be of another job
        assert "snakemake --unlock" in under_way
        monkeypatch.setattr("crosslens.jobs.files.ABANDONED", -ABANDONED)
        assert len(activity(results, tmp_path)) == 2


@pytest.mark.long
def test_of_a_real_study(own):
    """Of the tiny one, by its folder, which says how it was made."""
    (own / RESULTS / "table1.csv").unlink()
    tiny(own, f"{RESULTS}/table2.csv", "--touch")
    command = [sys.executable, "-m", "crosslens.commands.status", "--paper", "tanti2021", RESULTS]
    said = subprocess.run(command, cwd=own, capture_output=True, text=True, env=environment() | {"PYTHONPATH": "workflow"})
    assert said.returncode == 0, said.stderr
    states = {words[0]: words[1] for line in said.stdout.splitlines() if len(words := line.split()) > 1}
    assert states[f"{RESULTS}/table1.csv"] == "missing" and states[f"{RESULTS}/table2.csv"] == "built"
    assert said.stdout.startswith("tiny: ") and len(said.stdout.splitlines()) <= 25
