"""Running text in windows, for masked language models."""

from dataclasses import replace
from typing import Literal

import numpy as np

from crosslens.encoding.texts import Texts


def first_texts(texts: Texts, number: int | None) -> Texts:
    """The first `number` texts of each language, in their order; None: all of them."""
    if number is None:
        return texts
    languages = np.array(texts.languages)
    chosen = [np.flatnonzero(languages == language)[:number] for language in dict.fromkeys(texts.languages)]
    return texts.take(np.sort(np.concatenate(chosen)))


def windows_of(texts: Texts, window: int | None, within: Literal["page", "text"]) -> Texts:
    """Running text in windows that do not cross the end of a page or of a text.

    window: largest number of subwords, special ones included; None: the texts are returned unchanged.
    """
    if window is None:
        return texts
    return in_windows(texts, window, of_pages(texts) if within == "page" else np.arange(len(texts)))


def of_pages(texts: Texts) -> np.ndarray:
    """Number of the stretch that each text belongs to, (n,): neighbouring texts of one language and page share a stretch.

    texts: from `load_subwords`.
    """
    assert texts.pages is not None
    languages = np.array(texts.languages)
    changes = (texts.pages[1:] != texts.pages[:-1]) | (languages[1:] != languages[:-1])
    return np.cumsum(np.concatenate([[False], changes]))


def in_windows(texts: Texts, window: int, stretches: np.ndarray) -> Texts:
    """Texts without labelled words, concatenated and cut into windows of at most `window` subwords, special ones included.

    stretches: number of each text's stretch, (n,); the texts of a stretch are neighbours. No window crosses the end of a
    stretch, so that the last window of a stretch may be shorter. A window may end within a text, and nothing separates two
    texts, as in BERT's segments. Every subword is in one window. A stretch with only special subwords has no window.
    """
    starts = np.flatnonzero(np.diff(stretches, prepend=-1))
    around = texts.edges.around
    totals, room = np.add.reduceat(texts.lengths - around, starts), window - around
    counts = -(-totals // room)
    owners = np.repeat(np.arange(len(starts)), counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    n, offsets = len(owners), np.concatenate([[0], np.cumsum(np.minimum(room, totals[owners] - places * room) + around)])
    running = np.delete(texts.subwords, texts.end_rows())
    windows = replace(
        texts, ids=[f"window {number + 1}" for number in range(n)], languages=[texts.languages[i] for i in starts[owners]],
        subwords=np.empty(offsets[-1], np.int32), subword_offsets=offsets, word_offsets=np.zeros(n + 1, np.int64),
        second=np.zeros(n, np.int64), cut=np.zeros(n, bool), cut_words=np.zeros(n, np.int64),
        pages=None if texts.pages is None else texts.pages[starts[owners]],
    )  # fmt: skip
    inside = np.ones(offsets[-1], bool)
    inside[windows.end_rows()] = False
    windows.subwords[windows.end_rows()] = texts.subwords[texts.end_rows(slice(1))]
    windows.subwords[inside] = running
    return windows
