"""Definitions in a code file: functions, classes and variables, with the names to which each refers. Nothing is executed."""

import ast
import hashlib
from pathlib import PurePath
from typing import NamedTuple

from crosslens.jobs.normal_form import DEFINITIONS, IMPORTS, Text, bindings, imports, is_plain, outside_functions

# Digest of a statement's normal form, in which `$` replaces names of modules' contents; and these names, dotted, in order.
Statement = tuple[str, list[str]]


class Module(NamedTuple):
    """Contents of a code file."""

    definitions: dict[str, list[Statement]]  # statements by the name that they bind
    entries: list[str]  # names that other code may look up by a string: public definitions and re-exports
    effects: list[Statement]  # what runs at import, beyond definitions
    names: dict[str, list[str]]  # names of definitions and imports -> dotted names of what they may mean
    imports: list[str]  # dotted names of what is imported at any time


def read_module(source: bytes, path: str, name: str) -> Module:
    """Contents of a code file.

    source: text of the file. path: relative to the repository. name: dotted name of the module, or name of the script.
    """
    tree, is_script = ast.parse(source, path), PurePath(path).parent.name == "scripts"
    package = name.split(".")[: None if path.endswith("__init__.py") else -1]
    loads = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    _remove_silent(tree)
    names: dict[str, list[str]] = {}
    for bound, dotted in bindings(outside_functions(tree), package):
        names.setdefault(bound, []).append(dotted or f"{name}.{bound}")
    dotted_imports = {dotted for node in ast.walk(tree) for dotted in imports(node, package)}
    module = Module({}, [], [], names, sorted(dotted_imports))
    for node in tree.body:
        text = Text(name, package, names)
        statement = hashlib.sha256(text.of(node).encode()).hexdigest()[:16], text.references
        for bound, dotted in dict.fromkeys(bindings(outside_functions(node), package)):
            if not dotted:
                module.definitions.setdefault(bound, []).append(statement)
        if not _only_defines(node, is_script):
            module.effects.append(statement)
    public = [bound for bound in names if not (is_script or bound.startswith("_"))]
    module.entries.extend(sorted(bound for bound in public if bound in module.definitions or bound not in loads))
    return module


def _remove_silent(tree: ast.Module) -> None:
    """Remove statements without effect: docstrings, `pass`, and code only for type checkers."""

    def is_silent(node: ast.AST) -> bool:
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not node.orelse
        return is_for_types or isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [part for part in body if not is_silent(part)]


def _only_defines(node: ast.stmt, is_script: bool) -> bool:
    """Whether a statement only binds names. Assignments in scripts do not count as such, since they are steps of a program."""
    if isinstance(node, IMPORTS):
        return node.names[0].name != "*"
    if isinstance(node, DEFINITIONS):
        return is_plain(node)
    targets = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), ast.Store)]
    has_parts = any(isinstance(part, ast.Attribute | ast.Subscript) for part in targets)
    return isinstance(node, ast.Assign | ast.AnnAssign) and not has_parts and not is_script
