"""Training on a GPU: attention over texts that are concatenated without padding, and inputs that are made ahead of their step."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
from torch.nn.functional import scaled_dot_product_attention

from crosslens.encoding.batches import device_copy

Item = TypeVar("Item")
Result = TypeVar("Result")

LOSSES_AT_ONCE = 100  # updates whose losses are read together: reading one makes the host wait for all work that it has queued
DEPTH = 2  # steps whose inputs are made while an earlier one is computed


@dataclass(frozen=True)
class Padding:
    """Where the n subwords of B concatenated texts are when the texts are padded to their longest, of T subwords."""

    inside: torch.Tensor  # (B, T) bool: whether a place has a subword
    places: torch.Tensor  # (n,) of the subwords, among B * T


def padding(inside: torch.Tensor, device: torch.device) -> Padding:
    """Return the padding of texts on a device. inside: see `Padding`; on the CPU."""
    return Padding(device_copy(inside, device), device_copy(inside.flatten().nonzero()[:, 0], device))


@dataclass(frozen=True)
class Ends:
    """Where each of B concatenated texts ends."""

    offsets: torch.Tensor  # (B + 1,) int32: 0, then the number of subwords up to the end of each text
    longest: int  # subwords of the longest text
    padding: Padding  # of all texts, for attention with dropout


def ends(inside: torch.Tensor, device: torch.device) -> Ends:
    """Return the ends of texts on a device. inside: see `Padding`; on the CPU."""
    lengths = inside.sum(1)
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    return Ends(device_copy(offsets, device), int(lengths.max()), padding(inside, device))


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, texts: Ends, scaling: float | None) -> torch.Tensor:
    """Return attention's output within each of the concatenated texts, without dropout, (1, n, heads, d).

    query, key, value: (1, heads, n, d). The kernel is the one that torch takes for nested tensors in float32. Among torch's
    kernels for texts of various lengths it alone has all precisions; called directly, it spares nested tensors' work on the host,
    which is more than that of the rest of a block. Its dropout is not used: the forward pass takes the number of keys for 0 where
    it places a head's random numbers, and the backward pass does not (torch 2.11, attention.cu and attention_backward.cu), so
    that the gradient is that of another mask.
    """
    inputs = (states.transpose(1, 2) for states in (query, key, value))
    sizes = (texts.offsets, texts.offsets, texts.longest, texts.longest)
    no_bias, no_dropout, no_mask = None, 0.0, 0
    result = torch.ops.aten._efficient_attention_forward(
        *inputs, no_bias, *sizes, no_dropout, no_mask, torch.is_grad_enabled(), scale=scaling
    )
    output: torch.Tensor = result[0]
    return output


@cache
def is_exact(device: torch.device) -> bool:
    """Whether `attention` has the outputs and gradients of attention to one text at a time; a process tries a device once.

    Where it has not, texts are padded: the kernel is none of torch's public functions, and another version may lack or change it.
    """
    lengths, size = [3, 5, 8], 32
    inside = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    generator = torch.Generator().manual_seed(0)
    draws = (torch.randn(1, 2, sum(lengths), size, generator=generator) for _ in range(4))
    query, key, value, weights = (values.to(device).requires_grad_() for values in draws)
    states = (query, key, value)
    try:
        with torch.autocast(device.type, enabled=False), torch.enable_grad():
            concatenated = attention(*states, ends(inside, device), size**-0.5).transpose(1, 2)
            texts = zip(*(torch.split_with_sizes(values, lengths, 2) for values in states), strict=True)
            padded = torch.cat([scaled_dot_product_attention(*text) for text in texts], 2)
            slopes = [torch.autograd.grad((output * weights).sum(), states) for output in (concatenated, padded)]
            pairs = [(concatenated, padded), *zip(*slopes, strict=True)]
        # Products may be in TF32.
        return all(torch.allclose(output, expected, rtol=1e-2, atol=1e-2) for output, expected in pairs)
    except (RuntimeError, AttributeError, TypeError):
        return False


def pipeline(make: Callable[[Item], Result], items: Iterable[Item], depth: int) -> Iterator[Result]:
    """Yield what `make` returns for each item, in order, and raise what it raises.

    depth: number of items beyond the last one that was yielded which a thread has made, or is making. 0: no thread.
    """
    if not depth:
        yield from map(make, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(1) as thread:
        try:
            for item in items:
                pending.append(thread.submit(make, item))
                if len(pending) > depth:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            thread.shutdown(cancel_futures=True)
