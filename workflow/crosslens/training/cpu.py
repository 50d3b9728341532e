"""Faster training on a CPU: dropout masks, little padding, bfloat16. The function that is trained is the same, up to rounding.

A GPU uses torch's dropout and layer norms, but also reads concatenated texts. The rest of its code is in
crosslens.training.gpu.

torch draws each element of dropout from a Bernoulli distribution, which takes up to a tenth of a step; four 16-bit draws from
one 64-bit number take a seventh of that. The rate is rounded to a multiple of 2^-16. The draws come from torch's generator, so
a resumed training run repeats them.

With bfloat16, autocast casts the factors of products. Weights, layer norms and the sums that these normalise stay float32, as
on a GPU. Sums in bfloat16 would save 7 % of the time, but double the median error of gradients if layers are re-initialised
(benchmarks/README.md).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from crosslens.encoding.batches import Batch, Padding
from crosslens.encoding.layers import KNOWN

NAME = "crosslens"
GROUP = 8  # texts that are padded to the same length in attention


@dataclass(frozen=True)
class Concatenated:
    """Texts concatenated without padding, n subwords in all."""

    input_ids: torch.Tensor  # (1, n)
    position_ids: torch.Tensor  # (1, n)
    token_types: torch.Tensor | None  # (1, n); None if all are 0
    paddings: list[Padding]  # padding of each group of texts, for attention
    words: torch.Tensor  # (n_words,) index among the n subwords of each labelled word's subword


def dropped_out(values: torch.Tensor, rate: float) -> torch.Tensor:
    """Return values after dropout: times 0 with probability `rate`, else times 1 / (1 - rate)."""
    shape, size, dropped = values.shape, values.numel(), round(rate * 2**16)
    bits = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:size].view(shape)
    mask = torch.ge(bits, dropped - 2**15, out=torch.empty(shape, dtype=values.dtype))
    return values * mask.mul_(2**16 / (2**16 - dropped))


class Dropout(nn.Dropout):
    """nn.Dropout that draws its masks faster on a CPU."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return values with dropout in training, unchanged otherwise."""
        if not self.training or not self.p or values.device.type != "cpu":
            return super().forward(values)
        return dropped_out(values, self.p)


class _Move(torch.autograd.Function):
    """Scatter the rows of a matrix into a larger matrix of zeros; the gradient is gathered from the same places."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, places: torch.Tensor, size: int) -> torch.Tensor:
        ctx.save_for_backward(places)
        return values.new_zeros(size, *values.shape[1:]).index_copy_(0, places, values)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return gradient.index_select(0, ctx.saved_tensors[0]), None, None


class _Pick(torch.autograd.Function):
    """Gather rows of a matrix; the gradient is scattered back to these rows."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(places)
        ctx.size = len(values)
        return values.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient.new_zeros(ctx.size, *gradient.shape[1:]).index_copy_(0, ctx.saved_tensors[0], gradient), None


move: Callable[..., torch.Tensor] = _Move.apply
pick: Callable[..., torch.Tensor] = _Pick.apply


