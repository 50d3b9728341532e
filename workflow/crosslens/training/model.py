"""An encoder with heads, and its weights on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from crosslens.encoders.load import load_encoder
from crosslens.errors import DataError
from crosslens.files import written
from crosslens.recipes import Head, Reading
from crosslens.streams import stream
from crosslens.training import cpu
from crosslens.training.heads import head
from crosslens.training.heads.build import build
from crosslens.training.texts import Batch


def unit_states(encoder: nn.Module, batch: Batch, reading: Reading, layers: Sequence[int] = ()) -> dict[str, torch.Tensor]:
    """States of a batch's labelled units, column name -> (n_words, d).

    Always what heads read, `pooler` or the last `layer_L`, as the last column; before it `layer_I` for each of `layers`, 0 the
    embedding output.
    """
    device = next(encoder.parameters()).device
    options = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
    given = {name: value.to(device) for name, value in options.items() if value is not None}
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    if any(layer > top for layer in layers):
        raise DataError(f"states.layers: layers of 0 to {top} expected for this encoder, found {max(layers)}")
    output = encoder(input_ids=batch.input_ids.to(device), output_hidden_states=any(layer < top for layer in layers), **given)
    rows, columns = batch.rows.to(device), batch.columns.to(device)
    last = {f"layer_{top}": output.last_hidden_state[rows, columns]} if top in layers or reading.state == "hidden" else {}
    pooled = {"pooler": output.pooler_output[rows]} if reading.state == "pooler" else {}
    return {f"layer_{layer}": output.hidden_states[layer][rows, columns] for layer in layers if layer < top} | last | pooled


class EncoderWithHeads(nn.Module):
    """A transformer encoder with heads on the states of labelled units; dropout, init_sd: of linear heads."""

    def __init__(
        self,
        encoder: nn.Module,
        heads: Mapping[str, Head],
        reading: Reading | None = None,
        *,
        dropout: float = 0.1,
        init_sd: float = 0.02,
    ):
        super().__init__()
        self.encoder = encoder
        self.reading = reading or Reading()
        if self.reading.segments and getattr(encoder.config, "type_vocab_size", 1) < 2:
            raise DataError("segments: true expected an encoder with two token types, this one has none: set segments to false")
        self.heads = build(heads, self.hidden_size, dropout=dropout, sd=init_sd)

    @property
    def hidden_size(self) -> int:
        """Dimensions of a hidden state."""
        return int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def padding(self) -> int:
        """Piece id that fills a batch."""
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    def hidden_states(self, batch: Batch, layer: int | None = None) -> torch.Tensor:
        """States of the labelled units at a layer, (n_words, d); None: those that the reading names.

        Raises DataError for a layer that there is not.
        """
        if layer is not None:
            return unit_states(self.encoder, batch, self.reading, [layer])[f"layer_{layer}"]
        if self.training and self.reading.state == "hidden" and cpu.packs(self.encoder, batch):
            return cpu.packed_states(self.encoder, batch)
        (states,) = unit_states(self.encoder, batch, self.reading).values()
        return states

    def head(self, name: str) -> head.Head:
        """A head by name."""
        found: head.Head = self.heads[name]  # type: ignore[assignment]
        return found

    def initialise_heads(self, names: Sequence[str], seed: int) -> None:
        """Draw heads anew, each from a stream of its own."""
        for name in names:
            self.head(name).initialise(torch.Generator().manual_seed(stream(seed, "head", name)))

    def weights(self, *, with_encoder: bool = True) -> dict[str, torch.Tensor]:
        """All weights by name, or those of the heads alone; not copies."""
        return {name: value for name, value in self.state_dict().items() if with_encoder or not name.startswith("encoder.")}


def save(model: EncoderWithHeads, path: Path, *, with_encoder: bool) -> None:
    """Write heads, and the encoder where it differs from its folder, as one safetensors file."""
    state = {name: value.cpu().contiguous() for name, value in model.weights(with_encoder=with_encoder).items()}
    with written(path) as temporary:
        save_file(state, temporary, metadata={"format": "pt", "encoder": "yes" if with_encoder else "no"})


def load_trained_encoder(folder: Path, weights: Path, *, pooler: bool = False, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The encoder as a training left it: its folder's weights, replaced by those of the model file where it has any."""
    encoder = load_encoder(folder, pooler=pooler, dtype=dtype)
    with safe_open(weights, "pt") as stored:
        changed = (stored.metadata() or {}).get("encoder") == "yes"
    if changed:
        state = {
            name.removeprefix("encoder."): value for name, value in load_file(weights).items() if name.startswith("encoder.")
        }
        encoder.load_state_dict({name: value.to(dtype) for name, value in state.items()}, strict=True)
    return encoder
