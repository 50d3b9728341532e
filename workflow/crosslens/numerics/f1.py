"""F1 of tag sequences: over tokens, and over chunks as tanti2021's code had it. Counts first, so that intervals are cheap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crosslens.numerics.definitions import CUT_TEXTS, CUT_WORDS


@dataclass(frozen=True)
class Counts:
    """Numbers of items that a score needs, by sentence (rows, n) and class (columns, k); each (n, k) float64."""

    true: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray

    def together(self, groups: np.ndarray) -> "Counts":
        """Sums over the rows of each group, numbered from 0 without gaps: groups (n,) -> counts of shape (groups, k)."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        return Counts(*(np.add.reduceat(counts[order], starts) for counts in (self.true, self.predicted, self.correct)))


def sentences(ids: Sequence[str]) -> np.ndarray:
    """Number of the sentence of each row, (n,): its windows are rows ID, ID#2, ID#3 in this order (tokens/schema.py)."""
    numbers = np.zeros(len(ids), np.int64)
    first, window = "", 0
    for row, id in enumerate(ids):
        window = window + 1 if window and id == f"{first}#{window + 1}" else 1
        first = id if window == 1 else first
        numbers[row] = (numbers[row - 1] + (window == 1)) if row else 0
    return numbers


def text_ids(ids: Sequence[str]) -> np.ndarray:
    """Id of the text of each row, which is that of its first window, (n,); rows as for `sentences`."""
    numbers = sentences(ids)
    ids_of_texts: np.ndarray = np.array(ids)[np.unique(numbers, return_index=True)[1]][numbers]
    return ids_of_texts


def cut_shares(cut: np.ndarray, cut_words: np.ndarray, words: int) -> dict[str, tuple[float, int]]:
    """Share of texts that are cut, and of labelled words that were cut away, each with the number it is a share of.

    cut and cut_words (n,): whether subwords of a text were cut away, and how many of its words; words: those that are left.
    """
    lost = int(cut_words.sum())
    return {CUT_TEXTS: (float(cut.mean()), len(cut)), CUT_WORDS: (lost / max(words + lost, 1), words + lost)}


