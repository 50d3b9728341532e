"""RANDOM-INIT: which weights change, and that nothing else does."""

import math

import pytest
import torch
from crosslens.config.heads import TASK
from crosslens.config.recipes import Edit
from crosslens.jobs.errors import DataError
from crosslens.training import edit
from test_training import loop, recipe, same, weights
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

SHAPE = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}


def encoder(kind="bert"):
    torch.manual_seed(7)
    if kind == "distilbert":
        return DistilBertModel(DistilBertConfig(vocab_size=50, dim=32, n_layers=3, n_heads=2, hidden_dim=64))
    made = (BertConfig, BertModel) if kind == "bert" else (XLMRobertaConfig, XLMRobertaModel)
    model = made[1](made[0](**SHAPE))
    for parameter in model.parameters():  # as after a pretraining: nothing is at its first value
        parameter.data.add_(0.3)
    return model


def changed(before, after) -> set[str]:
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "distilbert"])
def test_only_the_named_blocks_change(kind):
    model = encoder(kind)
    before = weights(model)
    edit.apply(model, Edit(layers=(1, 3)), seed=0)
    found = changed(before, weights(model))
    blocks = "transformer.layer" if kind == "distilbert" else "encoder.layer"
    assert {name.split(".")[2] for name in found} == {"0", "2"} and all(name.startswith(blocks) for name in found)
    # Every weight of a block: attention, intermediate, output, both norms (distilbert's zero biases are at their first value).
    assert kind == "distilbert" or len(found) == 2 * sum(name.startswith(f"{blocks}.0.") for name in before)


def test_a_block_is_the_same_alone_and_with_others():
    alone, together = encoder(), encoder()
    edit.apply(alone, Edit(layers=(2,)), seed=3)
    edit.apply(together, Edit(layers=(1, 2, 3), embeddings=True), seed=3)
    assert same(weights(edit.transformer_layers(alone)[1]), weights(edit.transformer_layers(together)[1]))
    other = encoder()
    edit.apply(other, Edit(layers=(2,)), seed=4)
    assert not same(weights(edit.transformer_layers(alone)[1]), weights(edit.transformer_layers(other)[1]))
    query = [block.attention.self.query.weight for block in edit.transformer_layers(together)]
    assert not torch.equal(query[0], query[1])


def test_all_is_every_block_and_embeddings_only_where_asked():
    before, model = weights(encoder()), encoder()
    edit.apply(model, Edit(layers="all"), seed=0)
    kept = set(before) - changed(before, weights(model))
    assert {name.split(".")[0] for name in kept} == {"embeddings", "pooler"}
    edit.apply(model, Edit(layers="all", embeddings=True), seed=0)
    assert {name.split(".")[0] for name in set(before) - changed(before, weights(model))} == {"pooler"}


@pytest.mark.parametrize(
    ("how", "sd", "biases", "named"),
    [("bert", 0.02, 0.0, None), ("bert", 0.06, 0.0, 0.06), ("released", 1 / math.sqrt(3 * 768), None, None)],
)
def test_distributions(how, sd, biases, named):
    """At mBERT's width: N(0, 0.02) with no biases, or uniform within 1 / sqrt(fan in) (std 0.0208; notes: 0.0104 at 3072)."""
    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=1))
    edit.apply(model, Edit(layers=(1,), initialisation=how, sd=named), seed=0)
    block = edit.transformer_layers(model.requires_grad_(False))[0]
    assert float(block.attention.self.query.weight.std()) == pytest.approx(sd, rel=0.01)
    assert float(block.output.dense.weight.std()) == pytest.approx(sd if how == "bert" else sd / 2, rel=0.01)
    bias = block.intermediate.dense.bias
    assert bool((bias == 0).all()) if biases == 0 else float(bias.abs().max()) == pytest.approx(1 / math.sqrt(768), rel=0.05)
    assert torch.equal(block.output.LayerNorm.weight, torch.ones(768)) and not block.output.LayerNorm.bias.any()


@pytest.mark.parametrize(("kind", "first"), [("gemma3_text", 0.0), ("eurobert", 1.0)])
def test_norms_without_a_mean_begin_anew(kind, first):
    """Gemma's add one to their weights."""
    groups = {"num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 0}
    model = AutoModel.from_config(CONFIG_MAPPING[kind].from_dict(SHAPE | groups)).requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(0.3)
    edit.apply(model, Edit(layers="all", embeddings=True), seed=0)
    norms = [weight for block in edit.transformer_layers(model) for name, weight in block.named_parameters() if "norm" in name]
    assert len(norms) >= 6 and all(bool((weight == first).all()) for weight in norms)


def test_a_block_that_there_is_not_is_named():
    with pytest.raises(DataError, match=r"expected layers from 1 to 3 to re-initialise, found \[0, 4\]"):
        edit.apply(encoder(), Edit(layers=(0, 2, 4)), seed=0)


def test_head_order_and_dropout_are_those_of_the_reference(bench):
    """Only the encoder's own difference may show: without epochs the heads are equal; batches are drawn from the seed alone."""
    reference, edited = (loop(bench, recipe("finetuned", epochs=1, edit=of), dropout=0.1) for of in (Edit(), Edit(layers=(1,))))
    state = torch.get_rng_state()
    heads = []
    for trainer in (reference, edited):
        torch.set_rng_state(state)
        trainer.model.initialise_heads((TASK,), 0)
        heads.append(weights(trainer.model.heads[TASK]))
    assert same(*heads)
    draws = []
    for of in (Edit(), Edit(layers=(1, 2))):
        torch.manual_seed(5)
        edit.apply(encoder(), of, seed=0)
        draws.append(torch.rand(3))
    assert torch.equal(*draws)
