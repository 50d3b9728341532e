"""A training run that is killed, or asked to stop, at any moment: what is done stays done, and the results are those of any
other.

The script of the rule runs in processes of its own, forked from one that has imported torch.
"""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from crosslens.config.heads import LANGUAGE
from crosslens.config.recipes import Recipe, Score
from safetensors.numpy import load_file
from test_training import WIKI_VALIDATION, recipe

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
NAMES = {signal.SIGTERM: "SIGTERM", signal.SIGINT: "Ctrl-C"}
OF = recipe("entropy", watch=(Score(head=LANGUAGE, data=WIKI_VALIDATION),), epochs=3)
LOOP, STEP, HEAD_INPUTS = "crosslens.training.loop", "crosslens.training.step", "crosslens.training.head_inputs"
RUN, CHECKPOINT = "crosslens.training.run", "crosslens.training.checkpoint"
STEPS = 3 * (9 + 6) + 2 * 9  # of 72 paragraphs and 48 sentences, by eights


@dataclass
class Ended:
    """A process that has ended."""

    status: int
    said: str
    seconds: float


class TrainingRuns:
    """Runs one training after another, each in a folder; `steps` are those that all its runs took."""

    def __init__(self, encoder: Path, tokens: Path) -> None:
        self.encoder, self.tokens = encoder, tokens
        command = [sys.executable, HERE / "zygote.py"]
        paths = {"PYTHONPATH": str(REPOSITORY / "workflow"), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
        self.zygote = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=paths)

    def asked(self, folder: Path, of: Recipe = OF) -> dict[str, object]:
        """What the script gets."""
        return {
            "settings": of.settings(), "folder": str(folder / "out"), "encoder": str(self.encoder), "log": str(folder / "log"),
            "tokens": [str(self.tokens / corpus) for corpus in ("sentences", "paragraphs")],
            "steps": str(folder / "steps"), "said": str(folder / "said"),
        }  # fmt: skip

    def run(
        self, folder: Path, *, of: Recipe = OF, at: tuple[str, str, int, bool] | None = None, number: int = 0,
        after: float | None = None, seconds: float = 1000.0,
    ) -> Ended:  # fmt: skip
        """at: where a signal is sent; after: or the seconds after which; seconds: between two checkpoints."""
        folder.mkdir(exist_ok=True, parents=True)
        asked = self.asked(folder, of) | {"at": at, "signal": number, "seconds": seconds}
        assert self.zygote.stdin and self.zygote.stdout
        print(json.dumps(asked), file=self.zygote.stdin, flush=True)
        pid, began = int(self.zygote.stdout.readline()), time.monotonic()
        timer = threading.Timer(after or 0.0, lambda: send(pid, number))
        if after is not None:
            timer.start()
        status = int(self.zygote.stdout.readline())
        timer.cancel()
        return Ended(status, (folder / "said").read_text(), time.monotonic() - began)


def send(pid: int, number: int) -> None:
    try:
        subprocess.run(["kill", f"-{number}", str(pid)], stderr=subprocess.DEVNULL)
    except ProcessLookupError:
        pass


@pytest.fixture(scope="module")
def training_runs(encoder_folder, tokens):
    made = TrainingRuns(encoder_folder, tokens)
    yield made
    made.zygote.stdin.close()
    made.zygote.wait()


