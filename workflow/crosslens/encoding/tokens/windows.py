"""Windows over texts that are too long for an encoder."""

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 510  # largest number of subwords of a window: encoders have 512 positions, two of them for special subwords


class Window(NamedTuple):
    """Labelled words first_word to end_word, and subwords start_subword to end_subword of the input; ends are exclusive."""

    first_word: int
    end_word: int
    start_subword: int
    end_subword: int


def windows(sizes: Sequence[int], size: int, context: int) -> list[Window]:
    """Windows of whole words in which each word is labelled once, in order.

    sizes: number of subwords of each word, at least 1. size: largest number of subwords of a window, without special ones.
    context: number of unlabelled subwords before a window's first labelled word; they may begin within a word.
    A window ends before a word that no longer fits, and its last `context` subwords begin the next window (wu2019, section 3;
    the authors' tagging reader). XTREME splits sentences in this way, without context. A word is never divided: the window of a
    word that by itself does not fit is longer than `size`. Departures: subwords beyond LONGEST are cut off (wu2019 cuts
    nothing; with `unknown_words` no word is so long, as in XTREME), and there is no empty window before such a word.
    """
    result: list[Window] = []
    start_subword = end_subword = first_word = 0
    for word, subwords in enumerate(sizes):
        if end_subword - start_subword + subwords > size and word > first_word:
            result.append(Window(first_word, word, start_subword, end_subword))
            first_word, start_subword = word, max(start_subword, end_subword - context)
        end_subword += subwords
    if first_word < len(sizes):
        result.append(Window(first_word, len(sizes), start_subword, end_subword))
    return [window._replace(end_subword=min(window.end_subword, window.start_subword + LONGEST)) for window in result]
