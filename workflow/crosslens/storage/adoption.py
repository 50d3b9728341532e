"""Snakemake's records of artefacts, kept in their seals, so that copied, moved and restored results are judged as if made here.

Snakemake notes in .snakemake how each output was made: params, inputs, times. A copy of that stands in the seal of the output,
with the identity of each input, and goes where the output goes. `settle` has both agree: seals take over what Snakemake noted of
a job, and where Snakemake has no record of an artefact, or that of another, it takes over what the seal says. Whether that still
fits is for Snakemake to judge, and a rerun has Snakemake's reason.
"""

import json
import os
import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from crosslens.storage.seals import SUMS, Seal, digest, read_seal

FOLDERS = ("sources", "corpora", "tokenizers", "encoders", "tokens", "draws", "models", "states", "measures", "scores")
"""Folders of results in which every visible file belongs to an artefact, but for BESIDE."""
BESIDE = re.compile(r"checkpoint\.safetensors|.*\.(damaged|wrong)")  # what trainings and downloads leave beside their outputs
TIMESTAMP = ".snakemake_timestamp"  # whose time Snakemake takes for that of the folder
EQUAL, ROUNDED = 1e-3, 2.0  # seconds: times that are the same, and by how much a file system may have rounded them
ENDTIME = re.compile(r'"endtime": ([0-9]+\.?[0-9]*)')  # in a record: quotes inside its strings are escaped
PLACE = "{results}/"  # stands for the folder of results in the records of seals: it may have another name elsewhere


