"""muller2021: names in the tables and figures, their columns and their recipes.

Muller, Elazar, Sagot and Seddah (2021), First align, then predict.
Layers are counted from 1 here and in tables 1 and 5 of the paper. Tables 2, 6, 7 and 8 count from 0: their 0-1 is 1-2 here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

TASKS = {"parsing": "Parsing", "pos": "POS", "ner": "NER"}
METRICS = {"parsing": "LAS", "pos": "accuracy", "ner": "F1"}
LANGUAGES = {
    "en": "ENGLISH", "ar": "ARABIC", "fr": "FRENCH", "de": "GERMAN", "tr": "TURKISH", "id": "INDONESIAN", "ru": "RUSSIAN",
    "pt": "PORTUGUESE", "es": "SPANISH", "fi": "FINNISH", "it": "ITALIAN", "sl": "SLOVENIAN", "cs": "CZECH", "pl": "POLISH",
    "hi": "HINDI", "zh": "CHINESE", "ja": "JAPANESE",
}  # fmt: skip

PAIRS = ("1-2", "3-4", "5-6", "7-8", "9-10", "11-12")
GROUPS = ("1", "2", "1-2", "3-4", "1-3", "4-6", "7-9", "10-12", "1-4", "5-8", "9-12")
REF, ALL, ALL_EMBEDDINGS = "ref", "all", "all_embeddings"
# The caption of table 5 says that ALL is trained from scratch. A related paper's code has a switch for this that loads no
# weights, not even the embeddings (mbert-unseen-languages, model/architecture/modeling_multitask.py, lines 600-603).
HEADS = {REF: "REF", ALL_EMBEDDINGS: "ALL, from scratch", ALL: "ALL, pretrained embeddings"}
FROM_ZERO = ("table2", "table6", "table7", "table8")
PRINTED_LAYERS = 12  # of the paper's encoder
BY_LANGUAGE = {"parsing": "table6", "pos": "table7", "ner": "table8"}

ITEMS = tuple(f"table{number}" for number in (1, 2, 4, 5, 6, 7, 8)) + tuple(f"figure{number}" for number in range(1, 9))
SPLIT = ITEMS[-6:]  # figures 3 to 8, whose panels for further definitions are in an appendix


class Compared(NamedTuple):
    """Encoders whose hidden states a table or figure compares.

    targets: languages compared with English; empty if the similarities of all languages are correlated with scores.
    tasks: tasks of the fine-tuned encoders.
    edited: whether to show also encoders with layers 1-2 re-initialised. The paper does not say which layers its figures show;
        re-initialising these costs most.
    """

    targets: Sequence[str]
    tasks: Sequence[str]
    edited: bool = False


TARGETS = ("fr", "de", "tr", "id", "ar")
COMPARED = {
    "table4": Compared((), tuple(TASKS)),
    "figure1": Compared(("ru",), tuple(TASKS)),
    "figure2": Compared(("ru",), ("ner",), edited=True),
    "figure3": Compared((), tuple(TASKS)),
    "figure4": Compared(TARGETS, ("ner",)),
    "figure5": Compared(TARGETS, tuple(TASKS)),
    "figure6": Compared((*TARGETS, "ru"), ("parsing",), edited=True),
    "figure7": Compared((*TARGETS, "ru"), ("pos",), edited=True),
    "figure8": Compared((*TARGETS, "ru"), ("ner",), edited=True),
}

DOMAIN = "_domain"  # suffix of a source language: trained on the corpus of table 2
PRETRAINED, UNTRAINED = "muller2021/pretrained", "muller2021/untrained"


@dataclass(frozen=True)
class Study:
    """The configured sources, corpora of the test sets and their languages."""

    sources: Sequence[str]
    own: Mapping[str, str]  # task -> corpus that it is trained on, which also has test sets
    parallel: str  # corpus of parallel treebanks
    domains: Mapping[str, str]  # domain (trained, literature, web or entities) -> corpus of table 2
    languages: Mapping[str, Sequence[str]]  # corpus -> its languages
    names: Mapping[str, str]  # language -> name
    families: Mapping[str, str]  # language -> family
    with_subtypes: str  # definition of the LAS for relations with subtypes

    @property
    def tasks(self) -> list[str]:
        """Configured tasks, in the order of print."""
        return [task for task in TASKS if task in self.own]

    def name(self, language: str) -> str:
        """Name of a language in the tables, as printed if the paper prints it."""
        return LANGUAGES.get(language) or self.names[language].upper()

    def targets(self, task: str) -> list[str]:
        """Languages of tables 1 and 6 to 8: the printed ones in their order, then the other languages of the test corpora."""
        corpora = [self.own[task], *([] if task == "ner" else [self.parallel])]
        configured = dict.fromkeys(language for corpus in corpora for language in self.languages[corpus])
        return [*LANGUAGES, *(language for language in configured if language not in LANGUAGES)]

    def text(self, task: str, language: str) -> tuple[str, str]:
        """Corpus and language of a test set, tables 1 and 6 to 8: the parallel treebank or, without one, the task's corpus."""
        own_corpus = self.own[task]
        parallel = task != "ner" and (language in self.languages[self.parallel] or language not in self.languages[own_corpus])
        return self.parallel if parallel else own_corpus, language

    def domain(self, domain: str, language: str) -> tuple[tuple[str, str], ...]:
        """The (corpus, language) of a domain in table 2, in a tuple; empty if the domain is not configured."""
        return ((self.domains[domain], language),) if domain in self.domains else ()

    def apart(self, task: str, languages: Iterable[str]) -> str:
        """Remark on languages scored on the task's own corpus because the parallel treebanks lack them; "" without any."""
        names = [
            self.name(language).capitalize()
            for language in languages
            if task != "ner" and self.text(task, language)[0] != self.parallel
        ]
        return f"{', '.join(names)} on {self.own[task]}: not in {self.parallel}" if names else ""


