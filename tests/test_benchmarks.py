"""Benchmarks take what they are given, however little; docs/benchmarks.md says how they are run."""

import sys
from pathlib import Path

import pytest
from conftest import as_texts
from crosslens.heads import TASK


@pytest.fixture
def training(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import training

    yield training
    for name in ("training", "common"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("number", "updates"), [(4, 1), (16, 4), (122, 30)])
def test_arms_are_compared_on_as_many_updates_as_the_texts_fill(training, monkeypatch, number, updates):
    texts = as_texts([[1, 2 + text % 7, 3] for text in range(number)])
    texts.labels[TASK] = texts.positions
    runs = []

    def ours(encoder, part, setting, precision):
        runs.append((len(part), setting.updates))
        return training.Done(1, 1.0, 0.5)

    def theirs(encoder, examples, setting, sampling, padding, precision):
        runs.append((len(examples), setting.updates))
        return training.Done(1, 1.0, 0.5)

    monkeypatch.setattr(training, "ours", ours)
    monkeypatch.setattr(training, "theirs", theirs)
    text = training.check(Path("encoder"), texts, batch=4)
    assert runs == [(4 * updates, updates)] * 4
    assert text.startswith(f"mean loss of {updates} updates on the same batches")


def test_the_first_texts_are_all_where_there_are_fewer(training):
    texts = as_texts([[1, 2, 3]] * 5)
    assert [len(training.common.first(texts, count)) for count in (2, 5, 8)] == [2, 5, 5]
