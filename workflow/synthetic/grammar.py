"""One language of the synthetic corpus: its words, forms and wordings, read and checked.

Source: resources/synthetic; its README.md describes the format of each file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from synthetic.tables import (
    TABLES,
    Animal,
    Frame,
    Language,
    check,
    lines,
    read_animals,
    read_concepts,
    read_frames,
    read_languages,
    read_related,
    rows,
)

UPOS = tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
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
    """Words of a form in order, none if the language leaves the concept out. head: index of the head among them."""

    parts: tuple[Part, ...]
    head: int


@dataclass(frozen=True)
class Lexeme:
    """A concept or a function word in one language. agreement: class that other words agree with, such as gender."""

    name: str
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
    """One word of a template. An empty `upos` or `lemma` is taken from the lexicon."""

    text: Text
    lemma: str
    upos: str
    head: int
    relation: str
    joined: bool


@dataclass(frozen=True)
class Contraction:
    """Template words first..last (from 1) that are written as one. If `surface` is empty, their forms are joined."""

    surface: Text
    first: int
    last: int


@dataclass(frozen=True)
class Template:
    """How a language expresses a frame, if the classes of the fillers meet all conditions (slot, part of class)."""

    conditions: tuple[tuple[str, str], ...]
    words: tuple[TemplateWord, ...]
    contractions: tuple[Contraction, ...]
    place: str  # file and line, for messages


@dataclass(frozen=True, eq=False)
class Grammar:
    """One language: lexemes by name, templates by frame (those with conditions first). A grammar equals only itself."""

    language: Language
    concepts: Mapping[str, tuple[str, ...]]
    frames: Mapping[str, Frame]
    animals: Mapping[str, Animal]
    opposites: Mapping[str, tuple[str, ...]]
    overlaps: Mapping[str, tuple[str, ...]]
    lexicon: Mapping[str, Lexeme]
    templates: Mapping[str, tuple[Template, ...]]

    @cache  # noqa: B019  # a grammar lives as long as the program
    def fillers(self, kind: str) -> tuple[str, ...]:
        """The concepts of a kind, in the order of the table."""
        return tuple(name for name, kinds in self.concepts.items() if kind in kinds)


@cache
def read_grammar(language: str, tables: Path = TABLES) -> Grammar:
    """Read the tables of one language, given by its ISO 639-1 code."""
    languages = read_languages(tables)
    check(
        language in languages, f"{tables / 'languages.csv'}", f"no line for `{language}`, expected one for each language; add it"
    )
    concepts, frames = read_concepts(tables), read_frames(tables)
    lexicon = _read_lexicon(tables / language / "lexicon.csv", concepts)
    templates = _read_templates(tables / language / "frames.txt", frames, lexicon)
    opposites, overlaps = read_related("opposites", tables), read_related("overlaps", tables)
    return Grammar(languages[language], concepts, frames, read_animals(tables), opposites, overlaps, lexicon, templates)


def _read_lexicon(path: Path, concepts: Mapping[str, tuple[str, ...]]) -> dict[str, Lexeme]:
    lexicon: dict[str, Lexeme] = {}
    for place, (name, upos, lemma, agreement, forms) in rows(path, "concept,upos,lemma,class,forms"):
        check(name not in lexicon, place, f"`{name}` a second time, expected one line for each; remove one of them")
        check(
            name in concepts or name.startswith("_"),
            place,
            f"`{name}` is no concept of concepts.csv; correct it, or begin a function word with `_`",
        )
        check(lemma or forms, place, f"`{name}` has neither lemma nor forms, expected a lemma; fill the third cell in")
        check(" " not in agreement, place, f"class `{agreement}` has a space, expected parts separated by dots; join them")
        _check_tags(upos, "root", place)
        citation = _form(lemma, upos, "", place)
        head_lemma = citation.parts[citation.head].lemma if citation.parts else ""
        table: dict[str, Form] = {}
        for pair in filter(str.strip, forms.split(";")):
            key, equals, text = (piece.strip() for piece in pair.partition("="))
            expected = "expected key=form with each key once, separated by `;`; fix it"
            check(equals and key and key not in table, place, f"form `{pair.strip()}`, {expected}")
            table[key] = _form(text, upos, head_lemma, place)
        lexicon[name] = Lexeme(name, citation, agreement, table)
    return lexicon


def _form(text: str, upos: str, lemma: str, place: str) -> Form:
    """Form of a cell: words separated by spaces, all but the head marked `word/UPOS/relation`.

    upos, lemma: those of the head, unless the cell has another lemma.
    """
    parts, heads = [], []
    for position, word in enumerate(text.split()):
        surface, *marks = word.split("/")
        check(len(marks) in (0, 2), place, f"`{word}` in form `{text}`, expected word or word/UPOS/relation; mark it so")
        surface, _, word_lemma = surface.partition("=")
        joined = surface.endswith("_")
        surface = surface.removesuffix("_")
        if marks:
            part_upos, relation = marks
            _check_tags(part_upos, relation, place)
            parts.append(Part(surface, word_lemma or surface.lower(), part_upos, relation, joined))
        else:
            heads.append(position)
            parts.append(Part(surface, word_lemma or lemma or surface, upos, "", joined))
    check(
        not parts or len(heads) == 1,
        place,
        f"form `{text}` has {len(heads)} words without a mark, expected one (the head); mark the others as word/UPOS/relation",
    )
    return Form(tuple(parts), heads[0] if heads else 0)


def _check_tags(upos: str, relation: str, place: str) -> None:
    check(upos in UPOS, place, f"upos `{upos}`, expected one of {' '.join(sorted(UPOS))}; correct it")
    check(
        relation.split(":")[0] in RELATIONS, place, f"relation `{relation}`, expected one of Universal Dependencies; correct it"
    )


def _read_templates(path: Path, frames: Mapping[str, Frame], lexicon: Mapping[str, Lexeme]) -> dict[str, tuple[Template, ...]]:
    templates: dict[str, list[Template]] = {}
    for place, line in lines(path):
        name, tab, body = line.partition("\t")
        name, *conditions = name.strip().split("@")
        expected = "expected frame<TAB>template and a frame of frames.csv; fix it"
        check(tab and name in frames, place, f"`{line[:40]}`, {expected}")
        names = {slot for slot, _ in frames[name].slots} | {key for key in lexicon if key.startswith("_")}
        template = _template(name, conditions, body, names, place)
        is_new = all(template.conditions != earlier.conditions for earlier in templates.get(name, ()))
        check(is_new, place, f"frame `{name}` a second time, expected once; remove one, or add a condition")
        templates.setdefault(name, []).append(template)
    # The sort is stable: templates with conditions are tried in the order of the file, then the one without.
    return {name: tuple(sorted(group, key=lambda template: not template.conditions)) for name, group in templates.items()}


def _template(name: str, conditions: list[str], body: str, names: set[str], place: str) -> Template:
    pairs = tuple((slot, part) for slot, _, part in (condition.partition("=") for condition in conditions))
    for slot, part in pairs:
        check(slot in names and part, place, f"condition `@{slot}={part}`, expected @slot=class, a slot of {name}; fix it")
    words: list[TemplateWord] = []
    contractions: list[Contraction] = []
    opened: tuple[Text, int] | None = None
    for token in body.split():
        if token.startswith("[") and token.endswith("="):
            check(not opened, place, f"`{token}` inside another `[...]`, expected one at a time; close the first")
            opened = _text(token[1:-1], names, place), len(words) + 1
            continue
        words.append(_template_word(token.removesuffix("]"), names, place))
        if token.endswith("]"):
            check(opened, place, f"`{token}` closes what nothing opens, expected `[surface= a b]`; fix it")
            contractions += [Contraction(*opened, len(words))] if opened else []
            opened = None
    check(not opened, place, "`[` without `]`, expected `[surface= word word]`; close it after its last word")
    problem = tree_problem([word.head for word in words], [word.relation for word in words])
    check(not problem, place, f"{problem}, expected a tree with one root; correct the heads")
    return Template(pairs, tuple(words), tuple(contractions), place)


def _template_word(token: str, names: set[str], place: str) -> TemplateWord:
    pieces = token.rsplit("/", 3)
    is_word = len(pieces) == 4 and pieces[0] and pieces[2].isdecimal()
    check(is_word, place, f"word `{token}`, expected TEXT/UPOS/HEAD/RELATION; correct it")
    text, upos, head, relation = pieces
    joined = text.endswith("_") and len(text) > 1
    text = text.removesuffix("_") if joined else text
    lemma = ""
    if (match := re.fullmatch(r"(.+)=([^={}]+)", text)) is not None:
        text, lemma = match.groups()
        joined = joined or text.endswith("_")
        text = text.removesuffix("_")
    content = _text(text, names, place)
    has_reference = any(isinstance(piece, Reference) for piece in content)
    _check_tags("X" if has_reference and not upos else upos, relation, place)
    return TemplateWord(content, lemma, upos, int(head), relation, joined)


def _text(text: str, names: set[str], place: str) -> Text:
    """Literal strings and references of a TEXT, in order."""
    pieces: list[str | Reference] = []
    for piece in filter(None, re.split(r"(\{[^{}]*\})", text)):
        if not (piece.startswith("{") and piece.endswith("}")):
            check("{" not in piece and "}" not in piece, place, f"`{text}` has a stray brace, expected {{slot:key}}; correct it")
            pieces.append(piece)
            continue
        name, _, key = piece[1:-1].partition(":")
        for needed in (name, *re.findall(r"@(\w+)", key)):
            expected = "expected a slot of the frame or a function word of lexicon.csv; correct it or add the line"
            check(needed in names, place, f"`{piece}` names `{needed}`, {expected}")
        pieces.append(Reference(name, key))
    return tuple(pieces)


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
