"""Masked language models on the one loop: masking, the head, resuming, and several processes."""

import json
import logging
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import LANGUAGES, build_encoder
from crosslens.config.encoders import RandomEncoder
from crosslens.config.heads import TASK, LanguageModelHead
from crosslens.config.recipes import ENCODER, Data, Edit, Masking, Model, Phase, Recipe, Stage, Static, Term
from crosslens.config.static_embeddings import GloVe, Word2Vec
from crosslens.encoding.batches import Padding
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.texts import Texts
from crosslens.jobs import signals
from crosslens.jobs.errors import DataError
from crosslens.training import parallel
from crosslens.training.batches import stretch
from crosslens.training.loop import Loop
from crosslens.training.masking import masked
from crosslens.training.model import EncoderWithHeads
from crosslens.training.run import load_data, run, train
from safetensors.torch import load_file
from transformers import BertConfig, BertForMaskedLM

TEXT = Data(corpus="sentences", split="train", languages=LANGUAGES, window=16)
HELD_OUT = Data(corpus="sentences", split="test", languages=LANGUAGES, window=16, masked=True)


def recipe(**changes) -> Recipe:
    phase = Phase(terms=(Term(head=TASK, data=TEXT),), update=(ENCODER, TASK), updates=4)
    stage = Stage(
        name="pretraining", phases=(phase,), epochs=3, batch=8, encoder_rate=1e-3, head_rate=1e-3, new_heads=(TASK,),
        select_head=TASK, select_data=HELD_OUT, keep="last",
    )  # fmt: skip
    settings = {
        "name": "tests/pretraining", "encoder": "tiny", "tokenisation": "tests", "heads": {TASK: LanguageModelHead()},
        "stages": (stage,), "scores": (), "init_sd": None, "dropout": 0.0, "select_by": "subwords", "clip": 1.0,
        "edit": Edit(layers="all", embeddings=True),
    }  # fmt: skip
    return Recipe(**settings | changes)


@pytest.fixture(scope="module")
def files(tokens) -> dict[tuple[str, str, str], Path]:
    return {key: tokens / key[0] / f"{key[1]}.{key[2]}.parquet" for key in recipe().files()}


@pytest.fixture(scope="module")
def texts(files) -> dict[Data, Texts]:
    return load_data(recipe(), files, 0)


def loop(bench, texts, made: Recipe | None = None, seed: int = 0, **options) -> Loop:
    made = made or recipe()
    return Loop(
        made, texts, load_encoder(bench.encoder_folder), seed=seed, log=logging.getLogger("tests"), device=torch.device("cpu"),
        mask=mask_subword(bench.encoder_folder), **options,
    )  # fmt: skip


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


# Masking


def test_masked_subwords_are_those_that_were_there(texts):
    whole, settings = texts[TEXT], Masking()
    hidden = masked(whole, 3, settings, mask=599, vocabulary=600)
    words = np.concatenate(
        [hidden.subword_offsets[i] + hidden.positions[hidden.word_rows(np.array([i]))] for i in range(len(hidden))]
    )
    assert np.array_equal(hidden.labels[TASK], whole.subwords[words])
    untouched = np.delete(np.arange(len(whole.subwords)), words)
    assert np.array_equal(hidden.subwords[untouched], whole.subwords[untouched])
    edges = np.concatenate([whole.subword_offsets[:-1], whole.subword_offsets[1:] - 1])
    assert not set(edges) & set(words)
    again, other = (masked(whole, seed, settings, 599, 600) for seed in (3, 4))
    assert np.array_equal(again.subwords, hidden.subwords) and not np.array_equal(other.positions[:50], hidden.positions[:50])


def test_the_shares_of_masked_subwords():
    n, length = 2000, 102
    whole = Texts(["a"] * n, ["en"] * n, np.full(n * length, 7, np.int32), np.arange(n + 1) * length, np.zeros(0, np.int64),
                  np.zeros(n + 1, np.int64), [], {}, np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, np.int64))  # fmt: skip
    hidden = masked(whole, 0, Masking(), mask=4, vocabulary=1000)
    asked = len(hidden.positions) / (n * (length - 2))
    rows = np.repeat(np.arange(n), np.diff(hidden.word_offsets)) * length + hidden.positions
    there = hidden.subwords[rows]
    shares = (there == 4).mean(), ((there != 4) & (there != 7)).mean(), (there == 7).mean()
    assert asked == pytest.approx(0.15, abs=0.003)  # three standard deviations are 0.0024
    assert shares == pytest.approx((0.8, 0.1, 0.1), abs=0.009)
    assert len(np.unique(there)) > 900  # any subword may stand in


