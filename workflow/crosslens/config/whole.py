"""The whole configuration: one typed model of config.yaml and its overlays.

An unknown key, a wrong type or a value out of range ends in one `ConfigError` that names the key, what was expected and,
for a misspelt key, the nearest name. The JSON schema and docs/config.md are generated from here (crosslens.config.docs).
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from crosslens.config.base import LANGUAGE_PATTERN, ConfigError, Count, Section, languages_table, or_null
from crosslens.config.corpora import Corpus
from crosslens.config.encoders import Encoder
from crosslens.config.muller2021 import Muller2021
from crosslens.config.phrasebook import Phrasebook
from crosslens.config.states import States
from crosslens.config.tanti2021 import Tanti2021
from crosslens.config.tokens import Tokens

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]  # becomes a folder


class Papers(Section):
    """One section a paper."""

    tanti2021: Tanti2021
    muller2021: Muller2021 | None = Field(None, description="null: not configured")


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
    def _names_exist(self) -> Self:
        paper = self.papers.tanti2021
        named = {"encoder": (paper.encoder, list(self.encoders)), "language_corpus": (paper.language_corpus, list(self.corpora))}
        named |= {f"tasks.{task}.corpus": (of.corpus, list(self.corpora)) for task, of in paper.tasks.items()}
        for key, (name, names) in named.items():
            if name not in names:
                raise ValueError(
                    f"papers.tanti2021.{key}: one of {', '.join(names)} expected, found '{name}'{nearest(name, names)}"
                )
        kinds = {"pos": "treebank", "nli": "pairs"}
        for name, kind in [
            (paper.language_corpus, "paragraphs"), *((of.corpus, kinds[task]) for task, of in paper.tasks.items())
        ]:  # fmt: skip
            if self.corpora[name].kind != kind:
                raise ValueError(f"corpora.{name}: kind '{kind}' expected by papers.tanti2021")
        read = set(self.corpora[paper.language_corpus].languages)
        for task, of in paper.tasks.items():
            if (paper.source_language, "train") not in self.corpora[of.corpus].parts():
                raise ValueError(
                    f"papers.tanti2021.source_language: corpora.{of.corpus} has no training data of '{paper.source_language}': "
                    "name it there under languages and source_languages, or take another"
                )
            unread = [code for code in self.corpora[of.corpus].languages if code not in read]
            if unread:
                # The heads would leave their words unscored, the probe would count them as wrong.
                here, there = f"corpora.{paper.language_corpus}", f"corpora.{of.corpus}"
                raise ValueError(
                    f"papers.tanti2021.language_corpus: {here} has no {', '.join(unread)}, which {there} tests and no language "
                    f"head could name: add it to {here}.languages or remove it from {there}.languages"
                )
            if task == "pos" and of.state == "pooler":
                raise ValueError("papers.tanti2021.tasks.pos.state: 'hidden' expected, words have no pooler")
        for task, of in paper.tasks.items():
            for name, run in of.runs.items():
                if run.seeds is not None and (run.seeds[:1] != self.seeds[:1] or not set(run.seeds) <= set(self.seeds)):
                    raise ValueError(
                        f"papers.tanti2021.tasks.{task}.runs.{name}.seeds: some of seeds expected, {self.seeds[0]} first, found "
                        f"{run.seeds}"
                    )
        known = {f"{task}/{run}": of.corpus for task, of in paper.tasks.items() for run in of.runs}
        for name in paper.search.experiments:
            if name not in known:
                raise ValueError(
                    f"papers.tanti2021.search.experiments: a task/run of tasks expected, found '{name}'{nearest(name, known)}"
                )
            corpus = self.corpora[known[name]]
            if all(split != "dev" for _, split in corpus.parts()):
                raise ValueError(
                    f"papers.tanti2021.search.experiments: '{name}' scores dev sets, and corpora.{known[name]} has none: name "
                    "them under files"
                )
        return self

    @model_validator(mode="after")
    def _muller2021(self) -> Self:
        paper = self.papers.muller2021
        if paper is None:
            return self
        if paper.encoder not in self.encoders:
            found = f"found '{paper.encoder}'{nearest(paper.encoder, self.encoders)}"
            raise ValueError(f"papers.muller2021.encoder: one of {', '.join(self.encoders)} expected, {found}")
        for key, (name, kind) in paper.corpora().items():
            if name not in self.corpora or self.corpora[name].kind != kind:
                raise ValueError(
                    f"papers.muller2021.{key}: a corpus of kind '{kind}' expected, found '{name}'{nearest(name, self.corpora)}"
                )
        for task, of in paper.tasks.items():
            trained = {language for language, split in self.corpora[of.corpus].parts() if split == "train"}
            missing = [language for language in paper.source_languages if language not in trained]
            if missing:
                raise ValueError(
                    f"papers.muller2021.tasks.{task}: corpora.{of.corpus} has no training data of {', '.join(missing)}"
                )
        return self


EXPECTED = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text", "list_type": "a list",
    "dict_type": "a section", "model_type": "a section", "model_attributes_type": "a section",
    "greater_than_equal": "at least {ge}", "greater_than": "above {gt}", "less_than_equal": "at most {le}",
    "less_than": "below {lt}", "too_short": "at least {min_length} in the list", "literal_error": "{expected}",
    "string_pattern_mismatch": "text like {pattern}", "union_tag_invalid": "{expected_tags}",
}  # fmt: skip


def nearest(key: str, names: Iterable[str] | None = None) -> str:
    """'; did you mean ...?' for an unknown name, or ''; without `names`, those of all keys."""
    known = {name for section in Section.__subclasses__() for name in section.model_fields} if names is None else names
    close = difflib.get_close_matches(key, sorted(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


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
