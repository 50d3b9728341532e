"""`make prefetch`: the official files that a target reads are fetched, and nothing else is done."""

import subprocess
from types import SimpleNamespace

import pytest
from crosslens.commands import prefetch
from study import copy_repository, plan

TARGET = ("--profile", "slurm", "--", "results/table2.csv")


def test_prefetch_is_what_the_target_fetches(tmp_path, monkeypatch, capsys):
    root, commands = copy_repository(tmp_path), []
    for name in ("mine.yaml", "more.yaml"):
        (root / name).write_text("seeds: [7]\n")
    monkeypatch.chdir(root)
    run = SimpleNamespace(run=lambda command: commands.append(command[3:]) or subprocess.CompletedProcess(command, 0))
    monkeypatch.setattr(prefetch, "subprocess", run)
    with pytest.raises(SystemExit):
        prefetch.main([*TARGET])
    with pytest.raises(SystemExit):
        prefetch.main(["--profile=demo", "--overlay=mine.yaml more.yaml"])
    with pytest.raises(SystemExit, match="^prefetch: none.yaml: expected a file of settings, found none"):
        prefetch.main(["--overlay=none.yaml"])
    published, mine = commands
    assert published == ["--profile", "slurm", *prefetch.UNTIL, "--", "results/table2.csv"]
    assert mine[2:7] == ["--configfile", "config.yaml", "demo/overlay.yaml", "mine.yaml", "more.yaml"]
    prefetch.main(["--dry-run", *TARGET])
    *lines, total = capsys.readouterr().out.splitlines()
    rules = [job.rule for job in plan(root, *TARGET)[1]]
    numbers = [rules.count(rule) for rule in ("fetch", "dump_sample")]
    assert min(numbers) > 10 and len(lines) == sum(numbers) and total.startswith(f"{sum(numbers)} files, ")
    assert "xnli/XNLI-1.0.zip\t17.9 MB\thttps://dl.fbaipublicfiles.com/XNLI/XNLI-1.0.zip" in lines
    assert sum(line.startswith("wikipedia/") for line in lines) == 2 * numbers[1]  # dumps and their indexes
