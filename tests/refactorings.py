"""Refactorings of the library's code: edits that do not change what it does, chosen at random for test_fingerprint.py."""

import ast
import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Sources = Mapping[str, str]  # text of each file


class Refactoring(NamedTuple):
    """A refactoring, and the files that it changes or adds."""

    kind: str
    what: str
    sources: dict[str, str]


def refactorings(sources: Sources, files: Sequence[str], number: int, seed: int) -> list[Refactoring]:
    """Refactorings of all kinds in turn, each of one of the files, chosen at random. sources: all files of the repository."""
    generator, chosen = random.Random(seed), list[Refactoring]()
    while len(chosen) < number:
        kind = KINDS[len(chosen) % len(KINDS)]
        while (edit := kind(sources, generator.choice(files), generator)) is None:
            pass
        chosen.append(edit)
    return chosen


def rename_local(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Rename a variable of a function, wherever the function has it."""
    tree = ast.parse(sources[file])
    candidates = [
        (function, part.id)
        for function in _functions(tree)
        if not any(isinstance(part, ast.ClassDef | ast.Global | ast.Nonlocal | ast.Match) for part in ast.walk(function))
        for part in function.body
        for part in ast.walk(part)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    ]
    reserved = {
        name
        for node in ast.walk(tree)
        for name in (getattr(node, "arg", None), getattr(node, "asname", None), getattr(node, "name", None))
    }
    reserved |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    reserved |= {
        part.id
        for node in tree.body
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef))
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
    }
    candidates = [(function, name) for function, name in candidates if name not in reserved]
    if not candidates:
        return None
    function, name = generator.choice(candidates)
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and part.id == name:
            part.id = "renamed_variable"
    return Refactoring("rename a variable", f"{name} of {function.name}", {file: ast.unparse(tree)})


def rename_function(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Rename a function everywhere. Its name means nothing else anywhere, and is in no string."""
    names = [node.name for node in ast.parse(sources[file]).body if isinstance(node, FUNCTIONS)]
    generator.shuffle(names)
    for name in names:
        users = {path: source for path, source in sources.items() if name in source and re.search(rf"\b{name}\b", source)}
        is_module = any(path.endswith(f"/{name}.py") for path in sources)
        definitions = [definition for source in users.values() for definition in _words(source)[0]]
        if not is_module and definitions.count(name) == 1 and not any(name in _words(source)[1] for source in users.values()):
            edited = {path: re.sub(rf"\b{name}\b", f"{name}_renamed", source) for path, source in users.items()}
            return Refactoring("rename a function", name, edited)
    return None


def reorder(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Move a function to the end of its file, unless something at import needs it."""
    tree = ast.parse(sources[file])
    function = _choose(generator, _needed_later(tree))
    if function is None or tree.body[-1] is function:
        return None
    tree.body.remove(function)
    return Refactoring(
        "move a function within its file", function.name, {file: ast.unparse(ast.Module([*tree.body, function], []))}
    )


def document(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Change docstring and annotations of a function, and annotate its variables."""
    tree = ast.parse(sources[file])
    function = _choose(generator, [node for node in _functions(tree) if not node.decorator_list])
    if function is None:
        return None
    function.returns = ast.Constant("object")
    for argument in function.args.args:
        argument.annotation = ast.Name("object")
    has_global = any(isinstance(part, ast.Global | ast.Nonlocal) for part in ast.walk(function))
    for i, statement in enumerate(function.body):
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
            and not has_global
        ):
            function.body[i] = ast.AnnAssign(statement.targets[0], ast.Name("object"), statement.value, 1)
    has_docstring = ast.get_docstring(function) is not None
    function.body = [ast.Expr(ast.Constant("What the function returns.")), *function.body[has_docstring:]]
    return Refactoring("document and annotate", function.name, {file: _with_needed_imports(tree.body) + "\n# The end.\n"})


def move(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Move a function that uses only what is imported to a new module beside its own, which imports it."""
    tree = ast.parse(sources[file])
    bound = {node.name for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))}
    bound |= {
        part.id for node in tree.body for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    bound |= {"__name__", "__file__"}
    movable = [
        node
        for node in _needed_later(tree)
        if not {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
        & (bound - _local(node))
    ]
    function = _choose(generator, movable)
    if function is None or "__init__" in file:
        return None
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    new = f"{file.removesuffix('.py')}_moved.py"
    package = new.removeprefix("workflow/").removeprefix("scripts/").removesuffix(".py").replace("/", ".")
    rest = [ast.ImportFrom(package, [ast.alias(function.name)], 0), *(node for node in tree.body if node is not function)]
    texts = map(_with_needed_imports, (rest, [*imports, function]))
    return Refactoring("move a function to another module", function.name, dict(zip((file, new), texts, strict=True)))


def add_helper(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Add a constant and a function that nothing uses, public or private."""
    name = generator.choice(("unused_helper", "_unused_helper"))
    helper = f'\n\n{name.upper()} = 7\n\n\ndef {name}(x: int) -> int:\n    """A helper."""\n    return x + {name.upper()}\n'
    return Refactoring("add a helper", file, {file: sources[file] + helper})


def reformat(sources: Sources, file: str, generator: random.Random) -> Refactoring | None:
    """Drop comments, and lay out the code otherwise."""
    return Refactoring("lay out", file, {file: ast.unparse(ast.parse(sources[file]))})


KINDS: tuple[Callable[[Sources, str, random.Random], Refactoring | None], ...]
KINDS = (rename_local, rename_function, reorder, document, move, add_helper, reformat)


def _with_needed_imports(body: list[ast.stmt]) -> str:
    """Text of a module, without the names that it imports and does not use."""
    used = {part.id for node in body for part in ast.walk(node) if isinstance(part, ast.Name)}
    statements: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.ImportFrom):
            names = [
                alias for alias in node.names if (alias.asname or alias.name) in used or (node.module or "").endswith("_moved")
            ]
            node = ast.ImportFrom(node.module, names, node.level)
        if not isinstance(node, ast.ImportFrom) or node.names:
            statements.append(node)
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))


def _choose(generator: random.Random, nodes: list[ast.FunctionDef]) -> ast.FunctionDef | None:
    return generator.choice(nodes) if nodes else None


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions of a module and methods of its classes."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]


def _needed_later(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions without decorators that no statement of the module needs at import."""
    early = {
        part.id for node in tree.body if not isinstance(node, FUNCTIONS) for part in ast.walk(node) if isinstance(part, ast.Name)
    }
    early |= {
        part.id
        for node in _functions(tree)
        for place in (*node.decorator_list, node.args)
        for part in ast.walk(place)
        if isinstance(part, ast.Name)
    }
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if not node.decorator_list and node.name not in early]


def _local(function: ast.FunctionDef) -> set[str]:
    """Names that a function binds itself."""
    stored = {part.id for part in ast.walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return stored | {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}


@functools.cache
def _words(source: str) -> tuple[list[str], set[str]]:
    """Names of a file's definitions, and its words that are no global names: parameters, members, variables, words in strings."""
    definitions, words = list[str](), set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            definitions.append(node.name)
        words.update(filter(None, [getattr(node, "arg", None), getattr(node, "attr", None), getattr(node, "asname", None)]))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            words.add(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"\w+", node.value))
    return definitions, words
