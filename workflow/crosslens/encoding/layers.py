"""Access to the layers of a transformer encoder, and forward passes through only some of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from crosslens.jobs.errors import DataError

EMBEDDINGS = ("embeddings", "embed_tokens")  # names of the module whose output is layer 0; the second occurs in ported decoders
KNOWN = ("bert", "xlm-roberta")  # model types whose layers can be skipped: nothing follows their last layer


def transformer_layers(encoder: nn.Module) -> list[nn.Module]:
    """Layers 1 to L of a transformer encoder, which are its only ModuleList of length L; [] if L is 0.

    Raises DataError unless there is exactly one such list.
    """
    layers = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    if not layers:
        return []
    lists = [module for module in encoder.modules() if isinstance(module, nn.ModuleList) and len(module) == layers]
    if len(lists) != 1:
        raise DataError(
            f"{type(encoder).__name__}: expected one list of {layers} layers, to change some of them, found {len(lists)} lists: "
            "use another encoder for this recipe; states of all its layers can be measured"
        )
    return list(lists[0])


def embeddings(encoder: nn.Module) -> nn.Module:
    """The module whose output is layer 0. Raises DataError if no single module computes it."""
    parts = [getattr(encoder, name, None) for name in EMBEDDINGS]
    module = next((part for part in parts if isinstance(part, nn.Module)), None)
    if module is None or str(encoder.config.model_type) == "xlm":  # type: ignore[union-attr]
        raise DataError(
            f"{type(encoder).__name__}: expected one module of embeddings, to change them, found none: use another encoder for "
            "this recipe; states of all its layers can be measured"
        )
    return module


def lowest(encoder: nn.Module, number: int) -> list[nn.Module]:
    """The embeddings and the lowest `number` layers, in order."""
    return [embeddings(encoder), *transformer_layers(encoder)[:number]]


def _hand_on(states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return states


@contextmanager
def _replaced(modules: Sequence[nn.Module], forward: Callable[..., torch.Tensor]) -> Iterator[None]:
    before = [vars(module).get("forward") for module in modules]
    for module in modules:
        module.forward = forward
    try:
        yield
    finally:
        for module, replacement in zip(modules, before, strict=True):
            if replacement:  # set by an enclosing context
                module.forward = replacement
            else:
                del module.forward


def handing_on(modules: Sequence[nn.Module]) -> AbstractContextManager[None]:
    """A context in which modules return their input unchanged."""
    return _replaced(modules, _hand_on)


@contextmanager
def starting_from(encoder: nn.Module, number: int, look_up: Callable[..., torch.Tensor]) -> Iterator[None]:
    """A context in which `look_up(input_ids)` replaces the output of the embeddings and the lowest `number` layers."""
    with handing_on(transformer_layers(encoder)[:number]), _replaced([encoder.get_submodule("embeddings")], look_up):
        yield


@contextmanager
def ending_at(encoder: nn.Module, rows: torch.Tensor, columns: torch.Tensor) -> Iterator[None]:
    """A context in which the last layer is computed at n places only: the last hidden states are (1, n, d).

    After attention, a layer treats each place by itself, so the other places are not needed. encoder: one of `KNOWN`. rows,
    columns: (n,) text and subword of each place.
    """
    attention = transformer_layers(encoder)[-1].get_submodule("attention")
    handle = attention.register_forward_hook(lambda _module, _input, output: (output[0][rows, columns][None], *output[1:]))
    try:
        yield
    finally:
        handle.remove()
