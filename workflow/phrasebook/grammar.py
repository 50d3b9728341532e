"""One language of the phrasebook: its words, forms and wordings, read and checked.

Source: resources/phrasebook; its README.md describes the format of each file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from phrasebook.errors import PhrasebookError
from phrasebook.labels import UPOS
from phrasebook.tables import (
    DIGITS,
    TABLES,
    Animal,
    Concept,
    Frame,
    Language,
    lines,
    read_animals,
    read_concepts,
    read_frames,
    read_languages,
    read_related,
    rows,
)

RELATIONS = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl "
    "fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp".split()
)


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


@dataclass(frozen=True, eq=False)
class Grammar:
    """One language: lexemes by name, templates by frame (those with conditions first). Equal to itself only."""

    language: Language
    concepts: Mapping[str, Concept]
    frames: Mapping[str, Frame]
    animals: Mapping[str, Animal]
    opposites: Mapping[str, tuple[str, ...]]
    overlaps: Mapping[str, tuple[str, ...]]
    lexicon: Mapping[str, Lexeme]
    templates: Mapping[str, tuple[Template, ...]]

    @cached_property
    def _of_kind(self) -> Mapping[str, tuple[str, ...]]:
        kinds: dict[str, tuple[str, ...]] = {}
        for concept in self.concepts.values():
            for kind in concept.kinds:
                kinds[kind] = (*kinds.get(kind, ()), concept.name)
        return kinds

    def fillers(self, kind: str) -> tuple[str, ...]:
        """The concepts of a kind, in the order of the table."""
        return self._of_kind[kind]


@cache
def read_grammar(language: str, tables: Path = TABLES) -> Grammar:
    """The tables of one language, by its ISO 639-1 code."""
    languages = read_languages(tables)
    if language not in languages:
        place = tables / "languages.csv"
        raise PhrasebookError(f"{place}: no line for `{language}`, expected one for each language; add it")
    concepts, frames = read_concepts(tables), read_frames(tables)
    lexicon = _read_lexicon(tables / language / "lexicon.csv", concepts)
    templates = _read_templates(tables / language / "frames.txt", frames, lexicon)
    opposites, overlaps = read_related("opposites", tables), read_related("overlaps", tables)
    return Grammar(languages[language], concepts, frames, read_animals(tables), opposites, overlaps, lexicon, templates)


def _read_lexicon(path: Path, concepts: Mapping[str, Concept]) -> dict[str, Lexeme]:
    lexicon: dict[str, Lexeme] = {}
    for place, (name, upos, lemma, agreement, forms) in rows(path, "concept,upos,lemma,class,forms"):
        if name in lexicon:
            raise PhrasebookError(f"{place}: `{name}` a second time, expected one line for each; remove one of them")
        if name not in concepts and not name.startswith("_"):
            raise PhrasebookError(
                f"{place}: `{name}` is no concept of concepts.csv; correct it, or begin a function word with `_`"
            )
        if upos not in UPOS:
            raise PhrasebookError(f"{place}: upos `{upos}`, expected one of {' '.join(sorted(UPOS))}; correct it")
        if not lemma and not forms:
            raise PhrasebookError(f"{place}: `{name}` has neither lemma nor forms, expected a lemma; fill the third cell in")
        if " " in agreement:
            raise PhrasebookError(f"{place}: class `{agreement}` has a space, expected parts separated by dots; join them")
        if name in DIGITS:
            raise PhrasebookError(f"{place}: `{name}` stands for digits and has no line of its own; remove it")
        citation = _form(lemma, upos, "", place)
        head_lemma = citation.parts[citation.head].lemma if citation.parts else ""
        table: dict[str, Form] = {}
        for pair in filter(None, (pair.strip() for pair in forms.split(";"))):
            key, equals, text = (piece.strip() for piece in pair.partition("="))
            if not equals or not key or key in table:
                raise PhrasebookError(f"{place}: form `{pair}`, expected key=form with each key once, separated by `;`; fix it")
            table[key] = _form(text, upos, head_lemma, place)
        lexicon[name] = Lexeme(name, upos, citation, agreement, table)
    return lexicon


def _form(text: str, upos: str, lemma: str, place: str) -> Form:
    """A form from its cell: words apart, all but the head marked `word/UPOS/relation`; the head has no mark."""
    parts, heads = [], []
    for position, word in enumerate(text.split()):
        surface, *marks = word.split("/")
        if len(marks) not in (0, 2):
            raise PhrasebookError(f"{place}: `{word}` in form `{text}`, expected word or word/UPOS/relation; mark it so")
        surface, _, own_lemma = surface.partition("=")
        joined = surface.endswith("_")
        surface = surface.removesuffix("_")
        if marks:
            part_upos, relation = marks
            _check_tags(part_upos, relation, place)
            parts.append(Part(surface, own_lemma or surface.lower(), part_upos, relation, joined))
        else:
            heads.append(position)
            parts.append(Part(surface, own_lemma or lemma or surface, upos, "", joined))
    if parts and len(heads) != 1:
        raise PhrasebookError(
            f"{place}: form `{text}` has {len(heads)} words without a mark, expected one (the head); "
            "mark the others as word/UPOS/relation"
        )
    return Form(tuple(parts), heads[0] if heads else 0)


def _check_tags(upos: str, relation: str, place: str) -> None:
    if upos not in UPOS:
        raise PhrasebookError(f"{place}: upos `{upos}`, expected one of {' '.join(sorted(UPOS))}; correct it")
    if relation.split(":")[0] not in RELATIONS:
        raise PhrasebookError(f"{place}: relation `{relation}`, expected one of Universal Dependencies; correct it")


def _read_templates(path: Path, frames: Mapping[str, Frame], lexicon: Mapping[str, Lexeme]) -> dict[str, tuple[Template, ...]]:
    templates: dict[str, list[Template]] = {}
    for place, line in lines(path):
        name, tab, body = line.partition("\t")
        name, *conditions = name.strip().split("@")
        if not tab or name not in frames:
            raise PhrasebookError(f"{place}: `{line[:40]}`, expected frame<TAB>template and a frame of frames.csv; fix it")
        names = {slot for slot, _ in frames[name].slots} | {key for key in lexicon if key.startswith("_")}
        template = _template(name, conditions, body, names, place)
        if any(template.conditions == earlier.conditions for earlier in templates.get(name, ())):
            raise PhrasebookError(f"{place}: frame `{name}` a second time, expected once; remove one, or add a condition")
        templates.setdefault(name, []).append(template)
    # A sort on "has no condition" is stable: special wordings are tried in the order of the file, then the usual one.
    return {name: tuple(sorted(group, key=lambda template: not template.conditions)) for name, group in templates.items()}


def _template(name: str, conditions: list[str], body: str, names: set[str], place: str) -> Template:
    pairs = tuple((slot, part) for slot, _, part in (condition.partition("=") for condition in conditions))
    for slot, part in pairs:
        if slot not in names or not part:
            raise PhrasebookError(f"{place}: condition `@{slot}={part}`, expected @slot=class, a slot of {name}; fix it")
    words: list[TemplateWord] = []
    contractions: list[Contraction] = []
    opened: tuple[Text, int] | None = None
    for token in body.split():
        if token.startswith("[") and token.endswith("="):
            if opened:
                raise PhrasebookError(f"{place}: `{token}` inside another `[...]`, expected one at a time; close the first")
            opened = _text(token[1:-1], names, place), len(words) + 1
            continue
        closes = token.endswith("]")
        words.append(_template_word(token.removesuffix("]"), names, place))
        if closes:
            if not opened:
                raise PhrasebookError(f"{place}: `{token}` closes what nothing opens, expected `[surface= a b]`; fix it")
            contractions.append(Contraction(*opened, len(words)))
            opened = None
    if opened:
        raise PhrasebookError(f"{place}: `[` without `]`, expected `[surface= word word]`; close it after its last word")
    _check_tree([word.head for word in words], [word.relation for word in words], place)
    return Template(name, pairs, tuple(words), tuple(contractions), place)


def _template_word(token: str, names: set[str], place: str) -> TemplateWord:
    pieces = token.rsplit("/", 3)
    if len(pieces) != 4 or not pieces[0] or not pieces[2].isdecimal():
        raise PhrasebookError(f"{place}: word `{token}`, expected TEXT/UPOS/HEAD/RELATION; correct it")
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
                    raise PhrasebookError(
                        f"{place}: `{piece}` names `{needed}`, expected a slot of the frame or a function word "
                        "of lexicon.csv; correct it or add the line"
                    )
            pieces.append(Reference(name, key))
        elif "{" in piece or "}" in piece:
            raise PhrasebookError(f"{place}: `{text}` has a stray brace, expected {{slot:key}}; correct it")
        else:
            pieces.append(piece)
    return tuple(pieces)


def _check_tree(heads: list[int], relations: list[str], place: str) -> None:
    """Raise PhrasebookError unless there is one root with the relation root, all heads are in range and there is no cycle."""
    problem = tree_problem(heads, relations)
    if problem:
        raise PhrasebookError(f"{place}: {problem}, expected a tree with one root; correct the heads")


def tree_problem(heads: list[int], relations: list[str]) -> str:
    """The first reason why heads (1-based, 0 for the root) and relations are not a tree; empty if they are one."""
    if heads.count(0) != 1:
        return f"{heads.count(0)} roots"
    for number, head in enumerate(heads, start=1):
        if head > len(heads):
            return f"word {number} has head {head} of {len(heads)} words"
    for number, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
        if (head == 0) != (relation == "root"):
            return f"word {number} has head {head} and relation {relation}"
        visited, here = set(), number
        while here:
            if here in visited:
                return f"word {number} is in or below a cycle"
            visited.add(here)
            here = heads[here - 1]
    return ""
