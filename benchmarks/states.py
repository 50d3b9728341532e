"""Hidden states of labelled words: length-sorted batches against one sentence at a time and against padding to 128.

    python benchmarks/states.py results/demo

Both arms run in one process, in turn, on the built scale's test sentences; what counts is the ratio. Prints a line an arm with
real (not padded) pieces a second, and the largest difference of the states.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from crosslens.states.extract import extract
from crosslens.training.model import load_encoder
from crosslens.training.texts import Texts, collate, load

REPEATS = 5


def one_by_one(encoder: torch.nn.Module, texts: Texts, padded: int | None, size: int) -> np.ndarray:
    """States in the order of the texts, `size` texts at a time, padded to their longest or to `padded`."""
    parts = []
    with torch.inference_mode():
        for start in range(0, len(texts), size):
            batch = collate(texts, np.arange(start, min(start + size, len(texts))), encoder.config.pad_token_id or 0)
            ids, mask = batch.input_ids, batch.attention_mask
            mask = torch.ones_like(ids) if mask is None else mask
            if padded:
                extra = (0, padded - ids.shape[1])
                ids, mask = torch.nn.functional.pad(ids, extra), torch.nn.functional.pad(mask, extra)
            states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            parts.append(states[batch.rows, batch.columns].numpy())
    return np.concatenate(parts)


def main() -> None:
    """Time the arms in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a built scale, e.g. results/demo")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    encoder = load_encoder(arguments.results / "encoders" / "e5-small")
    files = sorted((arguments.results / "tokens" / "e5-small" / "udpos").glob("*.test.parquet"))
    texts = load(files, [], [])
    layer = encoder.config.num_hidden_layers
    rows = np.arange(int(texts.word_offsets[-1]))
    arms: dict[str, Callable[[], np.ndarray]] = {
        "length-sorted batches (ours)": lambda: extract(encoder, texts, rows, [layer])[layer],
        "one sentence at a time": lambda: one_by_one(encoder, texts, None, 1),
        "batches of 32 padded to 128": lambda: one_by_one(encoder, texts, 128, 32),
    }
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    found = {name: arm() for name, arm in arms.items()}  # warm-up
    for _ in range(REPEATS):
        for name, arm in arms.items():
            started = time.perf_counter()
            arm()
            seconds[name].append(time.perf_counter() - started)
    ours = next(iter(arms))
    print(f"{len(texts)} sentences, {len(texts.pieces)} pieces, {arguments.threads} threads, torch {torch.__version__}")
    for name, times in seconds.items():
        ratios = [other / mine for other, mine in zip(times, seconds[ours], strict=True)]
        difference = np.abs(found[name] - found[ours]).max()
        print(
            f"{name}: {len(texts.pieces) / statistics.median(times):,.0f} pieces a second, "
            f"ours is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f}), "
            f"largest difference {difference:.1e}"
        )


if __name__ == "__main__":
    main()
