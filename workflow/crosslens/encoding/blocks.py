"""The blocks of a transformer encoder, and passes through some of them alone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from crosslens.runs.errors import DataError

KNOWN = ("bert", "xlm-roberta")  # supported kinds of encoders: nothing follows their last block


def blocks(encoder: nn.Module) -> list[nn.Module]:
    """The blocks 1 to L of a transformer encoder: its only list of as many modules as it has layers."""
    layers = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    if not layers:
        return []
    lists = [module for module in encoder.modules() if isinstance(module, nn.ModuleList) and len(module) == layers]
    if len(lists) != 1:
        raise DataError(
            f"{type(encoder).__name__}: expected one list of {layers} blocks, found {len(lists)}; use another encoder"
        )
    return list(lists[0])


def lowest(encoder: nn.Module, number: int) -> list[nn.Module]:
    """The embeddings and the lowest `number` blocks, in order."""
    return [encoder.embeddings, *blocks(encoder)[:number]]  # type: ignore[list-item]


def _hand_on(states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return states


@contextmanager
def _replaced(modules: Sequence[nn.Module], forward: Callable[..., torch.Tensor]) -> Iterator[None]:
    for module in modules:
        module.forward = forward
    try:
        yield
    finally:
        for module in modules:
            del module.forward


def handing_on(modules: Sequence[nn.Module]) -> AbstractContextManager[None]:
    """A context in which modules return their input unchanged."""
    return _replaced(modules, _hand_on)


@contextmanager
def starting_from(encoder: nn.Module, number: int, look_up: Callable[..., torch.Tensor]) -> Iterator[None]:
    """A context in which `look_up` of input_ids replaces the output of the embeddings and the lowest `number` blocks."""
    with handing_on(blocks(encoder)[:number]), _replaced([encoder.get_submodule("embeddings")], look_up):
        yield
