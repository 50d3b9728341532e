"""Hidden states: which words, which layers, on disk and back."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from conftest import LANGUAGES, UPOS
from crosslens.config.states import Draw
from crosslens.recipes import Data
from crosslens.states import files as states_files
from crosslens.states.draw import draw
from crosslens.states.extract import extract
from crosslens.states.run import run
from crosslens.training.texts import Texts

TEST = Data(corpus="sentences", split="test", languages=LANGUAGES)


def naive(encoder, texts, rows):
    """One sentence at a time, all layers: (layers, n_rows, d)."""
    found = []
    for row in rows:
        text = int(np.searchsorted(texts.word_offsets, row, side="right")) - 1
        pieces = texts.pieces[texts.piece_offsets[text] : texts.piece_offsets[text + 1]]
        with torch.inference_mode():
            output = encoder(input_ids=torch.tensor(pieces[None].astype(np.int64)), output_hidden_states=True)
        found.append([layer[0, texts.positions[row]].numpy() for layer in output.hidden_states])
    return np.array(found).swapaxes(0, 1)


def chosen_rows(texts, n=40):
    return np.sort(np.random.default_rng(0).choice(len(texts.positions), n, replace=False))


def test_states_are_those_of_a_naive_loop_at_every_layer(bench):
    texts, encoder = bench.texts(TEST), bench.encoder()
    rows = chosen_rows(texts)
    found = extract(encoder, texts, rows, [0, 1, 2])
    expected = naive(encoder, texts, rows)
    for layer in range(3):
        assert np.allclose(found[layer], expected[layer], atol=1e-5), layer
    assert np.allclose(extract(encoder, texts, rows, [2])[2], expected[2], atol=1e-5)  # the last alone takes another way


def test_layer_zero_is_the_embedding_output(bench):
    texts, encoder = bench.texts(TEST), bench.encoder()
    row = np.array([0])
    pieces = torch.tensor(texts.pieces[None, : texts.piece_offsets[1]].astype(np.int64))
    with torch.inference_mode():
        embedded = encoder.embeddings(input_ids=pieces)[0, texts.positions[0]].numpy()
    assert np.allclose(extract(encoder, texts, row, [0])[0][0], embedded, atol=1e-6)


def test_no_words_no_states(bench):
    found = extract(bench.encoder(), bench.texts(TEST), np.zeros(0, np.int64), [0, 2])
    assert {layer: values.shape for layer, values in found.items()} == {0: (0, 32), 2: (0, 32)}


# Which words.


def texts_of(labels, lengths):
    """Texts with planted labels, one piece a word."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    return Texts(
        [str(i) for i in range(len(lengths))], ["en"] * len(lengths), np.arange(n, dtype=np.int32), offsets,
        np.concatenate([np.arange(k) for k in lengths]), offsets, ["w"] * n,
        {"task": np.asarray(labels), "language": np.zeros(n, int)},
    )  # fmt: skip


@pytest.fixture
def planted():
    lengths = [5, 0, 8, 3, 9, 1, 14]
    labels = np.random.default_rng(0).choice([0, 0, 0, 1, 2, -100], sum(lengths))
    return texts_of(labels, lengths)


def test_sample_by_label_takes_each_up_to_its_cap(planted):
    rows, sample, random = draw(planted, "test", Draw(sample_per_label=4))
    labels = planted.labels["task"]
    assert sample.all() and not random.any()
    for label in (0, 1, 2):
        assert (labels[rows] == label).sum() == min(4, (labels == label).sum())
    assert -100 not in labels[rows]


@pytest.mark.parametrize(("cap", "expected"), [(3, 3), (100, 6)])
def test_sample_by_language_takes_one_word_of_a_text(planted, cap, expected):
    rows, sample, _ = draw(planted, "test", Draw(sample_per_language=cap))
    owners = np.searchsorted(planted.word_offsets, rows, side="right") - 1
    assert len(rows) == len(set(owners)) == expected  # one of seven texts is empty
    assert sample.all()


