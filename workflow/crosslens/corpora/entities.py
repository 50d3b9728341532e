"""Reader of named-entity corpora with a word a line: WikiANN, CoNLL-2002 and 2003, MSRA."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from crosslens.config.base import languages_table
from crosslens.config.labels import ENTITIES
from crosslens.corpora.lines import BYTE_ORDER_MARK, UNSPACED, Encoding, read_lines, refuse, stem
from crosslens.corpora.schema import SENTENCES
from crosslens.jobs.errors import DataError, shown

SCHEMA = SENTENCES
TYPES = ("PER", "LOC", "ORG", "MISC")
TAGS = frozenset(ENTITIES)
LONGEST = 10_000  # words of a sentence; the longest of an official file has 1,238 (esp.train)
ALONE = 1_500  # most words of a file without blank lines: a longer file has lost its blank lines
DOCUMENT = "-DOCSTART-"  # first column of the line that begins a document in CoNLL-2002 and 2003
PREFIX = re.compile(r"([a-z]{2,3}(?:-[a-z]+)*):")  # WikiANN, de:Wort

Word = tuple[str, str, int]  # form, tag, line


def read(
    paths: Sequence[Path], language: str, *, encoding: Encoding = "utf-8", tags: Mapping[str, str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of all sentences in some files, in order, with IOB2 tags, and counts of changed and dropped words.

    Files have one word a line, with its tag in the last column, and a blank line after each sentence. The formats are WikiANN,
    as split by Rahimi et al. (2019; de:Wort, a tab, B-LOC) or as printed by XTREME (without de:); CoNLL-2002 and 2003
    (separated by spaces; columns between word and tag are ignored); and MSRA (a character a line). encoding: the shared tasks'
    own files are ISO 8859-1.
    tags: other names of a tag's parts before and after its hyphen -> our names, such as {"E": "I", "GPE": "LOC"}; O for types
    that do not count.
    Counts: `opened`, tags that `iob2` changes; `wordless`, words of white space only, which no tokenizer sees, left out with
    their tags; `empty`, sentences of such words only, left out.
    Raises DataError, `path:line: expected, found, remedy`, for any other line.
    """
    rows: list[dict[str, Any]] = []
    counts = {"opened": 0, "wordless": 0, "empty": 0}
    for path in paths:
        for number, words in enumerate(_without_prefix(path, language, [*_sentences(path, encoding, tags or {})]), start=1):
            tags_of_file = [tag for _, tag, _ in words]
            opened = iob2(tags_of_file)
            counts["opened"] += sum(tag != before for tag, before in zip(opened, tags_of_file, strict=True))
            words_kept = _with_form(words, opened)
            counts["wordless"] += len(words) - len(words_kept)
            if words_kept:
                rows.append(_row(f"{stem(path)}/{number}", language, words_kept))
            else:
                counts["empty"] += 1
    return rows, counts


def iob2(tags: Sequence[str]) -> list[str]:
    """Tags of a sentence in IOB2, in which every span begins with B-.

    An I- that does not continue a span of its type becomes B-. The spans are those that conlleval and wu2019's metric.py find.
    This converts IOB1 (CoNLL-2003), in which B- only separates adjacent spans of one type, and repairs broken IOB2 (WikiANN).
    """
    return [f"B{tag[1:]}" if tag[0] == "I" and tag[1:] != before[1:] else tag for before, tag in pairwise(["O", *tags])]


