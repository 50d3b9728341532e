"""The configuration without the sections of papers: one typed model of config.yaml and its overlays."""

import os
from collections.abc import Callable, Collection
from functools import wraps
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from crosslens.config.base import Count, Name, Section, nearest, or_null, plain, without_null
from crosslens.config.corpora import Corpus
from crosslens.config.encoders import Encoder
from crosslens.config.states import States
from crosslens.config.synthetic import SyntheticCorpus
from crosslens.config.tokenisations import Tokenisation
from crosslens.jobs.errors import DataError

Result = TypeVar("Result")

REHEARSAL = "rehearsal"  # folder of a rehearsal, below the results of its study


class PaperSection(Section):
    """Keys shared by the sections of all papers: encoder and tokenisation."""

    encoder: str = Field(description="Encoder to study.")
    tokenisation: str = Field(description="Tokenisation of the texts.")

    @classmethod
    def of(cls, config: "Config") -> Self:
        """Section of this class in a configuration. The section must not be null."""
        return next(section for section in vars(config.papers).values() if isinstance(section, cls))

    def check(self, config: "Config") -> None:
        """Raise ValueError, with the key, if the section does not fit the rest of the configuration."""
        raise NotImplementedError


class Measure(Section):
    """An extra measure, saved to RECIPE.parquet or RECIPE/seedN.parquet in results[/PRESET]/measures/KIND@NAME."""

    kind: str = Field(description="Module in workflow/crosslens/measures that computes the measure.")
    recipe: str = Field(description="Name of the recipe to which the measure is applied.")
    settings: dict[str, Any] = Field({}, description="Arguments for the module's `measure` function.")


