"""`make prefetch`: the official files that a target reads are fetched, and nothing else is done."""

import subprocess
from types import SimpleNamespace

import pytest
from crosslens.commands import prefetch
from study import copy_repository, counts, plan, snakemake

TARGET = ("--profile", "slurm", "--", "results/table2.csv")


def test_prefetch_is_what_the_target_fetches(tmp_path, monkeypatch):
    root, commands = copy_repository(tmp_path), []
    (root / "mine.yaml").write_text("seeds: [7]\n")
    monkeypatch.chdir(root)
    run = SimpleNamespace(run=lambda command: commands.append(command[3:]) or subprocess.CompletedProcess(command, 0))
    monkeypatch.setattr(prefetch, "subprocess", run)
    with pytest.raises(SystemExit):
        prefetch.main(["--dry-run", *TARGET])
    with pytest.raises(SystemExit):
        prefetch.main(["--profile=demo", "--overlay=mine.yaml"])
    with pytest.raises(SystemExit, match="^prefetch: none.yaml: expected a file of settings, found none"):
        prefetch.main(["--overlay=none.yaml"])
    published, mine = commands
    assert mine[2:6] == ["--configfile", "config.yaml", "demo/overlay.yaml", "mine.yaml"]
    said = snakemake(root, *published)
    rules = [job.rule for job in plan(root, *TARGET)[1]]
    numbers = {rule: rules.count(rule) for rule in ("fetch", "dump_sample") if rule in rules}
    assert numbers["fetch"] > 100 and numbers["dump_sample"] > 10 and counts(said) == numbers | {"total": sum(numbers.values())}
    assert "\nFiles to fetch: " in said and "Fetch " not in said  # not one by one
