"""Hidden states: which words or texts, which layers or the pooler, on disk and back."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from conftest import LANGUAGES, NLI, UPOS, alone
from crosslens.config.heads import LinearHead
from crosslens.config.recipes import Data
from crosslens.config.samples import Samples, Sampling
from crosslens.config.units import Units
from crosslens.encoding import stored_states as states_files
from crosslens.encoding.batches import collate
from crosslens.encoding.dump import run
from crosslens.encoding.extract import extract
from crosslens.encoding.samples import read as read_samples
from crosslens.encoding.samples import write as write_samples
from crosslens.encoding.sampling import sample_words
from crosslens.encoding.texts import Texts
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.jobs.fingerprint import Fingerprints
from crosslens.training.model import EncoderWithHeads, save
from safetensors.torch import load_file
from transformers import AutoModel, BertTokenizer

TEST = Data(corpus="sentences", split="test", languages=LANGUAGES)
PAIRS = Data(corpus="pairs", split="test", languages=LANGUAGES)
WORDS, TEXTS, POOLER = Units(), Units(unit="text"), Units(unit="text", state="pooler")


def naive(encoder, texts, rows):
    """One sentence at a time, all layers: (layers, n_rows, d)."""
    owners = np.searchsorted(texts.word_offsets, rows, side="right") - 1
    columns = zip(owners, texts.positions[rows], strict=True)
    return np.stack([alone(encoder, texts, owner)[:, position].numpy() for owner, position in columns], axis=1)


def chosen_rows(texts, n=40):
    return np.sort(np.random.default_rng(0).choice(len(texts.positions), n, replace=False))


def test_states_are_those_of_a_naive_loop_at_every_layer(bench):
    texts, encoder = bench.texts(TEST), bench.encoder()
    rows = chosen_rows(texts)
    states_by_layer = extract(encoder, texts, rows, [0, 1, 2], WORDS)
    expected = naive(encoder, texts, rows)
    assert list(states_by_layer) == ["layer_0", "layer_1", "layer_2"]
    for layer, states in enumerate(states_by_layer.values()):
        assert np.allclose(states, expected[layer], atol=1e-5), layer
    for layers in ([2], []):  # the last alone takes another way, and is what heads read
        last = extract(encoder, texts, rows, layers, WORDS)
        assert list(last) == ["layer_2"]
        assert np.allclose(last["layer_2"], expected[2], atol=1e-5)


def test_no_words_no_states(bench):
    for layers, names in (([0, 2], ["layer_0", "layer_2"]), ([1], ["layer_1", "layer_2"]), ([], ["layer_2"])):
        states_by_layer = extract(bench.encoder(), bench.texts(TEST), np.zeros(0, np.int64), layers, WORDS)
        assert {name: values.shape for name, values in states_by_layer.items()} == {name: (0, 32) for name in names}


# Whole texts, the pooler, pairs.


def test_pooler_states_are_transformers(bench):
    texts = bench.texts(PAIRS, "text")
    rows = np.array([2, 3, 40, len(texts) - 1])
    states_by_name = extract(bench.encoder(pooler=True), texts, rows, [], POOLER)
    theirs = AutoModel.from_pretrained(bench.pooler_folder).eval()
    assert list(states_by_name) == ["pooler"]
    for state, row in zip(states_by_name["pooler"], rows, strict=True):
        subwords = texts.subwords[texts.subword_offsets[row] : texts.subword_offsets[row + 1]]
        with torch.inference_mode():
            expected = theirs(input_ids=torch.tensor(subwords[None].astype(np.int64))).pooler_output[0]
        assert np.allclose(state, expected.numpy(), atol=1e-5)
    layers = extract(bench.encoder(pooler=True), texts, rows, [2], POOLER)  # a layer that is asked for is that layer
    assert np.allclose(layers["layer_2"], naive(bench.encoder(), texts, rows)[2], atol=1e-5)


@pytest.fixture(scope="module")
def bert(encoder_folder) -> BertTokenizer:
    """Transformers' own BERT tokenizer with the vocabulary of the tests' encoder."""
    vocabulary = load_tokenizer(encoder_folder).get_vocab()
    return BertTokenizer(vocab=vocabulary, do_lower_case=False, strip_accents=False)


def test_token_types_of_pairs_are_those_of_bert(bench, bert, corpora):
    texts = bench.texts(PAIRS, "text")
    batch = collate(texts, np.arange(len(texts)), padding=0, segments=True)
    rows = [row for code in LANGUAGES for row in pq.read_table(corpora / "pairs" / f"{code}.test.parquet").to_pylist()]
    options = {"truncation": "longest_first", "max_length": 24, "padding": "longest", "return_tensors": "pt"}
    expected = bert([row["premise"] for row in rows], [row["hypothesis"] for row in rows], **options)
    assert torch.equal(batch.input_ids, expected["input_ids"])
    assert torch.equal(batch.token_types, expected["token_type_ids"])
    assert 0 < batch.token_types.float().mean() < 1


def test_a_change_to_training_extracts_no_states_again():
    reached = Fingerprints(Path(__file__).parents[1], cached=False).reached("workflow/scripts/states.py")
    assert "workflow/crosslens/encoding/unit_states.py" in reached
    assert not [path for path in reached if "/training/" in path or path == "workflow/crosslens/config/recipes.py"]


# Which words.


def texts_of(labels, lengths):
    """Texts with planted labels, one subword a word."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    return Texts(
        [str(i) for i in range(len(lengths))], ["en"] * len(lengths), np.arange(n, dtype=np.int32), offsets,
        np.concatenate([np.arange(k) for k in lengths]), offsets, ["w"] * n,
        {"task": np.asarray(labels), "language": np.zeros(n, int)}, *np.zeros((3, len(lengths)), int),
    )  # fmt: skip


