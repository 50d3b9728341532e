"""The workflow's plans at every scale, its rules, and what it says of bad settings: what needs no study to be built.

`PYTHONPATH=workflow python tests/test_plans.py` rewrites tests/workflow/plans.json, the job counts that `test_plans` compares
with.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_environments import rules
from test_workflow import OVERLAY, REPOSITORY, changed, copy_repository, counts, snakemake, tiny

PLANS = REPOSITORY / "tests/workflow/plans.json"
MULLER2021 = [*(f"table{number}.csv" for number in range(1, 9)), *(f"figure{number}.svg" for number in range(1, 9))]
LIANG2021 = [
    *(f"table{number}.csv" for number in range(1, 7)),
    *(f"figure{number}.svg" for number in range(1, 6)),
    "subspaces.svg",
]
WU2019 = [
    *(f"table{number}.csv" for number in range(1, 7)),
    *(f"figure{number}.svg" for number in range(1, 4)),
    *("figure1_cells.csv", "overlap.csv"),
]
LIU2020 = [
    *(f"table{number}.csv" for number in range(1, 5)),
    *(f"figure{number}.svg" for number in range(1, 9)),
    *(f"{name}.csv" for name in ("retrieval", "inference", "accents", "text", "calibration")),
]
PLANNED = {
    "published": [],
    "published, search": ["results/table5_search.html"],
    "demo": ["demo", "--profile", "demo"],
    "laptop": ["--profile", "laptop"],
    "slurm": ["--profile", "slurm"],
    "slurm, table 2": ["--profile", "slurm", "results/table2.csv"],
    "muller2021, table 1": ["--profile", "slurm", "results/muller2021/table1.csv"],
    "muller2021": ["--profile", "slurm", *(f"results/muller2021/{name}" for name in MULLER2021)],
    "muller2021, search": ["--profile", "slurm", "results/muller2021/table3_search.csv"],
    "liang2021": ["--profile", "slurm", *(f"results/liang2021/{name}" for name in LIANG2021)],
    "wu2019": ["--profile", "slurm", *(f"results/wu2019/{name}" for name in WU2019)],
    "wu2019, search": ["--profile", "slurm", "results/wu2019/search.csv"],
    "liu2020": ["--profile", "slurm", *(f"results/liu2020/{name}" for name in LIU2020)],
    "liu2020, table 2": ["--profile", "slurm", "results/liu2020/table2.csv"],
    "liu2020, table 3": ["--profile", "slurm", "results/liu2020/table3.csv"],
    "demo, all": ["demo_all", "--profile", "demo"],
}


def all_plans(root: Path) -> dict[str, dict[str, int]]:
    return {name: counts(snakemake(root, "-n", *options)) for name, options in PLANNED.items()}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository. Tests leave its files as they find them."""
    return copy_repository(tmp_path_factory.mktemp("plans"))


def test_plans(root):
    """The number of jobs by rule, also of scales whose data are not here. After a wanted change: see the top of this file."""
    assert not (root / "../shared/mirror").exists()
    assert all_plans(root) == json.loads(PLANS.read_text())


def test_prefetch_says_how_much_there_is(root):
    said = snakemake(root, "prefetch", "-n", "--profile", "slurm")
    jobs = counts(said)
    announced = re.search(
        r"^prefetch: (\d+) files, 0 already present, 0 in a mirror, (\d+) to download: (\d+\.\d) [MG]B", said, re.MULTILINE
    )
    assert announced and int(announced[1]) == jobs["fetch"] + jobs["dump_sample"] and int(announced[2]) == jobs["fetch"]
    assert jobs.keys() == {"fetch", "dump_sample", "prefetch", "total"}


def test_names_of_languages_rerun_the_figures_that_show_them(root):
    legend = ("results/tiny/figure2.svg",)
    tiny(root, *legend)
    with changed(root / "resources/languages.csv", ("Afrikaans", "Afrikaner")):  # is not of the study
        assert "Nothing to be done" in tiny(root, *legend, "-n")
    with changed(root / "resources/languages.csv", ("tr,Turkish", "tr,Türkçe")):
        assert "Draw figure2" in tiny(root, *legend, "-n")


def test_a_measure_that_a_paper_does_not_ask_for_is_refused(root):
    for kind, end in (("classification", ""), ("probes", "/seed0")):
        of_another = f"results/demo/measures/{kind}/muller2021/parsing/en/ref{end}.parquet"
        said = snakemake(root, "--profile", "demo", "-n", of_another, works=False)
        expected = "expected a measure whose settings the paper of the recipe states (similarity, attachment)"
        assert f"measures/{kind}/muller2021/parsing/en/ref: {expected}" in said
    said = snakemake(
        root, "--profile", "demo", "-n", "results/demo/measures/probes/tanti2021/pos/frozn/seed0.parquet", works=False
    )
    assert "tanti2021/pos/frozn: expected the name of a configured recipe; did you mean 'tanti2021/pos/frozen'?" in said


def test_a_misspelt_key_is_named(root):
    with changed(root / OVERLAY, ("perplexity: 5", "perplexty: 5")):
        said = tiny(root, "-n", works=False)
    line = "config.yaml, tests/workflow/overlay.yaml: papers.tanti2021.tsne.perplexty: unknown key; did you mean 'perplexity'?"
    assert line in said.split("\n") and "Traceback" not in said


def test_an_unknown_source_is_named(root):
    with changed(root / OVERLAY, ("source: phrasebook\n    file:", "source: wikipedai\n    file:")):
        said = tiny(root, "-n", works=False)
    assert re.search(r"^.*corpora\.wikipedia\.source: .*'wikipedai'; did you mean 'wikipedia'\?$", said, re.MULTILINE), said


def test_a_reading_without_accents_is_one_line_for_an_encoder_with_its_whole_vocabulary(root):
    line = "inference: { corpus: xnli_all, reading: subwords }"
    with changed(root / "config.yaml", (line, line.replace("subwords", "without_accents"))):
        said = snakemake(root, "--profile", "slurm", "-n", "results/liu2020/table4.csv")
        assert "Tokenise xnli_all for mbert, reading without_accents" in said and "reading subwords" not in said
        said = snakemake(root, "--profile", "laptop", "-n", "results/laptop/liu2020/table4.csv", works=False)
    expected = "expected an encoder with its whole vocabulary, since texts are altered, found e5-small-pairs"
    assert f"readings.without_accents: {expected}" in said


def test_lint(root):
    assert "good condition" in snakemake(root, "--lint")


def test_format_of_rules():
    command_ = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow/Snakefile", "rules"]
    result = subprocess.run(command_, cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_cluster_is_asked_for_gpus_where_encoders_run():
    asked = {rule.name: rule.resources["gpu"] for rule in rules(REPOSITORY) if "gpu" in rule.resources}
    by_recipe = {name for name, gpus in asked.items() if gpus.is_evaluable()}  # as many as a batch has parts
    assert by_recipe == {"train", "train_without_weights"}
    others = {name: gpus.value for name, gpus in asked.items() if name not in by_recipe}
    assert others == {"train_trials": 1, "states": 1, "measure_encoder": 1}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PLANS.write_text(json.dumps(all_plans(copy_repository(Path(folder))), indent=2) + "\n")
