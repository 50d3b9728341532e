"""An artefact in another's place, whole and with its seal: whatever reads it is told which is which."""

import logging
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
from crosslens.config.draws import Draw, Draws
from crosslens.config.heads import TASK
from crosslens.config.units import Units
from crosslens.corpora import schema
from crosslens.encoders.load import load_encoder
from crosslens.encoding import stored as states_files
from crosslens.encoding.drawn import read as read_draws
from crosslens.encoding.drawn import write as write_draws
from crosslens.encoding.dump import run as store_states
from crosslens.encoding.texts import load
from crosslens.measures import adversary, classification
from crosslens.measures.subject import Subject
from crosslens.numerics.definitions import ACCURACY
from crosslens.reports import cells, provenance
from crosslens.reports.pages import _item
from crosslens.runs.errors import DataError
from crosslens.storage import records
from crosslens.storage import seals as digests
from crosslens.storage.parquet import read
from crosslens.tokens.schema import counts
from crosslens.training.run import run as train
from test_training import recipe

LOG = logging.getLogger("crosslens.tests")
RUNS = ("frozen", "finetuned")
Steps = Mapping[str, Mapping[str, Callable[[], object]]]


def beside(path: Path) -> Path:
    """The seal of a file."""
    return path.with_name(f".{path.name}.sha256")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("places") / "results/tiny"


@pytest.fixture(scope="module")
def steps(root, corpora, encoder_folder, pooler_folder, tokens) -> Steps:
    """Kind of artefact -> place below the results -> the step that reads it next: two artefacts of a kind, as jobs write them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(digests.RESULTS, f"elsewhere:{root}")
        for place, folder in {"encoders/tiny": encoder_folder, "encoders/pooler": pooler_folder}.items():
            shutil.copytree(folder, root / place)
            digests.seal(root / place)
        for corpus in ("sentences", "paragraphs"):
            shutil.copytree(tokens / corpus, root / "tokens/tiny/whole" / corpus, ignore=shutil.ignore_patterns(".*"))
            digests.seal(root / "tokens/tiny/whole" / corpus)
        for name in ("en.test", "de.test"):
            copy = root / f"corpora/sentences/{name}.parquet"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpora / f"sentences/{name}.parquet", copy)
            digests.seal(copy)
        for name in ("one", "two"):
            with digests.sealed(root / f"sources/ud/{name}.conllu") as temporary:
                temporary.write_text(name)
            with digests.sealed(root / f"figure{name}.svg") as temporary:
                temporary.write_text(name)
            records.write_json({}, root / f"figure{name}.svg.json")
            draw = Draw(languages=("en",), random_words={"train": 9, "test": 11 + (name == "two")})
            drawn = Draws(encoder="tiny", reading="whole", unit="word", corpora={"sentences": draw})
            write_draws(drawn, {"sentences": root / "tokens/tiny/whole/sentences"}, root / f"draws/{name}")
        for run in RUNS:
            model, states = root / f"models/test/{run}/seed0", root / f"states/test/{run}/seed0"
            of = recipe(run, epochs=1)
            of = of.model_copy(update={"stages": of.stages[:1], "scores": of.scores[:1]})
            train(of, 0, root / "encoders/tiny", {"sentences": root / "tokens/tiny/whole/sentences"}, model, threads=1, log=LOG)
            store_states(
                root / "encoders/tiny", [model / "model.safetensors"], root / "draws/two",
                {"sentences": root / "tokens/tiny/whole/sentences"}, states, draws=drawn, layers=[1], units=Units(),
                precision="float32", dtype="float32", threads=1, log=LOG,
            )  # fmt: skip
            scores = classification.measure(Subject(model, 0, {}), labels={TASK: of.labels(TASK)}, definitions={TASK: [ACCURACY]})
            measure = root / f"measures/classification/test/{run}.parquet"
            records.write(scores, measure, {"paper": "test", "encoder": "tiny", "task": "pos"})
            cell = cells.cell(records.read([measure])[:1])
            table = cells.table([cells.line("row", "column", ACCURACY, ACCURACY, cell, None)], "test", run)
            provenance.write_table(table, root / f"{run}.csv", {}, {"records": [model / "record.json"]})
    seed0 = "models/test/{}/seed0"
    item = {"title": "", "decimals": None}

    def of(places: tuple[str, ...], step: Callable[[Path], object]) -> dict[str, Callable[[], object]]:
        return {place: lambda place=place: step(root / place) for place in places}

    def of_runs(pattern: str, step: Callable[[Path], object]) -> dict[str, Callable[[], object]]:
        return of(tuple(pattern.format(run) for run in RUNS), step)

    def predicted(path: Path) -> object:
        return list(classification.measure(Subject(path.parent, 0, {}), labels={TASK: LABELS}, definitions={TASK: [ACCURACY]}))

    LABELS = recipe().labels(TASK)  # noqa: N806
    return {
        "sources": of(("sources/ud/one.conllu", "sources/ud/two.conllu"), digests.verified),
        "corpora": of(("corpora/sentences/en.test.parquet", "corpora/sentences/de.test.parquet"), schema.read),
        "encoders": of(("encoders/tiny", "encoders/pooler"), lambda path: load_encoder(digests.verified(path))),
        "tokens": of(("tokens/tiny/whole/sentences", "tokens/tiny/whole/paragraphs"), lambda path: counts(path, "test")),
        "tokens, a file": of(
            ("tokens/tiny/whole/sentences/en.test.parquet", "tokens/tiny/whole/sentences/de.test.parquet"),
            lambda path: load([path], (), ()),
        ),
        "draws": of(("draws/one", "draws/two"), lambda path: read_draws(path / "sentences")),
        "weights": of_runs(f"{seed0}/model.safetensors", digests.verified),
        "predictions": of_runs(f"{seed0}/predictions.parquet", predicted),
        "history": of_runs(f"{seed0}/history.csv", lambda path: list(adversary.measure(Subject(path.parent, 0, {}), head=TASK))),
        "record": of_runs(f"{seed0}/record.json", records.read_json),
        "states": of_runs("states/test/{}/seed0", lambda path: states_files.read(path / "sentences")),
        "measures": of_runs("measures/classification/test/{}.parquet", lambda path: records.read([path])),
        "tables": of_runs("{}.csv", lambda path: _item(item, path, {}, {}, {})),
        "records of tables": of_runs("{}.csv.json", lambda path: _item(item, path.with_suffix(""), {}, {}, {})),
        "figures": of(("figureone.svg", "figuretwo.svg"), lambda path: _item(item, path, {}, {}, {})),
        "any Parquet": of(("measures/classification/test/frozen.parquet", "corpora/sentences/en.test.parquet"), read),
    }  # fmt: skip


def put(artefact: Path, place: Path, sealed: bool) -> None:
    """Copy an artefact to another's place, with its seal or, of a file, beside that of the other."""
    if artefact.is_dir():
        shutil.rmtree(place)
        shutil.copytree(artefact, place)
    else:
        shutil.copy2(artefact, place)
        if sealed and beside(artefact).exists():
            shutil.copy2(beside(artefact), beside(place))


