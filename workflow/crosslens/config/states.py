"""Which words (or whole texts) of a corpus have their hidden states stored, and how."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from crosslens.config.base import Count, Section, Split


class Draw(Section):
    """Words to store of each language and split."""

    random_words: dict[Split, Count] = {}  # drawn evenly among all labelled words
    sample_split: Split = "test"
    sample_per_label: Count | None = None  # tanti2021, appendix B: points of a language and label
    sample_per_language: Count | None = None  # or points of a language, each from another text
    means: bool = False  # instead of words: the mean of each text's states, without special pieces, at all layers
    seed: int = 0

    def splits(self) -> list[Split]:
        """Splits that words are drawn from."""
        sampled = [self.sample_split] if self.sample_per_label or self.sample_per_language or self.means else []
        return list(dict.fromkeys([*self.random_words, *sampled]))


class States(Section):
    """Hidden states on disk."""

    layers: list[Annotated[int, Field(ge=0)]] = Field(
        [],
        description="layers in ascending order, in addition to what heads read (the last layer, or the pooler); 0: embeddings",
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="precision of the forward pass")
    stored: Literal["float16", "float32"] = Field("float32", description="precision on disk")

    @field_validator("layers")
    @classmethod
    def _ascending(cls, layers: list[int]) -> list[int]:
        if layers != sorted(set(layers)):
            raise ValueError("expected layers in ascending order, each once")
        return layers
