"""Verification of an archive: every digest, and every table and verdict that can be made again without models and texts."""

import os
import re
import shlex
import stat
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path

from joblib import cpu_count

from crosslens.config.scales import read_yaml
from crosslens.monitoring.archive.comparison import differences, differing, read_rows
from crosslens.monitoring.archive.contents import Artefacts, stage, tables
from crosslens.monitoring.archive.crate import METADATA, README, WORKFLOW
from crosslens.monitoring.archive.packing import CLAIMS, CONFIGURATION, LOCAL, SEALS, SUMS
from crosslens.papers.configuration import load_fitting
from crosslens.runs.errors import DataError, shown
from crosslens.sources.pins import LOCK
from crosslens.storage.bounded import parse_json
from crosslens.storage.files import Budget
from crosslens.storage.seals import Seal

ROOT = Path(__file__).resolve().parents[4]  # of the repository, whose rules and library are the only code that runs
RULES = ("measure", "table")  # rules whose jobs need neither models nor texts where their inputs are in the archive
SUMMARIES = {"scoreboard.csv": "scoreboard", CLAIMS: "claims"}  # tables about tables, made after them, and their rules
EARLIER = "earlier"  # folder for the archive's files of what is made again
EARLIEST = 0  # time of all that is unpacked, so that for Snakemake nothing has changed but what it is to make again
UNPACKED = re.compile(
    rf"(results|{SEALS})(/[\w@=+,-][\w@=+,.-]*)*/(\.SHA256SUMS|\.[\w@=+,-][\w@=+,.-]*\.sha256|"
    r"[\w@=+,-][\w@=+,.-]*\.(csv|html|json|parquet|png|svg|txt))",
    re.ASCII,
)
"""Names of files that are unpacked, with data and seals; none of them is code, and none that Snakemake reads by itself."""
READ = (CONFIGURATION, METADATA)  # further files that are unpacked
OTHERS = (README, WORKFLOW, str(LOCK), "support.csv")  # compared with their digests; the last is of earlier archives
LINE = re.compile("([0-9a-f]{64})  (.+)")  # of SUMS


def unpack(archive: Path, folder: Path) -> dict[str, str]:
    """Unpack an archive into an empty folder; return what is not as archived: name -> what is wrong with it.

    Only what SUMS names is unpacked, and of that only UNPACKED and READ. Raises DataError if this is no archive, or a bomb.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            listed = packed.infolist()
            members = {member.filename: member for member in listed if not member.is_dir()}
            Budget(archive).take(sum(member.file_size for member in listed))
            digests = _checksums(archive, packed.read(SUMS).decode())
            faults = dict.fromkeys(members.keys() - digests.keys() - {SUMS}, "added") | dict(_forbidden(listed))
            faults |= dict.fromkeys(digests.keys() - members.keys(), "missing")
            for name in sorted(digests.keys() - faults.keys()):
                digest = ""
                with suppress(Exception), packed.open(name) as stream:  # whatever an altered file leads to
                    digest = file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # zipfile's streams have readinto
                if digest != digests[name]:
                    faults[name] = "changed"
                elif name in READ or UNPACKED.fullmatch(name):
                    packed.extract(name, folder)
                    os.utime(folder / name, (EARLIEST, EARLIEST))
    except DataError:
        raise
    except Exception as error:  # whatever an altered file leads to
        fault = shown(" ".join(str(error).split()))
        raise DataError(f"{archive}: expected what `make archive` wrote, found another or a damaged file ({fault})") from None
    return dict(_contradictions(folder, digests)) | faults


def _checksums(archive: Path, text: str) -> dict[str, str]:
    """Name -> digest of each line of SUMS. Raises DataError if a line has another form, or a name occurs twice."""
    digests: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = LINE.fullmatch(line)
        if match is None or match[2] in digests:
            raise DataError(f"{archive}: {SUMS}:{number}: expected a digest and a new name, found {line!r:.100}: do not use it")
        digests[match[2]] = match[1]
    return digests


def _forbidden(members: list[zipfile.ZipInfo]) -> Iterator[tuple[str, str]]:
    """Names that no archive has, and files that are none, each with what is wrong with it."""
    spellings = Counter(member.filename.casefold() for member in members)
    for member in members:
        name, kind = member.filename, stat.S_IFMT(member.external_attr >> 16)
        if name in (*READ, *OTHERS, SUMS) or UNPACKED.fullmatch(name):
            if spellings[name.casefold()] > 1:
                yield name, "occurs twice, or differs from another in case alone"
            elif member.flag_bits & 0x41:  # ZIP's APPNOTE, 4.4.4
                yield name, "encrypted"
            elif kind not in (0, stat.S_IFREG):
                yield name, "expected a file, found a link or a device"
        elif not member.is_dir() or ".." in name or name.startswith("/"):
            yield name, "expected a name of the results, found another: do not use it"


def _contradictions(folder: Path, digests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Seals, records and metadata that have other digests than SUMS, or cannot be read, each with what is wrong with it."""
    stated: dict[str, dict[str, str]] = {}  # file -> name -> its digest there
    official: set[str] = set()
    for name in sorted(filter(lambda name: (folder / name).is_file(), digests.keys() - {METADATA})):
        path = folder / name
        try:
            if path.suffix == ".json":
                content = parse_json(path.read_bytes(), name)
                if isinstance(content, dict) and content.keys() >= {"file", "sha256"}:
                    stated[name] = {str(Path(name).with_name(content["file"])): content["sha256"]}
            elif path.name.startswith("."):
                seal = Seal.read(path)
                if name.startswith(f"{SEALS}/sources/"):
                    official |= {*seal.digests.values()}
                elif not name.startswith(f"{SEALS}/"):
                    stated[name] = {str(file.relative_to(folder)): digest for file, digest in seal.digests.items()}
        except (DataError, OSError, ValueError, TypeError) as error:
            yield name, shown(" ".join(str(error).split()))
    try:
        graph = parse_json((folder / METADATA).read_bytes(), METADATA)["@graph"]
        entities = {entity["@id"]: entity["sha256"] for entity in graph if "sha256" in entity}
        stated[METADATA] = dict.fromkeys(digests.keys() - {METADATA}, "") | {
            id: digest for id, digest in entities.items() if id in digests or digest not in official
        }
    except (DataError, OSError, ValueError, TypeError, KeyError) as error:
        yield METADATA, shown(" ".join(str(error).split()))
    for name, digests_by_name in stated.items():
        if wrong := [file for file, digest in digests_by_name.items() if digests.get(file) != digest]:
            yield name, f"has another digest than {SUMS} of {', '.join(wrong[:3])}{' and others' * (len(wrong) > 3)}"


