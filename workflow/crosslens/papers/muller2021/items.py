"""muller2021: names of what its tables and figures show, and what each is made of.

Muller, Elazar, Sagot and Seddah (2021), First align, then predict.
Layers are blocks, counted from 1; tables 2, 6, 7 and 8 print them from 0 (0-1 is 1-2 here), tables 1 and 5 from 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

TASKS = {"parsing": "Parsing", "pos": "POS", "ner": "NER"}
METRICS = {"parsing": "LAS", "pos": "accuracy", "ner": "F1"}
SOURCES = ("en", "ru", "ar")
LANGUAGES = {
    "en": "ENGLISH", "ar": "ARABIC", "fr": "FRENCH", "de": "GERMAN", "tr": "TURKISH", "id": "INDONESIAN", "ru": "RUSSIAN",
    "pt": "PORTUGUESE", "es": "SPANISH", "fi": "FINNISH", "it": "ITALIAN", "sl": "SLOVENIAN", "cs": "CZECH", "pl": "POLISH",
    "hi": "HINDI", "zh": "CHINESE", "ja": "JAPANESE",
}  # fmt: skip

PAIRS = ("1-2", "3-4", "5-6", "7-8", "9-10", "11-12")
GROUPS = ("1", "2", "1-2", "3-4", "1-3", "4-6", "7-9", "10-12", "1-4", "5-8", "9-12")
REF, ALL, ALL_EMBEDDINGS = "ref", "all", "all_embeddings"
FROM_ZERO = ("table2", "table6", "table7", "table8")
PRINTED_LAYERS = 12  # of the paper's encoder
BY_LANGUAGE = {"parsing": "table6", "pos": "table7", "ner": "table8"}

PRETRAINED, UNTRAINED = "muller2021/pretrained", "muller2021/untrained"
MISC_AS_O = "F1, MISC as O"

NO_PUD = "by SSJ: there is no Slovenian PUD"
NO_TWEETS = "not scored: the tweets have neither an address nor a licence"
MISC = "the source has no MISC: every MISC of the test is a miss"


@dataclass(frozen=True)
class Row:
    """A row of a table: what a source's runs score on a text, or on several in the mean.

    source: of the recipe's name; name: as printed; texts: corpus and language of each; printed: False for lines of ours.
    """

    task: str
    source: str
    name: str
    texts: tuple[tuple[str, str], ...]
    split: str = "test"
    definition: str = ""
    remark: str = ""
    printed: bool = True

    @property
    def mean_over_targets(self) -> bool:
        """Whether this is an X row."""
        return "->X" in self.name


@dataclass(frozen=True)
class Needs:
    """Recipes whose records an item shows, and the measures of them."""

    recipes: tuple[str, ...]
    measures: tuple[str, ...]


def recipe_name(task: str, source: str, layers: str) -> str:
    """Name of a training, which its records carry; layers: ref, all, all_embeddings, or blocks as in 1-2."""
    return f"muller2021/{task}/{source}/{layers if layers == REF else f'init{layers}'}"


def layer_sets(name: str) -> tuple[str, ...]:
    """Columns of a table, by layers."""
    return (REF, ALL, ALL_EMBEDDINGS, *GROUPS) if name == "table5" else (REF, *PAIRS)


def column(name: str, layers: str) -> str:
    """Head of a column, in our numbers of layers: table 5 has scores throughout, the others differences to REF."""
    heads = {REF: "REF", ALL: "ALL", ALL_EMBEDDINGS: "ALL, EMBEDDINGS TOO"}
    return heads.get(layers) or (layers if name == "table5" else f"delta {layers}")


def printed_column(name: str, layers: str) -> str:
    """Head of the same column as printed."""
    if name in FROM_ZERO and layers != REF:
        layers = "-".join(str(int(layer) - 1) for layer in layers.split("-"))
    return column(name, layers)


def text_of(task: str, language: str) -> tuple[str, str]:
    """Corpus and language of the test set behind tables 1 and 6 to 8."""
    if task == "ner":
        return "wikiann", language
    return "muller2021_ud" if language == "sl" else "pud", language


def rows(name: str) -> list[Row]:
    """The rows of a table in the order of print; lines of ours follow the row that they belong to."""
    if name == "table1":
        blocks = product(TASKS, (False, True), SOURCES)
        return [row for task, across, source in blocks for row in _margins(task, source, across)]
    if name == "table2":
        return _domains()
    if name == "table5":
        return [
            Row(task, "en", row, ((own_corpus(task), language),), split=split)
            for task in TASKS
            for row, language, split in (
                ("ENGLISH DEV", "en", "validation"),
                ("ENGLISH TEST", "en", "test"),
                *((LANGUAGES[language], language, "test") for language in ("fr", "de", "tr", "id", "ru", "ar")),
            )
        ]
    task = next(task for task, item in BY_LANGUAGE.items() if item == name)
    return [row for source in SOURCES for row in _by_language(task, source)]


def own_corpus(task: str) -> str:
    """Corpus with the test sets that the languages have of their own."""
    return "wikiann" if task == "ner" else "muller2021_ud"


def _margins(task: str, source: str, across: bool) -> list[Row]:
    head = source.upper()
    if across:
        return [Row(task, source, f"{head}->X", _others(task, source))]
    return _same_language(task, source, f"{head}->{head}")


def _by_language(task: str, source: str) -> list[Row]:
    head = source.upper()
    lines = _same_language(task, source, f"{head}->{LANGUAGES[source]}")
    for language in LANGUAGES:
        if language != source:
            remark = NO_PUD if language == "sl" and task != "ner" else ""
            lines.append(Row(task, source, f"{head}->{LANGUAGES[language]}", (text_of(task, language),), remark=remark))
    return [*lines, Row(task, source, f"{head}->X (MEAN)", _others(task, source))]


def _others(task: str, source: str) -> tuple[tuple[str, str], ...]:
    return tuple(text_of(task, language) for language in LANGUAGES if language != source)


def _same_language(task: str, source: str, name: str) -> list[Row]:
    """The printed row, by PUD as the other languages; and, since PUD is another domain, the source's own test set."""
    lines = [Row(task, source, name, (text_of(task, source),))]
    if task != "ner":
        lines.append(Row(task, source, f"{name} (own test)", ((own_corpus(task), source),), printed=False))
    return lines


