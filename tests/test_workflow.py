"""The real workflow on hardly any data: what it builds, what reruns after a change, bad input, a kill, and its plans.

`python tests/test_workflow.py` rewrites tests/workflow/plans.json, the job counts that `test_plans` compares with.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

REPOSITORY = Path(__file__).parents[1]
PLANS = REPOSITORY / "tests/workflow/plans.json"
PLANNED = {
    "published": [],
    "demo": ["--profile", "demo"],
    "laptop": ["--profile", "laptop"],
    "slurm": ["--profile", "slurm"],
    "slurm, table 2": ["--profile", "slurm", "results/table2.csv"],
}
OVERLAY = "tests/workflow/overlay.yaml"
RESULTS = "results/tiny"
ITEMS = [f"{RESULTS}/{name}" for name in ("table1.csv", "table2.csv", "table3.csv", "figure3.svg", "figure5.svg")]
RECIPE = "tanti2021/pos/gradient_reversal"
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained")
FIGURES = ["Draw figure3 of tanti2021", "Draw figure5 of tanti2021"]


def copy_repository(root: Path) -> Path:
    """The files of the repository, committed or not, without anything that is built."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith("results/") and (REPOSITORY / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, root / name)
    return root


def command(*options: str) -> list[str]:
    return ["timeout", "-k", "5", "300", sys.executable, "-m", "snakemake", *options]


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "PYTHONPATH": "", "COLUMNS": "200"}


