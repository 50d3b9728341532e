"""Windows over a text that is longer than an encoder takes."""

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 510  # pieces that a window may have: what encoders of 512 positions take beside two special pieces


class Window(NamedTuple):
    """Labelled words first_word to end_word, and the pieces start_piece to end_piece that are fed; ends are exclusive."""

    first_word: int
    end_word: int
    start_piece: int
    end_piece: int


def windows(sizes: Sequence[int], size: int, context: int) -> list[Window]:
    """Windows of whole words in which each word is labelled once, in order.

    sizes: pieces of each word, at least 1; size: pieces of a window, without special ones; context: how many of the pieces
    before its first labelled word a window also has, unlabelled; they may begin inside a word.
    wu2019 (section 3; the authors' tagging reader): before a word that no longer fits the window ends, and its last `context`
    pieces begin the next. XTREME splits sentences so, with no context. A word is never divided: where it alone does not fit, its
    window is longer than `size`; departures: what of it exceeds LONGEST is cut (wu2019 cuts nothing; with `unknown_words` no word
    is as long, as in XTREME), and no empty window comes before it.
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
