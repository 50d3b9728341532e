"""A trial of an encoder before anything is computed with it, on short texts of its own vocabulary, alone and in a batch.

Weights of the right names and shapes may still not be those of an encoder, and a configuration may have errors that no other file
reveals: a layer norm without epsilon, causal attention, padding that is not masked.
"""

from collections.abc import Sequence

import torch
from torch import nn

from crosslens.encoding.encoders.folder import COUNTED, Description, message
from crosslens.jobs.errors import DataError

LONGEST = 18  # subwords of a text
ROUNDING = 1e-4
"""Largest distance between two states of a subword, relative to their norm, that comes of float32 alone. In ten architectures, of
1 to 12 blocks and 16 to 768 dimensions, trained and untrained, sums in another order moved states by at most 1.5e-6; padding that
counted moved them by at least 1.5e-3, least in an untrained encoder of two blocks and 16 dimensions."""
DEPENDENCE = 1e-5
"""Least such distance that comes of another subword at the end of the text: 8e-4 and more there, and 0 with causal attention."""


def try_encoder(encoder: nn.Module, description: Description, origin: str, *, causal: bool = False) -> None:
    """Raise DataError unless the encoder's hidden states are numbers, tell subwords apart, and depend on the text and nothing
    else.

    encoder: in eval mode, with weights in float32. origin: where the encoder is from, which errors name. causal: whether it is
    a decoder. Every layer's states must be finite, and the same for a text alone and beside longer ones; the last layer's must
    differ between the subwords of a text and, where there are blocks, change with a subword further on; of a decoder they must
    not.
    """
    texts = _choose_texts(description)
    try:
        batch = _encode(encoder, texts)
        singles = [_encode(encoder, [text])[:, 0] for text in texts]
    except Exception as error:  # whatever transformers stumbles over
        reason = f"{type(error).__name__}: {message(error)}"
        raise _wrong(origin, "an encoder that encodes short texts", reason) from error
    if len(batch) != 1 + (top := int(encoder.config.num_hidden_layers)):  # type: ignore[union-attr, arg-type]
        raise _wrong(origin, f"hidden states of the embeddings and of each of {top} blocks", f"{len(batch)} of them")
    for layer, states in enumerate(batch):
        for text, padded in zip(singles, states, strict=True):
            if not bool(torch.isfinite(padded).all() and torch.isfinite(text[layer]).all()):
                raise _wrong(origin, "hidden states that are finite numbers", f"others in layer {layer}")
            if (distance := _measure_distance(padded[: text.shape[1]], text[layer])) > ROUNDING:
                expected = "the same hidden states of a text alone and, padded, beside longer ones"
                raise _wrong(origin, expected, f"states of layer {layer} that differ by {distance:.1e} of their norm")
    longest, half, variant, _ = (states[-1] for states in singles)
    if _measure_distance(longest[1:], longest[:1].expand_as(longest[1:])) <= ROUNDING:
        raise _wrong(origin, "hidden states that differ between subwords", "the same for all subwords of a text")
    backwards = _measure_distance(half[:1], variant[:1]) < DEPENDENCE
    if backwards and _measure_distance(half[:-1], variant[:-1]) > DEPENDENCE:
        expected = "attention to the whole text, by the first subword of a text too"
        raise _wrong(origin, expected, "attention to subwords nearby alone (attention_window or another key of config.json)")
    if len(batch) > 1 and backwards and not causal:
        raise _wrong(
            origin,
            "attention to the whole text",
            "states that do not depend on what follows, as of a decoder (is_decoder or another key of config.json; "
            "`causal: true` takes the states of a decoder as they are)",
        )
    if causal and not backwards:
        raise _wrong(origin, "attention to what precedes alone, as `causal: true` says", "states that depend on what follows")


def is_prenorm(encoder: nn.Module, description: Description) -> bool:
    """Whether a norm follows the last block, as in pre-norm encoders: the last layer's states alone are normalised then.

    The last hidden states of a text are compared with what the modules in the encoder's lists of blocks give.
    """
    outputs: list[torch.Tensor] = []
    parts = [part for module in encoder.modules() if isinstance(module, nn.ModuleList) for part in module]
    handles = [part.register_forward_hook(lambda *call: outputs.append(_first(call[-1]))) for part in parts]
    last = _encode(encoder, _choose_texts(description)[:1])[-1]
    for handle in handles:
        handle.remove()
    return bool(parts) and not any(output.shape == last.shape and torch.equal(output, last) for output in outputs)


def _first(output: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return output[0] if isinstance(output, tuple) else output


def _choose_texts(description: Description) -> list[list[int]]:
    """Subwords of a long text, of two that differ in their last subword, and of a short one, from the whole vocabulary."""
    config, vocabulary = description.config, description.tokenizer["model"]["vocab"]
    special = {token["id"] for token in description.tokenizer["added_tokens"]}
    numbers = set(vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary)))
    subwords = sorted(numbers - special) or sorted(special)
    unused = 1 + (config.get("pad_token_id") or 0) if config["model_type"] in COUNTED else 0  # positions before the first
    size = max(4, min(LONGEST, config.get("max_position_embeddings", LONGEST) - unused))
    text = [subwords[round(place)] for place in torch.linspace(0, len(subwords) - 1, size).tolist()]
    half = text[: size // 2]
    return [text, half, [*half[:-1], text[-1]], half[:-1]]


def _encode(encoder: nn.Module, texts: Sequence[Sequence[int]]) -> torch.Tensor:
    """Hidden states of all layers (layers, B, T, d) of texts, padded to the longest as `collate` pads them."""
    size = max(map(len, texts))
    input_ids = torch.full((len(texts), size), int(encoder.config.pad_token_id or 0))  # type: ignore[union-attr, arg-type]
    for row, text in zip(input_ids, texts, strict=True):
        row[: len(text)] = torch.tensor(text)
    mask = (torch.arange(size) < torch.tensor([[len(text)] for text in texts])).long()
    options = {} if bool(mask.all()) else {"attention_mask": mask}
    with torch.inference_mode():
        return torch.stack(encoder(input_ids=input_ids, output_hidden_states=True, **options).hidden_states)


def _measure_distance(states: torch.Tensor, references: torch.Tensor) -> float:
    """Largest distance between two states (n, d) of a subword, relative to the norm of the second."""
    norms = references.norm(dim=-1).clamp_min(torch.finfo(torch.float32).tiny)
    return float(((states - references).norm(dim=-1) / norms).max())


def _wrong(origin: str, expected: str, fault: str) -> DataError:
    return DataError(f"{origin}: expected {expected}, found {fault}: use the files of one checkpoint, as they were published")
