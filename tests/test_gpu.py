"""Training runs on a GPU, as far as a CPU can show them: texts without padding, a thread for the inputs, late losses.

The kernel of attention exists for GPUs alone. Here torch's operator has a plain kernel for the CPU, written from its definition,
so that its arguments and its derivative are torch's own. The kernel for GPUs is not run by any test.
"""

import logging
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import LANGUAGES
from crosslens.config.recipes import Data
from crosslens.config.units import Units
from crosslens.encoding.batches import collate
from crosslens.training import checkpoint, cpu, gpu
from crosslens.training.model import states
from test_training import (
    OBJECTIVES,
    SEGMENTS_AND_LAYERS,
    assert_concatenated_texts_are_as_padded_ones,
    assert_resumes,
    assert_same,
    loop,
    memory_runs_out,
    poison,
    recipe,
    tidy,
    weights,
)

CPU = torch.device("cpu")
PAIRS = Data(corpus="pairs", split="test", languages=LANGUAGES)


def by_text(offsets, *tensors):
    """The part of each text, (heads, T, d), of tensors (1, n, heads, d)."""
    return [[tensor[0, start:stop].transpose(0, 1) for tensor in tensors] for start, stop in pairwise(offsets.tolist())]


def end_to_end(parts):
    """Parts of texts, (heads, T, d), as one tensor (1, n, heads, d)."""
    return torch.cat([part.transpose(0, 1) for part in parts])[None]


@pytest.fixture
def kernel():
    """Kernels of attention for the CPU, without dropout; the arguments of each call."""
    calls = []

    def forward(
        query, key, value, bias, offsets, offsets_of_keys, longest, longest_key, dropout, mask, with_sums=False, *, scale, **_
    ):
        assert bias is None and mask == 0 and not dropout and offsets.dtype == torch.int32
        assert torch.equal(offsets, offsets_of_keys) and longest == longest_key == offsets.diff().max()
        calls.append((query.shape, offsets.tolist(), with_sums))
        output = end_to_end([(q @ k.mT * scale).softmax(-1) @ v for q, k, v in by_text(offsets, query, key, value)])
        sums, nothing = torch.empty(len(offsets) - 1, query.shape[2], 0), torch.zeros((), dtype=torch.int64)
        return output, sums, nothing, nothing, longest, longest

    def backward(gradient, query, key, value, bias, output, offsets, *_, scale, **__):
        gradients = []
        for q, k, v, of_output in by_text(offsets, query, key, value, gradient):
            weights = (q @ k.mT * scale).softmax(-1)
            of_weights = of_output @ v.mT
            of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * scale
            gradients.append((of_scores @ k, of_scores.mT @ q, weights.mT @ of_output))
        return *map(end_to_end, zip(*gradients, strict=True)), torch.empty(0)

    library = torch.library.Library("aten", "IMPL")
    library.impl("_efficient_attention_forward", forward, "CPU")
    library.impl("_efficient_attention_backward", backward, "CPU")
    yield calls
    library._destroy()


@pytest.fixture
def packing(monkeypatch, kernel):
    """Texts are concatenated as for a GPU."""
    monkeypatch.setattr(cpu, "packing", lambda inside, _: gpu.ends(inside, CPU))
    return kernel


@pytest.mark.parametrize(("segments", "layers"), SEGMENTS_AND_LAYERS)
def test_concatenated_texts_have_the_states_and_gradients_of_padded_ones(bench, packing, segments, layers):
    assert_concatenated_texts_are_as_padded_ones(bench, 7, segments, layers)
    lengths = bench.texts(PAIRS, "text").lengths[:7]
    subwords, ends = sum(lengths), [0, *np.cumsum(np.sort(lengths))]
    assert [(shape[1], offsets, with_sums) for shape, offsets, with_sums in packing] == [(subwords, ends, True)] * 2


def test_the_pooler_reads_the_first_subword_of_each_concatenated_text(bench, packing, monkeypatch):
    texts, units = bench.texts(PAIRS, "text"), Units(unit="text", state="pooler")
    batch, encoder = collate(texts, np.arange(7), 0), bench.encoder(0.0, pooler=True)
    with torch.inference_mode():
        padded = states(encoder, batch, units, [1])
        cpu.prepare(encoder, CPU)
        assert not packing and list(states(encoder, batch, units, [1], packed=True)) == list(padded)
        monkeypatch.setattr(cpu, "packs", lambda *_: True)
        concatenated = states(encoder, batch, units, [1], packed=True)
    assert packing and list(padded)[-1] == list(concatenated)[-1] == "pooler"
    assert all(torch.allclose(padded[column], concatenated[column], atol=1e-5) for column in padded)


def test_texts_are_concatenated_only_where_the_kernel_computes_attention(kernel, monkeypatch):
    assert gpu.is_exact.__wrapped__(CPU) and kernel
    exact = gpu.attention
    monkeypatch.setattr(gpu, "attention", lambda query, key, *rest: exact(query, key.flip(2), *rest))
    assert not gpu.is_exact.__wrapped__(CPU)
    monkeypatch.setattr(gpu, "attention", lambda *_: torch.ops.aten.a_kernel_that_there_is_not())
    assert not gpu.is_exact.__wrapped__(CPU)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_torch_describes_the_kernel_as_it_is_called(dtype):
    """Shape and type without values, in the precisions of training runs."""
    padding = gpu.Padding(*(torch.empty(0, device="meta") for _ in range(2)))
    ends = gpu.Ends(torch.empty(4, dtype=torch.int32, device="meta"), 5, padding)
    query, key, value = (torch.empty(1, 2, 11, 64, dtype=dtype, device="meta") for _ in range(3))
    output = gpu.attention(query, key, value, ends, 0.125)
    assert output.shape == (1, 11, 2, 64) and output.dtype == dtype


