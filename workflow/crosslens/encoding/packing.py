"""Running text in blocks of one length, for masked language models."""

from dataclasses import replace

import numpy as np

from crosslens.encoding.texts import Texts
from crosslens.errors import DataError


def first_texts(texts: Texts, number: int) -> Texts:
    """Of each language at most the first `number` texts, in their order."""
    languages = np.array(texts.languages)
    chosen = [np.flatnonzero(languages == language)[:number] for language in dict.fromkeys(texts.languages)]
    return texts.take(np.sort(np.concatenate(chosen)))


def packed(texts: Texts, window: int) -> Texts:
    """The texts of each language one after the other, in blocks of `window` pieces between the special ones that a text has.

    Texts without labelled words (`texts.load_pieces`). A block may end within a text, and none is padded: what is left at the
    end of a language is less than a block and is dropped. Nothing stands between two texts, as within a segment of BERT's.
    Raises DataError where a language has less than one block.
    """
    pieces, languages = [], []
    numbers = np.array(texts.languages)
    for language in dict.fromkeys(texts.languages):
        chosen = np.flatnonzero(numbers == language)
        inside = np.ones(len(texts.pieces), bool)
        inside[texts.piece_offsets[chosen]] = inside[texts.piece_offsets[chosen + 1] - 1] = False
        running = texts.pieces[texts.piece_rows(chosen)][inside[texts.piece_rows(chosen)]]
        count = len(running) // (window - 2)
        if not count:
            raise DataError(
                f"{language}: expected at least {window - 2} subwords to fill a block, found {len(running)}: add text"
            )
        blocks = np.empty((count, window), np.int32)
        blocks[:, 0], blocks[:, -1] = texts.pieces[0], texts.pieces[texts.piece_offsets[1] - 1]
        blocks[:, 1:-1] = running[: count * (window - 2)].reshape(count, -1)
        pieces.append(blocks.reshape(-1))
        languages += [language] * count
    n = len(languages)
    return replace(
        texts, ids=[f"block {number + 1}" for number in range(n)], languages=languages, pieces=np.concatenate(pieces),
        piece_offsets=np.arange(n + 1) * window, word_offsets=np.zeros(n + 1, np.int64), second=np.zeros(n, np.int64),
        cut=np.zeros(n, bool), cut_words=np.zeros(n, np.int64),
    )  # fmt: skip
