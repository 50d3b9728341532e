"""The real workflow on hardly any data: what it builds, what reruns after a change, bad input, a kill."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import node
import pandas as pd
import psutil
import pytest
from browser import CHROMIUM, browser, leads_nowhere
from crosslens.jobs.checksums import write_checksums
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.reports.claims.claims_file import read_claims_file
from crosslens.reports.paper import MODEL_FILES
from crosslens.reports.studies import Studies
from forked import READS
from study import (
    ALL,
    OVERLAY,
    RECIPE,
    RESULTS,
    SEARCHES,
    add_kind,
    changed,
    counts,
    edit,
    environment,
    jobs_of,
    planned,
    tiny,
)
from test_config import merged

pytestmark = pytest.mark.long

UNTRAINED = {  # items without a training behind them; of liang2021's tables here those of mixed sources
    "table4", "table5", "dataset_sizes", "figure2", "liang2021/figure1", "liang2021/figure2", "liang2021/figure5",
    "liang2021/subspaces", "liang2021/table3", "liang2021/table5", "wu2019/table1", "wu2019/overlap", "liu2020/table3",
    "liu2020/accents", "liu2020/text",
}  # fmt: skip
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
RECIPES = {
    *(f"tanti2021/{task}/{run}" for task in ("pos", "nli") for run in RUNS),
    "tanti2021/pos/untrained",
    "tanti2021/pos/several_languages",
}
COLUMNS = (
    "paper", "item", "row", "column", "metric", "definition",
    "here", "low", "high", "sd", "seeds", "n", "published", "difference", "comparable", "reason", "remark",
)  # fmt: skip
TRIALS = "tanti2021/pos/frozen/trials00"
LIBRARY = "workflow/crosslens"


@pytest.fixture(scope="module")
def forms() -> dict[str, str]:
    """Tables and figures of the tiny study, by their places below its results, but for those of passports."""
    items = Studies(load(merged("tests")), papers()).items
    return {place: item.form for place, (paper, _, item) in items.items() if paper.key != "passport"}


# --- what it builds -------------------------------------------------------------------------------------------------------


def test_builds_every_table_and_figure_and_is_done(built, forms):
    for name, form in forms.items():
        item = built / RESULTS / f"{name}.{'csv' if form == 'table' else 'svg'}"
        record = json.loads(Path(f"{item}.json").read_text())
        assert record["sha256"] == hashlib.sha256(item.read_bytes()).hexdigest()
        assert (record["training_runs"] == []) == (name in UNTRAINED), name
        assert record["command"] == f"snakemake --profile tests/workflow {item.relative_to(built)}"
        if form == "table":
            table = pd.read_csv(item)
            place = {"paper": name.partition("/")[0] if "/" in name else "tanti2021", "item": name.rpartition("/")[2]}
            assert tuple(table.columns) == COLUMNS and all(set(table[key]) == {value} for key, value in place.items()), name
            bounds = table.dropna(subset=["low", "high"])
            assert (bounds["low"] < bounds["high"]).all(), name
    reports = ("report", *(f"{paper}/report" for paper in ("muller2021", "liang2021", "wu2019", "liu2020")))
    figures = (name for name, form in forms.items() if form == "figure")
    for ending, names in (
        ("html", (*forms, *reports, "claims", "index", "scoreboard", "passport/random")),
        ("png", (*figures, "passport/random")),
    ):
        assert {str(path.relative_to(built / RESULTS).with_suffix("")) for path in (built / RESULTS).rglob(f"*.{ending}")} == {
            *names
        }
    log = (built / RESULTS / "logs/models" / RECIPE / "seed0.log").read_text()
    assert f"command: snakemake --profile tests/workflow {RESULTS}/models/{RECIPE}/seed0/" in log.splitlines()[0]
    models = (built / RESULTS / "models").glob("tanti2021/*/*/seed0/model.safetensors")
    assert {str(path.parents[1].relative_to(built / RESULTS / "models")) for path in models} == RECIPES
    assert not [*built.glob("results/**/*.part-*"), *built.glob("results/**/checkpoint*")]


def test_records_of_all_measures_are_gathered_and_scores_have_their_intervals_inside_their_bounds(built):
    records = {paper: pd.read_parquet(built / RESULTS / f"scores/{paper}.parquet") for paper in ("tanti2021", "muller2021")}
    assert {*records["tanti2021"]["recipe"]} == RECIPES
    assert {"cka", "score"} <= {*records["muller2021"]["measure"]}
    assert {"LAS", "accuracy", "F1"} <= {*records["muller2021"]["definition"]}
    scores = pd.concat(pd.read_parquet(path) for path in (built / RESULTS / "scores").glob("*.parquet"))
    scores = scores[scores["measure"].isin(["score", "probe", "spelling", "language identification", "typology"])]
    scores = scores.dropna(subset=["low", "high"])
    assert len(scores) > 100 and ((scores["low"] >= 0) & (scores["low"] < scores["high"]) & (scores["high"] <= 1)).all()


@pytest.mark.skipif(not node.variables(), reason=node.NEEDED)
def test_every_rule_runs_on_a_node_with_64_cores(built):
    """Except those that fetch, which test_laptop.py runs there, and the comparison of encoders, of which there is one."""
    files = [path for path in (built / ".snakemake/metadata").rglob("*") if path.is_file()]
    names = re.findall(r"^(?:rule|use rule \w+ as) (\w+)", "".join(map(Path.read_text, built.glob("rules/*.smk"))), re.MULTILINE)
    assert {*names} - {json.loads(path.read_text())["rule"] for path in files} == {"fetch", "dump_sample", "comparison"}
    logs = [path.read_text() for path in (built / RESULTS / "logs").rglob("*.log")]
    assert len(logs) > 400 and all(f", {node.CORES} cores, " in log for log in logs)


def test_a_passport_says_what_it_is_of(built):
    path = built / RESULTS / "passport/random.csv"
    table, record = pd.read_csv(path), json.loads(path.with_name("random.csv.json").read_text())
    facts = record["passport"]
    assert tuple(table.columns) == (*COLUMNS, "layer", "family", "baseline_kind")
    assert set(table["baseline_kind"].dropna()) == {"shuffled pairs", "random weights", "formula"}
    assert set(table["metric"]) == facts["measures"].keys() and set(table["layer"].dropna().astype(str)) >= {"0", "1", "2"}
    assert (facts["n"], facts["seeds"], facts["encoder"]["layers"], facts["encoder"]["width"]) == (12, [0, 1], 2, 32)
    assert all(path.with_suffix(ending).exists() for ending in (".html", ".svg", ".png", ".json"))


TRACKED = {  # script -> what of the repository its rule names among its params, by content or, of languages, by their rows
    "synthetic": ("resources/synthetic/", "resources/languages.csv"),
    "corpus": ("resources/languages.csv",),
    "typology": ("resources/languages.csv",),
    "paragraphs": ("resources/mediawiki.yaml",),
    "table": ("resources/published/", "resources/languages.csv"),  # against which the settings of corpora are checked once more
    "figure": ("resources/published/",),
    "page": ("resources/terms.yaml", "workflow/crosslens/reports/page.", "workflow/crosslens/papers/"),  # claims files
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
    "scoreboard": (
        "resources/published/",
        "resources/languages.csv",
        "workflow/crosslens/reports/scoreboard.html.j2",
        "workflow/crosslens/reports/page.css",
    ),
}


def untracked(reads: Path, scripts: Iterable[str]) -> list[tuple[str, str]]:
    """Script and file of each read outside the results that is not tracked; all of the scripts must have read some file."""
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
    assert sorted(claims["claim"]) == sorted(
        f"{paper}-{key}" for paper, claims_file in claims_files.items() for key in claims_file.claims
    )
    assert {"holds", "undecided", "not measured"} <= {*claims["verdict"]}
    trained = claims[claims["seeds"].astype(str) == "1"]
    assert len(trained) and {*trained["verdict"]} == {"undecided"}  # there is one seed

    (own / RESULTS / "table3.csv").unlink()
    said = tiny(own, "claims", **{READS: str(own / "decided.tsv")})
    assert counts(said) == {"claims": 1, "scoreboard": 1, "total": 2}
    assert untracked(own / "decided.tsv", ("claims", "scoreboard")) == []
    claims = pd.read_csv(own / RESULTS / "claims.csv", keep_default_na=False).set_index("claim")
    assert claims.loc["tanti2021-c13", ["verdict", "reason"]].tolist() == ["not measured", "table3 is missing"]
    assert claims.loc["tanti2021-c13", "command"] == f"snakemake --profile tests/workflow {RESULTS}/table3.csv"
    assert claims.loc["tanti2021-c01", "verdict"] == "undecided"


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
            assert still_closed == 0 and (closed > 30) == (name in ("claims", "report")), name


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


def test_a_run_that_is_done_reruns_nothing(own):
    """In another place, with other words and file times, and with a measure that nothing asks for."""
    for file, words in {
        "jobs/files.py": ("def sha256(", "# a comment\n\n\ndef sha256("),
        "measures/projection.py": ('"""Projection of hidden states', '"""Another docstring of hidden states'),
        "training/loop.py": ('"""The training loop', '"""A training loop'),
        "jobs/progress.py": ("EVERY = 10.0", "EVERY = 20.0"),
        "papers/tanti2021/config.py": ('"Examples per step."', '"Examples in a step."'),
        "config/tokenisations.py": (
            'description="Maximum number of subwords',
            'description="In other words, maximum number of subwords',
        ),
    }.items():
        edit(own / LIBRARY / file, words)
    add_kind(own, "loudness")
    (own / LIBRARY / "measures/loudness.py").write_text("def measure(subject):\n    return []\n")
    for file in (*own.glob("workflow/scripts/*.py"), *own.glob("resources/**/*.csv")):
        os.utime(file)
    assert planned(own, *ALL, "claims") == []


def test_names_of_languages_rerun_the_figures_that_show_them(edited):
    languages, figure = edited / "resources/languages.csv", f"{RESULTS}/figure2.svg"
    with changed(languages, ("Afrikaans", "Afrikaner")):  # is not of the study
        assert planned(edited, figure) == []
    with changed(languages, ("tr,Turkish", "tr,Türkçe")):
        assert "Draw figure2" in planned(edited, figure)


def test_a_sample_of_all_blocks_is_the_dump(own, tmp_path):
    """Fetching through the workflow: the index, then blocks of a dump, from a mirror; what has no known digest is pinned."""
    mirror, target = tmp_path / "mirror", f"{RESULTS}/corpora/wikipedia/de.train.parquet"
    shutil.copytree(own / RESULTS / "sources/synthetic/wikipedia", mirror / "wikipedia")
    before = pd.read_parquet(own / target)
    edit(
        own / OVERLAY,
        ('source: synthetic\n    file: "wikipedia/{wiki}', 'source: wikipedia\n    file: "{wiki}'),
        ("    blocks: null", "    blocks: 1000"),
    )
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


def items(*names: str) -> list[str]:
    """Patterns of the jobs that make these items, lay out their pages, and lay out the reports that show them."""
    reports = {f"{name.rpartition('/')[0]}/report".lstrip("/") for name in names if name not in SEARCHES}
    return [*(f"* {name}" for name in names), *(f"Lay out {report}" for report in reports)]


def matching(jobs: list[str], patterns: Iterable[str]) -> list[str]:
    """Those of a study's jobs that match a pattern, and the patterns without a *: jobs that the study need not have yet."""
    assert all(any(fnmatchcase(job, pattern) for job in jobs) for pattern in patterns if "*" in pattern)
    found = {job for job in jobs if any(fnmatchcase(job, pattern) for pattern in patterns)}
    return sorted(found | {pattern for pattern in patterns if "*" not in pattern})