def snakemake(root: Path, *options: str, works: bool = True) -> str:
    """Run Snakemake and return what it said."""
    result = subprocess.run(
        command(*options), cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert (result.returncode == 0) == works, result.stdout
    return result.stdout


def tiny(root: Path, *options: str, works: bool = True) -> str:
    """Run the tiny study."""
    return snakemake(root, "--profile", "tests/workflow", *options, works=works)


def planned(root: Path, *options: str) -> list[str]:
    """What would run: the messages of the rules, or name and wildcards of a rule without one."""
    said = tiny(root, "-n", *options)
    jobs = re.findall(r"^Job \d+: (.+)$", said, re.MULTILINE)
    for rule, block in re.findall(r"^rule (\w+):\n((?:    .*\n)*)", said, re.MULTILINE):
        wildcards = re.search(r"^    wildcards: (.+)$", block, re.MULTILINE)
        jobs += [f"{rule} {wildcards[1]}"] if wildcards else []
    assert jobs or "Nothing to be done" in said, said
    return sorted(set(jobs))


def counts(root: Path, *options: str) -> dict[str, int]:
    """Jobs by rule of a dry run."""
    said = snakemake(root, "-n", *options)
    table = said[said.index("Job stats:") :]
    return {rule: int(number) for rule, number in re.findall(r"^(\w+) +(\d+)$", table.split("\n\n")[0], re.MULTILINE)}


def all_plans(root: Path) -> dict[str, dict[str, int]]:
    return {name: counts(root, *options) for name, options in PLANNED.items()}


@contextlib.contextmanager
def changed(path: Path, *edits: tuple[str, str]) -> Iterator[None]:
    """A file with other text, put back as it was afterwards, its time included."""
    text, status = path.read_bytes(), path.stat()
    edited = text.decode()
    for old, new in edits:
        assert edited.count(old) >= 1, f"{old!r} is not in {path}"
        edited = edited.replace(old, new)
    path.write_text(edited)
    try:
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which the tiny study is built. Tests leave it as they find it."""
    root = copy_repository(tmp_path_factory.mktemp("built"))
    tiny(root)
    return root


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Path:
    """A built copy that the test may spoil."""
    return Path(shutil.copytree(built, tmp_path / "own"))


# --- what it builds -------------------------------------------------------------------------------------------------------


def test_builds_every_table_and_figure_and_is_done(built):
    for item in ITEMS:
        assert (built / item).stat().st_size
        record = json.loads((built / f"{item}.json").read_text())
        assert record["sha256"] and record["trainings"]
    assert not list(built.glob("results/**/*.part-*"))
    assert not list(built.glob("results/**/checkpoint*"))
    assert "Nothing to be done" in tiny(built)


# --- what reruns after a change ---------------------------------------------------------------------------------------------


def test_words_and_file_times_rerun_nothing(built):
    library = built / "workflow/crosslens"
    with (
        changed(library / "files.py", ("def sha256(", "# a comment\n\n\ndef sha256(")),
        changed(library / "measures/projection.py", ('"""t-SNE of hidden states."""', '"""Another docstring."""')),
        changed(library / "training/loop.py", ('"""One training.', '"""A training.')),
        changed(library / "logs.py", ("EVERY = 10.0", "EVERY = 20.0")),
        changed(library / "config/tanti2021.py", ('"texts a step"', '"texts in a step"')),
        changed(library / "config/tokens.py", ('"pieces a text, ', '"pieces of a text, ')),
    ):
        for file in (*built.glob("workflow/scripts/*.py"), *built.glob("resources/**/*.csv")):
            os.utime(file)
        assert planned(built) == []


def test_another_place_reruns_nothing(own):
    assert planned(own) == []


def test_switching_conda_on_reruns_nothing(built, tmp_path):
    subprocess.run([sys.executable, REPOSITORY / "tests/condashim", "install", tmp_path / "conda"], check=True)
    environment_ = environment()
    environment_["PATH"] = f"{tmp_path / 'conda/bin'}:{environment_['PATH']}"
    options = command("--profile", "tests/workflow", "-n", "--sdm", "conda")
    said = subprocess.run(options, cwd=built, env=environment_, capture_output=True, text=True)
    assert "Nothing to be done" in said.stdout + said.stderr, said.stderr


def test_another_mirror_reruns_nothing(own, tmp_path):
    target = "results/laptop/sources/ud-2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    text = tmp_path / "one/ud/r2.7/UD_English-Tiny/en_tiny-ud-test.conllu"
    text.parent.mkdir(parents=True)
    text.write_text("# no digest is known of this file\n")
    snakemake(own, "--profile", "laptop", "--config", f"mirror=['{tmp_path / 'one'}']", "--", target)
    assert (own / target).read_bytes() == text.read_bytes()
    said = snakemake(own, "--profile", "laptop", "-n", "--config", f"mirror=['{tmp_path / 'two'}']", "--", target)
    assert "Nothing to be done" in said


PROJECTIONS = sorted([*FIGURES, *(f"Project tanti2021/pos/{run}, seed 0" for run in RUNS if run != "untrained")])


def test_numerics_of_tsne_rerun_projections_and_figures(built):
    with changed(built / "workflow/crosslens/measures/projection.py", ("init=start", 'init="random"')):
        assert planned(built) == PROJECTIONS


def test_settings_of_tsne_rerun_projections_and_figures(built):
    with changed(built / OVERLAY, ("iterations: 250", "iterations: 260")):
        assert planned(built) == PROJECTIONS


def test_a_hyperparameter_reruns_its_branch_and_no_other_training(built):
    with changed(built / OVERLAY, ("gradient_reversal: { batch: 16 }", "gradient_reversal: { batch: 16, reversal: 0.2 }")):
        assert planned(built) == sorted(
            [
                f"train recipe={RECIPE}, seed=0",
                f"states recipe={RECIPE}, seed=0",
                f"Score {RECIPE}, seed 0",
                f"Cluster {RECIPE}, seed 0",
                f"Probe {RECIPE}, seed 0",
                f"Project {RECIPE}, seed 0",
                "Gather the scores of tanti2021",
                "Make table2 of tanti2021",
                "Make table3 of tanti2021",
                "Draw figure5 of tanti2021",
            ]
        )


# --- bad input ----------------------------------------------------------------------------------------------------------------


def refused(root: Path, target: str) -> list[str]:
    """Ask for a file that cannot be made; returns what Snakemake showed of our errors."""
    said = tiny(root, target, works=False)
    assert "Traceback" not in said, said
    assert not (root / target).exists()
    assert not list(root.glob("results/**/*.part-*"))
    return sorted(set(re.findall(r"^ERROR: (.+)$", said, re.MULTILINE)))


def source(root: Path, pattern: str) -> Path:
    """The one file of the phrasebook that fits a pattern."""
    (found,) = (root / RESULTS / "sources/phrasebook").glob(pattern)
    return found


def test_a_malformed_line_of_a_treebank_is_named(own):
    path = source(own, "ud/*/de_phrasebook-ud-test.conllu")
    lines = path.read_text().split("\n")
    number = next(i for i, line in enumerate(lines) if line.startswith("2\t"))
    lines[number] = lines[number].replace("\t", " ")
    path.write_text("\n".join(lines))
    (error,) = refused(own, f"{RESULTS}/corpora/udpos/de.test.parquet")
    assert error == (
        f"{path.relative_to(own)}:{number + 1}: 1 columns, 10 tab-separated columns expected; "
        "fetch the file again or correct the line"
    )


def test_a_truncated_dump_is_named(own):
    path = source(own, "wikipedia/dewiki/*/*-multistream.xml.bz2")
    path.write_bytes(path.read_bytes()[:-100])
    (error,) = refused(own, f"{RESULTS}/corpora/wikipedia/de.train.parquet")
    assert error.startswith(f"{path.relative_to(own)}: byte ")
    assert "a whole MediaWiki export expected" in error and error.endswith("fetch the file again")
    assert not list((own / RESULTS / "corpora/wikipedia").glob("de.*"))


def test_a_corpus_without_paragraphs_is_named(own):
    with changed(own / OVERLAY, ("    paragraphs: 20\n", "    paragraphs: 20\n    minimum_characters: 100000\n")):
        (error,) = refused(own, f"{RESULTS}/corpora/wikipedia/de.train.parquet")
    assert "no paragraph for de." in error and "name a larger file or a lower minimum" in error


def test_a_misspelt_key_is_named(built):
    with changed(built / OVERLAY, ("perplexity: 5", "perplexty: 5")):
        said = tiny(built, "-n", works=False)
    line = "config.yaml, tests/workflow/overlay.yaml: papers.tanti2021.tsne.perplexty: unknown key; did you mean 'perplexity'?"
    assert line in said.split("\n") and "Traceback" not in said


def test_an_unknown_source_is_named(built):
    with changed(built / OVERLAY, ("source: phrasebook\n    file:", "source: wikipedai\n    file:")):
        said = tiny(built, "-n", works=False)
    assert re.search(r"^.*corpora\.wikipedia\.source: .*'wikipedai'; did you mean 'wikipedia'\?$", said, re.MULTILINE), said


# --- a kill -------------------------------------------------------------------------------------------------------------------


def script_of(process: subprocess.Popen[str], name: str) -> psutil.Process | None:
    """The process of a rule's script below a run of Snakemake."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(part.endswith(f".{name}.py") for part in child.cmdline()):
                    return child
    return None


def test_a_killed_training_goes_on_where_it_was(own):
    """SIGKILL at some moment after a checkpoint; the rest gives the same file as a training that nothing disturbed."""
    loop = own / "workflow/crosslens/training/loop.py"
    loop.write_text(loop.read_text().replace("checkpoint_seconds: float = 300.0", "checkpoint_seconds: float = 0.0"))
    overlay = own / OVERLAY
    overlay.write_text(overlay.read_text().replace("epochs: 1, language_epochs: 1", "epochs: 40, language_epochs: 20"))
    folder = own / RESULTS / "models" / RECIPE / "seed0"
    model, predictions = folder / "model.safetensors", folder / "predictions.parquet"
    target = str(predictions.relative_to(own))
    log = own / RESULTS / "logs/models" / RECIPE / "seed0.log"

    tiny(own, target)
    weights, predicted = load_file(model), predictions.read_bytes()
    assert "resumed" not in log.read_text()
    model.unlink()
    predictions.unlink()

    run = subprocess.Popen(
        command("--profile", "tests/workflow", target), cwd=own, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while not list(folder.glob("checkpoint*")):
            assert run.poll() is None and time.monotonic() < deadline, run.communicate()[0]
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.8))
        victim = script_of(run, "train")
        assert victim
        victim.send_signal(signal.SIGKILL)
        said = run.communicate(timeout=120)[0]
    finally:
        if run.poll() is None:
            run.kill()
    assert run.returncode != 0, said
    assert not predictions.exists()

    tiny(own, target)
    assert "resumed stage" in log.read_text()
    assert predictions.read_bytes() == predicted
    resumed = load_file(model)  # the order of the file's header is not the same each time
    assert resumed.keys() == weights.keys()
    assert all(np.array_equal(resumed[name], weights[name]) for name in weights)
    assert not list(folder.glob("checkpoint*"))
    assert not list(folder.glob(".*.part-*"))


