"""Tokenisation."""

from typing import Annotated, Literal

from pydantic import Field

from crosslens.config.base import Section


class Tokens(Section):
    """How text becomes pieces."""

    maximum: Annotated[int, Field(ge=8, le=512)] = Field(128, description="pieces a text, special ones included")
    labelled_piece: Literal["first", "first_visible", "word_starts"] = Field(
        "first",
        description="which piece carries a word's label: the first; the first that is not a bare word mark (Unigram "
        "vocabularies mark unspaced scripts so); every piece that starts a word for the tokenizer (the authors' code)",
    )
    drop_unknown: bool = Field(True, description="leave out texts with unknown pieces, and count them (tanti2021, section 2)")
