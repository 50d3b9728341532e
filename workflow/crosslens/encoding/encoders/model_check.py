"""A trial of an encoder on short texts of its own vocabulary, alone and in a batch, before anything is computed with it.

Weights with the right names and shapes may still not be those of an encoder. A configuration may have errors that no other file
reveals: a layer norm without epsilon, causal attention, padding that is not masked.
"""

from collections.abc import Sequence

import torch
from torch import nn

from crosslens.encoding.encoders.folder import Description, message, positions
from crosslens.jobs.errors import DataError

LONGEST = 18  # subwords of a text
ROUNDING = 1e-4
"""Largest distance between two states of a subword, relative to their norm, that float32 rounding explains. In ten
architectures with 1 to 12 layers and 16 to 768 dimensions, trained and untrained, sums in another order moved states by at most
1.5e-6. Padding that was not masked moved them by at least 1.5e-3, least in an untrained encoder with two layers and 16
dimensions."""
DEPENDENCE = 1e-5
"""Least such distance when a text's last subword is changed: at least 8e-4 in these architectures, 0 with causal attention."""


def try_encoder(encoder: nn.Module, description: Description, origin: str, *, causal: bool = False) -> None:
    """Raise DataError unless hidden states are finite, differ between subwords, and depend on the text and nothing else.

    Every layer's states must be finite, and the same for a text alone and padded in a batch with longer ones. The last layer's
    states must differ between the subwords of a text. If there are layers, they must also change with a later subword or, in a
    decoder, must not.
    encoder: in eval mode, with weights in float32. origin: where the encoder is from, for errors. causal: whether it is a
    decoder.
    """
    texts = _choose_texts(description)
    try:
        batch = _encode(encoder, texts)
        singles = [_encode(encoder, [text])[:, 0] for text in texts]
    except Exception as error:  # any fault that transformers finds
        reason = f"{type(error).__name__}: {message(error)}"
        raise _wrong(origin, "an encoder that encodes short texts", reason) from error
    if len(batch) != 1 + (top := int(encoder.config.num_hidden_layers)):  # type: ignore[union-attr, arg-type]
        raise _wrong(origin, f"hidden states of the embeddings and of each of {top} layers", f"{len(batch)} of them")
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
    """Whether a norm follows the last layer, as in pre-norm encoders; then only the last layer's states are normalised.

    The last hidden states of a text are compared with the outputs of all modules in the encoder's module lists, such as its
    layers.
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
    vocabulary = description.tokenizer["model"]["vocab"]
    special = {token["id"] for token in description.tokenizer["added_tokens"]}
    numbers = set(vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary)))
    subwords = sorted(numbers - special) or sorted(special)
    most = positions(description.config)
    size = max(4, min(LONGEST, LONGEST if most is None else most))
    text = [subwords[round(place)] for place in torch.linspace(0, len(subwords) - 1, size).tolist()]
    half = text[: size // 2]
    return [text, half, [*half[:-1], text[-1]], half[:-1]]


def _encode(encoder: nn.Module, texts: Sequence[Sequence[int]]) -> torch.Tensor:
    """Hidden states of texts at all layers, (L + 1, B, T, d), padded to the longest as `collate` pads them."""
    size = max(map(len, texts))
    input_ids = torch.full((len(texts), size), int(encoder.config.pad_token_id or 0))  # type: ignore[union-attr, arg-type]
    for row, text in zip(input_ids, texts, strict=True):
        row[: len(text)] = torch.tensor(text)
    mask = (torch.arange(size) < torch.tensor([[len(text)] for text in texts])).long()
    options = {} if bool(mask.all()) else {"attention_mask": mask}
    with torch.inference_mode():
        return torch.stack(encoder(input_ids=input_ids, output_hidden_states=True, **options).hidden_states)


def _measure_distance(states: torch.Tensor, references: torch.Tensor) -> float:
    """Largest distance between states and references of the same subwords, (n, d), relative to the norm of the reference."""
    norms = references.norm(dim=-1).clamp_min(torch.finfo(torch.float32).tiny)
    return float(((states - references).norm(dim=-1) / norms).max())


def _wrong(origin: str, expected: str, fault: str) -> DataError:
    return DataError(f"{origin}: expected {expected}, found {fault}: use the files of one checkpoint, as they were published")
