"""Pairs of sentences and means of languages for the measures of a mean difference shift."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.encoding.means import Variant, language_means
from crosslens.encoding.texts import Texts, load, load_subwords


class Mean(NamedTuple):
    """Definition of the mean of a language's states: corpus, split, weighting of the subwords, and whether special ones count."""

    corpus: str
    split: str
    weighting: Any
    specials: bool

    @property
    def name(self) -> str:
        """Return the mean's name in tables, such as "xnli dev, mean over tokens"."""
        specials = ", with special subwords" if self.specials else ""
        weighting = "16 blocks" if self.weighting == "released" else f"mean over {self.weighting}"
        return f"{self.corpus} {self.split}, {weighting}{specials}"


def read_pairs(folder: Path, language: str, split: str, labels: Iterable[str] = ()) -> Texts:
    """Return the tokenised pairs of a language. labels: names of the classes."""
    return load([folder / f"{language}.{split}.parquet"], tuple(labels), (), "text")


def mean_states(
    encoder: nn.Module, tokens: Mapping[str, Path], languages: Iterable[str], means: Iterable[Mean], segments: bool
) -> dict[Mean, dict[str, torch.Tensor]]:  # fmt: skip
    """Return mean -> language -> mean states, (L + 1, d) float32; each split of a corpus is read once."""
    states_by_mean: dict[Mean, dict[str, torch.Tensor]] = {}
    means_by_split: dict[tuple[str, str], list[Mean]] = {}
    for mean in means:
        means_by_split.setdefault((mean.corpus, mean.split), []).append(mean)
    for (corpus, split), of_split in means_by_split.items():
        texts = {language: load_subwords([tokens[corpus] / f"{language}.{split}.parquet"]) for language in languages}
        variants = tuple(dict.fromkeys(Variant(mean.weighting, mean.specials) for mean in of_split))
        paired = bool(max(part.second.any() for part in texts.values()))
        computed = language_means(encoder, texts, variants, segments and paired)
        for mean in of_split:
            of_mean = computed[Variant(mean.weighting, mean.specials)]
            states_by_mean[mean] = {language: torch.from_numpy(values.astype(np.float32)) for language, values in of_mean.items()}
    return states_by_mean
