"""Construction of the heads that a recipe describes."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from crosslens.config import heads as settings_of
from crosslens.jobs.errors import DataError
from crosslens.numerics.subspace import Subspace
from crosslens.training.heads.head import Head
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.heads.linear import Linear
from crosslens.training.heads.mixed import Mixed
from crosslens.training.heads.parser import Parser


def build(
    heads: Mapping[str, settings_of.Head], size: int, top: int, *, dropout: float, sd: float | None,
    subspaces: Mapping[tuple[str, int], Subspace], encoder: nn.Module | None = None,
) -> nn.ModuleDict:  # fmt: skip
    """Return heads by name.

    size: dimensions of the states that they read. top: number of the last layer. dropout, sd: dropout before linear heads, and
    standard deviation of their initial weights (None: PyTorch's default). subspaces: (method, layer) -> subspace. encoder:
    encoder whose word embeddings heads of language models share.
    """

    def build_head(settings: settings_of.Head) -> Head:
        if settings.mix:
            return Mixed(size, top + 1, settings.mix, on_states(settings, Mixed.width(size, settings.mix)))
        return on_states(settings, size)

    def on_states(settings: settings_of.Head, size: int) -> Head:
        match settings:
            case settings_of.LinearHead():
                layer = top if settings.layer is None else settings.layer
                return Linear(size, settings, dropout=dropout, sd=sd, directions=_directions(settings, layer, size, subspaces))
            case settings_of.ParserHead():
                return Parser(size, settings)
            case settings_of.LanguageModelHead():
                assert encoder is not None
                return LanguageModel.of(encoder)

    return nn.ModuleDict({name: build_head(settings) for name, settings in heads.items()})


def _directions(
    settings: settings_of.LinearHead, layer: int, size: int, subspaces: Mapping[tuple[str, int], Subspace]
) -> torch.Tensor | None:  # fmt: skip
    """Return the directions that a linear head projects onto, (d, k), or None without a projection.

    Random directions are zeros here, since `initialise` draws them. Raises DataError if no direction would be left.
    """
    if (projection := settings.projection) is None:
        return None
    if projection.first >= size:
        raise DataError(f"projection: expected a first direction below {size}, found {projection.first}: remove fewer directions")
    if projection.random:
        return torch.zeros(size, size - projection.first)
    return torch.from_numpy(subspaces[projection.method, layer].basis[:, projection.first :].astype(np.float32))
