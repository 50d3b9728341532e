"""Tokenised texts in memory.

A label belongs to a word or to a whole text (`Units.unit`). The names here say "word" for both: a whole text counts as one word
at its first subword.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from crosslens.config.heads import WORD
from crosslens.config.labels import UPOS
from crosslens.encoding.tokens.schema import SPECIAL
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError

IGNORED = -100  # label of a word that does not count in losses and scores


class Edges(NamedTuple):
    """Numbers of special subwords before a text, between the two texts of a pair, and after them."""

    before: int = 1
    between: int = 1
    after: int = 1

    @property
    def around(self) -> int:
        """Number of special subwords around a single text."""
        return self.before + self.after


@dataclass(frozen=True)
class Texts:
    """n texts, concatenated: text i has subwords[subword_offsets[i]:subword_offsets[i + 1]]; likewise its labelled words."""

    ids: list[str]
    languages: list[str]
    subwords: np.ndarray  # (n_subwords,) int32
    subword_offsets: np.ndarray  # (n + 1,) int64
    positions: np.ndarray  # (n_words,) int64, subword of each labelled word within its text
    word_offsets: np.ndarray  # (n + 1,) int64
    words: list[str]
    labels: dict[str, np.ndarray]  # kind ('task', 'language', see `load`) -> (n_words,) int64; IGNORED: no label
    second: np.ndarray  # (n,) int64, first subword of the second text of a pair; 0 for a single text
    cut: np.ndarray  # (n,) bool, whether subwords were cut away
    cut_words: np.ndarray  # (n,) int64, number of labelled words that were cut away
    targets: np.ndarray | None = None  # (n_words,) bool, words whose predictions are scored; None: all
    pages: np.ndarray | None = None  # (n,) int64, number of each text's page; None: not running text
    edges: Edges = Edges()  # of BERT; texts from token files have their tokenizer's

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> np.ndarray:
        """Number of subwords of each text, (n,)."""
        return np.diff(self.subword_offsets)

    def lengths_of(self, texts: np.ndarray) -> np.ndarray:
        """Number of subwords of each of the given texts, in their order."""
        return np.asarray(self.subword_offsets[texts + 1] - self.subword_offsets[texts])

    @property
    def labelled_rows(self) -> np.ndarray:
        """Indices of the subwords of all labelled words among all subwords, (n_words,)."""
        return np.asarray(np.repeat(self.subword_offsets[:-1], np.diff(self.word_offsets)) + self.positions)

    def word_rows(self, texts: np.ndarray) -> np.ndarray:
        """Indices of all labelled words of the given texts, in their order."""
        return _ranges(self.word_offsets[texts], self.word_offsets[texts + 1])

    def subword_rows(self, texts: np.ndarray) -> np.ndarray:
        """Indices of all subwords of the given texts, in their order."""
        return _ranges(self.subword_offsets[texts], self.subword_offsets[texts + 1])

    def end_rows(self, texts: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Indices of the special subwords before and after each of the given texts, (n, edges.around)."""
        starts, stops = self.subword_offsets[:-1][texts, None], self.subword_offsets[1:][texts, None]
        return np.concatenate([starts + np.arange(self.edges.before), stops - np.arange(self.edges.after, 0, -1)], 1)

    def take(self, texts: np.ndarray) -> "Texts":
        """The texts with these numbers, in the given order."""
        words = self.word_rows(texts)
        return Texts(
            [self.ids[i] for i in texts],
            [self.languages[i] for i in texts],
            self.subwords[self.subword_rows(texts)],
            np.concatenate([[0], np.cumsum(self.lengths[texts])]),
            self.positions[words],
            np.concatenate([[0], np.cumsum(np.diff(self.word_offsets)[texts])]),
            [self.words[i] for i in words],
            {kind: values[words] for kind, values in self.labels.items()},
            self.second[texts],
            self.cut[texts],
            self.cut_words[texts],
            None if self.targets is None else self.targets[words],
            None if self.pages is None else self.pages[texts],
            self.edges,
        )

    def scored(self) -> np.ndarray:
        """Indices of the words whose predictions are scored."""
        return np.arange(len(self.positions)) if self.targets is None else np.flatnonzero(self.targets)


def _ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """The concatenated ranges from each start to its stop."""
    sizes = stops - starts
    if not sizes.sum():
        return np.zeros(0, np.int64)
    jumps = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return jumps + np.arange(sizes.sum())