def test_random_words_and_sample_are_told_apart(planted):
    settings = Draw(random_words={"train": 7, "test": 10}, sample_per_label=2)
    rows, sample, random = draw(planted, "test", settings)
    assert random.sum() == 10
    assert (np.diff(rows) > 0).all()
    assert (sample | random).all()
    rows, sample, random = draw(planted, "train", settings)  # not the sample's split
    assert (len(rows), sample.sum(), random.sum()) == (7, 0, 7)
    assert len(draw(planted, "dev", settings)[0]) == 0
    assert len(draw(planted, "test", Draw(random_words={"test": 10_000}))[0]) == 40


def test_draw_depends_on_its_seed_alone(planted):
    settings = Draw(random_words={"test": 10}, sample_per_language=3)
    one, again = draw(planted, "test", settings), draw(planted, "test", settings)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one[0], draw(planted, "test", settings.model_copy(update={"seed": 1}))[0])


def test_splits_of_a_draw():
    assert Draw(random_words={"train": 3}, sample_per_label=1).splits() == ["train", "test"]
    assert Draw(random_words={"test": 3, "train": 1}, sample_per_language=1).splits() == ["test", "train"]
    assert Draw(random_words={"train": 3}).splits() == ["train"]


# Files.


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_files_round_trip(tmp_path, dtype):
    generator = np.random.default_rng(0)
    vectors = {layer: generator.normal(size=(4, 6)).astype(np.float32) for layer in (0, 10, 9)}
    for language in ("de", "zh"):
        columns = {"id": ["a", "a", "b", "c"], "word": ["x", "y", "汉", ""], "label": ["NOUN", "", "X", "X"],
                   "language": [language] * 4, "split": ["test"] * 4, "sample": [True, False, True, True],
                   "random": [False, True, True, False]}  # fmt: skip
        states_files.write(columns, vectors, tmp_path / f"{language}.parquet", dtype)
    states = states_files.read(tmp_path)
    assert states.vectors.dtype == np.float32
    assert np.array_equal(states.vectors, np.concatenate([vectors[10]] * 2).astype(dtype).astype(np.float32))  # the highest
    assert np.array_equal(states_files.read(tmp_path, 0).vectors[:4], vectors[0].astype(dtype).astype(np.float32))
    assert states.languages.tolist() == ["de"] * 4 + ["zh"] * 4
    assert states.words[2] == "汉"
    few = states.take(states.sample & (states.languages == "zh"))
    assert few.labels.tolist() == ["NOUN", "X", "X"]
    assert few.vectors.shape == (3, 6)
    assert pq.read_schema(tmp_path / "de.parquet").field("layer_0").type == pa.list_(pa.from_numpy_dtype(dtype), 6)


def test_states_from_files_to_files(bench, tokens, tmp_path, log):
    from crosslens.training.model import EncoderWithHeads, save

    encoder = bench.encoder()
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight.mul_(2)
    save(EncoderWithHeads(encoder, {"task": UPOS}, 0.1), tmp_path / "model.safetensors", with_encoder=True)
    settings = Draw(random_words={"train": 9, "test": 11}, sample_per_label=2)
    run(
        bench.encoder_folder, tmp_path / "model.safetensors", {"sentences": tokens / "sentences"}, tmp_path / "states",
        languages={"sentences": LANGUAGES[:2]}, labels=UPOS, draws={"sentences": settings}, layers=[0, 2],
        precision="float32", stored="float32", threads=1, log=log,
    )  # fmt: skip
    states = states_files.read(tmp_path / "states" / "sentences")
    for language in LANGUAGES[:2]:
        for split, n in (("train", 9), ("test", 11)):
            here = states.take((states.languages == language) & (states.splits == split))
            assert here.random.sum() == n
            texts = bench.texts(Data(corpus="sentences", split=split, languages=(language,)))
            rows = draw(texts, split, settings)[0]
            assert here.words.tolist() == [texts.words[row] for row in rows]
            assert [UPOS.index(label) for label in here.labels] == texts.labels["task"][rows].tolist()
            assert np.allclose(here.vectors, naive(encoder, texts, rows)[2], atol=1e-5)
            assert all(text.startswith(f"{language}/{language}_phrasebook/{split}") or split == "train" for text in here.texts)
