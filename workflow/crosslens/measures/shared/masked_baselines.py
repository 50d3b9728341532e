"""Baselines of masked language modelling: predictions for masked subwords from counts of the training text."""

import numpy as np

from crosslens.encoding.texts import Texts

MASKED = "masked subwords predicted correctly"
MODEL, BIGRAM, MAJORITY, GAIN = (
    "by the model", "by the bigram baseline", "by the most frequent subword",
    "gain over the bigram baseline",
)  # fmt: skip
"""Definitions of MASKED."""


def guesses(train: Texts, masked_texts: Texts, size: int) -> dict[str, np.ndarray]:
    """Return the predictions of BIGRAM and of MAJORITY, a subword for each masked position, (n_masked,) int64.

    Special subwords before and after each text are never predicted. After a subword that nothing follows in `train`, such as
    the mask, BIGRAM predicts the most frequent subword of all. Ties go to the first in the vocabulary.

    train: running text. masked_texts: text as a model sees it, whose labelled words are the masked positions. size: of the
    vocabulary.
    """
    inner = np.full(len(train.subwords), True)
    inner[train.end_rows()] = False
    rows = np.flatnonzero(inner)
    majority = int(np.bincount(train.subwords[rows], minlength=size).argmax())
    pairs, counts = np.unique(train.subwords[rows - 1].astype(np.int64) * size + train.subwords[rows], return_counts=True)
    before, after = pairs // size, pairs % size
    best = np.full(size, majority)
    order = np.lexsort(
        (-after, counts, before)
    )  # the last assignment wins: the most frequent subword, the first in the vocabulary among ties
    best[before[order]] = after[order]
    before_mask = masked_texts.subwords[masked_texts.labelled_rows - 1]
    return {BIGRAM: best[before_mask], MAJORITY: np.full(len(before_mask), majority)}
