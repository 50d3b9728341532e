"""The real workflow on hardly any data: what it builds, what reruns after a change, bad input, a kill."""

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import node
import numpy as np
import pandas as pd
import psutil
import pytest
from browser import CHROMIUM, browser, leads_nowhere
from crosslens.jobs.checksums import write_checksums
from crosslens.reports.claims.claims_file import read_claims_file
from crosslens.reports.paper import MODEL_FILES
from forked import READS, on_the_node
from safetensors.numpy import load_file
from study import (
    ALL,
    OVERLAY,
    RECIPE,
    REPOSITORY,
    RESULTS,
    SEARCHES,
    changed,
    counts,
    edit,
    environment,
    jobs_of,
    planned,
    snakemake,
    tiny,
)

pytestmark = pytest.mark.long

TABLES = ("table1", "table2", "table3", "table4", "table5", "table5_search", "footnote6", "dataset_sizes", "languages", "epochs",
          "findings", "units")  # fmt: skip
FIGURES = ("figure2", "figure3", "figure4", "figure5", "figure6")
OTHER_TABLES = (
    *(f"muller2021/table{number}" for number in range(1, 9)),
    "muller2021/table3_search",
    "muller2021/change",
    *(f"liang2021/table{number}" for number in range(1, 7)),
    *(f"wu2019/table{number}" for number in range(1, 7)),
    *(f"wu2019/{name}" for name in ("figure1_cells", "overlap", "search")),
    *(f"liu2020/table{number}" for number in range(1, 5)),
    *(f"liu2020/{name}" for name in ("retrieval", "nli", "languages", "calibration", "accents", "text")),
)
PROBED = tuple(
    f"liang2021/{name}" for name in ("figure1", "figure2", "figure5", "subspaces")
)  # of the encoder as it was pretrained
OTHER_FIGURES = (
    *(f"muller2021/figure{number}" for number in range(1, 9)),
    *PROBED,
    "liang2021/figure3",
    "liang2021/figure4",
    *(f"wu2019/figure{number}" for number in range(1, 4)),
    *(f"liu2020/figure{number}" for number in range(1, 9)),
)
SCORED = (
    "table1",
    "table2",
    "table3",
    "footnote6",
    "languages",
    "epochs",
    "findings",
    "units",
)  # by every training run of tanti2021
UNTRAINED = {  # items without a training behind them; of liang2021's tables here those of mixed sources
    "table4", "table5", "dataset_sizes", "figure2", "liang2021/table3", "liang2021/table5", *PROBED,
    "wu2019/table1", "wu2019/overlap", "liu2020/table3", "liu2020/accents", "liu2020/text",
}  # fmt: skip
RUNS = {
    "pos": ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained", "several_languages"),
    "nli": ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation"),
}
COLUMNS = (
    "paper", "item", "row", "column", "metric", "definition",
    "here", "low", "high", "sd", "seeds", "n", "published", "difference", "comparable", "reason", "remark",
)  # fmt: skip
CONTROLS = {"untrained", "no_adversary", "several_languages"}  # no figure shows them
NOT_CLUSTERED = {"no_adversary", "several_languages"}
OF_UNITS = {("pos", "frozen"), ("pos", "finetuned"), ("nli", "finetuned")}
ADVERSARIAL = {"gradient_reversal", "entropy_maximisation", "no_adversary"}  # of table 2
TRIALS = "tanti2021/pos/frozen/trials00"
LANGUAGES = ("de", "en", "tr")


def training(task: str, run: str) -> list[str]:
    """Jobs of one training run and of what is measured on it."""
    recipe = f"tanti2021/{task}/{run}"
    jobs = [f"Train {recipe}, seed 0", f"Store hidden states of {recipe}, seed 0"]
    kinds = ("clusters", "probes") if run in CONTROLS else ("clusters", "probes", "projection")
    jobs += [f"Measure {kind} of {recipe}, seed 0" for kind in kinds if kind != "clusters" or run not in NOT_CLUSTERED]
    jobs += [f"Measure units of {recipe}, seed 0"] * ((task, run) in OF_UNITS)
    return jobs + [f"Measure {kind} of {recipe}" for kind in ("classification", "adversary")[: 1 + (run in ADVERSARIAL)]]


def made(*names: str) -> list[str]:
    """Jobs of tables, figures and the pages that show them, and of the file of all records."""
    items = [name for name in names if name != "scores"]
    jobs = [f"{'Sampling' if 'figure' in name or name in PROBED else 'Make'} {name}" for name in items] + pages(*items)
    return jobs + ["Gather the records of tanti2021"] * ("scores" in names)


def pages(*items: str) -> list[str]:
    """Jobs of the pages of items, and of the reports that show those that are no searches."""
    reports = {f"{name.rpartition('/')[0]}/report".lstrip("/") for name in items if name not in SEARCHES}
    return [f"Lay out {page}" for page in [*items, *reports]]


