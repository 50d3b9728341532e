"""Dropout and one linear layer, which gives each word or text a class."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.recipes import LinearHead, Term
from crosslens.training.heads.head import Head
from crosslens.training.objectives import LOSSES


class Linear(Head, nn.Sequential):
    """A linear head, whose first weights are N(0, sd), its bias 0."""

    def __init__(self, size: int, settings: LinearHead, *, dropout: float, sd: float):
        super().__init__(nn.Dropout(dropout), nn.Linear(size, len(settings.labels)))
        self.learns = self.counts = settings.learns
        self.layer, self.sd = settings.layer, sd

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights anew."""
        linear: nn.Linear = self[1]  # type: ignore[assignment]
        with torch.no_grad():
            linear.weight.copy_(torch.empty(linear.weight.shape).normal_(0, self.sd, generator=generator))
            linear.bias.zero_()

    def term_loss(
        self, term: Term, states: torch.Tensor, sizes: torch.Tensor, labels: Mapping[str, torch.Tensor],
        *, words: int, sentences: int,
    ) -> torch.Tensor:  # fmt: skip
        """As `Head.term_loss`.

        muller2021's sibling code divides the tag loss, already a mean, by the number of tags again (model/settings.py, line 32;
        trainer/epoch_run.py, line 454): `divided_twice`.
        """
        return LOSSES[term.loss](self(states), labels[self.learns]) / (words**2 if term.divided_twice else words)

    def classes(self, states: torch.Tensor, sizes: torch.Tensor) -> dict[str, torch.Tensor]:
        """The most probable class of each word."""
        return {self.learns: self(states).argmax(-1)}
