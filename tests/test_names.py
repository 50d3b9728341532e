"""Variables and parameters have names that say what they hold, and docstrings begin with a subject or a verb."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workflow"
ROOMS = (
    "crosslens/api",
    "crosslens/commands",
    "crosslens/config",
    "crosslens/corpora",
    "crosslens/encoding",
    "crosslens/jobs",
    "crosslens/measures",
    "crosslens/numerics",
    "crosslens/papers",
    "crosslens/reports",
    "crosslens/training",
    "crosslens/graph",
    "synthetic",
    "scripts",
)
"""Folders and modules to which the rules apply."""
PARTICIPLES = (
    "asked begun both built counted drawn each ended found given gone held kept known left made named other others own read said "
    "seen shown some stored taken taught told used wanted written"
)
PRONOUNS = (
    "all any he her his it its mine neither none of one ours she such that theirs them these they this those what which who"
)
WORDS = frozenset(f"{PARTICIPLES} {PRONOUNS}".split())
"""Names that say what happened to a thing, or point at it, instead of saying what it is."""
POINTERS = ("As ", "It is", "Of ", "See ", "That of", "The same", "Those ", "What ")
"""Beginnings of docstrings that point at something else instead of saying what comes back."""


def modules(room: str) -> list[Path]:
    path = ROOT / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def bad_names(source: str) -> list[tuple[int, str]]:
    """Line and name of each variable and parameter among WORDS; fields of classes belong to formats, and do not count."""
    tree = ast.parse(source)
    fields = {
        id(node)
        for definition in ast.walk(tree)
        if isinstance(definition, ast.ClassDef)
        for statement in definition.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
    }
    return sorted(stored_names(tree, fields))


def stored_names(tree: ast.Module, fields: set[int]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in WORDS:
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in WORDS and id(node) not in fields:
            yield node.lineno, node.id


def pointers(source: str) -> list[tuple[int, str]]:
    """Line and beginning of each docstring that points at something else."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [(node.body[0].lineno, ast.get_docstring(node) or "") for node in ast.walk(ast.parse(source))
             if isinstance(node, documented) and node.body]  # fmt: skip
    return sorted((line, text[:30]) for line, text in texts if text.startswith(POINTERS))


@pytest.mark.parametrize("room", ROOMS)
def test_names_and_docstrings_say_what_they_are(room: str) -> None:
    assert modules(room)
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in modules(room)
        for find in (bad_names, pointers)
        for line, text in find(path.read_text("utf-8"))
    ]
    assert not faults, "\n".join(faults)


def test_faults_are_seen() -> None:
    source = '''
class Row:
    found: int = 0

def rows(given, /, *, what=1):
    """Of all rows."""
    for each in given:
        total, other = each
    return [read for read in given]
'''
    assert bad_names(source) == [(5, "given"), (5, "what"), (7, "each"), (8, "other"), (9, "read")]
    assert pointers(source) == [(6, "Of all rows.")]
    assert not bad_names("def f(rows):\n    count = len(rows)\n") and not pointers('"""Rows of a table."""')
