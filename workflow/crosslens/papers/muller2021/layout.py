"""muller2021: names in the tables and figures, and the rows and columns of each.

Muller, Elazar, Sagot and Seddah (2021), First align, then predict.
Layers are blocks, counted from 1; tables 2, 6, 7 and 8 print them from 0 (0-1 is 1-2 here), tables 1 and 5 from 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from crosslens.numerics.definitions import F1_MISC_AS_O

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
# The caption of table 5 says that ALL is trained from scratch, and the sibling code's switch for it loads nothing, the
# embeddings included (mbert-unseen-languages, model/architecture/modeling_multitask.py, lines 600-603).
HEADS = {REF: "REF", ALL_EMBEDDINGS: "ALL, from scratch", ALL: "ALL, pretrained embeddings"}
FROM_ZERO = ("table2", "table6", "table7", "table8")
PRINTED_LAYERS = 12  # of the paper's encoder
BY_LANGUAGE = {"parsing": "table6", "pos": "table7", "ner": "table8"}

ITEMS = tuple(f"table{number}" for number in (1, 2, 4, 5, 6, 7, 8)) + tuple(f"figure{number}" for number in range(1, 9))


class Compared(NamedTuple):
    """Encoders whose states an item compares.

    targets: languages compared with English; none where similarities of all languages are correlated with scores. tasks: of the
    fine-tuned encoders. edited: whether encoders with re-initialised blocks 1-2 are shown too: the paper names no layers, and
    these cost most.
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

PRETRAINED, UNTRAINED = "muller2021/pretrained", "muller2021/untrained"
DOMAIN = "_domain"  # after the source's code: trained on the corpus of table 2
DOMAINS = {"trained": " TRAN.", "literature": " LIT.", "web": ""}  # ends of names; not all treebanks beside the web's are of it

NO_TWEETS = "not scored: the tweets have neither a download address nor a licence"
WHICH_TEST = "the paper does not say whether it is the source's own test set or PUD"
MISC = "the source has no MISC, so every MISC in the test set is a miss"
MISC_AS_UNKNOWN = "in the sibling code tags unseen in training share one unknown label: the published value may be closer to this"


@dataclass(frozen=True)
class Study:
    """The configured sources, corpora of the test sets and their languages."""

    sources: Sequence[str]
    own: Mapping[str, str]  # task -> corpus that it is trained on, with test sets of the languages' own
    parallel: str  # corpus of parallel treebanks
    domains: Mapping[str, str]  # trained, literature, web, entities -> corpus of table 2, as far as configured
    languages: Mapping[str, Sequence[str]]  # corpus -> its languages
    names: Mapping[str, str]  # language -> name
    with_subtypes: str  # definition under which relations with subtypes are scored

    @property
    def tasks(self) -> list[str]:
        """Configured tasks, in the order of print."""
        return [task for task in TASKS if task in self.own]

    def name(self, language: str) -> str:
        """Name of a language in the tables, as printed if the paper prints it."""
        return LANGUAGES.get(language) or self.names[language].upper()

    def targets(self, task: str) -> list[str]:
        """Languages with a test set in tables 1 and 6 to 8: the printed ones in their order, then the others."""
        corpora = [self.own[task], *([] if task == "ner" else [self.parallel])]
        configured = dict.fromkeys(language for corpus in corpora for language in self.languages[corpus])
        return [*LANGUAGES, *(language for language in configured if language not in LANGUAGES)]

    def text(self, task: str, language: str) -> tuple[str, str]:
        """Corpus and language of the test set in tables 1 and 6 to 8: the parallel treebank, or the only one there is."""
        own_corpus = self.own[task]
        parallel = task != "ner" and (language in self.languages[self.parallel] or language not in self.languages[own_corpus])
        return self.parallel if parallel else own_corpus, language

    def domain(self, domain: str, language: str) -> tuple[tuple[str, str], ...]:
        """The text of a domain of table 2; none where it is not configured."""
        return ((self.domains[domain], language),) if domain in self.domains else ()

    def apart(self, task: str, languages: Iterable[str]) -> str:
        """Remark that names the languages scored on their own test sets, while others are scored on parallel ones."""
        names = [
            self.name(language).capitalize()
            for language in languages
            if task != "ner" and self.text(task, language)[0] != self.parallel
        ]
        return f"{', '.join(names)} on {self.own[task]}: not in {self.parallel}" if names else ""


