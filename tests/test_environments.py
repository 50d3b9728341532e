"""Each rule's conda environment holds what its script imports, in the versions of requirements.lock."""

import os
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from unittest import mock

import pytest
import yaml
from crosslens.jobs.fingerprint import Fingerprints
from crosslens.measures.kinds import KINDS
from crosslens.papers import papers
from crosslens.reports.studies import Studies
from snakemake.api import SnakemakeApi
from snakemake.rules import Rule
from snakemake.settings.types import OutputSettings, Quietness, ResourceSettings
from study import edit

REPOSITORY = Path(__file__).parents[1]
CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}  # where conda-forge and the Python index differ
PIN = re.compile(r"([\w.-]+)\s*(?:==?\s*([\w.+!]+))?\s*(?:;.*)?")


def normal(name: str) -> str:
    """Name of a package on the Python index, as pip compares names."""
    return re.sub(r"[-_.]+", "-", CONDA_NAMES.get(name, name)).lower()


def rules(root: Path) -> list[Rule]:
    """The rules as Snakemake reads them, whichever files they are in."""
    with (
        mock.patch.dict(os.environ),  # which a Snakefile may change, as the path
        mock.patch.object(sys, "path", sys.path.copy()),
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api,
    ):
        return list(api.workflow(ResourceSettings(), snakefile=root / "Snakefile", workdir=root)._workflow.rules)


def file_of(rule: Rule, name: str | None, root: Path) -> str | None:
    """A file that a rule names, relative to the repository."""
    return Path(f"{rule.basedir}/{name}").resolve().relative_to(root.resolve()).as_posix() if name else None


def files(root: Path) -> list[tuple[str, str | None, str | None]]:
    """Each rule with its script and environment, relative to the repository."""
    return [(rule.name, file_of(rule, rule.script, root), file_of(rule, rule.conda_env, root)) for rule in rules(root)]


def pinned(lines: list[str], place: str) -> dict[str, str | None]:
    """Versions by normal name."""
    found = {}
    for line in lines:
        match = PIN.fullmatch(line.strip())
        assert match, f"{place}: {line!r} is not `name=version`"
        found[normal(match[1])] = match[2]
    return found


def environment(path: Path) -> dict[str, str | None]:
    """What an environment file pins."""
    lines: list[str] = []
    for item in yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]:
        lines += item["pip"] if isinstance(item, dict) else [item]
    return pinned(lines, path.name)


def lock(path: Path) -> dict[str, str | None]:
    """What the lock pins: lines that begin with a name; hashes are indented."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return pinned([line.removesuffix("\\") for line in lines if line[:1].isalnum()], path.name)


def lacking(root: Path, script: str, conda: str, fingerprints: Fingerprints) -> list[str]:
    """What a file imports, directly or not, and an environment lacks."""
    distributions, there = packages_distributions(), environment(root / conda).keys()
    return [
        f"{conda} lacks {module}, imported by {place}"
        for module, place in sorted(fingerprints.foreign(script).items())
        if not {normal(name) for name in distributions.get(module, [module])} & there
    ]


def missing_packages(root: Path) -> list[str]:
    """Imports of rules' scripts that their environments lack."""
    fingerprints = Fingerprints(root, cached=False)
    problems = []
    for rule, script, conda in files(root):
        if script is None:
            continue
        if conda is None:
            problems.append(f"rule {rule}: {script} without a conda environment")
            continue
        problems += [f"rule {rule}: {problem}" for problem in lacking(root, script, conda, fingerprints)]
    return problems


def differing_pins(root: Path) -> list[str]:
    """Packages of environments that are not pinned, or not as in the lock."""
    locked = lock(root / "requirements.lock")
    return [
        f"{path.name}: {name} is {version}, the lock says {locked.get(name)}"
        for path in sorted((root / "envs").glob("*.yaml"))
        for name, version in environment(path).items()
        if name not in ("python", "pip") and (version is None or version != locked.get(name))
    ]


@pytest.mark.long  # it reads all modules of the library for each rule
def test_every_rule_has_what_its_script_imports():
    assert missing_packages(REPOSITORY) == []


