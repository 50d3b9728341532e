"""muller2021: captions of pages and the report, below an item's title. Names in tables are explained in resources/terms.yaml."""

from collections.abc import Iterable

from crosslens.papers.muller2021.layout import COMPARED
from crosslens.papers.wording import interval

TEXTS = {
    "table3": "Of the trainings on English without re-initialised layers, beside the printed ones.",
    "table3_search": "In percent, on the validation set of the training data's own language.",
    "table4": """Spearman correlation over languages, under each definition of CKA, with both signs, with and without English
itself. The printed values are shown next to each definition that they may be based on. Below a correlation: its 95 % bootstrap
interval over languages, and n, the number of languages.""",
    "figure3": """Spearman correlation, over target languages excluding English, of CKA with English and the score after
fine-tuning on English. The correlation of CKA with the gap to English is the same with the opposite sign.""",
}
CURVES = """CKA of English sentences and their translations under four definitions: debiased (ours), and three that the published
curves may be based on: the printed formula, the kernel of the released script, and the centred definition that the name implies.
Curves are shown for fine-tuned encoders, the pretrained one and an untrained one{edited}.

How to read it: compare each curve with its dotted floor of shuffled pairs, and with the untrained encoder. All definitions except
the debiased one are high for unrelated sentences too."""
EDITED = "; REF is fine-tuned from the pretrained weights, the others with re-initialised blocks"
COST = """In percent{shown}. Layers are numbered from 1. X is the mean over the printed targets, excluding the source. Below a
value: its 95 % interval, {interval}; and n, the number of units (words or spans) on which it is
based."""
REMARKS = {
    "figure1": "Section 4.2 prints three values for Russian at layer 5: 0.781 (parsing, POS) and 0.782 (NER).",
    "table5": """The printed ALL is from a model trained from scratch: its values are shown next to ours from scratch, and next to
ours with pretrained embeddings. """,
}
NOT_BOTH = """Tables 5 and 8 do not come from the same set of runs: on the same English test set, re-initialising blocks 1-2 costs
3.43 points in table 5 and 2.64 in table 8."""


def caption(name: str, seeds: Iterable[int]) -> str:
    """The caption of an item. seeds: numbers of seeds that its values rest on."""
    if name in TEXTS:
        text = TEXTS[name]
    elif name in COMPARED:
        text = CURVES.format(edited=EDITED if COMPARED[name].edited else "")
    else:
        shown = "" if name == "table5" else "; beside REF, the differences to it in points"
        text = COST.format(shown=shown, interval=interval(seeds))
    remark = REMARKS.get(name, "") + NOT_BOTH * (name in ("table5", "table8"))
    return "\n\n".join(filter(None, [text, remark, "Our choices: docs/muller2021.md."]))
