"""muller2021: which models are trained, and how."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Language, PaperSection, Rate, Section, Share

if TYPE_CHECKING:
    from crosslens.config.whole import Config

Layer = Annotated[int, Field(ge=1)]
Layers = Annotated[list[Layer], Field(min_length=1)]
TaskName = Literal["parsing", "pos", "ner"]


class Training(Section):
    """Settings that all trainings share (section 3 and appendix A.1)."""

    warmup: Share = Field(0.1, description="share of the steps during which the learning rate rises (appendix A.1.1)")
    decay: Literal["none", "linear"] = Field("linear", description="how the learning rate falls after that")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="weight decay of AdamW, on the encoder")
    epsilon: Annotated[float, Field(gt=0)] = Field(
        1e-8,
        description="epsilon of AdamW; 1e-6 in the sibling code (deep_learning_toolbox.py, line 31, with transformers 2.8's "
        "default)",
    )
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="maximum norm of the gradient")
    dropout: Share = Field(
        0.1, description="before the taggers' linear layer; none in the sibling code (modeling_multitask.py, lines 49 and 140)"
    )
    init_sd: Annotated[float, Field(gt=0)] = Field(0.02, description="standard deviation of the taggers' initial weights")
    keep: Literal["best", "last"] = Field(
        "best",
        description="which weights are tested: those of the best epoch (appendix A.1.1) or of the last one (sibling code: "
        "run.py)",
    )
    divide_twice: bool = Field(
        False,
        description="true: the mean loss over tags is divided by their number a second time (sibling code: epoch_run.py, line "
        "454)",
    )
    length_pools: bool = Field(False, description="true: batches of sentences of similar length; false: uniformly random batches")
    initialisation: Literal["bert", "released"] = Field(
        "bert",
        description="how blocks are re-initialised: as in the code used for the paper, or as in the code released for users",
    )
    precision: Literal["float32", "tf32", "bfloat16", "float16", "auto"] = Field(
        "float32", description="of matrix products in training; auto: bfloat16 where the processor supports it"
    )


class ParserSettings(Section):
    """The biaffine parser; Dozat and Manning's defaults are arc 500, relation 100, dropout 0.33."""

    arc: Count = Field(500, description="units of the perceptrons for arcs (authors' sibling code)")
    relation: Count = Field(200, description="units of the perceptrons for relations (authors' sibling code)")
    dropout: Share = Field(0.1, description="dropout of these units (authors' sibling code)")
    activation: Literal["elu", "leaky_relu"] = Field("leaky_relu", description="activation function (authors' sibling code)")
    decoding: Literal["log", "probability"] = Field(
        "log",
        description="log: the most probable tree; probability: the tree with the largest sum of arc and relation probabilities",
    )
    relation_divisor: Literal["words", "words_plus_two"] = Field(
        "words",
        description="divisor of the relations' loss; words plus two per sentence in the authors' sibling code (epoch_run.py, "
        "line 454)",
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

    sets: list[Layers] = Field(
        [[1, 2]], description="sets of re-initialised blocks whose models are compared too (figures 2, 6 to 8)"
    )
    draws: Annotated[int, Field(ge=0)] = Field(200, description="number of shuffled pairings for the floor")


class Muller2021(PaperSection):
    """First align, then predict: understanding the cross-lingual ability of multilingual BERT (Muller et al. 2021)."""

    seeds: list[Annotated[int, Field(ge=0)]] = Field([0, 1, 2, 3, 4], min_length=1, description="section 3: five runs")
    source_languages: list[Language] = Field(
        ["en", "ru", "ar"], min_length=1, description="languages of the training data, English first"
    )
    tasks: dict[TaskName, MullerTask] = Field(min_length=1, description="the paper's tasks")
    parallel: str = Field(
        description="key of corpora: parallel treebanks, used as test sets of parsing and pos and as sentence pairs for CKA"
    )
    parser: ParserSettings = Field(ParserSettings(), description="the parser")
    training: Training = Field(Training(), description="settings that all trainings share")
    pairs: list[Layers] = Field([], description="blocks that are re-initialised together (tables 1, 2, 6 to 8)")
    sets: list[Layers | Literal["all", "all_embeddings"]] = Field(
        [],
        description="additional sets, for English as source only (table 5); all: every block; all_embeddings: also the "
        "embeddings",
    )
    domain_corpus: str | None = Field(None, description="key of corpora: treebanks used for training and testing in table 2")
    domain_literature: str | None = Field(None, description="key of corpora: treebanks of literature for table 2")
    domain_web: str | None = Field(None, description="key of corpora: treebanks of web text for table 2")
    domain_entities: str | None = Field(None, description="key of corpora: named entities in news for table 2")
    search: MullerSearch = Field(MullerSearch(), description="grid search")
    similarity: MullerSimilarity = Field(MullerSimilarity(), description="CKA")
    bootstrap: Count = Field(1000, description="resamples of the sentences for 95 % intervals")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        known = [tuple(layers) for layers in [*self.pairs, *self.sets] if not isinstance(layers, str)]
        wrong = [layers for layers in known if list(layers) != sorted(set(layers)) or known.count(layers) > 1]
        if wrong:
            raise ValueError(
                f"pairs, sets: expected block numbers in ascending order, each set once in both lists, found {list(wrong[0])}"
            )
        if self.source_languages[0] != "en":
            raise ValueError(
                f"source_languages: expected 'en' first, since tables 2, 4 and 5 and CKA are based on it, found "
                f"'{self.source_languages[0]}'"
            )
        return self

    def corpora(self) -> dict[str, tuple[str, str]]:
        """Key of this section -> corpus, and the kind that it must have."""
        keys = {
            f"tasks.{task}.corpus": (settings.corpus, "entities" if task == "ner" else "treebank")
            for task, settings in self.tasks.items()
        }
        optional = {
            "domain_corpus": (self.domain_corpus, "treebank"),
            "domain_literature": (self.domain_literature, "treebank"),
            "domain_web": (self.domain_web, "treebank"),
            "domain_entities": (self.domain_entities, "entities"),
        }
        keys |= {key: (corpus, kind) for key, (corpus, kind) in optional.items() if corpus is not None}
        return keys | {"parallel": (self.parallel, "treebank")}

    def check(self, config: "Config") -> None:
        """See PaperSection."""
        here = "papers.muller2021"
        for key, (name, kind) in self.corpora().items():
            config.expect_corpus(f"{here}.{key}", name, kind)
        for task, settings in self.tasks.items():
            trained = {language for language, split in config.corpora[settings.corpus].parts() if split == "train"}
            missing = [language for language in self.source_languages if language not in trained]
            if missing:
                raise ValueError(
                    f"{here}.tasks.{task}: corpora.{settings.corpus} has no training data for {', '.join(missing)}: add files "
                    f"for train there, or remove it from {here}.source_languages"
                )


PAPER_SECTION = Muller2021


def section(config: "Config") -> Muller2021:
    """The paper's part of a configuration in which it is not null."""
    found: Muller2021 = config.paper("muller2021")  # type: ignore[assignment]
    return found
