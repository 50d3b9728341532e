"""Verification of an archive: every digest, and every table and verdict that can be made again without models and texts."""

import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
from joblib import cpu_count

from crosslens.config.scales import read_yaml
from crosslens.monitoring.archive.comparison import differences, differing, read_rows
from crosslens.monitoring.archive.contents import Artefacts, stage, tables
from crosslens.monitoring.archive.packing import CLAIMS, CONFIGURATION, SUMS, SUPPORT
from crosslens.papers.configuration import load_fitting
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import readable
from crosslens.storage.files import sha256

RULES = ("measure", "table")  # rules whose jobs need neither models nor texts where their inputs are in the archive
SUMMARIES = {"scoreboard.csv": "scoreboard", CLAIMS: "claims"}  # tables about tables, made after them, and their rules
EARLIER = "earlier"  # folder for the archive's files of what is made again
EARLIEST = 0  # time of all that is unpacked, so that for Snakemake nothing has changed but what it is to make again
LARGEST = 10**10  # bytes to which an archive may expand
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


def unpack(archive: Path, folder: Path) -> dict[str, str]:
    """Unpack an archive into an empty folder; return the files that are not as archived: name -> changed, missing or added.

    A file that cannot be unpacked counts as changed. Raises DataError if this is no archive, or a hostile one.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            if (size := sum(member.file_size for member in members)) > LARGEST:
                raise DataError(
                    f"{archive}: expected at most {readable(LARGEST)} of content, found {readable(size)}: do not use it"
                )
            for member in members:
                _unpack_member(packed, member, folder)
        for path in folder.rglob("*"):
            os.utime(path, (EARLIEST, EARLIEST))
        lines = (folder / SUMS).read_text("utf-8").splitlines()
        digests = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except DAMAGED as error:
        fault = " ".join(str(error).split())
        raise DataError(
            f"{archive}: expected what `make archive` wrote, found another or a damaged file ({fault:.200})"
        ) from None
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {SUMS}
    changed = {name: "changed" for name in names & digests.keys() if sha256(folder / name) != digests[name]}
    return changed | dict.fromkeys(digests.keys() - names, "missing") | dict.fromkeys(names - digests.keys(), "added")


def _unpack_member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    target = folder / member.filename
    if not target.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{packed.filename}: expected names of files inside it, found {member.filename!r:.200}: do not use it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        try:
            with packed.open(member) as source:
                shutil.copyfileobj(source, stream)
        except DAMAGED:
            pass  # its digest will tell


@dataclass(frozen=True)
class Unpacked:
    """An unpacked archive. folder: where it is; faults: see `unpack`."""

    folder: Path
    faults: Mapping[str, str]

    @cached_property
    def artefacts(self) -> Artefacts:
        """Artefacts in the folder of results that the configuration names, but for those whose seals are not as archived.

        Raises DataError if the configuration is not as archived.
        """
        if CONFIGURATION in self.faults:
            raise DataError(f"{CONFIGURATION}: {self.faults[CONFIGURATION]}; every table and verdict rests on it")
        config, _ = load_fitting(read_yaml(self.folder / CONFIGURATION), CONFIGURATION)
        artefacts = Artefacts.of(self.folder / config.results)
        seals = artefacts.seals.items()
        return replace(artefacts, seals={place: seal for place, seal in seals if self._name(seal.file) not in self.faults})

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self.folder))

    @cached_property
    def faulty(self) -> set[str]:
        """Places of artefacts, or of files below the results, that are not as archived."""
        paths = (self.folder / name for name in self.faults)
        return {self.artefacts.artefact(path) for path in paths if path.is_relative_to(self.artefacts.results)}

    def effects(self) -> Iterator[str]:
        """Lines on the files that are not as archived, each with the cells and verdicts that rest on it."""
        support = None if SUPPORT in self.faults else pd.read_csv(self.folder / SUPPORT)
        for name, fault in sorted(self.faults.items()):
            yield f"{name}: {fault}"
            path = self.folder / name
            if not path.is_relative_to(self.artefacts.results):
                continue
            place = self.artefacts.artefact(path)
            reached = self.artefacts.downstream([place])
            files = {place, *reached} - {*tables(reached - {place})}
            for table, rows in support.groupby("table", sort=False) if support is not None else ():
                names = rows["cell"][rows["file"].isin(files)].unique()
                if len(names):
                    files.add(str(table))  # verdicts, which come last, rest on tables
                    yield f"  {table}: {len(names)} {'verdicts' if table == CLAIMS else 'cells'} rest on it"
                    yield from (f"    {name}" for name in names)
            yield from (f"  {name}: made from it" for name in sorted(reached - files))

    @cached_property
    def rebuilt(self) -> list[str]:
        """Places of all measures and tables that can be made again from what is as archived; a table's record is made with it."""
        return [place for place in self.artefacts.seals if not place.endswith(".json") and self._can_be_rebuilt(place)]

    def _can_be_rebuilt(self, place: str) -> bool:
        """Whether a job without a model makes an artefact from intact ones that the archive has, and reads no texts."""
        rule, inputs = self.artefacts.records.get(place, {}).get("rule"), self.artefacts.inputs(place)
        stages = {*map(stage, inputs)}
        if rule not in RULES or {"tokens", "tokenizers"} <= stages or rule == "measure" and "draws" in stages:
            return False
        return all(name in self.artefacts.seals and (name not in self.faulty or self._can_be_rebuilt(name)) for name in inputs)

    @cached_property
    def summaries(self) -> list[str]:
        """Places of the tables about tables, unless a table or a measure is lost."""
        lost = self.artefacts.downstream(self.faulty - {*self.rebuilt})
        decides = [place for place in lost if place.endswith(".csv") and place not in SUMMARIES or place.startswith("measures/")]
        return [] if decides else [place for place in SUMMARIES if place in self.artefacts.seals]

    def rebuild(self, root: Path) -> None:
        """Make again all that can be, with the workflow in the folder `root`; the archive's files are moved to EARLIER.

        Raises DataError where that fails.
        """
        for place in (*self.rebuilt, *self.summaries):
            seal = self.artefacts.seals[place]
            for file in filter(Path.exists, (*self.artefacts.files(place), seal.file)):
                earlier = self.earlier(file)
                earlier.parent.mkdir(parents=True, exist_ok=True)
                file.rename(earlier)
        for places in filter(None, (self.rebuilt, self.summaries)):
            self._make(places, root)

    def _make(self, places: list[str], root: Path) -> None:
        """Make tables or measures. Other rules are not considered: what they made is in the archive, or is not needed."""
        targets = [self._name(self.artefacts.results / place) for place in places]
        where = {"--snakefile": root / "Snakefile", "--directory": self.folder, "--configfile": self.folder / CONFIGURATION}
        options = [word for option, path in where.items() for word in (option, str(path))]
        options += ["--cores", str(cpu_count()), "--rerun-triggers", "mtime"]
        options += ["--allowed-rules", *RULES, *SUMMARIES.values()]
        command = [sys.executable, "-m", "snakemake", *options, "--", *targets]
        result = subprocess.run(command, capture_output=True, text=True, cwd=root)
        if result.returncode:
            raise DataError(f"{' '.join(command)}: expected tables, found an error:\n{result.stderr}")

    def earlier(self, file: Path) -> Path:
        """Where the archive's version of a file lies once it has been made again."""
        return self.folder / EARLIER / file.relative_to(self.artefacts.results)

    def compared(self, place: str) -> tuple[int, list[str]]:
        """Number of rows of a measure or table that was made again, and a line for each that is not as the archive has it."""
        file = self.artefacts.results / place
        after = read_rows(file)
        try:
            before = read_rows(self.earlier(file))
        except (OSError, ValueError, DataError) as error:
            return len(after), [f"the archive's cannot be read ({' '.join(str(error).split()):.200})"]
        if place.startswith("measures/"):
            number = int(differing(before, after).sum())
            return len(after), [f"{number} of {len(before)} records differ"] * bool(number)
        return len(after), [*differences(before, after)]
