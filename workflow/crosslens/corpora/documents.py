"""Reader of texts that are labelled with their language or topic.

Languages: WiLI-2018 and tanti2021's paragraphs. Topics: SIB-200, and MLDoc over Reuters RCV1 and RCV2.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from xml.etree import ElementTree

from crosslens.config.base import languages_table
from crosslens.config.labels import TOPICS
from crosslens.corpora.archives import members, whole
from crosslens.corpora.lines import LONGEST, is_language, read_lines, refuse, stem
from crosslens.corpora.schema import DOCUMENTS
from crosslens.jobs.errors import DataError, shown

SCHEMA = DOCUMENTS
# Labels of WiLI-2018 that differ from our table's ISO 639-3 codes: WiLI-2018 has a macrolanguage, the table one of its members.
# Note that `als` is Alemannic in WiLI-2018 and Albanian in the table; WiLI-2018 calls Albanian `sqi`.
WILI = {
    "ar": "ara", "az": "aze", "et": "est", "fa": "fas", "ku": "kur", "lv": "lav", "mg": "mlg", "mn": "mon", "ms": "msa",
    "ne": "nep", "or": "ori", "sq": "sqi", "sw": "swa", "uz": "uzb", "yi": "yid", "zh": "zho",
}  # fmt: skip
INDEX = re.compile(r"\w{1,99}-\w{1,99}", re.ASCII)  # FDG46-381033; no longer than a file's name may be
COLUMNS = ["index_id", "category", "text"]  # of SIB-200
PIECES = ["row", "tokens", "language"]  # of tanti2021's paragraphs
SEPARATORS = {",": "commas", "\t": "tabs"}


def read(
    paths: Sequence[Path], language: str, *, texts: Path | str | None = None, labels: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of a language's documents in some files, in order, and the number of dropped documents by reason.

    The arguments say which layout the files have:
    - `texts` given: MLDoc, whose files are lists of ids (see `_mldoc`). texts: Reuters' archive (rcv1.tar.xz, rcv2.tar.xz).
    - `labels` given: tables of texts with these labels, such as SIB-200's (see `_tables`).
    - neither, and all files are .csv: tanti2021's paragraphs (see `_pieces`).
    - neither, and other files: WiLI-2018, with x_SPLIT.txt (a text a line) and y_SPLIT.txt (its label; see `_wili`).
    Raises DataError, `path:line: expected, found, remedy`, for any other content.
    """
    if texts is not None:
        return _mldoc(paths, language, Path(texts))
    if labels:
        return _tables(paths, language, labels), {}
    return (_pieces if all(".csv" in path.suffixes for path in paths) else _wili)(paths, language), {}


# WiLI-2018 (Thoma 2018)


def wili_label(language: str) -> str:
    """WiLI-2018's label of a language.

    Raises DataError for a language in another script, such as hi_rom, which WiLI-2018 does not distinguish.
    """
    if "_" in language:
        raise DataError(f"WiLI-2018: expected a language code without _, found '{language}'; remove the language")
    return WILI.get(language, languages_table()[language]["iso639_3"])


def _wili(paths: Sequence[Path], language: str) -> list[dict[str, Any]]:
    """Rows of a language's texts. Their label is WiLI's or, in other files of this layout, our language code."""
    texts, labels = ({stem(path)[2:]: path for path in paths if path.name.startswith(part)} for part in ("x_", "y_"))
    if len(labels) + len(texts) != len(paths) or labels.keys() != texts.keys():
        raise DataError(
            f"{', '.join(map(str, paths))}: expected x_SPLIT.txt and y_SPLIT.txt; name both files of each split "
            "(for MLDoc, name the archive of the texts)"
        )
    label = wili_label(language)
    rows = []
    for name, path in texts.items():
        for text, mark in zip_longest(read_lines(path), read_lines(labels[name])):
            if text is None or mark is None:
                longer, (line, _) = (labels[name], mark) if text is None else (path, text)
                refuse(longer, line, "more lines than in the other file", "as many texts (x) as labels (y)")
            if not is_language(mark[1].strip()):
                refuse(labels[name], mark[0], f"label '{mark[1]}'", "the code of a language")
            if mark[1].strip() in (label, language):
                if not text[1].strip():
                    refuse(path, text[0], "an empty line", "a text")
                rows.append({"id": f"{stem(path)}/{text[0]}", "language": language, "text": text[1], "label": label})
    if not rows:
        first = next(iter(labels.values()))
        raise DataError(f"{first}:1: expected texts with the label '{label}' ({language}), found none; remove the language")
    return rows


