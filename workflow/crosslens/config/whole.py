"""The whole configuration: one typed model of config.yaml and its overlays.

An unknown key, a wrong type or a value out of range ends in one `ConfigError` that names the key, what was expected and,
for a misspelt key, the nearest name. The JSON schema and docs/config.md are generated from here (crosslens.config.docs).
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from crosslens.config.base import LANGUAGE_PATTERN, ConfigError, Count, PaperSection, Section, languages_table, nearest, or_null
from crosslens.config.corpora import Corpus
from crosslens.config.encoders import Encoder
from crosslens.config.phrasebook import Phrasebook
from crosslens.config.states import States
from crosslens.config.tokens import Tokens
from crosslens.papers import KEYS

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]  # becomes a folder


# A section a paper, from the one list of them; a paper that is not configured is null.
_SECTIONS: dict[str, Any] = {
    key: (import_module(f"crosslens.papers.{key}.config").PAPER_SECTION | None, Field(None, description="null: not configured"))
    for key in KEYS
}
Papers = create_model("Papers", __base__=Section, __doc__="One section a paper.", **_SECTIONS)


class Config(Section):
    """The whole configuration."""

    results: str = Field("results", pattern=r"^results(/[a-z0-9_-]+)?$", description="folder of this scale's results")
    mirror: list[str] = Field([], description="folders to look in before the network")
    seeds: list[Annotated[int, Field(ge=0)]] = Field([0], min_length=1, description="seeds of the trainings; 0 is the paper's")
    threads: Count = Field(2, description="threads of a training or extraction on a CPU")
    encoders: dict[Name, Encoder] = Field(description="encoders by name")
    corpora: dict[Name, Corpus] = Field(description="corpora by name; null leaves one out", json_schema_extra=or_null)
    tokens: Tokens = Field(Tokens(), description="tokenisation")
    states: States = Field(States(), description="hidden states on disk")
    phrasebook: Phrasebook = Field(Phrasebook(), description="corpora of our own, in the official formats")
    papers: Papers = Field(description="the studies")

    @field_validator("corpora", mode="before")
    @classmethod
    def _without_null(cls, corpora: Any) -> Any:
        return {name: of for name, of in corpora.items() if of is not None} if isinstance(corpora, dict) else corpora

    @model_validator(mode="after")
    def _phrasebook_writes(self) -> Self:
        unknown = [code for code in self.phrasebook.languages if code not in languages_table()]
        if unknown:
            raise ValueError(f"phrasebook.languages: {', '.join(unknown)} not in resources/languages.csv: add a line for each")
        for name, corpus in self.corpora.items():
            trained = {code for code, split in corpus.parts() if split == "train"} if corpus.kind == "treebank" else set()
            for key, wanted, source, written in (
                ("languages", set(corpus.languages), corpus.source, self.phrasebook.languages),
                ("source_languages", trained, corpus.source, self.phrasebook.train_languages),
            ):
                missing = sorted(wanted - set(written)) if source == "phrasebook" else []
                if missing:
                    other = "languages" if key == "languages" else "train_languages"
                    raise ValueError(f"corpora.{name}.{key}: phrasebook.{other} has no {', '.join(missing)}: name them there too")
        return self

    @model_validator(mode="after")
    def _papers_fit(self) -> Self:
        for key in KEYS:
            if (section := self.paper(key)) is not None:
                section.check(self)
        return self

    def paper(self, key: str) -> PaperSection | None:
        """A paper's section, or None where it is not configured."""
        section: PaperSection | None = getattr(self.papers, key)
        return section

    def expect_encoder(self, key: str, name: str) -> None:
        """Raise ValueError unless `name`, given at `key`, is an encoder."""
        if name not in self.encoders:
            raise ValueError(f"{key}: one of {', '.join(self.encoders)} expected, found '{name}'{nearest(name, self.encoders)}")

    def expect_corpus(self, key: str, name: str, kind: str) -> None:
        """Raise ValueError unless `name`, given at `key`, is a corpus of this kind."""
        if name not in self.corpora:
            raise ValueError(f"{key}: one of {', '.join(self.corpora)} expected, found '{name}'{nearest(name, self.corpora)}")
        if (found := self.corpora[name].kind) != kind:
            raise ValueError(f"{key}: a corpus of kind '{kind}' expected, found '{name}' of kind '{found}'")


