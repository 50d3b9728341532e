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
    """Settings for all training runs."""

    RECIPE = ("epsilon", "dropout", "init_sd", "length_pools")

    epochs: Count = Field(2, description="Epochs.")
    batch: Count = Field(32, description="Sentences per step.")
    rate: Rate = Field(2e-5, description="Learning rate.")
    head_rate: Rate | None = Field(None, description="Learning rate for the head (null: `rate`).")
    epsilon: Positive = Field(1e-8, description="Epsilon of AdamW.")
    clip: Clip = 1.0
    dropout: Share = Field(0.1, description="Dropout rate before the head, in models that use dropout.")
    init_sd: Positive = Field(0.02, description="Standard deviation of the heads' initial weights.")
    keep: Literal["best", "last"] = Field(
        "best",
        description="Weights tested: those with the best F1 on the source languages' validation sets, or the final ones.",
    )
    length_pools: LengthPools = False


class LiangTask(Section):
    """Settings for one task."""

    corpus: str = Field(description="Corpus with training data: treebanks or, for ner, named entities.")
    interval: Count | None = Field(
        None,
        description="Updates between evaluations on the validation sets (null: one per epoch).",
    )


class Model(Section):
    """One way of fine-tuning the encoder, shown as a row in the tables."""

    weight: NotNegative = Field(0.0, description="Weight of the L-DAR penalty at each penalised layer.")
    layers: Layers | Literal["all"] = Field(
        "all",
        description="Layers with the L-DAR penalty; `all` excludes the embeddings.",
    )
    anchor: Literal["pretrained", "released"] = Field(
        "pretrained",
        description=(
            "Reference for the penalty: the pretrained encoder without dropout or, as in the released code, "
            "a randomly initialised one with dropout."
        ),
    )
    dropout: bool = Field(
        False,
        description="Applies dropout in the encoder and before the head.",
    )


class Removal(Section):
    """Figure 4: heads trained on hidden states from which the leading directions have been removed."""

    first: list[First] = Field(
        [0, 50, 100, 200, 300, 400, 500, 600, 700],
        description="Numbers of directions to remove from the frozen encoder's hidden states.",
    )
    tuned: list[First] = Field(
        [0, 50, 100, 200, 400, 600], description="Numbers of directions to remove from the fine-tuned encoder's hidden states."
    )
    rate: Rate = Field(1e-3, description="Learning rate for heads on the frozen encoder.")

    @model_validator(mode="after")
    def _compared_with_all(self) -> Self:
        for name, numbers in (("first", self.first), ("tuned", self.tuned)):
            if numbers and 0 not in numbers:
                raise ValueError(f"{name}: expected 0 among the numbers, with which the others are compared, found none: add it")
        return self


Method = Literal["densray", "means", "lda", "leace", "lsar", "inlp"]


class Typology(Section):
    """Probes for typological features from WALS."""

    corpus: str = Field("wals", description="Corpus of typological features.")
    features: Count | None = Field(None, description="Features sampled for each seed (null: all).")
    probes: Literal["one_against_rest", "multinomial"] = Field(
        "one_against_rest",
        description="Type of probe: one probe per feature value, or a single probe for all values.",
    )
    words: Count = Field(
        1000,
        description="Subword tokens per language (at most `probe_words`), four fifths of them for training.",
    )
    held_out_words: Count = Field(100, description="Subword tokens per language when whole families are held out.")
    folds: Annotated[int, Field(ge=2)] = Field(5, description="Folds into which language families are divided.")
    layer_dimension: Count = Field(20, description="Leading coordinates that the probes use at each layer (figure 3).")


class Similarity(Section):
    """Clustering of languages by their mean hidden states."""

    shuffles: Count = Field(100, description="Permutations of genus and family labels for the chance level.")
    layer_dimension: Annotated[int, Field(ge=2)] = Field(20, description="Leading coordinates used at each layer (figure 3).")


