"""Digest of the definitions that code reaches: those that it names, those that these name, and so on.

A class counts as a whole, as does a module that is used as a value. It does not matter in which order or file definitions are.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import cache

from crosslens.jobs.definitions import Module, Statement

WHOLE, ENTRY, IMPORTED = (
    "*",
    "",
    "import",
)  # instead of a definition's name: a whole module, its entries (`Module.entries`), what runs at import
Place = tuple[str, str]  # module and definition


class Reach:
    """Search for the definitions that modules reach."""

    def __init__(self, modules: Iterable[str], module: Callable[[str], Module], silent: Iterable[str] = ()) -> None:
        """Prepare the search.

        modules: dotted names of all modules. module: function that reads one. silent: modules of which only the names of
        definitions count, not the definitions.
        """
        self.modules, self.module, self.silent = frozenset(modules), module, frozenset(silent)
        self._targets = cache(self._find)

    def digest(self, module: str) -> str:
        """Digest of everything that a script, or the public contents of a library module, reaches.

        Definitions are numbered in the order in which they are reached.
        """
        numbers: dict[Place, int] = {}
        places: list[Place] = []
        lines: list[object] = []

        def number(module: str, definition: str, attributes: str = "") -> str:
            if not module or module in self.silent:
                return f"silent {definition} {attributes}" if module else attributes
            if (module, definition) not in numbers:
                numbers[module, definition] = len(places)
                places.append((module, definition))
            return f"{numbers[module, definition]}{attributes}"

        for name, part in [(module, ENTRY), *((name, IMPORTED) for name in self._with_effects(module))]:
            number(name, part)
            while len(lines) < len(places):
                statements = self._statements(*places[len(lines)])
                lines.append(
                    [(text, [number(*target) for name in names for target in self._targets(name)]) for text, names in statements]
                )
        return hashlib.sha256(repr(lines).encode()).hexdigest()[:16]

    def imported(self, module: str) -> set[str]:
        """Names of the module and of all modules that it imports, anywhere in its code, directly or indirectly."""
        modules, waiting = set[str](), [module]
        while waiting:
            name = waiting.pop()
            if name not in modules:
                modules.add(name)
                packages = [name.rsplit(".", i)[0] for i in range(1, name.count(".") + 1)]
                imports = [self.split(dotted)[0] for dotted in self.module(name).imports]
                waiting += [place for place in (*packages, *imports) if place in self.modules]
        return modules

    def split(self, dotted: str) -> tuple[str, str]:
        """Module with which a dotted name begins, "" if it is none of `modules`, and the rest of the name."""
        parts = dotted.split(".")
        length = next((i for i in range(len(parts), 0, -1) if ".".join(parts[:i]) in self.modules), 0)
        return ".".join(parts[:length]), ".".join(parts[length:])

    def _with_effects(self, module: str) -> list[str]:
        """Imported modules that do more than define at import, in an order that does not depend on their names."""
        effects = {name: self.module(name).effects for name in self.imported(module) if name not in self.silent}
        return sorted(filter(effects.get, effects), key=lambda name: ([text for text, _ in effects[name]], name))

    def _statements(self, module: str, definition: str) -> list[Statement]:
        """Statements of a place. For WHOLE and ENTRY, these are names of the module's contents, then what runs at import."""
        contents = self.module(module)
        if definition in contents.definitions:
            return contents.definitions[definition]
        names = {WHOLE: sorted({*contents.definitions, *contents.entries}), ENTRY: contents.entries, IMPORTED: []}[definition]
        return [*((name, [f"{module}.{name}"]) for name in names), *contents.effects]

    def _find(self, dotted: str) -> list[tuple[str, str, str]]:
        """Module, definition and attributes of everything that a dotted name may mean. Module "": a third-party one."""
        if dotted.startswith("'"):  # a string
            return [(dotted[1:], WHOLE, "")] if dotted[1:] in self.modules else []
        module, rest = self.split(dotted)
        name, dot, attributes = rest.partition(".")
        if not module or not name:
            return [(module, WHOLE, rest)]
        contents = self.module(module)
        targets = [(module, name, dot + attributes)] * (name in contents.definitions)
        for meaning in contents.names.get(name, []):
            targets += self._targets(meaning + dot + attributes) if meaning != f"{module}.{name}" else []
        return targets or [(module, WHOLE, rest)]
