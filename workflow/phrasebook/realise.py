"""Realisation of a meaning as a sentence with its words, tags, tree and entities."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from phrasebook.errors import PhrasebookError
from phrasebook.grammar import Form, Grammar, Lexeme, Part, Reference, Template, Text, tree_problem
from phrasebook.tables import DIGITS

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
    feats: str = "_"


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
    """A token as it is written, a range or a word, with the words first..last that it holds."""

    form: str
    first: int
    last: int
    space_after: bool


@dataclass(frozen=True)
class Sentence:
    """One meaning in one language."""

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
    """A word before its head is known: `slot` is the slot that it fills, `origin` the number of its template word."""

    part: Part
    upos: str
    lemma: str
    origin: int
    slot: str
    is_head: bool


@lru_cache(maxsize=4096)  # articles often share sentences, and three hypotheses share a premise
def realise(grammar: Grammar, meaning: Meaning) -> Sentence:
    """The sentence of a meaning in a language. Raises PhrasebookError, which names frame, word and key, if a form is missing."""
    fillers = dict(meaning.fillers)
    template = _choose(grammar, meaning, fillers)
    drafts: list[_Draft] = []
    for number in range(1, len(template.words) + 1):
        drafts += _drafts(grammar, template, fillers, number)
    head_of = {draft.origin: position for position, draft in enumerate(drafts, start=1) if draft.is_head}
    words = [_word(draft, template, head_of) for draft in drafts]
    ranges = _ranges(grammar, template, fillers, drafts)
    words = _spaced(words, ranges, drafts, template, grammar.language.spaces)
    words, ranges = _capitalised(words, ranges, grammar.language.code)
    problem = tree_problem([word.head for word in words], [word.relation for word in words])
    if problem:
        raise PhrasebookError(f"{template.place}: expected a tree, found {problem} with {fillers}; correct the heads")
    entities = _entities(grammar, meaning, drafts, words)
    return Sentence(grammar.language.code, meaning, tuple(words), tuple(ranges), tuple(entities))


def _choose(grammar: Grammar, meaning: Meaning, fillers: Mapping[str, str]) -> Template:
    """The first template all of whose conditions the fillers meet."""
    for template in grammar.templates.get(meaning.frame, ()):
        if all(_meets(_agreement(grammar, slot, fillers), part) for slot, part in template.conditions):
            return template
    raise PhrasebookError(
        f"phrasebook/{grammar.language.code}/frames.txt: expected a template of {meaning.frame} without a condition, found none "
        f"for {dict(fillers)}; add it"
    )


def _meets(agreement: str, part: str) -> bool:
    return agreement == part or part in agreement.split(".")


def _lexeme(grammar: Grammar, name: str, fillers: Mapping[str, str]) -> Lexeme:
    """The word for a slot or function word; digits become a word of their own, with class TENS.UNITS."""
    filler = fillers.get(name, name)
    if filler.isdecimal():
        part = Part(filler, filler, "NUM", "", False)
        return Lexeme(filler, "NUM", Form((part,), 0), f"{filler[-2:-1]}.{filler[-1]}", {})
    if filler not in grammar.lexicon:
        raise PhrasebookError(
            f"phrasebook/{grammar.language.code}/lexicon.csv: expected a line for `{filler}`, found none; add it"
        )
    return grammar.lexicon[filler]


def _agreement(grammar: Grammar, name: str, fillers: Mapping[str, str]) -> str:
    return _lexeme(grammar, name, fillers).agreement


def _resolve(grammar: Grammar, reference: Reference, fillers: Mapping[str, str], place: str) -> tuple[Lexeme, Form]:
    """The lexeme and form that a `{name:key}` stands for."""

    def agree(match: re.Match[str]) -> str:
        agreement = _agreement(grammar, match[1], fillers)
        if match[2] is None:
            return agreement
        parts = agreement.split(".")
        return parts[int(match[2]) - 1] if int(match[2]) <= len(parts) else ""

    lexeme = _lexeme(grammar, reference.name, fillers)
    key = re.sub(r"@(\w+)(?:\.(\d+)(?!\w))?", agree, reference.key)
    key = re.sub(r"\.{2,}", ".", key).strip(".")
    form = lexeme.form(key)
    if form is None:
        raise PhrasebookError(
            f"{place}: `{{{reference.name}:{reference.key}}}` needs the form `{key}` of `{lexeme.name}`, which has only "
            f"{', '.join(lexeme.forms)}; add the form to lexicon.csv or correct the key"
        )
    return lexeme, form


def _drafts(grammar: Grammar, template: Template, fillers: Mapping[str, str], number: int) -> list[_Draft]:
    """The words that one template word becomes: usually one, several for a compound form, none for an empty one."""
    word = template.words[number - 1]
    match = next(((at, piece) for at, piece in enumerate(word.text) if isinstance(piece, Reference)), None)
    if match is None:
        text = "".join(map(str, word.text))
        lemma = word.lemma or lower(text, grammar.language.code)
        return [_Draft(Part(text, lemma, word.upos, "", word.joined), word.upos, lemma, number, "", True)]
    position, reference = match
    lexeme, form = _resolve(grammar, reference, fillers, template.place)
    if not form.parts:
        return []
    before = _surface(grammar, word.text[:position], fillers, template.place)
    after = _surface(grammar, word.text[position + 1 :], fillers, template.place)
    parts = list(form.parts)
    # Mostly there is nothing to add, and `replace` is slow.
    if before:
        parts[0] = replace(parts[0], text=before + parts[0].text)
    if after or word.joined:
        parts[-1] = replace(parts[-1], text=parts[-1].text + after, joined=parts[-1].joined or word.joined)
    drafts = []
    for at, part in enumerate(parts):
        is_head = at == form.head
        upos = word.upos if is_head and word.upos else part.upos
        lemma = word.lemma if is_head and word.lemma else part.lemma
        drafts.append(_Draft(part, upos, lemma, number, reference.name, is_head))
    return drafts


def _surface(grammar: Grammar, text: Text, fillers: Mapping[str, str], place: str) -> str:
    """A TEXT as it is written, without tags."""
    pieces = []
    for piece in text:
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            parts = _resolve(grammar, piece, fillers, place)[1].parts
            pieces.append(" ".join(part.text for part in parts))
    return "".join(pieces)


def _word(draft: _Draft, template: Template, head_of: Mapping[int, int]) -> Word:
    """A draft with its head counted over the sentence's words."""
    if not draft.is_head:
        return Word(draft.part.text, draft.lemma, draft.upos, head_of[draft.origin], draft.part.relation, True)
    rule = template.words[draft.origin - 1]
    if rule.head and rule.head not in head_of:
        raise PhrasebookError(
            f"{template.place}: expected the head of word {draft.origin} in the sentence, but word {rule.head} is omitted (empty "
            "form); give the word another head, or a template of its own with a condition"
        )
    head = head_of[rule.head] if rule.head else 0
    return Word(draft.part.text, draft.lemma, draft.upos, head, rule.relation, True)


