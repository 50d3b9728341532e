"""What the training loop asks of a head, whatever its kind."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.recipes import Term


class Head(nn.Module):
    """A network on the states of labelled units, words here: flat, (n, d), texts one after the other.

    sizes (b,) are the numbers of words of the texts; labels and predictions are (n,) by kind: TASK, LANGUAGE, ARC.
    """

    learns: str  # kind of label
    counts: str  # kind of label that decides which words a loss counts
    layer: int | None  # whose states it reads; None: what the units names

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

    def classes(self, states: torch.Tensor, sizes: torch.Tensor) -> dict[str, torch.Tensor]:
        """Predictions in eval mode."""
        raise NotImplementedError
