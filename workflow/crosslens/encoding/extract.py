"""Hidden states of chosen words and layers, in one pass over length-sorted batches."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from crosslens.config.units import Units
from crosslens.encoding.batches import Batch, device_copy, device_of, for_each_batch, host_copy
from crosslens.encoding.texts import Texts
from crosslens.encoding.unit_states import unit_states, unspecial

WHOLE_BYTES = 2**23  # all texts of a file are encoded if its words' states at a layer take at most so many


def text_means(encoder: nn.Module, texts: Texts) -> dict[str, np.ndarray]:
    """Mean state of each text without its special subwords, `layer_I` -> (n_texts, d) float32.

    Layer 0 is the embedding output. A text with only special subwords gets NaN. texts: loaded with whole texts as units.
    Source: muller2021, section 4.2.
    """
    device = device_of(encoder)
    states: dict[str, np.ndarray] = {}

    def step(batch: Batch) -> Callable[[], None]:
        options = {} if batch.attention_mask is None else {"attention_mask": device_copy(batch.attention_mask, device)}
        output = encoder(input_ids=device_copy(batch.input_ids, device), output_hidden_states=True, **options)
        inside = device_copy(unspecial(batch), device)
        copies = [
            host_copy((hidden.float() * inside[:, :, None]).sum(1) / inside.sum(1, keepdim=True))
            for hidden in output.hidden_states
        ]

        def finish() -> None:
            for layer, means in enumerate(copies):
                column = states.setdefault(f"layer_{layer}", np.empty((len(texts), means.shape[1]), np.float32))
                column[batch.words] = means.numpy()

        return finish

    for_each_batch(texts, encoder, False, step)
    return states


def extract(
    encoder: nn.Module,
    texts: Texts,
    rows: np.ndarray,
    layers: Sequence[int],
    units: Units,
) -> dict[str, np.ndarray]:
    """States of some labelled words: column name -> (n_rows, d) float32.

    rows: indices of the words, ascending. layers: as for `unit_states`. If the states of all words take at most WHOLE_BYTES,
    all texts are encoded, in the same batches as in a training run (crosslens.encoding.final_states). Otherwise only texts with
    one of these words are encoded, or a single text if `rows` is empty.
    """
    n_words, size = int(texts.word_offsets[-1]), int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    slots = np.full(n_words, -1)
    slots[rows] = np.arange(len(rows))
    rows_of_texts = np.unique(np.searchsorted(texts.word_offsets, rows, side="right") - 1) if len(rows) else np.zeros(1, np.int64)
    if len(rows) and 4 * n_words * size <= WHOLE_BYTES:
        rows_of_texts = np.arange(len(texts))
    part = texts.take(rows_of_texts)
    part_words = texts.word_rows(rows_of_texts)
    states: dict[str, np.ndarray] = {}

    def step(batch: Batch) -> Callable[[], None]:
        targets = slots[part_words[batch.words]]
        here = torch.from_numpy(np.flatnonzero(targets >= 0))
        chosen = replace(batch, rows=batch.rows[here], columns=batch.columns[here])
        copies = {name: host_copy(values.float()) for name, values in unit_states(encoder, chosen, units, layers).items()}

        def finish() -> None:
            for name, values in copies.items():
                states.setdefault(name, np.empty((len(rows), size), np.float32))[targets[targets >= 0]] = values.numpy()

        return finish

    for_each_batch(part, encoder, units.segments, step)
    return states
