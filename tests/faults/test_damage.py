"""Bytes that change on disk, files that are cut short and files that are gone: no step reads other data than was written."""

import logging
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from crosslens.config.draws import Draw, Draws
from crosslens.config.heads import TASK
from crosslens.config.readings import Reading
from crosslens.config.units import Units
from crosslens.corpora import schema
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
from crosslens.storage import parquet, records
from crosslens.storage import seals as digests
from crosslens.tokens.schema import counts
from crosslens.tokens.tokenise import write_corpus_tokens
from crosslens.training.run import run as train
from test_training import recipe

LANGUAGE, SPLIT = "en", "test"
LOG = logging.getLogger("crosslens.tests")


@dataclass
class Study:
    """A folder with an artefact of each kind, and for each what the step does that reads it next."""

    root: Path
    steps: dict[str, Callable[[], object]]  # artefact, relative to the folder -> step

    def files(self) -> list[tuple[Path, str]]:
        """Every file, digests too, with the artefact that it is of."""
        pairs = []
        for artefact in self.steps:
            path = self.root / artefact
            files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path, digests.seal_beside(path)]
            pairs += [(file, artefact) for file in sorted(files)]
        return pairs


@pytest.fixture(scope="module")
def study(corpora, encoder_folder, tokens, tmp_path_factory) -> Study:
    """Sentences, a vocabulary, tokens, a training, drawn words and their states, records, a table."""
    root = tmp_path_factory.mktemp("study")
    shutil.copytree(encoder_folder, root / "encoder")
    (root / "corpus").mkdir()
    for sentences in corpora.glob("sentences/*.parquet"):
        for file in (sentences, digests.seal_beside(sentences)):
            shutil.copy(file, root / "corpus" / file.name)
    corpus, own = root / "corpus" / f"{LANGUAGE}.{SPLIT}.parquet", root / "tokens/sentences"
    of = recipe("finetuned", epochs=1)
    of = of.model_copy(update={"stages": of.stages[:1], "scores": of.scores[:1]})
    read = Reading(maximum=24, drop_unknown=False)
    parts = {(file.name.split(".")[0], file.name.split(".")[1]): file for file in (root / "corpus").glob("*.parquet")}
    shared = {"languages": []}
    others = {name: tokens / name for name in ("paragraphs", "pairs")}
    model, draws, states = root / "model", root / "draws", root / "states"

    def tokenise(output: Path = root / "again/tokens") -> None:
        write_corpus_tokens(root / "encoder", parts, output, read, shared, LOG)

    def fit(output: Path = root / "again/model") -> None:
        train(of, 0, root / "encoder", others | {"sentences": own}, output, threads=1, log=LOG)

    def store(output: Path = root / "again/states") -> None:
        weights = [model / "model.safetensors"]
        store_states(
            root / "encoder", weights, draws, {"sentences": own}, output, draws=drawn, layers=[1], units=Units(),
            precision="float32", dtype="float32", threads=1, log=LOG,
        )  # fmt: skip

    def score() -> list[dict[str, object]]:
        labels, definitions = {TASK: of.labels(TASK)}, {TASK: [ACCURACY]}
        return list(classification.measure(Subject(model, 0, {}), labels=labels, definitions=definitions))

    words = Draw(languages=(LANGUAGE,), random_words={"train": 9, "test": 11})
    drawn = Draws(encoder="tiny", reading="whole", unit="word", corpora={"sentences": words})
    tokenise(own)
    fit(model)
    write_draws(drawn, {"sentences": own}, draws)
    store(states)
    records.write(score(), root / "records.parquet", {"paper": "test", "encoder": "tiny", "task": "pos"})
    cell = cells.cell(records.read([root / "records.parquet"])[:1])
    made = cells.table([cells.line("row", "column", ACCURACY, ACCURACY, cell, None)], "test", "table1")
    provenance.write_table(made, root / "table1.csv", {}, {"records": [model / "record.json"]})
    item = {"title": "", "decimals": None}
    return Study(root, {
        f"corpus/{LANGUAGE}.{SPLIT}.parquet": lambda: (schema.read(corpus), parquet.metadata(corpus)),
        "encoder": fit,
        "tokens/sentences": lambda: [load([file], (), ()) for file in sorted(digests.verified(own).glob("*.parquet"))],
        "model/model.safetensors": store,
        "model/predictions.parquet": score,
        "model/history.csv": lambda: list(adversary.measure(Subject(model, 0, {}), head=TASK)),
        "model/record.json": lambda: provenance.write_record(corpus, {}, {"records": [model / "record.json"]}),
        "draws": lambda: read_draws(draws / "sentences"),
        "states": lambda: states_files.read(states / "sentences"),
        "records.parquet": lambda: records.read([root / "records.parquet"]),
        "table1.csv": lambda: _item(item, root / "table1.csv", {}, {}, {}),
        "table1.csv.json": lambda: _item(item, root / "table1.csv", {}, {}, {}),
    })  # fmt: skip


