"""Training runs on a GPU, as far as a CPU can show them: shapes, buffers, and the same gradients from them.

`Captured` computes on a CPU what a GPU captures, on the same buffers. tests/test_on_a_gpu.py has what needs a GPU.
"""

import logging
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch
from crosslens.config.heads import LANGUAGE, TASK
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
    same,
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
    **{
        f"parser, {root}": without_dropout(parser_recipe(root=root, decoding="probability", **DRAWN))
        for root in ("vector", "as_released")
    },
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
def test_no_value_is_read_while_gradients_are_computed(make, monkeypatch, case):
    """Tensors on the device "meta" have a shape and no values, so that whatever a capture forbids raises an error."""
    trainer, meta = make(CASES.get(case) or of_features()), torch.device("meta")
    stage = begun(trainer, Captured(CPU, LOG))
    chosen = [np.arange(5)] * len(stage.phases[-1].terms)
    place, terms = Place(stage.name, 0, len(stage.phases) - 1, 0), stage.phases[-1].terms
    parts = [trainer.step.micro_batches(*pair, place) for pair in zip(terms, chosen, strict=True)]
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # which has no dtype for that device
    for module in (trainer.model, *trainer.anchors.values()):
        module.to(meta)
    if bottom := trainer.head_inputs.bottom:
        bottom.tables = {data: table.to(meta) for data, table in bottom.tables.items()}
    trainer.step.device, trainer.step.path = meta, Captured(meta, LOG)
    trainer.step.micro_batches = lambda term, *_: parts[terms.index(term)]
    if case == "mixed":
        with pytest.raises(NotImplementedError, match="meta"):
            trainer.step.gradients(stage.phases[-1], place, chosen)
    else:
        assert trainer.step.gradients(stage.phases[-1], place, chosen).device == meta


@pytest.mark.long
def test_layers_are_compiled_whole_and_compute_the_same(make, monkeypatch):
    """Their graph is taken apart and computed by torch's own kernels, which needs no compiler."""
    from torch._dynamo.testing import CompileCounterWithBackend  # takes seconds

    counter, numbers = CompileCounterWithBackend("aot_eager"), []
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=counter, fullgraph=True))
    trainer = make(CASES["finetuned"])
    path = Captured(CPU, LOG, gpu.compiled_layers(trainer.model.encoder))
    monkeypatch.setattr(path, "keep", lambda *_: numbers.append(counter.frame_count))
    (losses, found), (expected_losses, expected) = gradients(trainer, path), gradients(make(CASES["finetuned"]))
    assert losses.tolist() == pytest.approx(expected_losses.tolist(), rel=1e-5) and found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=2e-6, msg=lambda text, name=name: f"{name}: {text}")
    assert len(path.buffers) == 2 and numbers == [2, 2]  # nothing is compiled again for another shape
    assert all("forward" not in vars(layer) for layer in transformer_layers(trainer.model.encoder))


# Whole training runs.


def buffered(trainer, losses_at_once=5):
    """The loop as on a GPU: updates on buffers, and losses that are read after some updates."""
    begin, trainer.losses_at_once = trainer._begin, losses_at_once

    def as_on_a_gpu(number, stage, resumed):
        begin(number, stage, resumed)
        trainer.step.path = Captured(CPU, LOG)

    trainer._begin = as_on_a_gpu
    return trainer


@pytest.mark.parametrize("case", ["frozen", "reversal", "entropy", "penalty", "parts", "language model", "layer"])
def test_a_training_run_on_buffers_learns_the_same(make, case):
    of = CASES[case]
    plain, trained = make(of).run(), buffered(make(of)).run()
    for row, other in zip(plain.history, trained.history, strict=True):
        losses = [name for name in row if name.startswith("loss")]
        assert [other[name] for name in losses] == pytest.approx([row[name] for name in losses], rel=1e-3)
    one, other = weights(plain.model), weights(trained.model)
    assert all(torch.allclose(one[name], other[name], atol=1e-3) for name in one)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_training_run_with_dropout_does_not_depend_on_when_losses_are_read(make, objective):
    runs = [buffered(make(recipe(objective), dropout=0.1), number).run() for number in (1, 7)]
    assert_same(*runs)


