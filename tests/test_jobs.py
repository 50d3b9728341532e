"""The display of a run: a line a finished job with the time left; in the end what failed and why."""

import io
import logging
import re

import pytest
from crosslens.commands import messages
from crosslens.commands.messages import Jobs, calm


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


def test_a_line_for_each_finished_job_with_the_time_left_by_what_rules_cost(clock):
    stream = io.StringIO()
    display = Jobs(stream)
    tell(display, "run_info", stats={"tokens": 2, "train": 2, "total": 4})
    tell(display, "run_info", stats={"tokens": 2, "train": 2, "total": 4})  # Snakemake says it twice
    for number, (rule, end) in enumerate((("tokens", 10), ("tokens", 20), ("train", 120), ("train", 220))):
        tell(display, "job_started", jobs=[number])  # before Snakemake says what it is
        info(display, number, rule, f"Make {rule} {number}" if rule == "tokens" else None, recipe=f"r{number}", seed="0")
        clock[0] = float(end)
        tell(display, "job_finished", job_id=number)
    guess = 10 * (10 + 2 * messages.SECONDS["train"]) / 10  # seconds left when 10 of them are done
    assert stream.getvalue().splitlines() == [
        f" {10 / (10 + guess):3.0%}, {guess // 60:.0f} min {guess % 60:02.0f} s left  Make tokens 0 (10 s)",
        f" {20 / (20 + guess - 10):3.0%}, {(guess - 10) // 60:.0f} min {(guess - 10) % 60:02.0f} s left  Make tokens 1 (10 s)",
        " 55%, 1 min 40 s left  train recipe r2, seed 0 (1 min 40 s)",
        "100%  train recipe r3, seed 0 (1 min 40 s)",
    ]


def test_a_job_that_takes_longer_than_expected_makes_the_time_left_longer(clock):
    """The first training has run for an hour, beside a short job that ends."""
    stream = io.StringIO()
    display = Jobs(stream)
    tell(display, "run_info", stats={"tokens": 2, "train": 3, "total": 5})
    tell(display, "job_started", jobs=[0, 2])
    for number, rule in enumerate(("tokens", "tokens", "train")):
        info(display, number, rule, f"Make {rule} {number}")
    clock[0] = 3.0
    tell(display, "job_finished", job_id=0)
    clock[0] = 3600.0
    tell(display, "job_started", jobs=[1])
    clock[0] = 3603.0
    tell(display, "job_finished", job_id=1)
    assert re.search(r"2 h \d+ min left  Make tokens 1", stream.getvalue())


def test_the_summary_gives_of_each_failed_job_the_last_error_and_the_log(tmp_path):
    stream = io.StringIO()
    display = Jobs(stream)
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
    text = stream.getvalue()
    assert text.startswith("FAILED: Read udpos; ")
    assert text.endswith(
        f"\n3 jobs failed.\n- Read udpos\n    a.conllu:5: expected 10 columns, found 7: mend it\n    log: {bad}\n"
        f"- train recipe r\n    KeyError: 'x'\n    log: {broken}\n- fetch\n    it left no log\n    log: {tmp_path}/none.log\n"
    )


def test_snakemakes_own_lines_on_jobs_are_hidden_and_its_messages_are_not():
    display = Jobs(io.StringIO())
    assert not calm(info(display, 1, "train"))
    assert not calm(tell(display, None, "Select jobs to execute..."))
    ended = "RuleException:\nCalledProcessError in file x, line 2"
    assert not calm(tell(display, "error", ended, exception="RuleException"))
    for message in ("Nothing to be done.", "Building DAG of messages...", "MissingInputException in rule train"):
        assert calm(tell(display, None, message))
    assert calm(tell(display, "error", "WorkflowError:\nconfig.yaml: sedes: unknown key", exception="WorkflowError"))
