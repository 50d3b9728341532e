"""What `make status` says, from a plan and from text that Snakemake 9.27.1 printed."""

import io
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from crosslens.monitoring.plan import Job
from crosslens.monitoring.status import Item, main, outlook, status, table
from crosslens.runs.errors import DataError
from rich.console import Console

REPOSITORY = Path(__file__).parents[1]
DAY = "Sat Nov 21 11:26:15 2026"
SUMMARY = f"""Building DAG of jobs...
output_file\tdate\trule\tlog-file(s)\tstatus\tplan
r/models/a/model.safetensors\t{DAY}\ttrain\tlogs/a.log\tparams changed\tupdate pending
r/models/a/record.json\t{DAY}\ttrain\tlogs/a.log\tparams changed\tupdate pending
r/models/b/record.json\t-\ttrain\tlogs/b.log\tmissing\tupdate pending
r/table1.csv\t{DAY}\ttable\tlogs/table1.log\tok\tupdate pending
r/table1.html\t{DAY}\ttable\tlogs/table1.log\tok\tupdate pending
r/muller2021/table3.csv\t{DAY}\ttable\t\tset of input files changed\tupdate pending
r/figure2.svg\t{DAY}\tfigure\t\trule implementation changed\tno update
r/figure2.png\t{DAY}\tfigure\t\trule implementation changed\tno update
r/figure3.svg\t-\tfigure\tlogs/figure3.log\tmissing\tupdate pending
r/corpora.csv\t{DAY}\tinventory\t\tok\tno update
"""


def job(rule: str, output: str, *inputs: str, **wildcards: str) -> Job:
    return Job(rule, wildcards, 1, {}, [output], inputs)


PLAN = [
    job("train_without_weights", "b/record.json", "tokens", recipe="b", seed="0"),
    job("measure", "classification.parquet", "a/record.json", "b/record.json", kind="classification"),
    job("table", "r/table1.csv", "classification.parquet", "b/record.json", item="table1"),
    job("table", "r/muller2021/table3.csv", item="muller2021/table3"),
    job("figure", "r/figure3.svg", item="figure3"),
    job("demo_all", "", "r/table1.csv", "r/muller2021/table3.csv", "r/figure2.svg", "r/figure3.svg"),
]


def test_tables_and_figures_with_reasons_and_what_they_would_take():
    found = status(SUMMARY, PLAN, "r")
    assert found.items == [
        Item("r/figure2.svg", "built", "2026-11-21 11:26", Counter()),
        Item("r/figure3.svg", "missing", "", Counter(figure=1)),
        Item("r/muller2021/table3.csv", "stale", "different inputs than before", Counter(table=1)),
        Item("r/table1.csv", "stale", "changes upstream", Counter(table=1, measure=1, train_without_weights=1)),
    ]
    assert found.jobs == {"table": 2, "measure": 1, "train_without_weights": 1, "figure": 1}
    assert found.causes == {"settings or code changed": {"train": 1}, "different inputs than before": {"table": 1}}


def test_it_reads_well():
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(table({"demo": status(SUMMARY, PLAN, "r")}))
    lines = [" ".join(line.strip("│").split()) for line in console.export_text().splitlines()]
    assert "demo │ r/figure2.svg │ built 2026-11-21 11:26" in lines
    assert "│ r/figure3.svg │ missing: 1 job" in lines
    assert "│ r/muller2021/table3.csv │ stale because of different inputs than before: 1 job" in lines
    assert "│ r/table1.csv │ stale because of changes upstream: 3 jobs with 1 training" in lines
    assert outlook("demo", status(SUMMARY, PLAN, "r"), "demo") == (
        "demo: 5 jobs to build everything: table 2, train_without_weights 1, measure 1, figure 1. Changed: settings or code "
        "changed (train 1); different inputs than before (table 1). "
        "To build one of these: snakemake --profile demo FILE; everything: snakemake --profile demo demo_all."
    )
    built = "\n".join(line for line in SUMMARY.splitlines() if "update pending" not in line)
    assert outlook("demo", status(built, [], "r"), "demo") == "demo: everything is built."


