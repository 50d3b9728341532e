"""Hidden states of labelled units."""

from collections.abc import Sequence

import torch
from torch import nn

from crosslens.config.units import Units
from crosslens.encoding.batches import Batch, device_copy, device_of
from crosslens.encoding.layers import KNOWN
from crosslens.jobs.errors import DataError


def unit_states(encoder: nn.Module, batch: Batch, units: Units, layers: Sequence[int] = ()) -> dict[str, torch.Tensor]:
    """States of a batch's labelled units, column name -> (n_words, d), or (n_words, 4 d) for pairs.

    The last column has the states that heads read, `pooler` or `layer_L` of the last layer. A column `layer_I` precedes it for
    each of the other `layers`; 0 is the embedding output. Raises DataError for a layer that the encoder does not have.
    """
    device, kind = device_of(encoder), str(encoder.config.model_type)  # type: ignore[union-attr]
    options = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
    inputs = {name: device_copy(value, device) for name, value in options.items() if value is not None}
    mask = inputs.get("attention_mask")
    if mask is not None and device.type == "cuda" and kind in KNOWN:
        # transformers would make the same mask, but only after waiting for the GPU to find out whether anything is padded.
        inputs["attention_mask"] = mask.bool()[:, None, None, :].expand(-1, 1, mask.shape[1], -1)
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    if any(layer > top for layer in layers):
        raise DataError(f"states.layers: expected layers from 0 to {top} for this encoder, found {max(layers)}: remove it")
    output = encoder(
        input_ids=device_copy(batch.input_ids, device), output_hidden_states=any(layer < top for layer in layers), **inputs
    )
    rows, columns = device_copy(batch.rows, device), device_copy(batch.columns, device)

    def of_units(states: torch.Tensor) -> torch.Tensor:
        if units.state == "pair":
            return pair_means(states, *(device_copy(extent, device) for extent in pair_extents(batch)))[rows]
        return text_means(states, mask)[rows] if units.state == "mean" else states[rows, columns]

    last = {f"layer_{top}": of_units(output.last_hidden_state)} if top in layers or units.state != "pooler" else {}
    pooled = {"pooler": output.pooler_output[rows]} if units.state == "pooler" else {}
    return {f"layer_{layer}": of_units(output.hidden_states[layer]) for layer in layers if layer < top} | last | pooled


def pair_extents(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks of the subwords of the first and of the second text of each pair, without special subwords, (B, T) bool each."""
    places, inside = _inside(batch)
    second = batch.second[:, None]
    return inside & (places < second - batch.edges.between), inside & (places >= second)


def unspecial(batch: Batch) -> torch.Tensor:
    """Mask of the subwords of single texts and pairs that are not special, (B, T) bool."""
    first, second = pair_extents(batch)
    return torch.where((batch.second > 0)[:, None], first | second, _inside(batch)[1])


def _inside(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Places of subwords, (T,), and mask of those between the special subwords at the ends of each text or pair, (B, T)."""
    size = batch.input_ids.shape[1]
    lengths = torch.full((len(batch.input_ids),), size) if batch.attention_mask is None else batch.attention_mask.sum(1)
    places = torch.arange(size)
    return places, (places >= batch.edges.before) & (places < lengths[:, None] - batch.edges.after)


def pair_means(states: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """u, v, |u - v| and u * v concatenated, (B, 4 d); u and v are the means of states (B, T, d) under the two masks (B, T)."""
    u, v = ((states * inside[:, :, None]).sum(1) / inside.sum(1, keepdim=True).clamp(min=1) for inside in (first, second))
    return torch.cat([u, v, (u - v).abs(), u * v], 1)


def text_means(states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Mean state of each text over its subwords, special ones included, (B, d).

    states: (B, T, d). mask: (B, T), 1 for subwords and 0 for padding; None: nothing is padded.
    """
    if mask is None:
        return states.mean(1)
    inside = mask[:, :, None].to(states.dtype)
    return (states * inside).sum(1) / inside.sum(1)
