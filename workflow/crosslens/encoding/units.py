"""How an encoder reads texts. Light: the Snakefile imports it at each call."""

from typing import Literal

from crosslens.config.base import Section


class Units(Section):
    """What of a text has a label, and which state of the encoder a head sees of it."""

    unit: Literal["word", "text"] = "word"
    # Hidden state (of a text: its first piece's), or the pooler's output; of a text also the mean over its pieces, special ones
    # included, or the states of its words, of which the first carries the text's label.
    state: Literal["hidden", "pooler", "mean", "words"] = "hidden"
    segments: bool = False  # token type 1 for the second text of a pair
