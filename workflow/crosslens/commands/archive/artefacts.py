"""Artefacts of a folder of results: their checksum files, what was made from what, and which of them an archive has."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from crosslens.jobs.checksums import Checksums, artefacts, readable_checksums
from crosslens.jobs.snakemake_metadata import noted
from crosslens.papers import KEYS

FOLDERS = ("sources", "corpora", "tokenizers", "encoders", "tokens", "samples", "models", "states", "measures", "scores")
"""Folders of the artefacts of each stage, below the results folder."""
BLANKED = ("tokens", "samples")
"""Stages with files that an archive has without their texts (blanks.py), since few licences allow passing texts on."""
CHECKSUMS_ALONE = ("sources", "corpora", "encoders", "states")  # stages whose files an archive leaves out, except checksum files
WEIGHTS = ".safetensors"


@dataclass(frozen=True)
class Artefacts:
    """Files and folders with checksum files in a folder of results.

    results: the folder.
    checksum_files: checksum files by place (path below the folder), in order.
    """

    results: Path
    checksum_files: Mapping[str, Checksums]

    @classmethod
    def of(cls, results: Path) -> "Artefacts":
        """Everything that has a checksum file in a folder of results, without the results of other presets below it."""
        top = ((str(path), readable_checksums(path)) for path in results.glob("[!.]*") if path.is_file())
        checksummed = chain(top, artefacts(str(results), [*FOLDERS, *KEYS]))
        return cls(
            results, {str(Path(path).relative_to(results)): checksums for path, checksums in sorted(checksummed) if checksums}
        )

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """How each artefact was made, by place: Snakemake's record; its `input` has places for files below the results."""
        records = {place: noted(checksums, "record") for place, checksums in self.checksum_files.items()}
        return {place: record for place, record in records.items() if isinstance(record.get("input"), list)}

    def inputs(self, place: str) -> list[str]:
        """Artefacts that an artefact was made from, by place."""
        return [name for name in map(str, self.records.get(place, {}).get("input", ())) if stage(name) in FOLDERS]

    def files(self, place: str) -> list[Path]:
        """Files of an artefact, without its checksum file."""
        return sorted(self.checksum_files[place].digests)


def stage(place: str) -> str:
    """Folder of the stage or paper that an artefact is in; its own name if it is in neither."""
    return place.partition("/")[0]


def is_packed(place: str) -> bool:
    """Whether an archive has the files of an artefact as they are."""
    return stage(place) not in (*BLANKED, *CHECKSUMS_ALONE) and not place.endswith(WEIGHTS)


def is_table(place: str) -> bool:
    """Whether an artefact is a table: of an item, of claims, or the scoreboard."""
    return place.endswith(".csv") and not place.endswith(".svg.csv") and stage(place) not in FOLDERS
