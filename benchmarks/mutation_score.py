"""Share of mistakes in the library that the tests detect: the mutation score.

    python benchmarks/mutation_score.py choose ROOT > MUTATIONS            # 150 mutations of the library, as JSON lines
    python benchmarks/mutation_score.py map ROOT FOLDER                    # which tests execute which lines; may be resumed
    python benchmarks/mutation_score.py run ROOT FOLDER MUTATIONS RESULTS  # the tests of each mutation; may be resumed
    python benchmarks/mutation_score.py report RESULTS

ROOT is a clone of the repository that nothing else uses, with its environment in .venv. PYTHONPATH has the packages coverage and
pytest-cov. A mutation is detected if one of the tests that execute its line fails or takes too long. Of many tests, the most
specific are run. Jobs that Snakemake starts are not traced: what they alone execute counts as not executed, and files of tests
that mostly run Snakemake are left out.
"""

import ast
import csv
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mutations import Mutation, definitions, mutated, mutations, spread  # noqa: E402

SEED, NUMBER = 59, 150
LIBRARY = "workflow/crosslens"
TESTS = 40  # that are run for a mutation
SECONDS = 300  # after which the tests of a file of tests, or of a mutation, are stopped
LEFT_OUT = (  # files of tests that mostly run Snakemake
    *("apptainer", "architectures", "archive*", "conda", "install", "laptop", "module", "names", "new_paper", "on_a_gpu"),
    *("plans", "prefetch", "re*", "site*", "status", "workflow", "your_own"),
)


def choose(root: Path) -> list[Mutation]:
    """The mutations, spread over the modules of the library."""
    files = sorted((root / LIBRARY).rglob("*.py"))
    sources = {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in files}
    return spread((mutation for file, source in sources.items() for mutation in mutations(file, source)), NUMBER, SEED)


def pytest(root: Path, log: Path, *options: str, **variables: str) -> int | None:
    """Exit status of a call of pytest, or None if it was stopped after SECONDS."""
    command = [".venv/bin/python", "-m", "pytest", "-n", "0", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | variables
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=root, env=environment, start_new_session=True, stdout=stream, stderr=stream)
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # coverage of the tests so far is written
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            pass
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def trace(root: Path, folder: Path) -> None:
    """Run each file of tests once and note the lines that each of its tests executes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((root / "tests").glob("test_*.py"))
    for file in files:
        done = folder / f"{file.stem}.done"
        if not done.exists() and not any(fnmatch.fnmatch(file.stem, f"test_{name}") for name in LEFT_OUT):
            options = (f"--cov={LIBRARY}", "--cov-context=test", "--cov-report=", str(file.relative_to(root)))
            status = pytest(root, folder / f"{file.stem}.log", *options, COVERAGE_FILE=str(folder / f"{file.stem}.coverage"))
            done.write_text(f"{status}\n")


def tests_by_line(root: Path, folder: Path) -> dict[tuple[str, int], list[str]]:
    """Tests that pass and execute each line of the library, those that execute the fewest lines first."""
    from coverage import CoverageData

    tests, lengths = defaultdict[tuple[str, int], set[str]](set), Counter[str]()
    logs = "\n".join(log.read_text("utf-8", "replace") for log in folder.glob("*.log"))
    failing = set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", logs, re.MULTILINE))
    for file in sorted(folder.glob("*.coverage")):
        data = CoverageData(str(file))
        data.read()
        for measured in data.measured_files():
            name = Path(measured).relative_to(root.resolve()).as_posix()
            for line, contexts in data.contexts_by_lineno(measured).items():
                for test in {context.rpartition("|")[0] for context in contexts if context} - failing:
                    tests[name, line].add(test)
                    lengths[test] += 1
    return {place: sorted(names, key=lambda test: (lengths[test], test)) for place, names in tests.items()}


def apply(root: Path, mutation: Mutation) -> tuple[Path, str, str] | None:
    """File, source before and after; None if the mutation no longer applies. Code that has moved is looked for in all files."""
    files = sorted((root / LIBRARY).rglob("*.py"), key=lambda file: (file.relative_to(root).as_posix() != mutation.file, file))
    for file in files:
        source = file.read_text("utf-8")
        if (mutation.definition or file.relative_to(root).as_posix() == mutation.file) and (text := mutated(source, mutation)):
            return file, source, text
    return None


def executing(root: Path, file: Path, source: str, text: str, tests: dict[tuple[str, int], list[str]]) -> list[str]:
    """Tests of a mutation: of its line, else of its definition, else of its file, whose statements run at the first import."""
    name, lines = file.relative_to(root).as_posix(), zip(source.splitlines(), text.splitlines(), strict=True)
    line = next(i for i, (before, after) in enumerate(lines, 1) if before != after)
    places = [place for place in definitions(ast.parse(source)) if place[1] <= line <= place[2]]
    ranges = [range(line, line + 1), *(range(first, last + 1) for _, first, last in reversed(places))]
    for candidates in ranges:
        names = dict.fromkeys(test for i in candidates for test in tests.get((name, i), []))
        if len(names) > 1 or (names and candidates is not ranges[0]):
            return [*names]
    return []


def run(root: Path, folder: Path, mutations_file: Path, results: Path) -> None:
    """Write for each mutation whether the tests detect it."""
    done = {tuple(row[:6]) for row in rows(results)}
    tests = tests_by_line(root, folder)
    for line in mutations_file.read_text("utf-8").splitlines():
        mutation = Mutation(*json.loads(line))
        if tuple(map(str, mutation)) in done:
            continue
        began, names, place = time.monotonic(), list[str](), apply(root, mutation)
        outcome = "no longer applies"
        if place:
            file, source, text = place
            names = executing(root, file, source, text, tests)[:TESTS]
            outcome = _outcome(root, file, text, names) if names else "not executed"
            file.write_text(source, "utf-8")
        with results.open("a", newline="", encoding="utf-8") as stream:
            seconds = round(time.monotonic() - began)
            csv.writer(stream, delimiter="\t", lineterminator="\n").writerow([*mutation, outcome, len(names), seconds])


def _outcome(root: Path, file: Path, text: str, names: list[str]) -> str:
    try:
        compile(text, str(file), "exec")
    except SyntaxError:
        return "no longer applies"
    file.write_text(text, "utf-8")
    status = pytest(root, Path(os.devnull), "-x", *names)
    return "detected, too slow" if status is None else "survived" if status in (0, 5) else "detected"


def rows(results: Path) -> Iterator[list[str]]:
    """Rows of the results so far."""
    if results.exists():
        with results.open(newline="", encoding="utf-8") as stream:
            yield from csv.reader(stream, delimiter="\t")


def report(results: Path) -> str:
    """The share of mutations that are detected, of those that apply."""
    outcomes = Counter(row[6] for row in rows(results))
    detected = sum(number for outcome, number in outcomes.items() if outcome.startswith("detected"))
    total = sum(outcomes.values()) - outcomes["no longer applies"]
    return f"{detected} of {total} mutations detected, {detected / max(total, 1):.0%}; {dict(outcomes)}"


if __name__ == "__main__":
    command, *paths = sys.argv[1], *map(Path, sys.argv[2:])
    if command == "choose":
        print(*map(json.dumps, choose(*paths)), sep="\n")
    elif command == "map":
        trace(*paths)
    elif command == "run":
        run(*paths)
    else:
        print(report(*paths))
