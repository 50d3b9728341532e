"""`make prefetch`: the official files that a target reads are fetched, and nothing else is done."""

import re
import subprocess

from study import REPOSITORY, copy_repository, counts, plan, snakemake

TARGET = ("--profile", "slurm", "--", "results/table2.csv")


def test_prefetch_is_what_the_target_fetches(tmp_path):
    root = copy_repository(tmp_path)
    recipe = subprocess.run(
        ["make", "-n", "prefetch", f"TARGET={TARGET[-1]}", "PROFILE=slurm", "LIST=1"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (until,) = re.findall(r"--until (.+?) --", recipe.stdout)
    said = snakemake(root, "-n", "--until", *until.split(), *TARGET)
    rules = [job.rule for job in plan(root, *TARGET)[1]]
    numbers = {rule: rules.count(rule) for rule in ("fetch", "dump_sample") if rule in rules}
    assert numbers["fetch"] > 100 and numbers["dump_sample"] > 10 and counts(said) == numbers | {"total": sum(numbers.values())}
