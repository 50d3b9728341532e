"""Hidden states of labelled units."""

from collections.abc import Sequence

import torch
from torch import nn

from crosslens.encoding.batches import Batch
from crosslens.encoding.units import Units
from crosslens.errors import DataError


def unit_states(encoder: nn.Module, batch: Batch, units: Units, layers: Sequence[int] = ()) -> dict[str, torch.Tensor]:
    """States of a batch's labelled units, column name -> (n_words, d).

    Always what heads read, `pooler` or the last `layer_L`, as the last column; before it `layer_I` for each of `layers`, 0 the
    embedding output. Raises DataError for a layer that the encoder does not have.
    """
    device = next(encoder.parameters()).device
    options = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
    given = {name: value.to(device) for name, value in options.items() if value is not None}
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    if any(layer > top for layer in layers):
        raise DataError(f"states.layers: expected layers from 0 to {top} for this encoder, found {max(layers)}")
    output = encoder(input_ids=batch.input_ids.to(device), output_hidden_states=any(layer < top for layer in layers), **given)
    rows, columns = batch.rows.to(device), batch.columns.to(device)
    last = {f"layer_{top}": output.last_hidden_state[rows, columns]} if top in layers or units.state == "hidden" else {}
    pooled = {"pooler": output.pooler_output[rows]} if units.state == "pooler" else {}
    return {f"layer_{layer}": output.hidden_states[layer][rows, columns] for layer in layers if layer < top} | last | pooled
