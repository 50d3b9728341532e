"""A biaffine parser as a head: it gives each word a head and a relation."""

from collections.abc import Mapping

import torch

from crosslens.encoding.texts import IGNORED
from crosslens.recipes import ARC, ParserHead, Term
from crosslens.training.biaffine import Biaffine
from crosslens.training.heads.head import Head


class Parser(Biaffine, Head):
    """A parser of whole sentences."""

    counts = ARC

    def __init__(self, size: int, settings: ParserHead):
        super().__init__(
            size, len(settings.labels), arc=settings.arc, relation=settings.relation, dropout=settings.dropout,
            activation=settings.activation, decoding=settings.decoding,
        )  # fmt: skip
        self.learns, self.layer, self.relation_divisor = settings.learns, settings.layer, settings.relation_divisor

    def term_loss(
        self, term: Term, states: torch.Tensor, sizes: torch.Tensor, labels: Mapping[str, torch.Tensor],
        *, words: int, sentences: int,
    ) -> torch.Tensor:  # fmt: skip
        """As `Head.term_loss`.

        muller2021's sibling code divides the sum of relation losses by words plus two a sentence, for [CLS] and [SEP] have
        relations there (trainer/epoch_run.py, line 454): `relation_divisor`.
        """
        mask = inside(sizes, states.device)
        weight = words / (words + 2 * sentences) if self.relation_divisor == "words_plus_two" else 1.0
        scores = self(padded(states, mask), mask)
        arcs, relations = (padded(labels[kind], mask, IGNORED) for kind in (ARC, self.learns))
        return self.loss(scores, arcs, relations, weight) / words

    def classes(self, states: torch.Tensor, sizes: torch.Tensor) -> dict[str, torch.Tensor]:
        """Relations, and the heads of words under ARC."""
        mask = inside(sizes, states.device)
        arcs, relations = self.parse(padded(states, mask), mask)
        return {self.learns: relations[mask], ARC: arcs[mask]}


def inside(sizes: torch.Tensor, device: torch.device) -> torch.Tensor:
    """(b, w), true for words."""
    return torch.arange(int(sizes.max()), device=device) < sizes.to(device)[:, None]


def padded(values: torch.Tensor, mask: torch.Tensor, fill: int = 0) -> torch.Tensor:
    """Values of words, flat, as (b, w, ...)."""
    wide = values.new_full((*mask.shape, *values.shape[1:]), fill)
    return wide.masked_scatter(mask.view(*mask.shape, *[1] * (values.dim() - 1)), values)
