"""Hidden states of chosen words and layers, in one pass over length-sorted batches."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from crosslens.training.predict import for_each_batch
from crosslens.training.texts import Batch, Texts


def extract(
    encoder: nn.Module,
    texts: Texts,
    rows: np.ndarray,
    layers: Sequence[int],
) -> dict[int, np.ndarray]:
    """States of the labelled words `rows` (ascending indices) at each layer: layer -> (n_rows, d) float32.

    Layer 0 is the embedding output, 1 .. L the blocks. Texts without a chosen word are not read.
    """
    n_words = int(texts.word_offsets[-1])
    slots = np.full(n_words, -1)
    slots[rows] = np.arange(len(rows))
    used = np.unique(np.searchsorted(texts.word_offsets, rows, side="right") - 1)
    part = _subset(texts, used)
    part_words = texts.word_rows(used)
    config = encoder.config
    states = {layer: np.empty((len(rows), int(config.hidden_size)), np.float32) for layer in layers}  # type: ignore[union-attr, arg-type]
    device = next(encoder.parameters()).device
    last_only = list(layers) == [int(config.num_hidden_layers)]  # type: ignore[union-attr, arg-type]

    def step(batch: Batch) -> None:
        wanted = slots[part_words[batch.words]]
        here = torch.from_numpy(np.flatnonzero(wanted >= 0))
        mask = None if batch.attention_mask is None else batch.attention_mask.to(device)
        output = encoder(input_ids=batch.input_ids.to(device), attention_mask=mask, output_hidden_states=not last_only)
        places = batch.rows[here].to(device), batch.columns[here].to(device)
        for layer in layers:
            hidden = output.last_hidden_state if last_only else output.hidden_states[layer]
            states[layer][wanted[wanted >= 0]] = hidden[places].float().cpu().numpy()

    for_each_batch(part, int(config.pad_token_id or 0), device, step)  # type: ignore[union-attr, arg-type]
    return states


def _subset(texts: Texts, chosen: np.ndarray) -> Texts:
    """The chosen texts, in their order."""
    words, lengths = texts.word_rows(chosen), texts.lengths[chosen]
    pieces = np.concatenate(
        [texts.pieces[texts.piece_offsets[i] : texts.piece_offsets[i + 1]] for i in chosen] or [texts.pieces[:0]]
    )
    return Texts(
        [texts.ids[i] for i in chosen],
        [texts.languages[i] for i in chosen],
        pieces,
        np.concatenate([[0], np.cumsum(lengths)]),
        texts.positions[words],
        np.concatenate([[0], np.cumsum(np.diff(texts.word_offsets)[chosen])]),
        [texts.words[i] for i in words],
        {head: values[words] for head, values in texts.labels.items()},
    )
