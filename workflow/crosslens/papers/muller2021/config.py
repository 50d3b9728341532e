"""muller2021: settings of the training runs and measures, each with its source in the paper."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Language, Rate, Section, Share
from crosslens.config.training import LengthPools, Positive, Seeds, Training, Warmup
from crosslens.config.whole import Config, PaperSection
from crosslens.papers.checks import expect_layers, expect_training_data

Layer = Annotated[int, Field(ge=1)]
Layers = Annotated[list[Layer], Field(min_length=1)]
TaskName = Literal["parsing", "pos", "ner"]
DOMAINS = {
    "trained": "domain_corpus", "literature": "domain_literature", "web": "domain_web", "entities": "domain_entities",
}  # fmt: skip
"""Domain of test sets in table 2 -> key of this section under which its corpus is configured."""


class MullerTraining(Training):
    """Settings for all training runs (section 3 and appendix A.1)."""

    RECIPE = ("beta2", "epsilon", "dropout", "init_sd", "length_pools")

    warmup: Warmup = 0.1  # appendix A.1.1
    beta2: Share = Field(
        0.999,
        description="Beta2 and epsilon of AdamW.",
    )
    epsilon: Positive = Field(
        1e-8,
        description="Beta2 and epsilon of AdamW.",
    )
    dropout: Share = Field(
        0.1,
        description="Dropout rate before the tagging heads.",
    )
    init_sd: Positive = Field(0.02, description="Standard deviation of the initial weights of the tagging heads.")
    keep: Literal["best", "last"] = Field(
        "best",
        description="Epoch whose weights are tested.",
    )
    divide_twice: bool = Field(
        False,
        description="Divides the mean tagging loss by the number of tags again, as in the authors' code for a related paper.",
    )
    length_pools: LengthPools = False
    initialisation: Literal["bert", "released"] = Field(
        "bert",
        description=(
            "Re-initialisation: from BERT's normal distribution or, as in the released code, from PyTorch's default one."
        ),
    )


class ParserSettings(Section):
    """The biaffine parser."""

    arc: Count = Field(500, description="Hidden units in the MLPs for arcs and relations.")
    relation: Count = Field(200, description="Hidden units in the MLPs for arcs and relations.")
    dropout: Share = Field(0.1, description="Dropout rate for the hidden units of the MLPs.")
    activation: Literal["elu", "leaky_relu"] = Field("leaky_relu", description="Activation function of the MLPs.")
    decoding: Literal["log", "probability"] = Field(
        "log",
        description=(
            "Decoding: the most probable tree (`log`), or the one with the largest sum of arc probability "
            "times relation probability."
        ),
    )
    relation_divisor: Literal["words", "words_plus_two"] = Field(
        "words",
        description="Divisor of the relation loss: the number of words, or this plus two per sentence.",
    )
    subtypes: bool = Field(
        False,
        description="Keeps relation subtypes in training, selection and scoring.",
    )


class MullerTask(Section):
    """Settings for one task."""

    corpus: str = Field(description="Corpus with training data: treebanks or, for ner, named entities.")
    epochs: Count = Field(6, description="Epochs.")
    batch: Count = Field(16, description="Sentences per step.")
    rate: Rate = Field(5e-5, description="Learning rate.")
    head_rate: Rate | None = Field(None, description="Learning rate for the head (null: `rate`).")


class MullerSearch(Section):
    """Grid search from appendix A.1.1 for each task and source language, with results in muller2021/table3_search.csv."""

    batch: list[Count] = Field([16, 32], description="Candidate values.")
    rate: list[Rate] = Field([1e-5, 2.5e-5, 5e-5], description="Candidate values.")


class MullerSimilarity(Section):
    """CKA between English and other languages on parallel sentences."""

    sets: list[Layers] = Field(
        [[1, 2]],
        description="Sets of re-initialised layers in the comparison (figures 2 and 6 to 8).",
    )
    draws: Annotated[int, Field(ge=0)] = Field(200, description="Random shuffles of the sentence pairs for the baseline.")


class MullerProbe(Section):
    """Probes that identify a parallel sentence's language from its mean hidden state."""

    held_out: Annotated[float, Field(gt=0, lt=1)] = Field(0.5, description="Share of sentences held out for testing.")
    penalty: Positive = Field(1.0, description="Inverse regularisation strength C.")
    tolerance: Positive = Field(
        1e-6, description="Convergence threshold for the largest component of the mean gradient over sentences."
    )


