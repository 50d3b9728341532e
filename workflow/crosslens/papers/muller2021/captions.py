"""muller2021: captions of the report."""

from crosslens.config.whole import Config
from crosslens.papers.muller2021.config import section

TEXTS = {
    "table3": "**Table 3 of the paper: hyperparameters.**",
    "table3_search": "**Table 3 of the paper: hyperparameters**, by grid search on the source's validation set.",
    "table4": """**Table 4 of the paper: Spearman correlation of similarity and transfer** over languages, under
each definition of CKA, with both signs named, with and without English itself. The printed values stand beside each
definition that they may be of.""",
    "figure3": """**Figure 3 of the paper: does similarity go with transfer, layer by layer?** Spearman
correlation over target languages, English left out, of CKA with English and the score after fine-tuning on English.
Of CKA and the gap to English it is the same with the other sign.""",
}
CURVES = """**Figure {number} of the paper: similarity by layer.** CKA of English sentences and their translations
under four definitions: debiased (ours), and three of which the published curves may be one, the printed formula, the
kernel of the released script, and centred as the name says; of fine-tuned encoders beside the pretrained one and an
untrained one{layers}.

To read off: how far a curve lies above its dotted floor of shuffled pairs, and above the untrained encoder. All but
the debiased one are high for unrelated sentences too."""
LAYERS = "; REF is fine-tuned as it was pretrained, the others with re-initialised blocks"
RUSSIAN = "Section 4.2 prints three values for Russian at layer 5: 0.781 (parsing, POS) and 0.782 (NER)."
COST = """**Table {number} of the paper: what it costs to re-initialise layers** before fine-tuning{shown}. Layers
count from 1. X is the mean over the printed targets but the source."""
FROM_SCRATCH = """ALL is printed of a model trained from scratch: its values stand beside ours from scratch, and
beside ours with pretrained embeddings."""
NOT_BOTH = """Tables 5 and 8 are not of one set of runs: on the same English test set blocks 1-2 cost 3.43 points
in table 5 and 2.64 in table 8."""


def caption(name: str, config: Config) -> str:
    """The caption of an item."""
    paper, number = section(config), name[-1]
    if name in TEXTS:
        parts = [TEXTS[name]]
    elif name.startswith("figure"):
        parts = [CURVES.format(number=number, layers=LAYERS if number in "2678" else "")]
    else:
        shown = ", scores" if name == "table5" else "; REF is the score without, the others are differences to it in points"
        parts = [COST.format(number=number, shown=shown)]
    parts += [RUSSIAN] * (name == "figure1") + [FROM_SCRATCH] * (name == "table5") + [NOT_BOTH] * (name in ("table5", "table8"))
    seeds = ", ".join(map(str, paper.seeds))
    parts.append(f"Encoder: {paper.encoder}, seeds {seeds}. The paper's is mBERT with five seeds. Decisions: docs/muller2021.md.")
    return "\n\n".join(parts)
