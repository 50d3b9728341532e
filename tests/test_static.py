"""Static embeddings: as an encoder, GloVe and Word2Vec."""

import json
import logging
import os
import signal
from collections import defaultdict
from functools import partialmethod
from itertools import pairwise

import gensim
import mittens
import numpy as np
import pytest
import torch
from conftest import as_texts, build_encoder
from crosslens.config.encoders import RandomEncoder
from crosslens.config.static_embeddings import GloVe, Word2Vec
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.encoders.weights import WORD_EMBEDDINGS
from crosslens.encoding.layers import lowest
from crosslens.encoding.texts import Texts
from crosslens.jobs import signals
from crosslens.jobs.errors import DataError
from crosslens.numerics.streams import stream
from crosslens.training import glove, static_embeddings, word2vec
from crosslens.training.checkpoint import CheckpointFile
from crosslens.training.cooccurrence import Cooccurrence, count
from crosslens.training.glove import Model
from mittens.np_mittens import AdaGradOptimizer
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def static_folder(encoder_folder, tmp_path_factory):
    """Static embeddings with the tokenizer of another encoder."""
    settings = RandomEncoder(source="random", tokenizer="tiny", layers=0, hidden=24)
    return build_encoder(settings, [], tmp_path_factory.mktemp("static") / "encoder", encoder_folder)


def test_static_encoder_has_the_shared_tokenizer_and_one_layer(static_folder, encoder_folder):
    config = json.loads((static_folder / "config.json").read_text())
    assert (static_folder / "tokenizer.json").read_bytes() == (encoder_folder / "tokenizer.json").read_bytes()
    assert (config["model_type"], config["num_hidden_layers"], config["hidden_size"]) == ("static", 0, 24)
    weight = load_file(static_folder / WEIGHTS)[WORD_EMBEDDINGS]
    assert weight.shape == (config["vocab_size"], 24) and 0.019 < float(weight.std()) < 0.021
    state = torch.get_rng_state()
    encoder = load_encoder(static_folder)
    assert torch.equal(torch.get_rng_state(), state) and not encoder.training
    subwords = torch.tensor([[1, 5, 5], [7, 0, 0]])
    output = encoder(input_ids=subwords, attention_mask=(subwords > 0).long(), token_type_ids=subwords, output_hidden_states=True)
    assert torch.equal(output.last_hidden_state, weight[subwords]) and len(output.hidden_states) == 1
    assert torch.equal(output.hidden_states[0], output.last_hidden_state)
    assert encoder(input_ids=subwords).hidden_states is None
    assert lowest(encoder, 0) == [encoder.embeddings]


def test_weights_of_a_training_replace_those_of_a_static_encoder(static_folder, tmp_path):
    trained = torch.randn(load_encoder(static_folder).config.vocab_size, 24)
    save_file({f"encoder.{WORD_EMBEDDINGS}": trained}, tmp_path / WEIGHTS, metadata={"encoder": "yes"})
    encoder = load_encoder(static_folder, [tmp_path / WEIGHTS], dtype=torch.bfloat16)
    assert torch.equal(encoder.get_parameter(WORD_EMBEDDINGS), trained.bfloat16())


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ({}, "missing: embeddings.word_embeddings.weight"),
        ({WORD_EMBEDDINGS: torch.zeros(3, 24)}, "of another shape: embeddings.word_embeddings.weight"),
        ({"pooler.bias": torch.zeros(3), "a": torch.zeros(3)}, "missing: .*; unexpected: a:"),
    ],
)
def test_other_weights_of_a_static_encoder_are_refused(static_folder, tmp_path, weights, found):
    (tmp_path / "config.json").write_bytes((static_folder / "config.json").read_bytes())
    save_file(weights, tmp_path / WEIGHTS)
    with pytest.raises(DataError, match=found):
        load_encoder(tmp_path)


def some_texts(generator: np.random.Generator, n: int, vocabulary: int, longest: int = 12) -> Texts:
    """Texts of subwords from 3 on, between 1 and 2; some have none."""
    inside = [generator.integers(3, vocabulary, generator.integers(0, longest)) for _ in range(n)]
    return as_texts([[1, *subwords, 2] for subwords in inside])


def looped(texts: Texts, window: int) -> dict[tuple[int, int], float]:
    """Counts of ordered pairs, one subword after the other."""
    counts: dict[tuple[int, int], float] = defaultdict(float)
    for start, stop in pairwise(texts.subword_offsets):
        subwords = texts.subwords[start + 1 : stop - 1].tolist()
        for here, subword in enumerate(subwords):
            for there in range(max(0, here - window), here):
                counts[subword, subwords[there]] += 1 / (here - there)
                counts[subwords[there], subword] += 1 / (here - there)
    return counts


