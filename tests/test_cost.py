"""What a run will take: the jobs that Snakemake would run, the work of trainings as the loop does it, and the time it takes."""

import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from crosslens.config.whole import Config
from crosslens.encoding.blocks import blocks
from crosslens.monitoring.cost import work
from crosslens.monitoring.cost.__main__ import main, table
from crosslens.monitoring.cost.bill import Bill, Biller, Line, setup
from crosslens.monitoring.cost.probe import probe
from crosslens.monitoring.cost.sizes import Shape, Size, Sizes
from crosslens.monitoring.cost.speed import BEGIN, HEAD_STEP, MIXED_STEP, Card, Measured
from crosslens.monitoring.cost.work import Setup
from crosslens.papers.configuration import load as load_config
from crosslens.recipes import Data, Recipe
from crosslens.runs.errors import DataError
from rich.console import Console
from study import changed, copy_repository, counts, environment, plan, snakemake, tiny
from test_bottom import frozen
from test_config import merged
from test_training import OBJECTIVES, inference, loop, recipe


@dataclass(frozen=True)
class Pieces(Shape):
    """A shape under which a piece's way through all blocks is one operation."""

    def products(self, length: float) -> float:
        return 1.0


def size(bench, data: Data, unit: str) -> Size:
    texts = bench.texts(data, unit)
    return Size(len(texts), len(texts.pieces), len(texts.positions))


