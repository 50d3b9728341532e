"""The display of a run: a line a finished job with the time left; in the end what failed and why."""

import logging
import re

import pytest
from crosslens.commands import messages
from crosslens.commands.cost.estimate import Estimator, Row
from crosslens.commands.messages import DryRun, Jobs, calm
from crosslens.commands.planned_jobs import Job


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(messages.time, "monotonic", lambda: now[0])
    return now


def tell(display, event, message="", **fields):
    record = logging.makeLogRecord({"msg": message, "event": event, **fields})
    display.emit(record)
    return record


def info(display, job, rule, message=None, **wildcards):
    return tell(display, "job_info", jobid=job, rule_name=rule, rule_msg=message, wildcards=wildcards, output=[])


class Model(Estimator):
    """Tokens take 10 s and trainings 100 s, by the table."""

    def __init__(self) -> None:
        self.logs, self._kinds, self.pace = "logs", {}, None
        self.rows = self.kinds = {"tokens": Row(10, None, 0), "models": Row(100, None, 0)}
        self.finished = {"measured": {}, "rehearsed": {}, "scaled": {}}


def display_of(*rules):
    """Display of a run of jobs of these rules, which are numbered."""
    places = {"tokens": "tokens", "train": "models", "all": ""}
    jobs = {
        number: Job(
            rule, {}, {"gpu": 1} if rule == "train" else {}, [], [], [f"logs/{places[rule]}/{number}.log"][: rule != "all"]
        )
        for number, rule in enumerate(rules)
    }
    display = Jobs(lambda: (Model(), jobs))
    for _ in range(2):  # Snakemake says it twice
        tell(display, "run_info", stats={"total": len(rules)})
    return display


def test_a_line_for_each_finished_job_with_the_time_left_which_is_a_range_until_enough_is_known(clock, capsys):
    rules = ("tokens", "tokens", "tokens", "train", "train", "train", "train", "all")
    display = display_of(*rules)
    end = 0.0
    for number, rule in enumerate(rules):
        tell(display, "job_started", jobs=[number])  # before Snakemake says what it is
        info(display, number, rule, f"Make {rule} {number}" if rule != "train" else None, recipe=f"r{number}", seed="0")
        clock[0] = end = end + {"tokens": 10, "train": 200, "all": 0}[rule]
        tell(display, "job_finished", job_id=number)
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("begins: ")]
    assert lines == [
        "  2%, 2 min 23 s to 20 min 40 s left  Make tokens 0 (10 s)",  # twice 10 s within a factor of 2, 400 s within one of 3
        "  5%, 2 min 18 s to 20 min 20 s left  Make tokens 1 (10 s)",
        "  7%, 2 min 13 s to 20 min 00 s left  Make tokens 2 (10 s)",
        " 28%, 5 min 00 s to 20 min 00 s left  train recipe r3, seed 0 (3 min 20 s)",
        " 52%, 3 min 20 s to 13 min 20 s left  train recipe r4, seed 0 (3 min 20 s)",
        " 76%, 3 min 20 s left  train recipe r5, seed 0 (3 min 20 s)",
        "100%  train recipe r6, seed 0 (3 min 20 s)",
        "100%  Make all 7 (0.0 s)",
    ]


def test_a_long_job_has_a_line_as_it_begins_and_one_that_runs_on_makes_the_time_left_longer(clock, capsys):
    """The first training has run for an hour, beside a short job that ends."""
    display = display_of("tokens", "tokens", "train", "train", "train")
    tell(display, "job_started", jobs=[0, 2])
    for number, rule in enumerate(("tokens", "tokens", "train")):
        info(display, number, rule, f"Make {rule} {number}")
    assert capsys.readouterr().err == "begins: Make train 2, about 1 min 40 s\n"
    clock[0] = 3.0
    tell(display, "job_finished", job_id=0)
    clock[0] = 3600.0
    tell(display, "job_started", jobs=[1])
    clock[0] = 3603.0
    tell(display, "job_finished", job_id=1)
    line = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"min to \d+ h \d+ min left  Make tokens 1 \(3.0 s\); running: Make train 2 \(1 h 00 min\)$", line), line