# The head


def test_logits_and_loss_are_those_of_transformers():
    config = BertConfig(vocab_size=90, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    torch.manual_seed(0)
    theirs = BertForMaskedLM(config).eval()
    model = EncoderWithHeads(theirs.bert, {TASK: LanguageModelHead()})
    head = model.head(TASK)
    names = {"bias": "cls.predictions.bias"} | {name: f"cls.predictions.{name}" for name in head.state_dict() if name != "bias"}
    weights = theirs.state_dict()
    for name, value in weights.items():  # so that biases show
        if name.startswith("cls") and value.ndim == 1:
            value.add_(torch.randn(value.shape))
    head.load_state_dict({name: weights[other] for name, other in names.items()})
    subwords = torch.randint(0, 90, (3, 12))
    labels = torch.where(torch.rand(3, 12) < 0.3, subwords, -100)
    expected = theirs(input_ids=subwords, labels=labels)
    chosen = labels != -100
    states = theirs.bert(subwords).last_hidden_state[chosen]
    torch.testing.assert_close(head(states), expected.logits[chosen])
    term, n = Term(head=TASK, data=TEXT), int(chosen.sum())
    loss = head.term_loss(term, states, Padding.of(torch.tensor([n])), {TASK: labels[chosen]}, words=n, sentences=3)
    torch.testing.assert_close(loss, expected.loss)
    assert torch.equal(head.subwords(states), expected.logits[chosen].argmax(-1))
    assert not any("embeddings" in name for name, _ in head.named_parameters())  # tied, not copied


# Training


def test_held_out_text_is_masked_once_and_training_text_anew(bench, texts):
    first, second = loop(bench, texts), loop(bench, texts, seed=1)
    assert np.array_equal(first.texts[HELD_OUT].subwords, second.texts[HELD_OUT].subwords)
    assert not np.array_equal(first.texts[HELD_OUT].subwords, texts[HELD_OUT].subwords)
    assert np.array_equal(first.texts[TEXT].subwords, texts[TEXT].subwords)


def test_a_stretch_of_shuffles_can_be_had_in_any_subwords():
    whole = np.concatenate(stretch(13, 5, 0, 60, (0, "tests")))
    parts = [np.concatenate(stretch(13, 5, start, start + 15, (0, "tests"))) for start in range(0, 60, 15)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert all(sorted(whole[start : start + 13]) == list(range(13)) for start in range(0, 52, 13))
    assert [len(batch) for batch in stretch(13, 5, 15, 28, (0, "tests"))] == [5, 5, 3]


@pytest.mark.parametrize("when", [1, 9])
def test_a_killed_pretraining_ends_with_the_same_weights(bench, texts, tmp_path, when):
    expected = loop(bench, texts).run()

    class Killed(RuntimeError):
        pass

    def after(at):
        if at.updates == when + 1:
            raise Killed

    path = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        loop(bench, texts, checkpoints=path, checkpoint_seconds=0, after_step=after).run()
    steps = []
    resumed = loop(bench, texts, checkpoints=path, after_step=lambda at: steps.append(at.updates)).run()
    assert steps[0] == when + 2  # the step after which it was killed had been saved
    assert same_weights(expected.model, resumed.model)
    assert [row["score"] for row in expected.history] == [row["score"] for row in resumed.history]


def arguments(bench, tokens, folder: Path, made: Recipe) -> tuple:
    return made, 0, bench.encoder_folder, {"sentences": tokens / "sentences"}, folder


@pytest.mark.long
def test_two_processes_end_with_the_weights_of_one(bench, tokens, tmp_path, log):
    """On the CPU: the parts of a batch in two processes, or one after the other."""
    made = recipe(parts=2)
    for name, processes in (("one", 1), ("two", 2)):
        train(
            *arguments(bench, tokens, tmp_path / name, made), threads=1, log=log, log_file=tmp_path / "log", processes=processes
        )
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    first, second = (pd.read_csv(tmp_path / name / "history.csv") for name in ("one", "two"))
    assert first["score"].tolist() == second["score"].tolist()
    assert "pretraining" in (tmp_path / "log").read_text()  # the first of the two goes on with the log


@pytest.mark.long
def test_what_ends_a_process_is_said_by_the_one_that_started_it(bench, tokens, tmp_path, log, capfd):
    """Bad input in one line, anything else with its traceback."""
    damaged = shutil.copytree(tokens, tmp_path / "tokens")
    with open(damaged / "sentences/en.train.parquet", "ab") as file:
        file.write(b"?")
    options = {"threads": 1, "log": log, "log_file": tmp_path / "log", "processes": 2}
    with pytest.raises(DataError, match="^[^\n]*en.train.parquet: not what was written, [^\n]*$"):
        train(*arguments(bench, damaged, tmp_path / "one", recipe(parts=2)), **options)
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*IsADirectoryError"):
        train(*arguments(bench, tokens, tmp_path / "two", recipe(parts=2)), **options | {"log_file": tmp_path})
    assert capfd.readouterr().err == ""


@pytest.mark.long
def test_a_signal_stops_both_processes_and_the_next_run_goes_on(bench, tokens, tmp_path, signals_handled, capfd):
    """Once the first epoch is in the log."""
    log, made = logging.getLogger("crosslens.tests"), recipe(parts=2)
    stage = made.stages[0].model_copy(update={"epochs": 20})
    made, path = made.model_copy(update={"stages": (stage,)}), tmp_path / "log"
    path.touch()

    def interrupt():
        while "epoch 1," not in path.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    given = arguments(bench, tokens, tmp_path / "two", made)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(signals.Stopped, match="^stopped by SIGTERM: .* goes on from .* in the next run$"):
        train(*given, threads=1, log=log, log_file=path, processes=2)
    assert "Traceback" not in capfd.readouterr().err
    assert [each.name for each in (tmp_path / "two").iterdir()] == ["checkpoint.safetensors"]
    signals.handle()
    train(*given, threads=1, log=log, log_file=path, processes=2)
    run(*arguments(bench, tokens, tmp_path / "one", made), threads=1, log=log)
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    epochs = [line for line in path.read_text().splitlines() if "best_epoch" in line]
    assert len(epochs) == 21  # none twice


def test_parts_have_dropout_of_their_own(bench, texts):
    one, two = (loop(bench, texts, recipe(parts=parts)).run() for parts in (1, 2))
    assert not same_weights(one.model, two.model)


def test_a_training_starts_from_another_s_encoder(bench, tokens, tmp_path, log):
    made = recipe()
    run(*arguments(bench, tokens, tmp_path / "first", made), threads=1, log=log)
    stage = made.stages[0].model_copy(update={"epochs": 0})
    following = recipe(edit=Edit(), stages=(stage,), pretrained=Model(recipe="tests/pretraining", seeds=(0,)))
    run(*arguments(bench, tokens, tmp_path / "second", following), threads=1, log=log,
        pretrained=tmp_path / "first/model.safetensors")  # fmt: skip
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second"))
    assert all(torch.equal(first[name], value) for name, value in second.items() if name.startswith("encoder."))


def test_processes_divide_the_parts(monkeypatch):
    for gpus, parts, expected in ((0, 8, 1), (1, 8, 1), (4, 8, 4), (3, 8, 2), (8, 6, 6), (8, 1, 1)):
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        assert parallel.processes(parts) == expected


@pytest.mark.parametrize("settings", [GloVe(epochs=2, window=3), Word2Vec(epochs=2, window=3)])
def test_static_embeddings_are_a_training(corpora, tokens, tmp_path, log, settings):
    """From tokens to a model that another training run starts from."""
    shape = RandomEncoder(source="random", corpora=["tests"], vocabulary=600, layers=0, hidden=16)
    files = sorted(corpora.glob("sentences/*.train.parquet")) + sorted(corpora.glob("paragraphs/*.test.parquet"))
    encoder = build_encoder(shape, files, tmp_path / "encoder")
    data = TEXT.model_copy(update={"window": None, "texts": 30})
    nothing = {"heads": {}, "stages": (), "edit": Edit(), "static": Static(data=data, embeddings=settings)}
    made = recipe(**nothing)
    assert made.trains() and made.files() == data.files()
    folder = tmp_path / "model"
    run(made, 0, encoder, {"sentences": tokens / "sentences"}, folder, threads=1, log=log)
    history = pd.read_csv(folder / "history.csv")
    assert len(history) >= 2 and json.loads((folder / "record.json").read_text())["recipe"]["static"]["data"]["texts"] == 30
    before, after = load_encoder(encoder), load_encoder(encoder, [folder / "model.safetensors"])
    subwords = torch.tensor([[5, 6, 7]])
    one, other = (each(subwords).last_hidden_state for each in (before, after))
    assert one.shape == other.shape == (1, 3, 16) and not torch.allclose(one, other)
