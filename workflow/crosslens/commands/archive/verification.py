"""Verification of an archive: every digest, and every table and verdict that can be made again without models and texts."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import cpu_count

from crosslens.commands.archive.artefacts import Artefacts, is_table, stage
from crosslens.commands.archive.crate import METADATA, README, WORKFLOW
from crosslens.commands.archive.packing import CHECKSUM_FILES, CLAIMS, CONFIGURATION, LOCAL, SUMS
from crosslens.corpora.sources.pins import LOCK
from crosslens.jobs import parquet
from crosslens.jobs.bounded import read_json
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import Budget
from crosslens.papers.configuration import load_fitting

ROOT = Path(__file__).resolve().parents[4]  # the repository; only its rules and library run, no code of an archive
RULES = ("measure", "table")  # rules with jobs that need neither models nor texts if their inputs are in the archive
SUMMARIES = {"scoreboard.csv": "scoreboard", CLAIMS: "claims"}  # tables about other tables, made after these -> their rules
EARLIER = "earlier"  # folder for the archive's versions of files that are made again
EARLIEST = 0  # time of all unpacked files, so that Snakemake sees no changes except the files to make again
NAME = r"[\w@=+,-][\w@=+,.-]*"
UNPACKED = re.compile(
    rf"(results|{CHECKSUM_FILES})(/{NAME})*/(\.SHA256SUMS|\.{NAME}\.sha256|{NAME}\.(csv|html|json|parquet|png|svg|txt))", re.ASCII
)
"""Names of the files that are unpacked: data and checksum files. None is code, and none is read by Snakemake itself."""
READ = (CONFIGURATION, METADATA)  # further files that are unpacked
OTHERS = (README, WORKFLOW, str(LOCK))  # only compared with their digests, not unpacked
LINE = re.compile("([0-9a-f]{64})  (.+)")  # of SUMS
SHARES = "unknown_subwords"  # fact in a table's record; the table reads subwords only for this fact, not for its values
CALL = "command"  # column of a table with the call of Snakemake, which is not a result
TOLERANCE = 1e-6  # largest relative difference of equal numbers: other processors may add in another order


def unpack(archive: Path, folder: Path) -> dict[str, str]:
    """Unpack an archive into an empty folder; return what is not as archived: name -> what is wrong with it.

    Only files that SUMS names and that match UNPACKED or READ are unpacked. Raises DataError if the file is not an archive, or
    is a zip bomb.
    """
    if not archive.is_file():
        fault = "a folder, a pipe or a device" if archive.exists() else "no such file"
        raise DataError(f"{archive}: expected a file that `make archive` wrote, found {fault}; correct ARCHIVE=FILE")
    faults: dict[str, str] = {}
    try:
        with zipfile.ZipFile(archive) as packed:
            Budget(archive).take(sum(member.file_size for member in packed.infolist()))
            digests = _checksums(archive, packed.read(SUMS).decode())
            names = {name for name in packed.namelist() if not name.endswith("/")} - {SUMS}
            for name in sorted(names | digests.keys()):
                if fault := _fault(packed, name, digests.get(name)):
                    faults[name] = fault
                elif name not in OTHERS:
                    packed.extract(name, folder)
                    os.utime(folder / name, (EARLIEST, EARLIEST))
    except DataError:
        raise
    except Exception as error:  # an altered file may cause any error
        fault = shown(" ".join(str(error).split()))
        raise DataError(
            f"{archive}: expected what `make archive` wrote, found another or a damaged file ({fault}); copy it again"
        ) from None
    return faults


def _checksums(archive: Path, text: str) -> dict[str, str]:
    """Name -> digest of each line of SUMS. Raises DataError if a line has another form, or a name occurs twice."""
    digests: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = LINE.fullmatch(line)
        if match is None or match[2] in digests:
            raise DataError(f"{archive}: {SUMS}:{number}: expected a digest and a new name, found {line!r:.100}: do not use it")
        digests[match[2]] = match[1]
    return digests


def _fault(packed: zipfile.ZipFile, name: str, expected_digest: str | None) -> str:
    """Fault of a file of an archive; "" for none. expected_digest: None if the list of checksums lacks the file."""
    if name not in (*READ, *OTHERS) and not UNPACKED.fullmatch(name):
        return "expected a name of the results, found another: do not use it"
    if expected_digest is None:
        return "added"
    digest = ""
    with suppress(Exception), packed.open(name) as stream:  # an altered file may cause any error
        digest = file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # zipfile's streams have readinto
    if not digest and name not in packed.namelist():
        return "missing"
    return "" if digest == expected_digest else "changed"


@dataclass(frozen=True)
class Unpacked:
    """An unpacked archive. folder: folder that it was unpacked into."""

    folder: Path

    @cached_property
    def artefacts(self) -> Artefacts:
        """Artefacts in the folder of results that the configuration names. Raises DataError if that is not valid."""
        config, _ = load_fitting(read_json(self.folder / CONFIGURATION), CONFIGURATION)
        return Artefacts.of(self.folder / config.results)

    def contradictions(self) -> dict[str, str]:
        """Files that contradict their checksum files: name -> what is wrong with it."""
        faults = {}
        for path in (self.artefacts.results / place for place in self.artefacts.checksum_files):
            try:
                verified(path)
            except DataError:
                faults[str(path.relative_to(self.folder))] = "not the content that its checksum file records"
        return faults

    @cached_property
    def rebuilt(self) -> list[str]:
        """Places of all measures and tables that can be made again; a table's record is made with it."""
        return [place for place in self.artefacts.checksum_files if not place.endswith(".json") and self._can_be_rebuilt(place)]

    def _can_be_rebuilt(self, place: str) -> bool:
        """Whether the archive has all inputs of an artefact, its job needs no model, and its values depend on no texts."""
        rule, inputs = self.artefacts.records.get(place, {}).get("rule"), self.artefacts.inputs(place)
        stages = {*map(stage, inputs)}
        if rule not in RULES or rule == "measure" and "samples" in stages:
            return False
        if {"tokens", "tokenizers"} <= stages and not self._records_shares(place):
            return False
        return all(name in self.artefacts.checksum_files for name in inputs)

    def _records_shares(self, place: str) -> bool:
        """Whether an artefact has a record with SHARES."""
        record = self.artefacts.results / f"{place}.json"
        return record.exists() and any(isinstance(facts, dict) and SHARES in facts for facts in read_json(record).values())

    @cached_property
    def summaries(self) -> list[str]:
        """Places of the tables about tables."""
        return [place for place in SUMMARIES if place in self.artefacts.checksum_files]

    @cached_property
    def kept(self) -> list[str]:
        """Places of measures and tables that cannot be made again."""
        places = self.artefacts.checksum_files.keys() - {*self.rebuilt, *self.summaries}
        return sorted(place for place in places if place.startswith("measures/") or is_table(place))

    def rebuild(self) -> None:
        """Make again all that can be, with this repository's workflow; the archive's files are moved to EARLIER.

        Raises DataError if that fails.
        """
        for place in (*self.rebuilt, *self.summaries):
            for file in filter(Path.exists, (*self.artefacts.files(place), self.artefacts.checksum_files[place].file)):
                earlier = self._earlier(file)
                earlier.parent.mkdir(parents=True, exist_ok=True)
                file.rename(earlier)
        for places in filter(None, (self.rebuilt, self.summaries)):
            self._make(places)

    def _make(self, places: Iterable[str]) -> None:
        """Make tables or measures. Only their rules may run: outputs of other rules are in the archive, or are not needed."""
        targets = [str((self.artefacts.results / place).relative_to(self.folder)) for place in places]
        where = {"--snakefile": ROOT / "Snakefile", "--directory": self.folder, "--configfile": self.folder / CONFIGURATION}
        options = [word for option, path in where.items() for word in (option, str(path))]
        options += ["--config", *(f"{key}=[]" for key in LOCAL), "--cores", str(cpu_count()), "--rerun-triggers", "mtime"]
        options += ["--allowed-rules", *RULES, *SUMMARIES.values()]
        # No interpreter imports modules from its working directory, from the folder of its script, or from a relative path.
        command = [os.path.abspath(sys.executable), "-P", "-m", "snakemake", *options, "--", *targets]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "PYTHONSAFEPATH": "1"}
        result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
        if result.returncode:
            raise DataError(f"{shlex.join(command)}: expected tables, found an error:\n{result.stderr}")

    def differing(self) -> list[str]:
        """Places of the tables and measures that were made again and differ from the archive's versions."""
        results = self.artefacts.results
        return [place for place in (*self.rebuilt, *self.summaries) if not same(self._earlier(results / place), results / place)]

    def _earlier(self, file: Path) -> Path:
        """Path of the archive's version of a file that is made again."""
        return self.folder / EARLIER / file.relative_to(self.artefacts.results)


def same(before: Path, after: Path) -> bool:
    """Whether two tables or measures have the same rows, numbers up to TOLERANCE; False if the first cannot be read."""
    try:
        archived, remade = (_rows(path) for path in (before, after))
    except (OSError, ValueError):
        return False
    if list(archived.columns) != list(remade.columns) or len(archived) != len(remade):
        return False
    texts = [rows.to_numpy(object) for rows in (archived, remade)]
    numbers = [rows.apply(pd.to_numeric, errors="coerce").to_numpy(float) for rows in (archived, remade)]
    return bool(((texts[0] == texts[1]) | np.isclose(numbers[0], numbers[1], rtol=TOLERANCE, atol=0)).all())


def _rows(path: Path) -> pd.DataFrame:
    """Rows of a table or a measure as text, without the column CALL."""
    if path.suffix == ".parquet":
        rows: pd.DataFrame = parquet.read(path).to_pandas().astype(str).fillna("")
        return rows
    return pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=CALL, errors="ignore")
