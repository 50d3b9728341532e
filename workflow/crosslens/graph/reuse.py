"""Artefacts of another folder of results, taken from there where this study would make the same.

The seal of an artefact says how it was made (storage/metadata.py): the params and inputs of its job, and the identity of each
input. An artefact is taken if the step that would make it here has the same params and inputs, and if each input has that
identity: in this study's folder or, where it is not there, in the other one, judged in the same way. What is taken is linked, or
copied from another file system, with its seal and record, so that it stays what it is whatever becomes of the other folder.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosslens.graph.plan import Graph, Step
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import listed
from crosslens.storage.files import written
from crosslens.storage.metadata import SealedMetadata
from crosslens.storage.seals import SUMS, Seal, artefacts, readable_seal, verified

KINDS = ("sources", "corpora", "tokenizers", "encoders", "tokens", "draws")
"""Folders of artefacts that are taken, in the order in which they are made: all that precedes the trainings."""
TIMESTAMP = ".snakemake_timestamp"  # hidden file by which Snakemake knows the time of a folder
BESIDE = ("sha256", "origin", "unread")  # endings of hidden files beside a file: its seal, and where an official one is from


@dataclass
class Reuse:
    """Artefacts of another folder of results, `source`.

    steps: of the artefacts that this study may take, by their places below the results. metadata: of this study's folder.
    """

    source: str
    graph: Graph
    steps: dict[str, Callable[[], Step]]
    metadata: SealedMetadata
    files: Counter[str] = field(default_factory=Counter)  # number of files that were taken, by kind
    damaged: int = 0  # number of artefacts that would fit, but are not as they were written
    _judged: dict[str, bool] = field(default_factory=dict)

    def take(self) -> str:
        """Take every artefact of KINDS that fits and is missing here; return a line on them, "" if there is nothing to say."""
        for kind in KINDS:
            for path, seal in artefacts(self.source, [kind]):
                place = path.removeprefix(f"{self.source}/")
                if seal and not self._is_here(place) and self.fits(place):
                    self._take(place, seal)
        if not self.files and not self.damaged:
            return ""
        kinds = listed([kind for kind in KINDS if self.files[kind]] or ["corpora", "tokens"])
        damage = f"; {self.damaged} of the same settings are damaged there, and made anew here" * bool(self.damaged)
        return f"{self.graph.results}: {self.files.total()} files of {kinds} are taken from {self.source}{damage}"

    def fits(self, place: str) -> bool:
        """Whether this study would make the same as lies, undamaged, at a place of the other folder."""
        if place not in self._judged:
            self._judged[place] = self._would_be_made(place) and self._is_whole(place)
        return self._judged[place]

    def _would_be_made(self, place: str) -> bool:
        """Whether a step here has the params and inputs that the seal of an artefact there tells of."""
        seal, step = readable_seal(self._there(place)), self._step(place)
        if step is None or seal is None or seal.notes.get("artefact") != place:
            return False
        inputs = {file if file.startswith(self._prefix) else str(self.graph.root / file) for file in step.files()}
        if not self.metadata.fits(seal, {*map(repr, self.graph.params(step).values())}, inputs):
            return False
        identities = self.metadata.inputs(seal)
        places = sorted(file.removeprefix(self._prefix) for file in inputs if file.startswith(self._prefix))
        return all(self._is_read(name, identities.get(name)) for name in places)

    def _step(self, place: str) -> Step | None:
        """Step that would make an artefact here; None where none would, or from another official file than the one there."""
        try:
            if place not in self.steps or (_is_official(place) and not self._is_fetched_alike(place)):
                return None
            return self.steps[place]()
        except DataError:  # settings that do not go together, or a copy in a mirror that is not what was published
            return None

    def _is_fetched_alike(self, place: str) -> bool:
        """Whether an official file there is the one that would be fetched here: its digest, or that of a sample's index, is
        published or pinned, and mirrors and pins have no other.
        """
        has_digest = self.graph.has_digest(f"{self._prefix}{place}") or "-sample/" in place
        return has_digest and not self.graph.reason_to_fetch(f"{self.source}/{place}", self.source)

    def _is_whole(self, place: str) -> bool:
        """Whether an artefact there is as it was written. Official files are verified when they are read, as they may be gone."""
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
        """Whether this study reads, at a place, the input of that identity."""
        seal = readable_seal(self._here(place) if self._is_here(place) else self._there(place))
        return seal is not None and seal.identity == identity and (self._is_here(place) or self.fits(place))

    def _take(self, place: str, seal: Seal) -> None:
        """Take an artefact that fits; nothing where that is not possible, so that it is made here."""
        kind = place.partition("/")[0]
        with suppress(OSError):  # a read-only folder, a full disk, or another run that takes the same
            if self._there(place).is_dir():
                _take_folder(self._there(place), self._here(place), seal)
            else:
                _take_file(self._there(place), self._here(place), copies=kind != "sources")
            self.files[kind] += len(seal.digests)

    @property
    def _prefix(self) -> str:
        return f"{self.graph.results}/"

    def _is_here(self, place: str) -> bool:
        return os.path.lexists(self._here(place))

    def _here(self, place: str) -> Path:
        return Path(self.graph.results, place)

    def _there(self, place: str) -> Path:
        return Path(self.source, place)


def _is_official(place: str) -> bool:
    return place.startswith("sources/") and not place.startswith("sources/phrasebook/")


def _take_folder(source: Path, target: Path, seal: Seal) -> None:
    """Make a folder of the sealed files of another, whole or not at all."""
    with written(target, lambda _: _expect_none(target)) as temporary:
        for file in seal.digests:
            copy = temporary / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            _link(file, copy, copies=True)
        for name in (SUMS, TIMESTAMP):  # not linked: a seal may get another record, and Snakemake sets the time of its file
            if (source / name).is_file():
                shutil.copy2(source / name, temporary / name)


def _take_file(source: Path, target: Path, *, copies: bool) -> None:
    """Link a file, with copies of what lies beside it. copies: whether to copy it where it cannot be linked.

    Official files are not copied, since they may be large, and nothing reads them as long as what was made of them is there.
    """
    with written(target, lambda _: _expect_none(target)) as temporary:
        _link(source, temporary, copies=copies)
        for name in (f".{source.name}.{ending}" for ending in BESIDE):
            if source.with_name(name).is_file():
                with written(target.with_name(name)) as copy:
                    shutil.copy2(source.with_name(name), copy)


def _expect_none(target: Path) -> None:
    """Raise FileExistsError where another run has made the artefact meanwhile. Modes of linked files stay, unlike in `share`."""
    if os.path.lexists(target):
        raise FileExistsError(target)


def _link(source: Path, target: Path, *, copies: bool) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, one without links, or another user's file
        if not copies:
            raise
        shutil.copy2(source, target)