@pytest.mark.parametrize("window", [1, 4, 20])
def test_cooccurrence_is_that_of_a_plain_loop_however_it_is_chunked(window, log):
    texts = some_texts(np.random.default_rng(0), 60, 30)
    found = [count(texts, 30, window, log, chunk) for chunk in (1 << 21, 50, 7)]
    pairs = found[0]
    for other in found[1:]:
        assert all(np.array_equal(getattr(pairs, name), getattr(other, name)) for name in ("first", "second", "counts"))
    assert (pairs.first <= pairs.second).all()
    both = {(i, j): x for i, j, x in zip(pairs.first, pairs.second, pairs.counts, strict=True)}
    assert len(both) == len(pairs.first)
    expected = looped(texts, window)
    assert both.keys() | {(j, i) for i, j in both} == expected.keys()
    assert all(np.isclose(expected[i, j], x) and np.isclose(expected[j, i], x) for (i, j), x in both.items())
    assert pairs.first.min() > 2, "special subwords are never counted"


def matrix(pairs: Cooccurrence, vocabulary: int) -> np.ndarray:
    counts = np.zeros((vocabulary, vocabulary))
    counts[pairs.first, pairs.second] = counts[pairs.second, pairs.first] = pairs.counts
    return counts


def test_updates_are_those_of_an_independent_implementation(log):
    """Mittens takes all pairs at a time; its AdaGrad is ours with rate 1 and sums that begin at 1 / rate^2."""
    vocabulary, size, epochs, rate = 25, 6, 300, 0.05
    pairs = count(some_texts(np.random.default_rng(2), 80, vocabulary), vocabulary, 5, log)
    counts = matrix(pairs, vocabulary)[3:, 3:]
    settings = GloVe(epochs=epochs, batch=10_000, rate=rate, x_max=10)
    start = Model(vocabulary - 3, size, settings, seed=4, device=torch.device("cpu"))
    words, contexts, word_biases, context_biases = (values.double().numpy() for values in start.parameters)
    other = mittens.GloVe(
        n=size, xmax=10, alpha=0.75, max_iter=epochs, learning_rate=1.0, display_progress=0, test_mode=True
    )  # fmt: skip
    other.optimizers = {name: AdaGradOptimizer(1.0, rate**-2) for name in ("W", "C", "bw", "bc")}
    initial = {"W": words, "C": contexts, "bw": word_biases[:, None], "bc": context_biases[:, None]}
    expected = other.fit(counts, fixed_initialization=initial)
    vectors, history = glove.train(settings, pairs, vocabulary, size, seed=4, device=torch.device("cpu"), log=log)
    np.testing.assert_allclose([row["loss"] * row["pairs"] for row in history], other.errors, rtol=1e-3)
    np.testing.assert_allclose(vectors[3:], expected, atol=2e-3)
    assert not vectors[:3].any() and other.errors[-1] < other.errors[0] / 5


def topics(generator: np.random.Generator) -> Texts:
    """Texts about one of four topics, subwords 3 to 12, 13 to 22, ...: subwords of a topic occur together."""
    return as_texts([[1, *(3 + 10 * generator.integers(4) + generator.integers(0, 10, 8)), 2] for _ in range(800)])