# MLDoc (Schwenk and Li 2018)


class _Id(NamedTuple):
    """An id that a list of MLDoc contains, with the file and the line."""

    id: str
    path: Path
    line: int


def _mldoc(paths: Sequence[Path], language: str, texts: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the documents that lists of ids choose, as MLDoc's generate_documents.py makes them, and counts of dropped ones.

    An id names a document's folder and file: FDG46-381033 is FDG46/381033.xml.
    Documents are dropped for the reasons of that script: `unreadable` (not XML), `topics` (not exactly one of the four main
    topics) and `text` (a paragraph without text). A document without paragraphs, for which the script prints an empty line, is
    dropped here as `text`.
    """
    ids = list(_index(paths))
    names = {line.id for line in ids}
    documents: dict[str, _Document | str] = {}
    for id, place, content in _contents(texts, names):
        document = _document(content, place)
        if documents.setdefault(id, document) != document:
            raise DataError(
                f"{place}: expected a document of Reuters once, found {id} a second time, unlike the first; name the corpus alone"
            )
    missing = [line for line in ids if line.id not in documents]
    if missing:
        first = missing[0]
        raise DataError(
            f"{first.path}:{first.line}: expected a document for each of the {len(ids)} ids in {texts}, found none for "
            f"{first.id} and {len(missing) - 1} others; name the complete corpus of this language"
        )
    rows = []
    dropped = {"unreadable": 0, "topics": 0, "text": 0}
    for line in ids:
        document = documents[line.id]
        if isinstance(document, str):
            dropped[document] += 1
        else:
            rows.append({"id": line.id, "language": language, "text": document.text, "label": document.label})
    return rows, dropped


def _index(paths: Iterable[Path]) -> Iterator[_Id]:
    """Yield the ids in some files, one a line."""
    ids: set[str] = set()
    for path in paths:
        for number, line in read_lines(path):
            id = line.strip()
            if not INDEX.fullmatch(id):
                refuse(path, number, f"'{id:.40}'", "an id like FDG46-381033")
            if id in ids:
                refuse(path, number, f"{id} a second time", "a new id")
            ids.add(id)
            yield _Id(id, path, number)


def _contents(texts: Path, ids: set[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (id, path for messages, content) for the ids whose documents exist.

    An archive may have 800,000 members, so it is read in one pass. Raises DataError for a document that is longer than any of
    Reuters.
    """
    with whole(texts):
        for name, opener in members(texts):
            place = PurePosixPath(name)
            id = f"{place.parent.name}-{place.stem}"
            if place.suffix == ".xml" and id in ids:
                file = f"{texts}/{shown(name)}"
                with opener() as document:
                    content = document.read(LONGEST + 1)
                if len(content) > LONGEST:
                    raise DataError(
                        f"{file}: expected a document of Reuters, found more than {LONGEST // 10**6} MB: fetch it again"
                    )
                yield id, file, content


class _Document(NamedTuple):
    """Topic (`label`) and text of a Reuters document."""

    label: str
    text: str


class _WithoutDoctype(ElementTree.TreeBuilder):
    """Builder of XML trees that refuses document types, which may declare entities that expand without end or name a file."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def doctype(self, *_: str | None) -> None:
        """Raise DataError for a document type, whatever it declares."""
        raise DataError(
            f"{self.place}: expected a document of Reuters without a document type, found one: "
            "do not use this file; fetch it again"
        )


def _document(content: bytes, place: str) -> _Document | str:
    """Topic and text of a document, or the reason to drop it. Raises DataError if it has a document type."""
    try:
        root = ElementTree.fromstring(content, ElementTree.XMLParser(target=_WithoutDoctype(place)))
    except DataError:
        raise
    except (ElementTree.ParseError, LookupError, ValueError):  # the last two: unknown encoding
        return "unreadable"
    codes = [code.get("code") for code in root.iterfind(".//codes[@class='bip:topics:1.0']/code")]
    topics = [code for code in codes if code in TOPICS]
    if len(topics) != 1:
        return "topics"
    paragraphs = [paragraph.text for paragraph in root.iter("p")]
    if not paragraphs or None in paragraphs:
        return "text"
    return _Document(str(topics[0]), " ".join(map(str, paragraphs)))


# SIB-200 (Adelani et al. 2024)


def _tables(paths: Sequence[Path], language: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of tab-separated tables with the header COLUMNS. labels: those that the tables may contain."""
    rows, ids = [], set()
    for path in paths:
        for number, (id, label, text) in _cells(path, COLUMNS, "\t"):
            if label not in labels:
                refuse(path, number, f"'{label}'", f"a category among {', '.join(labels)}")
            if not id or id in ids:
                refuse(path, number, f"{id} a second time" if id else "an empty cell", "a new index_id")
            if not text.strip():
                refuse(path, number, "an empty cell", "a text")
            ids.add(id)
            rows.append({"id": id, "language": language, "text": text, "label": label})
    return rows


def _cells(path: Path, columns: Sequence[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for each row below the header of a table. A row is one line; cells may be quoted as in CSV."""
    names, apart = ", ".join(columns), f"separated by {SEPARATORS[separator]}"
    for number, line in read_lines(path):
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True), [])
        except csv.Error as error:
            refuse(path, number, f"{line:.40} ({error})", "cells with closed quotation marks")
        if number == 1:
            if cells != list(columns):
                refuse(path, 1, ", ".join(cells), f"the columns {names}, {apart}")
        elif len(cells) != len(columns):
            refuse(path, number, str(len(cells)), f"{len(columns)} columns ({names}), {apart}")
        else:
            yield number, cells


# Paragraphs of Wikipedia, prepared by the authors of tanti2021


def _pieces(paths: Sequence[Path], language: str) -> list[dict[str, Any]]:
    """Rows of a language's paragraphs in comma-separated tables with the header PIECES, whose rows are numbered from 0.

    The column `tokens` has the first 126 subwords of a paragraph in mBERT's tokenisation. They are separated by spaces and lack
    their `##`, so that subwords within a word look like words (mtanti/mbert-language-specificity at 7b64d0a,
    dataprocs/wikipedia/preprocess.py:322-346, common/tokeniser/tokeniser_mbert.py:133-148). The released code writes these
    tables but never opens them.
    """
    rows, languages = [], dict[str, None]()
    for path in paths:
        for number, (row, tokens, code) in _cells(path, PIECES, ","):
            if row != str(number - 2):
                refuse(path, number, f"row '{row}'", f"row {number - 2}")
            if not tokens.strip():
                refuse(path, number, "an empty cell", "tokens")
            if not is_language(code):
                refuse(path, number, f"language '{code}'", "the code of a language")
            languages[code] = None
            if code == language:
                rows.append({"id": f"{path.name.partition('.')[0]}/{row}", "language": code, "text": tokens, "label": code})
    if not rows:
        codes = shown(", ".join(languages)) or "none"
        raise DataError(f"{paths[0]}: expected rows with the language '{language}', found {codes}; remove the language")
    return rows
