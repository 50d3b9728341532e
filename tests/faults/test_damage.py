"""Damaged, missing and misplaced artefacts: no step reads other data than was written for it."""

import logging
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
from crosslens.config.heads import TASK
from crosslens.config.samples import Samples, Sampling
from crosslens.config.units import Units
from crosslens.corpora import schema
from crosslens.encoding import stored_states as states_files
from crosslens.encoding.dump import run as store_states
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.samples import read as read_samples
from crosslens.encoding.samples import write as write_samples
from crosslens.encoding.texts import load
from crosslens.encoding.tokens.schema import counts
from crosslens.jobs import checksums, records
from crosslens.jobs.errors import DataError
from crosslens.jobs.parquet import read
from crosslens.measures import adversary, classification
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import ACCURACY
from crosslens.reports import cells, provenance
from crosslens.reports.pages import _item
from crosslens.training.run import run as train
from test_training import recipe

LOG = logging.getLogger("crosslens.tests")
RUNS = ("frozen", "finetuned")
Steps = Mapping[str, Mapping[str, Callable[[], object]]]


def beside(path: Path) -> Path:
    """The checksum file of a file."""
    return path.with_name(f".{path.name}.sha256")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("places") / "results/tiny"


@pytest.fixture(scope="module")
def steps(root, corpora, encoder_folder, pooler_folder, tokens) -> Steps:
    """Kind of artefact -> place below the results -> the step that reads it next: two artefacts of a kind, as jobs write them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(checksums.RESULTS, f"elsewhere:{root}")
        for place, folder in {"encoders/tiny": encoder_folder, "encoders/pooler": pooler_folder}.items():
            shutil.copytree(folder, root / place)
            checksums.write_checksums(root / place)
        for corpus in ("sentences", "paragraphs"):
            shutil.copytree(tokens / corpus, root / "tokens/tiny/whole" / corpus, ignore=shutil.ignore_patterns(".*"))
            checksums.write_checksums(root / "tokens/tiny/whole" / corpus)
        for name in ("en.test", "de.test"):
            copy = root / f"corpora/sentences/{name}.parquet"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpora / f"sentences/{name}.parquet", copy)
            checksums.write_checksums(copy)
        for name in ("one", "two"):
            with checksums.checksummed(root / f"sources/ud/{name}.conllu") as temporary:
                temporary.write_text(name)
            with checksums.checksummed(root / f"figure{name}.svg") as temporary:
                temporary.write_text(name)
            records.write_json({}, root / f"figure{name}.svg.json")
            draw = Sampling(languages=("en",), random_words={"train": 9, "test": 11 + (name == "two")})
            sampled = Samples(encoder="tiny", tokenisation="whole", unit="word", corpora={"sentences": draw})
            write_samples(sampled, {"sentences": root / "tokens/tiny/whole/sentences"}, root / f"samples/{name}")
        for run in RUNS:
            model, states = root / f"models/test/{run}/seed0", root / f"states/test/{run}/seed0"
            of = recipe(run, epochs=1)
            of = of.model_copy(update={"stages": of.stages[:1], "scores": of.scores[:1]})
            train(of, 0, root / "encoders/tiny", {"sentences": root / "tokens/tiny/whole/sentences"}, model, threads=1, log=LOG)
            store_states(
                root / "encoders/tiny", [model / "model.safetensors"], root / "samples/two",
                {"sentences": root / "tokens/tiny/whole/sentences"}, states, samples=sampled, layers=[1], units=Units(),
                precision="float32", dtype="float32", threads=1, log=LOG,
            )  # fmt: skip
            scores = classification.measure(Subject(model, 0, {}), labels={TASK: of.labels(TASK)}, definitions={TASK: [ACCURACY]})
            measure = root / f"measures/classification/test/{run}.parquet"
            records.write(scores, measure, {"paper": "test", "encoder": "tiny", "task": "pos"})
            cell = cells.cell(records.read([measure])[:1])
            table = cells.table([cells.line("row", "column", ACCURACY, ACCURACY, cell, None)], "test", run)
            provenance.write_table(table, root / f"{run}.csv", {}, {"records": [model / "record.json"]})
    seed0 = "models/test/{}/seed0"
    item = {"decimals": None, "decides": ()}

    def of(places: tuple[str, ...], step: Callable[[Path], object]) -> dict[str, Callable[[], object]]:
        return {place: lambda place=place: step(root / place) for place in places}

    def of_runs(pattern: str, step: Callable[[Path], object]) -> dict[str, Callable[[], object]]:
        return of(tuple(pattern.format(run) for run in RUNS), step)

    def predicted(path: Path) -> object:
        return list(classification.measure(Subject(path.parent, 0, {}), labels={TASK: LABELS}, definitions={TASK: [ACCURACY]}))

    LABELS = recipe().labels(TASK)  # noqa: N806
    return {
        "sources": of(("sources/ud/one.conllu", "sources/ud/two.conllu"), checksums.verified),
        "corpora": of(("corpora/sentences/en.test.parquet", "corpora/sentences/de.test.parquet"), schema.read),
        "encoders": of(("encoders/tiny", "encoders/pooler"), lambda path: load_encoder(checksums.verified(path))),
        "tokens": of(("tokens/tiny/whole/sentences", "tokens/tiny/whole/paragraphs"), lambda path: counts(path, "test")),
        "tokens, a file": of(
            ("tokens/tiny/whole/sentences/en.test.parquet", "tokens/tiny/whole/sentences/de.test.parquet"),
            lambda path: load([path], (), ()),
        ),
        "samples": of(("samples/one", "samples/two"), lambda path: read_samples(path / "sentences")),
        "weights": of_runs(f"{seed0}/model.safetensors", checksums.verified),
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


def files(root: Path, place: str) -> list[Path]:
    """Every file of an artefact, its checksum file too."""
    path = root / place
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path, beside(path)]


def refused(step: Callable[[], object]) -> str:
    """The error, in one line, with which a step refuses to read."""
    checksums._digest.cache_clear()  # of a process of its own
    with pytest.raises(DataError) as error:
        step()
    said = str(error.value)
    assert "\n" not in said and "build it again" in said, said
    return said


def flipped(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ chance.randrange(1, 256)]) + content[place + 1 :]


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


FAULTS = {
    "A byte of an artefact is flipped": flipped,
    "A file of an artefact is cut short": cut,
    "A file of an artefact is gone": None,
}


@pytest.mark.parametrize(("fault", "whole"), zip(FAULTS, (300, 60, 60), strict=True))
def test_damage_is_noticed_by_the_next_step(steps, root, often, tally, fault, whole):
    """Each step is told of the damage in one line, which names the file and how to make it again; undone, it runs."""
    found, chance = tally(fault), random.Random(fault)
    parts = [("sources", "sources/ud/two.conllu"), ("tokens, a file", "tokens/tiny/whole/sentences/de.test.parquet")]
    candidates = [*parts, *((kind, place) for kind, places in steps.items() for place in list(places)[:1])]
    for number in range(often(whole, len(candidates))):
        kind, place = candidates[number % len(candidates)]
        file = chance.choice([file for file in files(root, place) if file.exists()])
        before = file.read_bytes()
        damage = FAULTS[fault]
        file.write_bytes(damage(before, chance)) if damage else file.unlink()
        try:
            found.seen = refused(steps[kind][place]).replace(f"{root}/", "")
            assert place in found.seen or file.name in found.seen
            found.refused += 1
        finally:
            file.write_bytes(before)
        checksums._digest.cache_clear()
        steps[kind][place]()


def put(artefact: Path, place: Path, checksummed: bool) -> None:
    """Copy an artefact to another's place, with its checksum file or, of a file, beside that of the other."""
    if artefact.is_dir():
        shutil.rmtree(place)
        shutil.copytree(artefact, place)
    else:
        shutil.copy2(artefact, place)
        if checksummed and beside(artefact).exists():
            shutil.copy2(beside(artefact), beside(place))


