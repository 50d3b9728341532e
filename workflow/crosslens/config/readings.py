"""Readings: how texts become tokens."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Section


class Reading(Section):
    """How texts become subwords. A reading belongs to no corpus: two papers may read the same corpus in two ways."""

    maximum: Annotated[int, Field(ge=8, le=512)] = Field(
        128, description="maximum length of a text in subwords, special tokens included"
    )
    windows: Annotated[int, Field(ge=0, lt=500)] | None = Field(
        None,
        description="null: a longer text is truncated; otherwise it is split into windows of whole words, each with so many "
        "subwords of the preceding one as context: 64 (wu2019, whose maximum is 129), 0 (XTREME)",
    )
    labelled_piece: Literal["first", "first_visible", "word_starts", "every"] = Field(
        "first",
        description="which subword carries a word's label: the first; the first that is not a bare word-boundary marker (which "
        "Unigram and byte-level vocabularies put before words of unspaced scripts); every subword that starts a word for the "
        "tokenizer (authors' code); every: each subword (liang2021, which measures subwords)",
    )
    drop_unknown: bool = Field(True, description="drop texts with unknown subwords, and count them (tanti2021, section 2)")

    @model_validator(mode="after")
    def _windows_advance(self) -> Self:
        if self.windows is not None and self.windows > self.maximum - 8:
            raise ValueError(f"windows: expected at most {self.maximum - 8} (maximum - 8), found {self.windows}")
        return self
