"""liang2021: settings of the training runs and measures, each with its source in the paper."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from crosslens.config.base import Count, Language, Rate, Section, Share, or_null, without_null
from crosslens.config.training import Clip, LengthPools, NotNegative, Positive, Seeds, Training
from crosslens.config.whole import Config, PaperSection
from crosslens.papers.checks import expect_layers, expect_tokenisation, expect_training_data
from crosslens.papers.liang2021.names import BASELINE

Layers = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
First = Annotated[int, Field(ge=0)]
TaskName = Literal["pos", "ner"]


class LiangTraining(Training):
    """Settings that all training runs share; XTREME's, where the paper names none."""

    RECIPE = ("epsilon", "dropout", "init_sd", "length_pools")

    epochs: Count = Field(2, description="number of epochs")
    batch: Count = Field(32, description="sentences per step; the authors accumulated 8 times 4")
    rate: Rate = Field(2e-5, description="learning rate of encoder and head")
    head_rate: Rate | None = Field(None, description="learning rate of the head; null: rate")
    epsilon: Positive = Field(1e-8, description="of AdamW")
    clip: Clip = 1.0
    dropout: Share = Field(0.1, description="before the head, in models with dropout")
    init_sd: Positive = Field(0.02, description="standard deviation of the heads' initial weights")
    keep: Literal["best", "last"] = Field(
        "best",
        description="weights tested: best by F1 on the sources' validation sets (XTREME's script, which the paper names), or "
        "last (the released script without options). Heads on a frozen encoder, which train together: last",
    )
    length_pools: LengthPools = False


class LiangTask(Section):
    """One of the two tasks."""

    corpus: str = Field(description="key of corpora with training data: treebanks, or entities for ner")
    interval: Count | None = Field(
        None, description="updates between two evaluations, of which keep takes the best, and the last weights; null: an epoch"
    )


class Model(Section):
    """One way to fine-tune the encoder: a row of the tables."""

    weight: NotNegative = Field(0.0, description="of L-DAR's penalty on each of its layers; 0: none")
    layers: Layers | Literal["all"] = Field("all", description="layers of the penalty, 0: embeddings; all: every block")
    anchor: Literal["pretrained", "released"] = Field(
        "pretrained",
        description="what states are kept near to: the pretrained encoder without dropout (paper), or a randomly initialised one "
        "with dropout, as the released code runs it",
    )
    dropout: bool = Field(False, description="dropout in the encoder and before the head; off under L-DAR (paper)")


class Removal(Section):
    """Figure 4: heads that read states without their first directions."""

    first: list[First] = Field(
        [0, 50, 100, 200, 300, 400, 500, 600, 700], description="numbers of removed directions, of the frozen encoder's states"
    )
    tuned: list[First] = Field([0, 50, 100, 200, 400, 600], description="the same where the encoder is fine-tuned")
    rate: Rate = Field(1e-3, description="learning rate of heads on the frozen encoder")

    @model_validator(mode="after")
    def _compared_with_all(self) -> Self:
        for name, numbers in (("first", self.first), ("tuned", self.tuned)):
            if numbers and 0 not in numbers:
                raise ValueError(f"{name}: expected 0 among the numbers, with which the others are compared, found none: add it")
        return self


Method = Literal["densray", "means", "lda", "leace", "lsar", "inlp"]


class Typology(Section):
    """Linguistic typology: probes for the features of WALS (section 4.2)."""

    corpus: str = Field("wals", description="key of corpora: features of languages")
    features: Count | None = Field(None, description="number of random features for each seed; null: all")
    probes: Literal["one_against_rest", "multinomial"] = Field(
        "one_against_rest",
        description="a probe for each value of a feature (paper), or one for all (scikit-learn's default since 0.22, which the "
        "authors' code leaves as it is)",
    )
    words: Count = Field(
        1000,
        description="words per language, at most probe_words, four fifths to train probes (authors' code; the paper: 8,000 to "
        "train and 2,000 to test)",
    )
    held_out_words: Count = Field(100, description="the same where whole families are held out")
    folds: Annotated[int, Field(ge=2)] = Field(5, description="parts of the families, each held out once")
    layer_dimension: Count = Field(20, description="number of first coordinates that probes of all layers read (figure 3)")


