"""What every section of the configuration shares. Light: the Snakefile imports it at each call."""

import csv
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosslens.errors import DataError

LANGUAGES_CSV = Path(__file__).parents[3] / "resources" / "languages.csv"

Rate = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
LANGUAGE_PATTERN = "^[a-z]{2,3}(_[a-z]+)?$"
Language = Annotated[str, Field(pattern=LANGUAGE_PATTERN)]
Split = Literal["train", "validation", "dev", "test"]


def or_null(schema: dict[str, Any]) -> None:
    """Let the values of a mapping be null in its JSON schema."""
    values = schema.get("patternProperties", schema)  # the former where names have a pattern
    for key in [key for key in values if values is not schema or key == "additionalProperties"]:
        values[key] = {"anyOf": [values[key], {"type": "null"}]}


class ConfigError(DataError):
    """A wrong value in the configuration."""


@cache
def languages_table() -> dict[str, dict[str, str]]:
    """resources/languages.csv: code -> the columns of its row.

    name, script (ISO 15924), iso639_3, glottocode; wals (code) and family and genus as WALS v2020.4 names them; wikipedia (name
    of the database), cc100 (file of CC-100). What a source lacks is empty. A code with _ is another way of writing a language,
    which only CC-100 has apart.
    """
    with open(LANGUAGES_CSV, encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


class Section(BaseModel):
    """A part of the configuration: no unknown keys, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
