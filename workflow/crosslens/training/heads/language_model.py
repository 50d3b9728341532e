"""The head of a masked language model, which predicts the subword at each masked position."""

from collections.abc import Mapping
from typing import Self

import torch
from torch import nn
from torch.nn import functional

from crosslens.config.heads import TASK
from crosslens.config.recipes import Term
from crosslens.encoding.batches import Padding
from crosslens.jobs.errors import DataError
from crosslens.training.heads.head import Head, Number

LOGITS = 2**27  # number of logits in memory at a time if only the most probable subword is needed
SD = 0.02  # standard deviation of the initial weights (Devlin et al. 2019)


class Transform(nn.Module):
    """A linear layer, GELU and layer norm."""

    def __init__(self, size: int, epsilon: float):
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=epsilon)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return transformed states, (n, d), from states (n, d)."""
        transformed: torch.Tensor = self.LayerNorm(functional.gelu(self.dense(states)))
        return transformed


class LanguageModel(Head):
    """Head whose logits are products of a transformed state with the encoder's word embeddings, plus a bias for each subword.

    BERT and XLM-R have the same head; the embeddings remain part of the encoder.
    """

    learns = counts = TASK
    layer = None

    def __init__(self, embeddings: nn.Embedding, *, epsilon: float = 1e-12):
        """Make a head with zero biases. embeddings: the encoder's word embeddings, (vocabulary, d)."""
        super().__init__()
        vocabulary, size = embeddings.weight.shape
        self.transform = Transform(size, epsilon)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self._tied = (embeddings,)  # in a tuple, so that it is not a submodule: the weights belong to the encoder

    @classmethod
    def of(cls, encoder: nn.Module) -> Self:
        """Return a head for an encoder. Raises DataError if its word embeddings are not as wide as its states."""
        embeddings: nn.Embedding = encoder.get_input_embeddings()  # type: ignore[operator]
        width, size = embeddings.weight.shape[1], int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        if width != size:
            raise DataError(
                f"{type(encoder).__name__}: expected word embeddings as wide as the states, to name subwords by them, found "
                f"{width} and {size}: use another encoder for this recipe"
            )
        return cls(embeddings, epsilon=float(getattr(encoder.config, "layer_norm_eps", 1e-12)))

    @property
    def embeddings(self) -> nn.Embedding:
        """Return the encoder's word embeddings, (vocabulary, d)."""
        return self._tied[0]

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new weights, initialised as BERT's are."""
        dense, norm = self.transform.dense, self.transform.LayerNorm
        with torch.no_grad():
            dense.weight.copy_(torch.empty(dense.weight.shape).normal_(0, SD, generator=generator))
            norm.weight.fill_(1.0)
            for zeros in (dense.bias, norm.bias, self.bias):
                zeros.zero_()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return logits, (n, vocabulary), of states (n, d)."""
        return functional.linear(self.transform(states), self.embeddings.weight, self.bias)

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the texts' share of the batch's mean -log p(subword) over masked subwords, in nats; see `Head.term_loss`."""
        return functional.cross_entropy(self(states).float(), labels[TASK], reduction="sum") / words

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return the most probable subword for each masked position, TASK -> (n,)."""
        return {TASK: self.subwords(states)}

    def subwords(self, states: torch.Tensor) -> torch.Tensor:
        """Return the most probable subword for each state, (n,), without holding the logits of all states at once."""
        rows = max(1, LOGITS // len(self.bias))
        return torch.cat([self(part).argmax(-1) for part in torch.split(states, rows)])
