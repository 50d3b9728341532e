"""L-DAR: distance of hidden states from a frozen anchor's within language subspaces (liang2021)."""

import copy
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from crosslens.config.recipes import Edit, Penalty
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch, device_of
from crosslens.jobs.errors import DataError
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.training import edit
from crosslens.training.cpu import Concatenated
from crosslens.training.model import states
from crosslens.training.objectives import subspace_distance


class Anchor(nn.Module):
    """A frozen copy of an encoder and, for each layer, the directions along which states are compared with the copy's states.

    Anchor "pretrained": the encoder from which the run starts, without dropout, as the paper describes. The distance is then 0
    at the first step if the encoder's own dropout is off. Anchor "released": what the released code does in effect
    (run_tag_LDAR.py; likewise run_tag_LDAR_miltisource.py). Its anchor is a second BertModel (line 91) whose parameter names
    match no BERT checkpoint, so it keeps the random weights of line 92. Line 93 puts it in evaluation mode, but line 219 undoes
    this at each step, so it has dropout.
    """

    def __init__(
        self, encoder: nn.Module, penalty: Penalty, units: Units, subspaces: Mapping[tuple[str, int], Subspace], seed: int
    ):
        """Copy the encoder and take the directions from the subspaces, which are keyed by method and layer.

        Raises DataError if a layer of the penalty has no subspace.
        """
        super().__init__()
        self.encoder, self.units = copy.deepcopy(encoder), units
        self.encoder.requires_grad_(False)
        if penalty.anchor == "released":
            edit.apply(self.encoder, Edit(layers="all", embeddings=True), stream(seed, "anchor"))
        self.encoder.train(penalty.anchor == "released")
        top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
        self.layers = tuple(range(1, top + 1)) if penalty.layers == "all" else penalty.layers
        for layer in self.layers:
            if (subspace := subspaces.get((penalty.method, layer))) is None:
                fitted_layers = sorted(number for method, number in subspaces if method == penalty.method)
                raise DataError(
                    f"penalty: expected layers that {penalty.method} was fitted to ({fitted_layers}), found {layer}: remove it"
                )
            directions = weighted(subspace, penalty.dimensions).to(device_of(encoder))
            self.register_buffer(f"directions_{layer}", directions, persistent=False)

    def forward(self, moved: Mapping[str, torch.Tensor], batch: Batch | Concatenated) -> torch.Tensor:
        """Return the distances of a batch's states from the anchor's, summed over the penalty's layers, (n_words,).

        moved: column name -> states of the trained encoder, (n_words, d).
        """
        return self.by_layer(moved, batch).sum(0)

    def by_layer(self, moved: Mapping[str, torch.Tensor], batch: Batch | Concatenated) -> torch.Tensor:
        """Return the distances of a batch's states from the anchor's at each of its layers, (layers, n_words).

        moved: column name -> states of the trained encoder, (n_words, d).
        """
        with torch.no_grad():
            anchored = states(self.encoder, batch, self.units, self.layers)
        distances = []
        for layer in self.layers:
            name, directions = f"layer_{layer}", self.get_buffer(f"directions_{layer}")
            with torch.autocast(directions.device.type, enabled=False):
                distances.append(subspace_distance(moved[name].float(), anchored[name].float(), directions))
        return torch.stack(distances)


def weighted(subspace: Subspace, dimensions: int) -> torch.Tensor:
    """Return Q w, (d, k): a layer's first k directions, each times its share of the sum of their eigenvalues.

    k: `dimensions`, or the rank if that is smaller. The paper uses 105, two more than the n - 1 directions that the centred
    centroids of its n = 104 languages span. Its last two eigenvalues are rounding errors, so their shares are 0 in effect.
    Source: run_tag_LDAR.py, lines 77 and 98-101.
    """
    eigenvalues = subspace.eigenvalues[:dimensions]
    directions = subspace.basis[:, : len(eigenvalues)] * (eigenvalues / eigenvalues.sum())
    return torch.from_numpy(directions.astype(np.float32))
