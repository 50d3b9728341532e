"""Splitting of running text into sentences, because wu2019 treats the first two sentences of a document as a pair."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile, ZipFile

from crosslens.jobs.errors import DataError

Rule = Literal["punkt", "punkt_and_marks", "punkt_english", "marks", "all_marks"]
Splitter = Callable[[str, str], list[str]]  # text, language -> its sentences

MODELS = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "et": "estonian",
    "fi": "finnish", "fr": "french", "it": "italian", "ml": "malayalam", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ru": "russian", "sl": "slovene", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""Language -> name of its model in NLTK's data package punkt_tab."""
OTHERS = "english"  # model for languages that have none: wu2019's code, src/dataset/classification.py:12-17
FULL_WIDTH = ("ja", "zh")  # languages whose sentences end with full-width marks and no space
QUOTES = "[\"'”’»)\\]」』）】》]*"  # closing quotes and brackets after a mark
FULL_WIDTH_ENDS = re.compile(f"[。！？]+{QUOTES}")
ENDS = re.compile(f"[.!?…]+{QUOTES}(?=\\s)|[。！？]+{QUOTES}")
THAI_ENDS = "(?<=[\u0e01-\u0e4e])(?=\\s+[\u0e01-\u0e2e\u0e40-\u0e44])"  # before spaces and a letter that can begin a word
ALL_ENDS = re.compile(f"[.!?…।॥۔؟]+{QUOTES}(?=\\s)|[。！？]+{QUOTES}|{THAI_ENDS}")


def splitter(rule: Rule, punkt: Path | None) -> Splitter:
    """A function that splits a text of a language into sentences.

    punkt: NLTK's punkt_tab.zip; not needed for the rules "marks" and "all_marks".
    Rule "punkt": the model of the language, or else that of English, as in wu2019's code. It finds no end in texts without
    spaces between sentences (Chinese, Japanese). "punkt_and_marks": as "punkt", but Chinese and Japanese are split after 。！？.
    "punkt_english": the model of English for all languages, as in that code for WiLI, whose language is `all` there (langid.sh,
    20-22). "marks": any language is split after 。！？, and after . ! ? … before a space. "all_marks": as "marks", and also after
    the marks of Hindi, Urdu and Arabic before a space, and at spaces between Thai letters. Thai does not mark ends of
    sentences, and has spaces between sentences and some clauses. Raises DataError if Punkt's models are needed but not given.
    """
    if rule in ("marks", "all_marks"):
        ends = ENDS if rule == "marks" else ALL_ENDS
        return lambda text, language: split_after(ends, text)
    if punkt is None:
        raise DataError(f"sentences: expected Punkt's models, punkt_tab.zip, for {rule}, found none: name the file, or set marks")

    @cache
    def model(name: str) -> Any:
        return _model(punkt, name)

    def split(text: str, language: str) -> list[str]:
        if rule == "punkt_and_marks" and language in FULL_WIDTH:
            return split_after(FULL_WIDTH_ENDS, text)
        name = OTHERS if rule == "punkt_english" else MODELS.get(language, OTHERS)
        sentences: list[str] = model(name).tokenize(text)
        return sentences

    return split


def split_after(ends: re.Pattern[str], text: str) -> list[str]:
    """Non-empty parts of a text, split after each match of a pattern, without white space around them."""
    places = [0, *(match.end() for match in ends.finditer(text)), len(text)]
    parts = (text[start:end].strip() for start, end in zip(places, places[1:], strict=False))
    return [part for part in parts if part]


def _model(archive: Path, name: str) -> Any:
    """A model of punkt_tab.zip, read without NLTK's own loader, which refuses files outside its data folders."""
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer  # takes a second that other rules need not spend

    def lines(file: str) -> list[str]:
        return list(filter(None, opened.read(f"punkt_tab/{name}/{file}").decode("utf-8").split("\n")))

    parameters = PunktParameters()
    try:
        with ZipFile(archive) as opened:
            parameters.abbrev_types = set(lines("abbrev_types.txt"))
            parameters.sent_starters = set(lines("sent_starters.txt"))
            parameters.collocations = {tuple(line.split("\t")) for line in lines("collocations.tab")}
            for line in lines("ortho_context.tab"):
                word, context = line.split("\t")
                parameters.ortho_context[word] = int(context)
    except (OSError, BadZipFile, KeyError, ValueError) as error:
        raise DataError(
            f"{archive}: expected NLTK's data package punkt_tab with a model {name}: {error}; fetch it again"
        ) from None
    return PunktSentenceTokenizer(parameters)
