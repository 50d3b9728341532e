"""Frozen bottom layers: what they compute is computed once, and changes nothing."""

import numpy as np
import pytest
import torch
from crosslens.config.heads import LANGUAGE, TASK
from crosslens.config.units import Units
from crosslens.training import bottom
from test_training import assert_resumes, compute_gradients, loop, nli, recipe


def frozen(number, make=recipe, **changes):
    """Fine-tuning with frozen bottom layers."""
    of = make("finetuned", init_sd=0.5, **changes)
    stage = of.stages[0]
    phase = stage.phases[0].model_copy(update={"frozen_layers": number})
    return of.model_copy(update={"stages": (stage.model_copy(update={"phases": (phase,)}), *of.stages[1:])})


def gradients(bench, of, chosen, without=False):
    trainer = loop(bench, of)
    trainer.model.initialise_heads((TASK, LANGUAGE), 0)
    (phase,) = of.stages[0].phases
    if not without:
        trainer.head_inputs.bottom = bottom.below(trainer.model, of, of.stages[0], trainer.texts, trainer.head_inputs.autocast)
        assert trainer.head_inputs.bottom is not None
    torch.manual_seed(1)
    losses = compute_gradients(trainer, phase, [chosen])
    return losses, {name: value.grad for name, value in trainer.model.named_parameters() if value.grad is not None}


@pytest.mark.parametrize("make", [recipe, nli])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("chosen", [np.arange(9), np.array([4])], ids=["padded", "alone"])
def test_gradients_are_those_of_whole_passes(bench, make, number, chosen):
    """Dropout above is on, and drawn alike; the texts are pairs with token types where the label is of a text."""
    of = frozen(number, make)
    (loss, found), (expected_loss, expected) = gradients(bench, of, chosen), gradients(bench, of, chosen, without=True)
    assert loss == pytest.approx(expected_loss, rel=1e-5) and found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("make", [recipe, nli])
def test_resume_is_exact(bench, make, tmp_path):
    assert_resumes(bench, frozen(1, make), (7,), tmp_path)  # in the second of its epochs


def test_blocks_run_where_they_have_to(bench, monkeypatch):
    def made(of):
        trainer = loop(bench, of)
        return bottom.below(trainer.model, of, of.stages[0], trainer.texts, trainer.head_inputs.autocast)

    assert made(frozen(1)) is not None
    assert made(frozen(None)) is None
    assert made(frozen(1, encoder_dropout_when_frozen=True)) is None
    with monkeypatch.context() as patched:
        patched.setattr(bottom, "BYTES", 1000)
        assert made(frozen(1)) is None
    of = frozen(1)
    lower = of.model_copy(update={"heads": of.heads | {TASK: of.heads[TASK].model_copy(update={"layer": 1})}})
    assert made(lower) is None
    assert made(frozen(1, nli).model_copy(update={"units": Units(unit="text", state="mean")})) is None
