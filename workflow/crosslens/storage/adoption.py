"""Copies of Snakemake's records in the seals of artefacts, so that copied, moved and restored results are not built again.

Snakemake records in .snakemake how each output was made: params, inputs, times. The seal of the output has a copy of the record,
with the identity of each input, which moves with the output. `settle` makes both agree: seals take over the records of finished
jobs, and where Snakemake has no record of an artefact, or that of another, it takes over the seal's. Whether the record still
fits is left to Snakemake, so that a rerun has Snakemake's reason.
"""

import json
import os
import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from crosslens.storage.seals import SUMS, Seal, digest, readable_seal

FOLDERS = ("sources", "corpora", "tokenizers", "encoders", "tokens", "draws", "models", "states", "measures", "scores")
"""Folders of results in which every visible file belongs to an artefact, except those of BESIDE."""
BESIDE = re.compile(r"checkpoint\.safetensors|.*\.(damaged|wrong)")  # files of trainings and downloads beside their outputs
TIMESTAMP = ".snakemake_timestamp"  # file whose time Snakemake takes for that of its folder
EQUAL, ROUNDED = 1e-3, 2.0  # seconds: largest difference of equal times, and of times that a file system has rounded
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
        """Make Snakemake's records and the seals agree; return a line on artefacts that Snakemake had no record of, or "".

        Modification times become those of the making, so that a copy is not newer than what was made from it. An artefact without
        any record gets one that fits nothing. names: artefacts outside FOLDERS, below the results. writes: whether seals may be
        written, which a dry run does not do.
        """
        artefacts = dict(self._artefacts(names))
        seals = {artefact: seal for artefact, seal in artefacts.items() if seal}
        judged: Counter[str] = Counter()
        for artefact, seal in artefacts.items():
            with suppress(
                OSError, ValueError
            ):  # removed meanwhile, another user's, read-only, or damaged, which is reported when it is read
                judged[self._judge(artefact, seal, seals, writes) if seal else self._unsealed(artefact)] += 1
        adopted, unknown = judged["adopted"], judged["unknown"]
        parts = [f"{adopted} judged by seal"] * bool(adopted)
        parts += [f"{unknown} without any record, to be built again (--touch keeps them)"] * bool(unknown)
        total = f"{adopted + unknown} artefact{'s' * (adopted + unknown > 1)}"
        return f"{self.results}: {total} of which Snakemake has no record as of now: {', '.join(parts)}" if parts else ""

    def would_be(self, seal: Seal, params: Set[str], inputs: Set[str]) -> bool:
        """Whether a job here with these params and inputs, as Snakemake records them, would fit the record of a seal."""
        record = parsed(self._moved(seal))
        if not all(isinstance(record.get(name), list) for name in ("params", "input")) or not _endtime(self._moved(seal)):
            return False
        fits = {*map(str, record["params"])} == params and {*map(str, record["input"])} == inputs
        return fits and record.get("record_format_version") == self.version

    def input_identities(self, seal: Seal) -> dict[str, Any]:
        """Identity of each sealed input of an artefact, by its place below the results, as it was when the artefact was made."""
        return parsed(seal.notes.get("inputs", ""))

    def adopt(self, artefact: str, seal: Seal) -> None:
        """Write the record of a seal as Snakemake's of an artefact that was put here with that seal."""
        self._write(artefact, self._sealed_record(artefact, seal, {}, ""))

    def _judge(self, artefact: str, seal: Seal, seals: Mapping[str, Seal], writes: bool) -> str:
        """Settle the record of a sealed artefact; return "adopted", "unknown", or "" if Snakemake's record was right."""
        record = self._read(artefact)
        expected = self._sealed_record(artefact, seal, seals, record)
        time, recorded, end_time = _time(artefact), _endtime(record), _endtime(expected)
        if record and record == expected and abs(time - end_time) < EQUAL or self.is_unfinished(artefact):
            return ""
        newer = record != expected and abs(time - recorded) < min(
            ROUNDED, abs(time - end_time)
        )  # made or touched here after the seal
        if newer and self._placed(artefact, seal) and parsed(record):
            if writes:
                self._keep(artefact, seal, record, seals)
            return ""
        if not expected:  # one that is newer than Snakemake's record was sealed by hand: what reads it runs again
            return "" if 0 < recorded < time else self._forget(artefact, record)
        if record != expected:
            self._write(artefact, expected)
        if end_time and abs(time - end_time) >= EQUAL and not _edited(Path(artefact), seal):
            os.utime(_timed(artefact), (end_time, end_time))
        return "adopted" if recorded != end_time else ""

    def _unsealed(self, artefact: str) -> str:
        """Settle the record of a visible file without a seal, unless it or a folder around it has a record."""
        within = [str(folder) for folder in Path(artefact).parents if folder.is_relative_to(self.results)]
        return "" if any(map(self._read, (artefact, *within))) else self._forget(artefact, "")

    def _forget(self, artefact: str, record: str) -> str:
        """Give an artefact a record that fits nothing; return "unknown", or "" if it had this record."""
        unknown = self._unfit("no record of how it was made")
        if record == unknown:
            return ""
        self._write(artefact, unknown)
        return "unknown"

    def _unfit(self, reason: str) -> str:
        """Return a record that fits nothing; Snakemake shows the reason among the params."""
        return json.dumps({"params": [reason], "record_format_version": self.version})

    def _sealed_record(self, artefact: str, seal: Seal, seals: Mapping[str, Seal], record: str) -> str:
        """Return the record of a seal as Snakemake would have written it here; "" if there is none. record: that of Snakemake.

        The record is made to fit nothing if an input has changed since, or if the artefact belongs to another place.
        """
        if not self._placed(artefact, seal):
            return self._unfit(f"made as {seal.notes['artefact']}")
        text = self._moved(seal)
        inputs = {f"{self.results}/{name}": identity for name, identity in self.input_identities(seal).items()}
        changed_inputs = [path for path, identity in inputs.items() if path in seals and seals[path].identity != identity]
        if text == record and not changed_inputs:
            return text
        values = parsed(text)
        if not values.keys() >= {"input", "params", "endtime"}:
            return ""
        ordered, reasons = sorted(values["input"]), [f"made from another {path}" for path in changed_inputs]
        if ordered == values["input"] and not reasons:
            return text
        return json.dumps(values | {"input": ordered, "params": [*values["params"], *reasons]})

    def _placed(self, artefact: str, seal: Seal) -> bool:
        """Whether a seal belongs to the artefact in whose place it is."""
        return seal.notes.get("artefact", self._place(artefact)) == self._place(artefact)

    def _keep(self, artefact: str, seal: Seal, record: str, seals: Mapping[str, Seal]) -> None:
        """Write a record into a seal, without inputs newer than the artefact, which may not be those it was made from."""
        end_time, inputs = _endtime(record), [path for path in parsed(record).get("input", []) if path in seals]
        identities = {self._place(path): seals[path].identity for path in inputs if _time(path) <= end_time}
        moveable = re.sub(rf"(?<=[\"']){re.escape(self._prefix)}", PLACE, record)
        notes = {"artefact": self._place(artefact), "record": moveable, "inputs": json.dumps(identities)}
        replace(seal, notes=notes).write()

    def _artefacts(self, names: Iterable[str]) -> Iterator[tuple[str, Seal | None]]:
        """Yield paths of artefacts of the results, those of names first, and their seals."""
        yield from ((path, readable_seal(Path(path))) for name in names if os.path.isfile(path := f"{self.results}/{name}"))
        yield from artefacts(self.results)

    def _moved(self, seal: Seal) -> str:
        """Record of a seal, with the name that the folder of results has here; "" without."""
        return seal.notes.get("record", "").replace(PLACE, self._prefix)

    def _place(self, artefact: str) -> str:
        return artefact.removeprefix(f"{self.results}/")

    def _read(self, artefact: str) -> str:
        """Return Snakemake's record of an artefact; "" if it has none."""
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

    def is_unfinished(self, artefact: str) -> bool:
        """Whether a job is making the artefact, or was killed while doing so."""
        return self._file("incomplete", artefact).exists()

    def _file(self, kind: str, artefact: str) -> Path:
        """Return the path of Snakemake's record of a kind on an output: named in base64, in pieces if that is too long."""
        name = urlsafe_b64encode(artefact.encode()).decode()
        pieces = [name[start : start + self._longest] for start in range(0, len(name), self._longest)]
        return self.folder.joinpath(kind, *(f"@{piece}" for piece in pieces[:-1]), pieces[-1])

    @cached_property
    def _longest(self) -> int:
        """Return the number of characters of a piece: one fewer than a file name may have."""
        return ((os.pathconf(self.folder, "PC_NAME_MAX") if self.folder.is_dir() else 0) or 255) - 1


