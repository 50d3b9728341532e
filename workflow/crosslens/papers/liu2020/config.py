"""liu2020: settings of pretraining, word retrieval, token translation and shifts, each with its source in the paper."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from crosslens.config.base import Count, Language, Rate, Section, Share, or_null, without_null
from crosslens.config.corpora import PairCorpus
from crosslens.config.static_embeddings import GloVe, Word2Vec
from crosslens.config.training import Clip, Positive, Precision, Seeds, Training, Warmup, WeightDecay
from crosslens.config.whole import Config, PaperSection
from crosslens.papers.checks import expect_tokenisation

RELEASED = "released"
SENTENCE = "sentence"
Window = Annotated[int, Field(ge=8, le=512)] | Literal["sentence"]
Weighting = Literal["tokens", "texts", "released"]


class Bert(Training):
    """Masked language models pretrained from scratch (section 3.2)."""

    RECIPE = ("epsilon", "parts", "encoder_dropout")

    encoder: str = Field(description="Untrained BERT model to pretrain.")
    window: Window = Field(
        512,
        description="Subwords per example of running text from one page; with `sentence`, an example is one sentence.",
    )
    segments: list[Annotated[int, Field(ge=8, le=512)]] = Field(
        [20],
        description="Sizes of short windows in subwords. Each window covers a segment of one sentence.",
    )
    updates: Count = Field(200_000, description="Updates for each data size and window.")
    evaluations: Count = Field(20, description="Evaluations on held-out text during pretraining.")
    equal_epochs: bool = Field(
        False,
        description="Adds a long-window BERT trained on the smaller data size for as many epochs as on the larger.",
    )
    subwords: Count = Field(131_072, description="Average number of subwords per batch.")
    parts: Count = Field(
        4,
        description="Parts of a batch, processed one after another, or in parallel on as many GPUs of one machine.",
    )
    masked: Annotated[float, Field(gt=0, lt=1)] = Field(0.15, description="Proportion of subwords masked.")
    init_sd: Positive | None = Field(None, description="Standard deviation of the initial weights (null: the encoder's value).")
    rate: Rate = Field(1e-4, description="Learning rate.")
    warmup: Warmup = 0.01
    weight_decay: WeightDecay = 0.01
    clip: Clip = 1.0
    epsilon: Positive = Field(1e-6, description="Epsilon of Adam.")
    encoder_dropout: bool = Field(True, description="Applies dropout in the encoder at a rate of 0.1.")
    precision: Precision = "auto"

    @model_validator(mode="after")
    def _segments_are_shorter(self) -> Self:
        long = [size for size in self.segments if isinstance(self.window, int) and size >= self.window]
        if long:
            raise ValueError(f"segments: expected fewer subwords than window has, {self.window}, found {long[0]}")
        return self

    @property
    def windows(self) -> list[Window]:
        """Windows of the masked language models: the long one, then the short ones."""
        return [self.window, *self.segments]


class Pretraining(Section):
    """Encoders pretrained on the same text (section 3.2)."""

    corpus: str = Field(description="Corpus of paragraphs for pretraining.")
    tokenisation: str = Field(description="Tokenisation that treats each sentence as a separate text.")
    sizes: dict[Annotated[str, Field(pattern=r"^[0-9a-z]+$")], Count] = Field(
        min_length=2,
        max_length=2,
        description="Two named data sizes, in sentences per language, smaller first.",
        json_schema_extra=or_null,
    )
    seeds: Seeds = Field(
        [0],
        min_length=1,
        description=(
            "Seeds of pretraining. XNLI training with seed s starts from model s modulo their number; token "
            "translation uses the first."
        ),
    )
    bert: Bert = Field(description="Masked language models.")
    static: str = Field(description="Untrained word embeddings, replaced with those of GloVe or Word2Vec.")
    glove: GloVe | None = Field(GloVe(), description="GloVe; null omits it.")
    word2vec: Word2Vec | None = Field(Word2Vec(), description="Word2Vec; null omits it.")

    _named = field_validator("sizes", mode="before")(without_null)


class Retrieval(Section):
    """Word retrieval (section 3.1 and figures 1, 3 and 5)."""

    dictionaries: list[str] = Field(min_length=1, description="Dictionaries to use.")
    dictionary_split: Literal["train", "test"] = Field("test", description="Dictionary split.")
    size: str | None = Field(
        None,
        description="Data size (from `pretraining.sizes`) that provides the contexts for all models (null: the larger).",
    )


class Means(Section):
    """Mean of a language's hidden states (section 4.1)."""

    corpus: str | None = Field(None, description="Corpus of the texts (null: corpus and tokenisation of `nli`).")
    tokenisation: str | None = Field(None, description="Tokenisation of the texts.")
    split: Literal["train", "validation", "dev", "test"] = Field(
        "dev", description="Split of the corpus from which the texts are taken."
    )
    weighting: Weighting = Field(
        "tokens",
        description=(
            "Units with equal weight: subword tokens or texts. `released` uses only 16 blocks of 512 subword "
            "tokens, as in the group's code for a later paper."
        ),
    )
    specials: bool = Field(False, description="Includes special tokens in the mean.")