def load_subwords(files: Sequence[Path]) -> Texts:
    """Running text of token files, without words and labels. Raises DataError if all files are empty."""
    table = _table(files, ["id", "language", "page", "subwords", "second", "cut", "cut_words"])
    pages = table["page"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    subwords, offsets = _flat(table, "subwords")
    n = table.num_rows
    return Texts(
        table["id"].to_pylist(), table["language"].to_pylist(), subwords.astype(np.int32), offsets, np.zeros(0, np.int64),
        np.zeros(n + 1, np.int64), [], {}, *_places(table), pages=pages, edges=_edges(files),
    )  # fmt: skip


def _table(files: Sequence[Path], columns: list[str] | None = None) -> pa.Table:
    table = pa.concat_tables([parquet.read(path, columns=columns) for path in files]).combine_chunks()
    if not table.num_rows:
        raise DataError(f"{files[0]}: expected at least one text, found none: see the log of the step that created it")
    return table


def _edges(files: Sequence[Path]) -> Edges:
    """Numbers of special subwords that the tokenizer of these token files adds; all files share one tokenizer."""
    return Edges(*parquet.metadata(files[0])[SPECIAL])


def _flat(table: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    column = table[name].combine_chunks()
    offsets = column.offsets.to_numpy().astype(np.int64)
    return column.flatten().to_numpy(zero_copy_only=False), offsets - offsets[0]


def _places(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    second, cut, cut_words = (table[name].to_numpy() for name in ("second", "cut", "cut_words"))
    return second.astype(np.int64), cut.astype(bool), cut_words.astype(np.int64)


def load(
    files: Sequence[Path],
    task_labels: Sequence[str],
    languages: Sequence[str],
    unit: Literal["word", "text"] = "word",
    *,
    trees: bool = False,
    subtypes: bool = False,
    led: bool = False,
    every_subword: bool = False,
) -> Texts:
    """Texts of token files, with labels of the kinds 'task' and 'language'. Raises DataError if all files are empty.

    task_labels, languages: names of the classes of the two kinds; anything else is IGNORED. unit: what has a label.
    trees: the task's labels are relations, without subtypes (as in the official evaluation of CoNLL 2018) unless `subtypes`.
    This adds two kinds: 'arc' is the head of each word, numbered from 1 among the text's labelled words (0: root, IGNORED: not
    among them), and 'upos' is its tag. Raises DataError if the files have no trees.
    led: the first subword of each text is a unit of its own before the words. With unit 'text', only it is labelled and scored;
    with unit 'word', it is neither.
    every_subword: every subword is a unit, but only those that carry a word's label are labelled and scored. They have label 0
    in the further kind 'word'.
    """
    table = _table(files)
    flat = partial(_flat, table)
    subwords, subword_offsets = flat("subwords")
    names = table["language"].to_pylist()
    if unit == "text" and not led:
        words = [" ".join(forms) for forms in table["words"].to_pylist()]
        positions, word_offsets = np.zeros(len(names), np.int64), np.arange(len(names) + 1)
        task = table["label"].to_pylist()
    else:
        words = table["words"].combine_chunks().flatten().to_pylist()
        positions, word_offsets = flat("positions")
        task = flat("relations" if trees else "labels")[0].tolist()
        task = [name.partition(":")[0] for name in task] if trees and not subtypes else task
        task = [""] * len(positions) if unit == "text" else task
    codes_of_languages = {name: number for number, name in enumerate(languages)}
    per_text = np.array([codes_of_languages.get(name, IGNORED) for name in names], np.int64)
    codes = {name: number for number, name in enumerate(task_labels)}
    labels = {
        "language": np.repeat(per_text, np.diff(word_offsets)),
        "task": np.array([codes.get(name, IGNORED) for name in task], np.int64),
    }
    if trees:
        heads = flat("heads")[0].astype(np.int64)
        if len(heads) != len(positions):
            raise DataError(f"{files[0]}: expected a treebank for parsing, found words without trees: choose another corpus")
        labels["arc"] = np.where(heads < 0, IGNORED, heads)
        tags = {name: number for number, name in enumerate(UPOS)}
        labels["upos"] = np.array([tags.get(name, IGNORED) for name in flat("labels")[0]], np.int64)
    targets = None
    if every_subword:
        rows = np.repeat(subword_offsets[:-1], np.diff(word_offsets)) + positions  # of the labelled words, among all subwords
        targets = np.isin(np.arange(len(subwords)), rows)
        labels[WORD] = np.zeros(len(rows), np.int64)
        for kind in labels:
            of_words, labels[kind] = labels[kind], np.full(len(subwords), IGNORED)
            labels[kind][rows] = of_words
        forms = dict(zip(rows.tolist(), words, strict=True))
        words = [forms.get(row, "") for row in range(len(subwords))]
        positions, word_offsets = _ranges(np.zeros(len(names), np.int64), np.diff(subword_offsets)), subword_offsets
    elif led:
        firsts = word_offsets[:-1]
        positions, words = np.insert(positions, firsts, 0), np.insert(np.array(words, object), firsts, "").tolist()
        labels = {kind: np.insert(values, firsts, IGNORED) for kind, values in labels.items()}
        word_offsets = word_offsets + np.arange(len(word_offsets))
        if unit == "text":
            values_by_kind = {"task": [codes.get(name, IGNORED) for name in table["label"].to_pylist()], "language": per_text}
            labels = {kind: np.full(len(positions), IGNORED) for kind in values_by_kind}
            for kind, values in values_by_kind.items():
                labels[kind][word_offsets[:-1]] = np.asarray(values)
        targets = np.isin(np.arange(len(positions)), word_offsets[:-1], invert=unit == "word")
    return Texts(
        table["id"].to_pylist(), names, subwords.astype(np.int32), subword_offsets,
        positions.astype(np.int64), word_offsets, words, labels, *_places(table), targets, edges=_edges(files),
    )  # fmt: skip
