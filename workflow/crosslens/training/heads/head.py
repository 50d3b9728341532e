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
    """A network that reads the states of labelled units, here called words.

    In its methods: states: (n, d), of consecutive texts. padding: padding of the words of b texts. labels and predictions:
    kind of label (TASK, LANGUAGE, ARC) -> (n,).
    """

    learns: str  # kind of label that it predicts
    counts: str  # kind of label that decides which words count in a loss
    layer: int | Literal["all"] | None  # layer that it reads; ALL: all, concatenated; None: the states that the units name
    led = 0  # 1 if the first subword of each text is read too, as a unit before its words, else 0

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new values for all weights."""
        raise NotImplementedError

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the texts' share of a term's mean loss over a whole batch, in nats, so that micro-batches add up exactly.

        words, sentences: in the whole batch, the number of words that count and the number of sentences. Words labelled IGNORED
        must not affect the result, since batches are padded with such words on a GPU (crosslens.training.gpu).
        """
        raise NotImplementedError

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return predictions, kind of label -> (n,), in eval mode.

        side_labels: kind of label -> (n,), labels that a head may read as input.
        """
        raise NotImplementedError
