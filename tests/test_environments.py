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
    return [
        f"rule {rule}: {problem}"
        for rule, script, conda in files(root)
        if script is not None
        for problem in (lacking(root, script, conda, fingerprints) if conda else [f"{script} without a conda environment"])
    ]


@pytest.mark.long  # it reads all modules of the library for each rule
def test_every_rule_has_what_its_script_imports():
    assert missing_packages(REPOSITORY) == []


@pytest.mark.long
def test_what_scripts_import_by_name_is_there_too(config):
    """Kinds of measures, modules of items, readers of corpora: see the scripts measure, table, figure and corpus."""
    modules = {f"measures/{name}": "encoders" if kind.source == "encoder" else "measures" for name, kind in KINDS.items()}
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
    locked = lock(REPOSITORY / "requirements.lock")
    pins = {path.name: environment(path) for path in (REPOSITORY / "envs").glob("*.yaml")}
    versions = [(file, name, version) for file, packages in pins.items() for name, version in packages.items()]
    versions = [(file, name, version) for file, name, version in versions if name not in ("python", "pip")]
    assert len(versions) > 20
    assert [(file, name, version) for file, name, version in versions if version is None or version != locked.get(name)] == []


def test_the_lock_and_the_project_file_ask_for_the_same_packages():
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in asked}  # type: ignore[index]
    locked = lock(REPOSITORY / "requirements.lock")
    assert names - locked.keys() == set()
    assert [name for name, version in locked.items() if version is None] == []
    assert "file:" not in (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")


def test_a_package_that_an_environment_lacks_is_reported():
    fingerprints = Fingerprints(REPOSITORY)
    (problem,) = lacking(REPOSITORY, "workflow/scripts/figure.py", "envs/corpora.yaml", fingerprints)[:1]
    assert problem.startswith("envs/corpora.yaml lacks ")


def test_parquet_is_opened_in_one_place():
    """Elsewhere nothing would verify it."""
    library = REPOSITORY / "workflow"
    opens = re.compile(r"pyarrow\.parquet|\bpq\.|read_parquet|to_parquet|pyarrow\.dataset")
    found = [str(path.relative_to(library)) for path in library.rglob("*.py") if opens.search(path.read_text("utf-8"))]
    assert found == ["crosslens/jobs/parquet.py"]