def recipe_name(task: str, source: str, layers: str) -> str:
    """Name of a training run, as in its records. layers: ref, all, all_embeddings, or a set of layers such as 1-2."""
    return f"muller2021/{task}/{source}/{layers if layers == REF else f'init{layers}'}"


def layer_sets(name: str) -> tuple[str, ...]:
    """Sets of re-initialised layers that form the columns of a table."""
    return (*HEADS, *GROUPS) if name == "table5" else (REF, *PAIRS)


def column(name: str, layers: str) -> str:
    """Head of a column, with layers counted from 1. Table 5 shows only scores, the other tables differences from REF."""
    return HEADS.get(layers) or (layers if name == "table5" else f"delta {layers}")


def printed_column(name: str, layers: str) -> str:
    """Head of a column as the paper prints it."""
    if layers in HEADS:
        return HEADS[layers].partition(",")[0]  # the paper prints one column ALL for both
    if name in FROM_ZERO:
        layers = "-".join(str(int(layer) - 1) for layer in layers.split("-"))
    return column(name, layers)


def item_recipes(item: str, sources: Sequence[str], further: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the recipes of a table or figure in ITEMS (which lacks table 3, the hyperparameters).

    sources: source languages.
    further: sets of re-initialised layers, such as 1-4, in addition to the printed ones.
    """
    if item in COMPARED:
        _, tasks, edited = COMPARED[item]
        training_runs = product(tasks, ["en"], dict.fromkeys([REF, "1-2", *further]) if edited else [REF])
        return (PRETRAINED, UNTRAINED, *(recipe_name(*names) for names in training_runs))
    if item == "table2":
        tasks_and_sources = [("parsing", f"en{DOMAIN}"), ("pos", f"en{DOMAIN}"), ("ner", "en")]
    else:
        tasks = [task for task in TASKS if item in ("table1", "table5", BY_LANGUAGE[task])]
        tasks_and_sources = [*product(tasks, ["en"] if item == "table5" else sources)]
    sets = dict.fromkeys([*layer_sets(item), *further])
    return tuple(recipe_name(*names, layers) for names in tasks_and_sources for layers in sets)
