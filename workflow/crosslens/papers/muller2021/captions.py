"""muller2021: captions for the report."""

from crosslens.config.whole import Config
from crosslens.papers.muller2021.config import section

TEXTS = {
    "table3": "**Table 3 of the paper: hyperparameters.**",
    "table3_search": "**Table 3 of the paper: hyperparameters**, by grid search on the source's validation set.",
    "table4": """**Table 4 of the paper: Spearman correlation of similarity and transfer** over languages, under
each definition of CKA, with both signs, with and without English itself. The printed values are shown next to each
definition that they may be based on.""",
    "figure3": """**Figure 3 of the paper: is similarity correlated with transfer, layer by layer?** Spearman
correlation, over target languages excluding English, of CKA with English and the score after fine-tuning on English.
The correlation of CKA with the gap to English is the same with the opposite sign.""",
}
CURVES = """**Figure {number} of the paper: similarity by layer.** CKA of English sentences and their translations
under four definitions: debiased (ours), and three that the published curves may be based on: the printed formula, the
kernel of the released script, and the centred definition that the name implies. Curves are shown for fine-tuned
encoders, the pretrained one and an untrained one{layers}.

How to read it: compare each curve with its dotted floor of shuffled pairs, and with the untrained encoder. All
definitions except the debiased one are high for unrelated sentences too."""
LAYERS = "; REF is fine-tuned from the pretrained weights, the others with re-initialised blocks"
RUSSIAN = "Section 4.2 prints three values for Russian at layer 5: 0.781 (parsing, POS) and 0.782 (NER)."
COST = """**Table {number} of the paper: the cost of re-initialising layers** before fine-tuning{shown}. Layers
are numbered from 1. X is the mean over the printed targets, excluding the source."""
FROM_SCRATCH = """The printed ALL is from a model trained from scratch: its values are shown next to ours from scratch,
and next to ours with pretrained embeddings."""
NOT_BOTH = """Tables 5 and 8 do not come from the same set of runs: on the same English test set, re-initialising
blocks 1-2 costs 3.43 points in table 5 and 2.64 in table 8."""


def caption(name: str, config: Config) -> str:
    """The caption of an item."""
    paper, number = section(config), name[-1]
    if name in TEXTS:
        parts = [TEXTS[name]]
    elif name.startswith("figure"):
        parts = [CURVES.format(number=number, layers=LAYERS if number in "2678" else "")]
    else:
        shown = ": scores" if name == "table5" else ": REF is the score without it, the others are differences to REF in points"
        parts = [COST.format(number=number, shown=shown)]
    parts += [RUSSIAN] * (name == "figure1") + [FROM_SCRATCH] * (name == "table5") + [NOT_BOTH] * (name in ("table5", "table8"))
    seeds = ", ".join(map(str, paper.seeds))
    parts.append(
        f"Encoder: {paper.encoder}, seeds {seeds}. The paper uses mBERT with five seeds. Our choices: docs/muller2021.md."
    )
    return "\n\n".join(parts)
