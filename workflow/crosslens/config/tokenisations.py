"""Tokenisations: how texts become tokens."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Section


class Tokenisation(Section):
    """How texts are split into subwords."""

    maximum: Annotated[int, Field(ge=8, le=2048)] = Field(
        128, description="Maximum number of subwords per text, special ones included."
    )
    train_maximum: Annotated[int, Field(ge=8, le=512)] | None = Field(
        None, description="The same limit for train and for validation data taken from it; if null, `maximum`."
    )
    words: Count | None = Field(None, description="Maximum number of words per text (wu2019's parser: 140); if null, unlimited.")
    whole_words: bool = Field(
        False, description="Cuts a longer text before the first word that does not fit, whereas pairs are cut anywhere."
    )
    windows: Annotated[int, Field(ge=0, lt=500)] | None = Field(
        None,
        description="Splits longer texts into windows of whole words, each with this many subwords of preceding context: 64 "
        "(wu2019, with maximum 129) or 0 (XTREME). If null, longer texts are truncated.",
    )
    labelled_subword: Literal["first", "first_visible", "word_starts", "every"] = Field(
        "first",
        description="Subwords that carry a word's label: the first; the first that is not a bare word-boundary marker; each that "
        "starts a word according to the tokenizer (tanti2021's code); or every subword (liang2021).",
    )
    sentences: Literal["punkt", "punkt_and_marks", "punkt_english", "marks", "all_marks"] | None = Field(
        None,
        description="Sentence splitter; a text's first two sentences become a pair (wu2019, section 4.1). If null, texts are not "
        "split. `punkt` uses NLTK's model for the language, or the English one if there is none; `punkt_and_marks` differs only "
        "in splitting Chinese and Japanese at 。！？; `punkt_english` always uses the English model; `marks` splits at 。！？, "
        "and at . ! ? … before a space; `all_marks` also splits at । ॥ ۔ ؟ before a space and at spaces between Thai letters.",
    )
    each_sentence: bool = Field(
        False, description="Makes each sentence a text of its own (liu2020) instead of pairing the first two."
    )
    whole_text: bool = Field(
        False, description="Tokenises each text as a single word, which requires an encoder with an untrimmed vocabulary."
    )
    drop_unknown: bool = Field(True, description="Drops and counts texts with unknown subwords (tanti2021, section 2).")
    strip_accents: bool = Field(
        False,
        description="Removes combining marks (NFD, category Mn) before splitting, as BERT's uncased tokenizer does, but "
        "preserves case (liu2020, table 4).",
    )
    lower_case: bool = Field(False, description="Lower-cases texts before splitting, as BERT's uncased tokenizer does.")
    unknown_words: bool = Field(
        False,
        description="Replaces words without subwords, or too long for `maximum`, with one unknown subword and scores them "
        "(XTREME). If false, the former are left out and counted, and the latter are truncated.",
    )

    @model_validator(mode="after")
    def _windows_advance(self) -> Self:
        if self.windows is not None and self.windows > self.maximum - 8:
            raise ValueError(f"windows: expected at most {self.maximum - 8} (maximum - 8), found {self.windows}")
        conflicts = [
            name for name in ("train_maximum", "words", "whole_words", "sentences", "each_sentence") if getattr(self, name)
        ]
        if self.windows is not None and conflicts:
            raise ValueError(
                f"windows: expected null beside {', '.join(conflicts)}: windows cut nothing away, and pairs have none"
            )
        rules = {name: getattr(self, name) for name in ("words", "whole_words", "sentences", "unknown_words")}
        rules |= {"windows": self.windows is not None, "labelled_subword": self.labelled_subword != "first"}
        if self.whole_text and any(rules.values()):
            raise ValueError(f"whole_text: expected no rules for words beside it, found {', '.join(filter(rules.get, rules))}")
        if self.each_sentence and not self.sentences:
            raise ValueError("sentences: expected a rule beside each_sentence, found null: set marks, punkt or punkt_and_marks")
        return self

    def alters(self) -> bool:
        """Whether letters change before a text is split into subwords."""
        return self.strip_accents or self.lower_case

    def official(self) -> list[str]:
        """The official files that it needs, SOURCE/PATH."""
        return ["punkt/punkt_tab.zip"] if (self.sentences or "").startswith("punkt") else []

    def of(self, split: str) -> Self:
        """How the texts of a split are read."""
        return self.model_copy(update={"maximum": self.train_maximum}) if split == "train" and self.train_maximum else self


def to_keep_unknown(name: str, file: str, settings: Mapping[str, Any] = {}) -> str:
    """Advice for keeping the texts with unknown subwords: the line to write into an overlay.

    name: of the tokenisation. file: the overlay, in words. settings: what it states of the tokenisation already.
    """
    values = ", ".join(f"{key}: {json.dumps(value)}" for key, value in {**settings, "drop_unknown": False}.items())
    return f"to keep texts with unknown subwords, write `tokenisations: {{ {name}: {{ {values} }} }}` into {file}"
