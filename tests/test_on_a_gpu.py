"""Training runs on a GPU beside the same on a CPU: `make test-gpu`. Skipped without one; test_gpu.py has what a CPU can show."""

import math
import warnings

import numpy as np
import pytest
import torch
from crosslens.encoding.batches import Padding
from crosslens.training import cpu, gpu
from test_gpu import CASES, make, subspaces  # noqa: F401  fixtures
from test_mixed import of_features
from test_training import OBJECTIVES, interrupted, loop, recipe

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
CPU, GPU = torch.device("cpu"), torch.device("cuda")


def losses(trained) -> np.ndarray:
    """The losses of all epochs, heads and stages, in the order of the history."""
    return np.array(
        [value for row in trained.history for name, value in row.items() if name.startswith("loss") and value != ""], float
    )


def agreement(one, other) -> float:
    """Share of the predictions of two training runs that are the same."""
    pairs = [(a[head], b[head]) for a, b in zip(one.predictions, other.predictions, strict=True) for head in a]
    return float(np.mean(np.concatenate([np.ravel(a == b) for a, b in pairs])))


def replays(trainer) -> list[int]:
    """Number of graphs after each update of a loop, in a list that training fills; nothing may fail to be captured."""
    numbers = []

    def after_step(_):
        assert trainer.step.path.captures
        numbers.append(len(trainer.step.path.graphs))

    trainer.after_step = after_step
    return numbers


@pytest.mark.parametrize("case", CASES)
def test_a_captured_training_run_learns_what_it_learns_on_a_cpu(make, case):  # noqa: F811
    of = CASES[case]
    trainer = make(of, device=GPU)
    numbers, trained, expected = replays(trainer), trainer.run(), make(of).run()
    assert max(numbers) >= 2 and set(trainer.paths.values()) == {"captured"}
    assert losses(trained) == pytest.approx(losses(expected), rel=0.02, abs=0.01)
    assert not trained.predictions or agreement(trained, expected) > 0.95


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_replays_draw_the_dropout_of_eager_updates(bench, monkeypatch, objective):
    """The same random numbers in the same order; gradients differ by the order of their sums alone."""
    trainers = [loop(bench, recipe(objective, epochs=1), device=GPU) for _ in range(2)]
    begin = trainers[1]._begin

    def without_graphs(*arguments):
        begin(*arguments)
        trainers[1].step.path.captures = False

    trainers[1]._begin = without_graphs
    numbers = replays(trainers[0])
    captured, eager = (trainer.run() for trainer in trainers)
    assert max(numbers) >= 2 and losses(captured) == pytest.approx(losses(eager), rel=1e-3)


@pytest.mark.parametrize("why", ["configuration", "head"])
def test_what_is_not_captured_runs_eagerly(bench, why):
    trainer = loop(bench, of_features() if why == "head" else recipe(gpu_step="eager"), device=GPU)
    trained = trainer.run()
    assert all(description.startswith("eager: ") and why in description for description in trainer.paths.values())
    assert np.isfinite(losses(trained)).all()


def test_a_failed_capture_is_no_failed_training_run(bench, caplog):
    """A value that is read during capture: the run goes on with the same updates, kernel by kernel."""
    of = recipe("finetuned", dropout=0.0)
    expected, trainer = loop(bench, of, dropout=0.0, device=GPU).run(), loop(bench, of, dropout=0.0, device=GPU)
    head = trainer.model.head("task")
    term_loss = head.term_loss

    def reading(*arguments, **options):
        loss = term_loss(*arguments, **options)
        float(loss)
        return loss

    head.term_loss = reading
    trained = trainer.run()
    assert "continuing without CUDA graphs" in caplog.text and "could not be captured" in trainer.paths["task"]
    assert losses(trained) == pytest.approx(losses(expected), rel=0.02, abs=0.01)


def test_compiled_layers_learn_the_same(bench, monkeypatch):
    of = recipe("reversal", dropout=0.0)
    expected = loop(bench, of, dropout=0.0, device=GPU).run()
    monkeypatch.setattr(gpu, "COMPILED_FROM", 1)
    trainer = loop(bench, of, dropout=0.0, device=GPU)
    numbers, trained = replays(trainer), trainer.run()
    assert max(numbers) >= 2 and trainer.paths == {"task": "captured, layers compiled", "language": "captured"}
    assert losses(trained) == pytest.approx(losses(expected), rel=0.02, abs=0.01)
    assert np.isfinite(losses(loop(bench, recipe("reversal"), device=GPU).run())).all()  # with dropout


