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
from crosslens.recipes import ENCODER, Parser, Reading
from crosslens.streams import stream
from crosslens.training import cpu, heads
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
    """A transformer encoder; heads on the states that the reading names."""

    def __init__(
        self,
        encoder: nn.Module,
        labels: Mapping[str, tuple[str, ...]],
        dropout: float,
        reading: Reading | None = None,
        parser: Parser | None = None,
    ):
        super().__init__()
        self.encoder = encoder
        self.reading = reading or Reading()
        if self.reading.segments and getattr(encoder.config, "type_vocab_size", 1) < 2:
            raise DataError("segments: true expected an encoder with two token types, this one has none: set segments to false")
        self.heads = heads.build(labels, dropout, parser, self.hidden_size)

    @property
    def hidden_size(self) -> int:
        """Dimensions of a hidden state."""
        return int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def padding(self) -> int:
        """Piece id that fills a batch."""
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    def hidden_states(self, batch: Batch) -> torch.Tensor:
        """States of the labelled units that heads read, (n_words, d)."""
        if self.training and self.reading.state == "hidden" and cpu.packs(self.encoder, batch):
            return cpu.packed_states(self.encoder, batch)
        (states,) = unit_states(self.encoder, batch, self.reading).values()
        return states

    def module(self, name: str) -> nn.Module:
        """The encoder or a head, by name."""
        return self.encoder if name == ENCODER else self.heads[name]

    def initialise_heads(self, names: Sequence[str], sd: float, seed: int) -> None:
        """Draw heads anew, each from a stream of its own."""
        for name in names:
            heads.initialise(self.heads[name], sd, torch.Generator().manual_seed(stream(seed, "head", name)))


def save(model: EncoderWithHeads, path: Path, *, with_encoder: bool) -> None:
    """Write heads, and the encoder where it differs from its folder, as one safetensors file."""
    state = {
        name: value.detach().cpu().contiguous()
        for name, value in model.state_dict().items()
        if with_encoder or not name.startswith("encoder.")
    }
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
