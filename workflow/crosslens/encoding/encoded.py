"""Statistics of the hidden states of texts, accumulated while an encoder reads them."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.encoding.batches import Batch, for_each_batch
from crosslens.encoding.texts import Texts
from crosslens.numerics.statistics import Statistics


def update_from_texts(statistics: Mapping[int, Statistics], encoder: nn.Module, texts: Texts, language: str) -> None:
    """Add the states of all pieces of texts of a language to the statistics of each layer; 0 is the embedding output.

    The first and the last piece of a text, which are special, are left out. No state is kept after its batch. Raises DataError if
    a state is not finite or the encoder has another width.
    """
    device = next(encoder.parameters()).device

    def step(batch: Batch) -> None:
        mask = torch.ones(batch.input_ids.shape, dtype=torch.long) if batch.attention_mask is None else batch.attention_mask
        options = {} if batch.attention_mask is None else {"attention_mask": mask.to(device)}
        output = encoder(input_ids=batch.input_ids.to(device), output_hidden_states=True, **options)
        places = torch.arange(mask.shape[1])
        inside = ((places > 0) & (places < mask.sum(1, keepdim=True) - 1)).to(device)
        for layer, sums in statistics.items():
            sums.update(output.hidden_states[layer][inside].float().cpu().numpy(), language)

    for_each_batch(texts, encoder, False, step)