@pytest.fixture
def planted():
    lengths = [5, 0, 8, 3, 9, 1, 14]
    labels = np.random.default_rng(0).choice([0, 0, 0, 1, 2, -100], sum(lengths))
    return texts_of(labels, lengths)


def test_sample_by_label_takes_each_up_to_its_cap(planted):
    rows, sample, random = sample_words(planted, "en", "test", Sampling(languages=("en",), sample_per_label=4))
    labels = planted.labels["task"]
    assert sample.all() and not random.any()
    for label in (0, 1, 2):
        assert (labels[rows] == label).sum() == min(4, (labels == label).sum())
    assert -100 not in labels[rows]


@pytest.mark.parametrize(("cap", "expected"), [(3, 3), (100, 6)])
def test_sample_by_language_takes_one_word_of_a_text(planted, cap, expected):
    rows, sample, _ = sample_words(planted, "en", "test", Sampling(languages=("en",), sample_per_language=cap))
    owners = np.searchsorted(planted.word_offsets, rows, side="right") - 1
    assert len(rows) == len(set(owners)) == expected  # one of seven texts is empty
    assert sample.all()


def test_random_words_and_sample_are_told_apart(planted):
    settings = Sampling(languages=("en",), random_words={"train": 7, "test": 10}, sample_per_label=2)
    rows, sample, random = sample_words(planted, "en", "test", settings)
    assert random.sum() == 10
    assert (np.diff(rows) > 0).all()
    assert (sample | random).all()
    rows, sample, random = sample_words(planted, "en", "train", settings)  # not the sample's split
    assert (len(rows), sample.sum(), random.sum()) == (7, 0, 7)
    assert len(sample_words(planted, "en", "dev", settings)[0]) == 0
    assert len(sample_words(planted, "en", "test", Sampling(languages=("en",), random_words={"test": 10_000}))[0]) == 40


def test_draw_depends_on_seed_language_and_split_alone(planted):
    settings = Sampling(languages=("en",), random_words={"test": 10}, sample_per_language=3)
    one, again = sample_words(planted, "en", "test", settings), sample_words(planted, "en", "test", settings)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    everywhere = Sampling(languages=("en",), random_words={"test": 10, "train": 10}, sample_per_language=3)
    others = [sample_words(planted, "de", "test", settings), sample_words(planted, "en", "train", everywhere)]
    others.append(sample_words(planted, "en", "test", settings.model_copy(update={"seed": 1})))
    assert all(not np.array_equal(one[0][one[2]], other[0][other[2]]) for other in others)


def test_a_layer_that_the_encoder_has_not_is_refused(bench):
    with pytest.raises(DataError, match=r"states\.layers: expected layers from 0 to 2 for this encoder, found 3"):
        extract(bench.encoder(), bench.texts(TEST), np.array([0]), [1, 3], WORDS)


def test_splits_of_a_draw():
    assert Sampling(languages=("en",), random_words={"train": 3}, sample_per_label=1).splits() == ["train", "test"]
    assert Sampling(languages=("en",), random_words={"test": 3, "train": 1}, sample_per_language=1).splits() == ["test", "train"]
    assert Sampling(languages=("en",), random_words={"train": 3}).splits() == ["train"]


# Files.