@dataclass(frozen=True)
class Unpacked:
    """An unpacked archive. folder: where it is."""

    folder: Path

    @cached_property
    def artefacts(self) -> Artefacts:
        """Artefacts in the folder of results that the configuration names. Raises DataError if the configuration is none."""
        config, _ = load_fitting(read_yaml(self.folder / CONFIGURATION), CONFIGURATION)
        return Artefacts.of(self.folder / config.results)

    def tables_from(self, name: str) -> list[str]:
        """Tables that were made from a file of the archive."""
        path = self.folder / name
        if not (self.folder / CONFIGURATION).is_file() or not path.is_relative_to(self.artefacts.results):
            return []
        return sorted(tables(self.artefacts.downstream(self.artefacts.artefact(path))))

    @cached_property
    def rebuilt(self) -> list[str]:
        """Places of all measures and tables that can be made again; a table's record is made with it."""
        return [place for place in self.artefacts.seals if not place.endswith(".json") and self._can_be_rebuilt(place)]

    def _can_be_rebuilt(self, place: str) -> bool:
        """Whether a job without a model makes an artefact from those that the archive has, and reads no texts."""
        rule, inputs = self.artefacts.records.get(place, {}).get("rule"), self.artefacts.inputs(place)
        stages = {*map(stage, inputs)}
        if rule not in RULES or {"tokens", "tokenizers"} <= stages or rule == "measure" and "draws" in stages:
            return False
        return all(name in self.artefacts.seals for name in inputs)

    @cached_property
    def summaries(self) -> list[str]:
        """Places of the tables about tables."""
        return [place for place in SUMMARIES if place in self.artefacts.seals]

    def rebuild(self) -> None:
        """Make again all that can be, with this repository's workflow; the archive's files are moved to EARLIER.

        Raises DataError where that fails.
        """
        for place in (*self.rebuilt, *self.summaries):
            seal = self.artefacts.seals[place]
            for file in filter(Path.exists, (*self.artefacts.files(place), seal.file)):
                earlier = self.earlier(file)
                earlier.parent.mkdir(parents=True, exist_ok=True)
                file.rename(earlier)
        for places in filter(None, (self.rebuilt, self.summaries)):
            self._make(places)

    def _make(self, places: list[str]) -> None:
        """Make tables or measures. Other rules are not considered: what they made is in the archive, or is not needed."""
        targets = [str((self.artefacts.results / place).relative_to(self.folder)) for place in places]
        where = {"--snakefile": ROOT / "Snakefile", "--directory": self.folder, "--configfile": self.folder / CONFIGURATION}
        options = [word for option, path in where.items() for word in (option, str(path))]
        options += ["--config", *(f"{key}=[]" for key in LOCAL), "--cores", str(cpu_count()), "--rerun-triggers", "mtime"]
        options += ["--allowed-rules", *RULES, *SUMMARIES.values()]
        # No interpreter takes modules from its working directory, from beside its script, or from a relative path.
        command = [os.path.abspath(sys.executable), "-P", "-m", "snakemake", *options, "--", *targets]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "PYTHONSAFEPATH": "1"}
        result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
        if result.returncode:
            raise DataError(f"{shlex.join(command)}: expected tables, found an error:\n{result.stderr}")

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