def test_an_artefact_in_anothers_place(steps, root, tmp_path, often, tally):
    """An artefact of the same kind is put into the place of another, in either direction, with and without its checksum file."""
    found = tally("an artefact in another's place")
    pairs = [(kind, place, other) for kind, places in steps.items() for place, other in permutations(places, 2)]
    for number, (kind, place, other) in enumerate(pairs * often(6, 1)):
        path, aside, checksummed = root / place, tmp_path / "aside", number % 4 != 3
        shutil.copytree(root, aside)
        try:
            put(root / other, path, checksummed)
            said = refused(steps[kind][place])
            assert place in said
            if path.is_dir() or checksummed and beside(path).exists():
                expected = f"{path}: expected what belongs here, found what was made as {other}; restore the right one, or move "
                assert said.startswith(expected), said
                found.seen = said.replace(f"{root}/", "results/")
            found.refused += 1
        finally:
            shutil.rmtree(root)
            shutil.move(aside, root)


def test_results_under_another_name_and_links_are_read(steps, root, tmp_path, monkeypatch):
    shutil.copytree(root, tmp_path / "moved")
    assert checksums.verified(tmp_path / "moved/frozen.csv").exists()
    assert checksums.verified(tmp_path / "moved/tokens/tiny/whole/sentences/en.test.parquet").exists()
    (tmp_path / "link").symlink_to(root)
    assert checksums.verified(tmp_path / "link/models/test/frozen/seed0/history.csv").exists()
    monkeypatch.chdir(root / "models/test/frozen")
    assert checksums.verified(Path("seed0/history.csv")).exists()


def test_sha256sum_checks_checksum_files_that_say_what_they_are_of(steps, root):
    assert len(checksums.read_checksums(root / "encoders/tiny").notes) == 1
    for folder, sums in (("encoders/tiny", checksums.SUMS), ("models/test/frozen/seed0", ".history.csv.sha256")):
        done = subprocess.run(["sha256sum", "--check", "--strict", sums], cwd=root / folder, capture_output=True, text=True)
        assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr


def test_what_others_put_into_a_folder_is_no_damage(tmp_path):
    """Notebooks leave hidden folders, and who publishes results a list of digests above them."""
    for name in ("one.csv", "two/part.csv"):
        with checksums.checksummed(tmp_path / name) as temporary:
            temporary.write_text(name)
    checksums.write_checksums(tmp_path / "two")
    (tmp_path / "two/.ipynb_checkpoints").mkdir()
    (tmp_path / "two/.ipynb_checkpoints/part.csv").write_text("x")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  one.csv\n")
    for path in (tmp_path / "one.csv", tmp_path / "two", tmp_path / "two/part.csv"):
        assert checksums.verified(path) == path
    (tmp_path / "two/new.csv").write_text("x")
    with pytest.raises(DataError, match="two/new.csv: without the digest"):
        checksums.verified(tmp_path / "two")