GATHERED = "Gather the records of tanti2021"
PROJECTIONS = ["Measure projection of *", *items("figure3", "figure4", "figure5", "figure6")]
REWEIGHTED = "gradient_reversal: { batch: 16 }", "gradient_reversal: { batch: 16, reversal: 0.2 }"
REVERSED = [*items("table2", "table3", "table5", "languages", "epochs", "findings"), GATHERED]  # what shows gradient reversal
CONTROL = [
    job.format(f"tanti2021/{task}/no_adversary")
    for task in ("pos", "nli")
    for job in ("Train {}, seed 0", "Store hidden states of {}, seed 0", "Measure probes of {}, seed 0",
                "Measure classification of {}", "Measure adversary of {}")
]  # fmt: skip
NEW_TRIAL = "tanti2021/pos/frozen/trials02"
PAGE = (f"{LIBRARY}/reports/page.html.j2", f"{LIBRARY}/reports/page.css")
EDITS = {  # independent changes of one dry run: a file, what is edited, and patterns of the jobs that rerun
    "code of t-SNE and of a table, a trial more, a caption, a control more": [
        (f"{LIBRARY}/measures/projection.py", ("init=start", 'init="random"'), PROJECTIONS),
        (f"{LIBRARY}/papers/tanti2021/sizes.py", ('"equal"', '"the same"'), items("dataset_sizes")),
        (
            OVERLAY,
            ("trials: 2,", "trials: 3,"),
            [f"Train the trials of {NEW_TRIAL}, seed 0", f"Measure classification of {NEW_TRIAL}", *items("table5_search")],
        ),
        (
            f"{LIBRARY}/papers/tanti2021/captions.yaml",
            ("does Lang. ID fall", "does language ID fall"),
            ["Lay out table1", "Lay out report"],
        ),
        (OVERLAY, ("no_adversary: null", "no_adversary: {}"), [*CONTROL, *items("table2", "findings"), GATHERED]),
    ],
    "settings of t-SNE, values of trials, a hyperparameter of tagging, a title, tables of another paper": [
        (OVERLAY, ("iterations: 250", "iterations: 260"), PROJECTIONS),
        (
            OVERLAY,
            ("trials: 2,", "trials: 2, head_rate: [1.0e-3],"),
            [f"* {TRIALS}*", *items("table4", "table5", "table5_search")],
        ),
        (OVERLAY, REWEIGHTED, [f"* {RECIPE}*", *items("figure5"), *REVERSED]),
        (f"{LIBRARY}/papers/tanti2021/captions.yaml", ("title: Table 1\n", "title: Table I\n"), ["Lay out table1"]),
        (
            f"{LIBRARY}/papers/muller2021/tables.py",
            ('"muller2021", name', '"muller2021", str(name)'),
            items(*(f"muller2021/table{number}" for number in (1, 2, 5, 6, 7, 8))),
        ),
    ],
    "a hyperparameter of inference, how figures look, code, template and style of pages": [
        (
            f"{LIBRARY}/reports/figures/style.py",
            ("STYLE = {", "STYLE = {} | {"),
            ["Draw *figure*", "Draw liang2021/subspaces", "Write the passport of random"],
        ),
        (f"{LIBRARY}/reports/pages.py", ('"notes": list', '"remarks": list'), ["Lay out *"]),
        (PAGE[0], ("<h1>", "<h1 >"), ["Lay out *"]),
        (PAGE[1], ("76rem", "77rem"), ["Lay out *"]),
        (
            OVERLAY,
            ("gradient_reversal: { batch: 8 }", "gradient_reversal: { batch: 8, reversal: 0.2 }"),
            ["* tanti2021/nli/gradient_reversal*", *items("figure6"), *REVERSED],
        ),
    ],
}  # fmt: skip


