"""Heads as a recipe has them."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from crosslens.config import heads as described
from crosslens.numerics.subspace import Subspace
from crosslens.runs.errors import DataError
from crosslens.training.heads.head import Head
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.heads.linear import Linear
from crosslens.training.heads.mixed import Mixed
from crosslens.training.heads.parser import Parser


def build(
    heads: Mapping[str, described.Head], size: int, top: int, *, dropout: float, sd: float | None,
    subspaces: Mapping[tuple[str, int], Subspace], encoder: nn.Module | None = None,
) -> nn.ModuleDict:  # fmt: skip
    """Heads by name, on states of a size; top: last layer; dropout, sd: of linear ones; subspaces: by method and layer.

    encoder: whose word embeddings language models share.
    """

    def made(settings: described.Head) -> Head:
        if settings.mix:
            return Mixed(size, top + 1, settings.mix, on_states(settings, Mixed.width(size, settings.mix)))
        return on_states(settings, size)

    def on_states(settings: described.Head, size: int) -> Head:
        match settings:
            case described.LinearHead():
                layer = top if settings.layer is None else settings.layer
                return Linear(size, settings, dropout=dropout, sd=sd, directions=_directions(settings, layer, size, subspaces))
            case described.ParserHead():
                return Parser(size, settings)
            case described.LanguageModelHead():
                assert encoder is not None
                return LanguageModel.of(encoder)

    return nn.ModuleDict({name: made(settings) for name, settings in heads.items()})


def _directions(
    settings: described.LinearHead, layer: int, size: int, subspaces: Mapping[tuple[str, int], Subspace]
) -> torch.Tensor | None:  # fmt: skip
    """Those that a linear head projects on, (d, k); zeros where they are random and to be drawn, None where there are none."""
    if (projection := settings.projection) is None:
        return None
    if projection.first >= size:
        raise DataError(f"projection: expected a first direction below {size}, found {projection.first}: remove fewer directions")
    if projection.random:
        return torch.zeros(size, size - projection.first)
    return torch.from_numpy(subspaces[projection.method, layer].basis[:, projection.first :].astype(np.float32))
