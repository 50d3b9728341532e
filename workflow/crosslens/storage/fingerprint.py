"""Fingerprints of code and of environments, which alone decide whether a change of code makes Snakemake rerun a rule.

A rule has it as the param `code` (`code` in rules/common.smk), so that the rule is run again when its script, or a library
module that the script imports, directly or indirectly, changes in more than comments, docstrings, descriptions of fields or
layout; modules that move no number (SILENT) do not count. Imports are read from the syntax tree; nothing is executed. Imports
written as strings (importlib) and data files are not seen: rules give such modules to `code` too, and the content of such files
as params of their own.
"""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from crosslens.storage.contents import Cache

FORMAT = 5  # raise when the text that is hashed, or what the cache holds, changes
FOLDERS = ("workflow", "workflow/scripts")  # on sys.path while a script runs, below the repository root
SILENT = {  # modules that report, keep records, choose a GPU, or decide whether a file is read or a job may run
    "workflow/crosslens/papers/__init__.py",  # the list of papers
    "workflow/crosslens/runs/call.py",
    "workflow/crosslens/runs/errors.py",
    "workflow/crosslens/runs/gpus.py",
    "workflow/crosslens/runs/logs.py",
    "workflow/crosslens/runs/machine.py",
    "workflow/crosslens/runs/progress.py",
    "workflow/crosslens/runs/quantities.py",
    "workflow/crosslens/runs/signals.py",
    "workflow/crosslens/sources/pins.py",
    "workflow/crosslens/storage/bounded.py",
    "workflow/crosslens/storage/contents.py",
    "workflow/crosslens/storage/seals.py",
    "workflow/crosslens/training/lock.py",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _canonical(node: object) -> str:
    """Text of a syntax tree without positions and empty fields, which differ between Python versions, and without documentation.

    Documentation is docstrings and the descriptions of pydantic's fields.
    """
    if isinstance(node, ast.AST):
        fields: dict[str, Any] = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            fields["body"] = node.body[1:]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Field":
            fields["keywords"] = [keyword for keyword in node.keywords if keyword.arg != "description"]
        return f"{type(node).__name__}({','.join(f'{name}={_canonical(value)}' for name, value in fields.items())})"
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    return repr(node)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that may run, which the bodies of `if TYPE_CHECKING:` do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for statement in child.orelse:
                yield from (statement, *_executed(statement))
        else:
            yield child
            yield from _executed(child)


def _imports(tree: ast.Module, path: str) -> list[str]:
    """Dotted names that a file may import; `from a import b` gives a and a.b, which may be a module or a name in a."""
    here = Path(path).relative_to(FOLDERS[0]).with_suffix("").parts if Path(path).is_relative_to(FOLDERS[0]) else ()
    names: set[str] = set()
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level] if node.level else ()
            module = ".".join(filter(None, (*base, node.module)))
            names.update([module, *(f"{module}.{alias.name}" for alias in node.names)])
    return sorted(name for name in names if name.partition(".")[0] not in sys.stdlib_module_names)


class Fingerprints:
    """Fingerprints of the scripts below `root`, the repository.

    Digest and imports of each file are cached in `.snakemake` by its content, since archives and container images give all
    files one time.
    """

    def __init__(self, root: Path, *, cached: bool = True) -> None:
        """Read the cache of earlier calls; `cached=False` uses and writes none."""
        self.root = Path(root)
        self._cache = Cache(self.root / ".snakemake" / "fingerprints.json" if cached else None)
        self._fresh: dict[str, tuple[str, list[str]]] = {}  # path -> digest and imports, of files that this process has read
        self._files: dict[str, list[str]] = {}
        self._modules = {file.relative_to(root).as_posix() for file in (self.root / FOLDERS[0]).rglob("*.py")}

    def __call__(self, script: str) -> str:
        """Sixteen hex digits for a script, whose path is relative to the repository."""
        text = "".join(f"{path} {self._read(path)[0]}\n" for path in self.reached(script) if path not in SILENT)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def reached(self, script: str) -> list[str]:
        """The script and the project's files that it imports, directly or not."""
        files: set[str] = set()
        waiting = [Path(script).as_posix()]
        while waiting:
            path = waiting.pop()
            if path not in files:
                files.add(path)
                waiting += [file for module in self._read(path)[1] for file in self._locate(module)]
        self._cache.save()
        return sorted(files)

    def foreign(self, script: str) -> dict[str, str]:
        """Top-level names of third-party packages that the script reaches, each with a file that imports it."""
        return {
            module.partition(".")[0]: path
            for path in self.reached(script)
            for module in self._read(path)[1]
            if not self._locate(module.partition(".")[0])
        }

    def _locate(self, module: str) -> list[str]:
        """Files that importing `module` executes: each parent's ``__init__.py``, then the module; [] if not ours."""
        if module not in self._files:
            parents = [module.replace(".", "/")]
            while "/" in parents[-1]:
                parents.append(parents[-1].rpartition("/")[0])
            candidates = [f"{parents[0]}.py", *(f"{parent}/__init__.py" for parent in parents)]
            paths = [f"{folder}/{candidate}" for folder in FOLDERS for candidate in candidates]
            self._files[module] = [path for path in paths if path in self._modules]
        return self._files[module]

    def _read(self, path: str) -> tuple[str, list[str]]:
        """Digest and imports of one file."""
        if path not in self._fresh:
            content = (self.root / path).read_bytes()
            content_digest = hashlib.sha256(content).hexdigest()
            self._fresh[path] = tuple(self._cache.value(path, [FORMAT, content_digest], lambda: _parsed(content, path)))
        return self._fresh[path]


def _parsed(content: bytes, path: str) -> tuple[str, list[str]]:
    """Digest and imports of a file. path: its name in messages."""
    tree = ast.parse(content, path)
    return hashlib.sha256(_canonical(tree).encode()).hexdigest(), _imports(tree, path)


@functools.cache
def _pins(text: str) -> str:
    dependencies = (yaml.safe_load(text) or {}).get("dependencies") or []
    conda = sorted("".join(item.split()) for item in dependencies if isinstance(item, str))
    pip = sorted("".join(name.split()) for item in dependencies if isinstance(item, dict) for name in item["pip"])
    return hashlib.sha256(json.dumps([conda, pip]).encode()).hexdigest()[:16]


def pins(environment: Path) -> str:
    """Digest of the versions that a conda environment file pins, independent of comments, order and layout.

    As a rule's param it replaces the trigger `software-env`, which also fires for a comment or when conda is switched on.
    """
    return _pins(Path(environment).read_text(encoding="utf-8"))