def test_a_training_run_on_buffers_resumes_exactly(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("test_training.loop", lambda *arguments, **options: buffered(loop(*arguments, **options)))
    assert_resumes(bench, recipe("entropy"), (11,), tmp_path)


def test_moments_of_a_checkpoint_meet_rates_that_are_tensors(bench):
    """A fused AdamW whose rates are tensors makes the updates of one whose rates are numbers, after a checkpoint too."""
    results = []
    for as_tensors in (False, True):
        trainer = loop(bench, recipe("finetuned"))
        stage = trainer.recipe.stages[0]
        trainer.model.initialise_heads((TASK, LANGUAGE), 0)
        for start in (0, 3):
            before = trainer.optimiser.state_dict() if start else None
            trainer.optimiser = optimiser.build(trainer.model, trainer.recipe, stage, trainer.optimiser)
            for group in trainer.optimiser.param_groups if as_tensors else []:
                group["lr"] = torch.tensor(group["lr"])
            if before:
                optimiser.restore(trainer.optimiser, before)
            for update in range(start, start + 3):
                optimiser.set_rates(trainer.optimiser, trainer.recipe, update, 12)
                for group in trainer.optimiser.param_groups if not as_tensors else []:
                    group["lr"] = float(torch.tensor(group["lr"]))  # in float32, like the tensors
                torch.manual_seed(update)
                trainer.step.gradients(stage.phases[0], Place(stage.name, 0, 0, update), [np.arange(update, update + 6)])
                trainer.optimiser.step()
        assert all(isinstance(group["lr"], torch.Tensor) == as_tensors for group in trainer.optimiser.param_groups)
        results.append(weights(trainer.model))
    assert same(*results)


def test_losses_are_read_once_in_so_many_updates_and_at_the_end_of_a_pass(bench):
    trainer, sizes = buffered(loop(bench, recipe("finetuned", epochs=1)), 4), []
    trainer.after_step = lambda position: sizes.append((position.stage, len(trainer.losses.pending)))
    trainer.run()
    assert [size for stage, size in sizes if stage == 0] == [1, 2, 3, 0, 1, 2]  # six updates


def test_a_loss_that_is_not_a_number_is_found_before_weights_are_kept(bench):
    trainer = buffered(loop(bench, recipe("finetuned")), 100)
    poison(trainer, after=3)
    with pytest.raises(FloatingPointError, match=r"stage task, epoch 0, step 3 \(texts .*\): lower the learning rate$"):
        trainer.run()
    assert len(trainer.position.history) == 1 and trainer.position.step == 6  # of the untrained model; the pass went on
    assert all(value.isfinite().all() for value in trainer.best.values())
    assert not all(value.isfinite().all() for value in weights(trainer.model).values())


def test_a_loss_that_is_not_a_number_is_found_before_a_checkpoint_is_written(bench, tmp_path):
    path = tmp_path / "checkpoint"
    trainer = buffered(loop(bench, recipe("finetuned"), checkpoints=path, checkpoint_seconds=0), 100)
    poison(trainer, after=3)
    with pytest.raises(FloatingPointError, match="step 3 "):
        trainer.run()
    saved = checkpoint.load(trainer.checkpoint_file)
    assert saved.position.step == 3 and all(value.isfinite().all() for value in saved.weights.values())


def test_buffers_are_made_again_for_smaller_micro_batches_where_memory_runs_out(bench, caplog):
    of = recipe("finetuned", dropout=0.0)
    whole = loop(bench, of, dropout=0.0).run()
    trainer = buffered(loop(bench, of, dropout=0.0))
    sizes = memory_runs_out(trainer)
    with caplog.at_level(logging.WARNING):
        trained = trainer.run()
    assert sizes[:2] == [9, 9] and set(sizes[2:]) == {5} and caplog.text.count("out of memory") == 1  # with the text of padding
    for row, other in zip(whole.history, trained.history, strict=True):
        assert other.get("loss 0 task cross_entropy", 0) == pytest.approx(row.get("loss 0 task cross_entropy", 0), rel=1e-3)


# Shapes.


def sizes_of_batches(size, pools):
    """Sizes of batches of 6,400 texts whose lengths are those of XNLI's pairs, of which each has a label."""
    lengths = np.random.default_rng(0).lognormal(np.log(36), 0.45, 6400).round().clip(10, 128).astype(int)
    batches = random_batches(lengths, size, 0, pools=pools)
    return [Shape(len(batch), lengths[batch].sum(), lengths[batch].max(), len(batch), 1) for batch in batches]


@pytest.mark.parametrize("pools", [False, True], ids=["random", "similar lengths"])
@pytest.mark.parametrize("size", [16, 32, 64])
def test_few_shapes_waste_little(size, pools):
    sizes = sizes_of_batches(size, pools)
    known = gpu.shapes(sizes[: len(sizes) // 2])
    chosen = [gpu.fitting(known, each) for each in sizes]  # half of which are new
    assert len(known) <= gpu.SHAPES and len(set(chosen)) <= gpu.SHAPES + 3
    assert all((np.array(shape) >= np.array(each)).all() for shape, each in zip(chosen, sizes, strict=True))
    waste = sum(shape.subwords for shape in chosen) / sum(each.subwords for each in sizes) - 1
    print(size, pools, waste)
    assert waste < (0.2 if pools else 0.1)


def test_a_larger_batch_gets_a_shape_of_its_own():
    known = gpu.shapes([Shape(8, 300, 40, 8, 1), Shape(8, 500, 60, 8, 1)])
    assert known == [(8, 320, 48, 8, 1), (8, 512, 64, 8, 1)]
    assert gpu.fitting(known, Shape(5, 100, 30, 5, 1)) == known[0] and gpu.fitting(known, Shape(8, 310, 50, 8, 1)) == known[1]
    large = gpu.fitting(known, Shape(8, 520, 62, 8, 1))
    assert large == (8, 576, 64, 8, 1) and gpu.fitting(known, Shape(8, 570, 64, 8, 1)) == large


# Choice of the path.


def test_what_cannot_be_captured_says_why(bench):
    def why(of, precision="bfloat16", cached=False, kind=None):
        encoder = bench.encoder()
        encoder.config.model_type = kind or encoder.config.model_type
        return gpu.why_eager(of, of.stages[0], encoder, precision, cached)

    assert [why(of) for of in CASES.values()] == [None] * len(CASES)
    assert why(recipe(gpu_step="eager")) == "the configuration says so"
    assert why(of_features(), cached=True) == "the head task chooses the states that it reads while it runs"
    assert why(recipe(), "float16") == "the factor of float16's losses depends on the gradients"
    assert why(recipe(), kind="mpnet") == "texts of an encoder of the kind mpnet are padded side by side"
    of = nli()
    pair = of.model_copy(update={"units": of.units.model_copy(update={"state": "pair"})})
    assert why(pair) == "means of texts are padded side by side"
    assert not why(pair, cached=True) and not why(recipe(), kind="mpnet", cached=True)


def test_a_cpu_has_one_path(bench):
    trainer = loop(bench, recipe())
    trainer.run()
    assert type(trainer.step.path) is gpu.Eager and not trainer.paths
