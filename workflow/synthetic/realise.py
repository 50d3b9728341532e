"""Realisation of a meaning as a sentence with its words, tags, tree and entities."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from synthetic.grammar import Form, Grammar, Lexeme, Part, Reference, Template, Text, tree_problem
from synthetic.tables import DIGITS, SyntheticCorpusError, check

ENTITY_OF_KIND = {"name": "PER", "surname": "PER", "village": "LOC", "city": "LOC", "country": "LOC"}
CLOSING = frozenset(".,?!।؟،。、，？！；;:")
OPENING = frozenset("¿¡")
APOSTROPHES = ("'", "’")


@dataclass(frozen=True)
class Meaning:
    """Content of a sentence in any language: a frame and (slot, concept or digits) pairs in the order of the frame."""

    frame: str
    fillers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Word:
    """A syntactic word; `head` counts from 1, 0 for the root."""

    form: str
    lemma: str
    upos: str
    head: int
    relation: str
    space_after: bool


@dataclass(frozen=True)
class Range:
    """Words first..last (from 1, inclusive) that are written as one form."""

    first: int
    last: int
    form: str


@dataclass(frozen=True)
class Entity:
    """A name over words first..last (from 1, inclusive): PER or LOC."""

    first: int
    last: int
    type: str


@dataclass(frozen=True)
class Token:
    """A token as it is written, a range or a single word, which covers the words first..last (from 1, inclusive)."""

    form: str
    first: int
    last: int
    space_after: bool


@dataclass(frozen=True)
class Sentence:
    """A meaning as a sentence of one language."""

    language: str
    meaning: Meaning
    words: tuple[Word, ...]
    ranges: tuple[Range, ...]
    entities: tuple[Entity, ...]

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Ranges, and the words outside any range, in order."""
        start = {span.first: span for span in self.ranges}
        tokens, number = [], 1
        while number <= len(self.words):
            span = start.get(number, Range(number, number, self.words[number - 1].form))
            tokens.append(Token(span.form, span.first, span.last, self.words[span.last - 1].space_after))
            number = span.last + 1
        return tuple(tokens)

    @cached_property
    def text(self) -> str:
        """The sentence as it is written."""
        return "".join(token.form + " " * token.space_after for token in self.tokens).rstrip(" ")


@dataclass
class _Draft:
    """A word before its head is known.

    slot: the slot or function word that it expresses; empty for literal text. origin: number of its template word, from 1.
    relation: to the head of a compound form; empty on that head.
    """

    text: str
    lemma: str
    upos: str
    relation: str
    joined: bool
    origin: int
    slot: str = ""


@lru_cache(maxsize=4096)  # articles often share sentences, and three hypotheses share a premise
def realise(grammar: Grammar, meaning: Meaning) -> Sentence:
    """Sentence of a meaning. Raises SyntheticCorpusError, with the template's line, word and key, if a form is missing."""
    lookup = _Lookup(grammar, dict(meaning.fillers))
    template = lookup.template(meaning.frame)
    drafts = [draft for number in range(1, len(template.words) + 1) for draft in _drafts(lookup, template, number)]
    ranges = _ranges(lookup, template, drafts)
    words = _words(drafts, ranges, template, grammar.language.spaces)
    _capitalise(words, ranges, grammar.language.code)
    problem = tree_problem([word.head for word in words], [word.relation for word in words])
    check(not problem, template.place, f"expected a tree, found {problem} with {lookup.fillers}; correct the heads")
    return Sentence(
        grammar.language.code, meaning, tuple(words), tuple(ranges), tuple(_entities(grammar, meaning, drafts, words))
    )


@dataclass(frozen=True)
class _Lookup:
    """A language's words for the slots of a meaning."""

    grammar: Grammar
    fillers: Mapping[str, str]

    def template(self, frame: str) -> Template:
        """First template of a frame whose conditions are all met by the fillers."""
        for template in self.grammar.templates.get(frame, ()):
            classes = [(self.lexeme(slot).agreement, part) for slot, part in template.conditions]
            if all(part in (agreement, *agreement.split(".")) for agreement, part in classes):
                return template
        place = f"synthetic/{self.grammar.language.code}/frames.txt"
        raise SyntheticCorpusError(f"{place}: expected a template of {frame} without a condition, found none; add it")

    def lexeme(self, name: str) -> Lexeme:
        """Word for a slot or function word. Digits become a word of their own, with the class TENS.UNITS."""
        filler = self.fillers.get(name, name)
        if filler.isdecimal():
            part = Part(filler, filler, "NUM", "", False)
            return Lexeme(filler, Form((part,), 0), f"{filler[-2:-1]}.{filler[-1]}", {})
        place = f"synthetic/{self.grammar.language.code}/lexicon.csv"
        check(filler in self.grammar.lexicon, place, f"expected a line for `{filler}`, found none; add it")
        return self.grammar.lexicon[filler]

    def form(self, reference: Reference, place: str) -> Form:
        """Form that a `{name:key}` stands for. place: file and line of the template, for messages."""

        def agree(match: re.Match[str]) -> str:
            agreement = self.lexeme(match[1]).agreement
            parts = {str(number): part for number, part in enumerate(agreement.split("."), start=1)}
            return parts.get(match[2], "") if match[2] else agreement

        key = re.sub(r"@(\w+)(?:\.(\d+)(?!\w))?", agree, reference.key)
        key = re.sub(r"\.{2,}", ".", key).strip(".")
        lexeme = self.lexeme(reference.name)
        form = lexeme.form(key)
        if form is None:
            raise SyntheticCorpusError(
                f"{place}: `{{{reference.name}:{reference.key}}}` needs the form `{key}` of `{lexeme.name}`, which has only "
                f"{', '.join(lexeme.forms)}; add the form to lexicon.csv or correct the key"
            )
        return form

    def surface(self, text: Text, place: str) -> str:
        """Text of a template word or contraction as it is written, without tags."""
        pieces = (piece if isinstance(piece, str) else " ".join(p.text for p in self.form(piece, place).parts) for piece in text)
        return "".join(pieces)


