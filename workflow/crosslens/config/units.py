"""Labelled units of texts and their states. Fast to import, because the Snakefile does so at each call."""

from typing import Literal

from crosslens.config.base import Frozen


class Units(Frozen):
    """The unit that has a label, and the encoder state that a head reads for it."""

    unit: Literal["word", "text"] = "word"
    # "hidden": the state of the word, or of a text's first subword; "pooler": the pooler's output. For texts also "mean": the
    # mean over all subwords, special ones included; "words": the states of its words, of which the first carries the text's
    # label. For pairs of texts "pair": u, v, |u - v| and u * v, where u and v are the means over each text's subwords without
    # special ones.
    state: Literal["hidden", "pooler", "mean", "words", "pair"] = "hidden"
    segments: bool = False  # token type 1 for the second text of a pair

    def reads_first_subword(self) -> bool:
        """Whether the state of a text's first subword, or what the pooler makes of it, stands for the text."""
        return self.unit == "text" and self.state in ("hidden", "pooler")

    def width(self) -> int:
        """Number of concatenated states that a head reads of a unit."""
        return 4 if self.state == "pair" else 1