# --- what it builds -------------------------------------------------------------------------------------------------------


def test_builds_every_table_and_figure_and_is_done(built):
    tables, figures = (*TABLES, *OTHER_TABLES), (*FIGURES, *OTHER_FIGURES)
    for name in (*tables, *figures):
        item = built / RESULTS / f"{name}.{'csv' if name in tables else 'svg'}"
        record = json.loads(Path(f"{item}.json").read_text())
        assert record["sha256"] == hashlib.sha256(item.read_bytes()).hexdigest()
        assert (record["training_runs"] == []) == (name in UNTRAINED), name
        if name in tables:
            table = pd.read_csv(item)
            place = {"paper": name.partition("/")[0] if "/" in name else "tanti2021", "item": name.rpartition("/")[2]}
            assert tuple(table.columns) == COLUMNS and all(set(table[key]) == {value} for key, value in place.items()), name
        assert record["command"] == f"snakemake --profile tests/workflow {item.relative_to(built)}"
    reports = ("report", "muller2021/report", "liang2021/report", "wu2019/report", "liu2020/report")
    for ending, names in (
        ("html", (*tables, *figures, *reports, "claims", "index", "scoreboard", "passport/random")),
        ("png", (*figures, "passport/random")),
    ):
        found = {str(path.relative_to(built / RESULTS).with_suffix("")) for path in (built / RESULTS).rglob(f"*.{ending}")}
        assert found == set(names)
    log = (built / RESULTS / "logs/models" / RECIPE / "seed0.log").read_text()
    assert f"command: snakemake --profile tests/workflow {RESULTS}/models/{RECIPE}/seed0/" in log.splitlines()[0]
    for task, runs in RUNS.items():
        models = built.glob(f"{RESULTS}/models/tanti2021/{task}/*/seed0/model.safetensors")
        assert {path.parts[-3] for path in models} == set(runs)
    scored = set(pd.read_parquet(built / RESULTS / "scores/tanti2021.parquet")["recipe"])
    assert scored == {f"tanti2021/{task}/{run}" for task, runs in RUNS.items() for run in runs}
    other = pd.read_parquet(built / RESULTS / "scores/muller2021.parquet")
    assert {"cka", "score"} <= set(other["measure"]) and {"LAS", "accuracy", "F1"} <= set(other["definition"])
    assert not list(built.glob("results/**/*.part-*"))
    assert not list(built.glob("results/**/checkpoint*"))


@pytest.mark.skipif(not node.variables(), reason=node.NEEDED)
def test_every_rule_runs_on_a_node_with_64_cores(built):
    """Except those that fetch, which test_laptop.py runs there, and the comparison of encoders, of which there is one."""
    files = [path for path in (built / ".snakemake/metadata").rglob("*") if path.is_file()]
    names = re.findall(r"^(?:rule|use rule \w+ as) (\w+)", "".join(map(Path.read_text, built.glob("rules/*.smk"))), re.MULTILINE)
    assert {*names} - {json.loads(path.read_text())["rule"] for path in files} == {"fetch", "dump_sample", "comparison"}
    logs = [path.read_text() for path in (built / RESULTS / "logs").rglob("*.log")]
    assert len(logs) > 400 and all(f", {node.CORES} cores, " in log for log in logs)


@pytest.mark.skipif(not node.variables(), reason=node.NEEDED)
def test_jobs_see_the_node(tmp_path):
    """Where nothing may be mounted, all but the small shared memory and the cores that the cgroup grants."""
    on_the_node(node.look, tmp_path / "seen.json", environment())
    seen = json.loads((tmp_path / "seen.json").read_text())
    different = {name: value for name, value in node.SEEN.items() if seen[name] != value}
    if {*different} == {*node.MOUNTED}:
        pytest.skip("needs the right to mount: run as root, or allow user namespaces")
    assert different == {}


def test_a_passport_says_what_it_is_of(built):
    path = built / RESULTS / "passport/random.csv"
    table, record = pd.read_csv(path), json.loads(path.with_name("random.csv.json").read_text())
    facts = record["passport"]
    assert tuple(table.columns) == (*COLUMNS, "layer", "family", "floor_kind")
    assert set(table["floor_kind"].dropna()) == {"shuffled pairs", "random weights", "formula"}
    assert set(table["metric"]) == facts["measures"].keys() and set(table["layer"].dropna().astype(str)) >= {"0", "1", "2"}
    assert (facts["n"], facts["seeds"], facts["encoder"]["layers"], facts["encoder"]["width"]) == (6, [0, 1], 2, 32)
    assert all(path.with_suffix(ending).exists() for ending in (".html", ".svg", ".png", ".json"))