@pytest.mark.parametrize(
    "settings", [GloVe(epochs=25, x_max=20), Word2Vec(epochs=8, window=5, rate=0.05, sample=0)], ids=["glove", "word2vec"]
)
def test_subwords_that_occur_together_are_similar_and_two_runs_are_equal(settings, log):
    texts = topics(np.random.default_rng(0))
    (vectors, history), (again, rows) = (
        static_embeddings.train(settings, texts, 50, 16, seed=3, log=log) for _ in range(2)
    )  # fmt: skip
    assert vectors.tobytes() == again.tobytes() and vectors.dtype == np.float32
    assert [row["loss"] for row in history] == [row["loss"] for row in rows] and len(history) == settings.epochs
    assert history[-1]["loss"] < history[0]["loss"]
    assert not vectors[:3].any() and not vectors[43:].any() and vectors[3:43].all()
    other, _ = static_embeddings.train(settings, texts, 50, 16, seed=4, log=log)
    assert not np.array_equal(vectors, other)
    units = vectors[3:43] / np.linalg.norm(vectors[3:43], axis=1, keepdims=True)
    similar = units @ units.T
    np.fill_diagonal(similar, -2)
    nearest = np.argsort(-similar, axis=1)[:, :9]
    assert (nearest // 10 == np.arange(40)[:, None] // 10).mean() > 0.9


def test_word2vec_reads_all_of_a_long_text_and_drops_what_is_rare(log):
    generator = np.random.default_rng(0)
    long = [1, *generator.integers(3, 20, word2vec.LONGEST + 5), *[30, 31] * 6, 30, 2]
    read = [name for names in word2vec.Sentences(as_texts([long]), 0) for name in names]
    assert read == list(map(str, long[1:-1]))
    settings = Word2Vec(epochs=1, minimum_count=7)
    vectors, history = static_embeddings.train(settings, as_texts([long]), 40, 4, seed=0, log=log)
    assert vectors[30].any() and not vectors[31].any() and history[0]["subwords"] == len(long) - 2
    with pytest.raises(DataError, match="subwords that occur 9000 times"):
        static_embeddings.train(settings.model_copy(update={"minimum_count": 9000}), as_texts([long]), 40, 4, seed=0, log=log)


def test_word2vec_is_gensims_own_with_the_same_loss(log):
    texts, settings = topics(np.random.default_rng(1)), Word2Vec(epochs=1, window=4, negatives=3, sample=0.01)
    vectors, history = static_embeddings.train(settings, texts, 50, 8, seed=0, log=log)
    theirs = gensim.models.Word2Vec(
        vector_size=8, window=4, negative=3, sample=0.01, sg=1, min_count=1, workers=1, seed=stream(0, "word2vec") % 2**32
    )
    sentences = word2vec.Sentences(texts, 0)
    theirs.build_vocab(sentences)
    theirs.train(sentences, total_examples=len(texts), epochs=1, compute_loss=True)
    assert np.array_equal(vectors[[int(name) for name in theirs.wv.index_to_key]], theirs.wv.vectors)
    assert history[0]["loss"] * history[0]["subwords"] == pytest.approx(theirs.get_latest_training_loss(), rel=1e-4)


def test_texts_without_pairs_are_refused(log):
    with pytest.raises(DataError, match="texts of at least two subwords"):
        static_embeddings.train(GloVe(), as_texts([[1, 3, 2], [1, 2]]), 5, 4, seed=0, log=log)


def test_a_loss_that_is_not_finite_stops_the_training(log):
    with pytest.raises(DataError, match="epoch 1: expected a finite loss"):
        glove.train(
            GloVe(), Cooccurrence(np.array([0, 0]), np.array([1, 2]), np.array([1.0, np.inf])), 3, 4, seed=0,
            device=torch.device("cpu"), log=log,
        )  # fmt: skip


@pytest.mark.parametrize("settings", [GloVe(epochs=4, batch=64), Word2Vec(epochs=4, window=5)], ids=["glove", "word2vec"])
@pytest.mark.parametrize("stop", [0, 5, 13])
def test_a_training_that_is_stopped_goes_on(settings, stop, tmp_path, monkeypatch, caplog, signals_handled):
    """GloVe at the pair where it was, Word2Vec after its last whole epoch, with the same vectors in the end."""
    log = logging.getLogger("crosslens.tests")
    caplog.set_level("INFO")
    texts, calls, armed = topics(np.random.default_rng(0)), [], [False]
    counted = (glove.Model, "step") if isinstance(settings, GloVe) else (word2vec.Counting, "_do_train_job")
    original = getattr(*counted)

    def step(self, *arguments):
        calls.append(1)
        if armed[0] and len(calls) == stop + 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *arguments)

    def train(checkpoint_file=None):
        found, history = static_embeddings.train(settings, texts, 50, 16, seed=3, log=log, checkpoint_file=checkpoint_file)
        return found.tobytes(), [row["loss"] for row in history]

    monkeypatch.setattr(*counted, step)
    monkeypatch.setattr(word2vec.Gensim, "__init__", partialmethod(word2vec.Gensim.__init__, batch_words=1000))
    whole, steps, armed[0] = train(), len(calls), True
    calls.clear()
    caplog.clear()
    with pytest.raises(signals.Stopped):
        train(CheckpointFile(tmp_path / "checkpoint_file", "key", log))
    armed[0] = False
    signals.handle()
    assert train(CheckpointFile(tmp_path / "checkpoint_file", "key", log)) == whole
    if isinstance(settings, GloVe):
        assert len(calls) == steps
    done = [record.getMessage().partition(":")[0] for record in caplog.records if record.getMessage().startswith("epoch ")]
    assert done == ["epoch 1", "epoch 2", "epoch 3", "epoch 4"]
