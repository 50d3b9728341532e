"""How often each fault was tried and what became of it: the rows of tests/faults/counts.csv.

`make test-faults` (pytest --faults) tries each as often as the tests say and writes what happened to tests/faults/counts.csv;
`make test` tries a few of each and writes nothing. A test that tries one input of a class of them says so by a mark,
fault(CLASS, OUTCOME) with an outcome of Tally: each such test that passes counts as one try, one that fails as silent.
"""

import csv
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

RESULTS = Path(__file__).parent / "faults/counts.csv"
COLUMNS = ("fault", "tried", "survived", "refused", "rerun", "silent", "seen")


@dataclass
class Tally:
    """What became of the tries of one fault.

    survived: ended in the results of a run without the fault. refused: one readable error, and nothing changed on disk. rerun:
    planned again, with the reason. silent: anything else, above all a result that differs and nobody is told; tests assert that
    there is none. seen: what a user sees, an example.
    """

    fault: str
    survived: int = 0
    refused: int = 0
    rerun: int = 0
    silent: list[str] = field(default_factory=list)  # a line each
    seen: str = ""

    def row(self) -> dict[str, object]:
        tried = self.survived + self.refused + self.rerun + len(self.silent)
        seen = re.sub(r"part-[^\s/:]+", "part-XXXXXXXX", " ".join(self.seen.split())).replace(tempfile.gettempdir(), "TMPDIR")
        values = (self.fault, tried, self.survived, self.refused, self.rerun, len(self.silent), seen)
        return dict(zip(COLUMNS, values, strict=True))


@pytest.fixture
def often(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """How often to try: the first number in `make test-faults`, the second in `make test-long`."""
    return lambda whole, slice: whole if request.config.getoption("--faults") else slice


@pytest.fixture
def tally(request: pytest.FixtureRequest):
    """Makes the Tally of a fault by its name, which is written when the test ends, passed or not."""
    made: list[Tally] = []

    def make(fault: str) -> Tally:
        made.append(Tally(f"{fault[0].upper()}{fault[1:]}"))
        return made[-1]

    yield make
    if request.config.getoption("--faults"):
        write([each.row() for each in made])


def marked(reports: Iterable[pytest.TestReport]) -> list[dict[str, object]]:
    """Rows of the classes that tests with the mark `fault` try."""
    tallies: dict[str, Tally] = {}
    for report in reports:
        for fault, outcome in (value for key, value in report.user_properties if key == "fault"):
            tally = tallies.setdefault(fault, Tally(fault))
            if report.passed:
                setattr(tally, outcome, getattr(tally, outcome) + 1)
            else:
                tally.silent.append(report.nodeid)
    return [tally.row() for tally in tallies.values()]


def write(found: list[dict[str, object]]) -> None:
    """Put rows into the table of results, in the place of those of the same faults."""
    with FileLock(f"{RESULTS}.lock"):
        rows: dict[str, dict[str, object]] = {}
        if RESULTS.exists():
            with open(RESULTS, encoding="utf-8", newline="") as file:
                rows = {row["fault"]: dict(row) for row in csv.DictReader(file)}
        rows |= {str(row["fault"]): row for row in found}
        with open(RESULTS, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[name] for name in sorted(rows))
