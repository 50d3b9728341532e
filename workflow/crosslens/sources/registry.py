"""The table of sources: resources/sources.yaml, and the checksums beside it."""

import csv
import fnmatch
import re
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import quote

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from crosslens.config.base import Section
from crosslens.errors import DataError
from crosslens.sources.fetch import in_mirrors

SOURCES_YAML = Path(__file__).parents[3] / "resources" / "sources.yaml"

Text = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https://")]


class OfficialFile(Section):
    """What is known of an official file."""

    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="of the official file as it is published")
    bytes: Annotated[int, Field(ge=0)] | None = Field(None, description="its size")

    @model_validator(mode="after")
    def _something_is_known(self) -> Self:
        if self.sha256 is None and self.bytes is None:
            raise ValueError("sha256, bytes or both expected")
        return self


class Source(Section):
    """One official distribution of data."""

    title: Text
    version: Text = Field(description="release, tag or date; 'by file' where each file has its own")
    licence: Text
    citation: Text
    path: Text = Field("{path}", description="shape of a file's path, e.g. {wiki}/{date}/{file}")
    example: Text = Field(description="a path, which shows what the others look like")
    url: Annotated[list[Url], BeforeValidator(lambda url: [url] if isinstance(url, str) else url)] = Field(
        [], description="of a file, with {path} or the names in `path`; several are tried in order"
    )
    files: dict[str, OfficialFile] = Field({}, description="files whose digest or size is known")
    checksums: str | None = Field(None, description="table of files beside this one, tab-separated: path, sha256, bytes")
    manual: Text | None = Field(None, description="what must be supplied by hand, and how")
    built: bool = Field(False, description="comes with crosslens or is made by it: nothing to fetch or to supply")
    mirror: list[str] = Field([], description="folders of this source inside a mirror, beside the one of its own name")

    @model_validator(mode="after")
    def _obtainable(self) -> Self:
        names = set(re.findall(r"{(\w+)}", self.path)) | {"path"}
        unknown = set(re.findall(r"{(\w+)}", " ".join(self.url))) - names
        if unknown:
            raise ValueError(f"url names {', '.join(sorted(unknown))}, which `path` does not")
        if not self.url and not self.manual:
            raise ValueError("`manual` expected where there is no url: what must be supplied by hand, and how")
        return self

    def urls_of(self, path: str) -> list[str]:
        """Where an official file can be downloaded, in order of preference; [] if it cannot.

        Raises DataError where the path has not the shape of this source's paths.
        """
        values = {"path": path}
        if self.path != "{path}":
            # A part is everything between slashes.
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
            match = re.fullmatch(pattern, path)
            if match is None:
                raise DataError(f"{path}: a path like {self.path} expected by '{self.title}'; correct the file's name")
            values |= match.groupdict()
        return [url.format(**{name: quote(value) for name, value in values.items()}) for url in self.url]

    def sha256_of(self, path: str) -> str | None:
        """Expected digest of an official file, None if it is not known."""
        return self.files[path].sha256 if path in self.files else None

    def bytes_of(self, path: str) -> int | None:
        """Expected size of an official file, None if it is not known."""
        return self.files[path].bytes if path in self.files else None

    def matching(self, pattern: str) -> list[str]:
        """Files of the source's table that match a pattern, in which * is any characters; the pattern itself where it has no *.

        Raises DataError where nothing matches.
        """
        if "*" not in pattern:
            return [pattern]
        found = sorted(fnmatch.filter(self.files, pattern))
        if not found:
            raise DataError(f"{pattern}: no such file in the table of '{self.title}'; correct the pattern, or name the files")
        return found

    def mirrors(self, folders: list[str] | list[Path]) -> list[Path]:
        """This source's folders in mirrors, in order."""
        return in_mirrors(folders, self.mirror)


def load(path: Path = SOURCES_YAML) -> dict[str, Source]:
    """Read the table: id -> source, with checksum tables taken in. Raises DataError: one line, file and key.

    A source's id is also the name of its folder in a mirror, so that the sources of one working copy can be the mirror of
    another.
    """
    with open(path, encoding="utf-8") as stream:
        try:
            entries: dict[str, dict[str, Any]] = yaml.safe_load(stream)
        except yaml.YAMLError as error:
            raise DataError(f"{path}: YAML expected: {' '.join(str(error).split())}; correct it") from None
    sources = {}
    for key, entry in entries.items():
        try:
            source = Source.model_validate(entry)
            table = _table(path.parent / source.checksums) if source.checksums else {}
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(str(part) for part in (key, *problem["loc"]))
            raise DataError(f"{path}: {place}: {problem['msg']}; correct it") from None
        folders = list(dict.fromkeys([*source.mirror, key]))
        sources[key] = source.model_copy(update={"files": source.files | table, "mirror": folders})
    return sources


def _table(path: Path) -> dict[str, OfficialFile]:
    """The official files of a table with columns path, sha256, bytes; an empty cell is not known."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = csv.DictReader((line for line in stream if not line.startswith("#")), delimiter="\t")
        return {row.pop("path"): OfficialFile.model_validate({name: cell or None for name, cell in row.items()}) for row in rows}
