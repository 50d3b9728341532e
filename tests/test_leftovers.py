"""States that a training has computed with its final weights, which it leaves for the job that stores those of drawn words."""

import logging
import shutil

import numpy as np
import pytest
from conftest import LANGUAGES, UPOS
from crosslens.config.draws import Draw, Draws
from crosslens.config.heads import LANGUAGE, TASK, LinearHead
from crosslens.config.units import Units
from crosslens.encoding import dump, leftovers
from crosslens.encoding import stored as states_files
from crosslens.encoding.drawn import write as write_draws
from crosslens.recipes import ENCODER, Data, Phase, Recipe, Score, Stage, Term
from crosslens.storage.seals import seal
from crosslens.training.run import run
from safetensors.torch import load_file, save_file

TRAIN, TEST = (Data(corpus="sentences", split=split, languages=LANGUAGES) for split in ("train", "test"))
DRAWS = Draws(
    encoder="tiny", reading="whole", unit="word", labels=UPOS,
    corpora={"sentences": Draw(languages=LANGUAGES, random_words={"train": 8, "test": 12}, sample_per_label=2)},
)  # fmt: skip


def recipe() -> Recipe:
    """A tagger, and after it a head for languages, for which the words of the training data are encoded once more."""
    common = {"epochs": 1, "batch": 32, "head_rate": 5e-3, "select_data": TEST}
    stages = tuple(
        Stage(
            name=head, phases=(Phase(terms=(Term(head=head, data=TRAIN),), update=update),), new_heads=(head,), select_head=head,
            encoder_rate=2e-3, **common,
        )
        for head, update in ((TASK, (ENCODER, TASK)), (LANGUAGE, (LANGUAGE,)))
    )  # fmt: skip
    heads = {TASK: LinearHead(labels=UPOS), LANGUAGE: LinearHead(learns=LANGUAGE, labels=LANGUAGES)}
    scores = (Score(head=TASK, data=TEST),)
    return Recipe(
        name="test/left", encoder="tiny", reading="whole", heads=heads, stages=stages, scores=scores, init_sd=0.02, dropout=0.1
    )


@pytest.fixture(scope="module")
def trained(bench, sealed_sentences, tmp_path_factory):
    """Folder of a training that left states, and of the words that are drawn."""
    folder, log = tmp_path_factory.mktemp("left"), logging.getLogger("crosslens.tests")
    tokens = {"sentences": sealed_sentences}
    run(recipe(), 0, bench.encoder_folder, tokens, folder / "seed0", threads=1, log=log, leaves_states=True)
    write_draws(DRAWS, {"sentences": sealed_sentences}, folder / "draws")
    return folder


def store(bench, tokens, folder, log, output, **changes) -> states_files.States:
    options = {"draws": DRAWS, "layers": [], "units": Units(), "precision": "float32", "dtype": "float32"} | changes
    weights, output = folder / "seed0/model.safetensors", folder / output
    dump.run(bench.encoder_folder, [weights], folder / "draws", {"sentences": tokens}, output, threads=1, log=log, **options)
    return states_files.read(output / "sentences")


@pytest.fixture
def copy(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy")


def test_drawn_words_of_texts_that_were_encoded_are_not_encoded_again(bench, sealed_sentences, copy, log, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(dump, "load_encoder", lambda *_, **__: pytest.fail("the encoder was loaded"))
        left = store(bench, sealed_sentences, copy, log, "left")
    weights = copy / "seed0/model.safetensors"
    leftovers.discard(weights)
    assert not [path for path in weights.parent.iterdir() if leftovers.FILE in path.name]
    encoded = store(bench, sealed_sentences, copy, log, "encoded")
    assert np.allclose(left.vectors, encoded.vectors, atol=1e-5)
    assert left.words.tolist() == encoded.words.tolist()


def damage(copy):
    file = copy / "seed0" / leftovers.FILE
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)


def replace_weights(copy):
    file = copy / "seed0/model.safetensors"
    state = {name: value * 1.5 if name.startswith("encoder.") else value for name, value in load_file(file).items()}
    save_file(state, file, metadata={"format": "pt", "encoder": "yes"})
    seal(file)


@pytest.mark.parametrize("fault", [damage, replace_weights, lambda copy: (copy / "seed0" / leftovers.FILE).write_bytes(b"")])
def test_states_that_do_not_fit_are_not_used(bench, sealed_sentences, copy, log, fault):
    fault(copy)
    stored = store(bench, sealed_sentences, copy, log, "states")
    leftovers.discard(copy / "seed0/model.safetensors")
    assert np.array_equal(stored.vectors, store(bench, sealed_sentences, copy, log, "encoded").vectors)


@pytest.mark.parametrize("changes", [{"layers": [0]}, {"precision": "bfloat16"}, {"units": Units(segments=True)}])
def test_other_states_than_those_that_were_left_are_encoded(bench, sealed_sentences, copy, log, monkeypatch, changes):
    encoders, original = [], dump.load_encoder
    monkeypatch.setattr(dump, "load_encoder", lambda *given, **options: encoders.append(given) or original(*given, **options))
    store(bench, sealed_sentences, copy, log, "left")
    assert not encoders
    store(bench, sealed_sentences, copy, log, "states", **changes)
    assert len(encoders) == 1


def test_states_of_other_tokens_or_units_are_not_read(bench, sealed_sentences, copy, tmp_path):
    other = shutil.copytree(sealed_sentences, tmp_path / "sentences")
    shutil.copy(other / "de.train.parquet", other / "de.test.parquet")
    number = len(bench.texts(TEST.model_copy(update={"languages": ("de",)})).positions)

    def left(tokens, number):
        return [*leftovers.read(bench.encoder_folder, copy / "seed0/model.safetensors", Units(), tokens, number)]

    assert left(sealed_sentences / "de.test.parquet", number) == ["layer_2"]
    assert left(other / "de.test.parquet", number) == left(sealed_sentences / "de.validation.parquet", number) == []
    assert left(sealed_sentences / "de.test.parquet", number + 1) == []


def test_nothing_is_left_where_no_words_are_drawn_or_states_are_large(bench, sealed_sentences, log, tmp_path, monkeypatch):
    arguments = (0, bench.encoder_folder, {"sentences": sealed_sentences})
    run(recipe(), *arguments, tmp_path / "undrawn", threads=1, log=log)
    monkeypatch.setattr(leftovers, "BYTES", 1000)
    run(recipe(), *arguments, tmp_path / "large", threads=1, log=log, leaves_states=True)
    assert len([*tmp_path.rglob("model.safetensors")]) == 2
    assert not [*tmp_path.rglob(f"*{leftovers.FILE}*")]