def test_an_artefact_in_anothers_place(steps, root, tmp_path, often, tally):
    """Of the same kind, in either direction; undone, the step runs."""
    found, chance = tally("an artefact in another's place"), random.Random("places")
    pairs = [(kind, place, other) for kind, places in steps.items() for place, other in permutations(places, 2)]
    tries = often(200, len(pairs))
    chosen = pairs if tries == len(pairs) else [chance.choice(pairs) for _ in range(tries)]
    for number, (kind, place, other) in enumerate(chosen):
        sealed = number % 4 != 3
        path, aside = root / place, tmp_path / "aside"
        shutil.copytree(root, aside)
        put(root / other, path, sealed)
        digests._digest.cache_clear()  # of a process of its own
        try:
            steps[kind][place]()
            found.silent.append(f"{other} in the place of {place}")
        except DataError as error:
            said = str(error)
            assert "\n" not in said and place in said and "build it again" in said, said
            if path.is_dir() or sealed and beside(path).exists():
                expected = f"{path}: expected what belongs here, found what was made as {other}; restore the right one, or move "
                assert said.startswith(expected), said
                found.seen = said.replace(f"{root}/", "results/")
            found.refused += 1
        finally:
            shutil.rmtree(root)
            shutil.move(aside, root)
        digests._digest.cache_clear()
        steps[kind][place]()
    assert found.silent == []


def test_results_under_another_name_and_links_are_read(steps, root, tmp_path, monkeypatch):
    for name in ("results/renamed", "moved"):
        shutil.copytree(root, tmp_path / name)
        assert digests.verified(tmp_path / name / "frozen.csv").exists()
        assert digests.verified(tmp_path / name / "tokens/tiny/whole/sentences/en.test.parquet").exists()
    (tmp_path / "link").symlink_to(root)
    assert digests.verified(tmp_path / "link/models/test/frozen/seed0/history.csv").exists()
    monkeypatch.chdir(root / "models/test/frozen")
    assert digests.verified(Path("seed0/history.csv")).exists()


def test_seals_from_before_they_said_what_they_seal_are_read(tmp_path):
    (tmp_path / "table1.csv").write_text("x")
    digests.seal(tmp_path / "table1.csv")
    assert not digests.read_seal(tmp_path / "table1.csv").notes
    assert digests.verified(tmp_path / "table1.csv").exists()


def test_sha256sum_checks_seals_that_say_what_they_seal(steps, root):
    assert len(digests.read_seal(root / "encoders/tiny").notes) == 1
    for folder, seal in (("encoders/tiny", digests.SUMS), ("models/test/frozen/seed0", ".history.csv.sha256")):
        done = subprocess.run(["sha256sum", "--check", "--strict", seal], cwd=root / folder, capture_output=True, text=True)
        assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
