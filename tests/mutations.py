"""Mutations of the library's code: single edits that change what it does.

test_fingerprint.py asks whether the fingerprints of scripts see them, benchmarks/mutation_score.py whether the tests do.
"""

import ast
import random
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISONS |= {"in": "not in", "not in": "in", "is": "is not", "is not": "is"}
OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "//", "@": "*", "&": "|", "|": "&", "**": "*"}
MESSAGES = {"DataError", "ValueError", "RuntimeError", "getLogger", "info", "warning", "debug", "error", "print"}


class Mutation(NamedTuple):
    """An edit of one line, which is found again by its definition and text after code has moved."""

    file: str
    definition: str  # dotted, such as Loop.step; empty: a statement of the module itself
    occurrence: int  # among equal lines of the definition, from 0
    kind: str
    before: str
    after: str


class Edit(NamedTuple):
    """The replacement of some characters of a line, counted in bytes of UTF-8."""

    kind: str
    line: int
    start: int
    end: int
    text: str


def mutations(file: str, source: str) -> list[Mutation]:
    """All mutations of a file."""
    tree, lines = ast.parse(source), source.splitlines()
    places = definitions(tree)
    result = []
    for edit in sorted(set(_edits(tree, source))):
        line = lines[edit.line - 1]
        after = (line.encode()[: edit.start] + edit.text.encode() + line.encode()[edit.end :]).decode()
        definition, first, _ = _innermost(places, edit.line)
        occurrence = [other.strip() for other in lines[first - 1 : edit.line - 1]].count(line.strip())
        if after != line:
            result.append(Mutation(file, definition, occurrence, edit.kind, line.strip(), after.strip()))
    return result


def mutated(source: str, mutation: Mutation) -> str | None:
    """The source with the mutation, or None if its definition or its line is no longer there."""
    lines = source.splitlines(keepends=True)
    for definition, first, last in definitions(ast.parse(source)):
        if definition == mutation.definition:
            equal = [i for i in range(first - 1, last) if lines[i].strip() == mutation.before]
            if len(equal) > mutation.occurrence:
                at = equal[mutation.occurrence]
                return "".join([*lines[:at], lines[at].replace(mutation.before, mutation.after, 1), *lines[at + 1 :]])
    return None


def spread(candidates: Iterable[Mutation], number: int, seed: int) -> list[Mutation]:
    """Choose mutations at random: a file first, then a kind of edit, then one of these."""
    by_file: dict[str, dict[str, list[Mutation]]] = {}
    for mutation in candidates:
        by_file.setdefault(mutation.file, {}).setdefault(mutation.kind, []).append(mutation)
    generator, chosen = random.Random(seed), list[Mutation]()
    while by_file and len(chosen) < number:
        file = generator.choice(sorted(by_file))
        kinds = by_file[file]
        kind = generator.choice(sorted(kinds))
        chosen.append(kinds[kind].pop(generator.randrange(len(kinds[kind]))))
        if not kinds[kind]:
            del kinds[kind]
        if not kinds:
            del by_file[file]
    return chosen


def definitions(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Functions and classes with first and last line, inner ones after outer ones; the module itself comes first."""
    result = [("", 1, max((node.end_lineno or 1 for node in tree.body), default=1))]
    waiting = [("", node) for node in tree.body]
    while waiting:
        outer, node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}.{node.name}".lstrip(".")
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            result.append((name, first, node.end_lineno or node.lineno))
            waiting += [(name, child) for child in node.body]
    return result


def _innermost(places: list[tuple[str, int, int]], line: int) -> tuple[str, int, int]:
    return [place for place in places if place[1] <= line <= place[2]][-1]


def _edits(tree: ast.Module, source: str) -> Iterator[Edit]:
    """Edits of the expressions and statements that are on one line, but for messages, annotations and documentation."""
    lines = [line.encode() for line in source.splitlines()]
    for node, is_default in _nodes(tree):
        line = getattr(node, "lineno", None)
        if line and line == getattr(node, "end_lineno", None):
            for kind, start, end, text in _replacements(node, lines[line - 1]):
                yield Edit("default" if is_default and kind in ("number", "truth", "string") else kind, line, start, end, text)
        for condition in [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", []):
            if condition.lineno == condition.end_lineno:
                text = f"(not ({_text(condition, lines[condition.lineno - 1])}))"
                yield Edit("condition", condition.lineno, condition.col_offset, condition.end_col_offset, text)


def _nodes(node: ast.AST, is_default: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Nodes that decide what is computed, with whether they are part of the default of a parameter or field."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_skipped(node, name, child):
                default = is_default or name in ("defaults", "kw_defaults") or (isinstance(node, ast.ClassDef) and name == "body")
                default = default and not isinstance(child, ast.FunctionDef)
                yield child, default
                yield from _nodes(child, default)


def _is_skipped(parent: ast.AST, field: str, node: ast.AST) -> bool:
    called = getattr(node, "func", None)
    is_message = isinstance(node, ast.Call) and (getattr(called, "id", None) or getattr(called, "attr", None)) in MESSAGES
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_not_imported = isinstance(node, ast.If) and re.search("TYPE_CHECKING|__main__", ast.unparse(node.test)) is not None
    is_text |= isinstance(node, ast.keyword) and node.arg == "description"
    is_skipped_field = field in ("annotation", "returns", "decorator_list")
    return (
        is_message or is_text or is_not_imported or is_skipped_field or isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert)
    )


def _replacements(node: ast.AST, line: bytes) -> Iterator[tuple[str, int, int, str]]:
    """Kind, first and last byte and new text of what can be done with a node on a line."""
    match node:
        case ast.Constant(value=bool()):
            yield "truth", node.col_offset, node.end_col_offset or 0, str(not node.value)
        case ast.Constant(value=int() | float()):
            yield "number", node.col_offset, node.end_col_offset or 0, repr(node.value + 1)
        case ast.Constant(value=str()) if node.value:
            yield "string", node.col_offset, node.end_col_offset or 0, repr(node.value + "_")
        case ast.Compare(ops=[_]):
            yield from _operator("comparison", node.left, node.comparators[0], line, COMPARISONS)
        case ast.BinOp():
            yield from _operator("operator", node.left, node.right, line, OPERATORS)
        case ast.BoolOp():
            yield from _operator("operator", node.values[0], node.values[1], line, {"and": "or", "or": "and"})
        case ast.Call(args=[first, second, *_]) if _text(first, line) != _text(second, line):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                between = line[first.end_col_offset : second.col_offset].decode()
                text = _text(second, line) + between + _text(first, line)
                yield "arguments", first.col_offset, second.end_col_offset or 0, text
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "removal", node.col_offset, node.end_col_offset or 0, "pass"
        case ast.Return(value=ast.AST()):
            yield "return", node.col_offset, node.end_col_offset or 0, "return None"


def _text(node: ast.AST, line: bytes) -> str:
    return line[getattr(node, "col_offset") : getattr(node, "end_col_offset")].decode()  # noqa: B009, of every expression


def _operator(
    kind: str, left: ast.expr, right: ast.expr, line: bytes, operators: dict[str, str]
) -> Iterator[tuple[str, int, int, str]]:
    between = line[left.end_col_offset : right.col_offset].decode()
    for old, new in operators.items():
        if re.fullmatch(rf"\)*\s*{re.escape(old)}\s*\(*", between):
            yield kind, left.end_col_offset or 0, right.col_offset, between.replace(old, new, 1)
