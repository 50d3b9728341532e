"""The table of `make status`, from text that Snakemake 9.27.1 printed."""

import io

import pytest
from crosslens.status import Outputs, main, status, table
from rich.console import Console

DAY = "Sat Nov 21 11:26:15 2026"
SUMMARY = f"""Building DAG of jobs...
output_file\tdate\trule\tlog-file(s)\tstatus\tplan
r/a.txt\t{DAY}\tstates\t\tparams changed\tupdate pending
r/b.txt\t-\tprobes\tlogs/b.log\tmissing\tupdate pending
r/c.txt\t{DAY}\tprobes\tlogs/c.log\tok\tupdate pending
r/d.txt\t-\ttrain\t-\tmissing\tupdate pending
r/e.txt\t{DAY}\tfigure\t\tset of input files changed\tupdate pending
r/"f".txt\t{DAY}\tfigure\t\tupdated input files\tupdate pending
r/dir\t{DAY}\tfigure\t\tset of input files changed\tupdate pending
r/g.txt\t{DAY}\ttokens\t\tok\tno update
r/h.txt\t{DAY}\ttokens\t\trule implementation changed\tno update
r/i.tmp\t-\ttokens\t\tremoved temp file\tno update
"""


def test_counts_by_rule_with_reasons():
    found = status(SUMMARY)
    assert list(found) == ["figure", "probes", "states", "tokens", "train"]
    assert found["figure"] == Outputs(stale={"different inputs than before": 2, "newer inputs": 1})  # type: ignore[arg-type]
    assert found["probes"] == Outputs(missing=1, stale={"an input will be rebuilt": 1})  # type: ignore[arg-type]
    assert found["states"].stale == {"settings or code changed": 1}
    assert found["tokens"] == Outputs(built=3)
    assert found["train"] == Outputs(missing=1)


def test_table_reads_well():
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(table({"demo": status(SUMMARY), "laptop": status(SUMMARY.split("r/a")[0])}))
    lines = [" ".join(line.strip("│").split()) for line in console.export_text().splitlines()]
    assert "demo │ figure │ │ 3 │ │ 2 different inputs than before, 1 newer inputs" in lines
    assert "│ tokens │ 3 │ │ │" in lines


def test_other_text_and_unknown_scales_are_refused():
    with pytest.raises(ValueError, match="--summary"):
        status("Error: unknown rule\n")
    with pytest.raises(SystemExit, match="expected one of demo, laptop, published, found mini"):
        main(["mini"])
