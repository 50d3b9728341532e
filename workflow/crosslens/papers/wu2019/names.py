"""wu2019: names of the recipes, and the rows and columns of the tables and figures.

Wu and Dredze (2019), Beto, Bentz, Becas. Layers count from 1. Freezing 0 freezes only the embeddings; freezing n
also freezes the lowest n layers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crosslens.numerics.definitions import ACCURACY, F1, LAS_WITHOUT_PUNCTUATION

PAPER = "wu2019"
TASKS = {"topic": "Document classification", "nli": "Natural language inference", "ner": "Named entities", "pos": "POS tagging",
         "parsing": "Dependency parsing"}  # fmt: skip
CORPORA = {"topic": "MLDoc", "nli": "XNLI and XNLI-MT", "ner": "CoNLL-2002, CoNLL-2003 and MSRA",
           "pos": "Universal Dependencies 1.4", "parsing": "Universal Dependencies 2.2"}  # fmt: skip
"""Task -> the paper's corpora, as it calls them."""
METRICS = {"topic": "accuracy", "nli": "accuracy", "ner": "F1", "pos": "accuracy", "parsing": "LAS"}
"""Task -> metric of figures 1 and 3, as printed."""
DEFINITIONS = {"topic": ACCURACY, "nli": ACCURACY, "ner": F1, "pos": ACCURACY, "parsing": LAS_WITHOUT_PUNCTUATION}
"""Task -> definition of that metric here."""
TABLES = {"topic": "table2", "nli": "table3", "ner": "table4", "pos": "table5", "parsing": "table6"}
CELLS = {"topic": "figure1a", "nli": "figure1b", "ner": "figure1c", "pos": "figure1d", "parsing": "figure1e"}
"""Task -> item of the published values with its panel of figure 1."""


class Variant(NamedTuple):
    """A way to train a task.

    name: last part of the recipe's name.
    row: its row in figure 1 as printed; "" if figure 1 does not show it.
    frozen: number of frozen bottom layers; None means that the embeddings are trained too.
    """

    name: str
    row: str = ""
    frozen: int | None = None


FULL, FEATURES = Variant("full"), Variant("features", "Feat")
"""Fine-tuning of the whole encoder; the feature-based model."""
TAGS, RELEASED_ROOT = Variant("pos"), Variant("released_root")
"""The parser with gold UPOS as input; the parser with the root as released."""
IDENTIFICATION, UNTRAINED = "wu2019/language/pretrained", "wu2019/language/untrained"


def freeze(number: int) -> Variant:
    """The variant with this number of frozen bottom layers."""
    return Variant(f"freeze{number}", f"Lay {number}", number)


PRINTED = (FEATURES, *map(freeze, (0, 3, 6, 9)))
"""Variants of figure 1 in print."""


def recipe_name(task: str, language: str, variant: Variant = FULL) -> str:
    """Name of a training run, such as wu2019/ner/en/freeze3."""
    return f"wu2019/{task}/{language}/{variant.name}"


@dataclass(frozen=True)
class Study:
    """The configured training runs and test sets.

    tests, trains: task -> language -> corpus of its test set or of its training data.
    frozen: numbers of frozen layers.
    features, released_root: whether the variants FEATURES and RELEASED_ROOT are configured.
    names: language -> name.
    substitutes: task -> names of its corpora, if they are not the paper's.
    chance: task -> score of guessing, in percent, for tasks with about equally frequent classes.
    """

    source: str
    tests: Mapping[str, Mapping[str, str]]
    trains: Mapping[str, Mapping[str, str]]
    frozen: Sequence[int]
    features: bool
    released_root: bool
    names: Mapping[str, str]
    substitutes: Mapping[str, Sequence[str]]
    chance: Mapping[str, float] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """Configured tasks, in the order of print."""
        return [task for task in TASKS if task in self.tests]

    @property
    def variants(self) -> list[Variant]:
        """Variants of figure 1, in the order of print, without full fine-tuning."""
        return [*([FEATURES] if self.features else []), *map(freeze, self.frozen)]

    def instead(self, task: str) -> str:
        """A clause on a task's corpora, such as `SIB-200 instead of MLDoc`; "" if they are the paper's."""
        names = self.substitutes.get(task)
        return f"{' and '.join(names)} instead of {CORPORA[task]}" if names else ""

    @property
    def note(self) -> str:
        """A sentence on all corpora that are not the paper's; "" if there are none."""
        clauses = [f"{TASKS[task]}: {self.instead(task)}" for task in self.tasks if task in self.substitutes]
        return f"Other corpora than the paper's. {'; '.join(clauses)}." if clauses else ""

    def zero_shot(self, task: str, variant: Variant = FULL) -> str:
        """Name of the recipe for transfer from the source language."""
        return recipe_name(task, self.source, variant)

    def in_language(self, task: str) -> dict[str, str]:
        """Language, including the source -> name of the recipe trained in it; for nli the training data are translated."""
        return {language: recipe_name(task, language) for language in self.trains[task] if language in self.tests[task]}
