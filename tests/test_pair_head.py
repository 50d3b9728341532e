"""What a head on frozen states reads of a pair of texts."""

import numpy as np
import pytest
import torch
from conftest import LANGUAGES, NLI, alone
from crosslens.config.heads import TASK, LinearHead
from crosslens.config.recipes import Data
from crosslens.config.units import Units
from crosslens.training.model import EncoderWithHeads
from crosslens.training.predict import hidden_states, predict

PAIRS = Data(corpus="pairs", split="train", languages=LANGUAGES)
PAIR = Units(unit="text", state="pair")


def test_means_of_both_texts_without_special_subwords(bench):
    texts, encoder = bench.texts(PAIRS, "text"), bench.encoder()
    found = hidden_states(EncoderWithHeads(encoder, {}, PAIR), texts)[0]
    assert found.shape == (len(texts), 4 * 32)
    for number in range(0, len(texts), 7):
        second, states = int(texts.second[number]), alone(encoder, texts, number)[-1]
        u, v = states[1 : second - 1].mean(0), states[second:-1].mean(0)
        assert second and len(states[second:-1])
        torch.testing.assert_close(found[number], torch.cat([u, v, (u - v).abs(), u * v]), rtol=1e-4, atol=1e-5)


def test_a_head_with_a_hidden_layer(bench):
    texts, encoder = bench.texts(PAIRS, "text"), bench.encoder()
    settings = {TASK: LinearHead(labels=NLI, hidden=10)}
    model = EncoderWithHeads(encoder, settings, PAIR, dropout=0.3, init_sd=0.5)
    model.initialise_heads([TASK], 0)
    model.eval()
    weights = {name: value.numpy() for name, value in model.head(TASK).state_dict().items()}
    (one, one_bias, two, two_bias) = weights.values()
    assert one.shape == (10, 128) and two.shape == (3, 10) and one.std() == pytest.approx(0.5, rel=0.1)
    states = hidden_states(model, texts)[0].numpy()
    expected = np.maximum(states @ one.T + one_bias, 0) @ two.T + two_bias
    with torch.inference_mode():
        np.testing.assert_allclose(model.head(TASK)(torch.from_numpy(states)).numpy(), expected, rtol=1e-4, atol=1e-4)
    assert np.array_equal(predict(model, texts, TASK)[TASK], expected.argmax(1))
