"""wu2019: settings of the training runs and measures, each with its source in the paper."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from crosslens.config.base import Count, Language, Rate, Section, Share, or_null, without_null
from crosslens.config.corpora import OfficialCorpus
from crosslens.config.training import LengthPools, Positive, Seeds, Training, Warmup, WeightDecay
from crosslens.config.whole import Config, PaperSection
from crosslens.papers.checks import expect_layers, expect_tokenisation
from crosslens.papers.wu2019.names import FULL, Variant, freeze

TaskName = Literal["topic", "nli", "ner", "pos", "parsing"]
KINDS: dict[TaskName, str] = {
    "topic": "documents", "nli": "pairs", "ner": "entities", "pos": "treebank", "parsing": "treebank",
}  # fmt: skip
"""Task -> kind of its corpora."""


class WuTraining(Training):
    """Settings that all training runs share (section 4.1)."""

    RECIPE = ("beta2", "epsilon", "dropout", "input_dropout", "init_sd", "encoder_dropout_when_frozen", "length_pools")

    epochs: Count = Field(3, description="number of epochs; of the released grid {3, 4}, our choice for the tables")
    batch: Count = Field(32, description="examples per step; of {16, 32}")
    rate: Rate = Field(3e-5, description="learning rate of encoder and head; of {2e-5, 3e-5, 5e-5}")
    head_rate: Rate | None = Field(None, description="learning rate of the head; null: rate")
    warmup: Warmup = 0.1
    weight_decay: WeightDecay = 0.01
    beta2: Share = Field(0.999, description="of Adam; 0.99 in the released code (model/base.py, 538)")
    epsilon: Positive = Field(1e-8, description="of Adam")
    dropout: Share = Field(0.0, description="before linear heads; the paper has none")
    input_dropout: Share = Field(
        0.2,
        description="of the encoder's output, the same units in a whole text and in all layers; as in the released code since "
        "its first commit (model/base.py, 63 and 533), where the paper says nothing",
    )
    init_sd: Positive | None = Field(
        None, description="standard deviation of the heads' initial weights; null: as PyTorch initialises them (released code)"
    )
    encoder_dropout_when_frozen: bool = Field(False, description="dropout in frozen blocks; on in the released code")
    length_pools: LengthPools = False


class ParserSettings(Section):
    """The biaffine parser (section 4.5; Dozat and Manning); sizes are the released code's."""

    arc: Count = Field(512, description="units of the perceptrons for arcs")
    relation: Count = Field(128, description="units of the perceptrons for relations")
    dropout: Share = Field(0.33, description="dropout of these units")
    activation: Literal["elu", "leaky_relu"] = Field("elu", description="activation function")
    root: Literal["vector", "first", "as_released"] = Field(
        "first",
        description="state of the root: a learned vector, that of [CLS], or the latter with the defect of the released code, "
        "under which root words are never right (training/biaffine.py)",
    )
    decoding: Literal["log", "probability"] = Field(
        "probability", description="probability: largest sum of probabilities (released code); log: the most probable tree"
    )
    initialisation: Literal["orthogonal", "pytorch"] = Field("pytorch", description="first weights")
    cut_heads: Literal["masked", "last_word"] = Field(
        "masked",
        description="what a word whose head was cut away teaches: nothing, or its relation to the last word (as released)",
    )
    one_root: bool = Field(True, description="trees have one root word; false: as many as score best (released code)")
    tag_size: Count = Field(100, description="dimensions of the embeddings of gold UPOS, in the parser that is given them")


class Features(Section):
    """The feature-based model: the encoder is frozen (section 4.1)."""

    lstm_layers: Annotated[int, Field(ge=0)] = Field(2, description="layers of the bidirectional LSTM; 0: the weighted sum alone")
    lstm_size: Count = Field(768, description="dimensions of each direction; the paper does not say whether of each or of both")
    reads: Literal["words", "subwords"] = Field(
        "words",
        description="what the LSTM runs over where words are labelled: the states of their first subwords, or those of all "
        "subwords, [CLS] and [SEP] too; the paper does not say",
    )
    rate: Rate = Field(1e-3, description="learning rate, halved after an epoch without a better score on the development set")
    floor: Rate = Field(1e-5, description="training ends once the rate would be below this")
    batch: Count = Field(32, description="examples per step")
    epochs: Count = Field(50, description="most epochs; our choice")


