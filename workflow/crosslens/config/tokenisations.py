"""Tokenisations: how texts become tokens."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Section


class Tokenisation(Section):
    """Settings for splitting texts into subwords."""

    maximum: Annotated[int, Field(ge=8, le=2048)] = Field(
        128, description="Maximum number of subwords per input, including special tokens."
    )
    train_maximum: Annotated[int, Field(ge=8, le=512)] | None = Field(
        None,
        description="Maximum for training texts (null: `maximum`).",
    )
    words: Count | None = Field(None, description="Maximum number of words per text.")
    whole_words: bool = Field(
        False,
        description="Truncates long texts before the first word that does not fit.",
    )
    windows: Annotated[int, Field(ge=0, lt=500)] | None = Field(
        None,
        description=(
            "Splits overlong texts into windows of whole words that start with this many context subwords. "
            "If null, they are truncated."
        ),
    )
    labelled_subword: Literal["first", "first_visible", "word_starts", "every"] = Field(
        "first",
        description=(
            "Subwords that carry a word's label: the first, the first that is not just a word-boundary "
            "marker (`first_visible`), each that starts a word according to the tokenizer (`word_starts`), "
            "or all."
        ),
    )
    sentences: Literal["punkt", "punkt_and_marks", "punkt_english", "marks", "all_marks"] | None = Field(
        None,
        description=(
            "Sentence splitter; a text's first two sentences become a pair. `punkt` is NLTK's Punkt model "
            "for the language, or else for English; `punkt_and_marks` splits Chinese and Japanese at 。！？ "
            "instead. `punkt_english` is the English model. `marks` splits at 。！？, and at . ! ? … before a "
            "space. `all_marks` also splits at । ॥ ۔ ؟ before a space, and at spaces between Thai letters."
        ),
    )
    each_sentence: bool = Field(False, description="Treats each sentence as a text instead of pairing the first two.")
    whole_text: bool = Field(
        False, description="Tokenises texts as a whole instead of word by word. The vocabulary must not be trimmed."
    )
    drop_unknown: bool = Field(True, description="Drops and counts texts that contain unknown subwords.")
    strip_accents: bool = Field(
        False,
        description="Removes combining marks before tokenisation but preserves case.",
    )
    lower_case: bool = Field(False, description="Lowercases texts before tokenisation.")
    unknown_words: bool = Field(
        False,
        description=(
            "Replaces words with no subwords, or more than `maximum` allows, with one unknown subword and "
            "still scores them, as XTREME does. If false, the former are omitted and counted, the latter "
            "truncated."
        ),
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
        """Official files that the tokenisation needs, as SOURCE/PATH."""
        return ["punkt/punkt_tab.zip"] if (self.sentences or "").startswith("punkt") else []

    def of(self, split: str) -> Self:
        """Tokenisation of the texts of a split: for train, its maximum is `train_maximum` unless that is null."""
        return self.model_copy(update={"maximum": self.train_maximum}) if split == "train" and self.train_maximum else self


def to_keep_unknown(name: str, file: str, settings: Mapping[str, Any] = {}) -> str:
    """Advice on how to keep texts with unknown subwords: the line to write into an overlay.

    name: name of the tokenisation. file: the overlay, in words. settings: settings that the overlay already has for it.
    """
    values = ", ".join(f"{key}: {json.dumps(value)}" for key, value in {**settings, "drop_unknown": False}.items())
    return f"to keep texts with unknown subwords, write `tokenisations: {{ {name}: {{ {values} }} }}` into {file}"
