"""Licences of the locked packages, for docs/licences.md."""

import csv
import re
from pathlib import Path

from crosslens.jobs.errors import DataError

PACKAGES = "resources/licences.csv"
LOCKS = {
    "requirements.lock": "Installed by `make install`",
    "requirements-cuda.lock": "Installed with torch for CUDA besides",
    "docs/site/requirements.lock": "Installed by `make site`, into a folder of its own",
    "tests/crate/requirements.lock": "Installed by `make test-crate`, into a folder of its own",
}
"""Lock -> heading of its packages."""


def package_licences(root: Path) -> dict[str, str]:
    """Licence of each package by its name."""
    with (root / PACKAGES).open(newline="", encoding="utf-8") as stream:
        return {row["package"]: row["licence"] for row in csv.DictReader(stream)}


def of_lock(root: Path, lock: str) -> dict[str, str]:
    """Licence of each package of a lock by its name. Raises DataError where one lacks a licence."""
    names = dict.fromkeys(re.findall(r"^([\w.-]+)==", (root / lock).read_text(encoding="utf-8"), re.MULTILINE))
    licences = package_licences(root)
    if missing := [name for name in names if not licences.get(name)]:
        raise DataError(f"{PACKAGES}: expected a line for each package of {lock}, found none for {', '.join(missing)}; add them")
    return {name: licences[name] for name in names}