def flattened(gold: Sequence[np.ndarray], predicted: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold and predicted classes of all labelled units, and the sentence of each, each (n_tokens,).

    gold, predicted: an array of classes for each sentence; a gold class below 0 is no label.
    """
    sentences = np.repeat(np.arange(len(gold)), [len(classes) for classes in gold])
    flat_gold, flat_predicted = (np.concatenate(classes).astype(np.int64) for classes in (gold, predicted))
    labelled = flat_gold >= 0
    return flat_gold[labelled], flat_predicted[labelled], sentences[labelled]


def token_counts(gold: np.ndarray, predicted: np.ndarray, sentences: np.ndarray, n: int, k: int) -> Counts:
    """Counts of labels: gold, predicted (n_tokens,) class numbers; sentences (n_tokens,) row of each token."""

    def count(rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
        return np.bincount(rows * k + classes, minlength=n * k).reshape(n, k).astype(np.float64)

    right = gold == predicted
    return Counts(count(sentences, gold), count(sentences, predicted), count(sentences[right], gold[right]))


@dataclass(frozen=True)
class _Chunks:
    types: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


def chunk_types(labels: Sequence[str]) -> list[str]:
    """Type that seqeval reads in each bare label: all but its first character, which it takes for the IOB prefix."""
    return [label[1:].split("-", maxsplit=1)[-1] or "_" for label in labels]


def chunk_counts(gold: np.ndarray, predicted: np.ndarray, sentences: np.ndarray, n: int, labels: Sequence[str]) -> Counts:
    """Counts of chunks as seqeval 1.2.2 finds them in bare tags: the metric behind tanti2021's token scores.

    The first character of a tag is read as its prefix and the rest as its type, so CCONJ and SCONJ, or the language codes et
    and pt, are one type; equal neighbours merge to one chunk, which counts only if both ends are right. `sentences` must not
    decrease. A chunk counts for the sentence it ends in.
    """
    prefixes = np.array([ord(label[0]) for label in labels] + [ord("O")])
    names = chunk_types(labels)
    types = sorted({*names, "_"})
    type_of = np.array([types.index(name) for name in [*names, "_"]])
    outside = len(labels)
    # One outside tag after each sentence, as seqeval joins them.
    places = np.arange(len(gold)) + sentences
    rows = np.repeat(np.arange(n), np.bincount(sentences, minlength=n) + 1)

    def count(classes: np.ndarray) -> np.ndarray:
        return np.bincount(classes, minlength=n * len(types)).reshape(n, len(types)).astype(np.float64)

    chunks_of_both = []
    for tags in (gold, predicted):
        joined = np.full(len(gold) + n, outside)
        joined[places] = tags
        chunks_of_both.append(_chunks(prefixes[joined], type_of[joined], type_of[outside]))
    truth, guess = chunks_of_both
    length = len(gold) + n
    keys = [(chunks.types * length + chunks.begins) * length + chunks.ends for chunks in chunks_of_both]
    right = np.isin(keys[0], keys[1])
    cells = [rows[chunks.ends] * len(types) + chunks.types for chunks in (truth, guess)]
    return Counts(count(cells[0]), count(cells[1]), count(cells[0][right]))


def _chunks(prefix: np.ndarray, kind: np.ndarray, outside: int) -> _Chunks:
    """Chunks by seqeval's transition rules (metrics/sequence_labeling.py: start_of_chunk, end_of_chunk)."""
    before = np.concatenate([[ord("O")], prefix[:-1]])
    kind_before = np.concatenate([[outside + 1_000_000], kind[:-1]])  # '' is no type
    changed = kind_before != kind

    def has(array: np.ndarray, letters: str) -> np.ndarray:
        return np.isin(array, [ord(letter) for letter in letters])

    end = has(before, "ES") | (has(before, "BI") & has(prefix, "BSO")) | (~has(before, "O.") & changed)
    start = has(prefix, "BS") | (has(before, "ESO") & has(prefix, "EI")) | (~has(prefix, "O.") & changed)
    begins = np.maximum.accumulate(np.where(start, np.arange(len(start)), 0))
    at = np.flatnonzero(end[1:])  # last place of each chunk
    return _Chunks(kind[at], begins[at], at)


def macro_f1(counts: Counts, classes: Literal["true", "union"]) -> np.ndarray:
    """Mean F1 over classes, a fraction; counts (..., k) summed over sentences.

    true: over classes that occur in the truth; union: also over classes that were only predicted, which count as 0
    (scikit-learn's and seqeval's rule).
    """
    total = counts.true + counts.predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(total > 0, 2 * counts.correct / total, 0.0)
    occurring = counts.true > 0 if classes == "true" else total > 0
    mean: np.ndarray = (f1 * occurring).sum(-1) / np.maximum(occurring.sum(-1), 1)
    return mean


def micro_f1(counts: Counts) -> np.ndarray:
    """F1 of all classes together, a fraction; counts (..., k)."""
    total = (counts.true + counts.predicted).sum(-1)
    f1: np.ndarray = 2 * counts.correct.sum(-1) / np.maximum(total, 1)
    return f1


def true_share(counts: Counts) -> np.ndarray:
    """Share of the true classes among those that are true or predicted: the most that macro F1 over the union can be."""
    share: np.ndarray = (counts.true > 0).sum(-1) / np.maximum((counts.true + counts.predicted > 0).sum(-1), 1)
    return share


def accuracy(counts: Counts) -> np.ndarray:
    """Share of the true items that were found, a fraction; for tokens the accuracy."""
    share: np.ndarray = counts.correct.sum(-1) / np.maximum(counts.true.sum(-1), 1)
    return share


def overall(counts: Counts) -> Counts:
    """Sums over all sentences, (k,)."""
    return Counts(counts.true.sum(0), counts.predicted.sum(0), counts.correct.sum(0))
