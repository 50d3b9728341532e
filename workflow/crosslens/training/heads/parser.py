"""A biaffine parser as a head of an encoder: it predicts each word's syntactic head and relation."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.config.heads import ARC, TAG, ParserHead
from crosslens.config.labels import UPOS
from crosslens.config.recipes import Term
from crosslens.encoding.batches import Padding
from crosslens.encoding.texts import IGNORED
from crosslens.training.biaffine import Biaffine
from crosslens.training.heads.head import Head, Number


class Parser(Biaffine, Head):
    """A parser of whole sentences that reads words' states and, if configured, embeddings of their UPOS tags.

    If the root's state is that of the first subword, its row precedes those of the words.
    """

    counts = ARC

    def __init__(self, size: int, settings: ParserHead):
        super().__init__(size + settings.tag_size, settings)
        self.learns, self.layer, self.relation_divisor = settings.learns, settings.layer, settings.relation_divisor
        self.led = int(settings.root != "vector")
        self.tags = nn.Embedding(len(UPOS) + 1, settings.tag_size, len(UPOS)) if settings.tag_size else None  # last row: no tag

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new weights; embeddings of tags are N(0, 1), PyTorch's default."""
        super().initialise(generator)
        if self.tags is not None:
            with torch.no_grad():
                self.tags.weight.copy_(torch.empty(self.tags.weight.shape).normal_(generator=generator))
                self.tags.weight[-1] = 0  # the row for no tag is never updated

    def wide(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:  # fmt: skip
        """Return the arguments of `Biaffine.forward`: words' states (b, w, d), their mask, the root's states (b, d) or None."""
        if self.tags is not None:
            tags = side_labels[TAG]
            states = torch.cat([states, self.tags(torch.where(tags == IGNORED, len(UPOS), tags))], -1)
        states_of_words = padding.padded(states)
        return states_of_words[:, self.led :], padding.inside[:, self.led :], states_of_words[:, 0] if self.led else None

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the texts' share of the mean loss of arcs and relations, in nats; see `Head.term_loss`.

        If `relation_divisor` is "words_plus_two", relation losses are divided by the number of words plus two per sentence, as
        in muller2021's sibling code, where [CLS] and [SEP] have relations too (trainer/epoch_run.py, line 454).
        """
        weight = words / (words + 2 * sentences) if self.relation_divisor == "words_plus_two" else 1.0
        scores = self(*self.wide(states, padding, labels))
        arcs, relations = (padding.padded(labels[kind], IGNORED)[:, self.led :] for kind in (ARC, self.learns))
        return self.loss(scores, arcs, relations, weight) / words

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return words' relations, and their heads under the key ARC; both are IGNORED for a text's first subword."""
        arcs, relations = self.parse(*self.wide(states, padding, side_labels))
        trees = {self.learns: relations, ARC: arcs}
        wide = {kind: nn.functional.pad(values, (self.led, 0), value=IGNORED) for kind, values in trees.items()}
        return {kind: values.flatten()[padding.places] for kind, values in wide.items()}
