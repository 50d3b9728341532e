"""muller2021: the rows of the tables. The printed ones come first, in their order, then those of other configured test sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from crosslens.numerics.definitions import F1_MISC_AS_O
from crosslens.papers.muller2021.names import BY_LANGUAGE, DOMAIN, LANGUAGES, Study

DOMAINS = {"trained": " TRAN.", "literature": " LIT.", "web": ""}  # suffix of rows; web's corpus has other genres too

NO_TWEETS = "not scored: the tweets have neither a download address nor a licence"
WHICH_TEST = "the paper does not say whether it is the source's own test set or PUD"
MISC = "the source has no MISC, so every MISC in the test set is a miss"
MISC_AS_UNKNOWN = "in the sibling code tags unseen in training share one unknown label: the published value may be closer to this"


@dataclass(frozen=True)
class Row:
    """A row of a table: scores of a source's training runs on one test set, or their mean over several.

    source: source language, as in the recipe's name.
    texts: corpus and language of each test set.
    printed: name of the row in print; empty for our own rows.
    definition: empty for the task's metric.
    """

    task: str
    source: str
    name: str
    texts: tuple[tuple[str, str], ...]
    printed: str = ""
    split: str = "test"
    definition: str = ""
    remark: str = ""
    mean_over_targets: bool = False  # whether it is an X row


def rows(name: str, study: Study) -> list[Row]:
    """Rows of a table. Those of parsing come first and are repeated under the definition for relations with subtypes."""
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
    """Rows of the source language: on PUD, like the other languages, and on its own test set; either may be the printed one."""
    text = study.text(task, source)
    if text[0] == study.own[task]:
        return [Row(task, source, name, (text,), name)]
    own_test = (study.own[task], source)
    return [
        Row(task, source, row_name, (test,), name, remark=WHICH_TEST)
        for row_name, test in ((name, text), (f"{name} (own test)", own_test))
    ]


def _own_tests(study: Study, task: str) -> list[Row]:
    """Rows of table 5: English validation and test sets and the printed languages, then further languages of the corpus."""
    printed = {"ENGLISH TEST": "en"} | {LANGUAGES[language]: language for language in ("fr", "de", "tr", "id", "ru", "ar")}
    corpus = study.own[task]
    lines = [Row(task, "en", "ENGLISH DEV", ((corpus, "en"),), "ENGLISH DEV", split="validation")]
    lines += [Row(task, "en", name, ((corpus, language),), name) for name, language in printed.items()]
    return lines + _further(study, corpus, lines, "{}")


def _further(study: Study, corpus: str | None, printed: Sequence[Row], name: str) -> list[Row]:
    """Rows for languages of a corpus that the printed rows lack, with the same source. name: row name, {} for the language."""
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