@dataclass(frozen=True)
class Row:
    """A row of a table: scores of a source's trainings on one text, or the mean over several.

    source: part of the recipe's name; name: here; printed: its name in print, empty for rows of ours; texts: corpus and language
    of each.
    """

    task: str
    source: str
    name: str
    texts: tuple[tuple[str, str], ...]
    printed: str = ""
    split: str = "test"
    definition: str = ""
    remark: str = ""
    mean_over_targets: bool = False  # an X row


def recipe_name(task: str, source: str, layers: str) -> str:
    """Name of a training, which stands in its records. layers: ref, all, all_embeddings, or blocks as in 1-2."""
    return f"muller2021/{task}/{source}/{layers if layers == REF else f'init{layers}'}"


def layer_sets(name: str) -> tuple[str, ...]:
    """Sets of re-initialised blocks that are the columns of a table."""
    return (*HEADS, *GROUPS) if name == "table5" else (REF, *PAIRS)


def column(name: str, layers: str) -> str:
    """Head of a column, with blocks counted from 1: table 5 has scores throughout, the others differences to REF."""
    return HEADS.get(layers) or (layers if name == "table5" else f"delta {layers}")


def printed_column(name: str, layers: str) -> str:
    """Head of the same column as printed."""
    if layers in HEADS:
        return HEADS[layers].partition(",")[0]  # the paper prints one column ALL for both
    if name in FROM_ZERO:
        layers = "-".join(str(int(layer) - 1) for layer in layers.split("-"))
    return column(name, layers)


def rows(name: str, study: Study) -> list[Row]:
    """Rows of a table; those of parsing, which come first, appear again under the definition with subtypes."""
    all_rows = _rows(name, study)
    parsing = [row for row in all_rows if row.task == "parsing"]
    return [*parsing, *(replace(row, definition=study.with_subtypes) for row in parsing), *all_rows[len(parsing) :]]


def _rows(name: str, study: Study) -> list[Row]:
    """Rows in the order of print, then rows of configured test sets that are not printed."""
    if name == "table1":
        halves = ((_same_language, "{0}->{0}"), (_means, "{0}->X"))
        return [
            row
            for task, (half, head), source in product(study.tasks, halves, study.sources)
            for row in half(study, task, source, head.format(source.upper()))
        ]
    if name == "table2":
        return _domains(study)
    if name == "table5":
        return [row for task in study.tasks for row in _own_tests(study, task)]
    return [
        row
        for task, source in product(study.tasks, study.sources)
        if name == BY_LANGUAGE[task]
        for row in _by_language(study, task, source)
    ]


def _by_language(study: Study, task: str, source: str) -> list[Row]:
    head = source.upper()
    lines = _same_language(study, task, source, f"{head}->{study.name(source)}")
    for language in study.targets(task):
        if language != source:
            name, remark = f"{head}->{study.name(language)}", study.apart(task, [language])
            printed = name if language in LANGUAGES else ""
            lines.append(Row(task, source, name, (study.text(task, language),), printed, remark=remark))
    return [*lines, *_means(study, task, source, f"{head}->X (MEAN)")]


def _means(study: Study, task: str, source: str, name: str) -> list[Row]:
    """Rows of the mean over the printed targets and, where more are configured, over all targets."""
    targets = [language for language in study.targets(task) if language != source]
    texts = tuple(study.text(task, language) for language in targets)
    printed = tuple(text for text in texts if text[1] in LANGUAGES)
    lines = [Row(task, source, name, printed, name, mean_over_targets=True)]
    if len(texts) > len(printed):
        lines.append(Row(task, source, f"{name}, all configured targets", texts, mean_over_targets=True))
    return lines


def _same_language(study: Study, task: str, source: str, name: str) -> list[Row]:
    """Rows of the source language: on PUD as for the other languages, and on its own test set, which may be the printed one."""
    text = study.text(task, source)
    if text[0] == study.own[task]:
        return [Row(task, source, name, (text,), name)]
    own_test = (study.own[task], source)
    return [
        Row(task, source, row_name, (test,), name, remark=WHICH_TEST)
        for row_name, test in ((name, text), (f"{name} (own test)", own_test))
    ]


