"""How an encoder reads texts. Light: the Snakefile imports it at each call."""

from typing import Literal

from crosslens.config.base import Section


class Units(Section):
    """What of a text has a label, and which state of the encoder a head sees of it."""

    unit: Literal["word", "text"] = "word"
    # Hidden state (of a text: its first piece's), or the pooler's output; of a text also the mean over its pieces, special ones
    # included, or the states of its words, of which the first carries the text's label; of a pair of texts u, v, |u - v| and
    # u * v, where u and v are the means over each one's pieces, without special ones.
    state: Literal["hidden", "pooler", "mean", "words", "pair"] = "hidden"
    segments: bool = False  # token type 1 for the second text of a pair

    def width(self) -> int:
        """How many states side by side a head reads of a unit."""
        return 4 if self.state == "pair" else 1