class Muller2021(PaperSection):
    """Settings for Muller et al. (2021)."""

    seeds: Seeds = Field([0, 1, 2, 3, 4], min_length=1, description="Seeds of the training runs.")
    source_languages: list[Language] = Field(
        ["en", "ru", "ar"], min_length=1, description="Source languages. English must come first."
    )
    tasks: dict[TaskName, MullerTask] = Field(min_length=1, description="The paper's tasks.")
    parallel: str = Field(description="Corpus of parallel treebanks for CKA and for testing parsers and taggers.")
    parser: ParserSettings = Field(ParserSettings(), description="The parser.")
    training: MullerTraining = Field(MullerTraining(), description="Settings for all training runs.")
    pairs: list[Layers] = Field([], description="Sets of layers that are re-initialised together (tables 1, 2 and 6 to 8).")
    sets: list[Layers | Literal["all", "all_embeddings"]] = Field(
        [],
        description=(
            "Further sets, for training on English only (table 5). `all` means every layer; `all_embeddings` "
            "includes the embeddings."
        ),
    )
    domain_corpus: str | None = Field(None, description="Corpus of treebanks for training and in-domain testing (table 2).")
    domain_literature: str | None = Field(None, description="Corpora of literary and of web treebanks (table 2).")
    domain_web: str | None = Field(None, description="Corpora of literary and of web treebanks (table 2).")
    domain_entities: str | None = Field(None, description="News corpus with named entities (table 2).")
    search: MullerSearch = Field(MullerSearch(), description="Grid search.")
    similarity: MullerSimilarity = Field(MullerSimilarity(), description="CKA.")
    probe: MullerProbe = Field(MullerProbe(), description="Language probes.")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        numbered = [tuple(layers) for layers in [*self.pairs, *self.sets] if not isinstance(layers, str)]
        unordered = [layers for layers in numbered if list(layers) != sorted(set(layers)) or numbered.count(layers) > 1]
        if unordered:
            raise ValueError(
                f"pairs, sets: expected layer numbers in ascending order, each set once in both lists, found {list(unordered[0])}"
            )
        if self.source_languages[0] != "en":
            raise ValueError(
                f"source_languages: expected 'en' first, since tables 2, 4 and 5 and CKA are based on it, found "
                f"'{self.source_languages[0]}'"
            )
        return self

    def domains(self) -> dict[str, str]:
        """Domain in table 2 -> key of its corpus, for the configured domains."""
        return {domain: corpus for domain, key in DOMAINS.items() if (corpus := getattr(self, key))}

    def check(self, config: Config) -> None:
        """Raise ValueError if keys contradict each other or the corpora and encoders that they name."""
        here = "papers.muller2021"
        for domain, corpus in self.domains().items():
            config.expect_corpus(f"{here}.{DOMAINS[domain]}", corpus, "entities" if domain == "entities" else "treebank")
        config.expect_corpus(f"{here}.parallel", self.parallel, "treebank")
        numbered = [layers for layers in self.sets if not isinstance(layers, str)]
        for key, sets in {"pairs": self.pairs, "sets": numbered, "similarity.sets": self.similarity.sets}.items():
            numbers = [layer for layers in sets for layer in layers]
            expect_layers(config, f"{here}.{key}", self.encoder, numbers, "layer numbers", "name layers of this encoder")
        for task, settings in self.tasks.items():
            config.expect_corpus(f"{here}.tasks.{task}.corpus", settings.corpus, "entities" if task == "ner" else "treebank")
            key, sources = f"{here}.tasks.{task}", f"{here}.source_languages"
            expect_training_data(config, key, settings.corpus, self.source_languages, sources)


PAPER_SECTION = Muller2021
section = Muller2021.of