def test_intervals_have_a_width_and_scores_have_theirs_inside_their_bounds(built):
    """In every table, and in the records behind it (docs/intervals.md)."""
    for name in (*TABLES, *OTHER_TABLES):
        table = pd.read_csv(built / RESULTS / f"{name}.csv").dropna(subset=["low", "high"])
        assert (table["low"] < table["high"]).all(), table[table["low"] >= table["high"]].to_string()
    records = pd.concat(pd.read_parquet(path) for path in (built / RESULTS / "scores").glob("*.parquet"))
    scores = records[records["measure"].isin(["score", "probe", "spelling", "language identification", "typology"])]
    scores = scores.dropna(subset=["low", "high"])
    assert len(scores) > 100 and ((scores["low"] >= 0) & (scores["low"] < scores["high"]) & (scores["high"] <= 1)).all()


TRACKED = {  # script -> what of the repository its rule names among its params, by content or, of languages, by their rows
    "synthetic": ("resources/synthetic/", "resources/languages.csv"),
    "corpus": ("resources/languages.csv",),
    "typology": ("resources/languages.csv",),
    "paragraphs": ("resources/mediawiki.yaml",),
    "table": ("resources/published/", "resources/languages.csv"),  # against which the settings of corpora are checked once more
    "figure": ("resources/published/",),
    "page": ("resources/terms.yaml", "workflow/crosslens/reports/page."),
    "claims": (
        "workflow/crosslens/papers/",
        "resources/published/",
        "resources/languages.csv",
        "workflow/crosslens/reports/page.css",
        "workflow/crosslens/reports/claims/claims.html.j2",
    ),
    "passport": (
        "workflow/crosslens/papers/passport/",
        "workflow/crosslens/reports/page.css",
        "resources/pretraining.yaml",
        "resources/languages.csv",
    ),
    "scoreboard": ("resources/published/", "resources/languages.csv", "workflow/crosslens/reports/scoreboard.html.j2"),
}


def untracked(reads: Path, scripts: Iterable[str]) -> list[tuple[str, str]]:
    """Script and file of each tokenisation outside the results that is not tracked; all of the scripts must have read some file."""
    lines = (line.split("\t") for line in reads.read_text().splitlines())
    pairs = {(script.removesuffix(".py"), path) for script, path in lines}
    assert {script for script, _ in pairs} >= {*scripts}
    return [(script, path) for script, path in pairs if not path.startswith(TRACKED.get(script, ()) or "none")]


def test_jobs_read_no_file_outside_the_results_that_is_not_tracked(built):
    assert untracked(built / "reads.tsv", TRACKED) == []


def test_claims_are_decided_by_what_there_is(own):
    """No training is asked for: what is gone is not measured, and what has changed decides anew."""
    claims = pd.read_csv(own / RESULTS / "claims.csv", keep_default_na=False)
    claims_files = {path.parent.name: read_claims_file(path) for path in (own / LIBRARY / "papers").glob("*/claims.yaml")}
    keys = [f"{paper}-{key}" for paper, claims_file in claims_files.items() for key in claims_file.claims]
    assert sorted(claims["claim"]) == sorted(keys) and "tanti2021-c01" in keys
    assert {"holds", "undecided", "not measured"} <= {*claims["verdict"]}
    trained = claims[claims["seeds"].astype(str) == "1"]
    assert len(trained) and {*trained["verdict"]} == {"undecided"}  # there is one seed
    assert planned(own, "claims") == []

    table, checksums = own / RESULTS / "table3.csv", own / RESULTS / ".table3.csv.sha256"
    content = table.read_bytes()
    table.unlink()
    decide = [f"Decide the claims of {RESULTS}", "Set the printed cells beside ours"]
    assert planned(own, "claims") == decide
    tiny(own, "claims", **{READS: str(own / "decided.tsv")})
    assert untracked(own / "decided.tsv", ("claims", "scoreboard")) == []
    claims = pd.read_csv(own / RESULTS / "claims.csv", keep_default_na=False).set_index("claim")
    assert claims.loc["tanti2021-c13", ["verdict", "reason"]].tolist() == ["not measured", "table3 is missing"]
    assert claims.loc["tanti2021-c13", "command"] == f"snakemake --profile tests/workflow {RESULTS}/table3.csv"
    assert claims.loc["tanti2021-c01", "verdict"] == "undecided"

    table.write_bytes(content + b"tanti2021\n")
    said = tiny(own, "claims", works=False)
    assert f"{RESULTS}/table3.csv: not what was written" in said
    table.write_bytes(content)
    assert checksums.exists() and planned(own, "claims") == decide


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")
def test_pages_work_in_a_browser(built):
    """Without an error, a network or scrolling sideways; what is folded opens, and links lead somewhere."""
    with browser() as tab:
        for name, width in product(("index", "claims", "report", "table1", "figure3"), (400, 1280)):
            page = built / RESULTS / f"{name}.html"
            shown = tab.show(page, width)
            assert (shown.errors, shown.requests, shown.overflow) == ([], [], 0), name
            assert leads_nowhere(page, shown) == [], name
            closed, still_closed = shown.folds
            assert still_closed == 0 and (closed > 30) == (name == "claims"), name


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")
def test_a_bad_page_is_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><meta name='viewport' content='width=device-width'>"
        "<p style='width: 900px'>wide</p><a href='gone.html'>a</a><a href='#gone'>b</a><details><summary "
        "onclick='event.preventDefault()'>c</summary></details><script>console.error('d')</script><img src='http://127.0.0.1:9/e.png'>"
    )
    with browser() as tab:
        shown = tab.show(page, 400)
    assert len(shown.errors) >= 1 and shown.requests == ["http://127.0.0.1:9/e.png"] and shown.overflow > 400
    assert len(leads_nowhere(page, shown)) == 2 and shown.folds == (1, 1)


