"""Share of a GPU's bfloat16 rate that our loop reaches: fine-tuning a BERT of 12 x 768 at XNLI's lengths.

    python benchmarks/gpu.py --peak 989e12                                                       an H100 or H200
    python benchmarks/gpu.py --layers 2 --hidden 64 --vocabulary 500 --batch 4 --texts 40        a smoke test on a CPU

Random weights and pieces; lengths as of XNLI's sentence pairs: mean about 40 pieces, at most 128; one label a text, on its first
piece. Prints real (not padded) pieces a second and the model FLOPs utilisation: 6 FLOPs a piece and weight of a matrix
(embeddings are looked up, not multiplied) and 12 x layers x hidden x length a piece for attention, over the peak.
"""

import argparse
import statistics
import time
from typing import Any

import common
import numpy as np
import torch
from crosslens.encoding.texts import Texts
from crosslens.training.loop import Loop
from transformers import BertConfig, BertModel


def pairs(count: int, vocabulary: int) -> Texts:
    """Texts with log-normal lengths (mean about 40, 10 to 128)."""
    generator = np.random.default_rng(0)
    lengths = generator.lognormal(np.log(36), 0.45, count).round().clip(10, 128).astype(np.int64)
    return Texts(
        ids=[str(i) for i in range(count)],
        languages=["xx"] * count,
        pieces=generator.integers(5, vocabulary, lengths.sum()).astype(np.int32),
        piece_offsets=np.concatenate([[0], lengths.cumsum()]),
        positions=np.zeros(count, np.int64),
        word_offsets=np.arange(count + 1),
        words=[""] * count,
        labels={"task": generator.integers(0, 3, count)},
        second=np.zeros(count, np.int64),
        cut=np.zeros(count, bool),
        cut_words=np.zeros(count, np.int64),
    )


def flops(model: BertModel, texts: Texts) -> float:
    """FLOPs of training on all texts once, padding not counted."""
    config = model.config
    weights = sum(value.numel() for name, value in model.named_parameters() if value.ndim == 2 and "embeddings" not in name)
    lengths = texts.lengths.astype(float)
    attention = 12 * config.num_hidden_layers * config.hidden_size * (lengths**2).sum()
    return float(6 * weights * lengths.sum() + attention)


class TimedLoop(Loop):
    """Our loop, with the seconds of each epoch's updates; choosing the best epoch is not timed."""

    def train_phase(self, *arguments: Any) -> None:
        started = time.perf_counter()
        super().train_phase(*arguments)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds = [*getattr(self, "seconds", []), time.perf_counter() - started]


def main() -> None:
    """Train for some epochs; the first is the warm-up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peak", type=float, default=989e12, help="dense bfloat16 FLOPs a second of the device")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--vocabulary", type=int, default=119547)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--texts", type=int, default=9600)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    settings = parser.parse_args()
    config = BertConfig(
        vocab_size=settings.vocabulary, hidden_size=settings.hidden, num_hidden_layers=settings.layers,
        num_attention_heads=settings.hidden // 64, intermediate_size=4 * settings.hidden,
    )  # fmt: skip
    encoder = BertModel(config, add_pooling_layer=False)
    texts = pairs(settings.texts, settings.vocabulary)
    recipe = common.tagging(batch=settings.batch, rate=2e-5, precision=settings.precision, epochs=settings.epochs)
    loop = TimedLoop(recipe, common.parts(recipe, texts), encoder, seed=1, log=common.LOG)
    loop.run()
    device = torch.cuda.get_device_name() if loop.device.type == "cuda" else "CPU"
    rates = [len(texts.pieces) / seconds for seconds in loop.seconds[1:]]
    used = [flops(encoder, texts) / seconds / settings.peak for seconds in loop.seconds[1:]]
    print(f"{device}, torch {torch.__version__}, {settings.precision}, BERT {settings.layers} x {settings.hidden}")
    print(
        f"batches of {settings.batch}, mean length {texts.lengths.mean():.0f}, {len(rates)} epochs of {len(texts.pieces)} pieces"
    )
    print(f"{statistics.median(rates):,.0f} pieces a second ({min(rates):,.0f} to {max(rates):,.0f})")
    share = f"{statistics.median(used):.2%} ({min(used):.2%} to {max(used):.2%})"
    print(f"{share} of {settings.peak:.3g} FLOPs a second")


if __name__ == "__main__":
    main()