def _own_tests(study: Study, task: str) -> list[Row]:
    """Table 5: English, also its validation set, and the printed languages; then those of the same corpus."""
    printed = {"ENGLISH TEST": "en"} | {LANGUAGES[language]: language for language in ("fr", "de", "tr", "id", "ru", "ar")}
    corpus = study.own[task]
    lines = [Row(task, "en", "ENGLISH DEV", ((corpus, "en"),), "ENGLISH DEV", split="validation")]
    lines += [Row(task, "en", name, ((corpus, language),), name) for name, language in printed.items()]
    return lines + _further(study, corpus, lines, "{}")


def _further(study: Study, corpus: str | None, printed: Sequence[Row], name: str) -> list[Row]:
    """Rows of a corpus's languages beside the printed rows, of the same source. name: of a row, with {} for the language."""
    texts = [(corpus, language) for language in study.languages[corpus]] if corpus else []
    printed_texts = {text for row in printed for text in row.texts}
    return [replace(printed[0], name=name.format(study.name(text[1])), texts=(text,), printed="", split="test")
            for text in texts if text not in printed_texts]  # fmt: skip


def _domains(study: Study) -> list[Row]:
    """Rows of table 2: by task the printed ones, then those of further languages.

    A domain that is not configured has no texts.
    """
    lines: list[Row] = []
    for task, web in (("parsing", "EN->FR WIKI"), ("pos", "EN->FR.")):
        places = {
            "EN->EN": ("trained", "en"),
            "EN->EN LIT.": ("literature", "en"),
            "EN->EN WEB": ("web", "en"),
            "EN->EN UGC": ("tweets", "en"),
            "EN->FR TRAN.": ("trained", "fr"),
            web: ("web", "fr"),
        }
        printed = [Row(task, f"en{DOMAIN}", name, study.domain(*place), name, remark=NO_TWEETS * (place[0] == "tweets"))
                   for name, place in places.items()]  # fmt: skip
        lines += printed
        for domain, suffix in DOMAINS.items():
            lines += _further(study, study.domains.get(domain), printed, f"EN->{{}}{suffix}")
    return lines + _entities(study) if "ner" in study.own else lines


def _entities(study: Study) -> list[Row]:
    """Rows of named entities in table 2, scores of the runs of table 8."""
    own_corpus, news = study.own["ner"], study.domain("entities", "en")
    printed = [
        Row("ner", "en", "EN->EN", ((own_corpus, "en"),), "EN->EN"),
        Row("ner", "en", "EN->NEWS", news, "EN->NEWS", remark=MISC),
        Row("ner", "en", "EN->NEWS (MISC as O)", news, "EN->NEWS", definition=F1_MISC_AS_O, remark=MISC_AS_UNKNOWN),
        Row("ner", "en", "EN->FR", ((own_corpus, "fr"),), "EN->FR"),
    ]
    further = _further(study, own_corpus, printed, "EN->{}") + _further(
        study, study.domains.get("entities"), printed, "EN->{} NEWS"
    )
    return printed + further


def item_recipes(item: str, sources: Sequence[str], further: Sequence[str] = ()) -> tuple[str, ...]:
    """Recipes of an item; table 3, which has hyperparameters, is none of ITEMS.

    sources: source languages; further: sets of re-initialised blocks, such as 1-4, beside the printed ones.
    """
    if item in COMPARED:
        _, tasks, edited = COMPARED[item]
        trainings = product(tasks, ["en"], dict.fromkeys([REF, "1-2", *further]) if edited else [REF])
        return (PRETRAINED, UNTRAINED, *(recipe_name(*names) for names in trainings))
    if item == "table2":
        tasks_and_sources = [("parsing", f"en{DOMAIN}"), ("pos", f"en{DOMAIN}"), ("ner", "en")]
    else:
        tasks = [task for task in TASKS if item in ("table1", "table5", BY_LANGUAGE[task])]
        tasks_and_sources = [*product(tasks, ["en"] if item == "table5" else sources)]
    sets = dict.fromkeys([*layer_sets(item), *further])
    return tuple(recipe_name(*names, layers) for names in tasks_and_sources for layers in sets)
