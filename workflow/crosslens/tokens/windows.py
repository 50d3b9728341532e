"""Windows over texts that are too long for an encoder."""

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 510  # largest number of pieces of a window: encoders have 512 positions, two of them for special pieces


class Window(NamedTuple):
    """Labelled words first_word to end_word, and pieces start_piece to end_piece of the input; ends are exclusive."""

    first_word: int
    end_word: int
    start_piece: int
    end_piece: int


def windows(sizes: Sequence[int], size: int, context: int) -> list[Window]:
    """Windows of whole words in which each word is labelled once, in order.

    sizes: pieces of each word, at least 1. size: largest number of pieces of a window, without special ones. context: number of
    unlabelled pieces before a window's first labelled word; they may begin within a word.
    A window ends before a word that no longer fits, and its last `context` pieces begin the next window (wu2019, section 3; the
    authors' tagging reader). XTREME splits sentences in this way, without context. A word is never divided: the window of a word
    that does not fit alone is longer than `size`. Departures: pieces beyond LONGEST are cut off (wu2019 cuts nothing; with
    `unknown_words` no word is so long, as in XTREME), and no empty window precedes such a word.
    """
    result: list[Window] = []
    start_piece = end_piece = first_word = 0
    for word, pieces in enumerate(sizes):
        if end_piece - start_piece + pieces > size and word > first_word:
            result.append(Window(first_word, word, start_piece, end_piece))
            first_word, start_piece = word, max(start_piece, end_piece - context)
        end_piece += pieces
    if first_word < len(sizes):
        result.append(Window(first_word, len(sizes), start_piece, end_piece))
    return [window._replace(end_piece=min(window.end_piece, window.start_piece + LONGEST)) for window in result]
