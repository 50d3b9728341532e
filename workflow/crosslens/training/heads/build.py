"""Heads as a recipe has them."""

from collections.abc import Mapping

from torch import nn

from crosslens import recipes
from crosslens.training.heads.head import Head
from crosslens.training.heads.linear import Linear
from crosslens.training.heads.parser import Parser


def build(heads: Mapping[str, recipes.Head], size: int, *, dropout: float, sd: float) -> nn.ModuleDict:
    """Heads by name, on states of a size; dropout, sd: of linear ones."""

    def made(settings: recipes.Head) -> Head:
        match settings:
            case recipes.LinearHead():
                return Linear(size, settings, dropout=dropout, sd=sd)
            case recipes.ParserHead():
                return Parser(size, settings)

    return nn.ModuleDict({name: made(settings) for name, settings in heads.items()})
