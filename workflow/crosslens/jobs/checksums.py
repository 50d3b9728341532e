"""Checksum files, which are written with an artefact and verified whenever it is read.

A checksum file has the sha256 of every file. Its comment lines, which `sha256sum --check` ignores, have the artefact's place
below the results folder and the record of how it was made (jobs/snakemake_metadata.py). Some files also say when they were made
and how long that took. A second digest leaves this out, so that an artefact rebuilt with the same content counts as the same.
"""

import csv
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from crosslens.jobs.call import command, set_aside
from crosslens.jobs.digest_cache import stamp
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256, share, written

SUMS = ".SHA256SUMS"  # checksum file of a folder, inside it; that of a single file is beside it as .NAME.sha256
RESULTS = "CROSSLENS_RESULTS"  # environment variable: results folders, joined by os.pathsep; jobs inherit it
NO_DIGEST = "without the digest that it was written with"
RUN = ("command", "host", "made", "seconds", "training_seconds", "subwords_a_second")
"""Keys of records and columns of histories that describe the run that made an artefact, not its content."""
NOTES = ("artefact", "content", "record", "inputs")  # first words of the notes in a checksum file
UNFINISHED = re.compile(r"\..*\.part-.+")  # names of `written`'s temporary folders


@dataclass(frozen=True)
class Checksums:
    """Content of a checksum file.

    file: its path. sums: its lines with digests. notes: its comments by their first word. `artefact` is the place of the artefact
    below the results folder. `content` is a digest that leaves RUN out, followed by a digest that binds it to the sums. `record`
    and `inputs` say how the artefact was made. A checksum file that a user made with sha256sum has no notes.
    """

    file: Path
    sums: str
    notes: Mapping[str, str]

    @cached_property
    def identity(self) -> str:
        """Sixteen hex digits that identify the checksummed content, independent of when and how fast it was made."""
        content = self.notes.get("content", "").partition(" ")[0]
        return content if content and self.notes["content"] == _content_note(content, self.sums) else _short_digest(self.sums)

    @property
    def digests(self) -> dict[Path, str]:
        """sha256 of each file, by path. Raises ValueError if a line has no digest, or if a note is damaged."""
        content = self.notes.get("content", "")
        if not self.notes.keys() <= {*NOTES} or content and content != _content_note(content.partition(" ")[0], self.sums):
            raise ValueError(f"{self.file}: a note is damaged")
        lines = [line.split("  ", 1) for line in self.sums.split("\n")[:-1]]
        return {self.file.parent / name: digest for digest, name in lines}

    def edited(self, digest: Callable[[Path], str]) -> bool:
        """Whether a file has changed since it was checksummed, or a file of a folder is missing.

        digest: function that returns the sha256 of a file. It is called only for files that were written, renamed or replaced
        after the checksum file, which their ctime shows: unlike mtime, it cannot be set.
        """
        try:
            written_at = self.file.stat().st_ctime_ns
            files = [item for item in self.digests.items() if self.file.name == SUMS or item[0].exists()]
            return any(path.stat().st_ctime_ns >= written_at and digest(path) != expected for path, expected in files)
        except (OSError, ValueError):  # missing, no regular file, or a damaged checksum file
            return True

    @classmethod
    def read(cls, file: Path) -> "Checksums":
        """Read a checksum file. Raises OSError if it cannot be read, ValueError if it is not text."""
        lines = file.read_text("utf-8").split("\n")[:-1]
        comments = [line[2:].partition(" ") for line in lines if line.startswith("# ")]
        sums = [line for line in lines if not line.startswith("# ")]
        return cls(file, "".join(f"{line}\n" for line in sums), {word: text for word, _, text in comments})

    def write(self) -> None:
        """Write the checksum file atomically."""
        comments = [f"# {word} {text}\n" for word, text in self.notes.items()]
        with written(self.file) as temporary:
            temporary.write_text("".join(comments) + self.sums, "utf-8")


