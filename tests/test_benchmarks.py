"""Benchmarks run on little data too, and time what they say; benchmarks/README.md says how they are run."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from crosslens.config.heads import TASK


@pytest.fixture
def training(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import training

    yield training
    for name in ("training", "gpu", "common"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("epochs", [1, 3])
def test_all_updates_of_the_trainer_are_timed(training, epochs):
    """Its callbacks in the order of the Trainer's loop, of two updates an epoch; the clock counts how often it is read."""
    tokenisations = iter(range(100, 200))
    stopwatch = training.Stopwatch(lambda: next(tokenisations))
    stopwatch.on_train_begin()
    for _ in range(epochs):
        stopwatch.on_epoch_begin(None, None, None)
        for _ in range(2):
            stopwatch.on_step_begin(None, None, None)
            stopwatch.on_step_end()
        stopwatch.on_epoch_end(None, None, None)
    stopwatch.on_train_end(None, None, None)
    assert stopwatch.seconds == 2 * epochs


@pytest.mark.long
def test_the_benchmark_of_a_gpu_runs_on_a_cpu():
    command = "benchmarks/gpu.py --smoke"
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    result = subprocess.run([sys.executable, *command.split()], cwd=root, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("CPU, torch ") and result.stdout.count("| 2 x 64, batch 4 | ours") == 3
    assert "table 2 of tanti2021, one seed: " in result.stdout


@pytest.mark.parametrize("score", [0.03, 0.5])
def test_intervals_of_claims_hold_the_truth_as_often_as_they_say(score):
    """A small case of benchmarks/coverage.py: three seeds, eight languages of four families; five standard errors are 0.05."""
    path = Path(__file__).parents[1] / "benchmarks/coverage.py"
    spec = spec_from_file_location("coverage_of_intervals", path)
    coverage = module_from_spec(spec)
    spec.loader.exec_module(coverage)
    truth, shares, widths = coverage.of_claim(coverage.Study(3, (5, 1, 1, 1), score), 400)
    assert 0.5 < truth < 8 and (widths > 0).all()
    assert (shares > 0.91).all() and (shares < 0.99).all(), shares


def test_texts_of_benchmarks_are_tokenised_as_those_of_the_workflow(training, encoder_folder):
    rows = [{"id": str(number), "language": "xx", "forms": ["a", "b"], "upos": ["NOUN", "VERB"]} for number in range(3)]
    texts = training.common.tokenised(encoder_folder, rows)
    assert texts.ids == ["0", "1", "2"] and texts.edges == (1, 1, 1) and (texts.labels[TASK] >= 0).all()
