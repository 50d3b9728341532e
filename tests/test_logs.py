"""A rule's log says what ran, how far it is, and how it went."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from crosslens.jobs import call, logs, machine, progress, quantities


@pytest.fixture(autouse=True)
def clean(signals_handled):
    yield
    log = logging.getLogger("crosslens")
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()
    log.propagate = True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_first_lines_tell_what_ran(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(call.COMMAND, call.called(["demo", "--profile", "demo", "--cores", "2"]))
    path = tmp_path / "deep" / "tokens.log"
    log = logs.start(str(path), "results/demo/tokens/e5/whole/udpos", seed=7)
    logging.getLogger("crosslens.encoding.tokens").warning("a short sentence")
    log.info("counted")
    first, *lines = path.read_text().splitlines()
    assert first.endswith("INFO command: snakemake --profile demo results/demo/tokens/e5/whole/udpos")
    text = "\n".join(lines)
    for wanted in ("versions: python 3.", "numpy ", "crosslens ", "host ", "seed 7"):
        assert wanted in text
    assert text.index("seed 7") < text.index("counted")
    assert capsys.readouterr().err == "WARNING: a short sentence\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "command"),
    [
        (["--profile", "slurm", "results/a.csv", "-n", "--jobs", "4"], {}, "snakemake --profile slurm T"),
        (["-c2", "--profile=demo"], {"SNAKEMAKE_PROFILE": "slurm"}, "snakemake --profile demo T"),
        (["all"], {"SNAKEMAKE_PROFILE": "slurm"}, "snakemake --profile slurm T"),
        (["--cores", "1"], {}, "snakemake T"),
        # What follows several values would be taken for one more.
        (["--config", "seeds=[0, 1]", "threads=2", "--", "all"], {}, "snakemake --config 'seeds=[0, 1]' threads=2 -- T"),
        (["--configfile", "config.yaml", "my.yaml", "--cores", "1"], {}, "snakemake --configfile config.yaml my.yaml -- T"),
        (["-d", "there", "-s", "Snakefile", "all"], {}, "snakemake --snakefile Snakefile --directory there T"),
    ],
)
def test_the_command_of_a_file_has_what_decides_it(monkeypatch, arguments, environment, command):
    monkeypatch.setenv(call.COMMAND, call.called(arguments, environment))
    assert call.command("T") == command
    monkeypatch.delenv(call.COMMAND)
    assert call.command("T") is None  # outside a run


def test_revision_is_of_the_library_and_none_outside_a_working_copy(tmp_path, monkeypatch):
    library = tmp_path / "crosslens" / "machine.py"
    library.parent.mkdir()
    library.write_text("")
    monkeypatch.setattr(machine, "__file__", str(library))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.revision() is None
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert head.startswith(str(machine.revision()))
    library.write_text("changed = 1\n")
    assert str(machine.revision()).endswith("+changes")


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (59.9, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_durations(seconds, text):
    assert quantities.duration(seconds) == text


def test_progress_is_logged_at_most_every_ten_seconds_with_the_time_left(caplog, clock):
    caplog.set_level(logging.INFO)
    with progress.Progress(100, "sentences", logging.getLogger("test")) as sentences:
        for _ in range(25):
            clock[0] += 1
            sentences.advance(2)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[:2] == [
        "sentences: 20 of 100, 2.0 per second, 40 s left",
        "sentences: 40 of 100, 2.0 per second, 30 s left",
    ]
    assert lines[2].startswith("50 sentences in 25 s, 2.0 per second, peak memory ")
    assert len(lines) == 3


def test_progress_over_things_and_after_an_error(caplog, clock):
    caplog.set_level(logging.INFO)
    assert list(progress.Progress(3, "files", logging.getLogger("test")).over("abc")) == list("abc")
    with pytest.raises(ValueError), progress.Progress(9, "files", logging.getLogger("test")) as files:
        files.advance(4)
        raise ValueError
    ends = [record.getMessage().split(" in ")[0] for record in caplog.records]
    assert ends == ["3 files", "stopped after 4 of 9 files"]


def fails(tmp_path, line, status=1, first=""):
    """Log and stderr of a script that starts a log and then fails."""
    imports = "from crosslens.jobs import logs\nfrom crosslens.jobs.errors import DataError\n"
    script = f"{first}\n{imports}logs.start('a.log', 't')\n{line}\n"
    environment = os.environ | {"PYTHONPATH": str(Path(logs.__file__).parents[2])}
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == status
    return (tmp_path / "a.log").read_text(), result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak of the process that started it counts too")
def test_a_log_ends_with_what_the_job_took(tmp_path):
    log, _ = fails(tmp_path, "", status=0, first="held = bytearray(10**8)")
    ((seconds, memory, gpu_memory),) = logs.SPENT.findall(log)
    assert log.rstrip().endswith(f"took {seconds} s, peak memory {memory} GiB")
    assert 0 <= float(seconds) < 60 and 10**8 / 2**30 < float(memory) < machine.peak_memory() / 2**30 + 0.2 and not gpu_memory


def test_errors_end_the_log_and_stderr_in_one_line_for_bad_input_and_with_a_traceback_else(tmp_path):
    log, stderr = fails(tmp_path, "raise DataError('a.conllu:3: 9 columns, 10 expected; correct the line')")
    assert stderr == "ERROR: a.conllu:3: 9 columns, 10 expected; correct the line\n"
    assert log.endswith(stderr.partition(" ")[2]) and "Traceback" not in log
    for text in fails(tmp_path, "raise KeyError('x')"):
        assert "stopped by an error" in text and "Traceback" in text and text.endswith("KeyError: 'x'\n")


FOREGROUND = "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
HELD = """
from crosslens.jobs import signals
with signals.held():
    os.kill(os.getpid(), signal.{0})
    with open("whole", "w") as file:
        file.write("all of it")
with open("more", "w") as file:
    pass
"""


@pytest.mark.parametrize(("name", "status", "said"), [("SIGTERM", 143, "SIGTERM"), ("SIGINT", 130, "Ctrl-C")])
def test_a_signal_ends_a_job_in_one_line(tmp_path, name, status, said):
    log, stderr = fails(tmp_path, f"os.kill(os.getpid(), signal.{name})\nwhile True: pass", status, FOREGROUND)
    assert stderr == f"ERROR: stopped by {said}\n"
    assert log.endswith(stderr.partition(" ")[2]) and "Traceback" not in log
    if name == "SIGINT":  # a job in the background ignores Ctrl-C
        fails(tmp_path, "os.kill(os.getpid(), signal.SIGINT)", 0, FOREGROUND.replace("default_int_handler", "SIG_IGN"))
    fails(tmp_path, HELD.format(name), status, FOREGROUND)
    assert (tmp_path / "whole").read_text() == "all of it" and not (tmp_path / "more").exists()
