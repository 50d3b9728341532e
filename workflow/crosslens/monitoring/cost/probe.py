"""A few steps and passes of an encoder of a given shape on this machine, with random weights and random subwords."""

import logging
import time
from collections.abc import Callable

import numpy as np
import torch
from transformers import BertConfig, BertModel

from crosslens.config.heads import TASK, LinearHead
from crosslens.encoding.texts import Texts
from crosslens.monitoring.cost.sizes import Shape
from crosslens.monitoring.cost.work import Setup
from crosslens.recipes import ENCODER, Data, Phase, Recipe, Stage, Term
from crosslens.runs.machine import processor_clock
from crosslens.training.state import Position
from crosslens.training.loop import Loop

SECONDS, STEPS = 2.0, 4  # a probe's steps take at least so long and are at least so many, the first one not counted
MOST = 8.0  # but not longer than this
LOG = logging.getLogger(__name__)


class _Enough(Exception):
    pass


def probe(shape: Shape, setup: Setup, batch: int, length: int) -> dict[str, float]:
    """FLOPs a second of steps that update the encoder, and of passes; pieces: of the batch."""
    before = torch.get_num_threads()
    torch.set_num_threads(setup.threads)
    try:
        return _probe(shape, setup, batch, length, _clock(setup.threads))
    finally:
        torch.set_num_threads(before)


def _clock(threads: int) -> Callable[[], float]:
    """A clock of this process; where there is a GPU, one that waits for it."""
    if not torch.cuda.is_available():
        return processor_clock(threads)

    def synchronised() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return synchronised


def _probe(shape: Shape, setup: Setup, batch: int, length: int, clock: Callable[[], float]) -> dict[str, float]:
    heads = max(number for number in range(1, max(1, shape.hidden // 64) + 1) if shape.hidden % number == 0)
    config = BertConfig(
        vocab_size=max(shape.vocabulary, 200), hidden_size=shape.hidden, num_hidden_layers=shape.layers,
        num_attention_heads=heads, intermediate_size=shape.inner,
    )  # fmt: skip
    texts = _texts(64 * batch, length, config.vocab_size)
    recipe = _recipe(batch, setup)
    train, held_out = recipe.data()
    stamps: list[tuple[float, int]] = []

    def after_step(position: Position) -> None:
        stamps.append((clock(), position.pieces))
        spent = stamps[-1][0] - stamps[0][0]
        if (len(stamps) > STEPS and spent > SECONDS) or (len(stamps) > 1 and spent > MOST):
            raise _Enough

    loop = Loop(
        recipe, {train: texts, held_out: texts.take(np.arange(4))}, BertModel(config, add_pooling_layer=False),
        seed=0, log=LOG, after_step=after_step,
    )  # fmt: skip
    try:
        loop.run()
    except _Enough:
        pass
    (start, first), (end, last) = stamps[0], stamps[-1]
    products = shape.products(float(length))
    trained = 3 * (last - first) * products / max(end - start, 1e-6)
    pieces, passed, began = 0, 0.0, clock()
    chosen = np.arange(max(8, min(256, 4096 // length)))
    loop.texts = {**loop.texts, held_out: texts.take(chosen[: len(texts)])}
    while passed < SECONDS / 2:
        loop.predict(held_out, TASK)
        pieces, passed = pieces + len(loop.texts[held_out].pieces), clock() - began
    return {"trained": trained, "passed": pieces * products / passed, "pieces": float(batch * length)}


def _texts(count: int, length: int, vocabulary: int) -> Texts:
    """Texts of log-normal lengths; one labelled word each two pieces."""
    spread = 0.45
    generator = np.random.default_rng(0)
    lengths = np.clip(generator.lognormal(np.log(length) - spread**2 / 2, spread, count).round(), 3, 510).astype(np.int64)
    words = np.maximum(lengths // 2, 1)
    total = int(words.sum())
    return Texts(
        ids=[str(number) for number in range(count)], languages=["xx"] * count,
        pieces=generator.integers(5, vocabulary, lengths.sum()).astype(np.int32),
        piece_offsets=np.concatenate([[0], lengths.cumsum()]),
        positions=np.concatenate([np.arange(number) for number in words]),
        word_offsets=np.concatenate([[0], words.cumsum()]), words=[""] * total,
        labels={TASK: generator.integers(0, 10, total)},
        second=np.zeros(count, np.int64), cut=np.zeros(count, bool), cut_words=np.zeros(count, np.int64),
    )  # fmt: skip


def _recipe(batch: int, setup: Setup) -> Recipe:
    """Fine-tuning of the encoder and a tagger."""
    data = Data(corpus="probe", split="train", languages=("xx",))
    held_out = data.model_copy(update={"split": "validation"})
    stage = Stage(
        name="task", phases=(Phase(terms=(Term(head=TASK, data=data),), update=(ENCODER, TASK)),), epochs=1, batch=batch,
        encoder_rate=1e-6, head_rate=1e-6, new_heads=(TASK,), select_head=TASK, select_data=held_out,
    )  # fmt: skip
    head = LinearHead(labels=tuple(str(number) for number in range(10)))
    return Recipe.model_validate(
        {
            "name": "probe", "encoder": "probe", "reading": "probe", "heads": {TASK: head}, "stages": (stage,), "scores": (),
            "init_sd": 0.02, "dropout": 0.1, "clip": 1.0, "length_pools": True, "precision": setup.precision,
            "encoder_dropout": setup.dropout,
        }
    )  # fmt: skip
