"""liang2021: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

from crosslens.papers.liang2021.layout import BY_LANGUAGE

SCORES = """In percent. Beside each F1 of tags stands accuracy, beside each F1 of entities strict F1: published values correspond
to the first of both. L-DAR is trained without dropout: compare it with "no dropout". Below a value: its 95 % interval,
Student's t over the seeds or, with a single seed, a bootstrap over the sentences of a text; and n, the number of units on which
it is based."""
MIXED = """Each source has at most as many sentences as English has divided by the number of sources; a smaller one enters
whole."""
REMOVAL = """F1 of linear heads, mean over the languages but English, by the number of directions that are removed from the last
layer's states: the first ones of its language subspace (DensRay), or as many random ones.

How to read it: removed directions matter for the task where the curve lies below that of random ones. On the left the encoder is
frozen; on the right it is fine-tuned, and can move what the head needs into the directions that are left."""


def caption(name: str) -> str:
    """The caption of an item."""
    if name == "figure4":
        text = REMOVAL
    else:
        several = BY_LANGUAGE.get(name, ("", 1))[1]
        text = "\n\n".join([SCORES, *([MIXED] if several else [])])
    return f"{text}\n\nOur choices: docs/liang2021.md."
