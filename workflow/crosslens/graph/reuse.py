"""Reuse of artefacts from another results folder if this study would make the same ones.

The checksum file of an artefact records how it was made (jobs/snakemake_metadata.py): the params and inputs of its job, and the
identity of each input. An artefact is taken if the step that would make it here has the same params and inputs, and if each
input has the recorded identity. Inputs are looked up in this study's folder. An input that is missing there is looked up in the
other folder, where it must pass the same checks.

Artefacts are hard-linked, or copied from another file system, together with their checksum files and records. They therefore
stay the same whatever happens to the other folder.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosslens.graph.plan import Graph, Step
from crosslens.jobs.checksums import Checksums, artefacts, readable_checksums, verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import written
from crosslens.jobs.quantities import listed
from crosslens.jobs.snakemake_metadata import ChecksumMetadata

STAGES = ("sources", "corpora", "tokenizers", "encoders", "tokens", "samples")
"""Folders of the artefacts that may be taken, in the order in which they are made: all stages before the training runs."""
BESIDE = ("sha256", "unread")  # endings of the hidden files next to a file: checksum file, and digest before its first use


@dataclass
class Reuse:
    """Artefacts that this study takes from another results folder.

    source: path of the other folder. steps: functions that return the step of each artefact that may be taken, by its path
    below the results folder. metadata: Snakemake's metadata of this study's results.
    """

    source: str
    graph: Graph
    steps: dict[str, Callable[[], Step]]
    metadata: ChecksumMetadata
    files: Counter[str] = field(default_factory=Counter)  # number of files taken, by stage
    damaged: int = 0  # number of artefacts that would fit but are damaged
    _judged: dict[str, bool] = field(default_factory=dict)

    def take(self) -> str:
        """Take every artefact of STAGES that fits and is missing here. Return a message, "" if there is nothing to report."""
        for kind in STAGES:
            for path, checksums in artefacts(self.source, [kind]):
                place = path.removeprefix(f"{self.source}/")
                if not self._is_here(place) and self.fits(place):
                    self._take(place, checksums)
        if not self.files and not self.damaged:
            return ""
        kinds = listed([kind for kind in STAGES if self.files[kind]] or ["corpora", "tokens"])
        damage = f"; {self.damaged} of the same settings are damaged there and rebuilt here" * bool(self.damaged)
        return f"{self.graph.results}: {self.files.total()} files of {kinds} are taken from {self.source}{damage}"

    def fits(self, place: str) -> bool:
        """Whether the artefact at `place` in the other folder is undamaged, and is what this study would make."""
        if place not in self._judged:
            self._judged[place] = self._would_be_made(place) and self._is_whole(place)
        return self._judged[place]

    def _would_be_made(self, place: str) -> bool:
        """Whether a step of this study has the params and inputs recorded in the checksum file of the other artefact."""
        checksums, step = readable_checksums(self._there(place)), self._step(place)
        if step is None or checksums is None or checksums.notes.get("artefact") != place:
            return False
        inputs = {file if file.startswith(self._prefix) else str(self.graph.root / file) for file in step.files()}
        if not self.metadata.fits(checksums, {*map(repr, self.graph.params(step).values())}, inputs):
            return False
        identities = self.metadata.inputs(checksums)
        places = sorted(file.removeprefix(self._prefix) for file in inputs if file.startswith(self._prefix))
        return all(self._is_read(name, identities.get(name)) for name in places)

    def _step(self, place: str) -> Step | None:
        """Step that would make an artefact here; None if there is none, or if the official file there may not be the same."""
        try:
            is_official = place.startswith("sources/") and not place.startswith("sources/synthetic/")
            if place not in self.steps or (is_official and not self._is_fetched_alike(place)):
                return None
            return self.steps[place]()
        except DataError:  # incompatible settings, or a mirror's copy that differs from what was pinned
            return None

    def _is_fetched_alike(self, place: str) -> bool:
        """Whether an official file has a published digest, or is pinned to the digest that it has there.

        Samples of dumps pass, since their index is an input and is judged by itself.
        """
        checksums = readable_checksums(self._there(place))
        digests = checksums.digests.values() if checksums else ()
        return "-sample/" in place or self.graph.has_digest(f"{self._prefix}{place}", digests)

    def _is_whole(self, place: str) -> bool:
        """Whether an artefact there is undamaged. Official files pass: they may be gone, and are verified when read."""
        if place.startswith("sources/"):
            return True
        if not self._there(place).exists():
            return False
        try:
            verified(self._there(place))
        except (DataError, OSError):
            self.damaged += 1
            return False
        return True

    def _is_read(self, place: str, identity: object) -> bool:
        """Whether the input that this study would read at `place` has the given identity."""
        checksums = readable_checksums(self._here(place) if self._is_here(place) else self._there(place))
        return checksums is not None and checksums.identity == identity and (self._is_here(place) or self.fits(place))

    def _take(self, place: str, checksums: Checksums) -> None:
        """Link or copy a fitting artefact into this study's folder. If that fails, do nothing: it is then made here."""
        source, target = self._there(place), self._here(place)
        # Official files are not copied: they may be large, and nothing reads them while what was made from them exists.
        copy = _link if place.startswith("sources/") else _link_or_copy
        with suppress(OSError):  # a read-only folder, a full disk, or another run that takes the same
            with written(target, lambda _: _expect_none(target)) as temporary:
                if source.is_dir():
                    shutil.copytree(source, temporary, copy_function=copy, dirs_exist_ok=True)
                else:
                    copy(source, temporary)
                    for name in (f".{source.name}.{ending}" for ending in BESIDE):
                        if source.with_name(name).is_file():
                            with written(target.with_name(name)) as beside:
                                shutil.copy2(source.with_name(name), beside)
            self.files[place.partition("/")[0]] += len(checksums.digests)

    @property
    def _prefix(self) -> str:
        return f"{self.graph.results}/"

    def _is_here(self, place: str) -> bool:
        return os.path.lexists(self._here(place))

    def _here(self, place: str) -> Path:
        return Path(self.graph.results, place)

    def _there(self, place: str) -> Path:
        return Path(self.source, place)


def _expect_none(target: Path) -> None:
    """Raise FileExistsError if another run has made the artefact meanwhile. Unlike `share`, keep the modes of linked files."""
    if os.path.lexists(target):
        raise FileExistsError(target)


def _link(source: str | Path, target: str | Path) -> None:
    """Hard-link a file. Copy hidden ones: a checksum file may get a new record, and Snakemake sets times of its own files."""
    if Path(source).name.startswith("."):
        shutil.copy2(source, target)
    else:
        os.link(source, target)


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    try:
        _link(source, target)
    except OSError:  # another file system, one without links, or another user's file
        shutil.copy2(source, target)