def test_every_kind_of_corpus_is_read(built):
    """The synthetic corpus's files in the official layouts, through the rules; corpora.csv lists them all."""
    table = pd.read_csv(built / RESULTS / "corpora.csv")
    assert set(table["kind"]) == {"treebank", "entities", "pairs", "documents", "dictionary", "paragraphs", "typology"}
    assert (table["rows"] > 0).all() and set(table["source"]) == {"synthetic"}
    german, english = (pd.read_parquet(built / RESULTS / f"corpora/pud/{language}.test.parquet") for language in ("de", "en"))
    assert german["id"].tolist() == english["id"].tolist()


def test_trials_of_the_search_keep_no_weights(built):
    files = {"predictions.parquet", "history.csv", "record.json"}
    for trials in (TRIALS, "muller2021/pos/en/ref/trials00"):
        folders = list((built / RESULTS / "models" / trials / "seed0").glob("trial*"))
        assert len(folders) == 1 + (trials == TRIALS) and all(
            {path.name for path in each.glob("[!.]*")} == files for each in folders
        )
    record = json.loads((built / RESULTS / "table5_search.csv.json").read_text())
    assert [training["recipe"]["name"] for training in record["training_runs"]] == [f"{TRIALS}/trial00", f"{TRIALS}/trial01"]


def test_records_tell_how_each_measure_was_made_and_what_trainings_read(built):
    measured = 0
    for path in (built / RESULTS).glob("**/*.json"):
        if path.name.endswith((".csv.json", ".svg.json")) and path.name not in ("claims.csv.json", "scoreboard.csv.json"):
            record = json.loads(path.read_text())
            needs = {(need["kind"], need["recipe"]) for need in record["settings"]["needs"] if need["kind"] not in MODEL_FILES}
            told = {(measure["kind"], recipe) for measure in record["measures"] for recipe in measure["recipes"]}
            assert told == needs and all("settings" in measure and measure["device"] for measure in record["measures"]), path
            assert all(len(digest) == 64 for digest in record["content_sha256"].values())
            measured += len(told)
    assert measured > 50


# --- what reruns after a change ---------------------------------------------------------------------------------------------


def test_a_run_that_is_done_reruns_nothing(own, tmp_path):
    """In another place, with other words and file times, with a measure that nothing asks for, and with conda switched on."""
    library = own / "workflow/crosslens"
    for file, words in {
        "storage/files.py": ("def sha256(", "# a comment\n\n\ndef sha256("),
        "measures/projection.py": ('"""Projection of hidden states', '"""Another docstring of hidden states'),
        "training/loop.py": ('"""The training loop', '"""A training loop'),
        "runs/progress.py": ("EVERY = 10.0", "EVERY = 20.0"),
        "papers/tanti2021/config.py": ('"texts per step"', '"texts in a step"'),
        "config/readings.py": ('128, description="maximum leng', '128, description="in other words, maximum leng'),
        "corpora/pairs.py": ('"""Sentence pairs of natural', '"""Pairs of sentences of natural'),
        "reports/pages.py": ("def _decimals", "# a comment\n\n\ndef _decimals"),
    }.items():
        edit(library / file, words)
    for file in (*own.glob("workflow/scripts/*.py"), *own.glob("resources/**/*.csv")):
        os.utime(file)
    (library / "measures/loudness.py").write_text("def measure(subject):\n    return []\n")
    last = '"units": Kind("units", "encoder"),\n'
    edit(library / "measures/kinds.py", (last, f'{last}    "loudness": Kind("loudness", "states"),\n'))
    subprocess.run([sys.executable, REPOSITORY / "tests/condashim", "install", tmp_path / "conda"], check=True)
    path = f"{tmp_path / 'conda/bin'}:{environment()['PATH']}"
    assert jobs_of(tiny(own, *ALL, "-n", "--sdm", "conda", PATH=path)) == []


