"""Losses as sums over labelled words; heads divide them by the batch's number of words, so that micro-batches add up."""

import torch
from torch.nn import functional

from crosslens.encoding.batches import Padding
from crosslens.encoding.texts import IGNORED


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, states: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.scale = scale  # type: ignore[attr-defined]
        return states.view_as(states)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return -ctx.scale * gradient, None  # type: ignore[attr-defined]


def reverse_gradient(states: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the states unchanged; their gradient is multiplied by -scale (Ganin and Lempitsky 2015)."""
    reversed_states: torch.Tensor = _Reverse.apply(states, scale)  # type: ignore[no-untyped-call]
    return reversed_states


def shared_dropout(states: torch.Tensor, padding: Padding, rate: float, layers: int = 1) -> torch.Tensor:
    """Return states after dropout that drops the same units for all words of a text.

    states: (n, d), of consecutive texts. padding: padding of their words. layers: number of layers whose states are
    concatenated; the same units are dropped in all layers and therefore in their weighted sum.
    """
    if not rate:
        return states
    texts, longest = padding.inside.shape
    mask = functional.dropout(states.new_ones(texts, states.shape[1] // layers), rate).repeat(1, layers)
    return states * mask[padding.places // max(longest, 1)]


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the sum over words of -log p(label), in nats; logits: (n, k); labels: (n,), IGNORED ones are left out."""
    return functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")


def uniformity(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the sum over words and classes of -log p: tanti2021's equation 1, called negative entropy there.

    It is k times the cross entropy from the uniform distribution: k ln k at its minimum and unbounded above. It is about k
    times as large as the cross entropy of a label.
    """
    return -logits.log_softmax(-1).masked_fill((labels == IGNORED)[:, None], 0).sum()


def entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the sum over words of the negative entropy, sum p log p, in nats; each word's is from -ln k to 0."""
    log_p = logits.log_softmax(-1).masked_fill((labels == IGNORED)[:, None], 0)
    return (log_p.exp() * log_p).sum()


def subspace_distance(moved: torch.Tensor, anchored: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
    """Return |(E - F) Q w| of each state, (n,), the distance of liang2021's L-DAR.

    moved: E, (n, d); anchored: F, (n, d); directions: Q w, (d, k). The norm is not squared (run_tag_LDAR.py, lines 74-78). The
    gradient of vector_norm at a difference of 0 is 0; that of sqrt(sum of squares) would be nan, and with the pretrained
    encoder as the anchor every difference is 0 at the first step.
    """
    distances: torch.Tensor = torch.linalg.vector_norm((moved - anchored) @ directions, dim=1)
    return distances


LOSSES = {"cross_entropy": cross_entropy, "uniformity": uniformity, "entropy": entropy}
