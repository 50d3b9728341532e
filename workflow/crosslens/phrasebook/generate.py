"""From one seed: treebanks in an everyday register and articles in an encyclopedic one.

Every use draws from a stream of its own, named by a key, so that asking for one thing more changes no other; the
parallel set's key names no language, so that all languages say the same.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from crosslens.errors import DataError
from crosslens.phrasebook.grammar import Grammar
from crosslens.phrasebook.realise import Meaning, Sentence, capital, realise
from crosslens.phrasebook.tables import Frame

Item = TypeVar("Item")
Drawn = TypeVar("Drawn", bound=Hashable)

SPLITS = ("train", "dev", "test", "parallel")
SHARES = {"train": 60, "dev": 10, "test": 15, "parallel": 15}
"""Percent of the meanings without a held-out pair."""
HELD_OUT = 8
"""Percent of all pairs of fillers (buy + hat, doctor + wait, ...) that train and dev never show together."""
PATIENCE = 1000
"""Draws in a row without anything new after which a split counts as exhausted."""
MINIMUM_CHARACTERS = 100
"""Length of the shortest paragraph (tanti2021, section 2, leaves shorter ones out)."""


class Stream:
    """Random choices that depend on a seed and a key only.

    Built on `random.Random.random`, whose sequence for a string seed is the same in every version of Python.
    """

    def __init__(self, seed: int, *key: str) -> None:
        """Starts the stream of a seed and a key."""
        self._random = random.Random("/".join((str(seed), *key)))

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random.random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self._random.random() < share

    def pick(self, options: Sequence[Item]) -> Item:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffled(self, options: Iterable[Item]) -> list[Item]:
        """The options in random order."""
        items = list(options)
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
        return items


def different(drawn: Callable[[int], Drawn | None], n: int, asked: str) -> tuple[Drawn, ...]:
    """`n` different things, from draws that are given the number found so far and may give nothing.

    asked: what and of what, for the message where there are too few.
    """
    found: dict[Drawn, None] = {}
    misses = 0
    while len(found) < n:
        thing = drawn(len(found))
        if thing is not None and thing not in found:
            found[thing] = None
            misses = 0
        else:
            misses += 1
        if misses == PATIENCE:
            raise DataError(f"phrasebook: {n} {asked}, {len(found)} found; ask for fewer or add concepts")
    return tuple(found)


# Treebanks.


def _percent(*key: str) -> int:
    """A fixed number from 0 to 99 for a key."""
    return int.from_bytes(hashlib.sha256("/".join(key).encode()).digest()[:8], "big") % 100


def split_of(meaning: Meaning) -> str:
    """The one split of SPLITS that a meaning may occur in; a property of the meaning, the same for every seed.

    Meanings with a held-out pair of fillers are for test and parallel only: words of train in combinations new to it.
    """
    concepts = sorted(filler for _, filler in meaning.fillers)
    place = _percent("split", meaning.frame, *itertools.chain(*meaning.fillers))
    if any(_percent("pair", *pair) < HELD_OUT for pair in itertools.combinations(concepts, 2)):
        return "test" if place < 50 else "parallel"
    for split, share in SHARES.items():
        if place < share:
            return split
        place -= share
    raise AssertionError("shares add up to 100")


def draw(grammar: Grammar, frame: Frame, stream: Stream) -> Meaning:
    """A random meaning of a frame; no filler occurs twice."""
    chosen: dict[str, str] = {}
    for slot, kind in frame.slots:
        if kind == "number":
            chosen[slot] = str(10 * stream.between(12, 98))
        elif kind == "year":
            chosen[slot] = str(stream.between(1801, 1999))
        else:
            chosen[slot] = stream.pick([name for name in grammar.fillers(kind) if name not in chosen.values()])
    return Meaning(frame.name, tuple(chosen.items()))


def treebank(grammar: Grammar, split: str, n: int, seed: int) -> tuple[Sentence, ...]:
    """`n` different sentences of the everyday register from one split of SPLITS.

    The parallel split has the same meanings in the same order in all languages; the others differ between languages.
    """
    if split not in SPLITS:
        raise ValueError(f"split {split!r}, expected one of {', '.join(SPLITS)}")
    key = ("treebank", split) if split == "parallel" else ("treebank", split, grammar.language.code)
    stream = Stream(seed, *key)
    frames = [frame for frame in grammar.frames.values() if frame.register == "everyday"]

    def drawn(_: int) -> Meaning | None:
        meaning = draw(grammar, stream.pick(frames), stream)
        return meaning if split_of(meaning) == split else None

    meanings = different(drawn, n, f"sentences asked of the {split} split")
    return tuple(realise(grammar, meaning) for meaning in meanings)


# Articles.

TOPICS = ("village", "history", "nature", "person")
"""What a paragraph may be about."""


@dataclass(frozen=True)
class Paragraph:
    """Sentences about the same things; `text` is the plain paragraph."""

    sentences: tuple[Sentence, ...]
    text: str
    topic: str
    """One of TOPICS."""


@dataclass(frozen=True)
class Article:
    """A page: everything that its paragraphs say agrees, and `topic` is village or person."""

    language: str
    title: str
    topic: str
    paragraphs: tuple[Paragraph, ...]


Unit = tuple[Meaning, ...]
"""Sentences that stay together in this order."""


def articles(grammar: Grammar, n: int, seed: int, *key: str) -> tuple[Article, ...]:
    """`n` articles with different titles, each paragraph of at least 100 characters. No sentence is in two articles, so that
    splits by article share none.

    Other languages get other articles, and so do other keys: the drawn facts depend on both. No key: those of the dump.
    """
    written = tuple(itertools.islice(_articles(grammar, seed, *key), n))
    if len(written) < n:
        raise DataError(f"phrasebook: {n} articles asked, {len(written)} are all there are; ask for fewer")
    return written


def paragraphs(grammar: Grammar, n: int, seed: int, *key: str) -> tuple[Paragraph, ...]:
    """`n` different paragraphs of at least 100 characters, from the articles of a key."""
    found = tuple(
        itertools.islice((paragraph for article in _articles(grammar, seed, *key) for paragraph in article.paragraphs), n)
    )
    if len(found) < n:
        raise DataError(f"phrasebook: {n} paragraphs asked, {len(found)} are all there are; ask for fewer")
    return found


def passage(grammar: Grammar, topic: str, stream: Stream) -> tuple[Sentence, ...]:
    """Some four to ten sentences on one of TOPICS, without regard to how long they are."""
    country = stream.pick(grammar.fillers("country"))
    if topic == "person":
        name, surname = (stream.pick(grammar.fillers(kind)) for kind in ("name", "surname"))
        units = _life(grammar, (name, surname), country, stream)
    else:
        village = _say("w01", village=stream.pick(grammar.fillers("village")), country=country)
        told = {
            "village": itertools.chain([(village,)], _facts(grammar, stream)),
            "history": _history(iter(stream.shuffled(grammar.fillers("building"))), stream),
            "nature": _nature(grammar, country, stream),
        }
        units = list(itertools.islice(told[topic], stream.between(2, 3) if topic == "nature" else stream.between(4, 6)))
    return tuple(realise(grammar, meaning) for unit in units for meaning in unit)


def _articles(grammar: Grammar, seed: int, *key: str) -> Iterator[Article]:
    """All articles of a key, one after the other."""
    stream = Stream(seed, *key, "articles", grammar.language.code)
    subjects: list[tuple[str, str]] = stream.shuffled(
        itertools.chain(
            itertools.product(grammar.fillers("village"), grammar.fillers("country")),
            itertools.product(grammar.fillers("name"), grammar.fillers("surname")),
        )
    )
    said: set[str] = set()
    villages = set(grammar.fillers("village"))
    for subject in subjects:
        own = Stream(seed, *key, "article", grammar.language.code, *subject)
        write = _village_article if subject[0] in villages else _person_article
        article = write(grammar, subject, own, frozenset(said))
        if article.paragraphs:
            said.update(sentence.text for paragraph in article.paragraphs for sentence in paragraph.sentences)
            yield article


def joined(sentences: Iterable[Sentence], spaces: bool) -> str:
    """The text of a paragraph."""
    return (" " if spaces else "").join(sentence.text for sentence in sentences)


def _paragraph(
    grammar: Grammar, stream: Stream, topic: str, units: Iterator[Unit], said: Set[str], frame: tuple[Unit, Unit] = ((), ())
) -> Paragraph | None:
    """Units of which nothing is said elsewhere, until the text has a random target length, between those of a frame.

    None if they give under 100 characters, or if the frame is said elsewhere.
    """
    # Not long, so that encoders take them whole. Scripts without spaces say more in 100 characters.
    target = stream.between(MINIMUM_CHARACTERS, 180 if grammar.language.spaces else 110)
    sentences, end = ([realise(grammar, meaning) for meaning in unit] for unit in frame)
    if any(sentence.text in said for sentence in sentences + end):
        return None
    for unit in units:
        found = [realise(grammar, meaning) for meaning in unit]
        if all(sentence.text not in said for sentence in found):
            sentences += found
        if len(joined(sentences + end, grammar.language.spaces)) >= target:
            break
    text = joined(sentences + end, grammar.language.spaces)
    return Paragraph(tuple(sentences + end), text, topic) if len(text) >= MINIMUM_CHARACTERS else None


def _say(frame: str, **chosen: str) -> Meaning:
    return Meaning(frame, tuple(chosen.items()))


def _village_article(grammar: Grammar, subject: tuple[str, str], stream: Stream, said: Set[str]) -> Article:
    """The village and its country, then history, animals around and people, in an order of the article's own."""
    village, country = subject
    buildings = iter(stream.shuffled(grammar.fillers("building")) + [""])
    history = _history(buildings, stream)
    lead = (_say("w01", village=village, country=country),)
    paragraphs = [_paragraph(grammar, stream, "village", itertools.chain(_facts(grammar, stream), history), said, (lead, ()))]
    people = iter(stream.shuffled(grammar.fillers("name")))
    surnames = iter(stream.shuffled(grammar.fillers("surname")))
    sections = ["history", "nature", "nature"] + ["person"] * stream.between(1, 3)
    animals = _nature(grammar, country, stream)
    for section in stream.shuffled(sections):
        if section == "person":
            name = (next(people), next(surnames))
            who, birth, *books, death = _life(grammar, name, country, stream)
            paragraphs.append(_paragraph(grammar, stream, section, iter(books), said, (who + birth, death)))
        else:
            paragraphs.append(_paragraph(grammar, stream, section, history if section == "history" else animals, said))
    title = f"{_citation(grammar, village)} ({_citation(grammar, country)})"
    return Article(grammar.language.code, title, "village", tuple(filter(None, paragraphs)))


