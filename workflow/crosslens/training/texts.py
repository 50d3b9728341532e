"""Tokenised texts in memory, and the batches that a phase draws from them.

A label belongs to a word or to a whole text (`Reading.unit`); the names here say word for both, and a whole text is then one
word at its first piece.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from crosslens.errors import DataError

IGNORED = -100  # label of a word that no loss or score counts
POOL = 50  # batches that are shuffled together before they are sorted by length


@dataclass(frozen=True)
class Texts:
    """n texts, flattened: text i has pieces[piece_offsets[i]:piece_offsets[i + 1]], and likewise its labelled words."""

    ids: list[str]
    languages: list[str]
    pieces: np.ndarray  # (n_pieces,) int32
    piece_offsets: np.ndarray  # (n + 1,) int64
    positions: np.ndarray  # (n_words,) int64, within the text
    word_offsets: np.ndarray  # (n + 1,) int64
    words: list[str]
    labels: dict[str, np.ndarray]  # kind (task, language) -> (n_words,) int64, IGNORED where it has no label
    second: np.ndarray  # (n,) int64, first piece of the second text of a pair, 0 where there is one text
    cut: np.ndarray  # (n,) bool, if pieces of the text were cut away
    cut_words: np.ndarray  # (n,) int64, labelled words that were cut away

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> np.ndarray:
        """Pieces of each text, (n,)."""
        return np.diff(self.piece_offsets)

    def word_rows(self, texts: np.ndarray) -> np.ndarray:
        """Indices of all labelled words of some texts, in their order."""
        return _ranges(self.word_offsets[texts], self.word_offsets[texts + 1])

    def take(self, texts: np.ndarray) -> "Texts":
        """Some texts, in the given order."""
        words = self.word_rows(texts)
        return Texts(
            [self.ids[i] for i in texts],
            [self.languages[i] for i in texts],
            self.pieces[_ranges(self.piece_offsets[texts], self.piece_offsets[texts + 1])],
            np.concatenate([[0], np.cumsum(self.lengths[texts])]),
            self.positions[words],
            np.concatenate([[0], np.cumsum(np.diff(self.word_offsets)[texts])]),
            [self.words[i] for i in words],
            {kind: values[words] for kind, values in self.labels.items()},
            self.second[texts],
            self.cut[texts],
            self.cut_words[texts],
        )


def _ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Concatenated arange(start, stop)."""
    sizes = stops - starts
    if not sizes.sum():
        return np.zeros(0, np.int64)
    jumps = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return jumps + np.arange(sizes.sum())


def load(
    files: Sequence[Path],
    task_labels: Sequence[str],
    languages: Sequence[str],
    unit: Literal["word", "text"] = "word",
    trees: bool = False,
) -> Texts:
    """Read token files of some languages; labels for the kinds 'task' and 'language'. Raises DataError if all are empty.

    trees: the task's labels are relations without subtypes (as the official evaluation of CoNLL 2018 compares them), and
    there is the kind 'arc', each word's head within its text: 0 the root, counted from 1, IGNORED where it was cut away.
    """
    table = pa.concat_tables([pq.read_table(path) for path in files]).combine_chunks()
    if not table.num_rows:
        raise DataError(f"{files[0]}: no texts; expected at least one: look at the log of the step that made it")

    def flat(name: str) -> tuple[np.ndarray, np.ndarray]:
        column = table[name].combine_chunks()
        offsets = column.offsets.to_numpy().astype(np.int64)
        return column.flatten().to_numpy(zero_copy_only=False), offsets - offsets[0]

    pieces, piece_offsets = flat("pieces")
    names = table["language"].to_pylist()
    if unit == "text":
        words = [" ".join(of) for of in table["words"].to_pylist()]
        positions, word_offsets = np.zeros(len(names), np.int64), np.arange(len(names) + 1)
        task = table["label"].to_pylist()
    else:
        words = table["words"].combine_chunks().flatten().to_pylist()
        positions, word_offsets = flat("positions")
        task = [name.partition(":")[0] for name in flat("relations")[0]] if trees else flat("labels")[0].tolist()
    known = {name: number for number, name in enumerate(languages)}
    per_text = np.array([known.get(name, IGNORED) for name in names], np.int64)
    codes = {name: number for number, name in enumerate(task_labels)}
    labels = {
        "language": np.repeat(per_text, np.diff(word_offsets)),
        "task": np.array([codes.get(name, IGNORED) for name in task], np.int64),
    }
    if trees:
        heads = flat("heads")[0].astype(np.int64)
        if len(heads) != len(positions):
            raise DataError(f"{files[0]}: words without trees; a treebank expected for parsing: choose another corpus")
        labels["arc"] = np.where(heads < 0, IGNORED, heads)
    return Texts(
        table["id"].to_pylist(), names, pieces.astype(np.int32), piece_offsets,
        positions.astype(np.int64), word_offsets, words, labels,
        *(table[name].to_numpy().astype(dtype) for name, dtype in (("second", np.int64), ("cut", bool), ("cut_words", np.int64))),
    )  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """B texts padded to their longest, T pieces."""

    input_ids: torch.Tensor  # (B, T)
    attention_mask: torch.Tensor | None  # (B, T); None where nothing is padded, for the fast attention kernels
    token_types: torch.Tensor | None  # (B, T); None where all are 0
    rows: torch.Tensor  # (n_words,) text of each labelled word within the batch
    columns: torch.Tensor  # (n_words,) its piece
    words: np.ndarray  # (n_words,) its index in the Texts


