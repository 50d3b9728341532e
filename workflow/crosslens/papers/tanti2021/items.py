"""tanti2021: names of what its tables and figures show.

Tanti, van der Plas, Borg and Gatt (2021), On the language-specificity of multilingual BERT and the impact of fine-tuning.
Each score stands under the definition of the authors' code (`paper`) and under the usual ones.
"""

from dataclasses import dataclass

from crosslens.labels import NLI, UPOS

# Definitions. UDPOS is scored on words, XNLI on pairs of texts.
PAPER = "paper: macro F1 (UDPOS: chunks of bare tags; XNLI: with stray classes)"
CEILING = "highest macro F1 that stray classes leave"
MACRO_F1 = "macro F1 over true classes"
ACCURACY = "accuracy"
TRANSFER = "accuracy, mean of the other languages"
MICRO_F1 = "paper: micro F1 of chunks of bare tags"
ADVERSARY_START = "accuracy in training, before the encoder moved"
ADVERSARY_END = "accuracy in training, after the last epoch"
ADVERSARY_BEST = "accuracy in training, at its best"
PROBE = "accuracy, converged probe trained on paragraphs"
PROBE_INSIDE = "accuracy, converged probe trained on the same corpus"
PROBE_RANDOM = "accuracy, converged probe trained on random labels"
V_PAPER = "paper: V-measure"
V_CHANCE = "V-measure against shuffled truth"
AMI = "adjusted mutual information"

TASKS = {"pos": "UDPOS", "nli": "XNLI"}
LABELS = {"pos": UPOS, "nli": NLI}
RUNS = {
    "frozen": "Init.",
    "finetuned": "Fine-T.",
    "gradient_reversal": "Grad.",
    "entropy_maximisation": "Ent.",
    "untrained": "Untrained",
    "no_adversary": "No adversary",
    "true_entropy": "True entropy",
    "frozen_dropout": "Init., encoder dropout",
    "finetuned_dropout": "Fine-T., encoder dropout",
    "spelling": "Spelling alone",
}
CAPTIONS = {"frozen": "initial", "finetuned": "fine-tuned", "gradient_reversal": "gradient reversal",
            "entropy_maximisation": "entropy maximisation"}  # fmt: skip

# Rows of the tables, and the item of the records that each shows.
SCORE_ROWS = {"Target task": "task", "Lang. ID (Target)": "language, target", "Lang. ID (Wiki)": "language, wiki"}
ADVERSARY = "adversary, wiki"
ADVERSARY_ROWS = {"Adversary (Wiki validation)": ADVERSARY}
CLUSTER_ROWS = {"Target labels": "labels", "Language (Target)": "language, target", "Language (Wiki)": "language, wiki"}


@dataclass(frozen=True)
class TableOf:
    """Which rows and runs a table shows, for both tasks; runs beyond the printed ones are controls."""

    rows: dict[str, str]
    runs: tuple[str, ...]
    measures: dict[str, str]  # measure of the records -> kind of the files that hold them


TABLES = {
    "table1": TableOf(SCORE_ROWS, ("frozen", "finetuned", "untrained", "spelling"), {"score": "predictions", "probe": "probes"}),
    "table2": TableOf(
        SCORE_ROWS | ADVERSARY_ROWS,
        ("gradient_reversal", "entropy_maximisation", "no_adversary", "true_entropy"),
        {"score": "predictions", "probe": "probes", "adversary": "predictions"},
    ),
    "footnote6": TableOf({}, ("finetuned",), {"score": "predictions"}),
    "table3": TableOf(
        CLUSTER_ROWS, ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained"), {"clusters": "clusters"}
    ),
}
FIGURES = {
    "figure3": ("pos", ("frozen", "finetuned")),
    "figure4": ("nli", ("frozen", "finetuned")),
    "figure5": ("pos", ("gradient_reversal", "entropy_maximisation")),
    "figure6": ("nli", ("gradient_reversal", "entropy_maximisation")),
}


def recipe_name(task: str, run: str) -> str:
    """Name of a training, which its records carry."""
    return f"tanti2021/{task}/{run}"


def column(task: str, run: str) -> str:
    """A training as the paper's tables head it: UDPOS Fine-T."""
    return f"{TASKS[task]} {RUNS[run]}"
