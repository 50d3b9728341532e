"""liang2021: captions for the report, below an item's title."""

from crosslens.config.whole import Config
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.layout import BY_LANGUAGE

SCORES = """F1 of chunks (PoS; accuracy beside it) and of entities (NER), mean over seeds. mBERT: fine-tuned with dropout; no
dropout: without it and without a penalty, the control for L-DAR; L-DAR: without dropout, with the penalty that keeps states
where they were within the language subspaces; ldar released: with the penalty towards a randomly initialised encoder with
dropout, which is what the released code runs. Rows of differences are paired by seed."""
MEANS = """Train: mean over the source languages; Zero-S.: over the others; All: over all."""
GROUPS = """Rows "matched" have a third of the layers at three times the weight; the printed groups have four times the weight, a
stronger penalty in total."""
MIXED = (
    """Each source has at most as many sentences as English has divided by the number of sources; a smaller one enters whole."""
)
REMOVAL = """F1 of linear heads, mean over the languages but English, by the number of directions removed from the last layer's
states: the first ones of its language subspace (DensRay), or as many random ones.

How to read it: removed directions matter for the task where the curve lies below that of random ones. On the left the encoder is
frozen; on the right it is fine-tuned, and can move what the head needs into the directions that are left."""


def caption(name: str, config: Config) -> str:
    """The caption of an item."""
    paper = section(config)
    if name == "figure4":
        text = REMOVAL
    else:
        mixed = len(paper.sources) > 1 and BY_LANGUAGE.get(name, ("", 1))[1]
        parts = [SCORES, "" if name in BY_LANGUAGE else MEANS, MIXED if mixed else "", GROUPS if name == "table6" else ""]
        text = " ".join(filter(None, parts))
    encoder = f"Encoder: {paper.encoder}, seeds {', '.join(map(str, paper.seeds))}. The paper uses mBERT, and one run."
    return f"{text}\n\n{encoder} Our choices: docs/liang2021.md."
