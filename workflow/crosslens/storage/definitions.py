"""Definitions in a file, and a text of each that a refactoring leaves alone.

A definition is a function, a class or a variable of a module. Its text does not depend on comments, docstrings, layout, annotations outside
classes, the names of local variables, and the names of what modules contain, for which it has a `$`. It does depend on the names of
parameters, of classes and of their members. Nothing is executed.
"""

import ast
import builtins
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
PLAIN = {  # decorators that read no annotations and register nothing
    *("property", "staticmethod", "classmethod", "cache", "cached_property", "contextmanager", "dataclass", "inference_mode", "once")
}
SEES_NAMES = {"locals", "vars", "eval", "exec"}  # functions whose results may depend on the names of variables
DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+")  # a string that may name a module

Statement = tuple[str, list[str]]  # digest of its text; dotted names for which it has a `$`, in order


class Module(NamedTuple):
    """Contents of a file."""

    definitions: dict[str, list[Statement]]  # by name; several statements may bind it
    entries: list[str]  # names that code may ask for by a string: public definitions, and imports for others
    effects: list[Statement]  # what runs at import, beyond definitions
    guarded: list[Statement]  # what runs only if the module is the program
    names: dict[str, list[str]]  # names of definitions and imports -> dotted names of what they may mean
    imports: list[str]  # dotted names of what is imported at any time


def read_module(source: bytes, path: str, name: str) -> Module:
    """Contents of a file. path: of the file in the repository; name: of the module, dotted, or of the script."""
    tree, is_script = ast.parse(source, path), PurePath(path).parent.name == "scripts"
    package = name.split(".")[: None if path.endswith("__init__.py") else -1]
    used = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    _remove_silent(tree)
    names: dict[str, list[str]] = {}
    for bound, dotted in _bindings(_outside_functions(tree), package):
        names.setdefault(bound, []).append(dotted or f"{name}.{bound}")
    module = Module({}, [], [], [], names, sorted({dotted for node in ast.walk(tree) for dotted in _imports(node, package)}))
    for node in tree.body:
        text = _Text(name, package, names)
        statement = hashlib.sha256(text.of(node).encode()).hexdigest()[:16], text.references
        for bound, dotted in dict.fromkeys(_bindings(_outside_functions(node), package)):
            if not dotted:
                module.definitions.setdefault(bound, []).append(statement)
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and not is_script:
            module.guarded.append(statement)
        elif not _only_defines(node, is_script):
            module.effects.append(statement)
    offered = [bound for bound in names if not bound.startswith("_") and (bound in module.definitions or bound not in used)]
    module.entries.extend([] if is_script else sorted(offered))
    return module


def _remove_silent(tree: ast.Module) -> None:
    """Remove statements that do nothing: docstrings, `pass`, and what only type checkers read."""

    def is_silent(node: ast.AST) -> bool:
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not node.orelse
        return is_for_types or isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [part for part in body if not is_silent(part)]


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a statement, without the insides of functions, classes and comprehensions, which have names of their own."""
    yield node
    if not isinstance(node, (*DEFINITIONS, ast.Lambda, ast.comprehension)):
        for part in ast.iter_child_nodes(node):
            yield from _outside_functions(part)


def _bindings(nodes: Iterable[ast.AST], package: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names that nodes bind, each with the dotted name of what an import binds it to, or ""."""
    for node in nodes:
        if isinstance(node, DEFINITIONS):
            yield node.name, ""
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, ""
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias, dotted in zip(node.names, _imports(node, package), strict=True):
                is_first = isinstance(node, ast.Import) and not alias.asname  # `import a.b` binds a
                yield (alias.asname or alias.name).partition(".")[0], dotted.partition(".")[0] if is_first else dotted


def _imports(node: ast.AST, package: Sequence[str]) -> list[str]:
    """Dotted names of what an import imports; none for other nodes."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    level = getattr(node, "level", 0)
    base = [*package[: len(package) - level + 1]] if level else []
    return [".".join(filter(None, [*base, getattr(node, "module", ""), alias.name])) for alias in node.names]


def _only_defines(node: ast.stmt, is_script: bool) -> bool:
    """Whether a statement changes nothing but the names that it binds. In scripts, which run from top to bottom, assignments count."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return node.names[0].name != "*"
    if isinstance(node, DEFINITIONS):
        return _is_plain(node)
    stored = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), ast.Store)]
    names_only = not any(isinstance(part, ast.Attribute | ast.Subscript) for part in stored)
    return isinstance(node, ast.Assign | ast.AnnAssign) and names_only and not is_script


def _is_plain(node: Any) -> bool:
    """Whether all decorators of a function or class are PLAIN."""
    decorators = [getattr(part, "func", part) for part in node.decorator_list]
    return {getattr(part, "attr", None) or getattr(part, "id", None) for part in decorators} <= PLAIN


