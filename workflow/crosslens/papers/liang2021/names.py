"""liang2021: names in the tables, and the rows and columns of each.

Liang, Dufter and Schütze (2021), Locating language-specific information in contextualized embeddings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosslens.numerics.definitions import ACCURACY, CHUNK_MICRO_F1, F1_BY_WINDOW, F1_STRICT

PAPER = "liang2021"
BASELINE, LDAR, NO_DROPOUT = "mbert", "ldar", "no_dropout"
RANDOM_GROUPS = "random languages"
METHODS = {"densray": "DensRay", "means": "means", "lda": "LDA", "leace": "LEACE", "lsar": "LSAR", "inlp": "INLP"}

TASKS = {"pos": "PoS", "ner": "NER"}
PRINTED = {
    BASELINE: "mBERT",
    LDAR: "L-DAR",
    "ldar_1-4": "L-DAR Δ_{1-4}",
    "ldar_5-8": "L-DAR Δ_{5-8}",
    "ldar_9-12": "L-DAR Δ_{9-12}",
}
"""Key of a model -> its row in the paper's tables."""
OURS = {
    NO_DROPOUT: "mBERT, no dropout",
    "ldar_released": "L-DAR, released anchor",
    "matched_1-4": "L-DAR Δ_{1-4}, matched",
    "matched_5-8": "L-DAR Δ_{5-8}, matched",
    "matched_9-12": "L-DAR Δ_{9-12}, matched",
}
"""Key of a model that the paper does not have -> its row. Rows of further models are named by their keys."""
DEFINITIONS = {"pos": (CHUNK_MICRO_F1, ACCURACY), "ner": (F1_BY_WINDOW, F1_STRICT)}
"""Task -> definitions of its scores. The first is the paper's: seqeval's f1_score in each window, even for PoS tags, which have
no IOB prefixes (run_tag_LDAR.py, lines 390-392)."""
BY_LANGUAGE = {"table2": ("pos", 0), "table3": ("pos", 1), "table4": ("ner", 0), "table5": ("ner", 1)}
"""Table -> task, and index of its training languages in Study.sources: 0 for English, 1 for the mixed set."""
SOURCES = ("Single-Src.", "Multi-Src.")
MEANS = ("Train", "Zero-S.", "All")


@dataclass(frozen=True)
class Study:
    """The configured training runs and test sets."""

    tasks: Mapping[str, str]  # task -> corpus
    languages: Mapping[str, Sequence[str]]  # corpus -> languages of its test sets
    sources: Sequence[Sequence[str]]  # English, then a mixed set if one is configured
    models: Mapping[str, bool]  # key -> whether only a group of layers is penalised
    penalties: Mapping[str, Mapping[str, Any]]  # key of a model with a penalty -> weight, layers and anchor

    def recipe(self, task: str, mixed: int, model: str) -> str:
        """Name of a model's recipe. mixed: index of its training languages in `sources`."""
        return recipe_name(task, self.sources[mixed], model)

    def shown(self, table: str) -> list[str]:
        """Models of a table, in configured order; those with a penalty on a group of layers are only in table 6."""
        return [model for model, group in self.models.items() if table == "table6" or not group]

    def combinations(self, table: str) -> list[tuple[str, int]]:
        """(task, index of the training languages in `sources`) of a table, as far as both are configured."""
        printed = [BY_LANGUAGE[table]] if table in BY_LANGUAGE else [*BY_LANGUAGE.values()]
        return [(task, mixed) for task, mixed in printed if task in self.tasks and mixed < len(self.sources)]

    def groups(self, task: str, mixed: int) -> dict[str, list[str]]:
        """Name of a mean -> languages that it covers: the training languages, the others, all."""
        languages, sources = self.languages[self.tasks[task]], self.sources[mixed]
        train = [language for language in sources if language in languages]
        return dict(zip(MEANS, (train, [language for language in languages if language not in train], [*languages]), strict=True))


def recipe_name(task: str, sources: Sequence[str], model: str) -> str:
    """Name of a recipe, such as liang2021/pos/en/ldar."""
    return f"{PAPER}/{task}/{'_'.join(sources)}/{model}"


def untrained(encoder: str) -> str:
    """Name of the recipe of an encoder with random weights."""
    return f"{PAPER}/untrained/{encoder}"


def pretrained(encoder: str) -> str:
    """Name of the recipe of an encoder as it was pretrained."""
    return f"{PAPER}/pretrained/{encoder}"


def subwords(encoder: str) -> str:
    """Name of the samples of subwords whose hidden states are stored for an encoder."""
    return f"{PAPER}/subwords/{encoder}"


def part_name(first: int, random: bool) -> str:
    """Name of a head or training run on states without their first directions: without100, without100_random.

    first: number of removed directions; random: whether they are random.
    """
    return f"without{first}{'_random' if random else ''}"


def row_name(model: str) -> str:
    """Name of a model's row in the tables."""
    return (PRINTED | OURS).get(model, model)