@contextmanager
def checksummed(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path like `written`, and write a checksum file for what the caller wrote there.

    Everything that a later step reads is written in this way. A file in a folder that is itself being written gets no checksum
    file of its own: that of the folder covers it.
    """
    path = Path(path)
    is_covered = any(UNFINISHED.fullmatch(parent.name) for parent in path.parents)

    def finish(content: Path) -> None:
        if content.is_dir() or not is_covered:
            write_checksums(content, path)
        share(content)

    with written(path, finish) as temporary:
        yield temporary


def write_checksums(content: Path, path: Path | None = None) -> None:
    """Write the checksum file of a folder inside it, or that of a file next to it.

    content: current path of the artefact. path: final path of the artefact; None if that is `content`.
    """
    path = path or content
    if content.is_dir():
        file, files = content / SUMS, {part.relative_to(content).as_posix(): part for part in sorted(_visible(content))}
    else:
        file, files = checksum_file_beside(path), {path.name: content}
    sums = {name: sha256(part) for name, part in files.items()}
    lasting = {name: hashlib.sha256(text.encode()).hexdigest() for name in files if (text := _without_run(files[name]))}
    content_note = _content_note(_short_digest(_lines(sums | lasting)), _lines(sums)) if lasting else ""
    notes = {"artefact": _place(path), "content": content_note}
    Checksums(file, _lines(sums), {word: text for word, text in notes.items() if text}).write()


def _lines(digests: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def _content_note(content: str, sums: str) -> str:
    """Value of the note `content`: a digest that leaves RUN out, and a digest that binds it to the sums."""
    return f"{content} {_short_digest(content + sums)}"


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_run(file: Path) -> str:
    """Content of a record or history without RUN; "" for any other file, and for one that is neither JSON nor CSV."""
    try:
        if file.name == "record.json" or file.name.endswith((".csv.json", ".svg.json")):
            record = json.loads(file.read_text("utf-8"))
            parts = [record, *record.get("training_runs", ())]
            return json.dumps([{key: part[key] for key in sorted(part.keys() - {*RUN, "training_runs"})} for part in parts])
        if file.name == "history.csv":
            with file.open(newline="", encoding="utf-8") as stream:
                return json.dumps(
                    [{key: row[key] for key in row.keys() - {*RUN}} for row in csv.DictReader(stream)], sort_keys=True
                )
    except (ValueError, AttributeError, TypeError):
        pass
    return ""


def checksum_file_beside(path: Path) -> Path:
    """Path of the checksum file of a single file."""
    return path.with_name(f".{path.name}.sha256")


def read_checksums(artefact: Path) -> Checksums:
    """Checksum file of a file or folder. Raises FileNotFoundError if it has none, ValueError if that is not text."""
    return Checksums.read(artefact / SUMS if artefact.is_dir() else checksum_file_beside(artefact))


def readable_checksums(artefact: Path) -> Checksums | None:
    """Checksum file of a file or folder; None if it has none, or if it cannot be read."""
    try:
        return read_checksums(artefact)
    except (OSError, ValueError):
        return None


def artefacts(results: str, folders: Iterable[str]) -> Iterator[tuple[str, Checksums]]:
    """Yield the path and checksum file of each artefact in some folders below the results. Links to folders are not followed.

    results: results folder. folders: names of the folders below it.
    """
    for top in folders:
        for folder, subfolders, names in os.walk(f"{results}/{top}"):
            if SUMS in names:
                subfolders.clear()
                paths = [folder]
            else:
                subfolders[:] = [name for name in subfolders if not name.startswith(".")]
                paths = [f"{folder}/{name}" for name in names if not name.startswith(".")]
            for path in paths:
                if checksums := readable_checksums(Path(path)):
                    yield path, checksums


def identities(paths: Iterable[Path]) -> dict[str, str]:
    """Identity of each file that exists, by path; "" if it has no checksum file, which is reported when the file is read."""
    checksum_files = {str(path): readable_checksums(path) for path in sorted({*paths}) if path.exists()}
    return {path: checksums.identity if checksums else "" for path, checksums in checksum_files.items()}


def verified(path: Path) -> Path:
    """The path itself, after verifying every byte of a checksummed file or folder, or of a part of such a folder.

    Raises DataError, with the command that makes the artefact again, if something is damaged, missing, new, or belongs elsewhere.
    Each process reads a file only once for this purpose.
    """
    artefact = next((folder for folder in (path, *path.parents) if (folder / SUMS).is_file()), path)
    digests = _digests(artefact)
    expected = {file: digest for file, digest in digests.items() if path in (file, *file.parents)}
    files = _visible(path) if path.is_dir() else [path] if path.exists() else []
    if differences := expected.keys() ^ files:
        raise _damaged(min(differences), artefact, "missing" if min(differences) in expected else NO_DIGEST)
    if not expected:
        raise _damaged(path, artefact, "missing")
    for file, expected_digest in expected.items():
        if digest(file) != expected_digest:
            raise _damaged(file, artefact, "not what was written, damaged or changed since")
    return path


def digest(file: Path) -> str:
    """sha256 of a file, computed only once per process unless the file changes."""
    return _digest(file, *stamp(file))


@cache
def _digest(path: Path, *stamp: int) -> str:
    return sha256(path)


def _digests(artefact: Path) -> dict[Path, str]:
    """Digests of an artefact's files, by path. Raises DataError if its checksum file is missing, damaged or of another place."""
    try:
        checksums = read_checksums(artefact)
        digests = checksums.digests
    except FileNotFoundError:
        raise _damaged(artefact, artefact, NO_DIGEST if artefact.exists() else "missing") from None
    except ValueError:
        raise _damaged(artefact, artefact, "its file of checksums is damaged") from None
    place = Path(checksums.notes.get("artefact", ""))
    if place.parts and artefact.absolute().parts[-len(place.parts) :] != place.parts:
        fault = f"expected what belongs here, found what was made as {place}"
        raise _damaged(artefact, artefact, fault, "restore the right one, or ")
    return digests


def _place(path: Path) -> str:
    """Path of an artefact below its results folder; "" outside a run of the workflow."""
    roots = [Path(root) for root in os.environ.get(RESULTS, "").split(os.pathsep) if root and path.is_relative_to(root)]
    return path.relative_to(max(roots, key=lambda root: len(root.parts))).as_posix() if roots else ""


def _visible(folder: Path) -> set[Path]:
    """All files in a folder except hidden ones, such as checksum files and files of Snakemake, editors and file systems."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)}


def _damaged(file: Path, artefact: Path, fault: str, first: str = "") -> DataError:
    again = command(artefact)
    away = f"{set_aside(artefact)} && " if os.path.lexists(artefact) else ""
    return DataError(f"{file}: {fault}; {first}{f'{away}{again}' if again else f'move {artefact} away and build it again'}")
