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
    """Settings for all training runs (section 3 and appendix A.1)."""

    RECIPE = ("beta2", "epsilon", "dropout", "init_sd", "length_pools")

    warmup: Warmup = 0.1  # appendix A.1.1
    beta2: Share = Field(
        0.999, description="AdamW's beta2; the sibling code uses Adam with 0.99 and no schedule (trainer/run.py)."
    )
    epsilon: Positive = Field(1e-8, description="AdamW's epsilon; 1e-6 in the sibling code (deep_learning_toolbox.py, line 31).")
    dropout: Share = Field(
        0.1, description="Dropout rate before the taggers; none in the sibling code (modeling_multitask.py, lines 49 and 140)."
    )
    init_sd: Positive = Field(0.02, description="Standard deviation of the taggers' initial weights.")
    keep: Literal["best", "last"] = Field(
        "best", description="Epoch to test: the best (appendix A.1.1) or the last (sibling code: run.py)."
    )
    divide_twice: bool = Field(
        False, description="Divides the mean tagging loss by the number of tags again (sibling code: epoch_run.py, line 454)."
    )
    length_pools: LengthPools = False
    initialisation: Literal["bert", "released"] = Field(
        "bert", description="How layers are re-initialised: as in the paper's code, or as in the code released for users."
    )


class ParserSettings(Section):
    """The biaffine parser, as in the authors' sibling code; Dozat and Manning use arc 500, relation 100 and dropout 0.33."""

    arc: Count = Field(500, description="Hidden units in the arc perceptrons.")
    relation: Count = Field(200, description="Hidden units in the relation perceptrons.")
    dropout: Share = Field(0.1, description="Dropout rate for these units.")
    activation: Literal["elu", "leaky_relu"] = Field("leaky_relu", description="Activation function.")
    decoding: Literal["log", "probability"] = Field(
        "log",
        description="Decoding criterion: the most probable tree (`log`), or the tree with the largest sum of arc and relation "
        "probabilities (`probability`).",
    )
    relation_divisor: Literal["words", "words_plus_two"] = Field(
        "words",
        description="Divisor of the relation loss: the number of words, or that number plus two per sentence (sibling code: "
        "epoch_run.py, line 454).",
    )
    subtypes: bool = Field(
        False,
        description="Includes the training data's relation subtypes in training, selection and scoring (sibling code: "
        "conllu_reader.py, line 470).",
    )


class MullerTask(Section):
    """Settings for a task."""

    corpus: str = Field(description="Key of `corpora` for treebanks (for ner, entities) with training data.")
    epochs: Count = Field(6, description="Epochs; the source language's validation set selects the best.")
    batch: Count = Field(16, description="Sentences per step (table 3).")
    rate: Rate = Field(5e-5, description="Learning rate (table 3).")
    head_rate: Rate | None = Field(None, description="Learning rate for the head; if null, `rate`.")


class MullerSearch(Section):
    """Grid from appendix A.1.1, searched for each task and source language (muller2021/table3_search.csv)."""

    batch: list[Count] = Field([16, 32], description="Sentences per step.")
    rate: list[Rate] = Field([1e-5, 2.5e-5, 5e-5], description="Learning rates.")


class MullerSimilarity(Section):
    """CKA between English and other languages on parallel sentences."""

    sets: list[Layers] = Field(
        [[1, 2]],
        description="Sets of layers; the models in which they are re-initialised are also compared (figures 2 and 6 to 8).",
    )
    draws: Annotated[int, Field(ge=0)] = Field(200, description="Shuffled pairings for the baseline.")


class MullerProbe(Section):
    """Probes that identify a parallel sentence's language from its mean state, for a claim for which no number is printed."""

    held_out: Annotated[float, Field(gt=0, lt=1)] = Field(0.5, description="Share of sentences used for testing.")
    penalty: Positive = Field(1.0, description="Value of C; scikit-learn's default.")
    tolerance: Positive = Field(
        1e-6, description="Convergence threshold for the largest component of the gradient averaged over sentences."
    )


class Muller2021(PaperSection):
    """Settings for Muller et al. (2021)."""

    seeds: Seeds = Field([0, 1, 2, 3, 4], min_length=1, description="Seeds; section 3 uses five runs.")
    source_languages: list[Language] = Field(
        ["en", "ru", "ar"], min_length=1, description="Languages of the training data, English first."
    )
    tasks: dict[TaskName, MullerTask] = Field(min_length=1, description="The paper's tasks.")
    parallel: str = Field(
        description="Key of `corpora` for the parallel treebanks, used for testing parsing and pos and for CKA."
    )
    parser: ParserSettings = Field(ParserSettings(), description="The parser.")
    training: MullerTraining = Field(MullerTraining(), description="Settings for all training runs.")
    pairs: list[Layers] = Field([], description="Layers re-initialised together (tables 1, 2 and 6 to 8).")
    sets: list[Layers | Literal["all", "all_embeddings"]] = Field(
        [],
        description="Further sets of layers, re-initialised only for training on English (table 5); `all_embeddings` is every "
        "layer and the embeddings.",
    )
    domain_corpus: str | None = Field(None, description="Key of `corpora` for treebanks used in training and testing (table 2).")
    domain_literature: str | None = Field(None, description="Key of `corpora` for treebanks of literature (table 2).")
    domain_web: str | None = Field(None, description="Key of `corpora` for treebanks of web text (table 2).")
    domain_entities: str | None = Field(None, description="Key of `corpora` for named entities in news (table 2).")
    search: MullerSearch = Field(MullerSearch(), description="Grid search.")
    similarity: MullerSimilarity = Field(MullerSimilarity(), description="CKA.")
    probe: MullerProbe = Field(MullerProbe(), description="Language probes.")

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
