"""Trials that share a job: their files are those of separate training runs, and a stopped job goes on."""

import json
import logging
import os
import shutil
import signal

import pandas as pd
import pytest
from crosslens.config.recipes import Edit
from crosslens.jobs import signals
from crosslens.jobs.call import COMMAND
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.jobs.training_folders import CHECKPOINT, seen, training_runs
from crosslens.training import features, loop, search
from crosslens.training.step import Step
from test_training import recipe

NAMES = ("trial00", "trial01", "trial02")
LOG = logging.getLogger("crosslens.tests")


def trials(objective="frozen", **changes):
    """Three trials of a job, with other rates."""
    return [
        recipe(objective, name=f"test/trials00/{name}", keeps_weights=False, head_rate=rate, **changes)
        for name, rate in zip(NAMES, (1e-2, 1e-3, 1e-1), strict=True)
    ]


@pytest.fixture
def given(bench, tokens, tmp_path):
    """Encoder and tokens that may be spoilt."""
    return [shutil.copytree(path, tmp_path / name) for path, name in ((bench.encoder_folder, "encoder"), (tokens, "tokens"))]


@pytest.fixture
def started(monkeypatch):
    """Names of the trials that were trained, in their order."""
    names = []
    monkeypatch.setattr(search, "run", lambda of, *arguments, **options: (names.append(of.name), run(of, *arguments, **options)))
    return names


run = search.run


def make(output, made, given, *, seed=0, version=("1",)):
    encoder, tokens = given
    folders = {corpus: tokens / corpus for corpus in ("sentences", "paragraphs", "pairs")}
    search.search(made, seed, encoder, folders, output, version=version, threads=1, log=LOG)
    seen([str(output)])


def results(folder):
    """Predictions and history of a training run."""
    history = pd.read_csv(folder / "history.csv").drop(columns=["seconds", "subwords_a_second"])
    return pd.read_parquet(folder / "predictions.parquet").to_json(), history.to_json()


@pytest.mark.parametrize(
    ("objective", "changes", "shared"),
    [
        ("frozen", {"edit": Edit(layers="all", embeddings=True)}, True),
        ("frozen", {"encoder_dropout_when_frozen": True}, True),
        ("finetuned", {}, False),
    ],
)
def test_each_trial_is_what_it_is_alone(given, tmp_path, monkeypatch, objective, changes, shared):
    """And under an encoder that stays as it is the states of any texts are computed once."""
    monkeypatch.setenv(COMMAND, "snakemake")
    computed, states = [], features.hidden_states
    noted = lambda model, *texts: (computed.append(len(texts[0])), states(model, *texts))[1]  # noqa: E731
    monkeypatch.setattr(features, "hidden_states", noted)
    made = trials(objective, **changes)
    make(tmp_path / "together", made, given)
    together, computed[:] = list(computed), []
    for of, name in zip(made, NAMES, strict=True):
        make(tmp_path / "alone", [of], given)
        folder = tmp_path / "together" / name
        assert results(folder) == results(tmp_path / "alone" / name)
        assert {path.name for path in folder.glob("[!.]*")} == {"predictions.parquet", "history.csv", "record.json"}
        assert json.loads((folder / "record.json").read_text())["command"] == f"snakemake {folder.parent}"
    assert len(computed) == len(together) * (3 if shared else 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "encoder", "together", "tokens"]


class Stopped(Exception):
    """Of a trial that does not end."""


def stop(output, made, given, monkeypatch, at, **options):
    """A job that stops at the trial of a number."""

    def stopping(of, *arguments, **further):
        if of.name == made[at].name:
            raise Stopped
        run(of, *arguments, **further)

    with monkeypatch.context() as patched:
        patched.setattr(search, "run", stopping)
        with pytest.raises(Stopped):
            make(output, made, given, **options)
    assert not output.exists()


def test_a_stopped_job_keeps_its_finished_trials(given, tmp_path, monkeypatch, started):
    """A checkpoint that was set aside does not make a trial begin again."""
    made, output = trials(), tmp_path / "job/seed0"
    stop(output, made, given, monkeypatch, 2)
    (begun,) = output.parent.glob(".seed0.begun-*")
    (begun / NAMES[0] / f"{CHECKPOINT}.damaged").write_bytes(b"?")
    make(output, made, given)
    assert started == [made[2].name] and not list(output.rglob("*.damaged"))
    make(tmp_path / "whole", made, given)
    assert all(results(output / name) == results(tmp_path / "whole" / name) for name in NAMES)
    assert [path.name for path in output.parent.iterdir()] == ["seed0"]


def test_a_trial_that_is_gone_is_missed(given, tmp_path):
    """Else the best of fewer would be taken."""
    output = tmp_path / "job/seed0"
    make(output, trials(), given)
    assert [name for name, _ in training_runs(output, "of")] == [f"of/{name}" for name in NAMES]
    shutil.rmtree(output / NAMES[1])
    with pytest.raises(DataError, match=f"{NAMES[1]}/history.csv: missing"):
        training_runs(output, "of")


def test_a_signal_loses_no_step_of_any_trial(given, tmp_path, monkeypatch, signals_handled):
    """It comes in the evaluation at the end of an epoch of the second trial; what Snakemake deletes then is the output alone."""
    made, output, steps = trials(), tmp_path / "job/seed0", []
    make(tmp_path / "whole", made, given)
    update, score = Step.update, loop.Loop.score

    def counted(self, phase, place, *arguments):
        steps.append((self.recipe.name, *place))
        return update(self, phase, place, *arguments)

    def signalled(self, stage):
        if (self.recipe.name, self.position.stage, self.position.epoch) == (made[1].name, 0, 1) and len(steps) == first:
            os.kill(os.getpid(), signal.SIGTERM)
        return score(self, stage)

    monkeypatch.setattr(Step, "update", counted)
    make(tmp_path / "whole", made, given)
    first, taken = len(steps) // 3 + 12, steps.copy()  # a trial, and the two epochs of the first stage
    steps.clear()
    monkeypatch.setattr(loop.Loop, "score", signalled)
    with pytest.raises(signals.Stopped, match="seed0 goes on from .*trial01/checkpoint.safetensors in the next run"):
        make(output, made, given)
    assert not output.exists() and len(steps) == first
    signals.handle()
    first = -1
    make(output, made, given)
    assert steps == taken
    assert all(results(output / name) == results(tmp_path / "whole" / name) for name in NAMES)
    assert [path.name for path in output.parent.iterdir()] == ["seed0"]


@pytest.mark.parametrize("other", ["trial", "seed", "version", "encoder", "tokens"])
def test_what_other_settings_data_or_code_left_is_not_taken(given, tmp_path, monkeypatch, started, other):
    output, (encoder, tokens) = tmp_path / "job/seed0", given
    stop(output, trials(), given, monkeypatch, 2)
    options = {"seed": {"seed": 1}, "version": {"version": ("2",)}}.get(other, {})
    made = trials(batch=4) if other == "trial" else trials()
    if other == "encoder":
        (encoder / "source.json").write_text('{"settings": {}}')
        write_checksums(encoder)
    if other == "tokens":
        shutil.copy(tokens / "sentences/de.test.parquet", tokens / "sentences/en.test.parquet")
        write_checksums(tokens / "sentences/en.test.parquet")
    make(output, made, given, **options)
    assert started == [of.name for of in made]
    assert [path.name for path in output.parent.iterdir()] == ["seed0"]