class Config(Section):
    """The whole configuration."""

    _results: dict[Any, Any] = PrivateAttr(default_factory=dict)  # cached results of functions, see `once`

    rehearse: Annotated[int, Field(ge=2)] | None = Field(
        None,
        description="Steps of each training phase and each pass over a corpus in a rehearsal (a shortened trial run).",
    )
    results: str = Field("results", pattern=r"^results(/[a-z0-9_-]+)?$", description="Folder to which results are written.")
    mirror: list[Annotated[str, AfterValidator(plain)]] = Field(
        [], description="Folders to search for official files before downloading them."
    )
    reuse: list[Annotated[str, AfterValidator(plain)]] = Field(
        [],
        description="Other results folders whose corpora, encoders, tokens and samples are reused where their settings match.",
    )
    seeds: list[Annotated[int, Field(ge=0)]] = Field(
        [0],
        min_length=1,
        description="Random seeds for tanti2021's training runs; the other papers have their own.",
    )
    threads: Count = Field(2, description="CPU threads per training run or hidden-state extraction.")
    encoders: dict[Name, Encoder] = Field(min_length=1, description="Encoders by name.")
    corpora: dict[Name, Corpus] = Field(description="Corpora by name.", json_schema_extra=or_null)
    tokenisations: dict[Name, Tokenisation] = Field({}, description="Tokenisations by name.")
    states: States = Field(States(), description="Hidden states on disk.")
    measures: dict[Name, Measure] = Field({}, description="Extra measures by name.")
    synthetic: SyntheticCorpus = Field(SyntheticCorpus(), description="Synthetic corpora in the official formats.")
    papers: Section = Field(description="One section per paper.")

    _named = field_validator("corpora", mode="before")(without_null)

    @field_validator("results")
    @classmethod
    def _apart_for_a_rehearsal(cls, results: str, info: ValidationInfo) -> str:
        return f"{results}/{REHEARSAL}" if info.data.get("rehearse") else results

    @field_validator("encoders")
    @classmethod
    def _that_run_here(cls, encoders: dict[str, Encoder]) -> dict[str, Encoder]:
        return {name: encoder.here() if encoder.source == "packaged" else encoder for name, encoder in encoders.items()}

    @field_validator("reuse")
    @classmethod
    def _of_others(cls, folders: list[str], info: ValidationInfo) -> list[str]:
        results = info.data.get("results", "")
        if results in [os.path.normpath(folder) for folder in folders]:
            raise ValueError(f"expected folders of other results, found '{results}', which is that of this study: remove it")
        return folders

    @model_validator(mode="after")
    def _synthetic_corpus_writes(self) -> Self:
        generated = {name: corpus for name, corpus in self.corpora.items() if corpus.source == "synthetic"}
        treebanks = {name: corpus for name, corpus in generated.items() if corpus.kind == "treebank"}
        elsewhere = {name: {*getattr(corpus, "language_sources", ())} for name, corpus in generated.items()}
        test_languages = {f"corpora.{name}.languages": {*generated[name].languages} - elsewhere[name] for name in generated}
        trained = {
            f"corpora.{name}.source_languages": {code for code, split in corpus.parts() if split == "train"} - elsewhere[name]
            for name, corpus in treebanks.items()
        }
        for keys, generated_languages, field in (
            (test_languages, self.synthetic.languages, "languages"),
            (trained, self.synthetic.train_languages, "train_languages"),
        ):
            missing = {key: languages - {*generated_languages} for key, languages in keys.items()}
            missing = {key: languages for key, languages in missing.items() if languages}
            if missing:
                codes = ", ".join(sorted(set().union(*missing.values())))
                raise ValueError(
                    f"synthetic.{field}: expected {codes} too, read by {', '.join(missing)}: add them here or remove them there"
                )
        return self

    @model_validator(mode="after")
    def _encoders_fit(self) -> Self:
        for name, encoder in self.encoders.items():
            for corpus in encoder.corpora:
                _expect(f"encoders.{name}.corpora", corpus, self.corpora)
            if (shared := encoder.shares()) is not None:
                _expect(f"encoders.{name}.tokenizer", shared, self.encoders)
                if self.encoders[shared].shares():
                    raise ValueError(f"encoders.{name}.tokenizer: expected an encoder with its own tokenizer, found '{shared}'")
        return self

    @property
    def counterpart(self) -> str:
        """Results folder of this study's rehearsal or, if this is a rehearsal, of its study."""
        return os.path.dirname(self.results) if self.rehearse else f"{self.results}/{REHEARSAL}"

    def expect_study(self) -> None:
        """Raise DataError if this is a rehearsal, from which nothing is concluded."""
        if self.rehearse:
            raise DataError(
                f"{self.results}: expected the results of a study, found those of its rehearsal (rehearse: {self.rehearse}), "
                "from which no claim is decided, and no scoreboard, passport or archive made: ask without `rehearse`"
            )

    def misfits(self) -> dict[str, str]:
        """Reasons why papers do not fit the rest of the configuration, by key. Such a paper is refused only when requested."""
        reasons = {}
        for key in type(self.papers).model_fields:
            if (section := self.paper(key)) is not None:
                try:
                    self.expect_encoder(f"papers.{key}.encoder", section.encoder)
                    _expect(f"papers.{key}.tokenisation", section.tokenisation, self.tokenisations)
                    section.check(self)
                except ValueError as error:
                    reasons[key] = str(error)
        return reasons

    def paper(self, key: str) -> PaperSection | None:
        """A paper's section; None if it is not configured."""
        section: PaperSection | None = getattr(self.papers, key)
        return section

    def expect_encoder(self, key: str, name: str) -> None:
        """Raise ValueError unless `name`, given at `key`, is an encoder with weights."""
        _expect(key, name, self.encoders)
        if not self.encoders[name].has_weights:
            raise ValueError(
                f"{key}: expected an encoder with weights, found '{name}', a tokenizer alone (source: vocabulary); name another "
                "entry of encoders"
            )

    def expect_corpus(self, key: str, name: str, *kinds: str) -> None:
        """Raise ValueError unless `name`, given at `key`, is a corpus of one of these kinds."""
        _expect(key, name, self.corpora)
        if (its_kind := self.corpora[name].kind) not in kinds:
            expected = " or ".join(f"'{kind}'" for kind in kinds)
            raise ValueError(f"{key}: expected a corpus of kind {expected}, found '{name}' of kind '{its_kind}'")


def once(function: Callable[[Config], Result]) -> Callable[[Config], Result]:
    """Return the function with its result cached for each configuration."""

    @wraps(function)
    def call(config: Config) -> Result:
        if function not in config._results:
            config._results[function] = function(config)
        result: Result = config._results[function]
        return result

    return call


def _expect(key: str, name: str, names: Collection[str]) -> None:
    """Raise ValueError unless `name`, given at `key`, is one of `names`."""
    if name not in names:
        raise ValueError(f"{key}: expected one of {', '.join(names)}, found '{name}'{nearest(name, names)}")
