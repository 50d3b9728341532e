"""Write an archive: a zip file with a folder of results as the workflow left it, without texts, states and weights."""

import json
import os
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from crosslens.commands.archive.artefacts import BLANKED, Artefacts, is_packed, stage
from crosslens.commands.archive.blanks import write_blanked
from crosslens.commands.archive.crate import METADATA, README, WORKFLOW, metadata
from crosslens.commands.planned_jobs import Job, last_call, merged_plan
from crosslens.commands.status import ALL
from crosslens.corpora.sources.pins import LOCK
from crosslens.corpora.sources.registry import load
from crosslens.jobs.checksums import identities, verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256, written
from crosslens.jobs.machine import revision
from crosslens.jobs.quantities import counted
from crosslens.jobs.records import read_json
from crosslens.papers import papers
from crosslens.papers.configuration import load_fitting
from crosslens.reports.about import About
from crosslens.reports.studies import Studies

SUMS = "SHA256SUMS"  # digest of every other file of the archive; sha256sum checks it
CLAIMS = "claims.csv"  # the verdicts
CONFIGURATION = "configuration.json"  # not YAML, whose aliases can repeat a value without end
CHECKSUM_FILES = "checksums"  # folder for checksum files of artefacts that are left out or altered, by place below the results
LOCAL = ("mirror", "reuse")  # keys of the configuration that name folders of this machine, and change no result
TARGETS = (ALL, "claims", "scoreboard")
TIME = (1980, 1, 1, 0, 0, 0)  # time of every file in the archive, so that equal results give equal bytes


def pack(results: Path, out: Path) -> tuple[list[str], list[str]]:
    """Write the archive of a folder of results.

    Returns the tables and figures that are not built, and so not in it, as `_by_paper` counts them; and those in it that the
    present code or configuration would make again. Raises DataError if nothing is built there, a file has changed since it was
    made, or the results may not be archived.
    """
    _check_new(out)
    artefacts = Artefacts.of(results)
    values, jobs = merged_plan([*last_call(results), "--", *TARGETS])
    config, _ = load_fitting(values)
    if Path(config.results) != results:
        raise DataError(f"{results}: expected the results of its own records, found those of {config.results}; name that folder")
    config.expect_study()
    _check_verdicts(artefacts)
    for place in filter(is_packed, artefacts.checksum_files):
        verified(results / place)
    sources, studies = load(additions=config.sources), Studies(config, papers())
    pending, stale = _pending(jobs, artefacts)
    missing = _by_paper(pending, artefacts, studies)
    preset = About(studies, studies, sources).preset
    with TemporaryDirectory() as name:
        folder = Path(name)
        for place in (place for place in artefacts.checksum_files if stage(place) in BLANKED):
            write_blanked(results / place, folder / results / place)
        keys = {key: value for key, value in values.items() if key not in LOCAL}
        texts = {README: _read_me(preset, missing), CONFIGURATION: json.dumps(keys, indent=1, ensure_ascii=False)}
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
        files = dict(sorted(_files(artefacts, folder)))
        facts = {name: (sha256(path), path.stat().st_size) for name, path in files.items()}
        crate = json.dumps(metadata(preset, facts, artefacts, sources, Path()), indent=1, ensure_ascii=False)
        (folder / METADATA).write_text(f"{crate}\n", "utf-8")
        digests = {name: digest for name, (digest, _) in facts.items()} | {METADATA: sha256(folder / METADATA)}
        (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())), "utf-8")
        _write(out, {METADATA: folder / METADATA, SUMS: folder / SUMS} | files)
    return missing, stale


def _check_new(out: Path) -> None:
    """Raise DataError if the path of the archive exists already."""
    if os.path.lexists(out):
        raise DataError(f"{out}: expected a new file, found one that exists; remove it, or name another: OUT=FILE")


def _check_verdicts(artefacts: Artefacts) -> None:
    """Raise DataError if the verdicts were decided by other tables and measures than those that exist."""
    if CLAIMS in artefacts.checksum_files:
        record = read_json(artefacts.results / f"{CLAIMS}.json")
        evidence = record["settings"]["evidence"]
        if identities(map(Path, evidence)) != evidence:
            raise DataError(
                f"{artefacts.results / CLAIMS}: expected verdicts on the tables and measures that are here, found others: decide "
                f"again, and archive then: {record['command']}"
            )


def _read_me(preset: str, missing: Sequence[str]) -> str:
    """Text of the archive's README."""
    return f"""# Results of crosslens, {preset} preset

Tables, figures and verdicts, and what `make verify ARCHIVE=FILE` makes them again from, in a clone of crosslens at revision
{revision()}. There docs/archive.md says what each folder holds.

Not built when this archive was written: {", ".join(missing) or "nothing"}.
"""


def _files(artefacts: Artefacts, folder: Path) -> Iterator[tuple[str, Path]]:
    """Name in the archive and path of each file. folder: files written for the archive, under their names in it."""
    for place, checksums in artefacts.checksum_files.items():
        if is_packed(place):
            yield from ((str(path), path) for path in (*artefacts.files(place), checksums.file))
        else:
            yield f"{CHECKSUM_FILES}/{checksums.file.relative_to(artefacts.results)}", checksums.file
    yield from ((str(path.relative_to(folder)), path) for path in folder.rglob("*") if path.is_file())
    yield from ((str(path), path) for path in (Path(WORKFLOW), LOCK) if path.exists())


def _write(out: Path, files: Mapping[str, Path]) -> None:
    with written(out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, path in files.items():
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as source, archive.open(info, "w") as target:
                shutil.copyfileobj(source, target)
        _check_new(out)  # the path may exist by now


def _by_paper(missing: Sequence[str], artefacts: Artefacts, studies: Studies) -> list[str]:
    """Number of missing tables and figures of each paper, with their places if the archive has others of the paper."""
    keys = {f"{place}{ending}": paper.key for place, (paper, _, _) in studies.items.items() for ending in (".csv", ".svg")}
    counts, papers_there = Counter(keys[place] for place in missing), {keys.get(place) for place in artefacts.checksum_files}
    places = {key: ", ".join(place for place in missing if keys[place] == key) for key in papers_there & counts.keys()}
    return [f"{key}: {counted(n, 'item')}{f' ({places[key]})' if key in places else ''}" for key, n in counts.items()]


def _pending(jobs: list[Job], artefacts: Artefacts) -> tuple[list[str], list[str]]:
    """Places of planned tables and figures that do not exist, and of those that exist and would be made again."""
    outputs = (Path(job.output[0]) for job in jobs if "item" in job.wildcards)
    places = sorted(str(path.relative_to(artefacts.results)) for path in outputs)
    missing = [place for place in places if place not in artefacts.checksum_files]
    return missing, [place for place in places if place in artefacts.checksum_files]
