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
    """Settings for all training runs (section 4.1)."""

    RECIPE = ("beta2", "epsilon", "dropout", "input_dropout", "init_sd", "encoder_dropout_when_frozen", "length_pools")

    epochs: Count = Field(3, description="Epochs.")
    batch: Count = Field(32, description="Examples per step.")
    rate: Rate = Field(3e-5, description="Learning rate.")
    head_rate: Rate | None = Field(None, description="Learning rate for the head (null: `rate`).")
    warmup: Warmup = 0.1
    weight_decay: WeightDecay = 0.01
    beta2: Share = Field(0.999, description="Beta2 and epsilon of Adam.")
    epsilon: Positive = Field(1e-8, description="Beta2 and epsilon of Adam.")
    dropout: Share = Field(0.0, description="Dropout rate before linear heads.")
    input_dropout: Share = Field(
        0.2,
        description="Dropout rate for the encoder's output, with one mask per input for all layers.",
    )
    init_sd: Positive | None = Field(
        None,
        description="Standard deviation of the heads' initial weights (null: PyTorch's initialisation).",
    )
    encoder_dropout_when_frozen: bool = Field(False, description="Applies dropout in frozen layers.")
    length_pools: LengthPools = False


class ParserSettings(Section):
    """The biaffine parser."""

    arc: Count = Field(512, description="Hidden units in the MLPs for arcs and relations.")
    relation: Count = Field(128, description="Hidden units in the MLPs for arcs and relations.")
    dropout: Share = Field(0.33, description="Dropout rate for the hidden units of the MLPs.")
    activation: Literal["elu", "leaky_relu"] = Field("elu", description="Activation function of the MLPs.")
    root: Literal["vector", "first", "as_released"] = Field(
        "first",
        description=(
            "Root: a learned vector or the hidden state of [CLS] (`first`). `as_released` also masks [CLS] "
            "as a possible head, as in the released code."
        ),
    )
    decoding: Literal["log", "probability"] = Field(
        "probability",
        description="Decoding: the most probable tree (`log`) or the one with the highest sum of probabilities.",
    )
    initialisation: Literal["orthogonal", "pytorch"] = Field("pytorch", description="Initialisation of the parser's weights.")
    cut_heads: Literal["masked", "last_word"] = Field(
        "masked",
        description="Words whose head was truncated are ignored in training (`masked`) or attached to the last word.",
    )
    one_root: bool = Field(
        True,
        description="Limits each tree to one root word.",
    )
    tag_size: Count = Field(100, description="Embedding size for gold UPOS tags.")


class Features(Section):
    """The feature-based model, trained on a frozen encoder."""

    lstm_layers: Annotated[int, Field(ge=0)] = Field(
        2,
        description="Layers of the bidirectional LSTM; 0 leaves only the weighted sum of the encoder's layers.",
    )
    lstm_size: Count = Field(
        768,
        description="Hidden size of the LSTM in each direction.",
    )
    reads: Literal["words", "subwords"] = Field(
        "words",
        description="Input to the LSTM in word-level tasks: each word's first subword, or all subwords plus [CLS] and [SEP].",
    )
    rate: Rate = Field(1e-3, description="Learning rate, halved after each epoch without a better development score.")
    floor: Rate = Field(1e-5, description="Learning rate below which training ends.")
    batch: Count = Field(32, description="Examples per step.")
    epochs: Count = Field(50, description="Maximum number of epochs.")


class WuTask(Section):
    """If `epochs`, `batch`, `rate` or `head_rate` is null, the value in `training` is used."""

    corpora: list[str] = Field(min_length=1, description="Corpora; for each language, the first that contains it is used.")
    tokenisation: str | None = Field(None, description="Tokenisation for this task (null: the paper's `tokenisation`).")
    epochs: Count | None = Field(None, description="Epochs.")
    batch: Count | None = Field(None, description="Examples per step.")
    rate: Rate | None = Field(None, description="Learning rate.")
    head_rate: Rate | None = Field(None, description="Learning rate for the head.")
    selection: Literal["own", "source"] = Field(
        "own",
        description="Language on which the epoch is selected: the training language (`own`) or `source_language`.",
    )


class Identification(Section):
    """Figure 2: identification of a document's language from its mean hidden state at each layer."""

    corpus: str = Field("wili", description="Corpus of documents labelled with their language.")
    tokenisation: str = Field("sentence_pairs_english", description="Tokenisation of the documents.")
    rate: Rate = Field(1e-3, description="Learning rate, halved after each epoch without a better development score.")
    floor: Rate = Field(1e-5, description="Learning rate below which training ends.")
    batch: Count = Field(32, description="Documents per step.")
    epochs: Count = Field(50, description="Maximum number of epochs.")