def _ranges(grammar: Grammar, template: Template, fillers: Mapping[str, str], drafts: list[_Draft]) -> list[Range]:
    """The contractions that apply: a surface that is empty or has a space leaves its words apart."""
    ranges = []
    for contraction in template.contractions:
        inside = [number for number, draft in enumerate(drafts, start=1) if contraction.first <= draft.origin <= contraction.last]
        surface = _surface(grammar, contraction.surface, fillers, template.place).strip()
        if not contraction.surface:
            surface = "".join(drafts[number - 1].part.text for number in inside)
        if len(inside) > 1 and surface and " " not in surface:
            ranges.append(Range(inside[0], inside[-1], surface))
    return ranges


def _spaced(words: list[Word], ranges: list[Range], drafts: list[_Draft], template: Template, spaces: bool) -> list[Word]:
    """Words with `space_after` as the writing system has it."""
    surface = {span.last: span.form for span in ranges}
    spaced = []
    for number, (word, draft) in enumerate(zip(words, drafts, strict=True), start=1):
        form = surface.get(number, word.form)
        following = words[number].form if number < len(words) else ""
        space = (
            spaces
            and not draft.part.joined
            and not form.endswith(APOSTROPHES)
            and form not in OPENING
            and following not in CLOSING
        )
        spaced.append(word if space == word.space_after else replace(word, space_after=space))
    return spaced


def _capitalised(words: list[Word], ranges: list[Range], language: str) -> tuple[list[Word], list[Range]]:
    """The sentence's first letter as a capital, in the word and in the range that it opens."""
    for number, word in enumerate(words, start=1):
        if any(letter.isalpha() for letter in word.form):
            words = [*words[: number - 1], replace(word, form=capital(word.form, language)), *words[number:]]
            ranges = [replace(span, form=capital(span.form, language)) if span.first == number else span for span in ranges]
            break
        if any(letter.isdecimal() for letter in word.form):
            break
    return words, ranges


def capital(text: str, language: str) -> str:
    """The text with its first letter in title case (which Georgian, for one, does not have); dotted i in Turkish."""
    for at, letter in enumerate(text):
        if letter.isalpha():
            large = "İ" if letter == "i" and language in ("tr", "az") else letter.title()
            return text[:at] + large + text[at + 1 :]
    return text


def lower(text: str, language: str) -> str:
    """The text in lower case, with Turkish dotted and dotless i kept apart."""
    if language in ("tr", "az"):
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def _entities(grammar: Grammar, meaning: Meaning, drafts: list[_Draft], words: list[Word]) -> list[Entity]:
    """Names over words; a first name and a surname with at most punctuation between them are one person."""
    kinds = dict(grammar.frames[meaning.frame].slots)
    entities: list[Entity] = []
    previous = ""
    for number, draft in enumerate(drafts, start=1):
        kind = kinds.get(draft.slot, "")
        # An adjective of a country (`Polish`) is no name.
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
