"""Fine-tuning a BERT on a GPU: our updates, transformers' Trainer, and a plain loop that captures its padded updates.

    python benchmarks/gpu.py                         three minutes on any GPU; --peak: its dense bfloat16 FLOPs per second
    python benchmarks/gpu.py --smoke                 a few seconds on a CPU, where nothing is captured, to try the script

The Trainer runs if accelerate is installed (benchmarks/requirements.txt). All have the same texts in the same batches,
bfloat16, AdamW, clipping and dropout. Weights and subwords are random, and lengths are like those of XNLI's sentence pairs
(mean about 40 subwords, at most 128). Each text has one label, on its first subword. In the saturated case each has 128.

Prints milliseconds per update, real (not padded) subwords per second, and the share of the peak. Each subword takes 6 FLOPs for
each weight of a matrix (embeddings are looked up, not multiplied) and 12 x layers x hidden x length for attention. Updates that
compile or capture are not timed. Last come the hours that tanti2021's table 2 would take with one seed at these rates, if all
its texts had these lengths, without evaluations.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
import yaml
from crosslens.config.heads import TASK
from crosslens.config.recipes import ENCODER, Recipe
from crosslens.encoding.texts import Texts
from crosslens.papers.configuration import load as load_config
from crosslens.papers.tanti2021 import recipes
from crosslens.training import gpu
from crosslens.training.loop import Loop
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, BertModel

TEXTS = {"udpos": 18_906, "xnli": 351_340, "wikipedia": 115_500}  # training texts (tanti2021, appendix A)
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")  # training runs of table 2
LENGTH = 128  # subwords of the longest texts


@dataclass(frozen=True)
class Case:
    """An encoder and its batches."""

    layers: int
    hidden: int
    batch: int
    vocabulary: int = 119_547
    whole: bool = False  # whether all texts are as long as the longest
    updates: int = 60  # updates that are timed

    def shape(self) -> BertConfig:
        """Return the encoder's configuration."""
        return BertConfig(
            vocab_size=self.vocabulary, hidden_size=self.hidden, num_hidden_layers=self.layers, num_labels=3,
            num_attention_heads=max(1, self.hidden // 64), intermediate_size=4 * self.hidden,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.layers} x {self.hidden}, batch {self.batch}{', texts of 128' if self.whole else ''}"


CASES = (Case(12, 768, 64), Case(12, 768, 32), Case(12, 384, 16), Case(12, 768, 256, whole=True, updates=20))


def pairs(case: Case) -> Texts:
    """Return texts for the timed updates: log-normal lengths (10 to 128, mean about 40), or 128 for all if `case.whole`."""
    generator, count = np.random.default_rng(0), case.batch * case.updates
    lengths = generator.lognormal(np.log(36), 0.45, count).round().clip(10, LENGTH).astype(np.int64)
    lengths = np.full(count, LENGTH) if case.whole else lengths
    return Texts(
        ids=[str(i) for i in range(count)],
        languages=["xx"] * count,
        subwords=generator.integers(5, case.vocabulary, lengths.sum()).astype(np.int32),
        subword_offsets=np.concatenate([[0], lengths.cumsum()]),
        positions=np.zeros(count, np.int64),
        word_offsets=np.arange(count + 1),
        words=[""] * count,
        labels={TASK: generator.integers(0, 3, count)},
        second=np.zeros(count, np.int64),
        cut=np.zeros(count, bool),
        cut_words=np.zeros(count, np.int64),
    )


def wait() -> None:
    """Wait until the GPU has done what it was asked for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class TimedLoop(Loop):
    """Our loop, with the seconds of the updates in its last epoch; choosing the best epoch is not timed."""

    def train_phase(self, *arguments: Any) -> None:
        wait()
        started = time.perf_counter()
        super().train_phase(*arguments)
        wait()
        self.seconds = time.perf_counter() - started


def ours(case: Case, texts: Texts, gpu_step: str) -> float:
    """Return the seconds of an epoch of our loop: the third or, if `gpu_step` is eager, the second."""
    recipe = common.tagging(
        batch=case.batch, rate=2e-5, precision="bfloat16", epochs=2 if gpu_step == "eager" else 3, pools=False
    ).model_copy(update={"gpu_step": gpu_step})  # fmt: skip
    encoder = BertModel(case.shape(), add_pooling_layer=False)
    loop = TimedLoop(recipe, common.parts(recipe, texts), encoder, seed=1, log=common.LOG)
    loop.run()
    if loop.paths:
        logging.info("%s: %s", case, loop.paths["task"])
    return loop.seconds


def batches_of(case: Case, texts: Texts) -> list[np.ndarray]:
    """Return the batches of the last epoch of `ours`."""
    return common.first_batches(common.tagging(batch=case.batch, rate=2e-5, pools=False), texts, 1)


def collate(texts: Texts, chosen: np.ndarray, length: int) -> dict[str, torch.Tensor]:
    """Return texts padded to a length, as the models of transformers read them."""
    inside = np.arange(length) < texts.lengths_of(chosen)[:, None]
    input_ids = np.zeros(inside.shape, np.int64)
    input_ids[inside] = texts.subwords[texts.subword_rows(chosen)]
    values = {"input_ids": input_ids, "attention_mask": inside.astype(np.int64), "labels": texts.labels[TASK][chosen]}
    return {name: torch.from_numpy(array) for name, array in values.items()}


def trainer(case: Case, texts: Texts) -> float:
    """Return the seconds of the Trainer's second epoch, with batches padded to their longest text."""
    from transformers import Trainer, TrainerCallback, TrainingArguments  # late: it needs accelerate

    order, ends, on_gpu = np.concatenate(batches_of(case, texts)), [], torch.cuda.is_available()

    class Stopwatch(TrainerCallback):
        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            wait()
            ends.append(time.perf_counter())

    def collator(rows: list[int]) -> dict[str, torch.Tensor]:
        chosen = order[rows]
        return collate(texts, chosen, int(texts.lengths_of(chosen).max()))

    with tempfile.TemporaryDirectory() as output:
        arguments = TrainingArguments(
            output, per_device_train_batch_size=case.batch, num_train_epochs=2, learning_rate=2e-5, bf16=True, seed=1,
            max_grad_norm=1.0, optim="adamw_torch_fused" if on_gpu else "adamw_torch", train_sampling_strategy="sequential",
            dataloader_num_workers=4 if on_gpu else 0, remove_unused_columns=False, use_cpu=not on_gpu, save_strategy="no",
            logging_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        model = BertForSequenceClassification(case.shape())
        dataset: Any = list(range(len(order)))
        Trainer(model, arguments, train_dataset=dataset, data_collator=collator, callbacks=[Stopwatch()]).train()
    return ends[1] - ends[0]


def padded_graph(case: Case, texts: Texts) -> float:
    """Return the seconds of an epoch of replayed updates, with a graph for each batch length, rounded up to 16."""
    device = torch.device("cuda")
    model = BertForSequenceClassification(case.shape()).to(device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=torch.tensor(2e-5, device=device), fused=True, capturable=True)
    batches = batches_of(case, texts)
    lengths = [-(-int(texts.lengths_of(chosen).max()) // 16) * 16 for chosen in batches]
    buffers: dict[int, dict[str, torch.Tensor]] = {}
    graphs: dict[int, torch.cuda.CUDAGraph] = {}
    stream, pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()  # type: ignore[no-untyped-call]

    def update(inputs: dict[str, torch.Tensor]) -> None:
        optimiser.zero_grad(set_to_none=False)
        mask = inputs["attention_mask"].bool()[:, None, None, :].expand(-1, 1, inputs["attention_mask"].shape[1], -1)
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            model(input_ids=inputs["input_ids"], attention_mask=mask, labels=inputs["labels"]).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    for length, chosen in dict(zip(lengths, batches, strict=True)).items():
        buffers[length] = {name: values.to(device) for name, values in collate(texts, chosen, length).items()}
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                update(buffers[length])
        torch.cuda.current_stream().wait_stream(stream)
        graphs[length] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[length], pool=pool, stream=stream):
            update(buffers[length])
    wait()
    started = time.perf_counter()
    for length, chosen in zip(lengths, batches, strict=True):
        for name, values in collate(texts, chosen, length).items():
            buffers[length][name].copy_(values.pin_memory(), non_blocking=True)
        graphs[length].replay()
    wait()
    return time.perf_counter() - started


@contextmanager
def compiling() -> Iterator[None]:
    """Context in which layers are compiled, however few updates a stage has."""
    least, gpu.COMPILED_FROM = gpu.COMPILED_FROM, 0
    try:
        yield
    finally:
        gpu.COMPILED_FROM = least


def arms(case: Case) -> dict[str, Callable[[Case, Texts], float]]:
    """Return the arms of a case by name; each returns its seconds."""
    of_all = {
        "ours, layers compiled": lambda *of: ours(*of, "compiled"),
        "ours": lambda *of: ours(*of, "captured"),
        "Trainer": trainer,
    }
    eager = {"ours, eager": lambda *of: ours(*of, "eager")} if case.hidden < 768 else {}
    return of_all | eager | ({"padded graph": padded_graph} if torch.cuda.is_available() else {})


def table_2_texts() -> float:
    """Return the number of texts of all updates of tanti2021's table 2 with one seed, see `texts_of`."""
    config = load_config(yaml.safe_load((Path(__file__).parents[1] / "config.yaml").read_text("utf-8")))
    of_paper = recipes.recipes(config)
    return sum(texts_of(of_paper[f"tanti2021/{task}/{run}"]) for task in ("pos", "nli") for run in RUNS)


def texts_of(recipe: Recipe) -> float:
    """Return the number of texts that the encoder reads in all updates; those without its gradient count a third."""
    sizes = {data: TEXTS.get(data.corpus, 0) for data in recipe.data()}
    phases = [(stage, phase) for stage in recipe.stages if not recipe.keeps_states(stage) for phase in stage.phases]
    return sum(
        stage.epochs * phase.items(sizes) * len(phase.terms) * (1 if ENCODER in phase.update else 1 / 3)
        for stage, phase in phases
    )


def line(name: str, seconds: float, case: Case, texts: Texts, peak: float) -> str:
    """Return a row of the table."""
    with torch.device("meta"):
        encoder = BertModel(case.shape(), add_pooling_layer=False)
    share = common.flops(encoder, texts.lengths) / seconds / peak
    return f"| {case} | {name} | {1000 * seconds / case.updates:.1f} | {len(texts.subwords) / seconds:,.0f} | {share:.1%} |"


def main() -> None:
    """Time all arms of all cases and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peak", type=float, default=989e12, help="dense bfloat16 FLOPs a second of the device")
    parser.add_argument("--smoke", action="store_true", help="a tiny case, to try the script")
    settings = parser.parse_args()
    cases: Sequence[Case] = [Case(2, 64, 4, vocabulary=500, updates=4)] if settings.smoke else CASES
    logging.basicConfig(level=logging.INFO, format="# %(message)s")
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{device}, torch {torch.__version__}, bfloat16, peak {settings.peak / 1e12:.0f} TFLOP/s", flush=True)
    print("| case | arm | ms an update | subwords a second | share of the peak |\n|---|---|---|---|---|", flush=True)
    rates: dict[Case, float] = {}  # texts per second of our fastest arm
    for case in cases:
        texts = pairs(case)
        for name, arm in arms(case).items():
            try:
                with compiling():
                    seconds = arm(case, texts)
            except (ImportError, RuntimeError) as error:
                print(f"| {case} | {name} | {' '.join(str(error).split())[:120]} | | |", flush=True)
                continue
            print(line(name, seconds, case, texts, settings.peak), flush=True)
            if name.startswith("ours"):
                rates[case] = max(rates.get(case, 0), len(texts) / seconds)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
    if rates:
        hours = table_2_texts() / rates[cases[0]] / 3600
        print(f"table 2 of tanti2021, one seed: {hours:.1f} hours at the rate of {cases[0]}")
    if torch.cuda.is_available():
        print(f"most memory: {torch.cuda.max_memory_reserved() / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
