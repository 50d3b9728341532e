"""Shifts of hidden states: a grid that shares the lower part of an encoder, against whole passes with a hook."""

import numpy as np
import pytest
import torch
from crosslens.encoding.layers import transformer_layers
from crosslens.encoding.shift import Shift, for_each_shift, inner_subwords, random_direction, shifted
from crosslens.encoding.texts import Texts
from crosslens.jobs.errors import DataError
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, XLMRobertaConfig, XLMRobertaModel

SHAPE = {"vocab_size": 90, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
MAKERS = {
    "bert": lambda: BertModel(BertConfig(**SHAPE), add_pooling_layer=False),
    "xlm-roberta": lambda: XLMRobertaModel(XLMRobertaConfig(**SHAPE, pad_token_id=1), add_pooling_layer=False),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(vocab_size=90, dim=16, n_layers=3, n_heads=2, hidden_dim=24)),
}
WEIGHTS = (-2.0, 0.0, 1.0, 3.0)


@pytest.fixture(scope="module", params=MAKERS)
def encoder(request):
    torch.manual_seed(0)
    model = MAKERS[request.param]()
    for value in model.parameters():  # so that layers differ
        value.data.add_(0.1 * torch.randn(value.shape))
    return model.eval()


def texts(lengths: list[int]) -> Texts:
    """Random texts, the first of them a pair, with every inner subword as a labelled word."""
    n, offsets = len(lengths), np.cumsum([0, *lengths])
    subwords = np.random.default_rng(1).integers(5, 90, offsets[-1]).astype(np.int32)
    none, nothing = np.zeros(n, np.int64), np.zeros(0, np.int64)
    names = [str(number) for number in range(n)]
    whole = Texts(names, ["xx"] * n, subwords, offsets, nothing, np.zeros(n + 1, np.int64), [], {}, none, none.astype(bool), none)
    whole.second[0] = 3
    return inner_subwords(whole)


def alone(encoder, read, i, shift):
    """States of the inner subwords of a text by itself, with a hook, (m, d)."""
    subwords = torch.from_numpy(read.subwords[read.subword_offsets[i] : read.subword_offsets[i + 1]].astype(np.int64))[None]
    types = {} if encoder.config.model_type == "distilbert" else {"token_type_ids": torch.zeros_like(subwords)}
    with shifted(encoder, shift):
        return encoder(input_ids=subwords, **types).last_hidden_state[0, 1:-1]


@torch.inference_mode()
def test_the_grid_is_that_of_single_texts_with_a_hook(encoder):
    read = texts([9, 4, 7, 4, 3, 12])
    vectors = torch.randn(4, 16, generator=torch.Generator().manual_seed(0))
    shifts = {(layer, weight): Shift(layer, weight, vectors[layer]) for layer in range(4) for weight in WEIGHTS}
    found = {key: torch.full((len(read.positions), 16), torch.nan) for key in shifts}

    def step(key, batch, states):
        found[key][torch.from_numpy(batch.words)] = states

    for_each_shift(read, encoder, False, shifts, step)
    for key, shift in shifts.items():
        expected = torch.cat([alone(encoder, read, i, shift) for i in range(len(read))])
        torch.testing.assert_close(found[key], expected, rtol=1e-5, atol=1e-5)
        assert torch.equal(found[key].argmax(-1), expected.argmax(-1))
        assert torch.equal(found[key], found[0, 0.0]) == (shift.weight == 0)


@torch.inference_mode()
def test_the_hook_adds_to_a_layers_output_at_all_places(encoder):
    ids = torch.from_numpy(texts([8]).subwords.astype(np.int64))[None]
    plain = encoder(input_ids=ids, output_hidden_states=True).hidden_states
    for layer in range(4):
        vector = torch.randn(16)
        seen = []
        handles = [
            block.register_forward_pre_hook(lambda _, args, seen=seen: seen.append(args[0]))
            for block in transformer_layers(encoder)
        ]
        with shifted(encoder, Shift(layer, 2.0, vector)):
            last = encoder(input_ids=ids).last_hidden_state
        for handle in handles:
            handle.remove()
        outputs = [*seen, last]  # of layers 0 to 3
        for below in range(layer):
            assert torch.equal(outputs[below], plain[below])
        torch.testing.assert_close(outputs[layer], plain[layer] + 2 * vector)
    with shifted(encoder, Shift(1, 0.0, torch.full((16,), torch.nan))):
        assert torch.equal(encoder(input_ids=ids).last_hidden_state, plain[-1])


@torch.inference_mode()
def test_afterwards_the_encoder_is_as_before(encoder):
    read = texts([8])
    ids = torch.from_numpy(read.subwords.astype(np.int64))[None]
    before = encoder(input_ids=ids).last_hidden_state
    with pytest.raises(RuntimeError), shifted(encoder, Shift(1, 1.0, torch.ones(16))):
        raise RuntimeError
    for_each_shift(read, encoder, False, {"": Shift(1, 1.0, torch.ones(16))}, lambda *_: None)
    assert torch.equal(encoder(input_ids=ids).last_hidden_state, before)
    with pytest.raises(DataError, match="expected layers from 0 to 3 .* found 4"):
        for_each_shift(read, encoder, False, {"": Shift(4, 1.0, torch.ones(16))}, lambda *_: None)


def test_random_directions_are_as_long():
    vector = torch.randn(300)
    one, again, other = (random_direction(vector, seed) for seed in (0, 0, 1))
    torch.testing.assert_close(one.norm(), vector.norm())
    assert torch.equal(one, again) and torch.cosine_similarity(one, other, 0).abs() < 0.3
