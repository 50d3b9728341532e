"""A cluster's site file, slurm/site.yaml: what it may say, and what Snakemake takes over."""

import re
from pathlib import Path

import pytest
from crosslens.config.site import read_site, site_options, summary
from crosslens.jobs.errors import DataError
from study import REPOSITORY, copy_repository, plan, snakemake

EXAMPLE = (REPOSITORY / "slurm/site.example.yaml").read_text()
UNCOMMENTED = re.sub(r"^( *)# (?=[a-z_-]+:|  )", r"\1", EXAMPLE, flags=re.MULTILINE)
"""The example with all values that it shows."""
TRAINING = "results/models/tanti2021/pos/frozen/seed0/record.json"
SITE = """
default-resources:
  slurm_partition: standard
  runtime: 90
set-resources:
  train: &gpu {slurm_partition: gpu, gres: "gpu:a100:1", gpu: 0, runtime: 480}
  states: *gpu
jobs: 7
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "site.yaml"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_repository(tmp_path_factory.mktemp("site"))


def test_without_a_site_file_nothing_is_taken_or_said(file, capsys):
    assert site_options(str(file)) == {} and capsys.readouterr().err == ""


def test_the_example_as_it_is_says_nothing_and_uncommented_is_valid(file):
    file.write_text(EXAMPLE)
    assert read_site(file) == {}
    file.write_text(UNCOMMENTED)
    site = read_site(file)
    assert {"slurm_account", "constraint"} < site["default-resources"].keys()
    assert {"slurm_partition", "gpu_model", "runtime"} == site["set-resources"]["states"].keys()
    assert {"jobs", "precommand", "software-deployment-method", "apptainer-args"} < site.keys()
    assert summary(site).count("slurm_partition=gpu") == 1  # the rules stand together


@pytest.mark.long
def test_the_example_names_the_rules_that_ask_for_a_gpu(file, root):
    file.write_text(UNCOMMENTED)
    _, jobs = plan(root, "--profile", "slurm", "demo_all", "results/table5_search.html")
    assert read_site(file)["set-resources"].keys() == {job.rule for job in jobs if job.asked.get("gpu")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default-resource: {qos: long}", "default-resource: unknown key; did you mean 'default-resources'?"),
        (
            "default-resources: {slurm_partion: a}",
            "default-resources.slurm_partion: unknown key; did you mean",
        ),
        ("default-resources: gpu", "default-resources: expected `key: value` lines below it, found 'gpu'; indent them"),
        ("default-resources: {qos: }", "default-resources.qos: expected text or a number, found None; correct it, or remove"),
        ("jobs: [1, 2]", "jobs: expected text or a number, found [1, 2]"),
    ],
)
def test_a_wrong_key_or_value_is_one_line(file, text, message):
    file.write_text(text)
    with pytest.raises(DataError) as error:
        read_site(file)
    assert str(error.value).startswith(f"{file}: {message}") and "\n" not in str(error.value)


def test_a_dry_run_takes_the_values(root):
    (root / "slurm/site.yaml").write_text(SITE)
    _, jobs = plan(root, "--profile", "slurm", TRAINING)
    asked = {job.rule: job.asked for job in jobs}
    assert asked["train"]["runtime"] == 480 and asked["train"]["gpu"] == 0
    assert asked["train"]["mem_mb"] == 48000 and asked["corpus"]["mem_mb"] == 4000  # the rule's, and the profile's
    assert asked["fetch"]["runtime"] == 90
    assert {resources["nodes"] for resources in asked.values()} == {1}  # else GPUs of a job may be those of several machines
    said = snakemake(root, "--profile", "slurm", "-n", TRAINING)
    assert "slurm/site.yaml: slurm_partition=standard, runtime=90; train, states: " in said


def test_a_dry_run_ends_in_a_line_where_a_key_or_a_rule_is_unknown(root):
    site = root / "slurm/site.yaml"
    site.write_text("default-resources: {slurm_partion: gpu}")
    said = snakemake(root, "--profile", "slurm", "-n", TRAINING, works=False).splitlines()
    assert said[-1].startswith("slurm/site.yaml: default-resources.slurm_partion: unknown key;") and len(said) <= 2
    site.write_text("set-resources: {trian: {gpu_model: a100}}")
    said = snakemake(root, "--profile", "slurm", "-n", TRAINING, works=False)
    assert "\nset-resources: expected the name of a rule, found 'trian'; did you mean 'train'?" in said