def test_names_of_languages_rerun_the_figures_that_show_them(built):
    languages, legend = built / "resources/languages.csv", f"{RESULTS}/figure2.svg"
    with changed(languages, ("Afrikaans", "Afrikaner")):  # is not of the study
        assert planned(built, legend) == []
    with changed(languages, ("tr,Turkish", "tr,Türkçe")):
        assert "Draw figure2" in planned(built, legend)


def test_another_mirror_reruns_nothing(own, tmp_path):
    target = "results/laptop/sources/ud-2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    text = tmp_path / "one/ud/r2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    text.parent.mkdir(parents=True)
    text.write_text("# no digest is known of this file\n")
    snakemake(own, "--profile", "laptop", "--config", f"mirror=['{tmp_path / 'one'}']", "--", target)
    assert (own / target).read_bytes() == text.read_bytes()
    said = snakemake(own, "--profile", "laptop", "-n", "--config", f"mirror=['{tmp_path / 'two'}']", "--", target)
    assert "Nothing to be done" in said


def test_a_sample_of_all_blocks_is_the_dump(own, tmp_path):
    """Fetching through the workflow: the index, then blocks of a dump, from a mirror; what has no known digest is pinned."""
    mirror, target = tmp_path / "mirror", f"{RESULTS}/corpora/wikipedia/de.train.parquet"
    shutil.copytree(own / RESULTS / "sources/synthetic/wikipedia", mirror / "wikipedia")
    before = pd.read_parquet(own / target)
    sampled = (
        ('source: synthetic\n    file: "wikipedia/{wiki}', 'source: wikipedia\n    file: "{wiki}'),
        ("    blocks: null", "    blocks: 1000"),
    )
    with changed(own / OVERLAY, *sampled):
        said = tiny(own, target, "--config", f"mirror=['{mirror}']")
        assert "Nothing to be done" in tiny(own, target)  # the mirror is needed no more
    assert counts(said) == {"fetch": 1, "dump_sample": 1, "paragraphs": 1, "total": 3}
    pd.testing.assert_frame_equal(pd.read_parquet(own / target), before)
    (sample,) = (own / RESULTS / "sources/wikipedia-sample/1000-0").glob("dewiki/*/*-multistream.xml.bz2")
    assert sample.read_bytes() == source(own, "wikipedia/dewiki/*/*-multistream.xml.bz2").read_bytes()
    pins = pd.read_csv(own / "sources.lock.tsv", sep="\t")
    assert list(pins["file"].str.replace(r"\d{8}", "DATE", regex=True)) == [
        "wikipedia/dewiki/DATE/dewiki-DATE-pages-articles-multistream-index.txt.bz2"
    ]


def test_on_a_cluster_fetching_stays_on_the_login_node(own, tmp_path):
    text = tmp_path / "mirror/ud-2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    text.parent.mkdir(parents=True)
    text.write_text("# compute nodes have no network\n")
    target = "results/sources/ud-2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    at_once = ("--seconds-between-status-checks", "1", "--slurm-init-seconds-before-status-checks", "1")
    said = snakemake(own, "--profile", "slurm", *at_once, "--config", f"mirror=['{tmp_path / 'mirror'}']", "--", target)
    assert "submitted" not in said and (own / target).read_text() == text.read_text()


PROJECTIONS = sorted(
    [
        f"Measure projection of tanti2021/{task}/{run}, seed 0"
        for task, runs in RUNS.items()
        for run in runs
        if run not in CONTROLS
    ]
    + made("figure3", "figure4", "figure5", "figure6")
)


REVERSAL, FOLLOWING = "gradient_reversal", ("languages", "epochs", "findings", "scores")
CONTROL = training("pos", "no_adversary") + training("nli", "no_adversary") + made("table2", "findings", "scores")


def trials(job: str, *items: str) -> list[str]:
    """Jobs of trials that share a job, and of the items that show them."""
    return [f"Train the trials of {job}, seed 0", f"Measure classification of {job}", *made(*items)]


