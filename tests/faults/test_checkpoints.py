"""Checkpoints that were altered: none is resumed, none ends a training run."""

import logging
import random

import pytest
import torch
from crosslens.config.heads import TASK
from crosslens.training import checkpoint
from crosslens.training.step import Step
from test_training import Killed, assert_same, loop, recipe

LOG = logging.getLogger("crosslens.tests")


@pytest.fixture(scope="module")
def stored(bench, tmp_path_factory):
    """The checkpoint of a training after five steps, and its key."""
    path, done = tmp_path_factory.mktemp("stored") / "checkpoint", []

    def after(_):
        done.append(1)
        if len(done) == 5:
            raise Killed

    trainer = loop(bench, recipe(), checkpoints=path, checkpoint_seconds=0, after_step=after)
    with pytest.raises(Killed):
        trainer.run()
    return path.read_bytes(), trainer.key


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


def alike(one: checkpoint.Checkpoint, other: checkpoint.Checkpoint) -> bool:
    def flat(of):
        parts = {"weights": of.weights, "best": of.best, "random": of.random}
        tensors = {f"{part} {name}": value for part, values in parts.items() for name, value in values.items()}
        for number, state in of.optimiser["state"].items():
            tensors |= {f"{number} {name}": torch.as_tensor(value) for name, value in state.items()}
        return tensors, (of.position, of.optimiser["param_groups"], of.scaler)

    (mine, plain), (its, also) = flat(one), flat(other)
    return plain == also and mine.keys() == its.keys() and all(torch.equal(mine[k], its[k]) for k in mine)


@pytest.mark.parametrize("part", ["header", "content"])
def test_bits_that_flipped(stored, often, tally, tmp_path, caplog, part):
    """A byte of the header, whose flip changes nothing that is said (a space), may be resumed: as what it was."""
    content, key = stored
    size = 8 + int.from_bytes(content[:8], "little")
    found, draw = tally(f"a flipped bit in the {part} of a checkpoint"), random.Random(part)
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    whole = checkpoint.load(checkpoint.CheckpointFile(path, key, LOG))
    assert whole is not None
    for _ in range(often(200, 25)):
        place = draw.randrange(size) if part == "header" else draw.randrange(size, len(content))
        path.write_bytes(flipped(content, place, draw.randrange(8)))
        caplog.clear()
        read = checkpoint.load(checkpoint.CheckpointFile(path, key, LOG))
        warnings = [record.getMessage() for record in caplog.records]
        if read is not None:
            assert alike(read, whole) and part == "header" and not warnings
        else:
            (found.seen,) = warnings
            assert "found a damaged one" in found.seen and "\n" not in found.seen
            assert not path.exists() and path.with_name("checkpoint.damaged").exists()
        found.survived += 1
    found.seen = found.seen.replace(str(tmp_path), "results/models/RECIPE/seed0")


@pytest.mark.parametrize("error", [PermissionError(13, "not yours"), OSError(116, "stale"), MemoryError()], ids=repr)
def test_one_that_cannot_be_read_now_stays(stored, tmp_path, monkeypatch, error):
    def fails(*_):
        raise error

    path, (content, key) = tmp_path / "checkpoint", stored
    path.write_bytes(content)
    with monkeypatch.context() as patched, pytest.raises(type(error)):
        patched.setattr(checkpoint, "safe_open", fails)
        checkpoint.load(checkpoint.CheckpointFile(path, key, LOG))
    assert checkpoint.load(checkpoint.CheckpointFile(path, key, LOG)) is not None


def test_of_other_code_none_is_resumed(bench, tmp_path, monkeypatch):
    """Not even a finished one, from which nothing but predictions would be made."""
    path, steps, step = tmp_path / "checkpoint", [], Step.update
    monkeypatch.setattr(Step, "update", lambda self, *arguments: (steps.append(1), step(self, *arguments))[1])
    taken = {}
    for version in (["1", "a"], ["1", "a"], ["2", "a"], ["2", "b"]):
        before = len(steps)
        loop(bench, recipe(), checkpoints=path, version=version).run()
        taken.setdefault(tuple(version), []).append(len(steps) - before)
    whole = taken["1", "a"][0]
    assert whole > 0 and taken == {("1", "a"): [whole, 0], ("2", "a"): [whole], ("2", "b"): [whole]}


def test_the_scale_of_float16_is_part_of_it(bench, tmp_path):
    """Else the first steps after a kill would be scaled otherwise, and perhaps left out."""
    path, scales = tmp_path / "checkpoint", []

    def scaled(trainer):
        trainer.step.scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)
        return trainer

    def after(_):
        scales.append(trainer.step.scaler.get_scale())
        if len(scales) == 5:
            raise Killed

    trainer = scaled(loop(bench, recipe(), checkpoints=path, checkpoint_seconds=0, after_step=after))
    with pytest.raises(Killed):
        trainer.run()
    assert scales[-1] == 256.0  # it grew twice
    resumed = scaled(loop(bench, recipe(), checkpoints=path))
    assert_same(resumed.run(), scaled(loop(bench, recipe())).run())
    kept = checkpoint.load(checkpoint.CheckpointFile(path, resumed.key, LOG))
    assert kept is not None and kept.scaler["scale"] == resumed.step.scaler.get_scale() and TASK in recipe().heads