def _domains() -> list[Row]:
    lines = []
    for task, french in (("parsing", "EN->FR WIKI"), ("pos", "EN->FR.")):
        texts: dict[str, tuple[tuple[str, str], ...]] = {
            "EN->EN": (("muller2021_partut", "en"),),
            "EN->EN LIT.": (("lines", "en"),),
            "EN->EN WEB": (("muller2021_ud", "en"),),
            "EN->EN UGC": (),
            "EN->FR TRAN.": (("muller2021_partut", "fr"),),
            french: (("muller2021_ud", "fr"),),
        }
        lines += [Row(task, "en_partut", row, text, remark="" if text else NO_TWEETS) for row, text in texts.items()]
    news = (("conll2003", "en"),)
    return [
        *lines,
        Row("ner", "en", "EN->EN", (("wikiann", "en"),)),
        Row("ner", "en", "EN->NEWS", news, remark=MISC),
        Row("ner", "en", "EN->NEWS (MISC as O)", news, definition=MISC_AS_O, printed=False),
        Row("ner", "en", "EN->FR", (("wikiann", "fr"),)),
    ]


def _of_table(name: str) -> Needs:
    sets = layer_sets(name)
    recipes = dict.fromkeys(recipe_name(row.task, row.source, each) for row in rows(name) for each in sets)
    return Needs(tuple(recipes), ("score",))


def _of_english(tasks: Iterable[str], sets: Iterable[str], *measures: str) -> Needs:
    trained = (recipe_name(task, "en", each) for task, each in product(tasks, sets))
    return Needs((PRETRAINED, UNTRAINED, *trained), measures)


# Table 3 is missing: it shows hyperparameters.
NEEDS = {name: _of_table(name) for name in ("table1", "table2", "table5", "table6", "table7", "table8")}
NEEDS["table4"] = NEEDS["figure3"] = _of_english(TASKS, [REF], "score", "cka")
NEEDS["figure1"] = NEEDS["figure5"] = _of_english(TASKS, [REF], "cka")
NEEDS["figure2"] = NEEDS["figure8"] = _of_english(["ner"], [REF, "1-2"], "cka")  # print names no layers; these cost most
NEEDS["figure4"] = _of_english(["ner"], [REF], "cka")
NEEDS["figure6"] = _of_english(["parsing"], [REF, "1-2"], "cka")
NEEDS["figure7"] = _of_english(["pos"], [REF, "1-2"], "cka")
