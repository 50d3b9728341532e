"""Normal form of Python statements: a text that refactorings do not change.

It does not depend on comments, layout, annotations outside classes, or the names of local variables and of a module's contents.
It does depend on the names of parameters, of classes and of their members.
"""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FUNCTIONS, IMPORTS = (ast.FunctionDef, ast.AsyncFunctionDef), (ast.Import, ast.ImportFrom)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
# Decorators that neither read annotations nor register what they decorate.
PLAIN = set("property staticmethod classmethod cache cached_property contextmanager dataclass inference_mode once".split())
SEES_NAMES = {"locals", "vars", "eval", "exec"}  # functions whose results may depend on the names of variables
DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+")  # a string that may name a module, for `python -m`


class Text:
    """Writer of a statement's text, which collects the dotted names of the module contents that the statement uses."""

    def __init__(self, module: str, package: Sequence[str], names: Mapping[str, list[str]]) -> None:
        self.module, self.package, self.names = module, package, names
        self.references: list[str] = []
        self.inside = ""  # kind of the outermost definition: "class", "function" or, outside of both, ""
        self.bound: set[str] = set()  # names bound in the outermost definition
        self.variables: dict[str, str] = {}  # names that may change -> "%" and a number, in the order of use; "" before

    def of(self, node: Any) -> str:
        """Text of a node of the syntax tree, a list of nodes or a plain value."""
        if isinstance(node, list):
            return f"[{','.join(filter(None, map(self.of, node)))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        return str(getattr(self, f"_{type(node).__name__.lower()}", self._fields)(node))

    def _fields(self, node: ast.AST) -> str:
        """Text of a node without a rule of its own. Empty fields are left out, since versions of Python differ in them."""
        fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, []) and name != "ctx"]
        return f"{type(node).__name__}({','.join(f'{name}={self.of(value)}' for name, value in fields)})"

    def _name(self, node: ast.Name, attributes: str = "") -> str:
        """Text of a name: "$" for contents of the module, "%" and a number for a local variable, otherwise the name itself.

        A name that is bound in the module and in the definition is kept, and refers to the module's contents.
        """
        name = "__file__ of " + self.module if node.id == "__file__" else node.id
        is_stored = name in self.bound and not isinstance(node.ctx, ast.Load)
        meanings = [] if is_stored else self.names.get(name, [])
        self.references += [meaning + attributes for meaning in meanings]
        if name in self.variables:
            self.variables[name] = self.variables[name] or f"%{sum(map(bool, self.variables.values()))}"
            return self.variables[name] + attributes
        return "$" if meanings and name not in self.bound else name + attributes

    def _attribute(self, node: ast.Attribute, attributes: str = "") -> str:
        attributes = f".{node.attr}{attributes}"
        if isinstance(node.value, ast.Attribute):
            return self._attribute(node.value, attributes)
        return self._name(node.value, attributes) if isinstance(node.value, ast.Name) else self.of(node.value) + attributes

    def _constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            self.references.append(f"'{node.value}")
        return repr(node.value)

    def _call(self, node: ast.Call) -> str:
        """Text of a call, without the descriptions of pydantic's fields."""
        if isinstance(node.func, ast.Name) and node.func.id == "Field":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
        return self._fields(node)

    def _annassign(self, node: ast.AnnAssign) -> str:
        """Text of an annotated variable. Annotations count only in classes, where pydantic and dataclasses read them."""
        if self.inside == "class":
            return self._fields(node)
        return self._fields(ast.Assign([node.target], node.value)) if node.value else ""

    def _import(self, node: ast.Import | ast.ImportFrom) -> str:
        """Empty text, since imports count where their names are used. `import *` refers to the whole module."""
        self.references += [dotted.removesuffix(".*") for dotted in imports(node, self.package) if dotted.endswith(".*")]
        return ""

    def _functiondef(self, node: Any) -> str:
        """Text of a function or lambda. Annotations count only if a decorator may read them."""
        name = "" if isinstance(node, ast.Lambda) else self._name(ast.Name(node.name, ast.Store()))
        if name and is_plain(node):
            for part in ast.walk(node.args):
                part.annotation = None  # type: ignore[attr-defined]
            node.returns = None
        outside = self.of([node.args, *getattr(node, "decorator_list", [])])
        saved = self.names, self.inside, self.bound, self.variables
        if self.inside != "function":
            self._enter(node)
        text = f"{type(node).__name__}({name},{outside},{self.of(node.body)},{self.of(getattr(node, 'returns', None))})"
        self.names, self.inside, self.bound, self.variables = saved
        return text

    def _enter(self, node: Any) -> None:
        """Find the names that an outermost function binds and those that may change: not parameters, which calls may name."""
        parts = [part for part in ast.walk(node) if part is not node]
        bound = [*bindings(parts, self.package)]
        parameters = {part.arg for part in parts if isinstance(part, ast.arg)}
        self.bound = {name for name, dotted in bound if not dotted} | parameters
        is_fixed = any(isinstance(part, ast.ClassDef) or getattr(part, "id", "") in SEES_NAMES for part in parts)
        imported = {name: [*self.names.get(name, []), dotted] for name, dotted in bound if dotted}
        self.names, self.inside = {**self.names, **imported}, "function"
        fixed = self.bound if is_fixed else {*parameters, *self.names, *vars(builtins)}
        self.variables = dict.fromkeys(self.bound - fixed, "")

    def _classdef(self, node: ast.ClassDef) -> str:
        """Text of a class, in which the order of undecorated methods does not count."""
        outside = [node.name, *map(self.of, (node.decorator_list, node.bases, node.keywords))]
        saved = self.inside, self.bound
        if self.inside != "function":
            members = (part for statement in node.body for part in outside_functions(statement))
            self.inside, self.bound = "class", {name for name, _ in bindings(members, self.package)}
        methods = [part for part in node.body if isinstance(part, FUNCTIONS) and not part.decorator_list]
        fields = [part for part in node.body if part not in methods]
        text = f"ClassDef({outside},{self.of(fields)},{self.of(sorted(methods, key=lambda part: part.name))})"
        self.inside, self.bound = saved
        return text

    _importfrom, _asyncfunctiondef, _lambda = _import, _functiondef, _functiondef


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a statement except those inside functions, classes and comprehensions, which are scopes of their own."""
    yield node
    if not isinstance(node, (*DEFINITIONS, ast.Lambda, ast.comprehension)):
        for part in ast.iter_child_nodes(node):
            yield from outside_functions(part)


def bindings(nodes: Iterable[ast.AST], package: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names that nodes bind, each with the dotted name that it stands for if an import binds it, otherwise ""."""
    for node in nodes:
        if isinstance(node, DEFINITIONS):
            yield node.name, ""
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, ""
        elif isinstance(node, IMPORTS):
            for alias, dotted in zip(node.names, imports(node, package), strict=True):
                is_first = isinstance(node, ast.Import) and not alias.asname  # `import a.b` binds `a`
                yield (alias.asname or alias.name).partition(".")[0], dotted.partition(".")[0] if is_first else dotted


def imports(node: ast.AST, package: Sequence[str]) -> list[str]:
    """Dotted names of everything that an import statement imports; empty for other nodes."""
    if not isinstance(node, IMPORTS):
        return []
    level = getattr(node, "level", 0)
    base = package[: len(package) - level + 1] if level else []
    return [".".join(filter(None, [*base, getattr(node, "module", ""), alias.name])) for alias in node.names]


def is_plain(node: Any) -> bool:
    """Whether all decorators of a function or class are PLAIN."""
    decorators = [getattr(part, "func", part) for part in node.decorator_list]
    return {getattr(part, "attr", None) or getattr(part, "id", None) for part in decorators} <= PLAIN