LIBRARY = "workflow/crosslens"
MULLER_TABLES = [f"muller2021/table{number}" for number in range(1, 9) if number not in (3, 4)]
PAGE = (f"{LIBRARY}/reports/page.html.j2", f"{LIBRARY}/reports/page.css")
PAGES = pages(*TABLES, *FIGURES, *OTHER_TABLES, *OTHER_FIGURES)
REWEIGHTED = "gradient_reversal: { batch: 16 }", "gradient_reversal: { batch: 16, reversal: 0.2 }"
NLI = "gradient_reversal: { batch: 8 }", "gradient_reversal: { batch: 8, reversal: 0.2 }"
EDITS = {  # independent changes of one dry run: a file, what is edited, and the jobs that rerun
    "code of t-SNE, a trial more, a caption, a control more": [
        (f"{LIBRARY}/measures/projection.py", ("init=start", 'init="random"'), PROJECTIONS),
        (OVERLAY, ("trials: 2,", "trials: 3,"), trials("tanti2021/pos/frozen/trials02", "table5_search")),
        (f"{LIBRARY}/papers/tanti2021/captions.yaml", ("how far does", "how much does"), pages("table1")),
        (OVERLAY, ("no_adversary: null", "no_adversary: {}"), CONTROL),
    ],
    "settings of t-SNE, values of the trials, code of sizes and of findings, tables of another paper": [
        (OVERLAY, ("iterations: 250", "iterations: 260"), PROJECTIONS),
        (OVERLAY, ("trials: 2,", "trials: 2, head_rate: [1.0e-3],"), trials(TRIALS, "table4", "table5_search")),
        (f"{LIBRARY}/papers/tanti2021/sizes.py", ('"equal"', '"the same"'), made("dataset_sizes")),
        (f"{LIBRARY}/papers/tanti2021/findings.py", ('"difference"', '"distance"'), made("findings")),
        (f"{LIBRARY}/papers/muller2021/tables.py", ('"muller2021", name', '"muller2021", str(name)'), made(*MULLER_TABLES)),
    ],
    "a hyperparameter of tagging, a title": [
        (OVERLAY, REWEIGHTED, training("pos", REVERSAL) + made("table2", "table3", "table5", "figure5", *FOLLOWING)),
        (f"{LIBRARY}/papers/tanti2021/captions.yaml", ("title: Table 1\n", "title: Table I\n"), pages("table1")),
    ],
    "a hyperparameter of inference, how figures look, code, template and style of pages": [
        (
            f"{LIBRARY}/reports/figures/style.py",
            ("STYLE = {", "STYLE = {} | {"),
            [*made(*FIGURES, *OTHER_FIGURES), "Write the passport of random"],
        ),
        (f"{LIBRARY}/reports/pages.py", ('"notes": list', '"remarks": list'), PAGES),
        (PAGE[0], ("<h1>", "<h1 >"), PAGES),
        (PAGE[1], ("76rem", "77rem"), PAGES),
        (OVERLAY, NLI, training("nli", REVERSAL) + made("table2", "table3", "table5", "figure6", *FOLLOWING)),
    ],
}


