"""Write the locks from pyproject.toml, with uv: `make lock`, or python envs/lock.py [PACKAGE ...].

Versions stay as they are, except those of the packages that are named; what the project asks for anew takes its newest.
"""

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "tests/crate/requirements.in"
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
PYTHONS = ("3.11", "3.12", "3.13")
MARKERS = ("sys_platform == 'linux'", "sys_platform == 'linux' and platform_machine == 'x86_64'")
CUDA = ("nvidia-", "cuda-", "triton")
HEADS = {
    "requirements.lock": """\
# Exact versions of everything that `make install` installs, with the hashes of their files: the project's dependencies, the
# tools for its development, and what these bring along. Python 3.11 to 3.13; Linux on x86-64 and aarch64, macOS 14 or later on
# Apple silicon. Written by `make lock`. Ranges are in pyproject.toml; envs/*.yaml pin the same versions for conda.
#
# On macOS:    python -m pip install --require-hashes -r requirements.lock
# On Linux:    python -m pip install --require-hashes -r requirements-cuda.lock
#
# The second file is this one and NVIDIA's libraries (gigabytes), without which the torch of the Python index cannot be imported
# on Linux. `make install` does what is needed (envs/install.sh). Another build of the same version of torch, for the CPU alone or
# for another driver, stays if it is installed into .venv first, as pytorch.org (Get started) tells.
""",
    "requirements-cuda.lock": """\
# All of requirements.lock, and what torch built for CUDA needs besides. Written by `make lock`.
-r requirements.lock
""",
    "docs/site/requirements.lock": """\
# What `make site` builds the documentation's web site with. Written by `make lock`.
""",
}


def held(file: Path, freed: set[str]) -> Iterator[str]:
    """The versions of a lock, but for the freed packages."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        if line[:1].isalnum():
            requirement = Requirement(line.removesuffix("\\"))
            if canonicalize_name(requirement.name) not in freed:
                yield str(requirement)


def resolve(constraints: list[str], *options: str) -> list[str]:
    """What uv resolves the project to, one entry a package: requirement and hashes."""
    supported = [f"sys_platform == '{system}' and platform_machine == '{machine}'" for system, machine in PLATFORMS]
    settings = f"\n[tool.uv]\nenvironments = {supported}\nconstraint-dependencies = {constraints}\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + settings)
        command = ["uv", "export", "--quiet", "--project", folder, "--no-emit-project", "--no-annotate", "--no-header", *options]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return said.replace(" \\\n    ", " ").splitlines()


def simple(marker: Marker | None) -> str:
    """The shortest of the known markers that means the same wherever the lock is used."""
    if marker is None:
        return ""
    places = [
        {"sys_platform": system, "platform_machine": machine, "python_version": python, "python_full_version": f"{python}.0"}
        for (system, machine), python in itertools.product(PLATFORMS, PYTHONS)
    ]
    wanted = [marker.evaluate(place) for place in places]
    if all(wanted):
        return ""
    return next((other for other in MARKERS if [Marker(other).evaluate(place) for place in places] == wanted), str(marker))


def entry(line: str) -> str:
    """An entry as it stands in the lock."""
    words = line.split(" --hash=")
    requirement = Requirement(words[0])
    marker = simple(requirement.marker)
    first = f"{requirement.name}{requirement.specifier}" + (f" ; {marker}" if marker else "")
    return " \\\n    ".join([first, *(f"--hash={value}" for value in words[1:])])


def main(freed: set[str]) -> None:
    """Write the locks."""
    constraints = list(itertools.chain(*(held(ROOT / name, freed) for name in HEADS)))
    entries = [entry(line) for line in resolve(constraints, "--all-extras")]
    cuda = [text for text in entries if text.startswith(CUDA)]
    site = [entry(line) for line in resolve(constraints, "--only-group", "site")]
    for name, own in zip(HEADS, ([text for text in entries if text not in cuda], cuda, site), strict=True):
        (ROOT / name).write_text(HEADS[name] + "\n" + "\n".join(own) + "\n", encoding="utf-8")
    # The validator of archives asks for an older rich than the project, so that one resolution cannot have both.
    options = ["--quiet", "--universal", "--python-version", PYTHONS[0], "--generate-hashes", "--no-annotate", "--no-header"]
    options += [f"--upgrade-package={name}" for name in freed]
    subprocess.run(["uv", "pip", "compile", *options, "-o", CRATE.with_suffix(".lock"), CRATE], check=True)


if __name__ == "__main__":
    main({canonicalize_name(name) for name in sys.argv[1:]})