class Similarity(Section):
    """Language similarity: clusters of languages by their means (section 4.3)."""

    shuffles: Count = Field(100, description="of genera, for the level of chance")
    layer_dimension: Annotated[int, Field(ge=2)] = Field(
        20, description="number of first coordinates that are read at all layers (figure 3)"
    )


class Groups(Section):
    """Figure 5: pairs of directions within groups of languages."""

    languages: dict[str, list[Language] | None] = Field(
        {
            "Austronesian": ["ceb", "id", "jv", "mg", "min", "ms", "su", "tl", "war"],
            "Italic": ["an", "ca", "es", "fr", "gl", "ht", "it", "la", "pms", "scn"],
            "Germanic": ["af", "bar", "de", "en", "fy", "is", "lb", "nds", "nl", "sco"],
        },
        description="by name; null omits one",
    )
    size: Annotated[int, Field(ge=3)] = Field(10, description="languages of a random group")
    share: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="of fit_words, drawn for each seed (authors' code: all)")
    bands: list[Annotated[int, Field(ge=2)]] = Field([*range(2, 18)], description="where windows of two coordinates end")


class Probing(Section):
    """Figures 1, 2, 3 and 5: what probes read from a subspace's coordinates, and from others."""

    methods: list[Method] = Field(["densray", "lda"], min_length=1, description="subspaces of the figures")
    compared: list[Method] = Field(["leace", "lsar", "inlp"], description="further ones, shown beside them")
    share: Share = Field(0.5, description="of fit_words, drawn for each seed (authors' code: half of them, one draw)")
    dimensions: list[Count] = Field([1, *range(10, 201, 10)], description="numbers of coordinates that probes read")
    band: Count = Field(10, description="coordinates of a narrow window (figure 2)")
    bands: list[Count] = Field([*range(10, 201, 10)], description="where narrow windows end")
    draws: Count = Field(5, description="random windows of a kind, over which a mean is taken")
    pairs: Count = Field(100, description="random pairs of languages for each seed (authors' code: 10, for figure 3 100)")
    rest_words: Count = Field(500, description="words per language where each language is told from the rest")
    layer_dimension: Count = Field(1, description="number of first coordinates that tell languages at all layers (figure 3)")
    typology: Typology = Field(Typology(), description="typology")
    similarity: Similarity = Field(Similarity(), description="similarity")
    groups: Groups = Field(Groups(), description="figure 5")
    tolerance: Positive = Field(1e-4, description="largest component of a probe's gradient where its fit ends, as scikit-learn's")

    @model_validator(mode="after")
    def _windows_have_room(self) -> Self:
        if low := [end for end in self.bands if end < self.band]:
            raise ValueError(f"bands: expected windows of {self.band} to end at {self.band} or later, found {low[0]}: remove it")
        return self


