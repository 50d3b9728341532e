"""Artefacts of another folder of results, taken from there where this study would make the same.

The checksum file of an artefact says how it was made (jobs/snakemake_metadata.py): the params and inputs of its job, and the
identity of each input. An artefact is taken if the step that would make it here has the same params and inputs, and if each
input has that identity: in this study's folder or, where it is not there, in the other one, judged in the same way. What is
taken is linked, or copied from another file system, with its checksum file and record, so that it stays what it is whatever
becomes of the other folder.
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
"""Folders of artefacts that are taken, in the order in which they are made: all that precedes the training runs."""
BESIDE = ("sha256", "unread")  # endings of hidden files beside a file: its checksum file, and that nothing has read it yet


@dataclass
class Reuse:
    """Artefacts of another folder of results, `source`.

    steps: of the artefacts that this study may take, by their places below the results. metadata: of this study's folder.
    """

    source: str
    graph: Graph
    steps: dict[str, Callable[[], Step]]
    metadata: ChecksumMetadata
    files: Counter[str] = field(default_factory=Counter)  # number of files that were taken, by kind
    damaged: int = 0  # number of artefacts that would fit, but are not as they were written
    _judged: dict[str, bool] = field(default_factory=dict)

    def take(self) -> str:
        """Take every artefact of STAGES that fits and is missing here; return a line on them, "" if there is nothing to say."""
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
        """Whether this study would make the same as lies, undamaged, at a place of the other folder."""
        if place not in self._judged:
            self._judged[place] = self._would_be_made(place) and self._is_whole(place)
        return self._judged[place]

    def _would_be_made(self, place: str) -> bool:
        """Whether a step here has the params and inputs that the checksum file of an artefact there tells of."""
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
        """Step that would make an artefact here; None where none would, or from another official file than the one there."""
        try:
            is_official = place.startswith("sources/") and not place.startswith("sources/synthetic/")
            if place not in self.steps or (is_official and not self._is_fetched_alike(place)):
                return None
            return self.steps[place]()
        except DataError:  # settings that do not go together, or a copy in a mirror that is not what was published
            return None

    def _is_fetched_alike(self, place: str) -> bool:
        """Whether the digest of an official file there, or of a sample's index, is published or pinned."""
        checksums = readable_checksums(self._there(place))
        digests = checksums.digests.values() if checksums else ()
        return "-sample/" in place or self.graph.has_digest(f"{self._prefix}{place}", digests)

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
        checksums = readable_checksums(self._here(place) if self._is_here(place) else self._there(place))
        return checksums is not None and checksums.identity == identity and (self._is_here(place) or self.fits(place))

    def _take(self, place: str, checksums: Checksums) -> None:
        """Take an artefact that fits; nothing where that is not possible, so that it is made here."""
        source, target = self._there(place), self._here(place)
        # Official files are not copied: they may be large, and nothing reads them as long as what was made of them is there.
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
    """Raise FileExistsError where another run has made the artefact meanwhile. Modes of linked files stay, unlike in `share`."""
    if os.path.lexists(target):
        raise FileExistsError(target)


def _link(source: str | Path, target: str | Path) -> None:
    """Link a file; copy a hidden one, since a checksum file may get another record, and Snakemake sets the time of its own."""
    if Path(source).name.startswith("."):
        shutil.copy2(source, target)
    else:
        os.link(source, target)


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    try:
        _link(source, target)
    except OSError:  # another file system, one without links, or another user's file
        shutil.copy2(source, target)