# --- the rules ----------------------------------------------------------------------------------------------------------------


def test_lint(built):
    assert "good condition" in snakemake(built, "--lint")


def test_format_of_rules(built):
    command_ = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "rules"]
    result = subprocess.run(command_, cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_plans(built):
    """The number of jobs by rule, also of scales whose data are not here. After a wanted change: see the top of this file."""
    assert not (built / "../shared/mirror").exists()
    assert all_plans(built) == json.loads(PLANS.read_text())


def test_plan_of_a_table_on_a_cluster_asks_for_gpus(tmp_path):
    root = copy_repository(tmp_path)
    for path in root.glob("rules/**/*.smk"):  # without messages, a dry run shows the resources
        path.write_text(re.sub(r'^    message:\n        ".*"\n', "", path.read_text(), flags=re.MULTILINE))
    said = snakemake(root, "--profile", "slurm", "-n", "results/table2.csv")
    blocks = [block for block in re.split(r"^(?=(?:local)?rule )", said, flags=re.MULTILINE)[1:]]
    asks = Counter(re.match(r"(?:local)?rule (\w+):", block)[1] for block in blocks if "gpu=1" in block)
    counted = json.loads(PLANS.read_text())["slurm, table 2"]
    assert asks == {"train": counted["train"], "states": counted["states"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PLANS.write_text(json.dumps(all_plans(copy_repository(Path(folder))), indent=2) + "\n")