@pytest.mark.long
def test_what_scripts_import_by_name_is_there_too(config):
    """Kinds of measures, modules of items, readers of corpora: see the scripts measure, table, figure and corpus."""
    modules = {f"measures/{kind.module}": "encoders" if kind.source == "encoder" else "measures" for kind in KINDS.values()}
    for paper in Studies(config, papers()).papers:
        modules |= {
            f"papers/{paper.key}/{item.module}": {"table": "measures", "figure": "figures"}[item.form]
            for item in paper.items(config).values()
        }
    modules |= {f"corpora/{corpus.READER}": "corpora" for corpus in config.corpora.values() if hasattr(corpus, "READER")}
    assert len(modules) > 20
    fingerprints = Fingerprints(REPOSITORY, cached=False)
    assert [
        problem
        for module, name in modules.items()
        for problem in lacking(REPOSITORY, f"workflow/crosslens/{module}.py", f"envs/{name}.yaml", fingerprints)
    ] == []


def test_environments_pin_what_the_lock_pins():
    assert differing_pins(REPOSITORY) == []


def test_rules_are_found_and_their_files_are_there():
    named = [(rule, file) for rule, *paths in files(REPOSITORY) for file in paths if file]
    assert len(named) > 10
    assert [(rule, file) for rule, file in named if not (REPOSITORY / file).is_file()] == []


def test_the_lock_and_the_project_file_ask_for_the_same_packages():
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in asked}  # type: ignore[index]
    locked = lock(REPOSITORY / "requirements.lock")
    assert names - locked.keys() == set()
    assert [name for name, version in locked.items() if version is None] == []
    assert "file:" not in (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Three rules, in a paper's file, and one environment."""
    files = {
        "Snakefile": 'include: "rules/papers/p.smk"\n\n\nrule all:\n    input:\n        "table.csv",\n',
        "rules/papers/p.smk": (
            'rule table:\n    output:\n        "table.csv",\n    conda:\n        "../../envs/measures.yaml"\n'
            '    script:\n        "../../workflow/scripts/table.py"\n\n\n'
            'use rule table as other_table with:\n    output:\n        "other.csv",\n\n\n'
            'rule note:\n    output:\n        "note.txt",\n    shell:\n        "touch {output}"\n'
        ),
        "workflow/scripts/table.py": "import json\nfrom crosslens import probes\n",
        "workflow/crosslens/__init__.py": "",
        "workflow/crosslens/probes.py": "import numpy as np\nfrom sklearn.linear_model import LogisticRegression\n",
        "envs/measures.yaml": "dependencies:\n  - python=3.11\n  - numpy=2.4.6\n  - scikit-learn=1.9.1\n",
        "requirements.lock": "# all\nnumpy==2.4.6\nscikit-learn==1.9.1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_complete_project_has_nothing_to_report(project):
    assert missing_packages(project) == differing_pins(project) == []
    assert files(project) == [
        ("table", "workflow/scripts/table.py", "envs/measures.yaml"),
        ("other_table", "workflow/scripts/table.py", "envs/measures.yaml"),
        ("note", None, None),
        ("all", None, None),
    ]


def test_a_missing_package_and_a_missing_environment_are_reported(project):
    (project / "envs/measures.yaml").write_text("dependencies:\n  - numpy=2.4.6\n")
    assert missing_packages(project) == [
        f"rule {name}: envs/measures.yaml lacks sklearn, imported by workflow/crosslens/probes.py"
        for name in ("table", "other_table")
    ]
    edit(project / "rules/papers/p.smk", ('    conda:\n        "../../envs/measures.yaml"\n', ""))
    assert missing_packages(project) == [
        f"rule {name}: workflow/scripts/table.py without a conda environment" for name in ("table", "other_table")
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("numpy=2.4.5", "measures.yaml: numpy is 2.4.5, the lock says 2.4.6"),
        ("numpy", "measures.yaml: numpy is None, the lock says 2.4.6"),
        ("tomli=2.0", "measures.yaml: tomli is 2.0, the lock says None"),
    ],
)
def test_a_differing_pin_is_reported(project, line, problem):
    (project / "envs/measures.yaml").write_text(f"dependencies:\n  - python=3.11\n  - {line}\n")
    assert differing_pins(project) == [problem]


def test_parquet_is_opened_in_one_place():
    """Elsewhere nothing would verify it."""
    library = REPOSITORY / "workflow"
    opens = re.compile(r"pyarrow\.parquet|\bpq\.|read_parquet|to_parquet|pyarrow\.dataset")
    found = [str(path.relative_to(library)) for path in library.rglob("*.py") if opens.search(path.read_text("utf-8"))]
    assert found == ["crosslens/jobs/parquet.py"]
