"""Batches of texts, padded side by side, and passes over whole sets of texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from crosslens.encoding.layers import KNOWN, handing_on, transformer_layers
from crosslens.encoding.texts import Edges, Texts

# Padded subwords a batch: on a CPU few enough that a batch's states stay in the cache and little is padded.
SUBWORDS_A_THREAD, SUBWORDS_ON_A_GPU = 512, 65536


def device_copy(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Values on a device. A GPU copies them from pinned memory, since for others the host waits until it has done so."""
    if device.type == "cuda" and values.device.type == "cpu":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)


def host_copy(values: torch.Tensor) -> torch.Tensor:
    """Values on the CPU. Those of a GPU arrive later, so that only what a step of `for_each_batch` returns may read them."""
    if values.device.type == "cpu":
        return values
    return torch.empty(values.shape, dtype=values.dtype, pin_memory=True).copy_(values, non_blocking=True)


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's weights."""
    return next(module.parameters()).device


@dataclass(frozen=True)
class Padding:
    """Where the n items of B texts, one text after the other, are when each text is padded to T items."""

    inside: torch.Tensor  # (B, T) bool: whether a place has an item
    places: torch.Tensor  # (n,) of the items, among B * T

    @classmethod
    def of(cls, sizes: torch.Tensor, device: torch.device | None = None) -> "Padding":
        """The padding of texts to their longest, on a device. sizes: items of each text, (B,), on the CPU."""
        inside = torch.arange(int(sizes.max())) < sizes[:, None]
        places = inside.flatten().nonzero()[:, 0]
        return cls(inside, places) if device is None else cls(device_copy(inside, device), device_copy(places, device))

    def padded(self, values: torch.Tensor, fill: int = 0) -> torch.Tensor:
        """The values of items, (n, ...), as (B, T, ...), padded with `fill`."""
        wide = values.new_full((self.inside.numel(), *values.shape[1:]), fill).index_copy(0, self.places, values)
        return wide.view(*self.inside.shape, *values.shape[1:])


@dataclass(frozen=True)
class Batch:
    """B texts padded to their longest, T subwords."""

    input_ids: torch.Tensor  # (B, T)
    attention_mask: torch.Tensor | None  # (B, T); None where nothing is padded, for the fast attention kernels
    token_types: torch.Tensor | None  # (B, T); None where all are 0
    rows: torch.Tensor  # (n_words,) text of each labelled word within the batch
    columns: torch.Tensor  # (n_words,) its subword
    words: np.ndarray  # (n_words,) its index in the Texts
    second: torch.Tensor | None = None  # (B,) first subword of the second text of a pair, 0 where there is none
    edges: Edges = Edges()


def collate(texts: Texts, chosen: np.ndarray, padding: int, segments: bool = False) -> Batch:
    """A batch of the chosen texts. padding: number of the padding subword. segments: whether second texts have token type 1."""
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
    """Batches of texts sorted by length, of at most `subwords` padded subwords; the longest first, so that memory peaks early."""
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
    """Call `step` on length-sorted batches of all texts, without gradients; a batch too large for the memory is halved.

    What `step` returns is called once its results have arrived from the device: on a GPU after the next batch was begun, so that
    the GPU need not wait for the host.

    A batch has texts of one language, so that those of a file of tokens are batched alike, and have the same states bit for bit,
    whether they are encoded alone or with other files.

    In a rehearsal (config.rehearse) the layers hand on the states of all batches after so many texts, which takes hardly any time
    and the same memory. needs_last_block: whether the last layer runs all the same, since `step` reads states inside it.
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
