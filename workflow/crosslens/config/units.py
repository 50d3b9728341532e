"""Labelled units of texts and their states. Fast to import, since every call of Snakemake does so."""

from typing import Literal

from crosslens.config.base import Frozen


class Units(Frozen):
    """The unit that has a label, and the encoder state that a head reads for it."""

    unit: Literal["word", "text"] = "word"
    # "hidden": the state of the word, or of a text's first subword. "pooler": the pooler's output.
    # For texts only: "mean", the mean over all subwords, including special ones; or "words", the states of the text's words, the
    # first of which carries the text's label.
    # For pairs of texts only: "pair", u, v, |u - v| and u * v, where u and v are the means over each text's non-special subwords.
    state: Literal["hidden", "pooler", "mean", "words", "pair"] = "hidden"
    segments: bool = False  # token type 1 for the second text of a pair

    def reads_first_subword(self) -> bool:
        """Whether a text is represented by the state of its first subword, or by the pooler's output for that state."""
        return self.unit == "text" and self.state in ("hidden", "pooler")

    def width(self) -> int:
        """Number of concatenated states that a head reads for each unit."""
        return 4 if self.state == "pair" else 1
