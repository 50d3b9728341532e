"""Share of a GPU's bfloat16 rate that our loop reaches, and training runs an hour: fine-tuning a BERT of 12 x 768 at XNLI's
lengths.

    python benchmarks/gpu.py --peak 989e12                                                       an H100 or H200
    python benchmarks/gpu.py --peak 989e12 --trainings 4                                         four training runs at once
    python benchmarks/gpu.py --layers 2 --hidden 64 --vocabulary 500 --batch 4 --texts 40        a smoke test on a CPU

Random weights and subwords; lengths as of XNLI's sentence pairs: mean about 40 subwords, at most 128; one label a text, on its
first subword; uniformly random batches, as in the training runs of tanti2021's table 2. Prints real (not padded) subwords a
second, the model FLOPs utilisation, training runs an hour and the memory of each. Utilisation: 6 FLOPs a subword and weight of a
matrix (embeddings are looked up, not multiplied) and 12 x layers x hidden x length a subword for attention, over the peak. A
training run has table 2's size on XNLI, 5 epochs of 392,702 pairs; its evaluations are not counted. Training runs at once are
processes that begin each epoch together; the slowest ends it.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import common
import numpy as np
import torch
from crosslens.encoding.texts import Texts
from crosslens.jobs.machine import peak_memory
from crosslens.training.loop import Loop
from transformers import BertConfig, BertModel

PAIRS, EPOCHS = 392_702, 5  # of a training run of table 2 on XNLI


def pairs(count: int, vocabulary: int) -> Texts:
    """Texts with log-normal lengths (mean about 40, 10 to 128)."""
    generator = np.random.default_rng(0)
    lengths = generator.lognormal(np.log(36), 0.45, count).round().clip(10, 128).astype(np.int64)
    return Texts(
        ids=[str(i) for i in range(count)],
        languages=["xx"] * count,
        subwords=generator.integers(5, vocabulary, lengths.sum()).astype(np.int32),
        subword_offsets=np.concatenate([[0], lengths.cumsum()]),
        positions=np.zeros(count, np.int64),
        word_offsets=np.arange(count + 1),
        words=[""] * count,
        labels={"task": generator.integers(0, 3, count)},
        second=np.zeros(count, np.int64),
        cut=np.zeros(count, bool),
        cut_words=np.zeros(count, np.int64),
    )


class TimedLoop(Loop):
    """Our loop, with the seconds of each epoch's updates. All loops begin an epoch together; choosing the best is not timed."""

    barrier: Any
    seconds: list[float]

    def train_phase(self, *arguments: Any) -> None:
        self.barrier.wait()
        started = time.perf_counter()
        super().train_phase(*arguments)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds.append(time.perf_counter() - started)


def meet(barrier: Any) -> None:
    """Let the loops of this process wait at a barrier for those of others."""
    TimedLoop.barrier = barrier


def train(settings: argparse.Namespace) -> tuple[list[float], int, str]:
    """Seconds of each epoch but the first, the warm-up; bytes of memory at the peak, the GPU's where there is one; the device."""
    recipe = common.tagging(
        batch=settings.batch, rate=2e-5, precision=settings.precision, epochs=settings.epochs, pools=False
    )  # fmt: skip
    texts = pairs(settings.texts, settings.vocabulary)
    encoder = BertModel(shape(settings), add_pooling_layer=False)
    loop = TimedLoop(recipe, common.parts(recipe, texts), encoder, seed=1, log=common.LOG)
    loop.seconds = []
    loop.run()
    if loop.device.type == "cuda":
        return loop.seconds[1:], torch.cuda.max_memory_reserved(), torch.cuda.get_device_name()
    return loop.seconds[1:], peak_memory(), "CPU"


def shape(settings: argparse.Namespace) -> BertConfig:
    """The encoder's configuration."""
    return BertConfig(
        vocab_size=settings.vocabulary, hidden_size=settings.hidden, num_hidden_layers=settings.layers,
        num_attention_heads=settings.hidden // 64, intermediate_size=4 * settings.hidden,
    )  # fmt: skip


def report(seconds: Sequence[Sequence[float]], texts: Texts, flops_an_epoch: float, peak: float) -> str:
    """Lines on training runs at once. seconds: of each training run and epoch."""
    number, ends = len(seconds), [max(epoch) for epoch in zip(*seconds, strict=True)]
    rates = [number * len(texts.subwords) / end for end in ends]
    shares = [number * flops_an_epoch / end / peak for end in ends]
    an_hour = [3600 * rate / (PAIRS * EPOCHS * texts.lengths.mean()) for rate in rates]
    return "\n".join(
        [
            f"{statistics.median(rates):,.0f} subwords a second ({min(rates):,.0f} to {max(rates):,.0f})",
            f"{statistics.median(shares):.2%} ({min(shares):.2%} to {max(shares):.2%}) of {peak:.3g} FLOPs a second",
            f"{statistics.median(an_hour):.3g} trainings an hour ({min(an_hour):.3g} to {max(an_hour):.3g}), {number} at once",
        ]
    )


def main() -> None:
    """Train for some epochs; the first is the warm-up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peak", type=float, default=989e12, help="dense bfloat16 FLOPs a second of the device")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--vocabulary", type=int, default=119547)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--texts", type=int, default=9600)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--trainings", type=int, default=1, help="number that run at once on the device, a process each")
    settings = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    barrier = processes.Barrier(settings.trainings, timeout=600)  # after which the others give up if one has failed
    with ProcessPoolExecutor(settings.trainings, processes, meet, (barrier,)) as pool:
        seconds, memory, devices = zip(*pool.map(train, [settings] * settings.trainings), strict=True)
    texts = pairs(settings.texts, settings.vocabulary)
    with torch.device("meta"):
        encoder = BertModel(shape(settings), add_pooling_layer=False)
    print(f"{devices[0]}, torch {torch.__version__}, {settings.precision}, BERT {settings.layers} x {settings.hidden}")
    print(f"batches of {settings.batch}, mean length {texts.lengths.mean():.0f}, {settings.epochs - 1} epochs of "
          f"{len(texts.subwords)} subwords, {max(memory) / 1e9:.2f} GB at most for each training run")  # fmt: skip
    print(report(seconds, texts, common.flops(encoder, texts.lengths), settings.peak))


if __name__ == "__main__":
    main()
