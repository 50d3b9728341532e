"""Training runs on a GPU, as far as a CPU can show them: shapes, buffers, and the same gradients from them.

`Captured` computes on a CPU what a GPU captures, on the same buffers. tests/test_on_a_gpu.py has what needs a GPU.
"""

import logging
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from conftest import LANGUAGES
from crosslens.config.heads import LANGUAGE, TASK, LanguageModelHead, Mix
from crosslens.config.recipes import ENCODER
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.layers import transformer_layers
from crosslens.training import checkpoint, gpu, optimiser
from crosslens.training.batches import Place, random_batches
from crosslens.training.gpu import Captured, Shape
from crosslens.training.run import load_data
from test_bottom import frozen
from test_liang2021 import penalised, subspaces  # noqa: F401  a fixture
from test_mixed import of_features, parser_recipe, texts_of
from test_pretraining import recipe as pretraining
from test_training import (
    OBJECTIVES,
    assert_resumes,
    assert_same,
    loop,
    memory_runs_out,
    nli,
    poison,
    recipe,
    tidy,
    weights,
    with_layer,
)

CPU, LOG = torch.device("cpu"), logging.getLogger("crosslens.tests")


def without_dropout(of):
    return of.model_copy(update={"dropout": 0.0})


DRAWN = {"initialisation": "pytorch"}  # else the first gradients of the encoder are 0

# A recipe for each way in which a loss is made.
CASES = {
    **{name: recipe(name, dropout=0.0) for name in OBJECTIVES},
    "pairs": nli(dropout=0.0),
    "pooler": nli(state="pooler", dropout=0.0),
    "layer": with_layer(recipe(dropout=0.0, weight_decay=0.1), 1),
    "frozen layers": without_dropout(frozen(1)),
    "parts": recipe("reversal", dropout=0.0, parts=3),
    "pools": recipe("entropy", dropout=0.0, length_pools=True),
    "penalty": penalised(),
    "language model": pretraining(),
    **{f"parser, {root}": without_dropout(parser_recipe(root=root, decoding="probability", **DRAWN)) for root in ("vector", "as_released")},
    "parser, tags": without_dropout(
        parser_recipe(tag_size=8, cut_heads="last_word", relation_divisor="words_plus_two", root="first", **DRAWN)
    ),
}


@pytest.fixture
def make(bench, tokens, subspaces):  # noqa: F811
    """A function that makes the loop of a recipe."""

    def made(of, dropout=0.0, **options):
        if of.reads_running_text():
            files = {key: tokens / key[0] / f"{key[1]}.{key[2]}.parquet" for key in of.files()}
            options |= {"texts": load_data(of, files, 0), "mask": mask_subword(bench.encoder_folder)}
        elif "tree" in str(of.settings()):
            options["texts"] = texts_of(tokens, of, trees=True, led=of.heads[TASK].root != "vector")
        return loop(bench, of, dropout=dropout, subspaces=subspaces, **options)

    return made


def buffered(trainer, losses_at_once=5):
    """The loop as on a GPU: updates on buffers, and losses that are read after some updates."""
    begin, trainer.losses_at_once = trainer._begin, losses_at_once

    def as_on_a_gpu(number, stage, resumed):
        begin(number, stage, resumed)
        assert not gpu.why_eager(trainer.recipe, stage, trainer.model.encoder, "float32", trainer.head_inputs.cached)
        trainer.step.path = Captured(CPU, LOG)

    trainer._begin = as_on_a_gpu
    return trainer


def begun(trainer, path=None):
    """The first stage of a loop, at its first update."""
    stage = trainer.recipe.stages[0]
    trainer.head_inputs.begin(stage)
    trainer.model.initialise_heads(tuple(trainer.recipe.heads), 0)
    trainer.head_inputs.pass_frozen_layers(stage)
    trainer.step.path = path or trainer.step.path
    return stage


def gradients(trainer, path=None):
    """Losses and gradients of an update of the first stage's last phase, after an update on other texts."""
    stage = begun(trainer, path)
    number, phase = len(stage.phases) - 1, stage.phases[-1]
    for step, first in enumerate((7, 0)):
        chosen = [np.arange(first, first + 5) % len(trainer.texts[term.data]) for term in phase.terms]
        trainer.model.zero_grad(set_to_none=False)
        losses = trainer.step.gradients(phase, Place(stage.name, 0, number, step), chosen)
    return losses, {name: value.grad for name, value in trainer.model.named_parameters() if value.grad is not None}


@pytest.mark.parametrize("case", CASES)
def test_gradients_on_buffers_are_those_of_the_texts(make, case):
    """In float32 and without dropout; the buffers have held other texts before."""
    (losses, found), (expected_losses, expected) = (gradients(make(CASES[case]), path) for path in (Captured(CPU, LOG), None))
    assert losses.tolist() == pytest.approx(expected_losses.tolist(), rel=1e-5)
    assert found.keys() == expected.keys() and any(value.abs().max() > 1e-4 for value in expected.values())
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=2e-6, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("case", [*CASES, "mixed"])
def test_no_value_is_read_while_gradients_are_computed(make, case):
    """Tensors on the device "meta" have a shape and no values, so that whatever a capture forbids raises an error."""
    trainer, meta = make(CASES.get(case) or of_features()), torch.device("meta")
    stage = begun(trainer, Captured(CPU, LOG))
    chosen = [np.arange(5)] * len(stage.phases[-1].terms)
    parts = [trainer.step.micro_batches(*pair, Place(stage.name, 0, 0, 0)) for pair in zip(stage.phases[-1].terms, chosen)]
    for module in (trainer.model, *trainer.anchors.values()):
        module.to(meta)
    if bottom := trainer.head_inputs.bottom:
        bottom.tables = {data: table.to(meta) for data, table in bottom.tables.items()}
    trainer.step.device, trainer.step.path = meta, Captured(meta, LOG)
    trainer.step.micro_batches = lambda term, *_: parts[stage.phases[-1].terms.index(term)]
    place = Place(stage.name, 0, len(stage.phases) - 1, 0)
    if case == "mixed":
        with pytest.raises(NotImplementedError, match="meta"):
            trainer.step.gradients(stage.phases[-1], place, chosen)
    else:
        assert trainer.step.gradients(stage.phases[-1], place, chosen).device == meta