@pytest.mark.parametrize(("dtype", "last"), [("float16", "layer_10"), ("float32", "pooler")])
def test_files_round_trip(tmp_path, dtype, last):
    generator = np.random.default_rng(0)
    vectors = {name: generator.normal(size=(4, 6)).astype(np.float32) for name in ("layer_0", "layer_9", last)}
    for language in ("de", "zh"):
        columns = {"id": ["a", "a", "b", "c"], "word": ["x", "y", "汉", ""], "label": ["NOUN", "", "X", "X"],
                   "language": [language] * 4, "split": ["test"] * 4, "sample": [True, False, True, True],
                   "random": [False, True, True, False]}  # fmt: skip
        states_files.write(pa.table(columns), vectors, tmp_path / f"{language}.parquet", dtype)
    write_checksums(tmp_path)
    states = states_files.read(tmp_path)
    assert states.vectors.dtype == np.float32
    assert np.array_equal(states.vectors, np.concatenate([vectors[last]] * 2).astype(dtype).astype(np.float32))
    assert np.array_equal(states_files.read(tmp_path, 0).vectors[:4], vectors["layer_0"].astype(dtype).astype(np.float32))
    assert states.languages.tolist() == ["de"] * 4 + ["zh"] * 4
    assert states.words[2] == "汉"
    few = states.take(states.sample & (states.languages == "zh"))
    assert few.labels.tolist() == ["NOUN", "X", "X"]
    assert few.vectors.shape == (3, 6)
    assert pq.read_schema(tmp_path / "de.parquet").field("layer_0").type == pa.list_(pa.from_numpy_dtype(dtype), 6)


@pytest.mark.parametrize("layers", [[], [0], [0, 2]])
def test_states_from_files_to_files(bench, tokens, tmp_path, log, layers):
    """Measures read what heads read, whatever else is stored."""
    encoder = bench.encoder()
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight.mul_(2)
    save(EncoderWithHeads(encoder, {"task": LinearHead(labels=UPOS)}), tmp_path / "model.safetensors", with_encoder=True)
    settings = Sampling(languages=("en",), random_words={"train": 9, "test": 11}, sample_per_label=2)
    settings = settings.model_copy(update={"languages": LANGUAGES[:2]})
    samples = Samples(encoder="tiny", tokenisation="whole", unit="word", labels=UPOS, corpora={"sentences": settings})
    folders = {"sentences": tokens / "sentences"}
    write_samples(samples, folders, tmp_path / "samples")
    run(
        bench.encoder_folder, [tmp_path / "model.safetensors"], tmp_path / "samples", folders, tmp_path / "states",
        samples=samples, layers=layers, units=WORDS, precision="float32", dtype="float32", threads=1, log=log,
    )  # fmt: skip
    sampled = read_samples(tmp_path / "samples" / "sentences")
    states = states_files.read(tmp_path / "states" / "sentences")
    assert all(np.array_equal(getattr(sampled, name), getattr(states, name)) for name in sampled.__dataclass_fields__)
    for language in LANGUAGES[:2]:
        for split, n in (("train", 9), ("test", 11)):
            here = states.take((states.languages == language) & (states.splits == split))
            assert here.random.sum() == n
            texts = bench.texts(Data(corpus="sentences", split=split, languages=(language,)))
            rows = sample_words(texts, language, split, settings)[0]
            assert here.words.tolist() == [texts.words[row] for row in rows]
            assert [UPOS.index(label) for label in here.labels] == texts.labels["task"][rows].tolist()
            assert np.allclose(here.vectors, naive(encoder, texts, rows)[2], atol=1e-5)
            assert all(text.startswith(f"{language}/{language}_phrasebook/{split}") or split == "train" for text in here.texts)


@pytest.mark.parametrize("layers", [[], [1], [2]])
def test_states_of_pairs_under_a_trained_pooler(bench, tokens, tmp_path, log, layers):
    encoder = bench.encoder(pooler=True)
    with torch.no_grad():
        encoder.pooler.dense.weight.mul_(2)
    save(EncoderWithHeads(encoder, {"task": LinearHead(labels=NLI)}, POOLER), tmp_path / "model.safetensors", with_encoder=True)
    assert "encoder.pooler.dense.weight" in load_file(tmp_path / "model.safetensors")
    draw_pairs = Sampling(languages=("en",), random_words={"test": 9}, sample_per_label=2)
    samples = Samples(encoder="tiny", tokenisation="whole", unit="text", labels=NLI, corpora={"pairs": draw_pairs})
    write_samples(samples, {"pairs": tokens / "pairs"}, tmp_path / "samples")
    run(
        bench.pooler_folder, [tmp_path / "model.safetensors"], tmp_path / "samples", {"pairs": tokens / "pairs"},
        tmp_path / "states", samples=samples, layers=layers, units=POOLER, precision="float32", dtype="float32", threads=1,
        log=log,
    )  # fmt: skip
    states = states_files.read(tmp_path / "states" / "pairs")
    assert states.random.sum() == 9
    assert sorted(states.labels[states.sample]) == sorted([*NLI] * 2)
    texts = bench.texts(PAIRS.model_copy(update={"languages": ("en",)}), "text")
    rows = [texts.ids.index(name.removeprefix("en/")) for name in states.texts]
    assert [texts.words[row] for row in rows] == states.words.tolist()
    assert np.allclose(states.vectors, extract(encoder, texts, np.array(rows), layers, POOLER)["pooler"], atol=1e-5)
