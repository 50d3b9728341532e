"""Overlap of the subwords of two texts (wu2019, section 5.3), fertility, and the share of features that two languages differ in.

Counts are arrays over a vocabulary, (subwords,), without special subwords.
"""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

MARKS = ("##", "▁", "Ġ")  # which tell where in a word a subword stands


def by_type(train: np.ndarray, test: np.ndarray) -> float:
    """Share of the test set's different subwords that occur in training data too; nan where it has none."""
    types = test > 0
    return float((types & (train > 0)).sum() / types.sum()) if types.any() else np.nan


def by_token(train: np.ndarray, test: np.ndarray) -> float:
    """Share of the test set's subwords, each as often as it occurs, that occur in training data too; nan where it has none."""
    return float(test[train > 0].sum() / test.sum()) if test.any() else np.nan


def of_words(subwords: Sequence[str]) -> np.ndarray:
    """Whether each subword has, beside marks, a letter and two characters or more: no digits, punctuation, single characters."""
    return np.array([_of_word(subword) for subword in subwords], dtype=bool)


def _of_word(subword: str) -> bool:
    text = next((subword.removeprefix(mark) for mark in MARKS if subword.startswith(mark)), subword)
    return len(text) > 1 and any(unicodedata.category(character)[0] == "L" for character in text)


def distance(one: Mapping[str, int], other: Mapping[str, int]) -> tuple[float, int]:
    """Share of the features with a value in both languages whose values differ, and how many these features are.

    one, other: feature -> value. nan without such a feature.
    """
    common = one.keys() & other.keys()
    return (sum(one[name] != other[name] for name in common) / len(common) if common else np.nan), len(common)