class Liang2021(PaperSection):
    """Locating language-specific information in contextualized embeddings (Liang, Dufter and Schütze 2021)."""

    seeds: Seeds = Field([42, 43, 44, 45, 46], min_length=1, description="seeds; the tables rest on one run, by default with 42")
    texts: dict[str, str | None] = Field(
        description="key of encoders -> key of corpora: paragraphs whose subwords' states determine language subspaces; null "
        "omits an encoder"
    )
    text_tokenisation: str = Field(description="key of tokenisations that label every subword")
    fit_words: Count = Field(10000, description="random subwords of train per language from which subspaces are determined")
    probe_words: Count = Field(5000, description="random subwords of test per language for probes")
    dimensions: Count = Field(105, description="directions of L-DAR's penalty, at most the rank n - 1 of n languages")
    sources: list[Annotated[list[Language], Field(min_length=1)]] = Field(
        [["en"], ["en", "de", "zh"]],
        min_length=1,
        description="sets of source languages: English alone, then mixed ones, with at most as many sentences of each as a share "
        "of the first language's (authors' code)",
    )
    tasks: dict[TaskName, LiangTask] = Field(
        min_length=1, description="the paper's tasks; null omits one", json_schema_extra=or_null
    )
    models: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)], Model] = Field(
        min_length=1, description="by name; null omits one", json_schema_extra=or_null
    )
    removal: Removal = Field(Removal(), description="figure 4")
    probing: Probing = Field(Probing(), description="figures 1, 2, 3 and 5")
    training: LiangTraining = Field(LiangTraining(), description="settings that all trainings share")

    _named = field_validator("tasks", "models", "texts", mode="before")(without_null)

    @model_validator(mode="after")
    def _compared(self) -> Self:
        if BASELINE not in self.models:
            raise ValueError(f"models: expected '{BASELINE}', with which the others are compared, found none: add it")
        if self.sources[0] != ["en"]:
            raise ValueError(
                f"sources: expected [en] first, on which tables 2 and 4 and figure 4 are based, found {self.sources[0]}"
            )
        typology = self.probing.typology
        words_by_key = {"rest_words": self.probing.rest_words, "typology.words": typology.words,
                "typology.held_out_words": typology.held_out_words}  # fmt: skip
        for name, words in words_by_key.items():
            if words > self.probe_words:
                raise ValueError(f"probing.{name}: expected at most {self.probe_words}, as probe_words has it, found {words}")
        if len(self.sources) > 2:
            raise ValueError(f"sources: expected [en] and at most one mixed set, found {len(self.sources)} sets")
        return self

    @property
    def text_corpus(self) -> str:
        """Key of the corpus whose texts the paper's encoder reads."""
        return str(self.texts[self.encoder])

    def check(self, config: Config) -> None:
        """Raise ValueError where keys contradict each other, or the corpora and encoders that they name."""
        here = "papers.liang2021"
        for encoder, corpus in self.texts.items():
            config.expect_encoder(f"{here}.texts", encoder)
            config.expect_corpus(f"{here}.texts.{encoder}", str(corpus), "paragraphs")
        if self.encoder not in self.texts:
            raise ValueError(f"{here}.texts: expected a corpus for the paper's encoder, {self.encoder}, found none: add it")
        config.expect_corpus(f"{here}.probing.typology.corpus", self.probing.typology.corpus, "typology")
        present = config.corpora[self.text_corpus].languages
        for name, languages in self.probing.groups.languages.items():
            if missing := [language for language in languages or [] if language not in present]:
                raise ValueError(
                    f"{here}.probing.groups.languages.{name}: corpora.{self.text_corpus} lacks {', '.join(missing)}: name other "
                    "languages, or set the group to null"
                )
        expect_tokenisation(config, f"{here}.text_tokenisation", self.text_tokenisation)
        if (labelled := config.tokenisations[self.text_tokenisation].labelled_subword) != "every":
            raise ValueError(f"{here}.text_tokenisation: expected a tokenisation with labelled_subword: every, found {labelled}")
        for task, settings in self.tasks.items():
            config.expect_corpus(f"{here}.tasks.{task}.corpus", settings.corpus, "entities" if task == "ner" else "treebank")
            languages = [language for group in self.sources for language in group]
            expect_training_data(config, f"{here}.tasks.{task}", settings.corpus, languages, f"{here}.sources")
        for name, model in self.models.items():
            layers = [] if model.layers == "all" else model.layers
            key = f"{here}.models.{name}.layers"
            expect_layers(config, key, self.encoder, layers, "layers", "name the layers of this encoder")


PAPER_SECTION = Liang2021
section = Liang2021.of