def test_paths_are_whole_on_a_narrow_terminal():
    summary = SUMMARY.replace("r/muller2021/table3.csv", f"r/muller2021/{'x' * 30}.csv")
    console = Console(width=70, file=io.StringIO(), record=True)
    console.print(table({"demo": status(summary, PLAN, "r")}))
    assert f"r/muller2021/{'x' * 30}.csv" in console.export_text()


def test_scales_are_those_of_which_anything_is_built_or_the_demo(tmp_path, monkeypatch, capsys):
    profiles: list[str] = []
    monkeypatch.setattr("crosslens.monitoring.status.plan", lambda options, _: profiles.append(options[1]) or (None, PLAN))
    snakemake = SimpleNamespace(run=lambda *_, **__: SimpleNamespace(stdout=""))
    monkeypatch.setattr("crosslens.monitoring.status.subprocess", snakemake)

    def profiles_of(*names: str) -> list[str]:
        profiles.clear()
        with pytest.raises(SystemExit) as ended:
            main([*names], tmp_path)
        assert not ended.value.code
        return profiles

    for name in ("config.yaml", "demo", "laptop", "slurm", "envs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.setattr("crosslens.monitoring.status.status", lambda *_: status(SUMMARY, PLAN, "r"))
    assert profiles_of() == ["demo"]
    assert "│ demo  │ r/figure2.svg" in capsys.readouterr().out
    (tmp_path / "results/laptop/models").mkdir(parents=True)
    assert profiles_of() == ["laptop"]
    (tmp_path / "results/sources").mkdir()
    assert profiles_of() == ["laptop", "slurm"]
    assert profiles_of("demo") == ["demo"]
    with pytest.raises(SystemExit, match="expected one of demo, laptop, published, found another"):
        main(["another"], tmp_path)


def test_a_wrong_key_is_named_where_nothing_is_built(tmp_path, monkeypatch, capsys):
    """The error is the one that Snakemake gives, and no table follows."""
    error = DataError("config.yaml, demo/overlay.yaml: thraeds: unknown key; did you mean 'threads'?")
    monkeypatch.setattr("crosslens.monitoring.status.plan", Mock(side_effect=error))
    for name in ("config.yaml", "demo"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    with pytest.raises(SystemExit) as ended:
        main([], tmp_path)
    assert ended.value.code
    assert capsys.readouterr() == ("", f"status: demo: {error}\n")


def test_other_text_is_refused():
    with pytest.raises(ValueError, match="--summary"):
        status("Error: unknown rule\n", [], "r")


def test_a_broken_configuration_is_named_with_its_line(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/config.yaml").write_text("configfile: [demo/overlay.yaml]\n")
    for text, fault in {
        "seeds: [0, 1\nresults: results/demo\n": ":2:8: not valid YAML, while parsing a flow sequence",
        "results: results/demo\n\tseeds: [0]\n": ":2:1: not valid YAML, while scanning a plain scalar: found a tab",
        "- results\n": ": expected keys and values in YAML, found list",
    }.items():
        (tmp_path / "demo/overlay.yaml").write_text(text)
        with pytest.raises(SystemExit) as ended:
            main([], tmp_path)
        assert str(ended.value).startswith(f"status: {tmp_path}/demo/overlay.yaml{fault}")
    (tmp_path / "mine.yaml").write_text("seeds: [0\n")
    with pytest.raises(SystemExit, match="mine.yaml:2:1: not valid YAML, while parsing a flow sequence"):
        main([], tmp_path)


def test_make_status_in_a_folder_with_a_space(tmp_path):
    folder = tmp_path / "my study"
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "requirements.lock").touch()
    shutil.copy(REPOSITORY / "Makefile", folder)
    python = folder / ".venv/bin/python"
    python.write_text('#!/bin/sh\necho "$PATH:$*"\n')
    python.chmod(0o755)
    (folder / ".venv/installed").touch()
    said = subprocess.run(
        ["make", "--no-print-directory", "status"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(f"{folder}/.venv/bin:") and said.endswith(":-m crosslens.monitoring.status\n")
