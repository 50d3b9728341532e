"""States computed with a training run's final weights, left for the job that stores those of sampled words."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import LANGUAGES, NLI, UPOS
from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples, Sampling
from crosslens.encoding import dump, extract, final_states
from crosslens.encoding.samples import write as write_samples
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.machine import machine
from crosslens.training.model import EncoderWithHeads, Trained
from crosslens.training.run import run, states_by_file
from safetensors.torch import load_file, save_file
from test_training import TEST, nli, recipe

WORDS = recipe()
RECIPES = {
    "words": WORDS,
    "words, bfloat16": recipe(precision="bfloat16"),
    "words, a frozen encoder": recipe("frozen"),
    "texts": nli(),
    "texts, bfloat16": nli(precision="bfloat16"),
    "texts, pooler": nli(state="pooler"),
}


class Study:
    """Training runs in a folder, and states of words that are drawn from texts that these encode last."""

    def __init__(self, bench, tokens: Path, folder: Path) -> None:
        self.bench, self.tokens, self.folder, self.log = bench, tokens, folder, logging.getLogger("crosslens.tests")
        self.weights, self.file = folder / "seed0/model.safetensors", folder / "seed0/states.safetensors"

    def encoder(self, of: Recipe) -> Path:
        return self.bench.pooler_folder if of.units.state == "pooler" else self.bench.encoder_folder

    def train(self, of: Recipe, *, leaves_states: bool = True) -> None:
        corpora = {corpus: self.tokens / corpus for corpus, *_ in of.files()}
        run(of, 0, self.encoder(of), corpora, self.weights.parent, threads=1, log=self.log, leaves_states=leaves_states)

    def store(self, of: Recipe = WORDS, draw: dict[str, Any] | None = None, **changes: Any) -> dict[str, bytes]:
        """Store states and return their files by name."""
        corpus, labels = ("sentences", UPOS) if of.units.unit == "word" else ("pairs", NLI)
        random_words = {corpus: {"test": 12}, "paragraphs": {"train": 3}}
        corpora = {
            name: Sampling(**{"languages": LANGUAGES, "random_words": sampled} | (draw or {}))
            for name, sampled in random_words.items()
        }
        samples = Samples(encoder="tiny", tokenisation="whole", unit=of.units.unit, labels=labels, corpora=corpora)
        tokens, words, states = {name: self.tokens / name for name in corpora}, self.folder / "samples", self.folder / "states"
        write_samples(samples, tokens, words)
        options = {"layers": [], "units": of.units, "precision": "float32", "dtype": "float32"} | changes
        dump.run(self.encoder(of), [self.weights], words, tokens, states, samples=samples, threads=1, log=self.log, **options)
        return {str(path.relative_to(states)): path.read_bytes() for path in states.glob("*/*.parquet")}


@pytest.fixture(scope="module")
def trained(bench, tokens, tmp_path_factory) -> Study:
    study = Study(bench, tokens, tmp_path_factory.mktemp("trained"))
    study.train(WORDS)
    return study


@pytest.fixture
def copy(bench, tokens, trained, tmp_path) -> Study:
    shutil.copytree(trained.folder, tmp_path, dirs_exist_ok=True)
    return Study(bench, tokens, tmp_path)


@pytest.fixture
def loads(monkeypatch) -> list[object]:
    """Encoders that are loaded to compute states."""
    encoders, load = [], dump.load_encoder
    monkeypatch.setattr(dump, "load_encoder", lambda *given, **options: encoders.append(given) or load(*given, **options))
    return encoders


@pytest.mark.parametrize("name", RECIPES)
def test_states_are_the_same_bytes_with_and_without_those_that_were_left(bench, tokens, tmp_path, loads, name):
    study = Study(bench, tokens, tmp_path)
    study.train(RECIPES[name])
    assert study.file.exists()
    states = study.store(RECIPES[name])
    assert not loads
    assert {path.name for path in study.weights.parent.iterdir() if "states" in path.name} == set()
    assert study.store(RECIPES[name]) == states
    assert len(loads) == 1
    assert len(states) == 2 * len(LANGUAGES)


def damage(copy: Study) -> None:
    content = bytearray(copy.file.read_bytes())
    content[-5] ^= 1
    copy.file.write_bytes(content)


def replace_weights(copy: Study) -> None:
    state = {name: value * 1.5 if name.startswith("encoder.") else value for name, value in load_file(copy.weights).items()}
    save_file(state, copy.weights, metadata={"format": "pt", "encoder": "yes"})
    write_checksums(copy.weights)


@pytest.mark.parametrize("fault", [damage, replace_weights])
def test_states_that_do_not_fit_are_not_read(copy, loads, fault: Callable[[Study], None]):
    fault(copy)
    states = copy.store()
    assert len(loads) == 1
    assert not copy.file.exists()
    assert copy.store() == states


@pytest.mark.parametrize(
    "changes",
    [{"layers": [0]}, {"precision": "bfloat16"}, {"units": WORDS.units.model_copy(update={"segments": True})},
     {"draw": {"all_layers": True}}, {"draw": {"random_words": {"validation": 3, "test": 5}}}],
)  # fmt: skip
def test_other_states_than_those_that_were_left_are_computed(copy, loads, changes):
    states = copy.store(**changes)
    assert len(loads) == 1
    assert copy.store(**changes) == states


def test_states_of_another_machine_are_not_read(copy, loads, monkeypatch):
    monkeypatch.setattr(dump, "machine", lambda threads, precision: machine(threads + 1, precision))
    copy.store()
    assert len(loads) == 1


def test_states_are_left_of_whole_files_of_the_units_that_are_drawn(bench):
    part, few = bench.texts(TEST), TEST.model_copy(update={"texts": 2})
    files = {key: Path("/".join(key)) for key in TEST.files()}
    states = torch.arange(len(part.positions), dtype=torch.float32)[:, None]
    of_data = {TEST: states, few: states[:9]}
    trained = Trained(EncoderWithHeads(bench.encoder(), {}), False, [], [], of_data)
    arrays = states_by_file({TEST: part, few: part}, files, trained)
    assert list(arrays) == list(files.values())
    assert np.array_equal(np.concatenate(list(arrays.values())), states.numpy())
    with_roots = replace(part, targets=np.ones(len(part.positions), bool))  # units before the words of each text
    assert states_by_file({TEST: with_roots, few: part}, files, trained) == {}


def test_of_large_files_nothing_is_left_and_only_texts_with_drawn_words_are_encoded(bench, tokens, tmp_path, monkeypatch):
    study = Study(bench, tokens, tmp_path)
    for module in (extract, final_states):
        monkeypatch.setattr(module, "WHOLE_BYTES", 1000)
    study.train(WORDS)
    assert study.weights.exists()
    assert not study.file.exists()
    lengths, encode = [], extract.for_each_batch
    monkeypatch.setattr(extract, "for_each_batch", lambda texts, *rest: lengths.append(len(texts)) or encode(texts, *rest))
    study.store()
    assert len(lengths) == 2 * len(LANGUAGES)
    assert max(lengths) <= 12  # words


def test_nothing_is_left_where_no_words_are_drawn(bench, tokens, tmp_path):
    study = Study(bench, tokens, tmp_path)
    study.train(WORDS, leaves_states=False)
    assert study.weights.exists()
    assert not study.file.exists()