@pytest.mark.parametrize("packed", [True, False], ids=["concatenated", "padded"])
def test_dropout_is_the_same_in_both_passes_of_attention(packed):
    """The derivative in a random direction is that of differences, with the same random state."""
    generator, lengths = torch.Generator().manual_seed(0), torch.tensor([3, 40, 90])
    inside = torch.arange(90) < lengths[:, None]
    shape = (1, 4, int(lengths.sum()), 32) if packed else (3, 4, 90, 32)
    values, steps = ([torch.randn(shape, generator=generator).to(GPU) for _ in range(3)] for _ in range(2))
    options = {"packed": [Padding.of(lengths, GPU)], "attention_mask": None}
    if not packed:
        options = {"attention_mask": inside[:, None, None, :].to(GPU)}

    def output(step: float) -> torch.Tensor:
        torch.manual_seed(0)
        states = [value + step * direction for value, direction in zip(values, steps, strict=True)]
        return cpu.attention(torch.nn.Module(), *states, dropout=0.3, scaling=32**-0.5, **options)[0].square().sum()

    values = [value.requires_grad_() for value in values]
    slopes = torch.autograd.grad(output(0.0), values)
    expected = sum(float((slope * step).sum()) for slope, step in zip(slopes, steps, strict=True))
    with torch.no_grad():
        difference = float(output(1e-2) - output(-1e-2)) / 2e-2
    assert difference == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("precision", ["bfloat16", "float16", "tf32"])
def test_lower_precisions_learn_as_much(bench, precision):
    of = recipe(dropout=0.0)
    exact = losses(loop(bench, of, dropout=0.0, device=GPU).run())
    coarse = losses(loop(bench, of.model_copy(update={"precision": precision}), dropout=0.0, device=GPU).run())
    assert all(map(math.isfinite, coarse)) and coarse == pytest.approx(exact, rel=0.1, abs=0.05)


def test_a_training_with_dropout_resumes(bench, tmp_path):
    """Its random state on the GPU is that of the checkpoint; sums over subwords are not in a fixed order there."""
    of = recipe("reversal")
    whole = loop(bench, of, device=GPU).run()
    interrupted(bench, of, tmp_path / "checkpoint", 3, device=GPU)
    resumed = loop(bench, of, checkpoints=tmp_path / "checkpoint", device=GPU).run()
    assert losses(resumed) == pytest.approx(losses(whole), rel=0.01, abs=0.005) and agreement(resumed, whole) > 0.97


def test_out_of_memory_halves_the_micro_batch(bench):
    of = recipe(dropout=0.0)
    whole = loop(bench, of, dropout=0.0, device=GPU).run()
    trainer, calls = loop(bench, of, dropout=0.0, device=GPU), []
    original = trainer.step._backward_part

    def backward_part(*arguments):
        calls.append(torch.cuda.is_current_stream_capturing())
        if calls.count(True) == 2:  # memory runs out in the second capture
            raise torch.OutOfMemoryError("simulated")
        return original(*arguments)

    trainer.step._backward_part = backward_part
    trained = trainer.run()
    assert trainer.step.largest == 4 and trainer.paths["task"] == "captured"
    assert losses(trained) == pytest.approx(losses(whole), rel=0.02, abs=0.01)


def test_updates_do_not_wait_for_the_gpu(bench):
    """No copy and no value that is read makes the host wait within an epoch's updates, but for captures and losses."""
    trainer = loop(bench, recipe(epochs=6), device=GPU)
    updates, waits, train_phase = [], [], trainer.train_phase
    trainer.after_step = lambda _: updates.append(1)

    def watched(*arguments):
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train_phase(*arguments)
        torch.cuda.set_sync_debug_mode("default")
        waits.extend(f"{warning.filename}:{warning.lineno}" for warning in caught if "synchroniz" in str(warning.message))

    trainer.train_phase = watched
    trainer.run()
    assert len(waits) < len(updates) / 2, waits[:20]
