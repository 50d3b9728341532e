"""Tokenisations: how texts become tokens."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Section


class Tokenisation(Section):
    """Rules by which texts become subwords, apart from corpora, since two papers may read the same corpus differently."""

    maximum: Annotated[int, Field(ge=8, le=2048)] = Field(
        128, description="maximum length of a text in subwords, special tokens included"
    )
    train_maximum: Annotated[int, Field(ge=8, le=512)] | None = Field(
        None, description="the same for train, and for validation where it is a share of train; null: maximum"
    )
    words: Count | None = Field(None, description="maximum length of a text in words (wu2019's parser: 140); null: none")
    whole_words: bool = Field(
        False,
        description="a longer text ends before the first word that does not fit, not within it; pairs of texts end anywhere",
    )
    windows: Annotated[int, Field(ge=0, lt=500)] | None = Field(
        None,
        description="null: a longer text is truncated; otherwise it is split into windows of whole words, each with so many "
        "subwords of the preceding one as context: 64 (wu2019, whose maximum is 129), 0 (XTREME)",
    )
    labelled_subword: Literal["first", "first_visible", "word_starts", "every"] = Field(
        "first",
        description="which subword carries a word's label: the first; the first that is not a bare word-boundary marker (which "
        "Unigram and byte-level vocabularies put before words of unspaced scripts); every subword that starts a word for the "
        "tokenizer (authors' code); every: each subword (liang2021, which measures subwords)",
    )
    sentences: Literal["punkt", "punkt_and_marks", "punkt_english", "marks", "all_marks"] | None = Field(
        None,
        description="null: running text is one text; otherwise, unless each_sentence, the pair of its first two sentences, or "
        "its only one (wu2019, section 4.1). punkt: as NLTK's model of the language finds them, of English where there is none "
        "(authors' code); punkt_and_marks: Chinese and Japanese at 。！？ instead; punkt_english: all languages as English "
        "(authors' code, of WiLI); marks: any language at these, and at . ! ? … "
        "before a space; all_marks: also at । ॥ ۔ ؟ before a space (Hindi, Urdu, Arabic), and at spaces between Thai letters",
    )
    each_sentence: bool = Field(
        False, description="each sentence of running text is a text of its own, instead of the first two as a pair (liu2020)"
    )
    whole_text: bool = Field(
        False,
        description="a text is tokenised as it is, not word by word, and is one word by itself; needs an encoder with its whole "
        "vocabulary, since trimmed ones have the subwords of single words",
    )
    drop_unknown: bool = Field(True, description="drop texts with unknown subwords, and count them (tanti2021, section 2)")
    strip_accents: bool = Field(
        False,
        description="remove combining marks (NFD, then all of category Mn) before a text is split, as BERT's tokenizer for "
        "uncased models does; the letters' case stays (liu2020, table 4)",
    )
    lower_case: bool = Field(False, description="lower-case letters before a text is split, as the same tokenizer does")
    unknown_words: bool = Field(
        False,
        description="a word without a subword, or with more than maximum leaves room for, is read as one unknown subword and "
        "scored (XTREME); otherwise the former is left out and counted, and the latter read as far as there is room",
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
