"""Overlap of the subwords of two texts (wu2019, section 5.3), and the share of features in which two languages differ.

Counts are arrays over a vocabulary, (subwords,), without special subwords.
"""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

MARKS = ("##", "▁", "Ġ")  # prefixes that mark a subword's position in its word


def by_type(train: np.ndarray, test: np.ndarray) -> float:
    """Return the share of the test set's subword types that occur in the training data; nan for an empty test set."""
    types = test > 0
    return float((types & (train > 0)).sum() / types.sum()) if types.any() else np.nan


def by_token(train: np.ndarray, test: np.ndarray) -> float:
    """Return the share of the test set's subword tokens whose type occurs in the training data; nan for an empty test set."""
    return float(test[train > 0].sum() / test.sum()) if test.any() else np.nan


def of_words(subwords: Sequence[str]) -> np.ndarray:
    """Return whether each subword has, without its mark, a letter and at least two characters, (subwords,) bool."""
    return np.array([_of_word(subword) for subword in subwords], dtype=bool)


def _of_word(subword: str) -> bool:
    text = next((subword.removeprefix(mark) for mark in MARKS if subword.startswith(mark)), subword)
    return len(text) > 1 and any(unicodedata.category(character)[0] == "L" for character in text)


def distance(source: Mapping[str, int], target: Mapping[str, int]) -> tuple[float, int]:
    """Return the share of features that differ among those with a value in both languages, and the number of the latter.

    source, target: feature -> value. The share is nan without such a feature.
    """
    common = source.keys() & target.keys()
    return (sum(source[name] != target[name] for name in common) / len(common) if common else np.nan), len(common)