def flipped(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
    file.write_bytes(content)


def cut(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))])


def gone(file: Path, chance: random.Random) -> None:
    file.unlink()


FAULTS: dict[str, Callable[[Path, random.Random], None]] = {
    "A byte of an artefact is flipped": flipped,
    "A file of an artefact is cut short": cut,
    "A file of an artefact is gone": gone,
}


@pytest.mark.parametrize(("fault", "whole"), zip(FAULTS, (300, 60, 60), strict=True))
def test_damage_is_noticed_by_the_next_step(study, often, tally, fault, whole):
    """Each step is told of the damage in one line, which names the file and how to make it again; undone, it runs."""
    found, chance, candidates = tally(fault), random.Random(fault), study.files()
    for _ in range(often(whole, 12)):
        file, artefact = chance.choice(candidates)
        before = file.read_bytes()
        FAULTS[fault](file, chance)
        digests._digest.cache_clear()  # of a process of its own
        try:
            study.steps[artefact]()
            found.silent.append(f"{file}: not noticed")
        except DataError as error:
            said = str(error)
            place = study.root / artefact
            assert str(place) in said or file.name in said, said
            assert "\n" not in said and "build it again" in said
            found.refused += 1
            found.seen = said.replace(f"{study.root}/", "")
        finally:
            file.write_bytes(before)
    digests._digest.cache_clear()
    assert found.silent == []


def test_a_file_that_is_gone_is_missed_by_who_lists_the_folder(study):
    """Else a table would be made of the languages that are left."""
    folder = study.root / "tokens/sentences"
    assert LANGUAGE in counts(folder, SPLIT)
    content = (folder / f"{LANGUAGE}.{SPLIT}.parquet").read_bytes()
    (folder / f"{LANGUAGE}.{SPLIT}.parquet").unlink()
    try:
        with pytest.raises(DataError, match=f"{LANGUAGE}.{SPLIT}.parquet: missing; move {folder} away and build it again"):
            counts(folder, SPLIT)
    finally:
        (folder / f"{LANGUAGE}.{SPLIT}.parquet").write_bytes(content)


def test_what_others_put_into_a_folder_is_no_damage(tmp_path):
    """Notebooks leave hidden folders, and who publishes results a list of digests above them."""
    for name in ("one.csv", "two/part.csv"):
        with digests.sealed(tmp_path / name) as temporary:
            temporary.write_text(name)
    digests.seal(tmp_path / "two")
    (tmp_path / "two/.ipynb_checkpoints").mkdir()
    (tmp_path / "two/.ipynb_checkpoints/part.csv").write_text("x")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  one.csv\n")
    for path in (tmp_path / "one.csv", tmp_path / "two", tmp_path / "two/part.csv"):
        assert digests.verified(path) == path
    (tmp_path / "two/new.csv").write_text("x")
    with pytest.raises(DataError, match="two/new.csv: without the digest"):
        digests.verified(tmp_path / "two")


def test_undamaged_every_step_runs(study):
    for step in study.steps.values():
        step()
