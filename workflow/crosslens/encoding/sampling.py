"""Random words of a corpus: the sample of a figure, and words for probes."""

import numpy as np

from crosslens.config.samples import Sampling
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream


def sample_words(texts: Texts, language: str, split: str, settings: Sampling) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of one language's sampled words in a split, ascending, with two masks: the figure's sample, and the random words.

    The figure's sample has at most `sample_per_label` random words of each label, or one random word from each of
    `sample_per_language` random texts (tanti2021, appendix B, as in the authors' code). Each language and split has its own
    random stream. With `means`, all texts are in the sample, and none is random.
    """
    if settings.means:
        everything = np.arange(len(texts))
        return everything, np.ones(len(texts), bool), np.zeros(len(texts), bool)
    generator = np.random.default_rng(stream(settings.seed, "draw", language, split))
    n_words = int(texts.word_offsets[-1])
    order = generator.permutation(n_words)
    sample, random = np.zeros(n_words, bool), np.zeros(n_words, bool)
    random[order[: settings.random_words.get(split, 0)]] = True  # type: ignore[call-overload]
    if split == settings.sample_split:
        if settings.sample_per_label:
            labels = texts.labels["task"][order]
            for label in np.unique(labels[labels != IGNORED]):
                sample[order[labels == label][: settings.sample_per_label]] = True
        if settings.sample_per_language:
            filled = np.flatnonzero(np.diff(texts.word_offsets))
            chosen = generator.permutation(filled)[: settings.sample_per_language]
            sample[generator.integers(texts.word_offsets[chosen], texts.word_offsets[chosen + 1])] = True
    rows = np.flatnonzero(sample | random)
    return rows, sample[rows], random[rows]