class Translation(Section):
    """Unsupervised token translation (section 4.2, tables 1 to 3, and figures 7 and 8)."""

    model: str = Field(
        RELEASED,
        description="Model: the released encoder, or one of our pretrained masked language models, such as bert-512/200k.",
    )
    languages: list[Language] = Field(
        ["de", "fr", "ur", "sw", "zh", "el"],
        min_length=1,
        description="Languages translated from and into English, in the order of table 2.",
    )
    weights: list[float] = Field([1.0, 2.0, 3.0], min_length=1, description="Shift weights, each combined with every layer.")
    negative_weights: list[float] = Field([-1.0, -2.0, -3.0], description="Negative shift weights.")
    layer: Count = Field(10, description="Layer for the convert rates in table 2 and the samples in table 1.")
    printed: tuple[Count, float] = Field((11, 3.0), description="Layer and shift weight used in the first rows of table 2.")
    figure_direction: tuple[str, str] = Field(("en", "el"), description="Translation direction in figures 7 and 8.")
    samples: list[Count] = Field([36], description="Positions, in the test set, of the sentence pairs shown in table 1.")
    sample_languages: list[Language] = Field(["zh", "fr"], description="Target languages in table 1.")
    variants: list[Means] = Field(
        [],
        description="Ways of computing the mean that the `calibration` table compares by convert rate.",
    )


class Nli(Training):
    """Training runs on XNLI (section 4.3, table 4 and figures 2, 4 and 6)."""

    RECIPE = ("dropout",)

    corpus: str = Field(description="Corpus of sentence pairs.")
    tokenisation: str = Field(description="Tokenisation of the sentence pairs.")
    languages: list[Language] = Field(
        ["de", "es", "ar", "el", "fr", "hi", "ru", "th", "tr", "vi", "zh"],
        description="Languages in table 4.",
    )
    epochs: Count = Field(3, description="Epochs.")
    batch: Count = Field(32, description="Pairs per step.")
    rate: Rate = Field(2e-5, description="Learning rate.")
    head_rate: Rate | None = Field(None, description="Learning rate for the head (null: `rate`).")
    pretrained_rate: Rate | None = Field(None, description="Learning rate for our own pretrained encoders (null: `rate`).")
    pretrained_epochs: Count | None = Field(None, description="Epochs for our own pretrained encoders (null: `epochs`).")
    pretrained_half: bool = Field(
        False,
        description="Fine-tunes only the upper half of our own pretrained encoders.",
    )
    warmup: Warmup = 0.1
    weight_decay: WeightDecay = 0.01
    clip: Clip = 1.0
    dropout: Share = Field(0.1, description="Dropout rate before the head.")
    segments: bool = Field(True, description="Assigns token type 1 to the second sentence of a pair.")
    weights: list[float] = Field(
        [number / 10 for number in range(31)],
        min_length=2,
        description="Candidate shift weights. One is selected on development data.",
    )
    features_hidden: Count = Field(
        512, description="Hidden units, learning rate and epochs of the head trained on frozen hidden states."
    )
    features_rate: Rate = Field(
        1e-3,
        description="Hidden units, learning rate and epochs of the head trained on frozen hidden states.",
    )
    features_epochs: Count = Field(
        10, description="Hidden units, learning rate and epochs of the head trained on frozen hidden states."
    )


class Identification(Section):
    """Language-identification probes, trained to convergence."""

    subwords: Count = Field(
        1000,
        description="Subword tokens per language and split.",
    )
    penalties: list[Positive] = Field(
        [0.01, 0.1, 1.0, 10.0, 100.0],
        min_length=1,
        description="Candidate values of C, scikit-learn's inverse regularisation.",
    )
    tolerance: Positive = Field(1e-6, description="Largest gradient component at convergence.")
    fine_tuned: bool = Field(
        True,
        description="Also probes shifted hidden states of the encoder fine-tuned on XNLI.",
    )


class Vocabulary(Section):
    """Subwords per language (table 3), and the effect of stripping accents or lower-casing."""

    encoder: str = Field(description="Encoder whose tokenizer is used.")
    corpus: str = Field(description="Corpus of sentence pairs in whose test sets subwords are counted.")
    tokenisation: str = Field(description="Tokenisation for table 3.")
    altered: list[str] = Field(
        [],
        description="Tokenisations with strip_accents or lower_case for the `accents` table.",
    )