def test_the_summary_gives_of_each_failed_job_the_last_error_and_the_log(tmp_path, capsys):
    display = Jobs(dict)
    bad, broken = tmp_path / "bad.log", tmp_path / "broken.log"
    bad.write_text(
        "2026-01-01 10:00:00 INFO reads\n2026-01-01 10:00:01 ERROR a.conllu:5: expected 10 columns, found 7: mend it\n"
    )
    broken.write_text("2026-01-01 10:00:01 ERROR stopped by an error\nTraceback\nKeyError: 'x'\n")
    info(display, 1, "corpus", "Read udpos")
    tell(display, "job_error", jobid=1, rule_name="corpus", rule_msg=None, log=[bad], wildcards={})
    tell(display, "job_error", jobid=2, rule_name="train", rule_msg=None, log=[broken], wildcards={"recipe": "r"})
    tell(display, "job_error", jobid=3, rule_name="fetch", rule_msg=None, log=[tmp_path / "none.log"], wildcards={})
    display.summary()
    text = capsys.readouterr().err
    assert text.startswith("FAILED: Read udpos; ")
    assert text.endswith(
        f"\n3 jobs failed.\n- Read udpos\n    a.conllu:5: expected 10 columns, found 7: mend it\n    log: {bad}\n"
        f"- train recipe r\n    KeyError: 'x'\n    log: {broken}\n- fetch\n    the job wrote no log\n"
        f"    log: {tmp_path}/none.log\n"
    )


def test_snakemakes_own_lines_on_jobs_are_hidden_and_its_messages_are_not():
    display = Jobs(dict)
    assert not calm(info(display, 1, "train"))
    assert not calm(tell(display, None, "Select jobs to execute..."))
    ended = "RuleException:\nCalledProcessError in file x, line 2"
    assert not calm(tell(display, "error", ended, exception="RuleException"))
    for message in ("Nothing to be done.", "Building DAG of messages...", "MissingInputException in rule train"):
        assert calm(tell(display, None, message))
    assert calm(tell(display, "error", "WorkflowError:\nconfig.yaml: sedes: unknown key", exception="WorkflowError"))


def test_a_dry_run_counts_what_is_fetched_and_gives_reasons_at_the_end():
    dry_run = DryRun(by_hand=lambda files: [f"{' and '.join(files)}: in no mirror"])
    other = "Params have changed since last execution: before: 'a: 1' now: 'a: 2' "
    jobs = [
        ("fetch", "Missing output files: a"),
        ("fetch", "Missing output files: b"),
        ("train", other),
        ("page", "Input files updated"),
        ("results/demo/figure3.svg", "Input files updated"),  # the target itself
    ]
    records = [
        logging.makeLogRecord(
            {
                "levelno": logging.INFO,
                "event": "job_info",
                "rule_name": rule,
                "rule_msg": f"Make {rule}",
                "wildcards": {"source": "ud"},
                "output": [reason[-1]],
                "reason": reason,
            }
        )
        for rule, reason in jobs
    ]
    assert [*map(dry_run.filter, records)] == [False, False, True, True, False]
    counts = logging.makeLogRecord({"msg": "Job stats:", "levelno": logging.INFO, "event": "run_info"})
    assert [dry_run.filter(counts), dry_run.filter(counts)] == [False, True]
    last = logging.makeLogRecord({"msg": "Reasons:\n    (check individual jobs above)", "levelno": logging.INFO})
    assert dry_run.filter(last) and last.msg.splitlines() == [
        "Files to fetch: 2 of ud", "Missing: outputs of 2 jobs", "Because of settings: 1 job: Make train",
        "a and b: in no mirror", "After these, reading their outputs: 1 job",
    ]  # fmt: skip