def artefacts(results: str, folders: Iterable[str] = FOLDERS) -> Iterator[tuple[str, Seal | None]]:
    """Yield paths of artefacts in folders of results, and their seals. Links are not followed, as they lead to other folders."""
    waiting = [f"{results}/{folder}" for folder in folders]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        if any(entry.name == SUMS for entry in entries):
            yield folder, readable_seal(Path(folder))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and not entry.name.startswith(".") and not BESIDE.fullmatch(entry.name):
                yield entry.path, readable_seal(Path(entry.path))


def parsed(text: str) -> dict[str, Any]:
    """A JSON object; empty if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: deeply nested brackets
        return {}
    return value if isinstance(value, dict) else {}


def _endtime(record: str) -> float:
    """The time at which an artefact was made, by its record; 0 if unknown."""
    match = ENDTIME.search(record)
    return float(match[1]) if match else 0.0


def _timed(artefact: str) -> str:
    """The path whose modification time is that of an artefact."""
    timestamp = f"{artefact}/{TIMESTAMP}"
    return timestamp if os.path.exists(timestamp) else artefact


def _time(artefact: str) -> float:
    return os.stat(_timed(artefact)).st_mtime


def _edited(path: Path, seal: Seal) -> bool:
    """Whether a file has changed since it was sealed; its content is read only if it is newer than its seal."""
    if path.is_dir() or path.stat().st_mtime <= seal.file.stat().st_mtime:
        return False
    return digest(path) != seal.digests.get(path)
