"""Switching conda on, or off again, reruns nothing."""

import os
import subprocess
import sys
from pathlib import Path

import forked
import pytest

REPOSITORY = Path(__file__).parents[1]
SNAKEFILE = f"""
import sys
from pathlib import Path

sys.path.insert(0, {str(REPOSITORY / "workflow")!r})
from crosslens.jobs.fingerprint import Fingerprints, pins

ROOT = Path(workflow.basedir)


rule table:
    output:
        "table.txt",
    conda:
        "envs/measures.yaml"
    params:
        code=Fingerprints(ROOT)("workflow/scripts/table.py"),
        environment=pins(ROOT / "envs/measures.yaml"),
    script:
        "workflow/scripts/table.py"
"""
SCRIPT = """\"\"\"Write which Python ran.\"\"\"
import sys
from pathlib import Path

Path(snakemake.output[0]).write_text(sys.executable)
"""
ENVIRONMENT = "channels: [conda-forge]\ndependencies:\n  - python=3.11\n"  # nothing to install, so no network is needed


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workflow of one rule, and a stand-in for conda beside it."""
    root = tmp_path_factory.mktemp("project")
    profile = (REPOSITORY / "profiles/default/config.yaml").read_text()
    for name, text in {
        "Snakefile": SNAKEFILE,
        "workflow/scripts/table.py": SCRIPT,
        "envs/measures.yaml": ENVIRONMENT,
        "profiles/default/config.yaml": profile,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run([sys.executable, REPOSITORY / "tests/condashim", "install", root / "conda"], check=True)
    return root


def snakemake(root: Path, *options: str) -> str:
    """Run Snakemake and return what it said."""
    path = f"{root / 'conda' / 'bin'}:{os.environ['PATH']}"
    status, said = forked.snakemake(options, root, os.environ | {"PATH": path})
    assert status == 0, said
    return said


def python_of(root: Path) -> str:
    return (root / "table.txt").read_text()


@pytest.mark.long
def test_switching_conda_on_and_off_reruns_nothing_but_a_pin_does(project):
    with_conda = ("--software-deployment-method", "conda")
    snakemake(project, "-c1")
    assert not Path(python_of(project)).is_relative_to(project)

    assert "Nothing to be done" in snakemake(project, "-c1", *with_conda)

    # Comments, in the script and in the environment, and new file times.
    (project / "workflow/scripts/table.py").write_text(SCRIPT + "# a comment\n")
    (project / "envs/measures.yaml").write_text("# a comment\n" + ENVIRONMENT)
    for options in ((), with_conda):
        assert "Nothing to be done" in snakemake(project, "-c1", *options)

    # A pin, and built with conda: the environment's Python runs; switching off reruns nothing.
    (project / "envs/measures.yaml").write_text(ENVIRONMENT + "  - pip\n")
    assert "Params have changed" in snakemake(project, "-n", "--quiet", "host")
    snakemake(project, "-c1", *with_conda)
    assert Path(python_of(project)).is_relative_to(project / ".snakemake/conda")
    assert "Nothing to be done" in snakemake(project, "-c1")
