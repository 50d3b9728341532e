"""The configuration, checked: every paper has its typed section in it.

An unknown key, a wrong type or a value out of range raises a `ConfigError` that names the key, what was expected and, for a
misspelt key, the closest name. The JSON schema and docs/config.md are generated from these models (workflow/documents).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from pydantic import Field, ValidationError, create_model

from crosslens.config.base import LANGUAGE_PATTERN, ConfigError, Name, Section, nearest
from crosslens.config.whole import Config
from crosslens.papers import KEYS
from crosslens.runs.errors import short, shown
from crosslens.sources.registry import OwnSource

# One section per paper, from the one list of papers; a paper that is not configured is null.
_SECTIONS: dict[str, Any] = {
    key: (import_module(f"crosslens.papers.{key}.config").PAPER_SECTION | None, Field(None, description="null: not configured"))
    for key in KEYS
}
Papers = create_model("Papers", __base__=Section, __doc__="One section per paper.", **_SECTIONS)


class WholeConfig(Config):
    """The whole configuration."""

    papers: Papers = Field(description="the studies")
    sources: dict[Name, OwnSource] = Field(
        {}, description="sources beside those of resources/sources.yaml, by name, which is also their folder in a mirror"
    )


LONGEST = 1200  # characters of a line of an error
MOST = 50  # keys that an error names
TRUTHS = "YAML reads yes, no, on and off as truth values: put it in quotes"
EXPECTED = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text", "list_type": "a list",
    "dict_type": "a section", "model_type": "a section", "model_attributes_type": "a section",
    "greater_than_equal": "at least {ge}", "greater_than": "above {gt}", "less_than_equal": "at most {le}",
    "less_than": "below {lt}", "too_short": "{min_length} or more entries", "literal_error": "{expected}",
    "string_pattern_mismatch": "text matching {pattern}", "string_too_long": "at most {max_length} characters",
    "union_tag_invalid": "one of {expected_tags}",
}  # fmt: skip


def _key(location: Sequence[str | int], values: Any, last: bool) -> str:
    """Path of a key as the user wrote it, without the names of union members; last: whether a missing last part belongs to it."""
    parts = []
    for number, part in enumerate(location):
        if isinstance(values, Mapping):
            exists = part in values
        else:
            exists = isinstance(values, list) and isinstance(part, int) and part < len(values)
        if exists:
            values = values[part]
        if exists or (last and number == len(location) - 1):
            parts.append(part[:80] if isinstance(part, str) else short(part))
    return ".".join(parts)


def _message(problem: Any, values: Mapping[str, Any]) -> tuple[str, str, str]:
    """Key, expectation (or the whole message), and a clause on the value that was found, '' where the message is complete."""
    kind, location, value = problem["type"], problem["loc"], problem["input"]
    context = problem.get("ctx", {})
    if location[:1] in (("encoders",), ("corpora",)):
        location = location[:2] + location[3:]  # without the form (kind, source) that the third part names
    key = _key(location, values, kind == "missing")
    if kind == "extra_forbidden":
        return key, f"unknown key{nearest(location[-1])}", ""
    if kind == "missing":
        return key, "expected a value, found none", ""
    if kind == "value_error":
        return key, str(context["error"]), ""
    if kind == "union_tag_not_found":
        return f"{key}.{context['discriminator'].strip(chr(39))}", "expected a value, found none", ""
    if problem["loc"][-1:] == ("[key]",) and kind == "string_pattern_mismatch":
        marks = [mark for mark in "._-" if mark in re.sub("[a-z0]-[z9]", "", context["pattern"])]
        return key, f"expected a name of lower-case letters, digits{' and ' * bool(marks)}{' '.join(marks)}", ""
    if problem["loc"][-1:] == ("[key]",) and kind == "string_too_long":
        return key, f"expected a name of at most {context['max_length']} characters", ""
    if problem["loc"][-1:] == ("[key]",):
        names = context.get("expected", "").replace(" or ", ", ").replace("'", "").split(", ")
        return key, f"unknown key, expected {context.get('expected', 'another name')}{nearest(value, names)}", ""
    text = EXPECTED.get(kind, problem["msg"]).format(**context)
    hint = ""
    if context.get("pattern") == LANGUAGE_PATTERN:
        text = "a language code of two or three letters"
    elif kind == "union_tag_invalid":
        key, value = f"{key}.{context['discriminator'].strip(chr(39))}", context.get("tag")
        hint = nearest(value, context.get("expected_tags", "").replace("'", "").split(", "))
    elif kind == "literal_error" and isinstance(value, str):
        hint = nearest(value, context["expected"].replace(" or ", ", ").replace("'", "").split(", "))
    elif kind == "string_type" and isinstance(value, bool):
        hint = f" ({TRUTHS})"
    return key, text, f", found {short(value)}{hint}"


def _truth_keys(values: Any, section: str = "") -> Iterator[tuple[str, bool]]:
    """Path of each section that has a truth value as a key, and that key."""
    for key, value in values.items() if isinstance(values, Mapping) else enumerate(values) if isinstance(values, list) else ():
        if isinstance(key, bool):
            yield section, key
        else:
            yield from _truth_keys(value, f"{section}.{key}"[not section :])


def _readable(line: str) -> str:
    """A line as a terminal may show it: values of the user may be of any length and have any characters."""
    text = shown(line, len(line))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def load(values: Mapping[str, Any], origin: str = "config.yaml") -> WholeConfig:
    """Check and type a configuration, all papers of which fit the rest of it.

    Raises ConfigError, one line per key: `origin: key: expected ..., found ...`.
    """
    config, misfits = load_fitting(values, origin)
    if misfits:
        raise ConfigError("\n".join(misfits.values()))
    return config


def load_fitting(values: Mapping[str, Any], origin: str = "config.yaml") -> tuple[WholeConfig, dict[str, str]]:
    """Check and type a configuration without the papers that do not fit the rest of it, and a line that says why, by their keys.

    So one paper can be asked for with corpora, or an encoder, that do not suit the settings of the others. Raises ConfigError.
    """
    config = _typed(values, origin)
    misfits = {
        key: "\n".join(_readable(f"{origin}: {line}") for line in reason.split("\n")) for key, reason in config.misfits().items()
    }
    if misfits:
        config = _typed({**values, "papers": {**values["papers"], **dict.fromkeys(misfits)}}, origin)
    return config, misfits


def _typed(values: Mapping[str, Any], origin: str) -> WholeConfig:
    try:
        return WholeConfig.model_validate(dict(values))
    except ValidationError as error:
        truth_keys = dict(_truth_keys(values))
        problems = {section: ([f"key {key}: {TRUTHS}"], "") for section, key in truth_keys.items()}
        for problem in error.errors():
            key, text, clause = _message(problem, values)
            if not any(f"{key}.".startswith(f"{section}."[not section :]) for section in truth_keys):
                problems.setdefault(key, ([], clause))[0].append(text)
        lines = [
            ": ".join(filter(None, (origin, key, "expected " * bool(clause) + " or ".join(dict.fromkeys(texts)) + clause)))
            for key, (texts, clause) in problems.items()
        ]
        more = [f"{origin}: and {len(lines) - MOST} more keys"] * (len(lines) > MOST)
        raise ConfigError("\n".join(map(_readable, [*lines[:MOST], *more]))) from None
