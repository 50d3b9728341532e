"""The tables of the phrasebook, read and checked.

Source: resources/phrasebook; its README.md describes the format of each file.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crosslens.errors import DataError

TABLES = Path(__file__).resolve().parents[3] / "resources" / "phrasebook"

UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
RELATIONS = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl "
    "fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp".split()
)
DIGITS = ("number", "year")
"""Slots that digits fill, whatever the language."""


@dataclass(frozen=True)
class Concept:
    """Something to talk about; its kinds say which slots it may fill."""

    name: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    """Something to say: (slot, kind) pairs in the order of the table."""

    name: str
    register: str
    slots: tuple[tuple[str, str], ...]
    example: str


@dataclass(frozen=True)
class Part:
    """One syntactic word of a form; `relation` is to the form's head, and empty on the head itself."""

    text: str
    lemma: str
    upos: str
    relation: str
    joined: bool


@dataclass(frozen=True)
class Form:
    """The words of a form in order; no words at all where the language says nothing."""

    parts: tuple[Part, ...]
    head: int


@dataclass(frozen=True)
class Lexeme:
    """A concept or a function word in one language."""

    name: str
    upos: str
    lemma: Form
    agreement: str
    forms: Mapping[str, Form]

    def form(self, key: str) -> Form | None:
        """The form for a key: the lemma for an empty key or an uninflected word; None if the word lacks it."""
        return self.forms.get(key) if key and self.forms else self.lemma


@dataclass(frozen=True)
class Reference:
    """`{name:key}` in a template; the key may still hold `@slot` or `@slot.1`."""

    name: str
    key: str


Text = tuple[str | Reference, ...]


@dataclass(frozen=True)
class TemplateWord:
    """One word of a template; an empty `upos` or `lemma` is the lexicon's."""

    text: Text
    lemma: str
    upos: str
    head: int
    relation: str
    joined: bool


@dataclass(frozen=True)
class Contraction:
    """Template words first..last (from 1) written as one; an empty surface means that they stand apart."""

    surface: Text
    first: int
    last: int


@dataclass(frozen=True)
class Template:
    """How a language says a frame, for fillers whose class meets all conditions (slot, part of class)."""

    frame: str
    conditions: tuple[tuple[str, str], ...]
    words: tuple[TemplateWord, ...]
    contractions: tuple[Contraction, ...]
    place: str
    """File and line, for messages."""


@dataclass(frozen=True)
class Animal:
    """What is true of an animal: concepts of the kinds quality_animal, landform and diet."""

    qualities: tuple[str, ...]
    landforms: tuple[str, ...]
    diets: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """What a language's writers need: its name in treebanks, spaces between words, names of wiki namespaces."""

    code: str
    name: str
    spaces: bool
    file: str
    category: str
    talk: str
    redirect: str


@dataclass(frozen=True)
class Grammar:
    """One language: lexemes by name, templates by frame (those with conditions first)."""

    language: Language
    concepts: Mapping[str, Concept]
    frames: Mapping[str, Frame]
    animals: Mapping[str, Animal]
    lexicon: Mapping[str, Lexeme]
    templates: Mapping[str, tuple[Template, ...]]

    def fillers(self, kind: str) -> tuple[str, ...]:
        """The concepts of a kind, in the order of the table."""
        return fillers(self.concepts, kind)


def fillers(concepts: Mapping[str, Concept], kind: str) -> tuple[str, ...]:
    """The names of the concepts of a kind, in the order of the table."""
    return tuple(concept.name for concept in concepts.values() if kind in concept.kinds)


