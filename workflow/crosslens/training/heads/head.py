"""What the training loop asks of a head, whatever its kind."""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import nn

from crosslens.recipes import Term


def uniform(parameters: Iterable[torch.Tensor], width: int, generator: torch.Generator) -> None:
    """Draw parameters evenly within 1 / sqrt(width), as PyTorch initialises linear layers and LSTMs."""
    with torch.no_grad():
        for values in parameters:
            values.copy_(torch.empty(values.shape).uniform_(-(width**-0.5), width**-0.5, generator=generator))


class Head(nn.Module):
    """A network on the states of labelled units, words here: flat, (n, d), texts one after the other.

    sizes (b,) are the numbers of words of the texts; labels and predictions are (n,) by kind: TASK, LANGUAGE, ARC.
    """

    learns: str  # kind of label
    counts: str  # kind of label that decides which words a loss counts
    layer: int | Literal["all"] | None  # whose states it reads; ALL: side by side; None: what the units name
    led = 0  # units of a text before its words that it is given too: its first piece or none

    def initialise(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        raise NotImplementedError

    def term_loss(
        self, term: Term, states: torch.Tensor, sizes: torch.Tensor, labels: Mapping[str, torch.Tensor],
        *, words: int, sentences: int,
    ) -> torch.Tensor:  # fmt: skip
        """What these texts add to a term's mean loss over a batch, in nats; words (that count) and sentences: of the batch.

        So micro-batches add up exactly.
        """
        raise NotImplementedError

    def classes(
        self, states: torch.Tensor, sizes: torch.Tensor, given: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Predictions in eval mode; given: labels (n,) that a head may read, by kind."""
        raise NotImplementedError
