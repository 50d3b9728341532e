"""tanti2021: names of what its tables and figures show, POS half.

Tanti, van der Plas, Borg and Gatt (2021), On the language-specificity of multilingual BERT and the impact of fine-tuning.
Each score stands under the definition of the authors' code (`paper`) and under the usual ones.
"""

from dataclasses import dataclass

PAPER = "paper: macro F1 of chunks of bare tags"
TOKEN_F1 = "macro F1 of tokens"
ACCURACY = "accuracy of tokens"
TRANSFER = "accuracy of tokens, mean of the other languages"
PROBE = "accuracy, converged probe trained on paragraphs"
PROBE_INSIDE = "accuracy, converged probe trained on the same corpus"
PROBE_RANDOM = "accuracy, converged probe trained on random labels"
V_PAPER = "paper: V-measure"
V_CHANCE = "V-measure against shuffled truth"
AMI = "adjusted mutual information"

# Rows of the tables, and the item of the records that each shows.
SCORE_ROWS = {"Target task": "task", "Lang. ID (Target)": "language, target", "Lang. ID (Wiki)": "language, wiki"}
CLUSTER_ROWS = {"Target labels": "labels", "Language (Target)": "language, target", "Language (Wiki)": "language, wiki"}
COLUMNS = {
    "frozen": "UDPOS Init.",
    "finetuned": "UDPOS Fine-T.",
    "gradient_reversal": "UDPOS Grad.",
    "entropy_maximisation": "UDPOS Ent.",
    "untrained": "UDPOS Untrained",
    "spelling": "Spelling alone",
}
CAPTIONS = {"frozen": "initial", "finetuned": "fine-tuned", "gradient_reversal": "gradient reversal",
            "entropy_maximisation": "entropy maximisation"}  # fmt: skip


@dataclass(frozen=True)
class TableOf:
    """Which rows and runs a table shows; runs beyond the printed ones are controls."""

    rows: dict[str, str]
    runs: tuple[str, ...]
    measures: dict[str, str]  # measure of the records -> kind of the files that hold them


TABLES = {
    "table1": TableOf(SCORE_ROWS, ("frozen", "finetuned", "untrained", "spelling"), {"score": "predictions", "probe": "probes"}),
    "table2": TableOf(SCORE_ROWS, ("gradient_reversal", "entropy_maximisation"), {"score": "predictions", "probe": "probes"}),
    "table3": TableOf(
        CLUSTER_ROWS, ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained"), {"clusters": "clusters"}
    ),
}
FIGURES = {"figure3": ("frozen", "finetuned"), "figure5": ("gradient_reversal", "entropy_maximisation")}
