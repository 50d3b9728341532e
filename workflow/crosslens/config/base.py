"""Base classes of all sections of the configuration, and checks. Fast to import, since every call of Snakemake does so."""

import csv
import difflib
import io
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from crosslens.jobs.bounded import read_text
from crosslens.jobs.errors import short

LANGUAGES_CSV = Path(__file__).parents[3] / "resources" / "languages.csv"
WALS_FAMILIES = {"Turkic": "Altaic", "Mongolic": "Altaic"}
"""Glottolog families that WALS v2020.4 merges into one, as few linguists do: family in resources/languages.csv -> in WALS."""

Rate = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=60)]  # also a folder name
LANGUAGE_PATTERN = "^[a-z]{2,3}(_[a-z]+)?$"
Language = Annotated[str, Field(pattern=LANGUAGE_PATTERN)]
Split = Literal["train", "validation", "dev", "test"]
FLORES = {"et": "est_Latn", "ko": "kor_Hang", "zh": "zho_Hans", "zh_hant": "zho_Hant"}


def or_null(schema: dict[str, Any]) -> None:
    """Make a mapping's JSON schema accept null values, and any number of entries, since null entries do not count."""
    schema.pop("maxProperties", None)
    values = schema.get("patternProperties", schema)  # patternProperties if names have a pattern
    for key in [key for key in values if values is not schema or key == "additionalProperties"]:
        values[key] = {"anyOf": [values[key], {"type": "null"}]}


def without_null(values: Any) -> Any:
    """A mapping without its null entries, with which overlays remove names; any other value is returned for validation."""
    return {name: value for name, value in values.items() if value is not None} if isinstance(values, dict) else values


@cache
def languages_table() -> dict[str, dict[str, str]]:
    """Rows of resources/languages.csv by language code, each a mapping from column to cell.

    Columns: name, script (ISO 15924), iso639_3, glottocode; wals (code) and genus, as in WALS v2020.4; family, as in WALS except
    for WALS_FAMILIES; wikipedia (name of the database), cc100 (file of CC-100). Cells are empty if a source does not have the
    language. A code with _ is a language in a second script, which only CC-100 distinguishes.
    """
    return {row["code"]: row for row in csv.DictReader(io.StringIO(read_text(LANGUAGES_CSV), newline=""))}


@cache
def language_code(name: Any) -> str | None:
    """Code of the language that the name of a row or column refers to; None if it refers to none.

    A name is a code, with or without the mark of a note (zh*), a language's English name, or a pair with English (en-de, de->en),
    which stands for the other language.
    """
    table, text = languages_table(), str(name).rstrip("*")
    if text in table:
        return text
    codes = {row["name"]: code for code, row in table.items()}
    pair = [code for code in text.replace("->", "-").split("-") if code in table]
    return codes.get(text) or (next((code for code in pair if code != "en"), None) if len(pair) == 2 else None)


def families_of(languages: Iterable[Any]) -> list[str]:
    """Family of the language in each name (see `language_code`). An isolate, or a name without a language, is its own family."""
    codes = ((str(name), language_code(name)) for name in languages)
    return [(languages_table()[code]["family"] or code) if code else name for name, code in codes]


def plain(path: str) -> str:
    """Return a path unchanged. Raises ValueError if it is empty, has invisible characters, or begins or ends with a blank."""
    if not path.isprintable() or path != path.strip() or not path:
        raise ValueError(f"expected a path of visible characters, found {path!r:.80}")
    return path


def inside(key: str, paths: Any) -> None:
    """Raise ValueError if a path in the setting `key` is not `plain` or leads out of the source's folder.

    paths: a path, or nested lists and mappings of paths; values of other types are ignored.
    """
    for path in _values(paths):
        if not isinstance(path, str):
            continue
        try:
            plain(path)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
        if path.startswith(("/", "~")) or "\\" in path or ":" in path or {"", ".", ".."} & {*path.rstrip("/").split("/")}:
            raise ValueError(f"{key}: expected a path within the source, without .. and not absolute, found {path!r:.80}")


def fill(pattern: str, **values: str) -> str:
    """A pattern with each {name} replaced by its value. Raises ValueError if braces contain anything but a known name."""
    try:
        if all(field in (None, *values) and not form and not how for _, field, form, how in Formatter().parse(pattern)):
            return pattern.format(**values)
        raise ValueError
    except ValueError:
        names = ", ".join(f"{{{name}}}" for name in values)
        raise ValueError(f"pattern '{pattern}': expected no names in braces other than {names}") from None


def check_languages(languages: Iterable[str]) -> None:
    """Raise ValueError if a language is not in resources/languages.csv."""
    unknown = [code for code in languages if code not in languages_table()]
    if unknown:
        raise ValueError(
            f"expected languages of resources/languages.csv, found {', '.join(unknown)}: correct the codes or add a row for each"
        )


def flores(language: str) -> str:
    """Name of a language in FLORES-200, such as deu_Latn: its ISO 639-3 code and script, with four exceptions."""
    row = languages_table()[language]
    return FLORES.get(language, f"{row['iso639_3']}_{row['script']}")


class Frozen(BaseModel):
    """Typed fields that do not change once they are set; unknown names are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Section(Frozen):
    """A part of the configuration as a user writes it.

    It rejects truth values in place of numbers and vice versa, and lists with repeated entries.
    """

    @model_validator(mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, values: Any) -> Any:
        for name, truth in cls._truths().items() if isinstance(values, dict) else ():
            for part in _values(values.get(name)):
                if isinstance(part, int | float) and isinstance(part, bool) != truth:
                    expected = "true or false" if truth else "a number"
                    hint = "" if truth else " (YAML reads yes, no, on and off as truth values)"
                    raise ValueError(f"{name}: expected {expected}, found {short(part)}{hint}")
        return values

    @classmethod
    @cache
    def _truths(cls) -> dict[str, bool]:
        """Whether a field takes truth values (True) or numbers (False), by name; fields with both or neither are left out.

        Computed once per class, since it is slow.
        """
        types = {name: {*_parts(field.annotation)} for name, field in cls.model_fields.items()}
        return {name: bool in parts for name, parts in types.items() if (bool in parts) != bool(parts & {int, float})}

    @field_validator("*", mode="after")
    @classmethod
    def _each_entry_once(cls, value: Any) -> Any:
        for entries in _values(value):
            if isinstance(entries, list) and (repeated := [entry for i, entry in enumerate(entries) if entry in entries[:i]]):
                raise ValueError(f"expected each entry once, found {short(repeated[0])} a second time; remove the repetition")
        return value


def _parts(annotation: Any) -> Iterator[Any]:
    """A type and all types that it is made of, such as int in list[int] | None."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _values(value: Any) -> Iterator[Any]:
    """A value and, if it is a list or a mapping, all values in it."""
    yield value
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _values(part)


class OneOfKinds(Section):
    """A section that is of one of several kinds; the kind is written out even if it is the default."""

    @model_serializer(mode="wrap")
    def _with_kind(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **fields(self)}  # type: ignore[attr-defined]


def nearest(key: object, names: Iterable[str] | None = None) -> str:
    """'; did you mean ...?' for an unknown name, or ''. names: the valid names; None: all keys of the configuration."""
    key = str(key)
    candidates = {name for section in _subclasses(Section) for name in section.model_fields} if names is None else set(names)
    close = difflib.get_close_matches(key, sorted(candidates - {key}), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _subclasses(section: type[Section]) -> Iterator[type[Section]]:
    """Subclasses of a section, direct and indirect."""
    for subclass in section.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
