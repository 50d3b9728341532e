"""Random words (or whole texts) of a paper's corpora, whose hidden states are stored under every model."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field

from crosslens.config.base import Count, Frozen, Split
from crosslens.config.whole import PaperSection


class Sampling(Frozen):
    """Words from a corpus, or whole texts, drawn for each language and split."""

    languages: tuple[str, ...]
    random_words: dict[Split, Count] = {}  # drawn evenly among all labelled words
    sample_split: Split = "test"
    sample_per_label: Count | None = None  # tanti2021, appendix B: points of a language and label
    sample_per_language: Count | None = None  # or points of a language, each from another text
    means: bool = False  # instead of words: all texts, and of each the mean of its states without special subwords, at all layers
    # of parallel texts, whose other languages are left out where they cannot be measured beside this one; None: of other texts
    pivot: str | None = Field(None, exclude_if=lambda pivot: pivot is None)
    all_layers: bool = False  # the words' states at all layers, not at those of `states.layers` alone
    seed: int = 0

    def splits(self) -> list[Split]:
        """Splits that words are drawn from."""
        sampled = [self.sample_split] if self.sample_per_label or self.sample_per_language or self.means else []
        return list(dict.fromkeys([*self.random_words, *sampled]))


class Samples(Frozen):
    """Draws from several corpora; they do not depend on a model and so are the same for all models."""

    encoder: str  # whose tokenizer leaves out texts with unknown subwords, and words without any
    tokenisation: str
    unit: Literal["word", "text"]
    labels: tuple[str, ...] = ()  # of the task
    corpora: dict[str, Sampling]

    @classmethod
    def averaged_texts(cls, paper: PaperSection, corpus: str, languages: Iterable[str]) -> Self:
        """A draw of all texts of a corpus as a paper reads it, such as parallel sentences, whose mean states are stored."""
        texts = Sampling(languages=tuple(languages), means=True)
        return cls(encoder=paper.encoder, tokenisation=paper.tokenisation, unit="text", corpora={corpus: texts})
