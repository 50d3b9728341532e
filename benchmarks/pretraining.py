"""Masked language modelling on a CPU: our loop against transformers' Trainer with its collator, in subwords a second.

    pip install -r benchmarks/requirements.txt
    python benchmarks/pretraining.py train.conllu

Both arms run in one process, in turn: a BERT of the same shape and weights, the same full blocks of running text (as run_mlm.py
groups texts), as many as fill whole batches, masking of 15 %, AdamW, clipping and updates, in float32 and in bfloat16. All
updates are timed. The Trainer computes the products with the vocabulary in each place, as BertForMaskedLM has it where it has
labels; our loop in masked places alone. Before that the loss of eight blocks without dropout, masked alike, is shown to be equal.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import common
import numpy as np
import torch
from crosslens.config.heads import TASK, LanguageModelHead
from crosslens.encoders.folder import mask_piece
from crosslens.encoding.packing import in_windows
from crosslens.encoding.texts import Texts
from crosslens.recipes import ENCODER, Phase, Recipe, Stage, Term
from crosslens.training.loop import Loop
from crosslens.training.masking import HELD_OUT, masked
from training import Stopwatch, TimedLoop
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

RATE, SEED = 1e-4, 1


def recipe(batch: int, updates: int, precision: common.Precision) -> Recipe:
    """One pass of so many updates."""
    phase = Phase(terms=(Term(head=TASK, data=common.DATA),), update=(ENCODER, TASK), updates=updates)
    stage = Stage(
        name="pretraining", phases=(phase,), epochs=1, batch=batch, encoder_rate=RATE, head_rate=RATE, new_heads=(TASK,),
        select_head=TASK, select_data=common.DATA.model_copy(update={"split": "validation", "masked": True}), keep="last",
    )  # fmt: skip
    return Recipe(
        name="benchmark", encoder="encoder", reading="whole", heads={TASK: LanguageModelHead()}, stages=(stage,), scores=(),
        init_sd=None, dropout=0.0, select_by="pieces", decay="linear", clip=1.0, precision=precision,
    )  # fmt: skip


def ours(
    model: Callable[[], BertForMaskedLM], texts: Texts, mask: int, batch: int, updates: int, clock: Callable[[], float],
    precision: common.Precision,
) -> float:  # fmt: skip
    """Subwords a second of our loop."""
    training = recipe(batch, updates, precision)
    loop = TimedLoop(
        training, common.parts(training, texts), model().bert, seed=SEED, log=common.LOG, device=torch.device("cpu"), mask=mask
    )  # fmt: skip
    loop.clock = clock
    loop.run()
    return int(texts.lengths[0]) * batch * updates / loop.done[1]


def theirs(
    model: Callable[[], BertForMaskedLM], texts: Texts, tokenizer: PreTrainedTokenizerFast, batch: int, updates: int,
    clock: Callable[[], float], precision: common.Precision,
) -> float:  # fmt: skip
    """Subwords a second of the Trainer."""
    blocks = texts.pieces.reshape(len(texts), -1).tolist()
    stopwatch = Stopwatch(clock)
    with tempfile.TemporaryDirectory() as output:
        arguments = TrainingArguments(
            output, per_device_train_batch_size=batch, max_steps=updates, learning_rate=RATE, seed=SEED, weight_decay=0.0,
            lr_scheduler_type="linear", max_grad_norm=1.0, use_cpu=True, save_strategy="no", logging_strategy="no",
            report_to="none", disable_tqdm=True, bf16=precision == "bfloat16",
        )  # fmt: skip
        trainer = Trainer(
            model=model(), args=arguments, train_dataset=[{"input_ids": block} for block in blocks], processing_class=tokenizer,
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15), callbacks=[stopwatch],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return len(blocks[0]) * batch * updates / stopwatch.seconds


def whole_batches(texts: Texts, batch: int) -> Texts:
    """The first texts that fill batches: both arms then read as many in each update, however many epochs the updates take."""
    if len(texts) < batch:
        raise SystemExit(f"{len(texts)} blocks, {batch} needed for a batch: name a larger file, a smaller --batch or --window")
    return common.first(texts, len(texts) // batch * batch)


def check(model: BertForMaskedLM, texts: Texts, mask: int) -> str:
    """The loss of the first eight blocks, masked alike, without dropout."""
    training = recipe(8, 1, "float32")
    loop = Loop(training, dict.fromkeys(training.data(), texts), model.bert, seed=SEED, log=common.LOG, mask=mask,
                device=torch.device("cpu"))  # fmt: skip
    blocks = masked(common.first(texts, 8), HELD_OUT, training.masking, mask, model.config.vocab_size)
    n = len(blocks)
    pieces = torch.from_numpy(blocks.pieces.reshape(n, -1).astype(np.int64))
    labels = torch.full(pieces.shape, -100)
    rows = np.repeat(np.arange(n), np.diff(blocks.word_offsets))
    labels[rows, blocks.positions] = torch.from_numpy(blocks.labels[TASK])
    head, names = loop.model.head(TASK), model.state_dict()
    head.load_state_dict({name: names[f"cls.predictions.{name}"] for name in head.state_dict()})
    model.eval()
    with torch.inference_mode():
        states = model.bert(pieces).last_hidden_state[rows, blocks.positions]
        sizes, words = torch.from_numpy(np.diff(blocks.word_offsets)), len(rows)
        term = training.stages[0].phases[0].terms[0]
        loss = head.term_loss(term, states, sizes, {TASK: torch.from_numpy(blocks.labels[TASK])}, words=words, sentences=n)
        return f"loss of {n} blocks: ours {float(loss):.6f}, BertForMaskedLM {float(model(pieces, labels=labels).loss):.6f}"


def main() -> None:
    """Cut blocks, show that the arms agree, time them in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sentences", type=Path, help="CoNLL-U whose sentences are the running text")
    parser.add_argument("--vocabulary", type=Path, nargs="*", default=[], help="further CoNLL-U whose subwords are kept")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        common.trimmed(common.official(None), [settings.sentences, *settings.vocabulary], folder)
        read = common.tokenised(folder, common.sentences(settings.sentences))
        empty = {"positions": np.zeros(0, np.int64), "word_offsets": np.zeros(len(read) + 1, np.int64), "words": [], "labels": {}}
        windows = in_windows(replace(read, **empty), settings.window, np.zeros(len(read)))  # type: ignore[arg-type]
        texts = whole_batches(windows.take(np.flatnonzero(windows.lengths == settings.window)), settings.batch)
        names = json.loads((folder / "tokenizer_config.json").read_text())
        tokens = {name: value for name, value in names.items() if name.endswith("_token")}
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **tokens)
        mask, vocabulary = mask_piece(folder), len(tokenizer)
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=settings.hidden, num_hidden_layers=settings.layers,
        num_attention_heads=max(1, settings.hidden // 64), intermediate_size=4 * settings.hidden,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip

    def model() -> BertForMaskedLM:
        torch.manual_seed(0)
        return BertForMaskedLM(config)

    print(f"BERT of {settings.layers} x {settings.hidden}, {vocabulary} subwords; {len(texts)} blocks of {settings.window}, "
          f"batches of {settings.batch}, {settings.updates} updates, {common.machine(settings)}")  # fmt: skip
    print(check(model(), texts, mask))
    rest = (settings.batch, settings.updates, clock)
    for precision in common.PRECISIONS:
        arms = {
            f"our loop, {precision}": partial(ours, model, texts, mask, *rest, precision),
            f"Trainer, {precision}": partial(theirs, model, texts, tokenizer, *rest, precision),
        }
        rates = common.in_turn(arms, settings.repeats)
        print(common.compare(rates, "subwords a second", [f"Trainer, {precision}"]))


if __name__ == "__main__":
    main()
