"""GloVe: vectors whose products, plus a bias per subword, approximate the logarithms of co-occurrence counts.

Pennington, Socher and Manning 2014, equations 8 and 9, trained as in the released code (stanfordnlp/GloVe 52f7dbc,
src/glove.c).
"""

from collections.abc import Mapping, Sequence
from logging import Logger
from typing import Any

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from crosslens.config.static_embeddings import GloVe
from crosslens.jobs import signals
from crosslens.jobs.errors import DataError
from crosslens.jobs.progress import Progress
from crosslens.numerics.streams import stream
from crosslens.training.checkpoint import CheckpointFile
from crosslens.training.cooccurrence import Cooccurrence


def train(
    settings: GloVe,
    pairs: Cooccurrence,
    vocabulary: int,
    size: int,
    *,
    seed: int,
    device: torch.device,
    log: Logger,
    checkpoint_file: CheckpointFile | None = None,
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return vectors, (vocabulary, size) float32, and for each epoch the mean loss of a pair, measured before its update.

    A subword's vector is the sum of its vectors as a word and as a context (src/glove.c:315-318). Subwords without a pair have
    zeros. checkpoint_file: file from which a stopped training run continues; None: no checkpoints. Raises DataError if there
    are no pairs, or if the loss is not finite.
    """
    if not len(pairs.first):
        raise DataError("GloVe: expected texts of at least two subwords, found none: name other texts")
    subwords, rows = np.unique(np.concatenate([pairs.first, pairs.second]), return_inverse=True)
    first, second = (torch.from_numpy(part).to(device) for part in rows.astype(np.int64).reshape(2, -1))
    counts = torch.from_numpy(pairs.counts).to(device, torch.float32)
    model = Model(len(subwords), size, settings, seed=seed, device=device)
    n = len(counts)
    values, tensors = (checkpoint_file and checkpoint_file.read()) or ({"epoch": 1, "start": 0, "history": []}, {})
    model.restore(tensors)
    history: list[dict[str, Any]] = values["history"]
    ordered_pairs = n + int((first != second).sum())  # pairs in both orders; a subword with itself has only one
    log.info("%d pairs of %d subwords", ordered_pairs, len(subwords))
    with Progress(settings.epochs * n, "pairs", log) as progress, signals.held():
        progress.advance((values["epoch"] - 1) * n + values["start"])
        for epoch in range(values["epoch"], settings.epochs + 1):
            generator = torch.Generator(device).manual_seed(stream(seed, "glove", "pairs", epoch))
            loss = tensors.pop("loss", torch.zeros((), dtype=torch.float64)).to(device)
            order = torch.randperm(n, generator=generator, device=device)
            for start in range(values["start"] if epoch == values["epoch"] else 0, n, settings.batch):
                if checkpoint_file and (signals.asked() or checkpoint_file.due):
                    checkpoint_file.write({"epoch": epoch, "start": start, "history": history}, {"loss": loss, **model.state()})
                signals.check_now()
                chosen = order[start : start + settings.batch]
                loss += model.step(first[chosen], second[chosen], counts[chosen])
                progress.advance(len(chosen))
            mean = float(loss) / ordered_pairs
            if not np.isfinite(mean):
                raise DataError(f"GloVe: epoch {epoch}: expected a finite loss, found {mean}: lower the rate or the batch")
            history.append({"epoch": epoch, "loss": mean, "pairs": ordered_pairs})
            log.info("epoch %d: loss %.5f a pair", epoch, mean)
        if checkpoint_file:
            checkpoint_file.write({"epoch": settings.epochs + 1, "start": 0, "history": history}, model.state())
    vectors = np.zeros((vocabulary, size), np.float32)
    vectors[subwords] = model.vectors().cpu().numpy()
    return vectors, history


class Model:
    """Vectors (m, d) and biases (m,) of m subwords as words and as contexts, with AdaGrad's sums of squares."""

    def __init__(self, m: int, size: int, settings: GloVe, *, seed: int, device: torch.device) -> None:
        """Draw vectors and biases uniformly from -1/2 to 1/2, divided by the size (src/glove.c:125); sums of squares are 1."""
        generator = torch.Generator().manual_seed(stream(seed, "glove", "vectors"))
        initial = ((torch.rand(2, m, size + 1, generator=generator) - 0.5) / size).to(device)
        self.settings = settings
        self.parameters: list[torch.Tensor] = [*initial[:, :, :size].contiguous(), *initial[:, :, size].contiguous()]
        self.squares = [torch.ones_like(values) for values in self.parameters]

    def state(self) -> dict[str, torch.Tensor]:
        """Return all tensors that a step changes, by name."""
        return {f"{i}": values for i, values in enumerate([*self.parameters, *self.squares])}

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Copy the tensors that `state` returned; those missing from it keep their values."""
        for name, values in self.state().items():
            values.copy_(state.get(name, values))

    def vectors(self) -> torch.Tensor:
        """Return the sum of both vectors of each subword, (m, d)."""
        words, contexts, *_ = self.parameters
        return words + contexts

    def step(self, first: torch.Tensor, second: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Update the vectors and biases of B different pairs, in both orders, and return their summed loss before the update.

        first, second: (B,), rows of the pairs' subwords. counts: (B,), their co-occurrence counts.
        """
        subwords, rows = torch.unique(torch.cat([first, second]), return_inverse=True)
        first, second = rows.view(2, -1)
        distinct = first != second
        words, order = torch.sort(torch.cat([first, second[distinct]]), stable=True)
        contexts = torch.cat([second, first[distinct]])[order]
        counts = torch.cat([counts, counts[distinct]])[order]
        before = [values.index_select(0, subwords) for values in self.parameters]
        loss, gradients = loss_and_gradients(words, contexts, counts, before, self.settings)
        for values, squares, old_values, gradient in zip(self.parameters, self.squares, before, gradients, strict=True):
            # The gradient is multiplied by the rate before it is squared, as released (src/glove.c:209-217). This equals
            # AdaGrad with rate 1 and sums that start at 1 / rate^2. Departure: this holds for biases too, as in the code before
            # 2019, and sums include the step's own gradient, without which a batch's summed gradients would overshoot at first.
            gradient *= self.settings.rate
            sums = squares.index_select(0, subwords).addcmul_(gradient, gradient)
            squares.index_copy_(0, subwords, sums)
            values.index_copy_(0, subwords, old_values.addcdiv_(gradient, sums.sqrt_(), value=-1))
        return loss


def loss_and_gradients(
    words: torch.Tensor, contexts: torch.Tensor, counts: torch.Tensor, parameters: Sequence[torch.Tensor], settings: GloVe
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return the summed loss of pairs, f(X) (w c + b + b' - log X)^2 / 2 each, and its gradient for each parameter.

    words, contexts: (P,) rows of the pairs, sorted by word, each pair in both orders; every row is in a pair. counts: (P,), X.
    parameters: vectors (u, d) as words and as contexts, biases (u,) as words and as contexts.
    """
    word_vectors, context_vectors, word_biases, context_biases = parameters
    products = word_vectors.index_select(0, words).mul_(context_vectors.index_select(0, contexts)).sum(1)
    errors = products + word_biases[words] + context_biases[contexts] - counts.log()
    weighted = (counts / settings.x_max).clamp_(max=1).pow_(settings.exponent).mul_(errors)
    # Each pair occurs in both orders, so a row has as many pairs as a word as it has as a context.
    lengths = torch.bincount(words, minlength=len(word_vectors))
    starts, order = lengths.cumsum(0) - lengths, torch.argsort(contexts, stable=True)
    sides = ((contexts, weighted, context_vectors), (words[order], weighted[order], word_vectors))
    by_vector = [embedding_bag(rows, vectors, starts, mode="sum", per_sample_weights=g) for rows, g, vectors in sides]
    by_bias = [torch.segment_reduce(g, "sum", lengths=lengths) for _, g, _ in sides]
    return (weighted * errors).sum(dtype=torch.float64) / 2, by_vector + by_bias
