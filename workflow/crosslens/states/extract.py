"""Hidden states of chosen words and layers, in one pass over length-sorted batches."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from crosslens.recipes import Reading
from crosslens.training.model import unit_states
from crosslens.training.predict import for_each_batch
from crosslens.training.texts import Batch, Texts


def extract(
    encoder: nn.Module,
    texts: Texts,
    rows: np.ndarray,
    layers: Sequence[int] | None,
    reading: Reading,
) -> dict[str, np.ndarray]:
    """States of the labelled words `rows` (ascending indices): column name -> (n_rows, d) float32.

    layers: as for `unit_states`. Texts without a chosen word are not read, but for one where no word is chosen.
    """
    n_words = int(texts.word_offsets[-1])
    slots = np.full(n_words, -1)
    slots[rows] = np.arange(len(rows))
    used = np.unique(np.searchsorted(texts.word_offsets, rows, side="right") - 1) if len(rows) else np.zeros(1, np.int64)
    part = texts.take(used)
    part_words = texts.word_rows(used)
    size = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    states: dict[str, np.ndarray] = {}

    def step(batch: Batch) -> None:
        wanted = slots[part_words[batch.words]]
        here = torch.from_numpy(np.flatnonzero(wanted >= 0))
        chosen = replace(batch, rows=batch.rows[here], columns=batch.columns[here])
        for name, values in unit_states(encoder, chosen, reading, layers).items():
            column = states.setdefault(name, np.empty((len(rows), size), np.float32))
            column[wanted[wanted >= 0]] = values.float().cpu().numpy()

    for_each_batch(part, encoder, reading.segments, step)
    return states