class Overlap(Section):
    """Figure 3 and overlap.csv: subwords shared by English training data and the test sets."""

    encoder: str | None = Field(None, description="Encoder whose tokenizer is used (null: the paper's encoder).")
    tokenisation: str = Field(
        "uncut",
        description="Tokenisation of the texts, without windows.",
    )
    corpora: dict[TaskName, list[str] | None] = Field({}, description="Corpora that replace those in `tasks`.")
    typology: str | None = Field(
        "wals",
        description="Corpus used to compute typological distances from English.",
    )


class WuSearch(Section):
    """Search over hyperparameters, with results in wu2019/search.csv."""

    tasks: list[TaskName] = Field(list(KINDS), description="Tasks included in the search.")
    variants: list[str] = Field(["full"], description="Variants included in the search, such as full or freeze0.")
    rate: list[Rate] = Field([2e-5, 3e-5, 5e-5], description="Candidate values.")
    batch: list[Count] = Field([16, 32], description="Candidate values.")
    epochs: list[Count] = Field([3, 4], description="Candidate values.")


class Wu2019(PaperSection):
    """Settings for Wu and Dredze (2019)."""

    seeds: Seeds = Field(
        [42],
        min_length=1,
        description="Seeds of the training runs.",
    )
    source_language: Language = Field("en", description="Source language for zero-shot transfer.")
    tasks: dict[TaskName, WuTask] = Field(min_length=1, description="The paper's tasks.", json_schema_extra=or_null)
    segments: bool = Field(True, description="Assigns token type 1 to the second sentence of a pair.")
    training: WuTraining = Field(WuTraining(), description="Settings for all training runs.")
    parser: ParserSettings = Field(ParserSettings(), description="The parser.")
    released_root: bool = Field(True, description="Also trains a parser that represents the root as in the released code.")
    frozen: list[Annotated[int, Field(ge=0)]] = Field(
        [0, 3, 6, 9], description="Numbers of lower layers to freeze (figure 1); 0 freezes only the embeddings."
    )
    features: Features | None = Field(Features(), description="The feature-based model; null omits it.")
    identification: Identification | None = Field(Identification(), description="Figure 2; null omits it.")
    overlap: Overlap | None = Field(Overlap(), description="Subword overlap; null omits it.")
    search: WuSearch = Field(WuSearch(), description="Grid search.")

    _named = field_validator("tasks", mode="before")(without_null)

    def tokenisation_of(self, task: TaskName) -> str:
        """Key of the tokenisation of a task's texts."""
        return self.tasks[task].tokenisation or self.tokenisation

    def corpora(self, task: TaskName, config: Config, split: str) -> dict[str, str]:
        """Language -> the first corpus of a task that has texts of a split in this language."""
        return _by_language(self.tasks[task].corpora, config, split)

    def topics(self, config: Config) -> tuple[str, ...]:
        """Labels of document classification, the same in all its corpora."""
        return config.corpora[self.tasks["topic"].corpora[0]].topics  # type: ignore[union-attr]

    def compared(self) -> dict[TaskName, list[str]]:
        """Task -> corpora in which subword overlap is measured; empty if `overlap` is null."""
        if self.overlap is None:
            return {}
        corpora_by_task = {task: settings.corpora for task, settings in self.tasks.items()} | self.overlap.corpora
        return {task: corpora for task in KINDS if (corpora := corpora_by_task.get(task))}

    def compared_texts(self, task: TaskName, config: Config, split: str) -> dict[str, str]:
        """Language -> corpus whose texts of a split are used to measure a task's subword overlap."""
        return _by_language(self.compared()[task], config, split)

    def searchable(self) -> dict[str, Variant]:
        """Variants that a search can try, by name."""
        return {variant.name: variant for variant in (FULL, *map(freeze, self.frozen))}

    def check(self, config: Config) -> None:
        """Raise ValueError if keys contradict each other or the corpora and encoders that they name."""
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
        n_layers = config.encoders[self.encoder].n_layers()
        if self.identification and n_layers is None and config.encoders[self.encoder].source == "hub":
            raise ValueError(
                f"{here}.identification: expected a known number of layers for encoders.{self.encoder}: set depth there, or "
                "identification to null"
            )
        expect_layers(config, f"{here}.frozen", self.encoder, self.frozen, "numbers", "name layers of this encoder")

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
    """Language -> the first of the corpora that has texts of a split in this language."""
    corpus_by_language: dict[str, str] = {}
    for corpus in corpora:
        for language, split_of_part in config.corpora[corpus].parts():
            if split_of_part == split:
                corpus_by_language.setdefault(language, corpus)
    return corpus_by_language


PAPER_SECTION = Wu2019
section = Wu2019.of