def _person_article(grammar: Grammar, subject: tuple[str, str], stream: Stream, said: Set[str]) -> Article:
    """One life; the title is the name as its first sentence has it."""
    who, birth, *books, death = _life(grammar, subject, stream.pick(grammar.fillers("country")), stream)
    paragraph = _paragraph(grammar, stream, "person", iter(books), said, (who + birth, death))
    sentence = realise(grammar, who[0])
    return Article(grammar.language.code, name_in(sentence), "person", (paragraph,) if paragraph else ())


def name_in(sentence: Sentence) -> str:
    """The first name of a sentence as it is written there."""
    entity = sentence.entities[0]
    tokens = [token for token in sentence.tokens if entity.first <= token.first and token.last <= entity.last]
    return "".join(token.form + " " * token.space_after for token in tokens).strip()


def _citation(grammar: Grammar, concept: str) -> str:
    """A concept as a title has it: the lemma with a capital."""
    parts = grammar.lexicon[concept].lemma.parts
    return capital((" " if grammar.language.spaces else "").join(part.text for part in parts), grammar.language.code)


def _facts(grammar: Grammar, stream: Stream) -> Iterator[Unit]:
    """What the first paragraph says of the village after its first sentence, never two sizes or trades."""
    landforms = stream.shuffled(grammar.fillers("landform"))
    buildings = stream.shuffled(grammar.fillers("building"))
    qualities = grammar.fillers("quality_landform")
    units: list[Unit] = [
        (draw(grammar, grammar.frames["w02"], stream),),
        (draw(grammar, grammar.frames["w06"], stream),),
    ]
    units += [(_say("w03", quality=stream.pick(qualities), landform=landform),) for landform in landforms[:2]]
    units += [(_say("w04", building=building),) for building in buildings[:2]]
    return iter(stream.shuffled(units))


