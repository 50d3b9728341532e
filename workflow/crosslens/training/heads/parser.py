"""A biaffine parser as a head: it gives each word a head and a relation."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.config.heads import ARC, TAG, ParserHead
from crosslens.config.labels import UPOS
from crosslens.encoding.texts import IGNORED
from crosslens.recipes import Term
from crosslens.training.biaffine import Biaffine
from crosslens.training.heads.head import Head


class Parser(Biaffine, Head):
    """A parser of whole sentences; on request it is given each word's UPOS, as an embedding beside the word's state.

    Where the root's state is that of the first piece, it stands before the words, as if it were one.
    """

    counts = ARC

    def __init__(self, size: int, settings: ParserHead):
        super().__init__(
            size + settings.tag_size, len(settings.labels), arc=settings.arc, relation=settings.relation,
            dropout=settings.dropout, activation=settings.activation, root=settings.root, decoding=settings.decoding,
            initialisation=settings.initialisation, cut_heads=settings.cut_heads, one_root=settings.one_root,
        )  # fmt: skip
        self.learns, self.layer, self.relation_divisor = settings.learns, settings.layer, settings.relation_divisor
        self.led = int(settings.root != "vector")
        self.tags = nn.Embedding(len(UPOS) + 1, settings.tag_size, len(UPOS)) if settings.tag_size else None  # the last: no tag

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights anew; embeddings of tags N(0, 1), as PyTorch has them."""
        super().initialise(generator)
        if self.tags is not None:
            with torch.no_grad():
                self.tags.weight.copy_(torch.empty(self.tags.weight.shape).normal_(generator=generator))
                self.tags.weight[-1] = 0  # of no tag, which stays so

    def wide(
        self, states: torch.Tensor, sizes: torch.Tensor, given: Mapping[str, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:  # fmt: skip
        """Arguments of `Biaffine.forward`: states of words (b, w, d), their mask, and the root's (b, d) where it has one."""
        if self.tags is not None:
            tags = given[TAG]
            states = torch.cat([states, self.tags(torch.where(tags == IGNORED, len(UPOS), tags))], -1)
        mask = inside(sizes, states.device)
        found = padded(states, mask)
        return found[:, self.led :], mask[:, self.led :], found[:, 0] if self.led else None

    def term_loss(
        self, term: Term, states: torch.Tensor, sizes: torch.Tensor, labels: Mapping[str, torch.Tensor],
        *, words: int, sentences: int,
    ) -> torch.Tensor:  # fmt: skip
        """As `Head.term_loss`.

        muller2021's sibling code divides the sum of relation losses by words plus two a sentence, for [CLS] and [SEP] have
        relations there (trainer/epoch_run.py, line 454): `relation_divisor`.
        """
        weight = words / (words + 2 * sentences) if self.relation_divisor == "words_plus_two" else 1.0
        scores, mask = self(*self.wide(states, sizes, labels)), inside(sizes, states.device)
        arcs, relations = (padded(labels[kind], mask, IGNORED)[:, self.led :] for kind in (ARC, self.learns))
        return self.loss(scores, arcs, relations, weight) / words

    def classes(
        self, states: torch.Tensor, sizes: torch.Tensor, given: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Relations, and the heads of words under ARC; of a first piece IGNORED."""
        arcs, relations = self.parse(*self.wide(states, sizes, given))
        mask = inside(sizes, states.device)
        found = {self.learns: relations, ARC: arcs}
        return {kind: nn.functional.pad(each, (self.led, 0), value=IGNORED)[mask] for kind, each in found.items()}


def inside(sizes: torch.Tensor, device: torch.device) -> torch.Tensor:
    """(b, w), true for words."""
    return torch.arange(int(sizes.max()), device=device) < sizes.to(device)[:, None]


def padded(values: torch.Tensor, mask: torch.Tensor, fill: int = 0) -> torch.Tensor:
    """Values of words, flat, as (b, w, ...)."""
    wide = values.new_full((*mask.shape, *values.shape[1:]), fill)
    return wide.masked_scatter(mask.view(*mask.shape, *[1] * (values.dim() - 1)), values)
