"""Mean difference shift: a vector is added to the states of one layer before the layers above run (liu2020, section 4)."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import Batch, device_of, for_each_batch
from crosslens.encoding.layers import KNOWN, embeddings, ending_at, starting_from, transformer_layers
from crosslens.encoding.texts import Texts
from crosslens.jobs.errors import DataError


class Shift(NamedTuple):
    """The addition of weight * vector, (d,), to the output of layer `layer`, 1 to L, or of the embeddings, 0.

    Special subwords and padding are shifted too, as in the code of the successor paper (Liangtaiwan/lang-rep, bert.py, where i
    counts layers from 0 and the output of layer i is shifted if i + 1 is the layer).
    """

    layer: int
    weight: float
    vector: torch.Tensor


@contextmanager
def shifted(encoder: nn.Module, shift: Shift) -> Iterator[None]:
    """A context in which a hook shifts the encoder; with a weight of 0 its states stay bit-identical."""
    if not shift.weight:
        yield
        return
    module = transformer_layers(encoder)[shift.layer - 1] if shift.layer else embeddings(encoder)

    def add(_module: nn.Module, _given: Any, output: Any) -> Any:
        states = output[0] if isinstance(output, tuple) else output
        states = states + shift.weight * shift.vector.to(states)
        return (states, *output[1:]) if isinstance(output, tuple) else states

    handle = module.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def for_each_shift(
    texts: Texts, encoder: nn.Module, segments: bool, shifts: Mapping[Any, Shift],
    step: Callable[[Hashable, Batch, torch.Tensor], None], layers: Sequence[int] = (),
) -> None:  # fmt: skip
    """Call `step(key, batch, states)` for each batch and each of `shifts`, key -> shift.

    states: last hidden states of the batch's labelled words, (n_words, d). layers: if not empty, states are those of these
    layers, (n_layers, n_words, d). No such layer may be below a shift, and only encoders of `layers.KNOWN` support this.

    In encoders of `layers.KNOWN`, the layers up to a shift's layer run once per batch for all shifts, since they do not depend
    on it, and the last layer is computed for the labelled words only. Other encoders run completely for each shift. Raises
    DataError for a layer that the encoder does not have, and for `layers` with an encoder that does not support them.
    """
    top, device = int(encoder.config.num_hidden_layers), device_of(encoder)  # type: ignore[union-attr, arg-type]
    if wrong := sorted({shift.layer for shift in shifts.values() if not 0 <= shift.layer <= top}):
        raise DataError(f"shift: expected layers from 0 to {top} for this encoder, found {', '.join(map(str, wrong))}: omit them")
    is_supported = str(encoder.config.model_type) in KNOWN  # type: ignore[union-attr]
    if layers and not is_supported:
        raise DataError(
            f"shift: expected an encoder of a kind whose states can be read at each layer, {' or '.join(KNOWN)}, found "
            f"{encoder.config.model_type}: name another encoder"  # type: ignore[union-attr]
        )

    def of_batch(batch: Batch) -> None:
        inputs = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
        options = {name: value.to(device) for name, value in inputs.items() if value is not None}
        subwords, places = batch.input_ids.to(device), (batch.rows.to(device), batch.columns.to(device))

        def at_layers(below: Sequence[torch.Tensor], last: torch.Tensor) -> torch.Tensor:
            return torch.stack([last if layer == top else below[layer][places] for layer in layers]) if layers else last

        if not is_supported:
            for key, shift in shifts.items():
                with shifted(encoder, shift):
                    step(key, batch, encoder(input_ids=subwords, **options).last_hidden_state[places])
            return
        with ending_at(encoder, *places):
            plain = encoder(input_ids=subwords, output_hidden_states=True, **options)
            for key, shift in shifts.items():
                below, last = plain.hidden_states, plain.last_hidden_state[0]
                vector = shift.weight * shift.vector.to(last)
                if shift.weight and shift.layer == top:
                    last = last + vector
                elif shift.weight:
                    states = below[shift.layer] + vector
                    with starting_from(encoder, shift.layer, lambda input_ids, states=states, **_: states):
                        output = encoder(input_ids=subwords, output_hidden_states=bool(layers), **options)
                    below, last = output.hidden_states, output.last_hidden_state[0]
                step(key, batch, at_layers(below, last))

    for_each_batch(texts, encoder, segments, of_batch, needs_last_layer=is_supported)


def random_direction(vector: torch.Tensor, seed: int) -> torch.Tensor:
    """Random vector with the norm of `vector`, the control of a shift."""
    noise = torch.randn(vector.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scaled: torch.Tensor = noise * (vector.double().norm() / noise.norm())
    return scaled.to(vector.dtype)


def inner_subwords(texts: Texts) -> Texts:
    """The texts with all subwords as labelled words, except the special ones before and after a text or pair."""
    counts = np.maximum(texts.lengths - texts.edges.around, 0)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts) + texts.edges.before
    return replace(texts, positions=positions, word_offsets=offsets, words=[""] * len(positions), labels={}, targets=None)