def reason(said: str, job: str) -> str:
    """Why a job would run, as a dry run says it."""
    (found,) = re.findall(rf"^Job \d+: {re.escape(job)}\nReason: (.+)$", said, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("group", EDITS)
def test_a_change_reruns_what_follows_from_it_and_nothing_else(built, group):
    with contextlib.ExitStack() as stack:
        for file, edits, _ in EDITS[group]:
            stack.enter_context(changed(built / file, edits))
        said = tiny(built, *ALL, "-n", "--quiet", "host")
    assert jobs_of(said) == sorted({job for _, _, jobs in EDITS[group] for job in jobs})
    if REWEIGHTED in (edits for _, edits, _ in EDITS[group]):
        found = reason(said, f"Train {RECIPE}, seed 0")
        assert "'reversal': 0.1" in found and "'reversal': 0.2" in found and len(found) < 450, found
    for file in {file for file, _, _ in EDITS[group]} & {*PAGE}:
        assert f"{file} " in reason(said, "Lay out table4")


def test_settings_of_one_paper_are_its_own(built):
    with changed(built / OVERLAY, ("ner: { epochs: 1, batch: 8 }", "ner: { epochs: 2, batch: 8 }")):
        jobs = planned(built, "demo", f"{RESULTS}/muller2021/report.html")
    assert "Train muller2021/ner/en/ref, seed 0" in jobs and all("muller2021" in job for job in jobs)


def test_rows_of_a_corpus_rerun_what_follows_and_nothing_of_the_other_task(own):
    """With an encoder that depends on no text, as the published one; a random or trimmed one follows its corpora."""
    overlay = own / OVERLAY
    random_encoder = re.search(r"random: \{ source: random.*\}", overlay.read_text())[0]
    hub = f"random: {{ source: hub, id: some/encoder, revision: {'a' * 40}, depth: 2 }}"
    edit(overlay, (random_encoder, hub))
    tiny(own, "demo", "--touch")

    def follows(task: str) -> list[str]:
        jobs = [job for run in RUNS[task] for job in training(task, run)]
        figures = ("figure3", "figure5") if task == "pos" else ("figure4", "figure6")
        items = made(*SCORED, "dataset_sizes", "scores", *figures)
        sampled = [f"Draw tanti2021/{task}", f"Measure spelling of tanti2021/{task}/frozen"]
        return [*jobs, *sampled, *items]

    pairs = ["Read xnli", "Tokenise xnli for random, reading without_unknown"]
    with changed(own / "workflow/crosslens/corpora/pairs.py", ('NO_AGREEMENT = "-"', 'NO_AGREEMENT = "?"')):
        assert planned(own, "demo") == sorted(pairs + follows("nli"))

    treebanks = ["Read udpos", "Tokenise udpos for random, reading without_unknown", *made("table5_search")]
    treebanks += [f"Train the trials of {TRIALS}, seed 0", f"Measure classification of {TRIALS}"]
    with changed(overlay, ("withheld: clean", "withheld: paper")):
        assert planned(own, "demo") == sorted(treebanks + follows("pos"))


MUSE = 'train: "muse/dictionaries/en-{code}.0-5000.txt", test: "muse/dictionaries/en-{code}.5000-6500.txt"'
MLDOC = 'validation: "mldoc/{lower}.dev", test: "mldoc/{lower}.test"'
WILI = "languages: [de, tr], source_languages: [de, tr]"
CORPORA = {  # changes to corpora: a file, what is edited, and the corpora that are read again
    "limit": (OVERLAY, ("limits: { train: 16, test: 8 }", "limits: { train: 16, test: 7 }"), ["muller2021_ud", "udpos_xtreme"]),
    "pattern": (OVERLAY, (MLDOC, MLDOC.replace(".dev", ".x").replace(".test", ".dev").replace(".x", ".test")), ["mldoc"]),
    "languages": (OVERLAY, (WILI, WILI.replace("tr]", "tr, en]")), ["wili"]),
    "exchanged files": (OVERLAY, (MUSE, MUSE.replace("train", "x").replace("test", "train").replace("x:", "test:")), ["muse"]),
    "reader": (
        f"{LIBRARY}/corpora/entities.py",
        ("return rows, counts", "return list(rows), counts"),
        ["conll2003", "panx", "wikiann"],
    ),
}


def test_a_change_to_a_corpus_has_it_read_again_and_no_other(built):
    with contextlib.ExitStack() as stack:
        for file, edits, _ in CORPORA.values():
            stack.enter_context(changed(built / file, edits))
        jobs = planned(built, f"{RESULTS}/corpora.csv")
    assert jobs == sorted(["List all corpora", *(f"Read {name}" for _, _, names in CORPORA.values() for name in names)])


# --- bad input ----------------------------------------------------------------------------------------------------------------


def damage(path: Path, change: Callable[[bytes], bytes]) -> str:
    """Change a file as if it had come like this; returns its name in messages."""
    path.write_bytes(change(path.read_bytes()))
    write_checksums(path)
    return str(path.relative_to(path.parents[[parent.name for parent in path.parents].index("results") + 1]))


def source(root: Path, pattern: str) -> Path:
    """The one file of the synthetic corpus that fits a pattern."""
    (found,) = (root / RESULTS / "sources/synthetic").glob(pattern)
    return found


def test_what_is_wrong_with_a_file_is_named(own):
    """A line of a treebank, a dump and an archive that are cut short, and a language without paragraphs, in one run."""
    number = 0

    def with_a_space(content: bytes) -> bytes:
        nonlocal number
        lines = content.split(b"\n")
        number = next(i for i, line in enumerate(lines) if line.startswith(b"2\t"))
        lines[number] = lines[number].replace(b"\t", b" ")
        return b"\n".join(lines)

    treebank = damage(source(own, "ud/*/de_phrasebook-ud-test.conllu"), with_a_space)
    dump, archive = (
        damage(source(own, pattern), lambda content: content[:-100])
        for pattern in ("wikipedia/dewiki/*/*-multistream.xml.bz2", "xnli/XNLI-1.0.zip")
    )
    tiny(own, f"{RESULTS}/{treebank}" if not treebank.startswith(RESULTS) else treebank, "--touch")  # else they are made again
    edit(own / OVERLAY, ("    paragraphs: 20\n    shares", "    paragraphs: 20\n    minimum_characters: 100000\n    shares"))
    targets = [f"corpora/{name}" for name in ("udpos", "xnli", "wikipedia/de.train.parquet", "wikipedia/en.train.parquet")]
    said = tiny(own, *(f"{RESULTS}/{target}" for target in targets), works=False)
    assert "Traceback" not in said, said
    errors = set(re.findall(r"^ERROR: (.+)$", said, re.MULTILINE))
    (malformed,), (cut_dump,), (cut_archive,) = (
        [error for error in errors if error.startswith(name)] for name in (treebank, dump, archive)
    )
    (no_paragraph,) = errors - {malformed, cut_dump, cut_archive}
    assert malformed == (
        f"{treebank}:{number + 1}: expected 10 tab-separated columns, found 1 columns; fetch the file again or correct the line"
    )
    place = rf"{re.escape(dump)}: (before the first page|after page '.+'): expected a complete MediaWiki export, found: "
    assert re.match(place, cut_dump) and cut_dump.endswith("fetch the file again"), cut_dump
    assert cut_archive.startswith(f"{archive}: expected a complete archive, found: "), cut_archive
    assert cut_archive.endswith("to fetch it again")
    assert "no paragraph for en." in no_paragraph and "name a larger file or a lower minimum" in no_paragraph
    assert not [target for target in targets if (own / RESULTS / target).exists()]
    assert not list((own / RESULTS / "corpora/wikipedia").glob("de.*")) and not list(own.glob("results/**/*.part-*"))


# --- a kill -------------------------------------------------------------------------------------------------------------------


def script_of(process: subprocess.Popen[str], name: str) -> psutil.Process | None:
    """The process of a rule's script below a run of Snakemake."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(part.endswith(f".{name}.py") for part in child.cmdline()):
                    return child
    return None


def command(*options: str) -> list[str]:
    return ["timeout", "-k", "5", "900", sys.executable, "-m", "snakemake", *options]


def kill(root: Path, target: str, script: str, when: Callable[[], object], seconds: float) -> None:
    """Make a file of the tiny study, and kill the process of a rule's script some seconds after something is the case."""
    run = subprocess.Popen(
        command("--profile", "tests/workflow", target), cwd=root, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not when():
            assert run.poll() is None and time.monotonic() < deadline, run.communicate()[0]
            time.sleep(0.01)
        time.sleep(seconds)
        victim = script_of(run, script)
        assert victim
        victim.send_signal(signal.SIGKILL)
        said = run.communicate(timeout=600)[0]
    finally:
        if run.poll() is None:
            run.kill()
    assert run.returncode != 0, said


def test_a_killed_training_goes_on_where_it_was(own):
    """SIGKILL at some moment after a checkpoint; the rest gives the same file as a training run that nothing disturbed."""
    edit(own / LIBRARY / "training/loop.py", ("checkpoint_seconds: float = 300.0", "checkpoint_seconds: float = 0.0"))
    edit(own / OVERLAY, ("epochs: 1, language_epochs: 1", "epochs: 40, language_epochs: 20"))
    folder = own / RESULTS / "models" / RECIPE / "seed0"
    model, predictions = folder / "model.safetensors", folder / "predictions.parquet"
    target = str(predictions.relative_to(own))
    log = own / RESULTS / "logs/models" / RECIPE / "seed0.log"

    tiny(own, target)
    weights, predicted = load_file(model), predictions.read_bytes()
    assert "resumed" not in log.read_text()
    model.unlink()
    predictions.unlink()

    kill(own, target, "train", lambda: list(folder.glob("checkpoint*")), random.uniform(0, 0.8))
    assert not predictions.exists()

    tiny(own, target)
    assert "resumed stage" in log.read_text()
    assert predictions.read_bytes() == predicted
    resumed = load_file(model)  # the order of the file's header is not the same each time
    assert resumed.keys() == weights.keys()
    assert all(np.array_equal(resumed[name], weights[name]) for name in weights)
    assert not list(folder.glob("checkpoint*"))
    assert not list(folder.glob(".*.part-*"))


def test_a_killed_search_goes_on_after_its_finished_trials(own):
    edit(own / OVERLAY, ("epochs: 1, language_epochs: 1", "epochs: 60, language_epochs: 1"))
    folder = own / RESULTS / "models" / TRIALS / "seed0"
    target, log = str(folder.relative_to(own)), own / RESULTS / "logs/models" / TRIALS / "seed0.log"

    def predicted() -> list[bytes]:
        return [(folder / f"trial{number:02d}/predictions.parquet").read_bytes() for number in range(2)]

    tiny(own, target)
    undisturbed = predicted()
    shutil.rmtree(folder)
    kill(own, target, "train_trials", lambda: list(folder.parent.glob(".seed0.begun-*/trial00/record.json")), 0)
    assert not folder.exists()
    tiny(own, target)
    assert f"{TRIALS}/trial00 was finished before" in log.read_text()
    assert predicted() == undisturbed and [path.name for path in folder.parent.iterdir()] == ["seed0"]


def test_a_damaged_file_is_noticed_and_made_again_as_the_error_says(own):
    """A byte changes on disk, and Snakemake sees nothing of it."""
    file = sorted((own / RESULTS / "states" / RECIPE / "seed0").rglob("*.parquet"))[0]
    content, status = bytearray(file.read_bytes()), file.stat()
    before = bytes(content)
    content[len(content) // 3] ^= 4
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    reads = f"{RESULTS}/measures/clusters/{RECIPE}/seed0.parquet"
    (own / reads).unlink()
    said = tiny(own, reads, works=False)
    folder = f"{RESULTS}/states/{RECIPE}/seed0"
    remedy = re.search(rf"ERROR: {re.escape(str(file.relative_to(own)))}: not what was written.*; (mv .*)$", said, re.MULTILINE)
    aside = folder.replace("seed0", ".seed0.damaged")
    assert remedy and remedy[1] == f"mv -- {folder} {aside} && snakemake --profile tests/workflow {folder}"
    assert "Traceback" not in said
    subprocess.run(["bash", "-c", remedy[1]], cwd=own, env=environment(), check=True, capture_output=True)
    assert file.read_bytes() == before
    tiny(own, reads)
