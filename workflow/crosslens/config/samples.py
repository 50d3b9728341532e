"""Sampled words or texts of a paper's corpora, whose hidden states are stored for every model."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field

from crosslens.config.base import Count, Frozen, Split
from crosslens.config.whole import PaperSection


class Sampling(Frozen):
    """How words or whole texts are sampled from each language and split of a corpus."""

    languages: tuple[str, ...]
    random_words: dict[Split, Count] = {}  # number per language, uniformly from all labelled words
    sample_split: Split = "test"
    sample_per_label: Count | None = None  # samples per language and label (tanti2021, appendix B)
    sample_per_language: Count | None = None  # or samples per language, each from a different text
    # Takes all texts instead of words, and stores the mean of each text's states, without special subwords, at all layers.
    means: bool = False
    # For parallel texts: languages whose texts cannot be measured together with this one's are left out. None: not parallel.
    pivot: str | None = Field(None, exclude_if=lambda pivot: pivot is None)
    all_layers: bool = False  # stores states at all layers, not only at those in `states.layers`
    seed: int = 0

    def splits(self) -> list[Split]:
        """Splits from which words or texts are sampled."""
        sampled = [self.sample_split] if self.sample_per_label or self.sample_per_language or self.means else []
        return list(dict.fromkeys([*self.random_words, *sampled]))


class Samples(Frozen):
    """Settings of samples from several corpora. All models share the samples, which do not depend on a model."""

    encoder: str  # its tokenizer decides which texts have unknown subwords and which words have none; these are left out
    tokenisation: str
    unit: Literal["word", "text"]
    labels: tuple[str, ...] = ()  # labels of the task
    corpora: dict[str, Sampling]

    @classmethod
    def averaged_texts(cls, paper: PaperSection, corpus: str, languages: Iterable[str]) -> Self:
        """Settings that take all texts of a corpus, tokenised as the paper says, and store their mean states."""
        texts = Sampling(languages=tuple(languages), means=True)
        return cls(encoder=paper.encoder, tokenisation=paper.tokenisation, unit="text", corpora={corpus: texts})
