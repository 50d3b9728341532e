"""Share of mistakes in the library that the tests detect: the mutation score.

    python benchmarks/mutation_score.py choose ROOT > MUTATIONS      # 150 mutations of the library, as JSON lines
    python benchmarks/mutation_score.py reach ROOT MUTATIONS FOLDER  # one run of the tests: which of them execute which lines
    python benchmarks/mutation_score.py run ROOT MUTATIONS FOLDER    # the tests of each mutation; may be resumed
    python benchmarks/mutation_score.py report FOLDER

ROOT is a clone of the repository that nothing else uses, with its environment in .venv. A mutation is detected if one of the
tests that execute its line fails or takes too long. If there are many such tests, those that execute the fewest mutated lines
are run, up to half a minute in all. A line that runs at import, such as the field of a class, counts as executed by the tests
in files that name its definition.
"""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mutations import Mutation, mutated, mutations, spread  # noqa: E402

SEED, NUMBER = 59, 150
LIBRARY = "workflow/crosslens"
SECONDS, LONGEST = 30, 240  # seconds: expected of a mutation's chosen tests; after which they are stopped
FOLDER = "MUTATION_SCORE"  # environment variable: where probes and tests leave their files
executed = set[tuple[int, str]]()


def choose(root: Path) -> list[Mutation]:
    """The mutations, spread over the modules of the library."""
    files = sorted((root / LIBRARY).rglob("*.py"))
    sources = {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in files}
    return spread((mutation for file, source in sources.items() for mutation in mutations(file, source)), NUMBER, SEED)


# Which tests execute a mutation's line


def probe(number: int) -> None:
    """Note that the running test has come to the line of a mutation; called by the sources with probes."""
    key = number, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if key[1] and key not in executed and FOLDER in os.environ:
        executed.add(key)
        with Path(os.environ[FOLDER], "executed.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(f"{json.dumps(key)}\n")


def pytest_runtest_logreport(report) -> None:
    """Note how long each phase of a test took and how it ended: this module is a plugin of pytest during `reach`."""
    if "PYTEST_XDIST_WORKER" not in os.environ and FOLDER in os.environ:
        with Path(os.environ[FOLDER], "tests.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(f"{json.dumps([report.nodeid, report.outcome, report.duration])}\n")


def place(tree: ast.Module, line: int) -> tuple[int, int] | None:
    """Line before which to insert a probe for a line, and its indentation; None if the line is executed at import.

    This is the first line of the innermost statement, or of a function's body if the line is in its head.
    """
    within = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _first(node) <= line <= (node.end_lineno or 0)]
    functions = [node for node in within if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if not functions or isinstance(within[-1], ast.ClassDef):
        return None
    function = max(functions, key=_first)
    statements = [node for node in within if _first(node) > _first(function) and not _is_elif(tree, node)]
    before = max(statements, key=_first, default=function.body[_start(function)])
    return _first(before), before.col_offset


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])