def _sentences(path: Path, encoding: Encoding, tags: Mapping[str, str]) -> Iterator[list[Word]]:
    """Yield the words of each sentence in a file. A new document ends a sentence too (ned.train has no blank line there)."""
    words: list[Word] = []
    separator, columns, blank, number = "\t", 0, False, 0
    missing = "a blank line after every sentence"
    for number, line in read_lines(path, encoding):
        line = line.replace(BYTE_ORDER_MARK, "")  # may remain within a file that was joined from several
        if not columns and line.strip(" "):
            separator = "\t" if "\t" in line else " "
        cells = line.split("\t") if separator == "\t" else [*filter(None, line.split(" "))]
        if not line.strip(" ") or cells[0] == DOCUMENT:
            blank = blank or columns > 0
            if words:
                yield words
            words = []
            continue
        columns = columns or len(cells)
        if len(cells) == 1:
            raise DataError(
                f"{path}:{number}: expected a word and its tag, found a word without a tag; XTREME's test files have no tags: "
                "name WikiANN's own file"
            )
        if len(cells) != columns:
            refuse(path, number, f"{len(cells)} columns", f"{columns} columns as above")
        tag = _tag(cells[-1], tags)
        if tag not in TAGS:
            raise DataError(
                f"{path}:{number}: expected O, or B- or I- followed by one of {' '.join(TYPES)}, found tag '{cells[-1]:.40}'"
                "; fetch the file again, correct the line, or say in the corpus's `tags` what the tag stands for"
            )
        words.append((cells[0], tag, number))
        if len(words) > LONGEST:
            refuse(path, number, f"{LONGEST + 1} words without one", missing)
    if not blank and len(words) > ALONE:
        refuse(path, number, "none in the file", missing)
    if words:
        yield words


def _tag(tag: str, tags: Mapping[str, str]) -> str:
    """Tag of a file, with both parts renamed by `tags`."""
    mark, hyphen, name = tag.partition("-")
    mark, name = tags.get(mark, mark), tags.get(name, name)
    return "O" if name == "O" else mark + hyphen + name


def _without_prefix(path: Path, language: str, sentences: list[list[Word]]) -> list[list[Word]]:
    """Sentences of a file without WikiANN's prefix of words (de:Wort), which either all words of a file have or none.

    A word of another format may look the same: de:facto. Raises DataError if most words have the prefix but not all, or if it
    is another language's.
    """
    words = [word for sentence in sentences for word in sentence]
    prefixes = Counter(match[0] for match in map(PREFIX.match, (form for form, _, _ in words)) if match)
    prefix, number = max(prefixes.items(), key=itemgetter(1), default=("", 0))
    if 2 * number <= len(words):
        return sentences
    exceptions = [word for word in words if not word[0].startswith(prefix)]
    if exceptions:
        refuse(path, exceptions[0][2], f"word '{exceptions[0][0]}'", f"the prefix {prefix} as for most words")
    if prefix not in _marks(language):
        code = shown(prefix[:-1])
        raise DataError(f"{path}:{words[0][2]}: expected words in '{language}', found '{code}'; name the file of that language")
    return [[(form.removeprefix(prefix), tag, line) for form, tag, line in sentence] for sentence in sentences]


def _marks(language: str) -> tuple[str, str]:
    """Prefixes that WikiANN may have for words of a language: our code or that of its Wikipedia, each with a colon."""
    wikipedia = languages_table().get(language, {}).get("wikipedia", "").removesuffix("wiki").replace("_", "-")
    return f"{language}:", f"{wikipedia or language}:"


def _with_form(words: Sequence[Word], tags: Sequence[str]) -> list[Word]:
    """(form, tag, line) of the words that have a form. A span that loses its first word begins with the next."""
    words_with_form: list[Word] = []
    opens = False
    for (form, _, line), tag in zip(words, tags, strict=True):
        if opens and tag[0] == "I":
            tag = f"B{tag[1:]}"
        form = form.strip()
        opens = not form and tag[0] == "B"
        if form:
            words_with_form.append((form, tag, line))
    return words_with_form


def _row(id: str, language: str, words: Sequence[Word]) -> dict[str, Any]:
    """One row of SENTENCES."""
    forms = [form for form, _, _ in words]
    return {
        "id": id,
        "language": language,
        "text": ("" if language in UNSPACED else " ").join(forms),
        "forms": forms,
        "upos": [],
        "heads": [],
        "relations": [],
        "multiwords": [],
        "entities": [tag for _, tag, _ in words],
    }