def collate(texts: Texts, chosen: np.ndarray, padding: int, segments: bool = False) -> Batch:
    """Put texts side by side; with `segments` the second text of a pair has token type 1."""
    lengths, second = texts.lengths[chosen], texts.second[chosen, None]
    columns = np.arange(lengths.max())[None, :]
    inside = columns < lengths[:, None]
    types = torch.from_numpy((inside & (columns >= second) & (second > 0)).astype(np.int64)) if segments else None
    input_ids = np.full(inside.shape, padding, np.int64)
    input_ids[inside] = texts.pieces[_ranges(texts.piece_offsets[chosen], texts.piece_offsets[chosen + 1])]
    words = texts.word_rows(chosen)
    rows = np.repeat(np.arange(len(chosen)), np.diff(texts.word_offsets)[chosen])
    return Batch(
        torch.from_numpy(input_ids),
        None if inside.all() else torch.from_numpy(inside.astype(np.int64)),
        types,
        torch.from_numpy(rows),
        torch.from_numpy(texts.positions[words]),
        words,
    )


def random_batches(
    lengths: np.ndarray, size: int, seed: int, *, items: int | None = None, pools: bool = False
) -> list[np.ndarray]:
    """Batches of `items` texts in random order (None: all, once); where there are fewer, they are recycled in new shuffles.

    As tanti2021's code has it (common/dataset/dataset.py 316-352): a batch may span two shuffles, has no text twice as long as
    there are enough, and the last one is cut. pools: texts of similar length come together, sorted within pools of POOL batches.
    The same seed gives the same batches, which is what lets a killed training resume exactly.
    """
    generator = np.random.default_rng(seed)
    items = len(lengths) if items is None else items
    order = np.zeros(0, np.int64)
    while len(order) < items:
        following, begun = _shuffled(lengths, size, generator, pools), len(order) % size
        fresh = np.flatnonzero(~np.isin(following, order[len(order) - begun :]))[: size - begun]  # end the batch that is begun
        order = np.concatenate([order, following[fresh], np.delete(following, fresh)])
    return np.split(order[:items], range(size, items, size))


def _shuffled(lengths: np.ndarray, size: int, generator: np.random.Generator, pools: bool) -> np.ndarray:
    """All texts once."""
    order = generator.permutation(len(lengths))
    if not pools:
        return order
    shuffled_pools = np.split(order, range(size * POOL, len(order), size * POOL))
    alike = [pool[np.argsort(lengths[pool], kind="stable")] for pool in shuffled_pools]
    whole, last = np.split(np.concatenate(alike), [len(order) // size * size])
    return np.concatenate([generator.permutation(whole.reshape(-1, size)).reshape(-1), last])


def sorted_batches(lengths: np.ndarray, pieces: int) -> Iterator[np.ndarray]:
    """Texts sorted by length in batches of at most `pieces` padded pieces, the longest first: memory peaks at once."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, pieces // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size
