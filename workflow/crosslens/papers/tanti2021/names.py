"""tanti2021: names in the tables and figures.

Tanti, van der Plas, Borg and Gatt (2021), On the language-specificity of multilingual BERT and the impact of fine-tuning.
Each score is given under the definition of the authors' code (`paper`) and under the usual definitions.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from crosslens.config.labels import NLI, UPOS
from crosslens.numerics import definitions

PAPER = "tanti2021"
# Definitions of the authors' code. UDPOS is scored on words, XNLI on pairs of texts.
PAPER_F1 = "paper: macro F1 (UDPOS: chunks of bare tags; XNLI: with stray classes)"
MICRO_F1 = "paper: micro F1 of chunks of bare tags"
V_PAPER = "paper: V-measure"
IN_RECORDS = {
    definitions.CHUNK_MACRO_F1: PAPER_F1,
    definitions.UNION_F1: PAPER_F1,
    definitions.CHUNK_MICRO_F1: MICRO_F1,
    definitions.V_MEASURE: V_PAPER,
}
"""Definition in the records -> name in the tables, for the paper's own definitions; the others keep their names."""

TASKS = {"pos": "UDPOS", "nli": "XNLI"}
LABELS = {"pos": UPOS, "nli": NLI}
UNITS: dict[str, Literal["word", "text"]] = {"pos": "word", "nli": "text"}  # units that have labels
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
    "several_languages": "Several languages",
    "spelling": "Spelling alone",
}
HYPERPARAMETERS = {
    "init_sd": "Init. standard deviation",
    "batch": "Minibatch size",
    "head_rate": "Classifier learning rate",
    "encoder_rate": "mBERT learning rate",
    "reversal": "Gradient reversal lambda",
    "uniformity": "Entropy max. weighting",
}
"""Hyperparameter -> its name in the paper."""
SEARCHED = {
    "encoder_rate": "encoder_learning_rate",
    "reversal": "grl_lambda",
    "init_sd": "init_stddev",
    "uniformity": "lang_error_weighting",
    "batch": "minibatch_size",
    "head_rate": "postencoder_learning_rate",
}
"""Hyperparameter -> its name in the authors' code, which samples the values of a set in alphabetical order of these names."""
CAPTIONS = {"frozen": "initial", "finetuned": "fine-tuned", "gradient_reversal": "gradient reversal",
            "entropy_maximisation": "entropy maximisation"}  # fmt: skip

# Rows of the tables, and the item of the records that each shows.
SCORE_ROWS = {"Target task": "task", "Lang. ID (Target)": "language, target", "Lang. ID (Wiki)": "language, wiki"}
ADVERSARY_ROWS = {"Adversary (Wiki validation)": "adversary, wiki"}
CLUSTER_ROWS = {"Target labels": "labels", "Language (Target)": "language, target", "Language (Wiki)": "language, wiki"}
PANELS = {"labels": "{} labels", "language, target": "{} languages", "language, wiki": "Wikipedia languages"}
"""Item of the records -> name in the captions of figures 3 to 6; {} stands for the task."""
UNIT_ROWS = {"Lang. ID of words": "language of words, wiki", "Lang. ID of texts": "language of texts, wiki"}  # of units.csv
SPELLING = "spelling"  # a baseline listed among the runs, though it uses no encoder


class TableOf(NamedTuple):
    """Rows and runs of a table, for both tasks; runs that are not printed are controls."""

    rows: dict[str, str]
    runs: tuple[str, ...]
    kinds: tuple[str, ...]  # kinds of measures


TUNED, ADVERSARIAL = ("frozen", "finetuned"), ("gradient_reversal", "entropy_maximisation")
CONTROLLED = (*ADVERSARIAL, "no_adversary", "true_entropy")
TABLES = {
    "table1": TableOf(SCORE_ROWS, (*TUNED, "untrained", "several_languages", SPELLING), ("classification", "probes")),
    "table2": TableOf(SCORE_ROWS | ADVERSARY_ROWS, CONTROLLED, ("classification", "adversary", "probes")),
    "footnote6": TableOf({}, ("finetuned",), ("classification",)),
    "table3": TableOf(CLUSTER_ROWS, (*TUNED, *ADVERSARIAL, "untrained"), ("clusters",)),
}
FIGURES = {
    "figure3": ("pos", TUNED),
    "figure4": ("nli", TUNED),
    "figure5": ("pos", ADVERSARIAL),
    "figure6": ("nli", ADVERSARIAL),
}


def recipe_name(task: str, run: str) -> str:
    """Name of a training run, as in its records."""
    return f"tanti2021/{task}/{run}"


def column(task: str, run: str) -> str:
    """Column head of a training run in the tables, such as UDPOS Fine-T."""
    return f"{TASKS[task]} {RUNS[run]}"


def chance(task: str, definition: str) -> float:
    """Accuracy of guessing in the target task, in percent; 0 for other metrics, under which guessing has no fixed score."""
    return 100 / len(LABELS[task]) if metric(definition) == "accuracy" else 0


def metric(definition: str) -> str:
    """Metric of a definition: macro F1, accuracy, V-measure, ..."""
    kinds: Mapping[str, str] = {
        "macro F1": "macro F1", "micro F1": "micro F1", "accuracy": "accuracy", "V-measure": "V-measure",
        "mutual information": "adjusted mutual information", "cut": "share cut",
    }  # fmt: skip
    return next(name for part, name in kinds.items() if part in definition)
