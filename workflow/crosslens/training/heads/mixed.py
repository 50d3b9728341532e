"""The feature-based model: a weighted sum of all layers and a bidirectional LSTM before another head (wu2019, section 4.1)."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.config.heads import WORD, Mix
from crosslens.encoding.texts import IGNORED
from crosslens.recipes import Term
from crosslens.training.heads.head import Head, uniform


class Mixed(Head):
    """Reads the states of all layers, side by side, and gives another head what it makes of them.

    The released code has the weighted sum alone (src/model/base.py, 55 and 249-253: weights of 0 before the softmax, no factor);
    the LSTM and the maximum are the paper's.
    """

    layer = "all"

    def __init__(self, size: int, layers: int, settings: Mix, head: Head):
        """size: of one layer's states; head: on states of `width`."""
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        options = {"num_layers": settings.lstm_layers, "bidirectional": True, "batch_first": True}
        self.lstm = nn.LSTM(size, settings.lstm_size, **options) if settings.lstm_layers else None
        self.head, self.pool = head, settings.pool
        self.learns, self.counts = head.learns, head.counts

    @staticmethod
    def width(size: int, settings: Mix) -> int:
        """Dimensions of the states that the other head reads."""
        return 2 * settings.lstm_size if settings.lstm_layers else size

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights anew: all layers weigh the same."""
        with torch.no_grad():
            self.weights.zero_()
        if self.lstm is not None:
            uniform(self.lstm.parameters(), self.lstm.hidden_size, generator)
        self.head.initialise(generator)

    def features(self, states: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """What the other head reads, (n, width), from states (n, layers * d) of texts with `sizes` words.

        Where texts are pooled, the first word of each is its first piece: it is left out, unless it is alone, and its row is the
        maximum over the others.
        """
        mixed = torch.einsum("l,nld->nd", self.weights.softmax(0), states.view(len(states), len(self.weights), -1))
        firsts = sizes.cumsum(0) - sizes
        read, lengths = torch.ones(len(states), dtype=torch.bool), sizes
        if self.pool:
            read[firsts[sizes > 1]] = False
            lengths = sizes.clamp(min=2) - 1
        read = read.to(states.device)
        hidden = self._run(mixed[read], lengths)
        if not self.pool:
            return hidden
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        wide = hidden.new_full((*mask.shape, hidden.shape[1]), -torch.inf)
        wide[mask.to(hidden.device)] = hidden
        return hidden.new_zeros(len(states), hidden.shape[1]).index_copy(0, firsts.to(hidden.device), wide.amax(1))

    def _run(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """States of the LSTM, (n, 2 * size), over texts of some lengths; a text may have no word."""
        if self.lstm is None:
            return states
        texts = list(torch.split(states, lengths[lengths > 0].tolist()))
        packed = nn.utils.rnn.pack_sequence(texts, enforce_sorted=False)
        found, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return torch.cat([each[: len(text)] for each, text in zip(found, texts, strict=True)])

    def _read(self, sizes: torch.Tensor, given: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
        """Which rows that the LSTM runs over the other head reads, (n,) bool; None: all.

        Among subwords it reads those that begin a word, and the first of each text where the head has it for the root.
        """
        if WORD not in given:
            return None
        is_read = given[WORD] != IGNORED
        if self.head.led:
            is_read[(sizes.cumsum(0) - sizes).to(is_read.device)] = True
        return is_read

    def term_loss(
        self, term: Term, states: torch.Tensor, sizes: torch.Tensor, labels: Mapping[str, torch.Tensor],
        *, words: int, sentences: int,
    ) -> torch.Tensor:  # fmt: skip
        """That of the other head."""
        features, is_read = self.features(states, sizes), self._read(sizes, labels)
        if is_read is not None:
            features, labels = features[is_read], {kind: values[is_read] for kind, values in labels.items()}
            sizes = _counts(is_read, sizes)
        return self.head.term_loss(term, features, sizes, labels, words=words, sentences=sentences)

    def classes(
        self, states: torch.Tensor, sizes: torch.Tensor, given: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Classes of the other head; IGNORED of subwords that it does not read."""
        features, is_read = self.features(states, sizes), self._read(sizes, given)
        if is_read is None:
            return self.head.classes(features, sizes, given)
        labels = {kind: values[is_read] for kind, values in given.items()}
        by_kind = self.head.classes(features[is_read], _counts(is_read, sizes), labels)
        return {kind: torch.full_like(given[WORD], IGNORED).masked_scatter(is_read, values) for kind, values in by_kind.items()}


def _counts(is_read: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """How many rows of each text are read."""
    return torch.stack([part.sum() for part in torch.split(is_read.cpu(), sizes.tolist())])