class _Text:
    """Writes the text of a statement, and collects the dotted names of the module contents that it uses."""

    def __init__(self, module: str, package: Sequence[str], names: Mapping[str, list[str]]) -> None:
        self.module, self.package, self.names = module, package, names
        self.references: list[str] = []
        self.inside = ""  # the outermost definition: "class" or "function"
        self.kept: set[str] = set()  # names that are bound in it
        self.certain: set[str] = set()  # those that are never the module's
        self.variables: dict[str, str] = {}  # those that may be renamed, with a number in the order of their use

    def of(self, node: Any) -> str:
        """Text of a node of the syntax tree, of a list or of a value."""
        if isinstance(node, list):
            return f"[{','.join(filter(None, map(self.of, node)))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        return str(getattr(self, f"_{type(node).__name__.lower()}", self._fields)(node))

    def _fields(self, node: ast.AST) -> str:
        """Text of any node. Empty fields are left out, since versions of Python differ in them."""
        fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, []) and name != "ctx"]
        return f"{type(node).__name__}({','.join(f'{name}={self.of(value)}' for name, value in fields)})"

    def _name(self, node: ast.Name, attributes: str = "") -> str:
        """Text of a name. One that is bound here and in the module may mean either: it is kept, and what the module has counts."""
        name = node.id
        is_local = name in self.certain or (name in self.kept and not isinstance(node.ctx, ast.Load))
        meanings = [] if is_local else self.names.get(name, [])
        self.references += [meaning + attributes for meaning in meanings] + [f"'{self.module}"] * (name == "__name__")
        if name in self.variables:
            self.variables[name] = self.variables[name] or f"%{sum(map(bool, self.variables.values()))}"
            return self.variables[name] + attributes
        if name == "__file__":
            return f"{self.module}{attributes}"
        return "$" if meanings and name not in self.kept else name + attributes

    def _attribute(self, node: ast.Attribute, attributes: str = "") -> str:
        attributes = f".{node.attr}{attributes}"
        inner = {ast.Attribute: self._attribute, ast.Name: self._name}.get(type(node.value))
        return inner(node.value, attributes) if inner else self.of(node.value) + attributes  # type: ignore[operator]

    def _constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            self.references.append(f"'{node.value}")
        return repr(node.value)

    def _call(self, node: ast.Call) -> str:
        """Text of a call, without the descriptions of pydantic's fields and the names of loggers."""
        if getattr(node.func, "attr", "") == "getLogger":
            return self.of(node.func)
        if getattr(node.func, "id", "") == "Field":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
        return self._fields(node)

    def _annassign(self, node: ast.AnnAssign) -> str:
        """Text of a variable with an annotation, which counts in classes alone: pydantic and dataclasses read it."""
        if self.inside == "class":
            return self._fields(node)
        return self._fields(ast.Assign([node.target], node.value)) if node.value else ""

    def _import(self, node: ast.Import | ast.ImportFrom) -> str:
        """Nothing, since imports count where their names are used, but for `*`: all of that module."""
        self.references += [dotted.removesuffix(".*") for dotted in _imports(node, self.package) if dotted.endswith(".*")]
        return ""

    def _functiondef(self, node: Any) -> str:
        """Text of a function, also of a lambda. Annotations count only where a decorator may read them."""
        name = self._name(ast.Name(node.name, ast.Store())) if hasattr(node, "name") else ""
        if not isinstance(node, ast.Lambda) and _is_plain(node):
            node.returns = None
            for part in ast.walk(node.args):
                part.annotation = None  # type: ignore[attr-defined]
        outside = self.of([node.args, *getattr(node, "decorator_list", [])])
        saved = self.names, self.inside, self.kept, self.certain, self.variables
        if self.inside != "function":
            self._enter(node)
        text = f"{type(node).__name__}({name},{outside},{self.of(node.body)},{self.of(getattr(node, 'returns', None))})"
        self.names, self.inside, self.kept, self.certain, self.variables = saved
        return text

    def _enter(self, node: Any) -> None:
        """Sort the names that an outermost function binds. Parameters keep theirs, which calls state."""
        inside = [part for part in ast.walk(node) if part is not node]
        bindings, own = [*_bindings(inside, self.package)], [*_outside_functions(ast.Module(node.body if isinstance(node.body, list) else [node.body]))]
        parameters = {part.arg for part in inside if isinstance(part, ast.arg)}
        self.kept = {name for name, dotted in bindings if not dotted} | parameters
        self.certain = {name for name, dotted in _bindings(own, self.package) if not dotted}
        self.certain |= {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        self.certain -= {name for part in inside if isinstance(part, ast.Global) for name in part.names}
        is_fixed = any(isinstance(part, ast.ClassDef) or getattr(part, "id", "") in SEES_NAMES for part in inside)
        uncertain = {*self.names, *vars(builtins)} - self.certain
        self.variables = {} if is_fixed else dict.fromkeys(self.kept - parameters - uncertain, "")
        imports = {name: [*self.names.get(name, []), dotted] for name, dotted in bindings if dotted}
        self.names, self.inside = {**self.names, **imports}, "function"

    def _classdef(self, node: ast.ClassDef) -> str:
        """Text of a class, whose methods may stand in any order unless they are decorated."""
        outside = [node.name, *map(self.of, (node.decorator_list, node.bases, node.keywords))]
        saved = self.inside, self.kept
        if self.inside != "function":
            self.inside, self.kept = "class", {name for part in node.body for name, _ in _bindings(_outside_functions(part), self.package)}
        methods = sorted((part for part in node.body if isinstance(part, FUNCTIONS) and not part.decorator_list), key=lambda part: part.name)
        text = f"ClassDef({outside},{self.of([part for part in node.body if part not in methods] + methods)})"
        self.inside, self.kept = saved
        return text

    _importfrom, _asyncfunctiondef, _lambda = _import, _functiondef, _functiondef
