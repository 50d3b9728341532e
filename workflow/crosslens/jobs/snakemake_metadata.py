"""Snakemake's metadata of outputs, kept in their checksum files: what counts is an output's content, not its path and time.

Snakemake records in .snakemake how each output was made, and compares modification times. Both mislead if results are copied,
moved, restored or replaced by others. `install` makes Snakemake keep that record in the output's checksum file, together with
the identity of each input, and read it from there. Snakemake itself still decides whether the record fits, and so gives its
usual reasons for a rerun.

This is the only module that replaces methods of Snakemake: PersistenceBase's `metadata`, `has_metadata` and `finished`, and
`_IOFile.is_newer`. tests/faults/test_records.py fails on a version of Snakemake that has others.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import Checksums, readable_checksums
from crosslens.jobs.errors import DataError

PLACE = "{results}/"  # replaces the results folder in the metadata of checksum files, since its name may differ elsewhere
EDITED = "edited"  # identity of an artefact that has changed since it was checksummed


def noted(checksums: Checksums, word: str, prefix: str = "") -> dict[str, Any]:
    """JSON object in a note of a checksum file; {} without one. word: of the note. prefix: text that replaces PLACE in it."""
    text = checksums.notes.get(word, "").replace(PLACE, json.dumps(prefix)[1:-1])
    with suppress(DataError):
        if isinstance(value := parse_json(text, checksums.file), dict):
            return value
    return {}


@dataclass
class ChecksumMetadata:
    """Metadata of the outputs below a results folder.

    results: the folder, as rules name it. record: function that makes a record of Snakemake from the fields `params` and `input`.
    digest: function that returns the sha256 of a file, cached until the file changes.
    """

    results: str
    record: Callable[..., Any]
    digest: Callable[[Path], str]
    _identities: dict[str, str] = field(default_factory=dict)
    _records: dict[str, Any] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """Beginning of the paths of all outputs."""
        return f"{self.results}/"

    def read(self, output: str) -> Any:
        """Record of an output, from its checksum file, by which Snakemake judges the output; None without a checksum file.

        It fits no job if the output was made for another place or from other inputs, or if its checksum file has no record.
        """
        if output not in self._records:
            checksums = readable_checksums(Path(output))
            self._records[output] = self._judged(output, checksums) if checksums else None
        return self._records[output]

    def unknown(self) -> Any:
        """Record that fits no job, for an output of unknown origin."""
        return self.record(params=["no record of how it was made"])

    def write(self, output: str, recorded: Mapping[str, Any]) -> None:
        """Write Snakemake's record of an output, and the identities of its inputs, into its checksum file."""
        checksums, place = readable_checksums(Path(output)), output.removeprefix(self.prefix)
        if checksums and checksums.notes.get("artefact", place) == place:
            text = re.sub(rf"(?<=[\"']){re.escape(json.dumps(self.prefix)[1:-1])}", PLACE, json.dumps(recorded))
            inputs = [path.removeprefix(self.prefix) for path in recorded["input"] if path.startswith(self.prefix)]
            checksum_files = {name: readable_checksums(Path(self.results, name)) for name in inputs}
            identities = {name: checksums.identity for name, checksums in checksum_files.items() if checksums}
            notes = {"artefact": place, "record": text, "inputs": json.dumps(identities)}
            replace(checksums, notes={**checksums.notes, **notes}).write()
        self._identities.clear()
        self._records.clear()

    def identity(self, path: str) -> str:
        """Identity of an artefact: that of its checksum file, or EDITED; "" without a checksum file."""
        if path not in self._identities:
            checksums = readable_checksums(Path(path))
            self._identities[path] = "" if checksums is None else EDITED if checksums.edited(self.digest) else checksums.identity
        return self._identities[path]

    def values(self, checksums: Checksums) -> dict[str, Any]:
        """Snakemake's record in a checksum file, with the results folder as it is named here; {} if there is none."""
        values = noted(checksums, "record", self.prefix)
        return values if all(isinstance(values.get(name), list) for name in ("params", "input")) else {}

    def inputs(self, checksums: Checksums) -> dict[str, Any]:
        """Identity of each input of an artefact when it was made, by the input's place below the results."""
        return noted(checksums, "inputs")

    def fits(self, checksums: Checksums, params: Set[str], inputs: Set[str]) -> bool:
        """Whether an artefact was made by a job with these params and inputs, written as Snakemake records them."""
        values = self.values(checksums)
        return bool(values) and {*map(str, values["params"])} == params and {*map(str, values["input"])} == inputs

    def _judged(self, output: str, checksums: Checksums) -> Any:
        values, place = self.values(checksums), checksums.notes.get("artefact", "")
        if place not in ("", output.removeprefix(self.prefix)):
            return self.record(params=[f"made as {place}"])
        if not values:
            return self.unknown()
        inputs = {f"{self.results}/{name}": identity for name, identity in self.inputs(checksums).items()}
        changed_inputs = [path for path, identity in inputs.items() if self.identity(path) not in ("", identity)]
        params = [*values["params"], *(f"made from another {path}" for path in changed_inputs)]
        return self.record(params=params, input=sorted(values["input"]))


def install(persistence: Any, file: Any, metadata: ChecksumMetadata) -> None:
    """Make Snakemake judge outputs below the results folder by their checksum files.

    It may be called again for another results folder. persistence, file: Snakemake's classes PersistenceBase and _IOFile.
    """
    read_record, finish, is_newer = persistence.metadata, persistence.finished, file.is_newer

    def read_noted(self: Any, target: Any) -> Any:
        path = str(target)
        if not path.startswith(metadata.prefix):
            return read_record(self, target)
        return metadata.read(path) or read_record(self, target) or (metadata.unknown() if os.path.lexists(path) else None)

    def has_metadata(self: Any, job: Any) -> bool:
        # Snakemake would not check a job at all if one of its outputs had no record, such as weights that were deleted.
        return not job.output or any(self.metadata(path) is not None for path in job.output)

    async def finish_noted(self: Any, job: Any) -> None:
        await finish(self, job)
        self._clear_cache()
        for path in map(str, job.output):
            if path.startswith(metadata.prefix) and (recorded := self._read_record(path)):
                metadata.write(path, dict(recorded.items()))

    async def is_newer_unsealed(self: Any, time: float) -> bool:
        # Whether a checksummed input has changed is decided by its identity; its modification time does not count.
        path = str(self)
        has_checksums = path.startswith(metadata.prefix) and metadata.identity(path)
        return not has_checksums and await is_newer(self, time)

    persistence.metadata, persistence.has_metadata, persistence.finished = read_noted, has_metadata, finish_noted
    file.is_newer = is_newer_unsealed
