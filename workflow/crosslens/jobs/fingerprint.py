"""Fingerprints of code and of environments: Snakemake reruns a rule after a change of code only if one of them changes.

Each rule has the fingerprint of its script as its param `code` (rules/common.smk): a digest of the definitions that the script
reaches (jobs/reachable.py). This misses data files, and modules imported by a computed name. Rules therefore add such modules to
`code`, and the content of such files to their params. A line of workflow/same.tsv makes a digest stand for an earlier one. This
command adds such lines, to declare that the code computes what it computed at a revision:

    PYTHONPATH=workflow python -m crosslens.jobs.fingerprint REVISION "why the results are the same"
"""

import atexit
import csv
import functools
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from crosslens.jobs.definitions import Module, read_module
from crosslens.jobs.digest_cache import Cache
from crosslens.jobs.reachable import Reach

FORMAT = 7  # increase when the hashed text, or the content of the cache, changes
LIBRARY, SCRIPTS = "workflow", "workflow/scripts"  # folders on sys.path while a script runs, relative to the repository
CACHE = ".snakemake/fingerprints.json"
SAME = "workflow/same.tsv"  # columns: digest, digest for which it stands, reason
UNITS = ("scripts/*.py", "crosslens/measures/*.py", "crosslens/corpora/*.py", "crosslens/papers/*/*.py")  # that rules name
SILENT = {  # ignored modules, which report, keep records, choose a GPU, or decide whether a file is read or a job may run
    "crosslens.papers",  # the list of papers
    "crosslens.jobs.call",
    "crosslens.jobs.errors",
    "crosslens.jobs.gpus",
    "crosslens.jobs.logs",
    "crosslens.jobs.machine",
    "crosslens.jobs.progress",
    "crosslens.jobs.quantities",
    "crosslens.jobs.signals",
    "crosslens.corpora.sources.pins",
    "crosslens.jobs.bounded",
    "crosslens.jobs.digest_cache",
    "crosslens.jobs.checksums",
    "crosslens.training.lock",
}


class Fingerprints:
    """Fingerprints of the scripts and modules of a repository.

    root: folder of the repository. Digests are cached in `.snakemake` until the content of any file changes, and the definitions
    of each file until its own content changes. Modification times do not count, since archives and container images give all
    files the same.
    """

    def __init__(self, root: Path, *, cached: bool = True) -> None:
        """Read the cache of earlier calls. cached: whether to read and write a cache."""
        self.root = Path(root)
        files = [file.relative_to(root).as_posix() for file in (self.root / LIBRARY).rglob("*.py")]
        self._files = {module_name(file): file for file in files}
        self._modules: dict[str, Module] = {}
        self._same = read_same(self.root / SAME)
        self._cache = Cache(self.root / CACHE if cached else None)
        self.save = self._cache.save
        atexit.register(self.save)  # once, since the cache is large
        self._reach = Reach(self._files, self._module, SILENT)
        self.digest = functools.cache(self._digest)

    def __call__(self, file: str) -> str:
        """Fingerprint of a script or module, sixteen hex digits. file: path relative to the repository."""
        return stands_for(self.digest(Path(file).as_posix()), self._same)

    def reached(self, file: str) -> list[str]:
        """The script and the project's files that it imports, directly or not."""
        return sorted(self._files[name] for name in self._reach.imported(module_name(file)))

    def foreign(self, file: str) -> dict[str, str]:
        """Top-level names of third-party packages that the script reaches, each with a file that imports it."""
        return {
            dotted.partition(".")[0]: path
            for path in self.reached(file)
            for dotted in self._module(module_name(path)).imports
            if not self._reach.split(dotted)[0] and dotted.partition(".")[0] not in sys.stdlib_module_names
        }

    def _digest(self, file: str) -> str:
        """Digest of what a file reaches, before `same.tsv` is applied."""
        stamp: list[int | str] = [FORMAT, self._all_contents]
        digest: str = self._cache.value(f"digest of {file}", stamp, lambda: self._reach.digest(module_name(file)))
        return digest

    @functools.cached_property
    def _contents(self) -> dict[str, bytes]:
        return {file: (self.root / file).read_bytes() for file in sorted(self._files.values())}

    @functools.cached_property
    def _all_contents(self) -> str:
        """Digest of the paths and contents of all code files."""
        parts = (part for file, content in self._contents.items() for part in (file.encode(), content))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            file = self._files.get(name, f"{SCRIPTS}/{name}.py")
            content = self._contents.get(file) or (self.root / file).read_bytes()
            stamp: list[int | str] = [FORMAT, hashlib.sha256(content).hexdigest()]
            self._modules[name] = Module(*self._cache.value(file, stamp, lambda: read_module(content, file, name)))
        return self._modules[name]


def module_name(file: str) -> str:
    """Dotted name of a module, or name of a script. file: path relative to the repository."""
    folder = SCRIPTS if Path(file).is_relative_to(SCRIPTS) else LIBRARY
    return ".".join(Path(file).relative_to(folder).with_suffix("").parts).removesuffix(".__init__")


def read_same(table: Path) -> dict[str, str]:
    """Digests that are declared equal: digest -> digest for which it stands."""
    if not table.exists():
        return {}
    with table.open(newline="", encoding="utf-8") as file:
        return {digest: earlier for digest, earlier, _ in csv.reader(file, delimiter="\t")}


def stands_for(digest: str, same: dict[str, str]) -> str:
    """The earliest digest that a digest is declared to equal, or itself."""
    for _ in same:  # no longer than the table, if its lines go in a circle
        digest = same.get(digest, digest)
    return digest


def declare(root: Path, revision: str, why: str) -> int:
    """Declare that the code computes the same as at a revision of Git, and return the number of lines added to the table.

    root: folder of the repository. why: reason why the results are the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision, LIBRARY], cwd=root, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        before, after = Fingerprints(Path(folder), cached=False), Fingerprints(root, cached=False)
        files = [file.relative_to(root).as_posix() for unit in UNITS for file in (root / LIBRARY).glob(unit)]
        units = [file for file in files if (Path(folder) / file).exists() and before(file) != after(file)]
        lines = sorted({(after.digest(file), before(file), why) for file in units})
    with (root / SAME).open("a", newline="", encoding="utf-8") as table:
        csv.writer(table, delimiter="\t", lineterminator="\n").writerows(lines)
    return len(lines)


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


if __name__ == "__main__":
    print(f"{declare(Path.cwd(), *sys.argv[1:])} lines added to {SAME}")
