"""Masked pieces, which a language model learns to name (Devlin et al. 2019, section 3.1)."""

from dataclasses import replace

import numpy as np

from crosslens.config.heads import TASK
from crosslens.encoding.texts import Texts
from crosslens.numerics.streams import stream
from crosslens.recipes import Masking

HELD_OUT = stream(0, "mask", "held out")
"""Seed of held-out text, which is masked once, alike for every training."""


def masked(texts: Texts, seed: int, settings: Masking, mask: int, vocabulary: int) -> Texts:
    """Texts of which some pieces are hidden: these are then the labelled words, and the pieces that stood there their labels.

    Each piece but the first and the last of a text is drawn by itself, as transformers' collator draws
    (data_collator.py, DataCollatorForLanguageModeling), not a fixed number in each text, as BERT's code does. mask: number of the
    mask; vocabulary: numbers below it stand in for some pieces.
    """
    generator, n = np.random.default_rng(seed), len(texts.pieces)
    drawn = generator.random(n) < settings.share
    drawn[texts.piece_offsets[:-1]] = drawn[texts.piece_offsets[1:] - 1] = False
    rows = np.flatnonzero(drawn)
    fate = generator.random(len(rows))
    pieces = texts.pieces.copy()
    pieces[rows[fate < settings.masked]] = mask
    replaced = rows[(fate >= settings.masked) & (fate < settings.masked + settings.random)]
    pieces[replaced] = generator.integers(vocabulary, size=len(replaced))
    text = np.searchsorted(texts.piece_offsets, rows, side="right") - 1
    return replace(
        texts, pieces=pieces, positions=rows - texts.piece_offsets[text], words=[""] * len(rows),
        word_offsets=np.searchsorted(rows, texts.piece_offsets).astype(np.int64),
        labels={TASK: texts.pieces[rows].astype(np.int64)},
    )  # fmt: skip
