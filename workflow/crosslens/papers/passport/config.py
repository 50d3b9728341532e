"""passport: encoders for which passports are made, and settings for their measures."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from crosslens.config.base import Count, Name, languages_table
from crosslens.config.training import Positive
from crosslens.config.whole import Config, PaperSection
from crosslens.papers.passport.terms import PIVOT


class Passport(PaperSection):
    """Encoder passports."""

    encoder: str = Field("", description="Encoder to study (by default, the first of `encoders`).")
    tokenisation: str = Field("sentences", description="Tokenisation of the sentences. It must not truncate any sentence.")
    encoders: list[Name] = Field(min_length=1, description="Encoders for which passports are produced.")
    compare: list[Annotated[list[Name], Field(min_length=2, max_length=6)]] = Field(
        [], description="Sets of two to six encoders to compare."
    )
    parallel: str = Field("sib200_parallel", description="Corpus of topic-labelled parallel sentences in all languages.")
    topics: str = Field("sib200_english", description="Corpus of English sentences on which the topic probes are trained.")
    block: Count = Field(
        50,
        description="Number of consecutive sentences (by index_id) in a block; each block lies entirely in one half of the data.",
    )
    seeds: list[Annotated[int, Field(ge=0)]] = Field(
        [0, 1], min_length=1, description="Random seeds for the randomly initialised versions of each encoder."
    )
    neighbours: Count = Field(10, description="Nearest neighbours (k) for the mutual-neighbour and hubness measures.")
    shuffles: Annotated[int, Field(ge=2)] = Field(3, description="Random shuffles of the translation pairs, for a baseline.")
    permutations: Count = Field(
        1000,
        description="Random permutations of the languages, for the baseline of genealogy.",
    )
    penalty: Positive = Field(1.0, description="Inverse regularisation strength C for the language probes.")
    penalties: list[Positive] = Field(
        [0.01, 0.1, 1.0],
        min_length=1,
        description="Candidate values of C for the topic probes.",
    )
    tolerance: Positive = Field(1e-4, description="Largest gradient component at convergence.")

    @model_validator(mode="before")
    @classmethod
    def _first(cls, values: Any) -> Any:
        encoders = values.get("encoders") if isinstance(values, dict) else None
        return {"encoder": encoders[0], **values} if encoders and isinstance(encoders, list) else values

    def check(self, config: Config) -> None:
        """Raise ValueError if encoders or corpora are missing or unsuitable."""
        here = "papers.passport"
        for number, encoder in enumerate(self.encoders):
            config.expect_encoder(f"{here}.encoders.{number}", encoder)
        if strangers := [name for pair in self.compare for name in pair if name not in self.encoders]:
            raise ValueError(f"{here}.compare: expected encoders among {', '.join(self.encoders)}, found {', '.join(strangers)}")
        for key in ("parallel", "topics"):
            config.expect_corpus(f"{here}.{key}", getattr(self, key), "documents")
        parallel, topics = (config.corpora[name] for name in (self.parallel, self.topics))
        if PIVOT not in parallel.languages:
            raise ValueError(
                f"{here}.parallel: expected English ({PIVOT}) among the languages of corpora.{self.parallel}, "
                f"found {', '.join(parallel.languages)}"
            )
        if (PIVOT, "train") not in topics.parts():
            raise ValueError(f"{here}.topics: expected English ({PIVOT}) training data in corpora.{self.topics}, found none")
        if not self.labels(config) or self.labels(config) != getattr(topics, "topics", ()):
            raise ValueError(
                f"{here}.topics: expected the labels of corpora.{self.parallel} in corpora.{self.topics}, found others"
            )

    def labels(self, config: Config) -> tuple[str, ...]:
        """Topics of the parallel sentences."""
        topics: tuple[str, ...] = getattr(config.corpora[self.parallel], "topics", ())
        return topics

    def kinship(self, config: Config) -> dict[str, list[str]]:
        """[family, genus] of each language of the parallel sentences."""
        rows = {language: languages_table()[language] for language in config.corpora[self.parallel].languages}
        return {language: [row["family"], row["genus"]] for language, row in rows.items()}


PAPER_SECTION = Passport
section = Passport.of
