"""Artefacts of another folder of results, taken from there where this study would make the same.

The seal of an artefact says how it was made (storage/metadata.py): the params and inputs of its job, and the identity of each
input. An artefact is taken if a job of this study would have the same params and inputs, and if each input has that identity: in
this study's folder or, where it is not there, in the other one, judged in the same way. What is taken is linked, or copied from
another file system, with its seal and record, so that it stays what it is whatever becomes of the other folder.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosslens.runs.errors import DataError
from crosslens.storage.files import written
from crosslens.storage.metadata import SealedMetadata
from crosslens.storage.seals import SUMS, Seal, artefacts, readable_seal, verified

KINDS = ("sources", "corpora", "tokenizers", "encoders", "tokens", "draws")
"""Folders of artefacts that are taken, in the order in which they are made: all that precedes the trainings."""
TIMESTAMP = ".snakemake_timestamp"  # hidden file by which Snakemake knows the time of a folder
BESIDE = ("sha256", "origin", "unread")  # endings of hidden files beside a file: its seal, and where an official one is from


@dataclass(frozen=True)
class Plan:
    """A job as Snakemake would record it: its params and its inputs."""

    params: frozenset[str]
    inputs: frozenset[str]


@dataclass
class Reuse:
    """Artefacts of another folder of results.

    source: that folder. metadata: of this study's folder. planned: the job that would make an artefact here, by its place
    below the results; None if there is none, or if it would read another official file than the one in `source`.
    """

    source: str
    metadata: SealedMetadata
    planned: Callable[[str], Plan | None]
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
        kinds = [kind for kind in KINDS if self.files[kind]]
        names = " and ".join(filter(None, (", ".join(kinds[:-1]), *kinds[-1:]))) or "corpora and tokens"
        damage = f"; {self.damaged} of the same settings are damaged there, and made anew here" * bool(self.damaged)
        return f"{self.metadata.results}: {self.files.total()} files of {names} are taken from {self.source}{damage}"

    def fits(self, place: str) -> bool:
        """Whether this study would make the same as lies, undamaged, at a place of the other folder."""
        if place not in self._judged:
            self._judged[place] = self._judge(place)
        return self._judged[place]

    def _judge(self, place: str) -> bool:
        seal = readable_seal(self._there(place))
        plan = self.planned(place) if seal and seal.notes.get("artefact") == place else None
        if seal is None or plan is None or not self.metadata.fits(seal, plan.params, plan.inputs):
            return False
        identities = self.metadata.inputs(seal)
        if not all(self._is_read(name, identities.get(name)) for name in self._below(plan.inputs)):
            return False
        if not place.startswith("sources/"):  # official files, which may be large or gone, are verified when they are read
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

    def _below(self, inputs: Iterable[str]) -> list[str]:
        """Places of those inputs that lie below this study's results."""
        results = f"{self.metadata.results}/"
        return sorted(path.removeprefix(results) for path in inputs if path.startswith(results))

    def _is_here(self, place: str) -> bool:
        return os.path.lexists(self._here(place))

    def _here(self, place: str) -> Path:
        return Path(self.metadata.results, place)

    def _there(self, place: str) -> Path:
        return Path(self.source, place)


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