def _start(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return 1 if len(function.body) > 1 and ast.get_docstring(function) is not None else 0


def _is_elif(tree: ast.Module, statement: ast.stmt) -> bool:
    """Whether an `if` is the `elif` of another, before which no statement is allowed."""
    ifs = (node for node in ast.walk(tree) if isinstance(node, ast.If) and node.orelse == [statement])
    return any(node.col_offset == statement.col_offset for node in ifs)


def reach(root: Path, mutations_file: Path, folder: Path) -> None:
    """Run all tests once with a probe before the line of each mutation."""
    folder.mkdir(parents=True)
    probes, sources = defaultdict[Path, list[tuple[int, int, int]]](list), dict[Path, str]()
    for number, mutation in enumerate(read(mutations_file)):
        if edit := apply(root, mutation):
            file, source, text = edit
            sources[file] = source
            if position := place(ast.parse(source), changed_line(source, text)):
                probes[file].append((*position, number))
    try:
        for file, positions in probes.items():
            lines = sources[file].splitlines(keepends=True)
            for line, indentation, number in sorted(positions, reverse=True):
                lines.insert(line - 1, f'{" " * indentation}__import__("mutation_score").probe({number})\n')
            compile("".join(lines), str(file), "exec")
            file.write_text("".join(lines), "utf-8")
        pytest(
            root, folder / "reach.log", "-n", "2", "--dist", "loadfile", "-p", "mutation_score", **{FOLDER: str(folder.resolve())}
        )
    finally:
        for file, source in sources.items():
            file.write_text(source, "utf-8")


# Which mutations the tests detect


def run(root: Path, mutations_file: Path, folder: Path) -> None:
    """Write for each mutation whether the tests detect it."""
    earlier = {tuple(row[:6]) for row in rows(folder / "results.jsonl")}
    seconds, failing, tests = Counter[str](), set[str](), defaultdict[int, set[str]](set)
    for test, outcome, duration in rows(folder / "tests.jsonl"):
        seconds[test] += duration
        failing |= {test} if outcome == "failed" else set()
    for number, test in rows(folder / "executed.jsonl"):
        tests[number] |= {test} & (seconds.keys() - failing)
    lines = Counter(test for names in tests.values() for test in names)
    for number, mutation in enumerate(read(mutations_file)):
        if mutation in earlier:
            continue
        began, names, verdict = time.monotonic(), list[str](), "no longer applies"
        if edit := apply(root, mutation):
            candidates = tests[number] or naming(root, mutation, seconds.keys() - failing)
            for test in sorted(candidates, key=lambda test: (lines[test], seconds[test])):
                if not names or sum(seconds[name] for name in names) + seconds[test] < SECONDS:
                    names.append(test)
            verdict = detection(root, *edit, names) if names else "not executed"
        with (folder / "results.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(f"{json.dumps([*mutation, verdict, len(names), round(time.monotonic() - began)])}\n")


def naming(root: Path, mutation: Mutation, tests: set[str]) -> set[str]:
    """Tests in the files that name the definition of a mutation, or else its module."""
    for word in filter(None, (mutation.definition.rpartition(".")[2], Path(mutation.file).stem)):
        files = {test.partition("::")[0] for test in tests}
        mentioning = {file for file in files if re.search(rf"\b{word}\b", (root / file).read_text("utf-8"))}
        if mentioning:
            return {test for test in tests if test.partition("::")[0] in mentioning}
    return set()


def detection(root: Path, file: Path, source: str, text: str, names: list[str]) -> str:
    """Run tests on a mutated file and return what comes of it. source, text: of the file, before and after the mutation."""
    try:
        compile(text, str(file), "exec")
    except SyntaxError:
        return "no longer applies"
    try:
        file.write_text(text, "utf-8")
        status = pytest(root, Path(os.devnull), "-n", "0", "-x", *names, seconds=LONGEST)
    finally:
        file.write_text(source, "utf-8")
    return "detected, too slow" if status is None else "survived" if status in (0, 5) else "detected"


def apply(root: Path, mutation: Mutation) -> tuple[Path, str, str] | None:
    """File, source and mutated source; None if the mutation no longer applies. Moved code is searched for in all files."""
    files = sorted((root / LIBRARY).rglob("*.py"), key=lambda file: (file.relative_to(root).as_posix() != mutation.file, file))
    for file in files:
        source = file.read_text("utf-8")
        if (mutation.definition or file.relative_to(root).as_posix() == mutation.file) and (text := mutated(source, mutation)):
            return file, source, text
    return None


def changed_line(source: str, text: str) -> int:
    """The line, counted from 1, in which two sources differ."""
    lines = zip(source.splitlines(), text.splitlines(), strict=True)
    return next(number for number, (before, after) in enumerate(lines, 1) if before != after)


def pytest(root: Path, log: Path, *options: str, seconds: float | None = None, **variables: str) -> int | None:
    """Exit status of a call of pytest, or None if it was stopped after so many seconds."""
    command = [".venv/bin/python", "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)} | variables
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=root, env=environment, start_new_session=True, stdout=stream, stderr=stream)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def read(mutations_file: Path) -> list[Mutation]:
    return [Mutation(*row) for row in rows(mutations_file)]


def rows(file: Path) -> list[list[Any]]:
    """Rows of a file of JSON lines; [] if there is none."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def report(folder: Path) -> str:
    """Share of mutations that are detected, among those that apply, as text."""
    outcomes = Counter(row[6] for row in rows(folder / "results.jsonl"))
    detected = sum(number for outcome, number in outcomes.items() if outcome.startswith("detected"))
    total = sum(outcomes.values()) - outcomes["no longer applies"]
    return f"{detected} of {total} mutations detected, {detected / max(total, 1):.0%}; {dict(outcomes)}"


if __name__ == "__main__":
    command, *paths = sys.argv[1], *map(Path, sys.argv[2:])
    if command == "choose":
        print(*map(json.dumps, choose(*paths)), sep="\n")
    elif command == "report":
        print(report(*paths))
    else:
        {"reach": reach, "run": run}[command](*paths)
