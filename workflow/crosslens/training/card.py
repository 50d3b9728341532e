"""Training on a GPU: attention over texts that are concatenated without padding, and inputs that are made ahead of their step."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
from torch.nn.functional import scaled_dot_product_attention

Item = TypeVar("Item")
Result = TypeVar("Result")

LOSSES_AT_ONCE = 100  # updates whose losses are read together: reading one makes the host wait for all work that it has queued
DEPTH = 2  # steps whose inputs are made while an earlier one is computed


def device_copy(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return values on a device. A GPU copies them from pinned memory, since for others the host waits until it has done so."""
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)


@dataclass(frozen=True)
class Ends:
    """Where each of B concatenated texts ends."""

    offsets: torch.Tensor  # (B + 1,) int32: 0, then the number of pieces up to the end of each text
    longest: int  # pieces of the longest text


def ends(lengths: torch.Tensor, device: torch.device) -> Ends:
    """Return the ends of texts on a device. lengths: of the texts, (B,), on the CPU."""
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    return Ends(device_copy(offsets, device), int(lengths.max()))


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, texts: Ends, dropout: float, scaling: float | None
) -> torch.Tensor:
    """Return attention's output within each of the concatenated texts, (1, n, heads, d).

    query, key, value: (1, heads, n, d). The kernel is the one that torch takes for nested tensors in float32. Among torch's
    kernels for texts of various lengths it alone has dropout and all precisions; called directly, it spares nested tensors' work
    on the host, which is more than that of the rest of a block.
    """
    inputs = (states.transpose(1, 2) for states in (query, key, value))
    sizes = (texts.offsets, texts.offsets, texts.longest, texts.longest)
    no_bias, no_mask = None, 0
    result = torch.ops.aten._efficient_attention_forward(
        *inputs, no_bias, *sizes, dropout, no_mask, torch.is_grad_enabled(), scale=scaling
    )
    output: torch.Tensor = result[0]
    return output


@cache
def is_exact(device: torch.device) -> bool:
    """Whether `attention` has the outputs and gradients of attention to one text at a time; a process tries a device once.

    Where it has not, texts are padded: the kernel is none of torch's public functions, and another version may lack or change it.
    """
    lengths, size = [3, 5, 8], 32
    generator = torch.Generator().manual_seed(0)
    draws = (torch.randn(1, 2, sum(lengths), size, generator=generator) for _ in range(4))
    query, key, value, weights = (values.to(device).requires_grad_() for values in draws)
    states = (query, key, value)
    try:
        with torch.autocast(device.type, enabled=False), torch.enable_grad():
            concatenated = attention(*states, ends(torch.tensor(lengths), device), 0.0, size**-0.5).transpose(1, 2)
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
