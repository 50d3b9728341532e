"""The feature-based model: a weighted sum of all layers and a bidirectional LSTM before another head (wu2019, section 4.1)."""

from collections.abc import Mapping

import torch
from torch import nn

from crosslens.config.heads import WORD, Mix
from crosslens.config.recipes import Term
from crosslens.encoding.batches import Padding
from crosslens.encoding.texts import IGNORED
from crosslens.training.heads.head import Head, Number, uniform


class Mixed(Head):
    """A head that reads a weighted sum of all layers' states, passed through an LSTM.

    The released code has only the weighted sum (src/model/base.py, 55 and 249-253: weights start at 0 before the softmax,
    without a factor). The LSTM and the maximum over a text's words appear only in the paper.
    """

    layer = "all"

    def __init__(self, size: int, layers: int, settings: Mix, head: Head):
        """Make a head.

        size: dimensions of one layer's states. layers: number of layers, the embedding output included. head: inner head, which
        reads features of `width` dimensions.
        """
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        options = {"num_layers": settings.lstm_layers, "bidirectional": True, "batch_first": True}
        self.lstm = nn.LSTM(size, settings.lstm_size, **options) if settings.lstm_layers else None
        self.head, self.pool = head, settings.pool
        self.learns, self.counts = head.learns, head.counts

    @staticmethod
    def width(size: int, settings: Mix) -> int:
        """Return the dimensions of the features that the inner head reads."""
        return 2 * settings.lstm_size if settings.lstm_layers else size

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new weights of the LSTM and the inner head; all layers start with equal weight."""
        with torch.no_grad():
            self.weights.zero_()
        if self.lstm is not None:
            uniform(self.lstm.parameters(), self.lstm.hidden_size, generator)
        self.head.initialise(generator)

    def features(self, states: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """Return the features that the inner head reads, (n, width).

        states: (n, layers * d). sizes: (b,), number of words in each text, on the CPU. If texts are pooled, the first word of
        each is its first subword. The LSTM skips it, unless it is the only word, and its row is the maximum over the others.
        """
        mixed = torch.einsum("l,nld->nd", self.weights.softmax(0), states.view(len(states), len(self.weights), -1))
        firsts = sizes.cumsum(0) - sizes
        is_input, lengths = torch.ones(len(states), dtype=torch.bool), sizes
        if self.pool:
            is_input[firsts[sizes > 1]] = False
            lengths = sizes.clamp(min=2) - 1
        is_input = is_input.to(states.device)
        hidden = self._run(mixed[is_input], lengths)
        if not self.pool:
            return hidden
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        wide = hidden.new_full((*mask.shape, hidden.shape[1]), -torch.inf)
        wide[mask.to(hidden.device)] = hidden
        return hidden.new_zeros(len(states), hidden.shape[1]).index_copy(0, firsts.to(hidden.device), wide.amax(1))

    def _run(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the LSTM's states, (n, 2 * size); `states` if there is no LSTM. lengths: (b,), words per text, possibly 0."""
        if self.lstm is None:
            return states
        texts = list(torch.split(states, lengths[lengths > 0].tolist()))
        packed = nn.utils.rnn.pack_sequence(texts, enforce_sorted=False)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return torch.cat([output[: len(text)] for output, text in zip(outputs, texts, strict=True)])

    def _read(self, sizes: torch.Tensor, side_labels: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
        """Return which of the LSTM's rows the inner head reads, (n,) bool; None: all.

        If rows are subwords, it reads those that begin a word, and the first one of each text if the head uses it as the root.
        """
        if WORD not in side_labels:
            return None
        is_read = side_labels[WORD] != IGNORED
        if self.head.led:
            is_read[(sizes.cumsum(0) - sizes).to(is_read.device)] = True
        return is_read

    def term_loss(
        self, term: Term, states: torch.Tensor, padding: Padding, labels: Mapping[str, torch.Tensor],
        *, words: Number, sentences: Number,
    ) -> torch.Tensor:  # fmt: skip
        """Return the texts' share of the inner head's mean loss, in nats; see `Head.term_loss`."""
        sizes = padding.inside.sum(1).cpu()
        features, is_read = self.features(states, sizes), self._read(sizes, labels)
        if is_read is not None:
            features, labels = features[is_read], {kind: values[is_read] for kind, values in labels.items()}
            padding = Padding.of(_counts(is_read, sizes), states.device)
        return self.head.term_loss(term, features, padding, labels, words=words, sentences=sentences)

    def classes(
        self, states: torch.Tensor, padding: Padding, side_labels: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:  # fmt: skip
        """Return the predictions of the inner head; IGNORED for subwords that it does not read."""
        sizes = padding.inside.sum(1).cpu()
        features, is_read = self.features(states, sizes), self._read(sizes, side_labels)
        if is_read is None:
            return self.head.classes(features, padding, side_labels)
        labels = {kind: values[is_read] for kind, values in side_labels.items()}
        by_kind = self.head.classes(features[is_read], Padding.of(_counts(is_read, sizes), states.device), labels)
        return {
            kind: torch.full_like(side_labels[WORD], IGNORED).masked_scatter(is_read, values) for kind, values in by_kind.items()
        }


def _counts(is_read: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """Return the number of rows of each text that are read, (b,)."""
    return torch.stack([part.sum() for part in torch.split(is_read.cpu(), sizes.tolist())])
