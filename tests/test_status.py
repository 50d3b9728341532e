"""What `make status` says, from a plan and from text that Snakemake 9.27.1 printed."""

import io
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from crosslens.monitoring.plan import Job
from crosslens.monitoring.status import Item, built, main, outlook, status, table
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
        Item("figure2", "built", "2026-11-21 11:26", Counter()),
        Item("figure3", "missing", "", Counter(figure=1)),
        Item("muller2021/table3", "stale", "different inputs than before", Counter(table=1)),
        Item("table1", "stale", "changes upstream", Counter(table=1, measure=1, train_without_weights=1)),
    ]
    assert found.jobs == {"table": 2, "measure": 1, "train_without_weights": 1, "figure": 1}
    assert found.causes == {"settings or code changed": {"train": 1}, "different inputs than before": {"table": 1}}


def test_it_reads_well():
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(table({"demo": status(SUMMARY, PLAN, "r")}))
    lines = [" ".join(line.strip("│").split()) for line in console.export_text().splitlines()]
    assert "demo │ figure2 │ built 2026-11-21 11:26" in lines
    assert "│ figure3 │ missing: 1 job" in lines
    assert "│ muller2021/table3 │ stale because of different inputs than before: 1 job" in lines
    assert "│ table1 │ stale because of changes upstream: 3 jobs with 1 training" in lines
    assert outlook("demo", status(SUMMARY, PLAN, "r")) == (
        "demo: 5 jobs to build everything: table 2, train_without_weights 1, measure 1, figure 1. Changed: settings or code "
        "changed (train 1); different inputs than before (table 1)."
    )
    built = "\n".join(line for line in SUMMARY.splitlines() if "update pending" not in line)
    assert outlook("demo", status(built, [], "r")) == "demo: everything is built."


def test_scales_are_those_of_which_anything_is_built(tmp_path, capsys):
    for name in ("config.yaml", "demo", "laptop", "slurm", "envs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    assert built(tmp_path) == {}
    with pytest.raises(SystemExit, match="nothing is built yet; make demo"):
        main([], tmp_path)
    (tmp_path / "results/demo/models").mkdir(parents=True)
    assert built(tmp_path) == {"demo": ("demo", "results/demo")}
    (tmp_path / "results/sources").mkdir()
    assert built(tmp_path).keys() == {"demo", "published"}
    with pytest.raises(SystemExit, match="expected one of demo, published, found laptop"):
        main(["laptop"], tmp_path)


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
