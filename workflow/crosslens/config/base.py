"""What every section of the configuration shares. Fast to import, because the Snakefile does so at each call."""

import csv
import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosslens.errors import DataError

if TYPE_CHECKING:
    from crosslens.config.whole import Config

LANGUAGES_CSV = Path(__file__).parents[3] / "resources" / "languages.csv"

Rate = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
LANGUAGE_PATTERN = "^[a-z]{2,3}(_[a-z]+)?$"
Language = Annotated[str, Field(pattern=LANGUAGE_PATTERN)]
Split = Literal["train", "validation", "dev", "test"]
FLORES = {"et": "est_Latn", "ko": "kor_Hang", "zh": "zho_Hans", "zh_hant": "zho_Hant"}


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

    name, script (ISO 15924), iso639_3, glottocode; wals (code) and family and genus as named in WALS v2020.4; wikipedia (name
    of the database), cc100 (file of CC-100). Empty where a source does not have the language. A code with _ is a language in
    another script, which only CC-100 distinguishes.
    """
    with open(LANGUAGES_CSV, encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


def check_languages(languages: Iterable[str]) -> None:
    """Raise ValueError for a language that is unknown or named twice."""
    known = list(languages)
    unknown = [code for code in known if code not in languages_table()]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} not in resources/languages.csv: correct the codes or add a line for each")
    twice = sorted({code for code in known if known.count(code) > 1})
    if twice:
        raise ValueError(f"languages: {', '.join(twice)} listed more than once: remove the repetitions")


def flores(language: str) -> str:
    """Name of a language in FLORES-200, such as deu_Latn: our table's ISO 639-3 code and script, but for four languages."""
    row = languages_table()[language]
    return FLORES.get(language, f"{row['iso639_3']}_{row['script']}")


class Section(BaseModel):
    """A part of the configuration: unknown keys are rejected, and it does not change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperSection(Section):
    """What every paper's section has."""

    encoder: str = Field(description="key of encoders")
    reading: str = Field(description="key of readings: how the paper's texts become tokens")

    def check(self, config: "Config") -> None:
        """Raise ValueError, with the key, where the section does not fit the rest of the configuration."""
        raise NotImplementedError


def nearest(key: str, names: Iterable[str] | None = None) -> str:
    """'; did you mean ...?' for an unknown name, or ''; without `names`, those of all keys."""
    known = {name for section in Section.__subclasses__() for name in section.model_fields} if names is None else names
    close = difflib.get_close_matches(key, sorted(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
