"""Tokenisation."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Section


class Tokens(Section):
    """How text becomes pieces."""

    maximum: Annotated[int, Field(ge=8, le=512)] = Field(128, description="pieces a text, special ones included")
    windows: Annotated[int, Field(ge=0, lt=500)] | None = Field(
        None,
        description="null: a longer text is cut; else it becomes windows of whole words, with so many pieces of the one before "
        "as context: 64 (wu2019, whose maximum is 129), 0 (XTREME)",
    )
    labelled_piece: Literal["first", "first_visible", "word_starts"] = Field(
        "first",
        description="which piece carries a word's label: the first; the first that is not a bare word mark (Unigram and "
        "byte-level vocabularies mark unspaced scripts so); every piece that starts a word for the tokenizer (the authors' code)",
    )
    drop_unknown: bool = Field(True, description="leave out texts with unknown pieces, and count them (tanti2021, section 2)")

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.windows is not None and self.windows > self.maximum - 8:
            raise ValueError(f"windows: at most {self.maximum - 8} (maximum less 8) expected, found {self.windows}")
        return self
