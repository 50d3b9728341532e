"""The workflow's plans at every preset, its rules, and what it says of bad settings: what needs no study to be built.

`PYTHONPATH=workflow python tests/test_plans.py` rewrites tests/workflow/plans.json, the job counts that `test_plans` compares
with.
"""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from crosslens.commands.planned_jobs import Job
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.corpora.sources.registry import place_of, size_of
from crosslens.graph.plan import Graph
from crosslens.jobs.errors import DataError
from crosslens.jobs.fingerprint import Fingerprints
from crosslens.jobs.quantities import readable
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.reports.studies import Studies
from study import OVERLAY, REPOSITORY, SEARCHES, changed, copy_repository, counts, plan, snakemake, tiny
from test_config import merged
from test_environments import files as scripts_of_rules
from test_environments import rules

PLANS = REPOSITORY / "tests/workflow/plans.json"
SLURM = ("--profile", "slurm")
PLANNED = {
    "published": (),
    "published, all papers and searches": (*SLURM, "demo_all", *(f"results/{name}.html" for name in SEARCHES)),
    "rehearsal of table 2, offline": (
        "--configfile",
        "config.yaml",
        "rehearsal/overlay.yaml",
        "--config",
        "rehearse=20",
        "--",
        "results/table2.csv",
    ),
    "laptop": ("--profile", "laptop", "demo_all"),
    "demo": ("--profile", "demo", "demo_all"),
}


def all_plans(root: Path) -> dict[str, list[Job]]:
    return {name: plan(root, *options)[1] for name, options in PLANNED.items()}


