"""How an encoder reads texts. Light: the Snakefile imports it at each call."""

from typing import Literal

from crosslens.config.base import Section


class Units(Section):
    """What of a text has a label, and which state of the encoder a head sees of it."""

    unit: Literal["word", "text"] = "word"
    state: Literal["hidden", "pooler"] = "hidden"  # last hidden state (of a text: its first piece's), or the pooler's output
    segments: bool = False  # token type 1 for the second text of a pair
