"""Two halves of parallel sentences that share no article, and states centred by the mean of the other half."""

import numpy as np

from crosslens.jobs.errors import DataError


def blocks(ids: list[str], rows: int) -> np.ndarray:
    """Number of each sentence's block of neighbours, (n,), from 0 without gaps.

    ids: numbers of the sentences in the original corpus, where neighbours come from one article.
    rows: number of consecutive sentences of the corpus in a block. Raises DataError for an id that is not a whole number.
    """
    numbers: np.ndarray = np.unique(_places(ids, rows), return_inverse=True)[1]
    return numbers


def halves(ids: list[str], rows: int) -> np.ndarray:
    """Half that each sentence belongs to, (n,), 0 or 1: blocks alternate, whatever other sentences there are.

    ids, rows: as for `blocks`. Raises DataError if all sentences are in one half, or an id is not a whole number.
    """
    half = _places(ids, rows) % 2
    if len(np.unique(half)) < 2:
        raise DataError(
            f"halves: expected sentences of two blocks of {rows} neighbours or more, found {len(ids)} of one: set a smaller block"
        )
    return half


def _places(ids: list[str], rows: int) -> np.ndarray:
    """Number of each sentence's block in the whole corpus, (n,)."""
    if wrong := next((id for id in ids if not id.isdecimal()), None):
        raise DataError(
            f"halves: expected ids that are whole numbers, such as SIB-200's index_id, found '{wrong}': number the sentences as "
            "they follow each other"
        )
    return np.array([int(id) // rows for id in ids])


def centred(states: np.ndarray, half: np.ndarray) -> np.ndarray:
    """States (..., n, d) less the mean of the sentences in the other half, of the same shape.

    half: (n,), 0 or 1. So a sentence does not influence the mean that is subtracted from it.
    """
    moved = np.empty_like(states)
    for number in (0, 1):
        moved[..., half == number, :] = states[..., half == number, :] - states[..., half != number, :].mean(-2, keepdims=True)
    return moved
