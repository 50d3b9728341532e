"""muller2021: what is trained, and how."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Language, PaperSection, Rate, Section, Share

if TYPE_CHECKING:
    from crosslens.config.whole import Config

Layer = Annotated[int, Field(ge=1)]
Layers = Annotated[list[Layer], Field(min_length=1)]
TaskName = Literal["parsing", "pos", "ner"]


class Training(Section):
    """What all trainings share (section 3 and appendix A.1)."""

    warmup: Share = Field(0.1, description="share of the steps in which the rate rises (appendix A.1.1)")
    decay: Literal["none", "linear"] = Field("linear", description="of the rate after that")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="of AdamW, on the encoder")
    epsilon: Annotated[float, Field(gt=0)] = Field(
        1e-8,
        description="of AdamW; 1e-6 in the sibling code (deep_learning_toolbox.py, line 31, with transformers 2.8's default)",
    )
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest norm of the gradient")
    dropout: Share = Field(
        0.1, description="before the taggers' linear layer; none in the sibling code (modeling_multitask.py, lines 49 and 140)"
    )
    init_sd: Annotated[float, Field(gt=0)] = Field(0.02, description="of the taggers' weights")
    keep: Literal["best", "last"] = Field(
        "best",
        description="whose weights are tested: the best epoch's (appendix A.1.1), or the last one's (sibling code: run.py)",
    )
    divide_twice: bool = Field(
        False, description="true: the mean loss of tags is divided by their number again (sibling code: epoch_run.py, line 454)"
    )
    length_pools: bool = Field(False, description="true: batches of sentences of similar length; false: uniformly random ones")
    initialisation: Literal["bert", "released"] = Field(
        "bert", description="of re-initialised blocks: as the paper's code of its time, or as the code released for users"
    )
    precision: Literal["float32", "tf32", "bfloat16", "float16", "auto"] = Field(
        "float32", description="of matrix products in training; auto: bfloat16 where the processor has it"
    )


class ParserSettings(Section):
    """The biaffine parser; Dozat and Manning's defaults are arc 500, relation 100, dropout 0.33."""

    arc: Count = Field(500, description="units of the arcs' perceptrons (authors' sibling code)")
    relation: Count = Field(200, description="units of the relations' perceptrons (authors' sibling code)")
    dropout: Share = Field(0.1, description="of these units (authors' sibling code)")
    activation: Literal["elu", "leaky_relu"] = Field("leaky_relu", description="authors' sibling code")
    decoding: Literal["log", "probability"] = Field(
        "log", description="the tree of the most probable arcs, or of the largest sum of probabilities of arcs and relations"
    )
    relation_divisor: Literal["words", "words_plus_two"] = Field(
        "words", description="of the relations' loss; words plus two a sentence: authors' sibling code (epoch_run.py, line 454)"
    )


class MullerTask(Section):
    """One of the three tasks."""

    corpus: str = Field(description="key of corpora with training data: treebanks, for ner entities")
    epochs: Count = Field(6, description="the best by the source's validation set is kept")
    batch: Count = Field(16, description="sentences a step (table 3)")
    rate: Rate = Field(5e-5, description="learning rate of encoder and head (table 3)")
    head_rate: Rate | None = Field(None, description="learning rate of the head where it has another one")


class MullerSearch(Section):
    """The grid of appendix A.1.1; muller2021/table3_search.csv runs it for each task and source."""

    batch: list[Count] = Field([16, 32], description="sentences a step")
    rate: list[Rate] = Field([1e-5, 2.5e-5, 5e-5], description="learning rates")


class MullerSimilarity(Section):
    """CKA of English with other languages, sentence by sentence."""

    sets: list[Layers] = Field([[1, 2]], description="re-initialised blocks whose models are compared too (figures 2, 6 to 8)")
    draws: Annotated[int, Field(ge=0)] = Field(200, description="shuffled pairings of the floor")


class Muller2021(PaperSection):
    """First align, then predict: understanding the cross-lingual ability of multilingual BERT (Muller et al. 2021)."""

    seeds: list[Annotated[int, Field(ge=0)]] = Field([0, 1, 2, 3, 4], min_length=1, description="section 3: five runs")
    source_languages: list[Language] = Field(["en", "ru", "ar"], min_length=1, description="of the training data; first English")
    tasks: dict[TaskName, MullerTask] = Field(min_length=1, description="the paper's tasks")
    parallel: str = Field(description="key of corpora: parallel treebanks, test sets of parsing and pos, and pairs for CKA")
    parser: ParserSettings = Field(ParserSettings(), description="the parser")
    training: Training = Field(Training(), description="what all trainings share")
    pairs: list[Layers] = Field([], description="blocks that are re-initialised together (tables 1, 2, 6 to 8)")
    sets: list[Layers | Literal["all", "all_embeddings"]] = Field(
        [],
        description="further sets, from English only (table 5); all: every block, all_embeddings: the embeddings too",
    )
    domain_corpus: str | None = Field(None, description="key of corpora: the treebanks that table 2 trains and tests on")
    domain_literature: str | None = Field(None, description="key of corpora: table 2's treebanks of literature")
    domain_web: str | None = Field(None, description="key of corpora: table 2's treebanks of the web")
    domain_entities: str | None = Field(None, description="key of corpora: table 2's entities in news")
    search: MullerSearch = Field(MullerSearch(), description="grid search")
    similarity: MullerSimilarity = Field(MullerSimilarity(), description="CKA")
    bootstrap: Count = Field(1000, description="resamples of the sentences for 95 % intervals")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        known = [tuple(layers) for layers in [*self.pairs, *self.sets] if not isinstance(layers, str)]
        wrong = [layers for layers in known if list(layers) != sorted(set(layers)) or known.count(layers) > 1]
        if wrong:
            raise ValueError(f"pairs, sets: {list(wrong[0])} found; rising block numbers expected, each set once in both lists")
        if self.source_languages[0] != "en":
            found = self.source_languages[0]
            raise ValueError(
                f"source_languages: '{found}' found first, 'en' expected, which tables 2, 4 and 5 and CKA compare with"
            )
        return self

    def corpora(self) -> dict[str, tuple[str, str]]:
        """Key of this section -> corpus and the kind that it must be."""
        found = {
            f"tasks.{task}.corpus": (of.corpus, "entities" if task == "ner" else "treebank") for task, of in self.tasks.items()
        }
        optional = {
            "domain_corpus": (self.domain_corpus, "treebank"),
            "domain_literature": (self.domain_literature, "treebank"),
            "domain_web": (self.domain_web, "treebank"),
            "domain_entities": (self.domain_entities, "entities"),
        }
        found |= {key: (corpus, kind) for key, (corpus, kind) in optional.items() if corpus is not None}
        return found | {"parallel": (self.parallel, "treebank")}

    def check(self, config: "Config") -> None:
        """See PaperSection."""
        here = "papers.muller2021"
        config.expect_encoder(f"{here}.encoder", self.encoder)
        for key, (name, kind) in self.corpora().items():
            config.expect_corpus(f"{here}.{key}", name, kind)
        for task, settings in self.tasks.items():
            trained = {language for language, split in config.corpora[settings.corpus].parts() if split == "train"}
            missing = [language for language in self.source_languages if language not in trained]
            if missing:
                raise ValueError(f"{here}.tasks.{task}: corpora.{settings.corpus} has no training data of {', '.join(missing)}")


PAPER_SECTION = Muller2021


def section(config: "Config") -> Muller2021:
    """The paper's part of a configuration in which it is not null."""
    found: Muller2021 = config.paper("muller2021")  # type: ignore[assignment]
    return found
