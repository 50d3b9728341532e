"""What a head on frozen states reads of a pair of texts."""

import numpy as np
import pytest
import torch
from conftest import LANGUAGES, NLI
from crosslens.config.heads import TASK, LinearHead
from crosslens.config.recipes import Data
from crosslens.config.units import Units
from crosslens.encoding.batches import collate
from crosslens.encoding.texts import Edges
from crosslens.encoding.unit_states import pair_extents, unit_states
from crosslens.training.model import EncoderWithHeads
from crosslens.training.predict import hidden_states, predict

PAIRS = Data(corpus="pairs", split="train", languages=LANGUAGES)
PAIR = Units(unit="text", state="pair")


def test_means_of_both_texts_without_special_subwords(bench):
    texts, encoder = bench.texts(PAIRS, "text"), bench.encoder()
    found = hidden_states(EncoderWithHeads(encoder, {}, PAIR), texts)[0]
    assert found.shape == (len(texts), 4 * 32)
    for number in range(0, len(texts), 7):
        subwords = torch.from_numpy(
            texts.subwords[texts.subword_offsets[number] : texts.subword_offsets[number + 1]].astype(np.int64)
        )
        second = int(texts.second[number])
        with torch.inference_mode():
            states = encoder(input_ids=subwords[None]).last_hidden_state[0]
        u, v = states[1 : second - 1].mean(0), states[second:-1].mean(0)
        assert second and len(states[second:-1])
        torch.testing.assert_close(found[number], torch.cat([u, v, (u - v).abs(), u * v]), rtol=1e-4, atol=1e-5)


def test_two_special_subwords_between_texts():
    """RoBERTa's: <s> a b </s> </s> c </s>."""

    class Given:
        input_ids = torch.tensor([[0, 5, 6, 2, 2, 7, 2, 1], [0, 5, 2, 2, 7, 8, 9, 2]])
        attention_mask = (input_ids != 1).long()
        second = torch.tensor([5, 4])
        edges = Edges(1, 2, 1)

    first, second = pair_extents(Given)
    assert [row.nonzero().flatten().tolist() for row in first] == [[1, 2], [1]]
    assert [row.nonzero().flatten().tolist() for row in second] == [[5], [4, 5, 6]]


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


def test_layers_are_as_wide(bench):
    texts, encoder = bench.texts(PAIRS, "text"), bench.encoder()
    batch = collate(texts, np.arange(4), 0)
    with torch.inference_mode():
        found = unit_states(encoder, batch, PAIR, [0, 1])
    assert [values.shape for values in found.values()] == [(4, 128)] * 3