EXPECTED = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text", "list_type": "a list",
    "dict_type": "a section", "model_type": "a section", "model_attributes_type": "a section",
    "greater_than_equal": "at least {ge}", "greater_than": "above {gt}", "less_than_equal": "at most {le}",
    "less_than": "below {lt}", "too_short": "at least {min_length} in the list", "literal_error": "{expected}",
    "string_pattern_mismatch": "text like {pattern}", "union_tag_invalid": "{expected_tags}",
}  # fmt: skip


def _key(location: Sequence[str | int], values: Any, last: bool) -> str:
    """Path of a key as the user wrote it, without the names of union members; `last` keeps a last part that is missing."""
    parts = []
    for number, part in enumerate(location):
        there = part in values if isinstance(values, Mapping) else isinstance(values, list) and isinstance(part, int)
        if there:
            values = values[part]
        if there or (last and number == len(location) - 1):
            parts.append(str(part))
    return ".".join(parts)


def _tell(problem: Any, values: Mapping[str, Any]) -> tuple[str, str, str]:
    """Key, what was expected there (or the whole message), and what was found ('' where the message says it all)."""
    kind, location, found = problem["type"], problem["loc"], problem["input"]
    context = problem.get("ctx", {})
    if location[:1] in (("encoders",), ("corpora",)):
        location = location[:2] + location[3:]  # without the form (kind, source) that the third part names
    key = _key(location, values, kind == "missing")
    if kind == "extra_forbidden":
        return key, f"unknown key{nearest(str(location[-1]))}", ""
    if kind == "missing":
        return key, "missing: a value is expected", ""
    if kind == "value_error":
        return key, str(context["error"]), ""
    if kind == "union_tag_not_found":
        return f"{key}.{context['discriminator'].strip(chr(39))}", "missing: a value is expected", ""
    if problem["loc"][-1:] == ("[key]",) and kind == "string_pattern_mismatch":
        return key, "a name of small letters, digits and . _ - expected", ""
    if problem["loc"][-1:] == ("[key]",):
        names = context.get("expected", "").replace(" or ", ", ").replace("'", "").split(", ")
        return key, f"unknown key, {context.get('expected', 'another name')} expected{nearest(str(found), names)}", ""
    text = EXPECTED.get(kind, problem["msg"]).format(**context)
    hint = ""
    if context.get("pattern") == LANGUAGE_PATTERN:
        text = "a language code of two or three letters"
    elif kind == "union_tag_invalid":
        key, found = f"{key}.{context['discriminator'].strip(chr(39))}", context.get("tag")
        hint = nearest(str(found), context.get("expected_tags", "").replace("'", "").split(", "))
    elif kind == "literal_error" and isinstance(found, str):
        hint = nearest(found, context["expected"].replace(" or ", ", ").replace("'", "").split(", "))
    elif kind == "string_type" and isinstance(found, bool):
        hint = " (YAML reads yes, no, on and off so: put it in quotes)"
    return key, text, f" expected, found {found!r:.80}{hint}"


def load(values: Mapping[str, Any], origin: str = "config.yaml") -> Config:
    """Check and type a configuration. Raises ConfigError: one line a key, `origin: key: what was expected, found ...`."""
    try:
        return Config.model_validate(dict(values))
    except ValidationError as error:
        told: dict[str, tuple[list[str], str]] = {}
        for problem in error.errors():
            key, text, found = _tell(problem, values)
            told.setdefault(key, ([], found))[0].append(text)
        lines = [
            ": ".join(filter(None, (origin, key, " or ".join(dict.fromkeys(texts)) + found)))
            for key, (texts, found) in told.items()
        ]
        raise ConfigError("\n".join(lines)) from None