def languages_present(tables: Path = TABLES) -> tuple[str, ...]:
    """Codes of the languages that have a folder with both tables, sorted."""
    folders = {path.parent for path in tables.glob("*/frames.txt")}
    return tuple(sorted(folder.name for folder in folders if (folder / "lexicon.csv").exists()))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) of each line that is not empty or a comment, NFC."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file, expected a table of the phrasebook; see its README.md") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {error.reason} at byte {error.start}, expected UTF-8; save it as UTF-8") from None
    for number, line in enumerate(unicodedata.normalize("NFC", text).splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield f"{path}:{number}", line


def _rows(path: Path, header: str) -> Iterator[tuple[str, list[str]]]:
    """(place, cells) of each row of a comma-separated table under the expected header."""
    lines = _lines(path)
    place, first = next(lines, (f"{path}:1", ""))
    if first.strip() != header:
        raise DataError(f"{place}: header `{first.strip()}`, expected `{header}`; restore the first line")
    width = header.count(",") + 1
    for place, line in lines:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if len(cells) != width:
            raise DataError(f"{place}: {len(cells)} cells, expected {width} ({header}); quote a cell that has commas")
        yield place, cells


@cache
def read_concepts(tables: Path = TABLES) -> Mapping[str, Concept]:
    """Concepts by name, in the order of concepts.csv."""
    concepts: dict[str, Concept] = {}
    for place, (name, kinds) in _rows(tables / "concepts.csv", "concept,kinds"):
        if name in concepts:
            raise DataError(f"{place}: concept `{name}` a second time, expected once; remove one of the lines")
        concepts[name] = Concept(name, tuple(kinds.split()))
    return concepts


@cache
def read_frames(tables: Path = TABLES) -> Mapping[str, Frame]:
    """Frames by name, in the order of frames.csv."""
    kinds = {kind for concept in read_concepts(tables).values() for kind in concept.kinds} | set(DIGITS)
    frames: dict[str, Frame] = {}
    for place, (name, register, slots, example) in _rows(tables / "frames.csv", "frame,register,slots,example"):
        pairs = tuple(tuple(pair.split("=", 1)) for pair in slots.split())
        bad = [pair for pair in pairs if len(pair) != 2 or pair[1] not in kinds]
        if bad or name in frames:
            what = f"slot `{'='.join(bad[0])}`" if bad else f"frame `{name}` a second time"
            raise DataError(f"{place}: {what}, expected slot=kind with a kind of concepts.csv, each frame once; fix it")
        frames[name] = Frame(name, register, pairs, example)
    return frames


@cache
def read_animals(tables: Path = TABLES) -> Mapping[str, Animal]:
    """Animals by concept, from animals.csv."""
    concepts = read_concepts(tables)
    animals = {}
    for place, (name, *cells) in _rows(tables / "animals.csv", "animal,qualities,landforms,diets"):
        kinds = ("wild", "quality_animal", "landform", "diet")
        for kind, cell in zip(kinds, (name, *cells), strict=True):
            for word in cell.split() or [""]:
                if word not in concepts or kind not in concepts[word].kinds:
                    raise DataError(f"{place}: `{word}`, expected a concept of kind {kind}; correct it")
        animals[name] = Animal(*(tuple(cell.split()) for cell in cells))
    return animals


@cache
def read_languages(tables: Path = TABLES) -> Mapping[str, Language]:
    """Languages by code, from languages.csv."""
    header = "language,name,spaces,file,category,talk,redirect"
    languages = {}
    for place, (code, name, spaces, *names) in _rows(tables / "languages.csv", header):
        if spaces not in ("yes", "no"):
            raise DataError(f"{place}: spaces `{spaces}`, expected yes or no; say whether words are set apart")
        languages[code] = Language(code, name, spaces == "yes", *names)
    return languages


@cache
def read_grammar(language: str, tables: Path = TABLES) -> Grammar:
    """The tables of one language, by its ISO 639-1 code."""
    languages = read_languages(tables)
    if language not in languages:
        place = tables / "languages.csv"
        raise DataError(f"{place}: no line for `{language}`, expected one for each language; add it")
    concepts, frames = read_concepts(tables), read_frames(tables)
    lexicon = _read_lexicon(tables / language / "lexicon.csv", concepts)
    templates = _read_templates(tables / language / "frames.txt", frames, lexicon)
    return Grammar(languages[language], concepts, frames, read_animals(tables), lexicon, templates)


def _read_lexicon(path: Path, concepts: Mapping[str, Concept]) -> dict[str, Lexeme]:
    lexicon: dict[str, Lexeme] = {}
    for place, (name, upos, lemma, agreement, forms) in _rows(path, "concept,upos,lemma,class,forms"):
        if name in lexicon:
            raise DataError(f"{place}: `{name}` a second time, expected one line for each; remove one of them")
        if name not in concepts and not name.startswith("_"):
            raise DataError(
                f"{place}: `{name}` is no concept of concepts.csv; correct it, or begin a function word with `_`"
            )
        if upos not in UPOS:
            raise DataError(f"{place}: upos `{upos}`, expected one of {' '.join(sorted(UPOS))}; correct it")
        if not lemma and not forms:
            raise DataError(f"{place}: `{name}` has neither lemma nor forms, expected a lemma; fill the third cell in")
        if " " in agreement:
            raise DataError(f"{place}: class `{agreement}` has a space, expected parts separated by dots; join them")
        if name in DIGITS:
            raise DataError(f"{place}: `{name}` stands for digits and has no line of its own; remove it")
        citation = _form(lemma, upos, "", place)
        head_lemma = citation.parts[citation.head].lemma if citation.parts else ""
        table: dict[str, Form] = {}
        for pair in filter(None, (pair.strip() for pair in forms.split(";"))):
            key, equals, text = (piece.strip() for piece in pair.partition("="))
            if not equals or not key or key in table:
                raise DataError(
                    f"{place}: form `{pair}`, expected key=form with each key once, separated by `;`; fix it"
                )
            table[key] = _form(text, upos, head_lemma, place)
        lexicon[name] = Lexeme(name, upos, citation, agreement, table)
    return lexicon


def _form(text: str, upos: str, lemma: str, place: str) -> Form:
    """A form from its cell: words apart, all but the head marked `word/UPOS/relation`; the head has no mark."""
    parts, heads = [], []
    for position, word in enumerate(text.split()):
        surface, *marks = word.split("/")
        if len(marks) not in (0, 2):
            raise DataError(f"{place}: `{word}` in form `{text}`, expected word or word/UPOS/relation; mark it so")
        surface, equals, own_lemma = surface.partition("=")
        joined = surface.endswith("_")
        surface = surface.removesuffix("_")
        if marks:
            _check_tags(*marks, place)
            parts.append(Part(surface, own_lemma or surface.lower(), *marks, joined))
        else:
            heads.append(position)
            parts.append(Part(surface, own_lemma or lemma or surface, upos, "", joined))
    if parts and len(heads) != 1:
        raise DataError(
            f"{place}: form `{text}` has {len(heads)} words without a mark, expected one (the head); "
            "mark the others as word/UPOS/relation"
        )
    return Form(tuple(parts), heads[0] if heads else 0)


def _check_tags(upos: str, relation: str, place: str) -> None:
    if upos not in UPOS:
        raise DataError(f"{place}: upos `{upos}`, expected one of {' '.join(sorted(UPOS))}; correct it")
    if relation.split(":")[0] not in RELATIONS:
        raise DataError(f"{place}: relation `{relation}`, expected one of Universal Dependencies; correct it")


def _read_templates(
    path: Path, frames: Mapping[str, Frame], lexicon: Mapping[str, Lexeme]
) -> dict[str, tuple[Template, ...]]:
    templates: dict[str, list[Template]] = {}
    for place, line in _lines(path):
        name, tab, body = line.partition("\t")
        name, *conditions = name.strip().split("@")
        if not tab or name not in frames:
            raise DataError(f"{place}: `{line[:40]}`, expected frame<TAB>template and a frame of frames.csv; fix it")
        names = {slot for slot, _ in frames[name].slots} | {key for key in lexicon if key.startswith("_")}
        template = _template(name, conditions, body, names, place)
        if any(template.conditions == other.conditions for other in templates.get(name, ())):
            raise DataError(f"{place}: frame `{name}` a second time, expected once; remove one, or add a condition")
        templates.setdefault(name, []).append(template)
    # A sort on "has no condition" is stable: special wordings are tried in the order of the file, then the usual one.
    return {name: tuple(sorted(group, key=lambda each: not each.conditions)) for name, group in templates.items()}


def _template(name: str, conditions: list[str], body: str, names: set[str], place: str) -> Template:
    pairs = tuple(tuple(condition.split("=", 1)) for condition in conditions)
    for pair in pairs:
        if len(pair) != 2 or pair[0] not in names:
            raise DataError(f"{place}: condition `@{'='.join(pair)}`, expected @slot=class, a slot of {name}; fix it")
    words: list[TemplateWord] = []
    contractions: list[Contraction] = []
    opened: tuple[Text, int] | None = None
    for token in body.split():
        if token.startswith("[") and token.endswith("="):
            if opened:
                raise DataError(f"{place}: `{token}` inside another `[...]`, expected one at a time; close the first")
            opened = _text(token[1:-1], names, place), len(words) + 1
            continue
        closes = token.endswith("]")
        words.append(_template_word(token.removesuffix("]"), names, place))
        if closes:
            if not opened:
                raise DataError(f"{place}: `{token}` closes what nothing opens, expected `[surface= a b]`; fix it")
            contractions.append(Contraction(*opened, len(words)))
            opened = None
    if opened:
        raise DataError(f"{place}: `[` without `]`, expected `[surface= word word]`; close it after its last word")
    _check_tree([word.head for word in words], [word.relation for word in words], place)
    return Template(name, pairs, tuple(words), tuple(contractions), place)


def _template_word(token: str, names: set[str], place: str) -> TemplateWord:
    pieces = token.rsplit("/", 3)
    if len(pieces) != 4 or not pieces[0] or not pieces[2].isdecimal():
        raise DataError(f"{place}: word `{token}`, expected TEXT/UPOS/HEAD/RELATION; correct it")
    text, upos, head, relation = pieces
    joined = text.endswith("_") and len(text) > 1
    text = text.removesuffix("_") if joined else text
    lemma = ""
    if (match := re.fullmatch(r"(.+)=([^={}]+)", text)) is not None:
        text, lemma = match.groups()
        joined = joined or text.endswith("_")
        text = text.removesuffix("_")
    content = _text(text, names, place)
    if upos or not any(isinstance(piece, Reference) for piece in content):
        _check_tags(upos, relation, place)
    else:
        _check_tags("X", relation, place)
    return TemplateWord(content, lemma, upos, int(head), relation, joined)


def _text(text: str, names: set[str], place: str) -> Text:
    """Literal pieces and references of a TEXT, in order."""
    pieces: list[str | Reference] = []
    for piece in filter(None, re.split(r"(\{[^{}]*\})", text)):
        if piece.startswith("{") and piece.endswith("}"):
            name, _, key = piece[1:-1].partition(":")
            for needed in (name, *re.findall(r"@(\w+)", key)):
                if needed not in names:
                    raise DataError(
                        f"{place}: `{piece}` names `{needed}`, expected a slot of the frame or a function word "
                        "of lexicon.csv; correct it or add the line"
                    )
            pieces.append(Reference(name, key))
        elif "{" in piece or "}" in piece:
            raise DataError(f"{place}: `{text}` has a stray brace, expected {{slot:key}}; correct it")
        else:
            pieces.append(piece)
    return tuple(pieces)


def _check_tree(heads: list[int], relations: list[str], place: str) -> None:
    """One root with the relation root, heads in range, no cycle."""
    problem = tree_problem(heads, relations)
    if problem:
        raise DataError(f"{place}: {problem}, expected a tree with one root; correct the heads")


def tree_problem(heads: list[int], relations: list[str]) -> str:
    """What keeps heads (1-based, 0 for the root) and relations from being a tree; empty if nothing does."""
    roots = [number for number, head in enumerate(heads, start=1) if head == 0]
    if len(roots) != 1:
        return f"{len(roots)} roots"
    for number, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
        if head > len(heads):
            return f"word {number} has head {head} of {len(heads)} words"
        if (head == 0) != (relation == "root"):
            return f"word {number} has head {head} and relation {relation}"
        seen, here = set(), number
        while here:
            if here in seen:
                return f"word {number} is in or below a cycle"
            seen.add(here)
            here = heads[here - 1]
    return ""
