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
"""Domain of the test sets of table 2 -> key of the section that names its corpus."""


class MullerTraining(Training):
    """Settings that all training runs share (section 3 and appendix A.1)."""

    RECIPE = ("beta2", "epsilon", "dropout", "init_sd", "length_pools")

    warmup: Warmup = 0.1  # appendix A.1.1
    beta2: Share = Field(0.999, description="of AdamW; 0.99 in the sibling code's Adam without a schedule (trainer/run.py)")
    epsilon: Positive = Field(1e-8, description="of AdamW; 1e-6 in the sibling code (deep_learning_toolbox.py, line 31)")
    dropout: Share = Field(0.1, description="before taggers; none in the sibling code (modeling_multitask.py, lines 49 and 140)")
    init_sd: Positive = Field(0.02, description="standard deviation of the taggers' initial weights")
    keep: Literal["best", "last"] = Field("best", description="epoch tested: best (appendix A.1.1), last (sibling code: run.py)")
    divide_twice: bool = Field(
        False, description="true: the mean loss over tags is divided by their number again (sibling code: epoch_run.py, line 454)"
    )
    length_pools: LengthPools = False
    initialisation: Literal["bert", "released"] = Field(
        "bert", description="how blocks are re-initialised: as in the code used for the paper, or in the code released for users"
    )


class ParserSettings(Section):
    """The biaffine parser; Dozat and Manning's defaults are arc 500, relation 100, dropout 0.33."""

    arc: Count = Field(500, description="units of the perceptrons for arcs (authors' sibling code)")
    relation: Count = Field(200, description="units of the perceptrons for relations (authors' sibling code)")
    dropout: Share = Field(0.1, description="dropout of these units (authors' sibling code)")
    activation: Literal["elu", "leaky_relu"] = Field("leaky_relu", description="activation function (authors' sibling code)")
    decoding: Literal["log", "probability"] = Field(
        "log", description="log: the most probable tree; probability: that of the largest sum of arc and relation probabilities"
    )
    relation_divisor: Literal["words", "words_plus_two"] = Field(
        "words", description="of the relations' loss; words plus two per sentence in the sibling code (epoch_run.py, line 454)"
    )
    subtypes: bool = Field(
        False,
        description="true: relations are trained, selected and scored with subtypes, those of the training data (sibling code: "
        "conllu_reader.py, line 470); false: without",
    )


class MullerTask(Section):
    """One of the three tasks."""

    corpus: str = Field(description="key of corpora with training data: treebanks, or entities for ner")
    epochs: Count = Field(6, description="number of epochs; the best on the source's validation set is kept")
    batch: Count = Field(16, description="sentences per step (table 3)")
    rate: Rate = Field(5e-5, description="learning rate of encoder and head (table 3)")
    head_rate: Rate | None = Field(None, description="learning rate of the head; null: rate")


class MullerSearch(Section):
    """The grid of appendix A.1.1; muller2021/table3_search.csv runs it for each task and source language."""

    batch: list[Count] = Field([16, 32], description="sentences per step")
    rate: list[Rate] = Field([1e-5, 2.5e-5, 5e-5], description="learning rates")


class MullerSimilarity(Section):
    """CKA between English and other languages on parallel sentences."""

    sets: list[Layers] = Field([[1, 2]], description="re-initialised blocks whose models are compared too (figures 2, 6 to 8)")
    draws: Annotated[int, Field(ge=0)] = Field(200, description="number of shuffled pairings for the floor")


class MullerProbe(Section):
    """Probes that tell the language of a parallel sentence from its mean state; no number is printed on what the paper says."""

    held_out: Annotated[float, Field(gt=0, lt=1)] = Field(0.5, description="share of the sentences that are tested")
    penalty: Positive = Field(1.0, description="C, scikit-learn's default")
    tolerance: Positive = Field(1e-6, description="largest component of a converged probe's gradient, averaged over sentences")


class Muller2021(PaperSection):
    """First align, then predict: understanding the cross-lingual ability of multilingual BERT (Muller et al. 2021)."""

    seeds: Seeds = Field([0, 1, 2, 3, 4], min_length=1, description="section 3: five runs")
    source_languages: list[Language] = Field(["en", "ru", "ar"], min_length=1, description="of the training data, English first")
    tasks: dict[TaskName, MullerTask] = Field(min_length=1, description="the paper's tasks")
    parallel: str = Field(description="key of corpora: parallel treebanks, tests of parsing and pos and sentence pairs of CKA")
    parser: ParserSettings = Field(ParserSettings(), description="the parser")
    training: MullerTraining = Field(MullerTraining(), description="settings that all trainings share")
    pairs: list[Layers] = Field([], description="blocks that are re-initialised together (tables 1, 2, 6 to 8)")
    sets: list[Layers | Literal["all", "all_embeddings"]] = Field(
        [], description="further sets, from English alone (table 5); all: every block; all_embeddings: and the embeddings"
    )
    domain_corpus: str | None = Field(None, description="key of corpora: treebanks used for training and testing in table 2")
    domain_literature: str | None = Field(None, description="key of corpora: treebanks of literature for table 2")
    domain_web: str | None = Field(None, description="key of corpora: treebanks of web text for table 2")
    domain_entities: str | None = Field(None, description="key of corpora: named entities in news for table 2")
    search: MullerSearch = Field(MullerSearch(), description="grid search")
    similarity: MullerSimilarity = Field(MullerSimilarity(), description="CKA")
    probe: MullerProbe = Field(MullerProbe(), description="probes of the language")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        numbered = [tuple(layers) for layers in [*self.pairs, *self.sets] if not isinstance(layers, str)]
        unordered = [layers for layers in numbered if list(layers) != sorted(set(layers)) or numbered.count(layers) > 1]
        if unordered:
            raise ValueError(
                f"pairs, sets: expected block numbers in ascending order, each set once in both lists, found {list(unordered[0])}"
            )
        if self.source_languages[0] != "en":
            raise ValueError(
                f"source_languages: expected 'en' first, since tables 2, 4 and 5 and CKA are based on it, found "
                f"'{self.source_languages[0]}'"
            )
        return self

    def domains(self) -> dict[str, str]:
        """Domain of table 2 -> key of its corpus, for the configured ones."""
        return {domain: corpus for domain, key in DOMAINS.items() if (corpus := getattr(self, key))}

    def check(self, config: Config) -> None:
        """Raise ValueError where keys contradict each other, or the corpora and encoders that they name."""
        here = "papers.muller2021"
        for domain, corpus in self.domains().items():
            config.expect_corpus(f"{here}.{DOMAINS[domain]}", corpus, "entities" if domain == "entities" else "treebank")
        config.expect_corpus(f"{here}.parallel", self.parallel, "treebank")
        numbered = [layers for layers in self.sets if not isinstance(layers, str)]
        for key, sets in {"pairs": self.pairs, "sets": numbered, "similarity.sets": self.similarity.sets}.items():
            numbers = [layer for layers in sets for layer in layers]
            expect_layers(config, f"{here}.{key}", self.encoder, numbers, "block numbers", "name the blocks of this encoder")
        for task, settings in self.tasks.items():
            config.expect_corpus(f"{here}.tasks.{task}.corpus", settings.corpus, "entities" if task == "ner" else "treebank")
            key, sources = f"{here}.tasks.{task}", f"{here}.source_languages"
            expect_training_data(config, key, settings.corpus, self.source_languages, sources)


PAPER_SECTION = Muller2021
section = Muller2021.of