class Records:
    """Snakemake's records of the artefacts below a folder of results.

    results: the folder as rules name it. version: of the format of Snakemake's records. folder: where Snakemake keeps them.
    """

    def __init__(self, results: str, version: int, folder: Path = Path(".snakemake")) -> None:
        self.results, self.version, self.folder = results, version, folder
        self._prefix = json.dumps(f"{results}/")[1:-1]

    def settle(self, names: Iterable[str], *, writes: bool) -> str:
        """Have Snakemake's records and the seals agree; returns a line where Snakemake had none of an artefact as it is, else "".

        Times become those of the making, since a copy is not newer than what was made of it. An artefact of which nobody knows
        how it was made gets a record that fits nothing. names: artefacts outside FOLDERS, below the results. writes: whether
        seals may be written, which a dry run leaves as they are.
        """
        artefacts = dict(self._artefacts(names))
        seals = {artefact: seal for artefact, seal in artefacts.items() if seal}
        judged: Counter[str] = Counter()
        for artefact, seal in artefacts.items():
            with suppress(OSError, ValueError):  # gone meanwhile, another user's, read-only, or damaged, which its readers say
                judged[self._judge(artefact, seal, seals, writes) if seal else self._unsealed(artefact)] += 1
        adopted, unknown = judged["adopted"], judged["unknown"]
        parts = [f"{adopted} judged by seal"] * bool(adopted)
        parts += [f"{unknown} without any record, to be built again (--touch keeps them)"] * bool(unknown)
        total = f"{adopted + unknown} artefact{'s' * (adopted + unknown > 1)}"
        return f"{self.results}: {total} of which Snakemake has no record as of now: {', '.join(parts)}" if parts else ""

    def _judge(self, artefact: str, seal: Seal, seals: Mapping[str, Seal], writes: bool) -> str:
        """Settle the record of a sealed artefact; returns adopted, unknown, or "" where Snakemake knew."""
        record = self._read(artefact)
        kept = self._kept(artefact, seal, seals, record)
        time, recorded, made = _time(artefact), _endtime(record), _endtime(kept)
        if record and record == kept and abs(time - made) < EQUAL or self._unfinished(artefact):
            return ""
        newer = record != kept and abs(time - recorded) < min(ROUNDED, abs(time - made))  # made or touched here after the seal
        if newer and self._placed(artefact, seal) and _parsed(record):
            if writes:
                self._keep(artefact, seal, record, seals)
            return ""
        if not kept:  # one that is newer than Snakemake's record was sealed by hand: what reads it runs again
            return "" if 0 < recorded < time else self._forget(artefact, record)
        if record != kept:
            self._write(artefact, kept)
        if made and abs(time - made) >= EQUAL and not _edited(Path(artefact), seal):
            os.utime(_timed(artefact), (made, made))
        return "adopted" if recorded != made else ""

    def _unsealed(self, artefact: str) -> str:
        """The same for a visible file without a seal, unless there is a record of it or of a folder that it is in."""
        within = [str(folder) for folder in Path(artefact).parents if folder.is_relative_to(self.results)]
        return "" if any(map(self._read, (artefact, *within))) else self._forget(artefact, "")

    def _forget(self, artefact: str, record: str) -> str:
        """Have nothing fit an artefact."""
        unknown = self._unfit("no record of how it was made")
        if record == unknown:
            return ""
        self._write(artefact, unknown)
        return "unknown"

    def _unfit(self, reason: str) -> str:
        """A record that fits nothing; Snakemake shows the reason among the params."""
        return json.dumps({"params": [reason], "record_format_version": self.version})

    def _kept(self, artefact: str, seal: Seal, seals: Mapping[str, Seal], record: str) -> str:
        """The record in a seal, as Snakemake would have written it here; "" where there is none. record: that of Snakemake.

        One of which an input is another than now fits nothing, nor does that of an artefact in another's place.
        """
        if not self._placed(artefact, seal):
            return self._unfit(f"made as {seal.notes['artefact']}")
        text = seal.notes.get("record", "").replace(PLACE, self._prefix)
        inputs = {f"{self.results}/{name}": identity for name, identity in _parsed(seal.notes.get("inputs", "")).items()}
        others = [path for path, identity in inputs.items() if path in seals and seals[path].identity != identity]
        if text == record and not others:
            return text
        values = _parsed(text)
        if not values.keys() >= {"input", "params", "endtime"}:
            return ""
        ordered, reasons = sorted(values["input"]), [f"made from another {path}" for path in others]
        if ordered == values["input"] and not reasons:
            return text
        return json.dumps(values | {"input": ordered, "params": [*values["params"], *reasons]})

    def _placed(self, artefact: str, seal: Seal) -> bool:
        """Whether a seal is of the artefact that it lies with."""
        return seal.notes.get("artefact", self._place(artefact)) == self._place(artefact)

    def _keep(self, artefact: str, seal: Seal, record: str, seals: Mapping[str, Seal]) -> None:
        """Write a record into a seal. An input that is newer than the artefact may be another than it was made of: left out."""
        made, inputs = _endtime(record), [path for path in _parsed(record).get("input", []) if path in seals]
        identities = {self._place(path): seals[path].identity for path in inputs if _time(path) <= made}
        moveable = re.sub(rf"(?<=[\"']){re.escape(self._prefix)}", PLACE, record)
        notes = {"artefact": self._place(artefact), "record": moveable, "inputs": json.dumps(identities)}
        replace(seal, notes=notes).write()

    def _artefacts(self, names: Iterable[str]) -> Iterator[tuple[str, Seal | None]]:
        """Paths of artefacts, and their seals. Links are not followed: what lies elsewhere is another folder's."""
        yield from ((path, _seal(path)) for name in names if os.path.isfile(path := f"{self.results}/{name}"))
        waiting = [f"{self.results}/{folder}" for folder in FOLDERS]
        while waiting:
            folder = waiting.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            if any(entry.name == SUMS for entry in entries):
                yield folder, _seal(folder)
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and not entry.name.startswith(".") and not BESIDE.fullmatch(entry.name):
                    yield entry.path, _seal(entry.path)

    def _place(self, artefact: str) -> str:
        return artefact.removeprefix(f"{self.results}/")

    def _read(self, artefact: str) -> str:
        """Snakemake's record of an artefact; "" where it has none."""
        try:
            return self._file("metadata", artefact).read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _write(self, artefact: str, record: str) -> None:
        file = self._file("metadata", artefact)
        (self.folder / "incomplete").mkdir(parents=True, exist_ok=True)  # else Snakemake takes the records for those of version 7
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(record, "utf-8")
        file.chmod(0o660)  # as Snakemake has it

    def _unfinished(self, artefact: str) -> bool:
        """Whether a job is at it, or was killed."""
        return self._file("incomplete", artefact).exists()

    def _file(self, kind: str, artefact: str) -> Path:
        """Where Snakemake notes something of an output: named in base64, in pieces where that is too long for a name."""
        name = urlsafe_b64encode(artefact.encode()).decode()
        pieces = [name[start : start + self._longest] for start in range(0, len(name), self._longest)]
        return self.folder.joinpath(kind, *(f"@{piece}" for piece in pieces[:-1]), pieces[-1])

    @cached_property
    def _longest(self) -> int:
        """Characters of a piece: one less than a name may have."""
        return ((os.pathconf(self.folder, "PC_NAME_MAX") if self.folder.is_dir() else 0) or 255) - 1


def _parsed(text: str) -> dict[str, Any]:
    """A JSON object; empty where the text is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _endtime(record: str) -> float:
    """When an artefact was made, by its record: the time that it had; 0 where that is not known."""
    found = ENDTIME.search(record)
    return float(found[1]) if found else 0.0


def _seal(artefact: str) -> Seal | None:
    try:
        return read_seal(Path(artefact))
    except (OSError, ValueError):
        return None


def _timed(artefact: str) -> str:
    """Whose time is that of an artefact."""
    timestamp = f"{artefact}/{TIMESTAMP}"
    return timestamp if os.path.exists(timestamp) else artefact


def _time(artefact: str) -> float:
    return os.stat(_timed(artefact)).st_mtime


def _edited(path: Path, seal: Seal) -> bool:
    """Whether a file was written again since it was sealed, which its readers are to notice: only one that is newer is read."""
    if path.is_dir() or path.stat().st_mtime <= seal.file.stat().st_mtime:
        return False
    return digest(path) != seal.digests.get(path)
