"""Pairs of sentences and means of languages, as the measures of a shift read them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.encoding.means import Variant, language_means
from crosslens.encoding.texts import Texts, load, load_pieces


class Mean(NamedTuple):
    """Which mean of a language's states: of a corpus's split, and how its pieces count."""

    corpus: str
    split: str
    weighting: Any
    specials: bool

    @property
    def name(self) -> str:
        """How tables call it: xnli dev, tokens."""
        specials = ", with special subwords" if self.specials else ""
        weighting = "16 blocks" if self.weighting == "released" else f"mean over {self.weighting}"
        return f"{self.corpus} {self.split}, {weighting}{specials}"


def read_pairs(folder: Path, language: str, split: str, labels: Iterable[str] = ()) -> Texts:
    """Tokenised pairs of a language, each with its label."""
    return load([folder / f"{language}.{split}.parquet"], tuple(labels), (), "text")


def mean_states(
    encoder: nn.Module, tokens: Mapping[str, Path], languages: Iterable[str], means: Iterable[Mean], segments: bool
) -> dict[Mean, dict[str, torch.Tensor]]:  # fmt: skip
    """Mean states of each language, (L + 1, d) float32, under each of some means; one pass over each corpus's split."""
    found: dict[Mean, dict[str, torch.Tensor]] = {}
    wanted: dict[tuple[str, str], list[Mean]] = {}
    for mean in means:
        wanted.setdefault((mean.corpus, mean.split), []).append(mean)
    for (corpus, split), of_split in wanted.items():
        texts = {language: load_pieces([tokens[corpus] / f"{language}.{split}.parquet"]) for language in languages}
        variants = tuple(dict.fromkeys(Variant(mean.weighting, mean.specials) for mean in of_split))
        paired = bool(max(read.second.any() for read in texts.values()))
        computed = language_means(encoder, texts, variants, segments and paired)
        for mean in of_split:
            of_mean = computed[Variant(mean.weighting, mean.specials)]
            found[mean] = {language: torch.from_numpy(values.astype(np.float32)) for language, values in of_mean.items()}
    return found