def reason(said: str, job: str) -> str:
    """Why a job would run, as a dry run says it."""
    (found,) = re.findall(rf"^Job \d+: {re.escape(job)}\nReason: (.+)$", said, re.MULTILINE)
    return str(found)


@pytest.fixture(scope="module")
def jobs_of_study(edited) -> list[str]:
    """All jobs of the study."""
    return planned(edited, *ALL, "--forceall")


@pytest.mark.parametrize("group", EDITS)
def test_a_change_reruns_what_follows_from_it_and_nothing_else(edited, jobs_of_study, group):
    with contextlib.ExitStack() as stack:
        for file, edits, _ in EDITS[group]:
            stack.enter_context(changed(edited / file, edits))
        said = tiny(edited, *ALL, "-n", "--quiet", "host")
    assert jobs_of(said) == matching(jobs_of_study, [pattern for _, _, patterns in EDITS[group] for pattern in patterns])
    if REWEIGHTED in (edits for _, edits, _ in EDITS[group]):
        found = reason(said, f"Train {RECIPE}, seed 0")
        assert ".reversal: 0.1'" in found and ".reversal: 0.2'" in found and len(found) < 250, found
    for file in {file for file, _, _ in EDITS[group]} & {*PAGE}:
        assert f"{file} " in reason(said, "Lay out table4")


