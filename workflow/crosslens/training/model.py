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
from crosslens.config.recipes import Data
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch
from crosslens.encoding.unit_states import unit_states
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.training import cpu
from crosslens.training.cpu import Concatenated
from crosslens.training.heads import head
from crosslens.training.heads.build import build

Layer = int | Literal["all"] | None
"""A layer whose states are read; ALL: all layers, concatenated; None: the layer that the units name."""


class EncoderWithHeads(nn.Module):
    """A transformer encoder with heads on the states of labelled units.

    subspaces: (method, layer) -> subspace, for heads with projections. dropout, init_sd: dropout before linear heads, and
    standard deviation of their initial weights (None: PyTorch's default).
    """

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
        """Number of dimensions of a hidden state."""
        return int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def vocabulary(self) -> int:
        """Number of subwords in the vocabulary."""
        return int(self.encoder.config.vocab_size)  # type: ignore[union-attr, arg-type]

    @property
    def padding(self) -> int:
        """Number of the padding subword."""
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    def states(self, batch: Batch | Concatenated, layers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the states of labelled units at layers and, last, those that the units name: column name -> (n_words, d)."""
        return states(self.encoder, batch, self.units, layers)

    def width(self, layer: Layer) -> int:
        """Return the number of dimensions that a unit's states have at a layer."""
        return self.hidden_size * self.units.width() * (self.top + 1 if layer == ALL else 1)

    def hidden_states(self, batch: Batch | Concatenated, layers: Sequence[Layer] = (None,)) -> list[torch.Tensor]:
        """Return the states of labelled units at layers, (n_words, width) each. Raises DataError if a layer is out of range."""
        every = range(self.top + 1) if ALL in layers else ()
        columns = self.states(batch, sorted({*every, *(layer for layer in layers if isinstance(layer, int))}))
        default = list(columns.values())[-1]
        side_by_side = torch.cat([columns[f"layer_{layer}"] for layer in every], -1) if every else default
        return [side_by_side if layer == ALL else default if layer is None else columns[f"layer_{layer}"] for layer in layers]

    def head(self, name: str) -> head.Head:
        """Return a head by name."""
        module: head.Head = self.heads[name]  # type: ignore[assignment]
        return module

    def initialise_heads(self, names: Sequence[str], seed: int) -> None:
        """Draw new weights for heads, each from its own random stream."""
        for name in names:
            self.head(name).initialise(torch.Generator().manual_seed(stream(seed, "head", name)))

    def weights(self, *, with_encoder: bool = True) -> dict[str, torch.Tensor]:
        """Return all weights by name, or only those of the heads, without copying them."""
        return {name: value for name, value in self.state_dict().items() if with_encoder or not name.startswith("encoder.")}


@dataclass
class Trained:
    """Result of a training run."""

    model: EncoderWithHeads
    encoder_changed: bool
    history: list[dict[str, Any]]  # a row per pass, numbered from 0 for the initial weights: stage, epoch, score, losses, ...
    predictions: list[dict[str, np.ndarray]]  # kind of label -> classes, for each Score of the recipe
    states: Mapping[Data, torch.Tensor]  # (n_units, d) for the texts that a CPU encoded with the final weights


def states(
    encoder: nn.Module, batch: Batch | Concatenated, units: Units, layers: Sequence[int] = ()
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Return the states of labelled units, column name -> (n_words, d), as `unit_states` does."""
    if isinstance(batch, Batch):
        return unit_states(encoder, batch, units, layers)
    columns = cpu.concatenated_states(encoder, batch, layers)
    if units.state == "pooler":  # it reads the first subword of each row
        columns["pooler"] = encoder.get_submodule("pooler")(list(columns.values())[-1][:, None])
    return columns


def save(model: EncoderWithHeads, path: Path, *, with_encoder: bool) -> None:
    """Write the heads, and the encoder's weights if with_encoder, to one safetensors file."""
    state = {name: value.cpu().contiguous() for name, value in model.weights(with_encoder=with_encoder).items()}
    with checksummed(path) as temporary:  # one metadata key only: safetensors writes several in random order
        save_file(state, temporary, metadata={"encoder": "yes" if with_encoder else "no"})
