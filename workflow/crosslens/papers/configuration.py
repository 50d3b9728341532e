"""The validated configuration, with a typed section for each paper.

An unknown key, a wrong type or a value out of range raises a `DataError` with one line per key: pydantic's message, the value
found and, for a misspelt name, the closest valid one. The JSON schema and docs/config.md are generated from these models
(workflow/crosslens/commands/documents).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from pydantic import Field, ValidationError, create_model

from crosslens.config.base import Name, Section, nearest
from crosslens.config.whole import Config
from crosslens.corpora.sources.registry import OwnSource
from crosslens.jobs.errors import DataError, short, shown
from crosslens.papers import KEYS

# One section per paper, from the one list of papers; a paper that is not configured is null.
_SECTIONS: dict[str, Any] = {
    key: (import_module(f"crosslens.papers.{key}.config").PAPER_SECTION | None, Field(None, description="null: not configured."))
    for key in KEYS
}
Papers = create_model("Papers", __base__=Section, __doc__="One section per paper.", **_SECTIONS)


class WholeConfig(Config):
    """The whole configuration."""

    papers: Papers = Field(description="One section per paper.")
    sources: dict[Name, OwnSource] = Field({}, description="Your own data sources by name.")


TRUTHS = "; YAML reads yes, no, on and off as truth values: put it in quotes"


def _line(problem: Any, values: Mapping[str, Any]) -> tuple[str, str, str]:
    """Key of a problem as the user wrote it, the message, and the value found with the nearest name, if not in the message."""
    kind, location, context, value = problem["type"], problem["loc"], problem.get("ctx", {}), problem["input"]
    if location[:1] in (("encoders",), ("corpora",)):
        location = location[:2] + location[3:]  # the third part is the tag of the union (kind or source), not a key
    key = ".".join(_written(location, values, missing=kind == "missing"))
    if kind == "value_error":
        return key, str(context["error"]), ""
    if kind == "missing":
        return key, "expected a value, found none", ""
    if kind == "extra_forbidden":
        return key, f"unknown key{nearest(location[-1])}", ""
    if kind == "union_tag_not_found":
        tag, name = context["discriminator"].strip("'"), shown(str(location[-1]))
        return key, f"expected a `{tag}`, found none: this preset does not define {name}; set its `{tag}`, or remove {name}", ""
    names = re.findall("'([^']+)'", str(context.get("expected") or context.get("expected_tags") or ""))
    value = context.get("tag", value)
    hint = TRUTHS if isinstance(value, bool) else nearest(value, names)
    return key, shown(problem["msg"][0].lower() + problem["msg"][1:], 400), f", found {short(value)}{hint}"


def _written(location: Sequence[str | int], values: Any, missing: bool) -> Iterator[str]:
    """Parts of a location that a user wrote, without names of union members. missing: whether the last part is missing."""
    node: Any = values
    for part in location:
        exists = part in node if isinstance(node, Mapping) else isinstance(node, list) and isinstance(part, int)
        if exists:
            node = node[part]
            yield shown(str(part))
    if missing:
        yield shown(str(location[-1]))


def load(values: Mapping[str, Any], origin: str = "config.yaml") -> WholeConfig:
    """Return a validated configuration in which every paper fits the rest.

    Raises DataError, one line per key: `origin: key: expected ..., found ...`.
    """
    config, misfits = load_fitting(values, origin)
    if misfits:
        raise DataError("\n".join(misfits.values()))
    return config


def load_fitting(values: Mapping[str, Any], origin: str = "config.yaml") -> tuple[WholeConfig, dict[str, str]]:
    """Return a validated configuration without the papers that do not fit the rest, and the reasons, by key of the paper.

    So a user can run one paper with corpora or an encoder that do not suit the settings of the others. Raises DataError.
    """
    config = _typed(values, origin)
    misfits = {key: "\n".join(f"{origin}: {line}" for line in reason.split("\n")) for key, reason in config.misfits().items()}
    if misfits:
        config = _typed({**values, "papers": {**values["papers"], **dict.fromkeys(misfits)}}, origin)
    return config, misfits


def _typed(values: Mapping[str, Any], origin: str) -> WholeConfig:
    try:
        return WholeConfig.model_validate(dict(values))
    except ValidationError as error:
        texts: dict[str, list[str]] = {}
        clauses: dict[str, str] = {}
        for key, text, clause in (_line(problem, values) for problem in error.errors(include_url=False)):
            texts.setdefault(key, []).append(text)
            clauses[key] = clause
        lines = (": ".join(filter(None, (origin, key, " or ".join(texts[key]) + clauses[key]))) for key in texts)
        raise DataError("\n".join(lines)) from None