def test_settings_of_one_paper_are_its_own(edited):
    with changed(edited / OVERLAY, ("ner: { epochs: 1, batch: 8 }", "ner: { epochs: 2, batch: 8 }")):
        jobs = planned(edited, "demo", f"{RESULTS}/muller2021/report.html")
    assert "Train muller2021/ner/en/ref, seed 0" in jobs and all("muller2021" in job for job in jobs)


def test_rows_of_a_corpus_rerun_what_follows_and_nothing_of_the_other_task(own):
    """With an encoder that depends on no text, as the published one; a random or trimmed one follows its corpora."""
    overlay = own / OVERLAY
    random_encoder = re.search(r"random: \{ source: random.*\}", overlay.read_text())[0]
    hub = f"random: {{ source: hub, id: some/encoder, revision: {'a' * 40}, depth: 2 }}"
    edit(overlay, (random_encoder, hub))
    tiny(own, "demo", "--touch")
    jobs = planned(own, "demo", "--forceall")

    def following(corpus: str, task: str, *names: str) -> list[str]:
        shown = items(
            "table1", "table2", "table3", "footnote6", "languages", "epochs", "findings", "units", "dataset_sizes", *names
        )
        read = [f"Read {corpus}", f"Tokenise {corpus} for random, without_unknown"]
        return matching(jobs, [*read, f"* tanti2021/{task}*", *shown, GATHERED])

    with changed(own / LIBRARY / "corpora/pairs.py", ('NO_AGREEMENT = "-"', 'NO_AGREEMENT = "?"')):
        assert planned(own, "demo") == following("xnli", "nli", "figure4", "figure6")
    with changed(overlay, ("withheld: clean", "withheld: paper")):
        assert planned(own, "demo") == following("udpos", "pos", "figure3", "figure5", "table5_search")


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