class Groups(Section):
    """Figure 5: language identification within groups of languages, using pairs of directions."""

    languages: dict[str, list[Language] | None] = Field(
        {
            "Austronesian": ["ceb", "id", "jv", "mg", "min", "ms", "su", "tl", "war"],
            "Italic": ["an", "ca", "es", "fr", "gl", "ht", "it", "la", "pms", "scn"],
            "Germanic": ["af", "bar", "de", "en", "fy", "is", "lb", "nds", "nl", "sco"],
        },
        description="Languages in each group.",
    )
    size: Annotated[int, Field(ge=3)] = Field(10, description="Languages in a random group.")
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="Proportion of `fit_words` sampled for each seed, unless `probing.share` is null."
    )
    bands: list[Annotated[int, Field(ge=2)]] = Field(
        [*range(2, 18)], description="Last coordinate of each two-coordinate window."
    )


class Probing(Section):
    """Figures 1, 2, 3 and 5: probes trained on coordinates inside or outside a subspace."""

    methods: list[Method] = Field(["densray", "lda"], min_length=1, description="Subspace methods shown in the figures.")
    compared: list[Method] = Field(["leace", "lsar", "inlp"], description="Additional methods for comparison.")
    seeds: Seeds | None = Field(None, description="Random seeds for the probes; if null, those of the training runs.")
    share: Share | None = Field(
        0.5,
        description="Proportion of `fit_words` sampled for each seed. If null, the texts are divided among the seeds, so no two "
        "seeds share a text, either for subspaces or for probes.",
    )
    dimensions: list[Count] = Field([1, *range(10, 201, 10)], description="Numbers of coordinates used by the probes.")
    band: Count = Field(10, description="Width of the narrow windows in figure 2, in coordinates.")
    bands: list[Count] = Field([*range(10, 201, 10)], description="Last coordinate of each such window.")
    draws: Count = Field(5, description="Random windows of each kind over which scores are averaged.")
    pairs: Count = Field(100, description="Random language pairs per seed.")
    rest_words: Count = Field(500, description="Subword tokens per language for one-against-the-rest probes.")
    layer_dimension: Count = Field(1, description="Leading coordinates that identify languages at each layer (figure 3).")
    typology: Typology = Field(Typology(), description="Typology.")
    similarity: Similarity = Field(Similarity(), description="Similarity.")
    groups: Groups = Field(Groups(), description="Figure 5.")
    tolerance: Positive = Field(1e-4, description="Largest gradient component at convergence.")

    @model_validator(mode="after")
    def _windows_have_room(self) -> Self:
        if low := [end for end in self.bands if end < self.band]:
            raise ValueError(f"bands: expected windows of {self.band} to end at {self.band} or later, found {low[0]}: remove it")
        return self


class Liang2021(PaperSection):
    """Settings for Liang, Dufter and Schütze (2021)."""

    seeds: Seeds = Field(
        [42, 43, 44, 45, 46],
        min_length=1,
        description="Seeds of the training runs.",
    )
    texts: dict[str, str | None] = Field(
        description="Corpus of paragraphs from which each encoder's language subspaces are computed.",
    )
    text_tokenisation: str = Field(description="Tokenisation of the paragraphs. Its `labelled_subword` must be `every`.")
    fit_words: Count = Field(10000, description="Training subword tokens per language for the subspaces.")
    probe_words: Count = Field(5000, description="Test subword tokens per language for the probes.")
    dimensions: Count = Field(
        105,
        description="Directions in the L-DAR penalty, at most n - 1 for n languages.",
    )
    sources: list[Annotated[list[Language], Field(min_length=1)]] = Field(
        [["en"], ["en", "de", "zh"]],
        min_length=1,
        description=(
            "Sets of source languages: English, then a mixed set. Each of n languages contributes at most "
            "1/n as many sentences as the first has."
        ),
    )
    tasks: dict[TaskName, LiangTask] = Field(min_length=1, description="The paper's tasks.", json_schema_extra=or_null)
    models: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)], Model] = Field(
        min_length=1, description="Models by name.", json_schema_extra=or_null
    )
    removal: Removal = Field(Removal(), description="Figure 4.")
    probing: Probing = Field(Probing(), description="Figures 1, 2, 3 and 5.")
    training: LiangTraining = Field(LiangTraining(), description="Settings for all training runs.")

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
        """Key of the corpus from which the language subspaces of the paper's encoder are computed."""
        return str(self.texts[self.encoder])

    def check(self, config: Config) -> None:
        """Raise ValueError if keys contradict each other or the corpora and encoders that they name."""
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