@pytest.fixture(scope="module")
def undisturbed(training_runs, tmp_path_factory) -> tuple[Path, float]:
    """The folder of a training run that nothing disturbed, and how long it takes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    ended = training_runs.run(folder, seconds=0.0)
    assert (ended.status, ended.said) == (0, "")
    assert len(steps(folder)) == len(set(steps(folder))) == STEPS
    return folder, ended.seconds


def steps(folder: Path) -> list[str]:
    return (folder / "steps").read_text().splitlines() if (folder / "steps").exists() else []


def delete_outputs(folder: Path) -> None:
    """What Snakemake does where a job fails."""
    for name in ("predictions.parquet", "history.csv", "model.safetensors", "record.json"):
        (folder / "out" / name).unlink(missing_ok=True)


def assert_same(folder: Path, other: Path) -> None:
    """The predictions byte by byte, and the weights; nothing half written."""
    assert (folder / "out/predictions.parquet").read_bytes() == (other / "out/predictions.parquet").read_bytes()
    one, two = load_file(folder / "out/model.safetensors"), load_file(other / "out/model.safetensors")
    assert one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
    names = {"predictions.parquet", "history.csv", "model.safetensors", "states.safetensors", "record.json"}
    checksum_files = {f".{name}.sha256" for name in names}
    assert {path.name for path in (folder / "out").iterdir()} == names | checksum_files | {"checkpoint.safetensors"}


def test_killed_at_random(training_runs, undisturbed, often, tally, tmp_path):
    found = tally("kill -9 of a training, at random")
    whole, seconds = undisturbed
    draw = random.Random(30)
    tries = often(20, 1)
    while found.survived < tries:
        folder = tmp_path / str(found.survived)
        ended = training_runs.run(folder, number=signal.SIGKILL, after=draw.uniform(0, seconds), seconds=0.0)
        assert ended.status in (0, -signal.SIGKILL), ended.said
        delete_outputs(folder)
        killed = ended.status != 0
        ended = training_runs.run(folder, seconds=0.0)
        assert (ended.status, ended.said) == (0, "")
        assert_same(folder, whole)
        taken = Counter(steps(folder))
        assert len(taken) == STEPS
        assert taken.total() - STEPS <= 1  # the step in whose checkpoint it was killed
        if killed:
            found.survived += 1
        else:
            shutil.rmtree(folder)
    found.seen = "nothing; the next run goes on from the last checkpoint, here of the step before, else of the last five minutes"


PLACES = {
    "loading the encoder": (RUN, "load_encoder", 0, True),
    "first evaluation": (HEAD_INPUTS, "predict", 0, False),
    "a step": (STEP, "Step.gradients", 7, False),
    "an evaluation in an epoch": (LOOP, "Loop.watched", 1, True),
    "the end of an epoch": (LOOP, "Loop._end_epoch", 2, False),
    "the last evaluation of a stage": (LOOP, "selection_score", 3, True),
    "a checkpoint": (CHECKPOINT, "save_file", 0, False),
    "between stages": (LOOP, "Loop.train_stage", 1, False),
    "predictions": (HEAD_INPUTS, "HeadInputs.predict", 15, False),
    "writing predictions": (RUN, "parquet.write", 0, True),
    "writing weights": (RUN, "save", 0, True),
    "writing the record": (RUN, "write_json", 0, False),
}
"""Where a signal comes: module, function, calls of it before, and whether it comes after the call."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_asked_to_stop(training_runs, undisturbed, often, tally, tmp_path, number):
    """At each place once."""
    name = NAMES[number]
    found, (whole, _) = tally(f"{name} to a training, in each phase"), undisturbed
    places = list(PLACES)
    for place in random.Random(number).sample(places, often(len(places), 1)):
        folder = tmp_path / place.replace(" ", "_")
        found.silent.append(f"{place}: not as it should be")  # until it is known to be
        ended = training_runs.run(folder, at=PLACES[place], number=number)
        assert ended.status == 128 + number, f"{place}: {ended.said}"
        found.seen = max(found.seen, said_in_one_line(ended, name, place), key=len)
        before = steps(folder)
        delete_outputs(folder)
        ended = training_runs.run(folder)
        assert (ended.status, ended.said) == (0, ""), place
        assert sorted(steps(folder)) == sorted(steps(whole)), place  # none is taken twice
        log = (folder / "log").read_text()
        assert ("resumed stage" in log) == bool(before), place
        assert_same(folder, whole)
        found.silent.pop()
        found.survived += 1


def said_in_one_line(ended: Ended, name: str, place: str) -> str:
    (line,) = ended.said.splitlines() or [""]
    assert line.startswith(f"ERROR: stopped by {name}"), f"{place}: {line}"
    return re.sub(r"from \S+/out/", "from results/models/RECIPE/seed0/", line.replace(OF.name, "RECIPE"))