class Meter:
    """Pieces that pass an encoder's blocks, by whether they are updated; a block's share of a piece is one over their number."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        self.passed = self.trained = 0.0
        self.now = 0
        encoder.register_forward_pre_hook(self._begin, with_kwargs=True)
        for block in blocks(encoder):
            block.attention.register_forward_hook(lambda *_, of=block: self._count(of, 1 / len(blocks(encoder))))

    def _begin(self, _module, _arguments, given) -> None:
        mask = given.get("attention_mask")
        self.now = given["input_ids"].numel() if mask is None else int(mask.sum())

    def _count(self, block: torch.nn.Module, share: float) -> None:
        if torch.is_grad_enabled() and next(block.parameters()).requires_grad:
            self.trained += 3 * self.now * share
        else:
            self.passed += self.now * share


RECIPES = {
    **{name: recipe(name) for name in OBJECTIVES},
    "dropout when frozen": recipe("frozen", encoder_dropout_when_frozen=True),
    "whole texts": inference("reversal"),
    "frozen embeddings": frozen(0),
    "frozen block": frozen(1),
}


@pytest.mark.parametrize("name", RECIPES)
def test_work_is_what_the_loop_computes(bench, name):
    """To the piece, but for which texts a last batch of a second objective draws."""
    of = RECIPES[name]
    trainer = loop(bench, of)
    meter, steps = Meter(trainer.model.encoder), []
    trainer.after_step = lambda position: steps.append(position.updates)
    trainer.run()
    found = work.of(of, Pieces(2, 32, 64, 600), lambda data: size(bench, data, of.units.unit))
    # In a stage whose bottom is frozen, blocks without gradients run in its steps, or once.
    assert sum(found.trained.values()) + found.passed == pytest.approx(meter.trained + meter.passed, rel=0.02)
    assert found.passed == pytest.approx(meter.passed, rel=0.02) or "frozen" in name
    terms = {phase.terms for stage in of.stages for phase in stage.phases}
    if max(map(len, terms)) == 1:
        assert sum(found.steps.values()) + found.head_steps + found.forward_steps == len(steps)
    assert found.words == sum(size(bench, score.data, of.units.unit).texts if of.units.unit == "text"
                              else size(bench, score.data, "word").words for score in of.scores)  # fmt: skip


def test_trials_share_states(bench):
    of, shared = recipe("frozen"), set[Data]()
    shape = Pieces(2, 32, 64, 600)
    first, second = (work.of(of, shape, lambda data: size(bench, data, "word"), shared) for _ in range(2))
    assert first.passed > 0 and second.passed == 0 and second.head_steps == first.head_steps


def test_an_update_is_what_two_take_more_than_one(bench):
    """The phases of this stage are one that passes the encoder, and one of two terms that trains it."""
    of = recipe("entropy")
    once, twice = work.of_update(of, of.stages[0], Pieces(2, 32, 64, 600), lambda data: size(bench, data, "word"))
    sizes = [size(bench, term.data, "word") for term in of.stages[0].phases[1].terms]
    batch = of.stages[0].batch
    assert sum(twice.trained.values()) - sum(once.trained.values()) == pytest.approx(
        sum(3 * batch * part.length for part in sizes)
    )
    assert twice.passed - once.passed == pytest.approx(batch * sizes[1].length)
    assert (twice.forward_steps - once.forward_steps, sum(twice.steps.values()) - sum(once.steps.values())) == (1, 2)


SHAPE = Shape(4, 128, 512, 600)


def test_time_is_work_over_what_a_probe_measures(tmp_path, monkeypatch):
    """With what no card makes faster: the start, steps of heads, words that are scored, static vectors."""
    monkeypatch.setattr("crosslens.monitoring.cost.probe.probe", lambda *_: {"trained": 2e9, "passed": 4e9, "pieces": 64.0})
    done = work.Work(
        trained={(4, 16): 1e10, (8, 32): 2e10}, steps={(4, 16): 10.0, (8, 32): 5.0}, passed=8e9, head_steps=3_000,
        mixed_steps=1_000, words=80_000, pieces=60_000_000,
    )  # fmt: skip
    expected = BEGIN + (5 + 10) + 2 + (2_000 * HEAD_STEP + 1_000 * MIXED_STEP) + 2 + SHAPE.hidden
    assert Measured(tmp_path / "here.json").seconds(done, SHAPE, Setup()) == pytest.approx(expected)


def test_what_was_measured_once_is_read(tmp_path, monkeypatch):
    done = work.Work(trained={(4, 16): 1e9}, steps={(4, 16): 10.0})
    first = Measured(tmp_path / "speed/here.json").seconds(done, SHAPE, Setup())
    monkeypatch.setattr("crosslens.monitoring.cost.probe.probe", lambda *_: pytest.fail("measured again"))
    assert Measured(tmp_path / "speed/here.json").seconds(done, SHAPE, Setup()) == first
    over = Measured(tmp_path / "speed/here.json", spent=1000.0)
    other = work.Work(trained={(8, 32): 1e9}, steps={(8, 32): 10.0})
    assert over.seconds(other, SHAPE, Setup()) == first  # the minute is over: the rate of the nearest batches


def test_a_probe_measures_both_ways():
    """Of an encoder whose states no heads of 64 numbers divide, too."""
    rates = probe(Shape(1, 200, 128, 300), Setup(dropout=False), 4, 16)
    assert rates["passed"] > 0 and rates["trained"] > 0 and rates["pieces"] == 64


def test_an_encoder_without_blocks_is_measured(tmp_path):
    done = work.Work(trained={(4, 16): 0.0}, steps={(4, 16): 10.0}, passed=1e6)
    assert Measured(tmp_path / "here.json").seconds(done, Shape(0, 64, 128, 300), Setup()) == pytest.approx(BEGIN)


def test_a_card_is_known_by_name():
    done = work.Work(trained={(32, 40): 1e18}, steps={(32, 40): 1e4}, passed=1e15)
    mbert = Shape(12, 768, 3072, 119_547)
    times = [Card(name).seconds(done, mbert, Setup("bfloat16")) for name in ("t4", "a100", "h100")]
    assert times == sorted(times, reverse=True)
    assert Card("a100").seconds(done, mbert, Setup()) > Card("a100").seconds(done, mbert, Setup("bfloat16"))
    assert Card("a100").seconds(done, mbert, Setup(gpus=4)) < Card("a100").seconds(done, mbert, Setup()) / 3.5
    for name in ("t4", "v100"):  # as `auto` trains there: crosslens.training.cpu.resolve_precision
        assert Card(name).rate("auto") == Card(name).rate("bfloat16") == Card(name).rate("float32") < Card(name).rate("float16")
    assert Card("a100").rate("auto") == Card("a100").rate("bfloat16")
    with pytest.raises(DataError, match="card a101: expected one of v100, t4, a100"):
        Card("a101")


# The plan.


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_repository(tmp_path_factory.mktemp("cost"))


TABLE = "results/tiny/table1.csv"


@pytest.mark.long
def test_only_what_would_run_is_billed(root):
    options = ("--profile", "tests/workflow")
    _, jobs = plan(root, *options, TABLE)
    listed = counts(snakemake(root, "-n", *options, TABLE))
    assert listed.pop("total") == len(jobs)
    assert {rule: sum(job.rule == rule for job in jobs) for rule in listed} == listed
    tokens = next(job for job in jobs if job.rule == "tokens")
    tiny(root, *tokens.output)
    config, fewer = plan(root, *options, TABLE)
    assert {job.output[0] for job in jobs} - {job.output[0] for job in fewer} >= set(tokens.output)
    assert not plan(root, *options, *tokens.output)[1]
    counted_where_built(root, config, tokens.wildcards)


def counted_where_built(root: Path, config: Config, at) -> None:
    """Sizes are those of the files, and of others that are not built a guess, which says so."""
    sizes = Sizes(config, root)
    language, split = next(iter(config.corpora[at["corpus"]].parts()))
    table = pq.read_table(root / f"results/tiny/tokens/{at['encoder']}/{at['reading']}/{at['corpus']}/{language}.{split}.parquet")
    found = sizes.tokens(at["encoder"], at["reading"], at["corpus"], language, split)
    assert (found.texts, found.pieces, found.counted) == (len(table), sum(map(len, table["pieces"].to_pylist())), True)
    assert found.words == sum(map(len, table["positions"].to_pylist()))
    other = next(
        name for name in config.corpora if not (root / "results/tiny/tokens" / at["encoder"] / at["reading"] / name).exists()
    )
    language, split = next(iter(config.corpora[other].parts()))
    guess = sizes.tokens(at["encoder"], at["reading"], other, language, split)
    assert guess.texts > 0 and not guess.counted


def test_texts_of_the_phrasebook_are_as_many_as_it_is_told_to_write(root):
    sizes = Sizes(load_config(merged("demo")), root)
    assert sizes.rows("xnli", "en", "train") == (600, False) and sizes.rows("xnli", "tr", "dev") == (30, False)
    assert sizes.rows("udpos", "en", "train") == (440, False) and sizes.rows("wikiann", "de", "test") == (40, False)


def test_the_bill_of_the_published_study(root):
    """Its hours, gigabytes and words are in docs/cluster.md; here that it has them, and that their parts add up."""
    config, jobs = plan(root, "--profile", "slurm", "results/table2.csv")
    from crosslens.sources.registry import load

    bill = Biller(config, Card("a100"), load()).bill(jobs)
    by_rule = {line.rule: line for line in bill.lines}
    assert bill.total.jobs == len(jobs) and bill.total.trainings == by_rule["train"].jobs == 8
    assert bill.total.encoders[1] == pytest.approx(sum(line.encoders[1] for line in bill.lines))
    low, likely, high = bill.total.encoders
    assert low < likely < high and 1 < likely / 3600 < 100
    assert by_rule["train"].memory == 48000
    assert bill.total.weights == pytest.approx(8 * 4 * 178e6, rel=0.02)  # all update mBERT
    assert any("estimated" in line for line in bill.assumptions)


def test_a_job_is_priced_by_the_gpus_that_it_asks_for(root, tmp_path, monkeypatch):
    record = "results/models/liu2020/pretraining/bert-512/200k/seed0/record.json"
    config, jobs = plan(root, "--profile", "slurm", record)
    job = next(job for job in jobs if job.rule == "train")
    assert job.asked["gpu"] == 4

    def lines(biller: Biller):
        return {gpus: biller.line(replace(job, asked={**job.asked, "gpu": gpus})) for gpus in (0, 1, 3, 4, 8)}

    priced = lines(Biller(config, Card("a100"), {}))
    longest = {gpus: line.longest for gpus, line in priced.items()}
    assert longest[0] == longest[1] > 3.5 * longest[4] and longest[8] == longest[4]
    assert longest[4] < longest[3] < longest[1]  # two of three compute, as the parts divide
    assert all(line.encoders[1] == pytest.approx(max(1, gpus) * line.longest) for gpus, line in priced.items())
    monkeypatch.setattr("crosslens.monitoring.cost.probe.probe", lambda *_: {"trained": 1e12, "passed": 1e12, "pieces": 1.0})
    here = lines(Biller(config, Measured(tmp_path / "here.json"), {}))  # parts one after the other, on one device
    assert len({(line.longest, line.encoders[1]) for line in here.values()}) == 1 and here[4].encoders[1] == here[4].longest


CONFIG = load_config(merged("published"))


def test_without_a_profile_jobs_have_the_machines_cores(monkeypatch):
    asked = []
    monkeypatch.setattr("crosslens.monitoring.cost.__main__.cpu_count", lambda: 6)
    monkeypatch.setattr("crosslens.monitoring.cost.__main__.plan", lambda options: asked.append(options) or (CONFIG, []))
    main(["results/table1.csv"])
    assert asked == [["--cores", "6", "results/table1.csv"]]


def test_it_says_first_what_it_plans_and_how_to_plan_something_else(monkeypatch, capsys):
    monkeypatch.setattr("crosslens.monitoring.cost.__main__.plan", lambda _: pytest.fail(capsys.readouterr().out))
    measured = "Then this machine is measured, the first time for a minute; CARD=h100 (or --card) prices a card instead.\n"
    expected = {
        (): "Planning all tables and figures of tanti2021 (TARGET= names others) of the published study on this machine "
        f"(PROFILE= one of demo, laptop, slurm).\n{measured}",
        ("--profile", "slurm", "--config", "rehearse=20", "--", "results/table2.csv"): (
            "Planning results/table2.csv with --profile slurm.\n"
        ),
        ("--profile", "demo", "demo"): f"Planning demo with --profile demo.\n{measured}",
    }
    for arguments, sentences in expected.items():
        with pytest.raises(pytest.fail.Exception) as caught:
            main([*arguments])
        assert str(caught.value) == sentences


def test_memory_is_what_jobs_request():
    bill = Bill([Line("train", 1, memory=48_000)], Line("all", 1, memory=48_000), [])
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(table(bill, "a100"))
    assert re.search("memory requested.*\n.*\n.* train .* 48.0 GB ", console.export_text())


def test_an_unplanned_run_ends_in_one_line(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    monkeypatch.setattr("crosslens.monitoring.cost.__main__.plan", lambda options: plan(root, *options))
    with pytest.raises(SystemExit) as caught:
        main(["--profile", "dmeo", "demo"])
    assert str(caught.value) == (
        "cost: profile dmeo: expected one of demo, laptop, slurm, found none of that name; did you mean 'demo'?"
    )
    assert capsys.readouterr().out == ""
    with changed(root / "demo/overlay.yaml", ("threads: 1 #", "thraeds: 1 #")), pytest.raises(SystemExit) as caught:
        main(["--profile", "demo", "demo"])
    assert str(caught.value) == "cost: config.yaml, demo/overlay.yaml: thraeds: unknown key; did you mean 'threads'?"


@pytest.mark.long
def test_make_cost_prints_a_table(root):
    command = [sys.executable, "-m", "crosslens.monitoring.cost", "--profile", "slurm", "results/table1.csv"]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment() | {"PYTHONPATH": "workflow"})
    assert said.returncode == 0, said.stderr
    assert "a100 is assumed" in said.stdout and "│ train " in said.stdout and "│ all " in said.stdout
    with pytest.raises(DataError, match="(?s)expected a plan, found an error:.*results/table1.csv"):
        plan(root, "--profile", "slurm", "results/tabel1.csv")


@pytest.mark.demo
def test_the_demos_trainings_take_what_is_predicted():
    """Of those in results/demo, which must have been built on this machine. Below ten seconds it is the start that counts."""
    repository = Path(__file__).parents[1]
    config = load_config(merged("demo"))
    sizes, speed, actual, predicted = Sizes(config, repository), Measured.here(repository), {}, {}
    for path in sorted((repository / "results/demo/models").rglob("record.json")):
        record = json.loads(path.read_text("utf-8"))
        of = Recipe.model_validate(record["recipe"])
        if of.trial or not of.stages or record["seconds"] < 10:
            continue
        name, shape = f"{of.name} seed {record['seed']}", sizes.shape(of.encoder)
        done = work.of(of, shape, lambda data, of=of: sizes.of(data, of.encoder, of.reading))
        actual[name], predicted[name] = record["seconds"], speed.seconds(done, shape, setup(of, record["threads"]))
    off = {name: predicted[name] / seconds for name, seconds in actual.items() if not 0.75 < predicted[name] / seconds < 1.25}
    assert actual and len(off) <= len(actual) / 10, off
    assert sum(predicted.values()) == pytest.approx(sum(actual.values()), rel=0.15)