def numbers(jobs: list[Job]) -> dict[str, int]:
    """Jobs by rule, and those of training runs and their trials by paper."""
    rules = Counter(job.rule for job in jobs)
    training_runs = Counter(job.wildcards["recipe"].partition("/")[0] for job in jobs if job.rule.startswith("train"))
    return dict(sorted(rules.items())) | {f"trainings of {paper}": number for paper, number in sorted(training_runs.items())}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository. Tests leave its files as they find them."""
    return copy_repository(tmp_path_factory.mktemp("plans"))


@pytest.fixture(scope="module")
def plans(root: Path) -> dict[str, list[Job]]:
    """Also of presets whose data are not here."""
    assert not (root / "../shared/mirror").exists()
    return all_plans(root)


def test_plans(plans):
    """After a wanted change: see the top of this file."""
    assert {name: numbers(jobs) for name, jobs in plans.items()} == json.loads(PLANS.read_text())


def test_no_weights_are_kept_that_nothing_reads(plans):
    for name, jobs in plans.items():
        read = {file for job in jobs for file in job.input}
        kept = [file for job in jobs for file in job.output if file.endswith("/model.safetensors")]
        assert kept and not [file for file in kept if file not in read], name


def test_few_jobs_of_the_demo_import_torch(root):
    """An import of torch and transformers takes three CPU seconds, as long as many a job of the demo."""
    fingerprints, scripts = Fingerprints(REPOSITORY), {rule: script for rule, script, _ in scripts_of_rules(REPOSITORY)}

    def imports_torch(job: Job) -> bool:
        kind = job.wildcards.get("kind", "").partition("@")[0]
        files = [scripts[job.rule], *([f"workflow/crosslens/measures/{kind}.py"] if kind else [])]
        return any("torch" in fingerprints.foreign(file) for file in files)

    jobs = [job for job in plan(root, "--profile", "demo", "demo")[1] if scripts[job.rule]]
    assert 10 <= len([job for job in jobs if imports_torch(job)]) <= 40 < len(jobs)


def downloads(jobs: list[Job], target: str) -> int:
    """Bytes of the files of the full study to be downloaded for a target."""
    made_by = {output: job for job in jobs for output in job.output}
    waiting, reached = [made_by[target]], {}
    while waiting:
        job = waiting.pop()
        if job.output[0] not in reached:
            reached[job.output[0]] = job
            waiting += [made_by[file] for file in job.input if file in made_by]
    sources = load_sources()
    files = [file.removeprefix("results/sources/") for file, job in reached.items() if job.rule in ("fetch", "dump_sample")]
    return sum(size_of(file, sources) or 0 for file in files if sources[place_of(file, sources)[0]].url)


def test_documents_state_what_there_is_to_download(plans):
    """The table of docs/cluster.md, and README."""
    cluster, readme = ((REPOSITORY / name).read_text() for name in ("docs/cluster.md", "README.md"))
    table = cluster.partition("## What to expect")[2].partition("\n## ")[0]
    sizes = dict(re.findall(r"^\| `(results/\S+)`.* \| ([\d.]+ GB) \|$", table, re.MULTILINE))
    keys = [paper.key for paper in papers()[1:] if merged("published")["papers"].get(paper.key)]
    assert {target.split("/")[1] for target in sizes} == {"table2.csv", "report.html", "table5_search.csv", *keys}
    for target, size in sizes.items():
        assert readable(downloads(plans["published, all papers and searches"], target)) == size, target
    assert {*re.findall(r"downloads ([\d.]+ GB)", readme)} <= {sizes["results/report.html"]}


def test_rules_run_what_the_graph_states(plans):
    """Inputs, script and environment of each job."""
    values = merged("demo")
    graph = Graph(load(values), values, REPOSITORY)
    makes = {"train": graph.training, "train_without_weights": graph.training, "train_trials": graph.trials}
    makes |= {"table": graph.item, "figure": graph.item, "measure_states": graph.measure, "measure_encoder": graph.measure}
    stated = {rule: (script, environment) for rule, script, environment in scripts_of_rules(REPOSITORY)}
    jobs = [job for job in plans["demo"] if stated[job.rule][0]]
    assert len(jobs) > 500
    for job in jobs:
        step = makes.get(job.rule, getattr(graph, job.rule, None))(**job.wildcards)
        assert (step.code[0], f"envs/{step.environment}.yaml") == stated[job.rule], job.rule
        assert sorted(step.files()) == sorted(job.input), job.rule


def test_a_plan_of_a_figure_has_its_page_and_gives_reasons_on_request(root):
    figure = ("-n", "--profile", "demo", "results/demo/figure2.svg")
    plain, with_reasons = snakemake(root, *figure), snakemake(root, *figure, "--verbose")
    assert counts(plain)["figure"] == counts(plain)["page"] == 1
    assert "Draw figure2" in plain and "Reason: " not in plain and "Platform: " not in plain + with_reasons
    assert "Reason: Missing output files: results/demo/figure2.svg" in with_reasons
    assert "\nMissing: outputs of 2 jobs" in plain and len(with_reasons.splitlines()) < 60


def test_a_measure_that_a_paper_does_not_ask_for_is_refused():
    studies = Studies(load(merged("demo")), papers())
    expected = (
        "muller2021/parsing/en/ref: expected a measure whose settings the paper of the recipe states "
        "(similarity, sentence_probes, change, attachment)"
    )
    for kind in ("classification", "probes"):
        with pytest.raises(DataError, match=re.escape(f"measures/{kind}/{expected}")):
            studies.settings(kind, "muller2021/parsing/en/ref")
    expected = "tanti2021/pos/frozn: expected the name of a configured recipe; did you mean 'tanti2021/pos/frozen'?"
    with pytest.raises(DataError, match=re.escape(expected)):
        studies.settings("probes", "tanti2021/pos/frozn")


FINETUNED = "tanti2021/pos/finetuned"
SAMPLED = "expected a corpus that is drawn for the states of this recipe, udpos or wikipedia, found"
REFUSED = {  # kind and settings of a measure -> the line that refuses it
    "kind": ("cluster", {}, "measures.mine.kind: expected one of adversary, .*, found 'cluster'; did you mean 'clusters'?"),
    "setting": (
        "clusters",
        {"corpora": ["udpos"], "rnus": 9},
        "{place}: expected settings of clusters, corpora, runs, language_clusters, source_language, found 'rnus'; "
        "did you mean 'runs'?",
    ),
    "corpus": ("similarity", {"corpus": "pud", "reference": "en", "draws": 9}, f"{{place}}: corpus: {SAMPLED} 'pud'"),
    "corpora": ("clusters", {"corpora": ["udpso"], "runs": 9}, f"{{place}}: corpora: {SAMPLED} 'udpso'; did you mean 'udpos'?"),
    "corpus of words": ("spelling", {"target": "pud", "paragraphs": "wikipedia"}, f"{{place}}: target: {SAMPLED} 'pud'"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_measure_that_cannot_be_made_is_refused_as_it_is_planned(fault):
    kind, settings, expected = REFUSED[fault]
    request = {"kind": kind, "recipe": FINETUNED, "settings": settings}
    studies = Studies(load(merged("demo") | {"measures": {"mine": request}}), papers())
    line = expected.format(place=f"measures/{kind}@mine/{FINETUNED}").replace("?", "[?]")
    with pytest.raises(DataError, match=f"^{line}$"):
        studies.settings(f"{kind}@mine", FINETUNED)


def test_a_misspelt_key_is_named(root):
    with changed(root / OVERLAY, ("perplexity: 5", "perplexty: 5")):
        said = tiny(root, "-n", works=False)
    line = "config.yaml, tests/workflow/overlay.yaml: papers.tanti2021.tsne.perplexty: unknown key; did you mean 'perplexity'?"
    assert line in said.split("\n") and "Traceback" not in said and "File " not in said


def test_a_tokenisation_without_accents_is_one_line_for_an_encoder_with_its_whole_vocabulary(root):
    values = merged("published")
    values["papers"]["liu2020"]["nli"]["tokenisation"] = "without_accents"
    recipes = Studies(load(values), papers()).recipes
    assert {of.tokenisation for name, (_, of) in recipes.items() if name.startswith("liu2020/nli/")} == {"without_accents"}
    target = "results/laptop/tokens/e5-small-pairs/without_accents/xnli_all"
    said = snakemake(root, "--profile", "laptop", "-n", target, works=False)
    expected = "expected an encoder with its whole vocabulary, since texts are altered or whole, found e5-small-pairs"
    assert f"tokenisations.without_accents: {expected}" in said


def test_states_of_a_training_whose_weights_are_not_kept_are_refused(root):
    recipe = "muller2021/pos/en/initall_embeddings"
    said = tiny(root, "-n", f"results/tiny/measures/similarity/{recipe}/seed0.parquet", works=False)
    line = f"{recipe}: expected a recipe whose weights are kept, since its encoder is run again (keeps_weights)"
    assert line in said.split("\n") and "Traceback" not in said


def test_a_cluster_is_asked_for_gpus_where_encoders_run():
    asked = {rule.name: rule.resources["gpu"] for rule in rules(REPOSITORY) if "gpu" in rule.resources}
    by_recipe = {name for name, gpus in asked.items() if gpus.is_evaluable()}  # as many as a batch has parts
    assert by_recipe == {"train", "train_without_weights"}
    others = {name: gpus.value for name, gpus in asked.items() if name not in by_recipe}
    assert others == {"train_trials": 1, "states": 1, "measure_encoder": 1}


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([paper.key for paper in papers()], "table1.html"),
        (["tanti2021"], "report.html"),
        (["tanti2021", "muller2021"], "scores/tanti2021.parquet"),
    ],
)
def test_a_file_of_a_paper_that_does_not_fit_says_why_in_a_line(root, tmp_path, keys, place):
    """Also where no paper fits, so that there are no pages at all."""
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(json.dumps({"papers": {key: {"tokenisation": "none"} for key in keys}}))
    files = ("--configfile", "config.yaml", "tests/workflow/overlay.yaml", str(overlay))
    said = snakemake(root, "--profile", "tests/workflow", *files, "-n", "--", f"results/tiny/{place}", works=False)
    assert re.search(r"^[^\n]*papers\.tanti2021\.tokenisation: expected one of .*, found 'none'$", said, re.MULTILINE)
    assert "Traceback" not in said and "Error" not in said


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        plans = all_plans(copy_repository(Path(folder)))
        PLANS.write_text(json.dumps({name: numbers(jobs) for name, jobs in plans.items()}, indent=2) + "\n")
