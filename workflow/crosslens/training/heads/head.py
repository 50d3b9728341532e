"""Interface between the training loop and heads of all kinds."""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import nn

from crosslens.config.recipes import Term
from crosslens.encoding.batches import Padding

Number = int | torch.Tensor
"""A number of words or texts; on a GPU it may be a tensor of no dimensions."""


def uniform(parameters: Iterable[torch.Tensor], width: int, generator: torch.Generator) -> None:
    """Draw parameters uniformly within 1 / sqrt(width), as PyTorch initialises linear layers and LSTMs."""
    with torch.no_grad():
        for values in parameters:
            values.copy_(torch.empty(values.shape).uniform_(-(width**-0.5), width**-0.5, generator=generator))


class Head(nn.Module):
    """A network on the states of labelled units, called words here: (n, d), texts one after the other.

    padding: of the words of b texts; labels and predictions: (n,) by kind: TASK, LANGUAGE, ARC.
    """

    learns: str  # kind of label
    counts: str  # kind of label that decides which words count in a loss
    layer: int | Literal["all"] | None  # layer that is read; ALL: all, concatenated; None: as the units say
    led = 0  # number of units before a text's words that are read too: 1 for its first subword, or 0

    def initialise(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        raise NotImplementedError

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the contribution of texts to a term's mean loss over a batch, in nats, so that micro-batches add up exactly.

        words, sentences: numbers of words that count and of sentences in the whole batch. Words whose label is IGNORED, and their
        states, change nothing: on a GPU batches are padded with such words (crosslens.training.gpu).
        """
        raise NotImplementedError

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return predictions by kind of label, (n,), in eval mode. side_labels: labels (n,) by kind that a head may read."""
        raise NotImplementedError