def attention(
    module: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: torch.Tensor | None,
    dropout: float = 0.0, scaling: float | None = None, packed: Sequence[Padding] | None = None, **options: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """Return the output of attention; the signature is the one that transformers expects.

    query, key, value: (B, heads, T, d). attention_mask: True where a position may be attended to. packed: padding of each group
    of texts, if all texts are concatenated in a batch of one, (1, heads, n, d); None: texts are padded side by side.
    """
    if packed is not None:
        sizes = [len(padding.places) for padding in packed]
        queries, keys, values = (torch.split_with_sizes(x[0].transpose(0, 1), sizes) for x in (query, key, value))
        groups = zip(queries, keys, values, packed, strict=True)
        outputs = [_packed(module, q, k, v, padding, dropout, scaling, options) for q, k, v, padding in groups]
        return torch.cat(outputs)[None], None
    if query.device.type == "cpu" and dropout:
        return _dropping(query, key, value, attention_mask, dropout, scaling), None
    from transformers.integrations.sdpa_attention import sdpa_attention_forward  # late, since it takes seconds

    states, _ = sdpa_attention_forward(module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options)
    return states, None


def _packed(
    module: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, padding: Padding,
    dropout: float, scaling: float | None, options: dict[str, Any],
) -> torch.Tensor:  # fmt: skip
    """Return the output of attention for texts that are concatenated without padding, (n, heads, d)."""
    inside, places = padding.inside, padding.places

    def padded(values: torch.Tensor) -> torch.Tensor:
        return move(values, places, inside.numel()).view(*inside.shape, *values.shape[1:]).transpose(1, 2)

    allowed = inside[:, None, None, :]
    states, _ = attention(module, padded(query), padded(key), padded(value), allowed, dropout, scaling, **options)
    return pick(states.reshape(inside.numel(), *states.shape[2:]), places)


def _dropping(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, rate: float, scaling: float | None
) -> torch.Tensor:
    scores = torch.matmul(query * (query.shape[-1] ** -0.5 if scaling is None else scaling), key.transpose(2, 3))
    if mask is not None:
        scores += torch.zeros(mask.shape, dtype=scores.dtype).masked_fill_(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return torch.matmul(dropped_out(weights, rate), value).transpose(1, 2)


def concatenates(encoder: nn.Module, batch: Batch, state: str, *, whole: bool) -> bool:
    """Return whether a batch's texts are concatenated in training: only if the encoder is prepared and of a known kind.

    state: `Units.state`; only states of single subwords can be read. whole: whether a batch is one group, as on a GPU. On a CPU
    texts of equal length stay side by side, and so do texts whose pooler is read, so that earlier results repeat bit for bit.
    """
    config: Any = encoder.config
    if config._attn_implementation != NAME or config.model_type not in KNOWN:
        return False
    if not whole:
        return state in ("hidden", "words") and batch.attention_mask is not None
    return state in ("hidden", "words", "pooler")


def concatenated(encoder: nn.Module, batch: Batch, group: int) -> Concatenated:
    """Return the concatenated texts of a batch, sorted by length. group: number of texts padded alike in attention."""
    config: Any = encoder.config
    mask = torch.ones_like(batch.input_ids) if batch.attention_mask is None else batch.attention_mask
    lengths = mask.sum(1)
    order = lengths.argsort(stable=True)
    inside = mask.bool()[order]
    first = config.pad_token_id + 1 if config.model_type == "xlm-roberta" else 0
    starts = torch.empty_like(lengths)
    starts[order] = lengths[order].cumsum(0) - lengths[order]
    return Concatenated(
        batch.input_ids[order][inside][None],
        (torch.arange(inside.shape[1]) + first).expand(inside.shape)[inside][None],
        None if batch.token_types is None else batch.token_types[order][inside][None],
        [Padding.of(sizes) for sizes in torch.split(lengths[order], group)],
        starts[batch.rows] + batch.columns,
    )


def concatenated_states(encoder: nn.Module, texts: Concatenated, layers: Sequence[int] = ()) -> dict[str, torch.Tensor]:
    """Return the states of labelled words, `layer_I` -> (n_words, d), at `layers` and, as the last entry, at the last layer.

    Texts are padded only in attention, each to the longest of its group.
    """
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    below = [layer for layer in layers if layer < top]
    types = {} if texts.token_types is None else {"token_type_ids": texts.token_types}
    inputs = {"input_ids": texts.input_ids, "position_ids": texts.position_ids, **types}
    output = encoder(packed=texts.paddings, output_hidden_states=bool(below), **inputs)
    chosen = {f"layer_{layer}": output.hidden_states[layer][0][texts.words] for layer in below}
    return chosen | {f"layer_{top}": output.last_hidden_state[0][texts.words]}


def resolve_precision(setting: str, device: torch.device) -> str:
    """Return the precision on a device; for "auto", bfloat16 if the device multiplies it natively, else float32."""
    if setting != "auto":
        return setting
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = device.type == "cpu" and torch.cpu._is_avx512_bf16_supported()  # processors with AMX have these instructions too
    return "bfloat16" if native else "float32"


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which products are computed in bfloat16 or float16, if that is the precision.

    A GPU casts weights at each use, since a captured step must not read a copy that another step has cast.
    """
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision)
    return torch.autocast(device.type, half, cache_enabled=device.type == "cpu") if half else nullcontext()


def prepare(encoder: nn.Module, device: torch.device) -> None:
    """Make an encoder use this module's attention and, on a CPU, its dropout.

    device: device on which the encoder will be trained. transformers is imported only here, since that takes seconds.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    encoder.config._attn_implementation = NAME  # type: ignore[union-attr]
    if device.type != "cpu":
        return
    for module in list(encoder.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, Dropout(child.p))