class Liu2020(PaperSection):
    """Settings for Liu et al. (2020)."""

    seeds: Seeds = Field([0, 1, 2], min_length=1, description="Seeds of the training runs on XNLI.")
    source_language: Language = Field(
        "en",
        description="Language paired with each other one, in both directions, in word retrieval and token translation.",
    )
    pretraining: Pretraining = Field(description="Encoders pretrained from scratch.")
    retrieval: Retrieval = Field(description="Word retrieval.")
    means: Means = Field(Means(), description="Mean of a language's states.")
    translation: Translation = Field(Translation(), description="Unsupervised token translation.")
    nli: Nli = Field(description="XNLI.")
    identification: Identification = Field(Identification(), description="Language identification.")
    vocabulary: Vocabulary = Field(description="Table 3.")

    def bert_name(self, window: Window) -> str:
        """Key of the masked language model with a window, such as bert-512."""
        return f"bert-{window}"

    def pretrained(self) -> list[str]:
        """Names of the pretrained models, such as bert-512/200k, in order."""
        settings = self.pretraining
        models = [*(self.bert_name(window) for window in settings.bert.windows)]
        models += [name for name in ("glove", "word2vec") if getattr(settings, name)]
        return [f"{model}/{size}" for size in settings.sizes for model in models]

    def equal_epochs(self) -> dict[str, int]:
        """Name -> updates of the BERT that is trained on less text for as many epochs as on more; empty if not configured."""
        bert, (less, more) = self.pretraining.bert, self.pretraining.sizes
        updates = round(bert.updates * self.pretraining.sizes[less] / self.pretraining.sizes[more])
        return {f"{self.bert_name(bert.window)}/{less}-epochs": max(updates, 1)} if bert.equal_epochs else {}

    def check(self, config: Config) -> None:
        """Raise ValueError if keys contradict each other or the corpora and encoders that they name."""
        here, part = "papers.liu2020", self.pretraining
        config.expect_corpus(f"{here}.pretraining.corpus", part.corpus, "paragraphs")
        if self.retrieval.size not in (None, *part.sizes):
            raise ValueError(f"{here}.retrieval.size: expected one of {', '.join(part.sizes)}, found '{self.retrieval.size}'")
        config.expect_corpus(f"{here}.nli.corpus", self.nli.corpus, "pairs")
        pairs = config.corpora[self.nli.corpus]
        if isinstance(pairs, PairCorpus) and pairs.limits.keys() & {"dev", "test"} and not pairs.parallel:
            raise ValueError(
                f"corpora.{self.nli.corpus}: expected `parallel: true`, since papers.liu2020 translates its dev and test "
                "pairs and limits draw others in each language, found false"
            )
        config.expect_corpus(f"{here}.vocabulary.corpus", self.vocabulary.corpus, "pairs")
        if self.vocabulary.encoder not in config.encoders:
            raise ValueError(
                f"{here}.vocabulary.encoder: expected one of {', '.join(config.encoders)}, found '{self.vocabulary.encoder}'"
            )
        for name in self.retrieval.dictionaries:
            config.expect_corpus(f"{here}.retrieval.dictionaries", name, "dictionary")
        tokenisations: dict[str, str | None] = {"pretraining": part.tokenisation}
        tokenisations |= {
            "nli": self.nli.tokenisation,
            "means": self.means.tokenisation,
            "vocabulary": self.vocabulary.tokenisation,
        }
        for key, tokenisation in tokenisations.items():
            if tokenisation is not None:
                expect_tokenisation(config, f"{here}.{key}.tokenisation", tokenisation)
        altering = [name for name, tokenisation in config.tokenisations.items() if tokenisation.alters()]
        for tokenisation in self.vocabulary.altered:
            if tokenisation not in altering:
                raise ValueError(
                    f"{here}.vocabulary.altered: expected tokenisations with strip_accents or lower_case "
                    f"({', '.join(altering)}), found '{tokenisation}'"
                )
        for key, name in (("pretraining.bert.encoder", part.bert.encoder), ("pretraining.static", part.static)):
            config.expect_encoder(f"{here}.{key}", name)
            n_layers = config.encoders[name].n_layers()
            if n_layers is None or bool(n_layers) != (key != "pretraining.static"):
                raise ValueError(f"{here}.{key}: expected a random encoder {'with' if n_layers == 0 else 'without'} layers")
        if self.translation.model not in (RELEASED, *(name for name in self.pretrained() if name.startswith("bert"))):
            raise ValueError(
                f"{here}.translation.model: expected '{RELEASED}' or one of {', '.join(self.pretrained())} that predicts "
                f"subwords, found '{self.translation.model}'"
            )
        test_languages = set(config.corpora[self.nli.corpus].languages)
        if len({*self.translation.figure_direction}) < 2:
            raise ValueError(
                f"{here}.translation.figure_direction: expected two languages, found {self.translation.figure_direction[0]} twice"
            )
        named_languages = {
            self.source_language,
            *self.translation.languages,
            *self.nli.languages,
            *self.translation.figure_direction,
        }
        if missing := sorted(named_languages - test_languages):
            raise ValueError(
                f"{here}: expected languages of {self.nli.corpus}, found {', '.join(missing)} under translation or "
                "nli: remove them there or add them to the corpus"
            )


PAPER_SECTION = Liu2020
section = Liu2020.of
