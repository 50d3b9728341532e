"""F1 of tag sequences, over tokens or over chunks as in tanti2021's code. Scores come from counts, so intervals are cheap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crosslens.numerics.definitions import CUT_TEXTS, CUT_WORDS


@dataclass(frozen=True)
class Counts:
    """Numbers of items from which a score is computed, (n, k) float64 each: a row per sentence, a column per class."""

    true: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray

    def together(self, groups: np.ndarray) -> "Counts":
        """Counts summed over the rows of each group, (n_groups, k). groups: (n,), group of each row, from 0 without gaps."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        return Counts(*(np.add.reduceat(counts[order], starts) for counts in (self.true, self.predicted, self.correct)))


def sentences(ids: Sequence[str]) -> np.ndarray:
    """Number of each row's sentence, (n,), from 0. ids: a sentence's windows are rows ID, ID#2, ID#3 (tokens/schema.py)."""
    numbers = np.zeros(len(ids), np.int64)
    first, window = "", 0
    for row, id in enumerate(ids):
        window = window + 1 if window and id == f"{first}#{window + 1}" else 1
        first = id if window == 1 else first
        numbers[row] = (numbers[row - 1] + (window == 1)) if row else 0
    return numbers


def text_ids(ids: Sequence[str]) -> np.ndarray:
    """Id of each row's text, (n,), which is the id of the text's first window. ids: as for `sentences`."""
    numbers = sentences(ids)
    ids_of_texts: np.ndarray = np.array(ids)[np.unique(numbers, return_index=True)[1]][numbers]
    return ids_of_texts


def cut_shares(cut: np.ndarray, cut_words: np.ndarray, words: int) -> dict[str, tuple[float, int]]:
    """Share of texts that are cut, and of labelled words that were cut away, each with the number it is a share of.

    cut: (n,) bool, whether subwords of a text were cut away. cut_words: (n,), number of its labelled words that were cut away.
    words: number of labelled words that are left in all texts.
    """
    lost = int(cut_words.sum())
    return {CUT_TEXTS: (float(cut.mean()), len(cut)), CUT_WORDS: (lost / max(words + lost, 1), words + lost)}


def flattened(gold: Sequence[np.ndarray], predicted: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold and predicted classes of all labelled units, and the number of each unit's sentence, (n_tokens,) each.

    gold, predicted: an array of classes for each sentence; units whose gold class is below 0 have no label.
    """
    sentences = np.repeat(np.arange(len(gold)), [len(classes) for classes in gold])
    flat_gold, flat_predicted = (np.concatenate(classes).astype(np.int64) for classes in (gold, predicted))
    labelled = flat_gold >= 0
    return flat_gold[labelled], flat_predicted[labelled], sentences[labelled]


def token_counts(gold: np.ndarray, predicted: np.ndarray, sentences: np.ndarray, n: int, k: int) -> Counts:
    """Counts of token labels for n sentences and k classes.

    gold, predicted: (n_tokens,), class numbers. sentences: (n_tokens,), number of each token's sentence.
    """

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
    and pt, are one type. Equal neighbours merge into one chunk, which is correct only if both its ends are. A chunk counts for
    the sentence in which it ends.

    gold, predicted: (n_tokens,), class numbers. sentences: (n_tokens,), number of each token's sentence, not decreasing.
    n: number of sentences. labels: tags in the order of their class numbers.
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
    kind_before = np.concatenate([[outside + 1_000_000], kind[:-1]])  # a number that is no type
    changed = kind_before != kind

    def has(array: np.ndarray, letters: str) -> np.ndarray:
        return np.isin(array, [ord(letter) for letter in letters])

    end = has(before, "ES") | (has(before, "BI") & has(prefix, "BSO")) | (~has(before, "O.") & changed)
    start = has(prefix, "BS") | (has(before, "ESO") & has(prefix, "EI")) | (~has(prefix, "O.") & changed)
    begins = np.maximum.accumulate(np.where(start, np.arange(len(start)), 0))
    at = np.flatnonzero(end[1:])  # last place of each chunk
    return _Chunks(kind[at], begins[at], at)


def macro_f1(counts: Counts, classes: Literal["true", "union"]) -> np.ndarray:
    """Mean F1 over classes, a fraction, (...). counts: (..., k), summed over sentences.

    classes: "true": those that occur in the truth; "union": also those that were only predicted, which count as 0
    (scikit-learn's and seqeval's rule).
    """
    total = counts.true + counts.predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(total > 0, 2 * counts.correct / total, 0.0)
    occurring = counts.true > 0 if classes == "true" else total > 0
    mean: np.ndarray = (f1 * occurring).sum(-1) / np.maximum(occurring.sum(-1), 1)
    return mean


def micro_f1(counts: Counts) -> np.ndarray:
    """F1 of all classes together, a fraction, (...). counts: (..., k)."""
    total = (counts.true + counts.predicted).sum(-1)
    f1: np.ndarray = 2 * counts.correct.sum(-1) / np.maximum(total, 1)
    return f1


def true_share(counts: Counts) -> np.ndarray:
    """Share of true classes among those that are true or predicted, the highest possible macro F1 over the union."""
    share: np.ndarray = (counts.true > 0).sum(-1) / np.maximum((counts.true + counts.predicted > 0).sum(-1), 1)
    return share


def accuracy(counts: Counts) -> np.ndarray:
    """Share of the true items that were found, a fraction; for tokens this is the accuracy."""
    share: np.ndarray = counts.correct.sum(-1) / np.maximum(counts.true.sum(-1), 1)
    return share


def overall(counts: Counts) -> Counts:
    """Counts summed over all sentences, (k,) each."""
    return Counts(counts.true.sum(0), counts.predicted.sum(0), counts.correct.sum(0))