def _drafts(lookup: _Lookup, template: Template, number: int) -> list[_Draft]:
    """Words that one template word becomes: usually one, several for a compound form, none for an empty form."""
    word = template.words[number - 1]
    position = next((at for at, piece in enumerate(word.text) if isinstance(piece, Reference)), len(word.text))
    before, references, after = word.text[:position], word.text[position : position + 1], word.text[position + 1 :]
    if not references:
        text = lookup.surface(before, template.place)
        lemma = word.lemma or lower(text, lookup.grammar.language.code)
        return [_Draft(text, lemma, word.upos, "", word.joined, number)]
    reference = references[0]
    assert isinstance(reference, Reference)
    form = lookup.form(reference, template.place)
    drafts = [_Draft(part.text, part.lemma, part.upos, part.relation, part.joined, number, reference.name) for part in form.parts]
    if drafts:
        drafts[0].text = lookup.surface(before, template.place) + drafts[0].text
        drafts[-1].text += lookup.surface(after, template.place)
        drafts[-1].joined |= word.joined
        drafts[form.head].upos = word.upos or drafts[form.head].upos
        drafts[form.head].lemma = word.lemma or drafts[form.head].lemma
    return drafts


def _ranges(lookup: _Lookup, template: Template, drafts: list[_Draft]) -> list[Range]:
    """Multiword ranges of the contractions that apply.

    A contraction without a surface joins its words. If its surface turns out empty or has a space, its words stay separate.
    """
    ranges = []
    for contraction in template.contractions:
        inside = [number for number, draft in enumerate(drafts, start=1) if contraction.first <= draft.origin <= contraction.last]
        surface = lookup.surface(contraction.surface, template.place).strip()
        if not contraction.surface:
            surface = "".join(drafts[number - 1].text for number in inside)
        if len(inside) > 1 and surface and " " not in surface:
            ranges.append(Range(inside[0], inside[-1], surface))
    return ranges


def _words(drafts: list[_Draft], ranges: list[Range], template: Template, spaces: bool) -> list[Word]:
    """Words of the drafts. Heads are numbers of words in the sentence; spaces follow the writing system."""
    head_of = {draft.origin: number for number, draft in enumerate(drafts, start=1) if not draft.relation}
    surface = {span.last: span.form for span in ranges}
    words = []
    for number, draft in enumerate(drafts, start=1):
        head, relation = head_of[draft.origin], draft.relation
        if not relation:
            rule = template.words[draft.origin - 1]
            fault = f"expected the head of word {draft.origin} in the sentence, but word {rule.head} is omitted (empty form)"
            remedy = "give the word another head, or a template of its own with a condition"
            check(not rule.head or rule.head in head_of, template.place, f"{fault}; {remedy}")
            head, relation = head_of.get(rule.head, 0), rule.relation
        form = surface.get(number, draft.text)
        following = drafts[number].text if number < len(drafts) else ""
        apart = not draft.joined and not form.endswith(APOSTROPHES) and form not in OPENING and following not in CLOSING
        words.append(Word(draft.text, draft.lemma, draft.upos, head, relation, spaces and apart))
    return words


def _capitalise(words: list[Word], ranges: list[Range], language: str) -> None:
    """Capitalise the sentence's first letter, in its word and in the range that the word opens; not after digits."""
    for number, word in enumerate(words, start=1):
        if any(letter.isalpha() for letter in word.form):
            words[number - 1] = replace(word, form=capital(word.form, language))
            ranges[:] = [replace(span, form=capital(span.form, language)) if span.first == number else span for span in ranges]
        if any(letter.isalnum() for letter in word.form):
            return


def capital(text: str, language: str) -> str:
    """Text with its first letter in title case (which Georgian, for one, does not have), i as İ in Turkish and Azerbaijani."""
    for at, letter in enumerate(text):
        if letter.isalpha():
            large = "İ" if letter == "i" and language in ("tr", "az") else letter.title()
            return text[:at] + large + text[at + 1 :]
    return text


def lower(text: str, language: str) -> str:
    """Text in lower case, with dotted and dotless i kept apart in Turkish and Azerbaijani."""
    if language in ("tr", "az"):
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def _entities(grammar: Grammar, meaning: Meaning, drafts: list[_Draft], words: list[Word]) -> list[Entity]:
    """Names in a sentence. A first name and a surname with at most punctuation between them are one person."""
    kinds = dict(grammar.frames[meaning.frame].slots)
    entities: list[Entity] = []
    previous = ""
    for number, draft in enumerate(drafts, start=1):
        kind = kinds.get(draft.slot, "")
        # The adjective of a country (`Polish`) is not a name.
        if kind not in ENTITY_OF_KIND or draft.slot in DIGITS or draft.upos not in ("PROPN", "NOUN"):
            continue
        last = entities[-1] if entities else None
        between = words[last.last : number - 1] if last else []
        same = last and drafts[last.last - 1].origin == draft.origin
        full = last and {previous, kind} == {"name", "surname"} and all(word.upos in ("PUNCT", "SYM") for word in between)
        if last and (same or full):
            entities[-1] = replace(last, last=number)
        else:
            entities.append(Entity(number, number, ENTITY_OF_KIND[kind]))
        previous = kind
    return entities
