"""Two halves of parallel sentences that share no article, and states less the means that the other half gives."""

import numpy as np

from crosslens.jobs.errors import DataError


def blocks(ids: list[str], rows: int) -> np.ndarray:
    """Number of the block of neighbouring sentences that each sentence lies in, (n,), from 0 without gaps.

    ids: numbers of sentences in the corpus that they were drawn from, where neighbours come from one article.
    rows: length of a block in these numbers. Raises DataError for an id that is no whole number.
    """
    numbers: np.ndarray = np.unique(_places(ids, rows), return_inverse=True)[1]
    return numbers


def halves(ids: list[str], rows: int) -> np.ndarray:
    """Half of each sentence, (n,), 0 or 1: that of its block by turns, whatever other sentences there are.

    ids, rows: see `blocks`. Raises DataError where all sentences are in one half, or an id is no whole number.
    """
    half = _places(ids, rows) % 2
    if len(np.unique(half)) < 2:
        raise DataError(
            f"halves: expected sentences of two blocks of {rows} neighbours or more, found {len(ids)} of one: set a smaller block"
        )
    return half


def _places(ids: list[str], rows: int) -> np.ndarray:
    """Number of the block of each sentence in the whole corpus, (n,)."""
    if wrong := next((id for id in ids if not id.isdecimal()), None):
        raise DataError(
            f"halves: expected ids that are whole numbers, such as SIB-200's index_id, found '{wrong}': number the sentences as "
            "they follow each other"
        )
    return np.array([int(id) // rows for id in ids])


def centred(states: np.ndarray, half: np.ndarray) -> np.ndarray:
    """States (..., n, d) less the mean of the sentences in the other half, of the same shape.

    half: (n,) 0 or 1. So a sentence has no part in the mean that is subtracted from it.
    """
    moved = np.empty_like(states)
    for number in (0, 1):
        moved[..., half == number, :] = states[..., half == number, :] - states[..., half != number, :].mean(-2, keepdims=True)
    return moved
