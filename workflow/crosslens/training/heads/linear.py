"""A linear classifier of words or texts after dropout, with an optional hidden layer."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.config.heads import LinearHead
from crosslens.config.recipes import Term
from crosslens.encoding.batches import Padding
from crosslens.training.heads.head import Head, Number, uniform
from crosslens.training.objectives import LOSSES


class Linear(Head, nn.Sequential):
    """A linear head that reads states, or their coordinates along directions.

    sd: standard deviation of the initial weights, with biases 0; None: both uniform within 1 / sqrt(width), PyTorch's default.
    """

    directions: torch.Tensor | None

    def __init__(
        self, size: int, settings: LinearHead, *, dropout: float, sd: float | None, directions: torch.Tensor | None = None
    ):  # fmt: skip
        """Make a head on states of `size` dimensions. directions: (size, k), orthonormal; None: states are read unchanged."""
        width = size if directions is None else directions.shape[1]
        below = [nn.Dropout(dropout), nn.Linear(width, settings.hidden), nn.ReLU()] if settings.hidden else []
        super().__init__(*below, nn.Dropout(dropout), nn.Linear(settings.hidden or width, len(settings.labels)))
        self.register_buffer("directions", directions, persistent=False)
        self.random = settings.projection is not None and settings.projection.random
        self.learns = self.counts = settings.learns
        self.layer, self.sd = settings.layer, sd

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new weights, and new directions if these are random."""
        with torch.no_grad():
            for linear in (module for module in self if isinstance(module, nn.Linear)):
                if self.sd is None:
                    uniform(linear.parameters(), linear.in_features, generator)
                else:
                    linear.weight.copy_(torch.empty(linear.weight.shape).normal_(0, self.sd, generator=generator))
                    linear.bias.zero_()
            if self.random and self.directions is not None:
                size, rank = self.directions.shape
                matrix = torch.empty(size, size, dtype=torch.float64).normal_(generator=generator)
                self.directions.copy_(torch.linalg.qr(matrix).Q[:, :rank])

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return logits, (n, labels)."""
        features = states if self.directions is None else states @ self.directions
        logits: torch.Tensor = nn.Sequential.forward(self, features)  # type: ignore[no-untyped-call]
        return logits

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the texts' share of the term's mean loss over words, in nats; see `Head.term_loss`.

        With `divided_twice` the mean is divided by the number of words again, as muller2021's sibling code does with the tag
        loss (model/settings.py, line 32; trainer/epoch_run.py, line 454).
        """
        return LOSSES[term.loss](self(states), labels[self.learns]) / (words**2 if term.divided_twice else words)

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return the most probable class of each word, (n,)."""
        return {self.learns: self(states).argmax(-1)}