class WuTask(Section):
    """One of the five tasks."""

    corpora: list[str] = Field(
        min_length=1, description="keys of corpora, each with the data of some languages; of two with the same language the first"
    )
    tokenisation: str | None = Field(None, description="key of tokenisations; null: that of the paper")
    epochs: Count | None = Field(None, description="null: as for all trainings; likewise the other three")
    batch: Count | None = Field(None, description="examples per step")
    rate: Rate | None = Field(None, description="learning rate of encoder and head")
    head_rate: Rate | None = Field(None, description="learning rate of the head")
    selection: Literal["own", "source"] = Field(
        "own",
        description="development data by which trainings in other languages choose their epoch: of their own language, or of "
        "source_language (table 3 of the paper does not say which for translated training data)",
    )


class Identification(Section):
    """Figure 2: which language a text is in, from the mean state of a layer."""

    corpus: str = Field("wili", description="key of corpora: documents labelled with their language")
    tokenisation: str = Field("sentence_pairs_english", description="key of tokenisations")
    rate: Rate = Field(1e-3, description="learning rate, halved as in the feature-based model")
    floor: Rate = Field(1e-5, description="training ends once the rate would be below this")
    batch: Count = Field(32, description="texts per step")
    epochs: Count = Field(50, description="most epochs; our choice")


class Overlap(Section):
    """Figure 3 and overlap.csv: overlap of subwords between English training data and test sets."""

    encoder: str | None = Field(None, description="key of encoders, of which the tokenizer alone is read; null: the paper's")
    tokenisation: str = Field("uncut", description="key of tokenisations: without windows, whose contexts would count twice")
    corpora: dict[TaskName, list[str] | None] = Field(
        {}, description="for tasks whose overlap is measured on other corpora than the task's own; null omits a task"
    )
    typology: str | None = Field("wals", description="key of corpora, for distances from English; null: without them")


class WuSearch(Section):
    """The released grid of 12 (example/surprising-mbert/evaluate.sh, 46-62), whose trials wu2019/search.csv shows."""

    tasks: list[TaskName] = Field(list(KINDS), description="searched tasks; []: none")
    variants: list[str] = Field(["full"], description="searched variants: full, freeze0, ...")
    rate: list[Rate] = Field([2e-5, 3e-5, 5e-5], description="learning rates")
    batch: list[Count] = Field([16, 32], description="examples per step")
    epochs: list[Count] = Field([3, 4], description="numbers of epochs")