def test_a_change_to_a_corpus_has_it_read_again_and_no_other(edited):
    with contextlib.ExitStack() as stack:
        for file, edits, _ in CORPORA.values():
            stack.enter_context(changed(edited / file, edits))
        jobs = planned(edited, f"{RESULTS}/corpora.csv")
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


def kill_trials(root: Path, target: str, when: Callable[[], object]) -> None:
    """Make trials of the tiny study, and kill the process of their script once something is the case."""
    command = ["timeout", "-k", "5", "900", sys.executable, "-m", "snakemake", "--profile", "tests/workflow", target]
    run = subprocess.Popen(command, cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        deadline = time.monotonic() + 600
        while not when():
            assert run.poll() is None and time.monotonic() < deadline, run.communicate()[0]
            time.sleep(0.01)
        processes = psutil.Process(run.pid).children(recursive=True)
        (script,) = (process for process in processes if any(part.endswith(".train_trials.py") for part in process.cmdline()))
        script.kill()
        said = run.communicate(timeout=600)[0]
    finally:
        if run.poll() is None:
            run.kill()
    assert run.returncode != 0, said


def test_a_killed_search_goes_on_after_its_finished_trials(own):
    edit(own / OVERLAY, ("epochs: 1, language_epochs: 1", "epochs: 60, language_epochs: 1"))
    folder = own / RESULTS / "models" / TRIALS / "seed0"
    target, log = str(folder.relative_to(own)), own / RESULTS / "logs/models" / TRIALS / "seed0.log"

    def predicted() -> list[bytes]:
        return [(folder / f"trial{number:02d}/predictions.parquet").read_bytes() for number in range(2)]

    tiny(own, target)
    undisturbed = predicted()
    shutil.rmtree(folder)
    kill_trials(own, target, lambda: list(folder.parent.glob(".seed0.begun-*/trial00/record.json")))
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
