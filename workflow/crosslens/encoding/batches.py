"""Padded batches of texts, and passes over whole sets of texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from crosslens.encoding.layers import KNOWN, handing_on, transformer_layers
from crosslens.encoding.texts import Edges, Texts

# Padded subwords per batch; on a CPU few enough that the states of a batch stay in the cache and little is padded.
SUBWORDS_A_THREAD, SUBWORDS_ON_A_GPU = 512, 65536


def device_copy(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Values on a device. Copies to a GPU go through pinned memory; otherwise the host would wait for each copy."""
    if device.type == "cuda" and values.device.type == "cpu":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)


def host_copy(values: torch.Tensor) -> torch.Tensor:
    """Values on the CPU.

    Those from a GPU arrive later: only the function that a step of `for_each_batch` returns may read them.
    """
    if values.device.type == "cpu":
        return values
    return torch.empty(values.shape, dtype=values.dtype, pin_memory=True).copy_(values, non_blocking=True)


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's weights."""
    return next(module.parameters()).device


@dataclass(frozen=True)
class Padding:
    """Places of the n items of B consecutive texts once each text is padded to T items."""

    inside: torch.Tensor  # (B, T) bool: whether a place has an item
    places: torch.Tensor  # (n,) place of each item among the B * T

    @classmethod
    def of(cls, sizes: torch.Tensor, device: torch.device | None = None) -> "Padding":
        """Padding of texts to the longest of them.

        sizes: number of items of each text, (B,), on the CPU. device: where the padding is used; None: the CPU.
        """
        inside = torch.arange(int(sizes.max())) < sizes[:, None]
        places = inside.flatten().nonzero()[:, 0]
        return cls(inside, places) if device is None else cls(device_copy(inside, device), device_copy(places, device))

    def padded(self, values: torch.Tensor, fill: int = 0) -> torch.Tensor:
        """The values of items, (n, ...), as (B, T, ...), padded with `fill`."""
        wide = values.new_full((self.inside.numel(), *values.shape[1:]), fill).index_copy(0, self.places, values)
        return wide.view(*self.inside.shape, *values.shape[1:])


@dataclass(frozen=True)
class Batch:
    """B texts, padded to the T subwords of the longest."""

    input_ids: torch.Tensor  # (B, T)
    attention_mask: torch.Tensor | None  # (B, T); None if nothing is padded, for the fast attention kernels
    token_types: torch.Tensor | None  # (B, T); None: all are 0
    rows: torch.Tensor  # (n_words,) row of each labelled word: its text within the batch
    columns: torch.Tensor  # (n_words,) its column: its subword within the text
    words: np.ndarray  # (n_words,) its index in the Texts
    second: torch.Tensor  # (B,) first subword of the second text of a pair; 0 for a single text
    edges: Edges


def collate(texts: Texts, chosen: np.ndarray, padding: int, segments: bool = False) -> Batch:
    """Batch of the chosen texts.

    chosen: numbers of the texts. padding: number of the padding subword. segments: whether second texts have token type 1.
    """
    lengths, second = texts.lengths_of(chosen), texts.second[chosen, None]
    columns = np.arange(lengths.max())[None, :]
    inside = columns < lengths[:, None]
    types = torch.from_numpy((inside & (columns >= second) & (second > 0)).astype(np.int64)) if segments else None
    input_ids = np.full(inside.shape, padding, np.int64)
    input_ids[inside] = texts.subwords[texts.subword_rows(chosen)]
    words = texts.word_rows(chosen)
    rows = np.repeat(np.arange(len(chosen)), texts.word_offsets[chosen + 1] - texts.word_offsets[chosen])
    return Batch(
        torch.from_numpy(input_ids),
        None if inside.all() else torch.from_numpy(inside.astype(np.int64)),
        types,
        torch.from_numpy(rows),
        torch.from_numpy(texts.positions[words]),
        words,
        torch.from_numpy(texts.second[chosen]),
        texts.edges,
    )


def sorted_batches(lengths: np.ndarray, subwords: int) -> Iterator[np.ndarray]:
    """Numbers of texts, sorted by length, in batches of at most `subwords` padded subwords or of a single text.

    The longest come first, so that memory peaks early.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, subwords // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def for_each_batch(
    texts: Texts, encoder: nn.Module, segments: bool, step: Callable[[Batch], Callable[[], None] | None],
    *, needs_last_layer: bool = False,
) -> None:  # fmt: skip
    """Call `step` on length-sorted batches of all texts, without gradients; a batch too large for memory is halved.

    What `step` returns is called once the results of the batch have arrived from the device. On a GPU this happens after the
    next batch has begun, so that the GPU need not wait for the host.

    Each batch has texts of one language. The texts of a token file are therefore batched alike, and have the same states bit
    for bit, whether they are encoded alone or with files of other languages.

    In a rehearsal (config.rehearse), the layers return their input unchanged once that many texts are encoded. The remaining
    batches then take hardly any time but the same memory. needs_last_layer: whether the last layer runs nevertheless, because
    `step` reads states inside it.
    """
    device, padding = device_of(encoder), int(encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]
    budget = SUBWORDS_ON_A_GPU if device.type == "cuda" else SUBWORDS_A_THREAD * torch.get_num_threads()

    arriving: list[tuple[torch.cuda.Event, Callable[[], None]]] = []  # results of the last batch

    def read(finish: Callable[[], None] | None) -> None:
        while arriving:
            arrival, finish_last = arriving.pop()
            arrival.synchronize()
            finish_last()
        if finish and device.type == "cuda":
            arriving.append((torch.cuda.current_stream().record_event(), finish))
        elif finish:
            finish()

    def run(chosen: np.ndarray) -> None:
        try:
            read(step(collate(texts, chosen, padding, segments)))
        except torch.OutOfMemoryError:
            if len(chosen) == 1:
                raise
            torch.cuda.empty_cache()
            run(chosen[: len(chosen) // 2])
            run(chosen[len(chosen) // 2 :])

    languages = np.array(texts.languages)
    rows_by_language = (np.flatnonzero(languages == language) for language in dict.fromkeys(texts.languages))
    batches = [rows[chosen] for rows in rows_by_language for chosen in sorted_batches(texts.lengths[rows], budget)]
    limit, done = getattr(encoder.config, "rehearse", len(texts)), 0
    idle: list[nn.Module] = []
    if limit < len(texts) and str(encoder.config.model_type) in KNOWN:  # type: ignore[union-attr]
        idle = transformer_layers(encoder)[: -1 if needs_last_layer else None]
    with torch.inference_mode():
        for chosen in sorted(batches, key=lambda batch: -texts.lengths[batch].max()):
            with handing_on(idle if done >= limit else ()):
                run(chosen)
            done += len(chosen)
        read(None)
