"""The table of sources: resources/sources.yaml, and the checksums beside it."""

import csv
import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from crosslens.config.base import Section
from crosslens.errors import DataError

SOURCES_YAML = Path(__file__).parents[3] / "resources" / "sources.yaml"


class OfficialFile(Section):
    """What is known of an official file."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the official file as it is published")
    bytes: Annotated[int, Field(ge=0)] = Field(description="its size")


class Source(Section):
    """One official distribution of data."""

    title: str = Field(min_length=1)
    version: str = Field(min_length=1, description="release, tag or date; 'by file' where each file has its own")
    licence: str = Field(min_length=1)
    citation: str = Field(min_length=1)
    path: str = Field("{path}", description="shape of a file's path, e.g. {wiki}/{date}/{file}")
    url: str | None = Field(None, pattern=r"^https://", description="of a file, with {path} or the names in `path`")
    files: dict[str, OfficialFile] = Field({}, description="files whose digest is known")
    checksums: str | None = Field(None, description="tab-separated table beside this one: path, sha256, bytes")
    manual: str | None = Field(None, description="how a person can obtain files that have no URL")
    mirror: list[str] = Field([], description="folders of this source inside a mirror")

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        names = set(re.findall(r"{(\w+)}", self.path)) | {"path"}
        unknown = set(re.findall(r"{(\w+)}", self.url or "")) - names
        if unknown:
            raise ValueError(f"url names {', '.join(sorted(unknown))}, which `path` does not")
        return self

    def url_of(self, path: str) -> str | None:
        """Where an official file can be downloaded, None if it cannot.

        Raises DataError where the path has not the shape of this source's paths.
        """
        if self.url is None:
            return None
        values = {"path": path}
        if self.path != "{path}":
            # A part is everything between slashes; the last takes what is left.
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
            match = re.fullmatch(pattern, path)
            if match is None:
                raise DataError(f"{path}: a path like {self.path} expected by '{self.title}'; correct the file's name")
            values |= match.groupdict()
        return self.url.format(**values)

    def sha256_of(self, path: str) -> str | None:
        """Expected digest of an official file, None if it is not known."""
        known = self.files.get(path)
        return known.sha256 if known else None

    def mirrors(self, folders: list[str] | list[Path]) -> list[Path]:
        """This source's folders in mirrors, in order."""
        return [Path(folder) / PurePosixPath(inside) for folder in folders for inside in self.mirror]


def load(path: Path = SOURCES_YAML) -> dict[str, Source]:
    """Read the table: id -> source, with checksum tables taken in. Raises DataError: one line, file and key."""
    with open(path, encoding="utf-8") as stream:
        try:
            entries: dict[str, dict[str, Any]] = yaml.safe_load(stream)
        except yaml.YAMLError as error:
            raise DataError(f"{path}: YAML expected: {' '.join(str(error).split())}; correct it") from None
    sources = {}
    for key, entry in entries.items():
        try:
            source = Source.model_validate(entry)
            if source.checksums:
                known = source.files | _checksums(path.parent / source.checksums)
                source = source.model_copy(update={"files": known})
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(str(part) for part in (key, *problem["loc"]))
            raise DataError(f"{path}: {place}: {problem['msg']}; correct it") from None
        sources[key] = source
    return sources


def _checksums(path: Path) -> dict[str, OfficialFile]:
    """The official files of a table with columns path, sha256, bytes."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = csv.DictReader((line for line in stream if not line.startswith("#")), delimiter="\t")
        return {row.pop("path"): OfficialFile.model_validate(row) for row in rows}