def _history(buildings: Iterator[str], stream: Stream) -> Iterator[Unit]:
    """Each building once, built or opened, as time goes on."""
    year = stream.between(1801, 1830)
    for building in buildings:
        if not building or year > 1999:
            return
        if year > 1850 and stream.chance(0.5):
            yield (_say("w14", year=str(year), building=building),)
        else:
            yield (_say("w05", building=building, year=str(year)),)
        year += stream.between(3, 22)


def _nature(grammar: Grammar, country: str, stream: Stream) -> Iterator[Unit]:
    """Each wild animal of a country once: what it is like, where it lives, what it eats."""
    for animal, facts in stream.shuffled(grammar.animals.items()):
        quality, landform = stream.pick(facts.qualities), stream.pick(facts.landforms)
        diet, other = stream.shuffled(facts.diets)[:2]
        unit: Unit = (
            _say("w07", country=country, animal=animal, quality=quality),
            _say("w08", country=country, animal=animal, landform=landform),
        )
        if stream.chance(0.7):
            unit += (_say("w09", country=country, diet=diet, diet2=other),)
        yield unit


def _life(grammar: Grammar, subject: tuple[str, str], country: str, stream: Stream) -> list[Unit]:
    """Who it was, birth, books one by one, and at the end death, 35 to 85 years after birth."""
    name, surname = subject
    birth = stream.between(1801, 1910)
    death = birth + stream.between(35, 85)
    cities = stream.shuffled(grammar.fillers("city"))
    profession = stream.pick(grammar.fillers("profession"))
    who = _say("w10", name=name, surname=surname, profession=profession, country=country)
    units: list[Unit] = [(who,), (_say("w11", name=name, year=str(birth), city=cities[0]),)]
    # Scripts without spaces need more sentences for as many characters.
    books = stream.shuffled(grammar.fillers("subject"))[: 3 if grammar.language.spaces else None]
    years = sorted(stream.between(birth + 20, death) for _ in books)
    units += [(_say("w12", name=name, year=str(year), subject=subject),) for year, subject in zip(years, books, strict=True)]
    return [*units, (_say("w13", name=name, year=str(death), city=cities[1]),)]
