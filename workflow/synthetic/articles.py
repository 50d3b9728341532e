"""Articles in an encyclopedic register, about villages and people, generated from a seed."""

import itertools
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import TypeVar

from synthetic.generate import Stream, draw
from synthetic.grammar import Grammar
from synthetic.realise import Meaning, Sentence, capital, realise
from synthetic.tables import check

MINIMUM_CHARACTERS = 100  # length of the shortest paragraph (tanti2021, section 2, leaves shorter ones out)


@dataclass(frozen=True)
class Paragraph:
    """Sentences about the same things; `text` is the plain paragraph."""

    sentences: tuple[Sentence, ...]
    text: str
    topic: str  # village, history, nature or person


@dataclass(frozen=True)
class Article:
    """A page, whose paragraphs agree with each other; `topic` is village or person."""

    title: str
    topic: str
    paragraphs: tuple[Paragraph, ...]


Text = TypeVar("Text")
Unit = tuple[Meaning, ...]  # sentences that stay together in this order


def articles(grammar: Grammar, n: int, seed: int, *key: str) -> tuple[Article, ...]:
    """`n` articles with different titles, each paragraph of at least 100 characters.

    No two articles share a sentence, so splits by article share none either. The articles depend on the seed, the language and
    the key; those without a key are the dump's.
    """
    return _first(n, _articles(grammar, seed, *key), "articles")


def paragraphs(grammar: Grammar, n: int, seed: int, *key: str) -> tuple[Paragraph, ...]:
    """`n` different paragraphs of at least 100 characters, from the articles of a key."""
    return _first(n, (paragraph for article in _articles(grammar, seed, *key) for paragraph in article.paragraphs), "paragraphs")


def _first(n: int, texts: Iterator[Text], name: str) -> tuple[Text, ...]:
    """First `n` texts. Raises SyntheticCorpusError if there are fewer."""
    first = tuple(itertools.islice(texts, n))
    check(len(first) == n, "synthetic", f"{n} {name} requested, only {len(first)} available; request fewer")
    return first


def _articles(grammar: Grammar, seed: int, *key: str) -> Iterator[Article]:
    """Yield all articles of a key."""
    stream = Stream(seed, *key, "articles", grammar.language.code)
    subjects: list[tuple[str, str]] = stream.shuffled(
        itertools.chain(
            itertools.product(grammar.fillers("village"), grammar.fillers("country")),
            itertools.product(grammar.fillers("name"), grammar.fillers("surname")),
        )
    )
    earlier_texts: set[str] = set()
    villages = set(grammar.fillers("village"))
    for subject in subjects:
        article_stream = Stream(seed, *key, "article", grammar.language.code, *subject)
        write = _village_article if subject[0] in villages else _person_article
        article = write(grammar, subject, article_stream, frozenset(earlier_texts))
        if article.paragraphs:
            earlier_texts.update(sentence.text for paragraph in article.paragraphs for sentence in paragraph.sentences)
            yield article


def joined(grammar: Grammar, sentences: Iterable[Sentence]) -> str:
    """Text of a paragraph with these sentences."""
    return grammar.language.space.join(sentence.text for sentence in sentences)


def _paragraph(
    grammar: Grammar,
    stream: Stream,
    topic: str,
    units: Iterator[Unit],
    earlier_texts: Set[str],
    frame: tuple[Unit, Unit] = ((), ()),
) -> Paragraph | None:
    """A paragraph with new units between the two of a frame, until its text has a random target length.

    earlier_texts: sentences of earlier articles, which are not repeated. Returns None if the text has fewer than 100
    characters, or if a sentence of the frame is an earlier one.
    """
    # Short enough for encoders to read whole. Scripts without spaces say more in 100 characters.
    target = stream.between(MINIMUM_CHARACTERS, 180 if grammar.language.spaces else 110)
    sentences, end = ([realise(grammar, meaning) for meaning in unit] for unit in frame)
    if any(sentence.text in earlier_texts for sentence in sentences + end):
        return None
    for unit in units:
        new = [realise(grammar, meaning) for meaning in unit]
        if all(sentence.text not in earlier_texts for sentence in new):
            sentences += new
        if len(joined(grammar, sentences + end)) >= target:
            break
    text = joined(grammar, sentences + end)
    return Paragraph(tuple(sentences + end), text, topic) if len(text) >= MINIMUM_CHARACTERS else None


