"""The workflow used from another folder: as a module of one's own Snakefile, and as the workflow catalogue deploys it."""

import json
import os
import subprocess
import sys
from unittest import mock

import pytest
import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.types import OutputSettings, Quietness, ResourceSettings
from study import REPOSITORY, copy_repository, counts, snakemake
from test_plans import PLANS

OVERLAY = REPOSITORY / "tests/workflow/overlay.yaml"
LOCAL = ("fetch", "dump_sample", "page", "claims", "scoreboard", "passport", "comparison")  # rules that run where Snakemake runs
PROFILE = ("--cores", "1", "--workflow-profile", str(REPOSITORY / "profiles/default"))
OWN = f"""
configfile: "{REPOSITORY}/config.yaml"
configfile: "{OVERLAY}"

module crosslens:
    snakefile: "{REPOSITORY}/Snakefile"
    config: config

use rule * from crosslens as crosslens_*

use rule table from crosslens as crosslens_table with:
    threads: 2

rule own:
    input: "results/tiny/table2.csv"
    output: "own.csv"
    shell: "cp {{input}} {{output}}"
"""
# What snakedeploy writes.
DEPLOYED = """
configfile: "config/config.yaml"

module crosslens:
    snakefile: github("somebody/crosslens", path="workflow/Snakefile", tag="v1")
    config: config

use rule * from crosslens
"""


@pytest.mark.long
def test_a_module_of_ones_own_snakefile_plans_and_runs(tmp_path):
    (tmp_path / "Snakefile").write_text(OWN)
    plan = counts(snakemake(tmp_path, "-n", *PROFILE, "own.csv"))
    there = counts(snakemake(REPOSITORY, "-n", "--profile", "tests/workflow", "--forceall", "results/tiny/table2.csv"))
    assert plan == {f"crosslens_{rule}": jobs for rule, jobs in there.items() if rule != "total"} | {
        "own": 1,
        "total": there["total"] + 1,
    }
    cheap = ("results/tiny/corpora/udpos", "results/tiny/table5.html")
    assert "1 of 4 steps" in snakemake(tmp_path, *PROFILE, *cheap)  # Snakemake's own display
    assert (tmp_path / cheap[0] / "de.test.parquet").is_file()
    assert "Nothing to be done" in snakemake(tmp_path, "-n", *PROFILE, *cheap)


def test_a_module_fetches_where_snakemake_runs(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    with (
        mock.patch.dict(os.environ),
        mock.patch.object(sys, "path", sys.path.copy()),
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api,
    ):
        workflow = api.workflow(ResourceSettings(), snakefile=tmp_path / "Snakefile", workdir=tmp_path)._workflow
        assert len(workflow.rules) > 20
        assert workflow._localrules == {f"crosslens_{rule}" for rule in LOCAL}


@pytest.mark.long
def test_the_workflow_catalogue_can_deploy_it(tmp_path):
    source, user = copy_repository(tmp_path / "source"), tmp_path / "user"
    settings = yaml.safe_load((source / ".snakemake-workflow-catalog.yml").read_text())
    assert settings["usage"]["software-stack-deployment"]["conda"]
    assert (source / "docs/settings.md").is_file()
    assert (source / "config/config.yaml").read_text() == (REPOSITORY / "config.yaml").read_text()
    git = ["git", "-C", str(source), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=all"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    for name, text in {
        "workflow/Snakefile": DEPLOYED,
        "config/config.yaml": (source / "config/config.yaml").read_text(),
        "overlay.yaml": OVERLAY.read_text(),
    }.items():
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text(text)
    elsewhere = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{source}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/somebody/crosslens",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    target = "results/tiny/corpora/udpos"
    with mock.patch.dict(os.environ, elsewhere):
        published = counts(snakemake(user, "-n", *PROFILE))
        assert published["table"] == json.loads(PLANS.read_text())["published"]["table"] and published["default"] == 1
        snakemake(user, *PROFILE, "--configfile", "config/config.yaml", "overlay.yaml", "--", target)
    assert (user / target / "de.test.parquet").is_file()
