"""What `make status` says of tables and figures, from a plan and the files that exist."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest
from crosslens.commands import status
from crosslens.commands.planned_jobs import Job
from crosslens.commands.status import Item, items, main, outlook
from crosslens.config.presets import Preset
from crosslens.jobs.errors import DataError
from study import RESULTS, environment, tiny

REPOSITORY = Path(__file__).parents[1]


def job(rule: str, output: str, *inputs: str, reason: str = "") -> Job:
    return Job(rule, {}, {}, [output], inputs, reason=reason)


PLAN = [
    job("train_without_weights", "b/record.json", "tokens", reason="Params have changed since last execution: code"),
    job("measure", "classification.parquet", "a/record.json", "b/record.json"),
    job("table", "r/table1.csv", "classification.parquet", "b/record.json", reason="Input files updated by another job: b"),
    job("table", "r/muller2021/table3.csv", reason="Set of input files has changed since last execution"),
    job("figure", "r/figure3.svg", reason="Missing output files: r/figure3.svg"),
    job("demo_all", "", "r/table1.csv", "r/muller2021/table3.csv", "r/figure2.svg", "r/figure3.svg"),
]
FILES = ["r/table1.csv", "r/figure2.svg", "r/figure3.svg", "r/muller2021/table3.csv", "r/search.csv"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the configuration of the demo and of the laptop's preset, and some items."""
    for name in ("config.yaml", "demo", "laptop", "slurm", "envs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    for name in ("r/table1.csv", "r/figure2.svg", "r/muller2021/table3.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_tables_and_figures_with_reasons_and_what_they_would_take(root):
    built, missing, other, stale = items(FILES, PLAN, root)
    assert built.path == "r/figure2.svg" and str(built).startswith("built 20")
    assert missing == Item("r/figure3.svg", "missing", Counter(figure=1))
    assert str(other) == "stale because of different inputs than before: 1 job"
    assert stale.jobs == Counter(table=1, measure=1, train_without_weights=1)
    assert str(stale) == "stale because of changes upstream: 3 jobs with 1 training"
    assert outlook(Preset("demo", "results/demo"), PLAN) == (
        "demo: 5 jobs to build everything: table 2, train_without_weights 1, measure 1, figure 1. Changed: settings or code "
        "changed (train_without_weights 1); different inputs than before (table 1). "
        "To build one of these: snakemake --profile demo FILE; everything: snakemake --profile demo demo_all."
    )
    assert outlook(Preset("demo", "results/demo"), []) == "demo: everything is built."


def test_scales_are_those_of_which_anything_is_built_or_the_demo(root, monkeypatch, capsys):
    plan = Mock(side_effect=DataError("config.yaml: thraeds: unknown key; did you mean 'threads'?"))
    monkeypatch.setattr(status, "plan", plan)

    def profiles(*names: str) -> list[str]:
        plan.reset_mock()
        with pytest.raises(SystemExit) as ended:
            main([*names], root)
        assert ended.value.code
        assert "status: " in capsys.readouterr().err
        return [call.args[0][1] for call in plan.call_args_list]

    assert profiles() == ["demo"]
    (root / "results/laptop/models").mkdir(parents=True)
    assert profiles() == ["laptop"]
    (root / "results/sources").mkdir()
    assert profiles() == ["laptop", "slurm"]
    assert profiles("demo") == ["demo"]
    with pytest.raises(SystemExit, match="status: expected one of demo, laptop, published, found another"):
        main(["another"], root)
    (root / "mine.yaml").write_text("seeds: [0\n")
    with pytest.raises(SystemExit, match="mine.yaml:2:1: not valid YAML, while parsing a flow sequence"):
        main([], root)


@pytest.mark.long
def test_of_a_real_study(own):
    """Of the tiny one, by a profile in the folder of the clone."""
    (own / "small").mkdir()
    for name in ("config.yaml", "overlay.yaml"):
        (own / "small" / name).write_text((own / "tests/workflow" / name).read_text())
    (own / RESULTS / "table1.csv").unlink()
    tiny(own, f"{RESULTS}/table2.csv", "--touch")
    command = [sys.executable, "-m", "crosslens.commands.status", "tiny"]
    said = subprocess.run(command, cwd=own, capture_output=True, text=True, env=environment() | {"PYTHONPATH": "workflow"})
    assert said.returncode == 0, said.stderr
    rows = [[cell.strip() for cell in line.split("│")] for line in said.stdout.splitlines()]
    states = {row[2]: row[3] for row in rows if len(row) > 4}
    assert states[f"{RESULTS}/table1.csv"].startswith("missing: ") and states[f"{RESULTS}/table2.csv"].startswith("built ")
    assert "jobs to build everything: " in said.stdout
