"""Masked subwords, which a language model learns to predict (Devlin et al. 2019, section 3.1)."""

from dataclasses import replace

import numpy as np

from crosslens.config.heads import TASK
from crosslens.config.recipes import Masking
from crosslens.encoding.texts import Texts
from crosslens.numerics.streams import stream

HELD_OUT = stream(0, "mask", "held out")
"""Seed of the masking of held-out text, which is the same for all training runs."""


def masked(texts: Texts, seed: int, settings: Masking, mask: int, vocabulary: int) -> Texts:
    """Return texts with masked subwords, which become the labelled words; their labels are the original subwords.

    mask: number of the mask subword. vocabulary: number of subwords from which random replacements are drawn.
    Each subword except the special ones around a text is masked independently, as in transformers' collator (data_collator.py,
    DataCollatorForLanguageModeling). BERT's code masks a fixed number in each text instead.
    """
    generator, n = np.random.default_rng(seed), len(texts.subwords)
    is_masked = generator.random(n) < settings.share
    is_masked[texts.end_rows()] = False
    rows = np.flatnonzero(is_masked)
    fate = generator.random(len(rows))
    subwords = texts.subwords.copy()
    subwords[rows[fate < settings.masked]] = mask
    replaced = rows[(fate >= settings.masked) & (fate < settings.masked + settings.random)]
    subwords[replaced] = generator.integers(vocabulary, size=len(replaced))
    text = np.searchsorted(texts.subword_offsets, rows, side="right") - 1
    return replace(
        texts, subwords=subwords, positions=rows - texts.subword_offsets[text], words=[""] * len(rows),
        word_offsets=np.searchsorted(rows, texts.subword_offsets).astype(np.int64),
        labels={TASK: texts.subwords[rows].astype(np.int64)},
    )  # fmt: skip