def test_a_training_with_concatenated_texts_learns_the_same(bench, packing):
    of = recipe("reversal", dropout=0.0)
    with_ends = loop(bench, of, dropout=0.0)
    trained = with_ends.run()
    calls = len(packing)
    assert calls >= 2 * with_ends.model.top
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "packing", lambda inside, _: [gpu.padding(inside, CPU)])
        expected = loop(bench, of, dropout=0.0).run()
    assert len(packing) == calls
    for row, other in zip(trained.history, expected.history, strict=True):
        losses = [name for name in row if name.startswith("loss")]
        assert [row[name] for name in losses] == pytest.approx([other[name] for name in losses], rel=1e-3)


def test_attention_with_dropout_pads(bench, packing, monkeypatch):
    """Torch's kernel has other dropout in its backward pass than in its forward pass."""
    trained = loop(bench, recipe(), dropout=0.1).run()
    assert not packing
    monkeypatch.setattr(cpu, "packing", lambda inside, _: [gpu.padding(inside, CPU)])
    assert_same(trained, loop(bench, recipe(), dropout=0.1).run())


# Inputs made ahead, losses read late.


def as_on_a_gpu(trainer, losses_at_once=5):
    """The loop with a thread that makes inputs, and with losses that are read after some updates."""
    trainer.pipeline_depth, trainer.losses_at_once = 2, losses_at_once
    return trainer


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weights_and_losses_do_not_depend_on_when_inputs_are_made_and_losses_read(bench, objective):
    of = recipe(objective)
    assert_same(loop(bench, of).run(), as_on_a_gpu(loop(bench, of)).run())


def test_a_training_whose_losses_are_read_late_resumes_exactly(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("test_training.loop", lambda *arguments, **options: as_on_a_gpu(loop(*arguments, **options)))
    assert_resumes(bench, recipe("entropy"), (11,), tmp_path)


def test_losses_are_read_once_in_so_many_updates_and_at_the_end_of_a_pass(bench):
    trainer, sizes = as_on_a_gpu(loop(bench, recipe("finetuned", epochs=1)), losses_at_once=4), []
    trainer.after_step = lambda position: sizes.append((position.stage, len(trainer.losses.pending)))
    trained = trainer.run()
    assert [size for stage, size in sizes if stage == 0] == [1, 2, 3, 0, 1, 2]  # six updates
    assert tidy(trained.history) == tidy(loop(bench, recipe("finetuned", epochs=1)).run().history)


def test_a_loss_that_is_not_a_number_is_found_before_weights_are_kept(bench):
    trainer = as_on_a_gpu(loop(bench, recipe("finetuned")), losses_at_once=100)
    poison(trainer, after=3)
    with pytest.raises(FloatingPointError, match=r"stage task, epoch 0, step 3 \(texts .*\): lower the learning rate$"):
        trainer.run()
    assert len(trainer.position.history) == 1 and trainer.position.step == 6  # of the untrained model; the pass went on
    assert all(value.isfinite().all() for value in trainer.best.values())
    assert not all(value.isfinite().all() for value in weights(trainer.model).values())


def test_a_loss_that_is_not_a_number_is_found_before_a_checkpoint_is_written(bench, tmp_path):
    path = tmp_path / "checkpoint"
    trainer = as_on_a_gpu(loop(bench, recipe("finetuned"), checkpoints=path, checkpoint_seconds=0), losses_at_once=100)
    poison(trainer, after=3)
    with pytest.raises(FloatingPointError, match="step 3 "):
        trainer.run()
    saved = checkpoint.load(trainer.checkpoint_file)
    assert saved.position.step == 3 and all(value.isfinite().all() for value in saved.weights.values())


def test_inputs_made_for_larger_micro_batches_are_made_anew_where_memory_runs_out(bench, caplog):
    of = recipe("finetuned", dropout=0.0)
    trainer = as_on_a_gpu(loop(bench, of, dropout=0.0))
    sizes = memory_runs_out(trainer)
    with caplog.at_level(logging.WARNING):
        trainer.run()
    assert sizes[:2] == [8, 8] and set(sizes[2:]) == {4} and caplog.text.count("out of memory") == 1


def test_items_are_made_in_order_by_one_thread_that_is_at_most_so_many_ahead():
    threads, items = set(), []

    def make(item):
        threads.add(threading.current_thread())
        items.append(item)
        return item**2

    results = []
    for result in gpu.pipeline(make, range(20), 3):
        results.append(result)
        time.sleep(0.001)
        assert len(items) <= len(results) + 3
    assert results == [item**2 for item in range(20)] and items == list(range(20))
    assert len(threads) == 1 and threading.main_thread() not in threads
    assert list(gpu.pipeline(make, range(2), 3)) == [0, 1] and not list(gpu.pipeline(make, [], 3))


@pytest.mark.parametrize("depth", [0, 2])
def test_an_error_arrives_where_its_result_would(depth):
    items, results = [], []

    def make(item):
        items.append(item)
        return 6 // (3 - item)

    with pytest.raises(ZeroDivisionError):
        for result in gpu.pipeline(make, range(9), depth):
            results.append(result)
    assert results == [2, 3, 6] and max(items) <= 3 + depth


def test_a_caller_that_stops_waits_for_no_item_that_is_not_begun():
    items, threads = [], threading.active_count()
    squares = gpu.pipeline(lambda item: (time.sleep(0.05), items.append(item)), range(50), 10)
    next(squares)
    squares.close()
    assert len(items) <= 3 and threading.active_count() == threads
