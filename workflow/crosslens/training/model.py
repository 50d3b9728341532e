"""An encoder with heads, and its weights on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from crosslens.encoding.batches import Batch
from crosslens.encoding.reading import Reading
from crosslens.encoding.states import unit_states
from crosslens.errors import DataError
from crosslens.files import written
from crosslens.recipes import ENCODER, Parser
from crosslens.streams import stream
from crosslens.training import cpu, heads


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