def _say(frame: str, **chosen: str) -> Meaning:
    return Meaning(frame, tuple(chosen.items()))


def _village_article(grammar: Grammar, subject: tuple[str, str], stream: Stream, earlier_texts: Set[str]) -> Article:
    """An article on a village: first the village and its country, then history, animals and people in random order."""
    village, country = subject
    buildings = iter(stream.shuffled(grammar.fillers("building")) + [""])
    history = _history(buildings, stream)
    lead = (_say("w01", village=village, country=country),)
    paragraphs = [
        _paragraph(grammar, stream, "village", itertools.chain(_facts(grammar, stream), history), earlier_texts, (lead, ()))
    ]
    people = iter(stream.shuffled(grammar.fillers("name")))
    surnames = iter(stream.shuffled(grammar.fillers("surname")))
    sections = ["history", "nature", "nature"] + ["person"] * stream.between(1, 3)
    animals = _nature(grammar, country, stream)
    for section in stream.shuffled(sections):
        if section == "person":
            name = (next(people), next(surnames))
            identity, birth, *books, death = _life(grammar, name, country, stream)
            paragraphs.append(_paragraph(grammar, stream, section, iter(books), earlier_texts, (identity + birth, death)))
        else:
            paragraphs.append(_paragraph(grammar, stream, section, history if section == "history" else animals, earlier_texts))
    title = f"{citation(grammar, village)} ({citation(grammar, country)})"
    return Article(title, "village", tuple(filter(None, paragraphs)))


def _person_article(grammar: Grammar, subject: tuple[str, str], stream: Stream, earlier_texts: Set[str]) -> Article:
    """An article on a person's life. Its title is the name as written in the first sentence."""
    identity, birth, *books, death = _life(grammar, subject, stream.pick(grammar.fillers("country")), stream)
    paragraph = _paragraph(grammar, stream, "person", iter(books), earlier_texts, (identity + birth, death))
    sentence = realise(grammar, identity[0])
    return Article(name_in(sentence), "person", (paragraph,) if paragraph else ())


def name_in(sentence: Sentence) -> str:
    """The first named entity of a sentence, as it is written there."""
    entity = sentence.entities[0]
    tokens = [token for token in sentence.tokens if entity.first <= token.first and token.last <= entity.last]
    return "".join(token.form + " " * token.space_after for token in tokens).strip()


def citation(grammar: Grammar, concept: str) -> str:
    """Lemma of a concept with a capital, for titles."""
    parts = grammar.lexicon[concept].lemma.parts
    return capital(grammar.language.space.join(part.text for part in parts), grammar.language.code)


def _facts(grammar: Grammar, stream: Stream) -> Iterator[Unit]:
    """Facts about a village for its first paragraph, in random order, with one size and one trade at most."""
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
    """Yield the construction or the opening of each building, in chronological order."""
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
    """Facts about each wild animal of a country: its quality, habitat and diet."""
    for animal, facts in stream.shuffled(grammar.animals.items()):
        quality, landform = stream.pick(facts.qualities), stream.pick(facts.landforms)
        diet, second_diet = stream.shuffled(facts.diets)[:2]
        unit: Unit = (
            _say("w07", country=country, animal=animal, quality=quality),
            _say("w08", country=country, animal=animal, landform=landform),
        )
        if stream.chance(0.7):
            unit += (_say("w09", country=country, diet=diet, diet2=second_diet),)
        yield unit


def _life(grammar: Grammar, subject: tuple[str, str], country: str, stream: Stream) -> list[Unit]:
    """Units of a person's life: identity, birth, each book, and death 35 to 85 years after birth."""
    name, surname = subject
    birth = stream.between(1801, 1910)
    death = birth + stream.between(35, 85)
    cities = stream.shuffled(grammar.fillers("city"))
    profession = stream.pick(grammar.fillers("profession"))
    identity = _say("w10", name=name, surname=surname, profession=profession, country=country)
    units: list[Unit] = [(identity,), (_say("w11", name=name, year=str(birth), city=cities[0]),)]
    # Scripts without spaces need more sentences to reach the same number of characters.
    books = stream.shuffled(grammar.fillers("subject"))[: 3 if grammar.language.spaces else None]
    years = sorted(stream.between(birth + 20, death) for _ in books)
    units += [(_say("w12", name=name, year=str(year), subject=subject),) for year, subject in zip(years, books, strict=True)]
    return [*units, (_say("w13", name=name, year=str(death), city=cities[1]),)]
