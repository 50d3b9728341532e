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
"""Key of a model -> its row in print."""
OURS = {
    NO_DROPOUT: "mBERT, no dropout",
    "ldar_released": "L-DAR, released anchor",
    "matched_1-4": "L-DAR Δ_{1-4}, matched",
    "matched_5-8": "L-DAR Δ_{5-8}, matched",
    "matched_9-12": "L-DAR Δ_{9-12}, matched",
}
"""Key of a model that is not printed -> its row; others have their keys as rows."""
DEFINITIONS = {"pos": (CHUNK_MICRO_F1, ACCURACY), "ner": (F1_BY_WINDOW, F1_STRICT)}
"""Task -> definitions of its scores. The first is the printed one: seqeval's f1_score in each window, of bare tags too
(run_tag_LDAR.py, lines 390-392)."""
BY_LANGUAGE = {"table2": ("pos", 0), "table3": ("pos", 1), "table4": ("ner", 0), "table5": ("ner", 1)}
"""Table -> task, and whether its training texts are mixed."""
SOURCES = ("Single-Src.", "Multi-Src.")
MEANS = ("Train", "Zero-S.", "All")


@dataclass(frozen=True)
class Study:
    """The configured training runs and test sets."""

    tasks: Mapping[str, str]  # task -> corpus
    languages: Mapping[str, Sequence[str]]  # corpus -> languages of its test sets
    sources: Sequence[Sequence[str]]  # English alone, then mixed ones
    models: Mapping[str, bool]  # key -> whether it shows a group of layers
    penalties: Mapping[str, Mapping[str, Any]]  # key, of models that have one -> its weight, layers and anchor

    def recipe(self, task: str, mixed: int, model: str) -> str:
        """Name of a training run."""
        return recipe_name(task, self.sources[mixed], model)

    def shown(self, table: str) -> list[str]:
        """Models of a table, in their order: groups of layers in table 6 alone."""
        return [model for model, group in self.models.items() if table == "table6" or not group]

    def combinations(self, table: str) -> list[tuple[str, int]]:
        """Tasks and sources of a table, as far as they are configured."""
        printed = [BY_LANGUAGE[table]] if table in BY_LANGUAGE else [*BY_LANGUAGE.values()]
        return [(task, mixed) for task, mixed in printed if task in self.tasks and mixed < len(self.sources)]

    def groups(self, task: str, mixed: int) -> dict[str, list[str]]:
        """Languages of the means: the sources, the others, all."""
        languages, sources = self.languages[self.tasks[task]], self.sources[mixed]
        train = [language for language in sources if language in languages]
        return dict(zip(MEANS, (train, [language for language in languages if language not in train], [*languages]), strict=True))


def recipe_name(task: str, sources: Sequence[str], model: str) -> str:
    """Name of a training run: liang2021/pos/en/ldar."""
    return f"{PAPER}/{task}/{'_'.join(sources)}/{model}"


def untrained(encoder: str) -> str:
    """Recipe of an encoder with random weights."""
    return f"{PAPER}/untrained/{encoder}"


def pretrained(encoder: str) -> str:
    """Recipe of an encoder as it was pretrained."""
    return f"{PAPER}/pretrained/{encoder}"


def subwords(encoder: str) -> str:
    """Name of the draws of subwords that an encoder's states are stored of."""
    return f"{PAPER}/subwords/{encoder}"


def part_name(first: int, random: bool) -> str:
    """Name of a head or training that reads states without their first directions: without100, without100_random."""
    return f"without{first}{'_random' if random else ''}"


def row_name(model: str) -> str:
    """Row of a model."""
    return (PRINTED | OURS).get(model, model)