class Wu2019(PaperSection):
    """Beto, Bentz, Becas: the surprising cross-lingual effectiveness of BERT (Wu and Dredze 2019)."""

    seeds: Seeds = Field([42], min_length=1, description="the released code has 42; the paper does not say")
    source_language: Language = Field("en", description="of zero-shot transfer")
    tasks: dict[TaskName, WuTask] = Field(
        min_length=1, description="the paper's tasks; null omits one", json_schema_extra=or_null
    )
    segments: bool = Field(True, description="token type 1 for the second text of a pair")
    training: WuTraining = Field(WuTraining(), description="settings that all trainings share")
    parser: ParserSettings = Field(ParserSettings(), description="the parser")
    released_root: bool = Field(True, description="train a further parser with the root as released, beside the correct one")
    frozen: list[Annotated[int, Field(ge=0)]] = Field(
        [0, 3, 6, 9], description="numbers of frozen bottom blocks (figure 1); 0: the embeddings alone"
    )
    features: Features | None = Field(Features(), description="the feature-based model; null omits it")
    identification: Identification | None = Field(Identification(), description="figure 2; null omits it")
    overlap: Overlap | None = Field(Overlap(), description="overlap of subwords; null omits it")
    search: WuSearch = Field(WuSearch(), description="grid search")

    _named = field_validator("tasks", mode="before")(without_null)

    def tokenisation_of(self, task: TaskName) -> str:
        """Key of the reading of a task's texts."""
        return self.tasks[task].tokenisation or self.tokenisation

    def corpora(self, task: TaskName, config: Config, split: str) -> dict[str, str]:
        """Language -> corpus of a task's texts of a split: the first corpus that has them."""
        return _by_language(self.tasks[task].corpora, config, split)

    def topics(self, config: Config) -> tuple[str, ...]:
        """Labels of document classification, which all its corpora have."""
        return config.corpora[self.tasks["topic"].corpora[0]].topics  # type: ignore[union-attr]

    def compared(self) -> dict[TaskName, list[str]]:
        """Task -> corpora between which the overlap of subwords is measured."""
        if self.overlap is None:
            return {}
        corpora_by_task = {task: settings.corpora for task, settings in self.tasks.items()} | self.overlap.corpora
        return {task: corpora for task in KINDS if (corpora := corpora_by_task.get(task))}

    def compared_texts(self, task: TaskName, config: Config, split: str) -> dict[str, str]:
        """Language -> corpus of the texts of a split between which the overlap is measured."""
        return _by_language(self.compared()[task], config, split)

    def searchable(self) -> dict[str, Variant]:
        """Variants that a search can try, by name."""
        return {variant.name: variant for variant in (FULL, *map(freeze, self.frozen))}

    def check(self, config: Config) -> None:
        """Raise ValueError where keys contradict each other, or the corpora and encoders that they name."""
        here = "papers.wu2019"
        for task, settings in self.tasks.items():
            for corpus in settings.corpora:
                config.expect_corpus(f"{here}.tasks.{task}.corpora", corpus, KINDS[task])
            expect_tokenisation(config, f"{here}.tasks.{task}.tokenisation", self.tokenisation_of(task))
            if self.source_language not in self.corpora(task, config, "train"):
                raise ValueError(
                    f"{here}.tasks.{task}: no corpus of {', '.join(settings.corpora)} has training data for "
                    f"{self.source_language}: add files for train and list the language under source_languages there"
                )
        if "topic" in self.tasks:
            for corpus in self.tasks["topic"].corpora:
                topics = config.corpora[corpus].topics  # type: ignore[union-attr]
                if not topics or topics != self.topics(config):
                    raise ValueError(
                        f"{here}.tasks.topic.corpora: expected corpora with the same topics, found "
                        f"{', '.join(topics) or 'none'} in corpora.{corpus}: name corpora of one labelling"
                    )
        self._check_overlap(config)
        if self.identification:
            key = self.identification.corpus
            config.expect_corpus(f"{here}.identification.corpus", key, "documents")
            identified: OfficialCorpus = config.corpora[key]  # type: ignore[assignment]
            if missing := [code for code in identified.languages if code not in identified.source_languages]:
                raise ValueError(
                    f"{here}.identification: corpora.{key} has no training data for {', '.join(missing)}: list them under "
                    "source_languages there"
                )
        searchable = self.searchable()
        if unknown := [variant for variant in self.search.variants if variant not in searchable]:
            raise ValueError(f"{here}.search.variants: expected some of {', '.join(searchable)}, found '{unknown[0]}'")
        blocks = config.encoders[self.encoder].blocks()
        if self.identification and blocks is None and config.encoders[self.encoder].source == "hub":
            raise ValueError(
                f"{here}.identification: expected a known number of blocks for encoders.{self.encoder}: set depth there, or "
                "identification to null"
            )
        expect_layers(config, f"{here}.frozen", self.encoder, self.frozen, "numbers", "name blocks of this encoder")

    def _check_overlap(self, config: Config) -> None:
        if self.overlap is None:
            return
        here = "papers.wu2019.overlap"
        if (encoder := self.overlap.encoder) is not None and encoder not in config.encoders:
            raise ValueError(f"{here}.encoder: expected one of {', '.join(config.encoders)}, found '{encoder}'")
        expect_tokenisation(config, f"{here}.tokenisation", self.overlap.tokenisation)
        tokenisation = config.tokenisations[self.overlap.tokenisation]
        if tokenisation.windows is not None or tokenisation.labelled_subword not in ("first", "first_visible"):
            raise ValueError(
                f"{here}.tokenisation: expected a tokenisation without windows and with labelled_subword: first or "
                f"first_visible, found '{self.overlap.tokenisation}' with windows: {tokenisation.windows}, labelled_subword: "
                f"{tokenisation.labelled_subword}"
            )
        if self.overlap.typology:
            config.expect_corpus(f"{here}.typology", self.overlap.typology, "typology")
        for task, corpora in self.compared().items():
            for corpus in corpora:
                config.expect_corpus(f"{here}.corpora.{task}", corpus, KINDS[task])
            if self.source_language not in self.compared_texts(task, config, "train"):
                raise ValueError(
                    f"{here}.corpora.{task}: no corpus of {', '.join(corpora)} has training data for {self.source_language}: add "
                    "files for train and list the language under source_languages there"
                )


def _by_language(corpora: Iterable[str], config: Config, split: str) -> dict[str, str]:
    """Language -> the first of some corpora that has its texts of a split."""
    corpus_by_language: dict[str, str] = {}
    for corpus in corpora:
        for language, split_of_part in config.corpora[corpus].parts():
            if split_of_part == split:
                corpus_by_language.setdefault(language, corpus)
    return corpus_by_language


PAPER_SECTION = Wu2019
section = Wu2019.of
