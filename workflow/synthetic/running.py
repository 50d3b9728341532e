"""Running text: paragraphs as in WiLI-2018 and CC-100, and a larger text that differs between languages.

Formats: Thoma 2018, arXiv:1801.07779, sections 2 and 3 (paragraphs have 140 characters or more there, 100 here); CC-100,
https://data.statmt.org/cc-100 (a paragraph a line, an empty line after each document).
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from synthetic.archives import lined, xz, zipped
from synthetic.articles import articles, joined, paragraphs
from synthetic.generate import Stream, different, draw, percent, split_of
from synthetic.grammar import Grammar
from synthetic.realise import Meaning, realise
from synthetic.tables import language_facts

WILI_LABELS = {"ar": "ara", "zh": "zho"}
"""Labels that are not the ISO 639-3 code of resources/languages.csv: WiLI names the macrolanguage."""
EVERYDAY = 5  # everyday sentences in a document of `text`


def wili(grammars: Sequence[Grammar], records: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of wili-2018.zip: x_train.txt, x_test.txt (paragraphs) and y_train.txt, y_test.txt (their labels).

    Each language has `records` paragraphs in train and as many in test, since the real halves are equal too. Languages are
    mixed.
    """
    halves: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for grammar in grammars:
        code = grammar.language.code
        label = WILI_LABELS.get(code, language_facts()[code]["iso639_3"])
        labelled = [(paragraph.text, label) for paragraph in paragraphs(grammar, 2 * records, seed, "wili")]
        halves["train"] += labelled[:records]
        halves["test"] += labelled[records:]
    members = {}
    for half, labelled in halves.items():
        texts, labels = zip(*Stream(seed, "wili", half).shuffled(labelled), strict=True)
        members[f"x_{half}.txt"], members[f"y_{half}.txt"] = lined(texts), lined(labels)
    yield "wili-2018/wili-2018.zip", zipped(members)


def cc100(grammars: Sequence[Grammar], records: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of each language's file: `records` documents, articles with other facts than the dump's."""
    for grammar in grammars:
        code = grammar.language.code
        documents = articles(grammar, records, seed, "cc-100")
        lines = [line for article in documents for line in (*(paragraph.text for paragraph in article.paragraphs), "")]
        yield f"cc-100/{language_facts()[code]['cc100']}.txt.xz", xz(lined(lines))


def text(grammars: Sequence[Grammar], documents: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of each language's file, in the format of CC-100, with `documents` documents.

    A document has the paragraphs of an article, with other facts than the dump and CC-100, and a paragraph of
    everyday sentences. No everyday sentence has the meaning of one in another language or in a treebank for testing.
    """
    for number, grammar in enumerate(grammars):
        meanings = everyday(grammar, EVERYDAY * documents, seed, number, len(grammars))
        lines: list[str] = []
        for place, article in enumerate(articles(grammar, documents, seed, "text")):
            last = (realise(grammar, meaning) for meaning in meanings[EVERYDAY * place : EVERYDAY * (place + 1)])
            lines += [*(paragraph.text for paragraph in article.paragraphs), joined(grammar, last), ""]
        yield f"text/{grammar.language.code}.txt", lined(lines)


def everyday(grammar: Grammar, n: int, seed: int, number: int, languages: int) -> tuple[Meaning, ...]:
    """`n` meanings of the train split that no other language uses, in the order of the language's documents.

    number: index of the language, from 0. languages: number of languages, among which meanings are divided.
    """
    stream = Stream(seed, "text", grammar.language.code)
    frames = [frame for frame in grammar.frames.values() if frame.register == "everyday"]

    def draw_meaning(_: int) -> Meaning | None:
        meaning = draw(grammar, stream.pick(frames), stream)
        is_own = percent("text", meaning.frame, *chain(*meaning.fillers)) % languages == number
        return meaning if is_own and split_of(meaning) == "train" else None

    return tuple(_related(different(draw_meaning, n, "everyday sentences of running text")))


def _related(meanings: Sequence[Meaning]) -> Iterator[Meaning]:
    """Yield the meanings reordered: the first of each EVERYDAY shares a filler with the others, as far as possible.

    One sentence of a document then helps to guess a word of another.
    """
    remaining = list(meanings)
    while remaining:
        fillers = {filler for _, filler in remaining[0].fillers}
        remaining.sort(key=lambda meaning: fillers.isdisjoint(filler for _, filler in meaning.fillers))  # stable
        yield from remaining[:EVERYDAY]
        del remaining[:EVERYDAY]
