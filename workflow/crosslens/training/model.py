"""An encoder with heads, and its weights on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from crosslens.config.heads import ALL, Head
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch
from crosslens.encoding.unit_states import unit_states
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.runs.errors import DataError
from crosslens.storage.seals import sealed
from crosslens.training import cpu
from crosslens.training.heads import head
from crosslens.training.heads.build import build

Layer = int | Literal["all"] | None
"""A layer that is read; ALL: all of them, side by side; None: what the units name."""


class EncoderWithHeads(nn.Module):
    """A transformer encoder with heads on the states of labelled units; dropout, init_sd: of linear heads."""

    def __init__(
        self,
        encoder: nn.Module,
        heads: Mapping[str, Head],
        units: Units | None = None,
        subspaces: Mapping[tuple[str, int], Subspace] | None = None,
        *,
        dropout: float = 0.1,
        init_sd: float | None = 0.02,
    ):
        super().__init__()
        self.encoder = encoder
        self.units = units or Units()
        if self.units.segments and getattr(encoder.config, "type_vocab_size", 1) < 2:
            raise DataError("segments: expected an encoder with two token types, found one without: set segments to false")
        self.top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
        options = {"dropout": dropout, "sd": init_sd, "subspaces": subspaces or {}, "encoder": encoder}
        self.heads = build(heads, self.width(None), self.top, **options)  # type: ignore[arg-type]

    @property
    def hidden_size(self) -> int:
        """Dimensions of a hidden state."""
        return int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def vocabulary(self) -> int:
        """Number of pieces."""
        return int(self.encoder.config.vocab_size)  # type: ignore[union-attr, arg-type]

    @property
    def padding(self) -> int:
        """Piece id that fills a batch."""
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    def states(self, batch: Batch, layers: Sequence[int]) -> dict[str, torch.Tensor]:
        """States of the labelled units at layers, column name -> (n_words, d); the last column are those that the units name."""
        return states(self.encoder, batch, self.units, layers, packed=self.training)

    def width(self, layer: Layer) -> int:
        """Dimensions of what is read of a unit."""
        return self.hidden_size * self.units.width() * (self.top + 1 if layer == ALL else 1)

    def hidden_states(self, batch: Batch, layers: Sequence[Layer] = (None,)) -> list[torch.Tensor]:
        """States of the labelled units at layers, (n_words, width) each. Raises DataError where a layer is out of range."""
        every = range(self.top + 1) if ALL in layers else ()
        found = self.states(batch, sorted({*every, *(layer for layer in layers if isinstance(layer, int))}))
        named = list(found.values())[-1]
        side_by_side = torch.cat([found[f"layer_{layer}"] for layer in every], -1) if every else named
        return [side_by_side if layer == ALL else named if layer is None else found[f"layer_{layer}"] for layer in layers]

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


@dataclass
class Trained:
    """What a training leaves."""

    model: EncoderWithHeads
    encoder_changed: bool
    history: list[dict[str, Any]]  # a row a pass, 0 before the first: stage, epoch, score, losses, what is watched, ...
    predictions: list[dict[str, np.ndarray]]  # kind of label -> classes, for each Score of the recipe


def states(
    encoder: nn.Module, batch: Batch, units: Units, layers: Sequence[int] = (), *, packed: bool = False
) -> dict[str, torch.Tensor]:  # fmt: skip
    """`unit_states`; packed: without padding where that is quicker, as in training."""
    if packed and units.state in ("hidden", "words") and cpu.packs(encoder, batch):
        return cpu.packed_states(encoder, batch, layers)
    return unit_states(encoder, batch, units, layers)


def save(model: EncoderWithHeads, path: Path, *, with_encoder: bool) -> None:
    """Write heads, and the encoder where it differs from its folder, as one safetensors file."""
    state = {name: value.cpu().contiguous() for name, value in model.weights(with_encoder=with_encoder).items()}
    with sealed(path) as temporary:
        save_file(state, temporary, metadata={"format": "pt", "encoder": "yes" if with_encoder else "no"})
