"""Articles as a MediaWiki multistream pages-articles dump, export schema 0.11, with the markup that real pages have.

Format: https://www.mediawiki.org/xml/export-0.11.xsd. The index has one `offset:page id:title` line per page; the offset is
that of the compressed stream with the page. A stream has up to 20 pages here, and 100 in real dumps.
"""

import bz2
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from synthetic.articles import Article, Paragraph, citation, name_in
from synthetic.generate import Stream
from synthetic.grammar import Grammar
from synthetic.realise import Sentence, Token
from synthetic.tables import Language

PAGES_A_STREAM = 20
TALK, TEMPLATE, CATEGORY = 1, 10, 14


class Page(NamedTuple):
    """A page of the wiki: namespace number, wiki text, and the target if it is a redirect."""

    title: str
    namespace: int
    text: str
    redirect: str = ""


def dump(grammar: Grammar, articles: Sequence[Article], seed: int) -> tuple[bytes, bytes]:
    """Compressed dump of a language's articles, mixed with redirects, talk and category pages, and its compressed index."""
    stream = Stream(seed, "dump", grammar.language.code)
    pages = list(_pages(grammar, articles, stream))
    blocks, lines = [bz2.compress(_header(grammar.language).encode())], []
    for start in range(0, len(pages), PAGES_A_STREAM):
        offset = sum(map(len, blocks))
        batch = list(enumerate(pages[start : start + PAGES_A_STREAM], start=start + 1))
        lines += [f"{offset}:{number}:{page.title}\n" for number, page in batch]
        blocks.append(bz2.compress("".join(_page_xml(page, number) for number, page in batch).encode()))
    blocks.append(bz2.compress(b"</mediawiki>\n"))
    return b"".join(blocks), bz2.compress("".join(lines).encode())


# The wiki around the articles.


def _pages(grammar: Grammar, articles: Sequence[Article], stream: Stream) -> Iterator[Page]:
    language = grammar.language
    redirected: set[str] = set()
    for number, article in enumerate(articles):
        yield Page(article.title, 0, _wikitext(grammar, article, stream))
        short = article.title.split(" (")[0]
        if short != article.title and short not in redirected:
            redirected.add(short)
            word = stream.pick((language.redirect, "REDIRECT"))
            yield Page(short, 0, f"#{word} [[{article.title}]]\n", redirect=article.title)
        if number % 7 == 0:
            # Long enough to be taken for a paragraph by a reader that forgets namespaces.
            signature = "--[[User:Example|Example]] 12:00, 1 May 2025 (UTC)"
            talk = f"== {article.title} ==\n{article.paragraphs[0].text} {signature}"
            yield Page(f"{language.talk}:{article.title}", TALK, talk)
    for concept in ("village", "person"):
        title = _topic_name(grammar, concept)
        yield Page(f"{language.category}:{title}", CATEGORY, f"[[{language.category}:{title}]]\n")
    yield Page("Template:Infobox", TEMPLATE, "{{{name|}}}<noinclude>\nThe name.\n</noinclude>")


def _topic_name(grammar: Grammar, topic: str) -> str:
    """Text of a category or heading: the lemma, with a capital, of a concept that stands for the topic."""
    return citation(grammar, {"village": "house", "person": "writer"}.get(topic, topic))


# Wiki text.


def _wikitext(grammar: Grammar, article: Article, stream: Stream) -> str:
    """Wikitext of a page: every paragraph on a line of its own, surrounded by markup that a reader has to leave out."""
    language = grammar.language
    numbers = itertools.count(1)
    blocks = [_infobox(article, stream)]
    for position, paragraph in enumerate(article.paragraphs):
        markup = _paragraph_markup(grammar, paragraph, article.title if position == 0 else "", numbers, stream)
        if position:
            title = name_in(paragraph.sentences[0]) if paragraph.topic == "person" else _topic_name(grammar, paragraph.topic)
            level = stream.pick(("==", "==", "==="))
            blocks.append(f"{level} {title} {level}")
        if stream.chance(0.4):
            # With or without a line break after it: both are common.
            markup = _image(language, paragraph, stream) + stream.pick(("\n", "")) + markup
        blocks.append(markup)
        if stream.chance(0.25):
            blocks.append(stream.pick((_table, _items, _gallery))(language, paragraph))
    blocks.append(_ending(grammar, article, stream))
    return "\n\n".join(blocks)


def _infobox(article: Article, stream: Stream) -> str:
    """A template with templates, a link and a comment inside."""
    lines = ["{{Infobox", f"| name = {article.title}", f"| size = {{{{formatnum:{stream.between(10, 90)}}}}} km²"]
    lines += [f"| image = [[File:{article.title}.jpg|200px]]", "| map = {{Location map|x={{#expr:2*3}}|y=4}}"]
    return "\n".join([*lines, "| note = <!-- {{unfinished -->[[Wiki|wiki]]", "}}"])


def _paragraph_markup(grammar: Grammar, paragraph: Paragraph, title: str, numbers: Iterator[int], stream: Stream) -> str:
    """Text of a paragraph with markup; without the markup, it is exactly `paragraph.text`.

    title: subject of the page, bold in the page's first sentence; empty for later paragraphs. numbers: count the
    page's footnotes.
    """
    sentences = []
    for position, sentence in enumerate(paragraph.sentences):
        markup = _sentence_markup(sentence, bool(title) and position == 0, stream)
        if stream.chance(0.2):
            markup += _reference(next(numbers), stream)
        if stream.chance(0.05):
            markup += "<!-- {{check}} this [[sentence -->"
        if stream.chance(0.05):
            markup += "{{citation needed|date={{#time:F Y}}}}"
        sentences.append(markup)
    return grammar.language.space.join(sentences)


def _sentence_markup(sentence: Sentence, is_first: bool, stream: Stream) -> str:
    pieces: list[str] = []
    tokens = sentence.tokens
    entities = {entity.first: entity for entity in sentence.entities}
    position = 0
    while position < len(tokens):
        token = tokens[position]
        entity = entities.get(token.first)
        inside = [part for part in tokens[position:] if entity and part.last <= entity.last] or [token]
        text = "".join(part.form + " " * part.space_after for part in inside[:-1]) + inside[-1].form
        # Quote marks next to an apostrophe or to other quote marks would be read as something else.
        following = tokens[position + len(inside)].form if position + len(inside) < len(tokens) else ""
        quotes = "'" not in text + following and not (pieces and pieces[-1].endswith("'"))
        if entity and is_first and entity == sentence.entities[0] and quotes:
            pieces.append(f"'''{text}'''")
        elif entity and stream.chance(0.4):
            pieces.append(f"[[{text}]]" if stream.chance(0.5) else f"[[{text} (name)|{text}]]")
        elif len(inside) == 1 and token.first == token.last:
            pieces.append(_word_markup(sentence, token, quotes, stream))
        else:
            pieces.append(text)
        if inside[-1].space_after and inside[-1].last < len(sentence.words):
            pieces.append("&nbsp;" if text.isdecimal() and stream.chance(0.5) else " ")
        position += len(inside)
    return "".join(pieces)


def _word_markup(sentence: Sentence, token: Token, quotes: bool, stream: Stream) -> str:
    """A word with markup: a noun linked to its lemma, an adjective in italics, or a letter as an entity; mostly unchanged."""
    word = sentence.words[token.first - 1]
    if word.upos == "NOUN" and stream.chance(0.2):
        ending = token.form.removeprefix(word.lemma)
        if token.form.startswith(word.lemma) and (not ending or (ending.isascii() and ending.isalpha())):
            return f"[[{word.lemma}]]{ending}"
        return f"[[{word.lemma}|{token.form}]]"
    if word.upos == "ADJ" and quotes and stream.chance(0.1):
        return f"''{token.form}''"
    if stream.chance(0.03):
        at = stream.below(len(token.form))
        return token.form[:at] + f"&#{ord(token.form[at])};" + token.form[at + 1 :]
    return token.form


def _reference(number: int, stream: Stream) -> str:
    """A footnote with a template or a link inside, or a repeated footnote."""
    if number > 1 and stream.chance(0.4):
        return '<ref name="source1" />'
    name = f' name="source{number}"' if number == 1 or stream.chance(0.5) else ""
    book = f"{{{{cite book |title=Book {number} |year={stream.between(1950, 2020)} |isbn={{{{isbn|{number}}}}}}}}}"
    page = f"[https://example.org/{number} Page {number}], see [[Book|that book]]."
    return f"<ref{name}>{stream.pick((book, page))}</ref>"


def _image(language: Language, paragraph: Paragraph, stream: Stream) -> str:
    """An image whose caption has a link, under the local or the English name of the namespace."""
    first, *rest = paragraph.sentences[0].tokens
    caption = f"[[{first.form}]] " + " ".join(token.form for token in rest[:4])
    prefix = stream.pick((language.file, "File", "Image"))
    return f"[[{prefix}:Example {stream.below(1000)}.jpg|thumb|upright=1.2|{caption}]]"


def _table(language: Language, paragraph: Paragraph) -> str:
    """A table with a whole paragraph and another table inside."""
    rows = f"|+ {len(paragraph.text)}\n! a !! b\n|-\n| 1 || {paragraph.text}\n|-\n|\n{{|\n| 2 || 3\n|}}"
    return f'{{| class="wikitable" style="text-align:left"\n{rows}\n|}}'


def _items(language: Language, paragraph: Paragraph) -> str:
    """A list of words, each line short."""
    words = [word.lemma for word in paragraph.sentences[0].words if word.upos in ("NOUN", "PROPN")]
    return "\n".join([*(f"* [[{word}]]" for word in words), "# {{lang|en|one}}", ": ''two''"])


def _gallery(language: Language, paragraph: Paragraph) -> str:
    """Pictures, the first with a whole paragraph as its caption."""
    return f'<gallery mode="packed">\nExample 1.jpg|{paragraph.text}\n{language.file}:Example 2.jpg|[[two]]\n</gallery>'


def _ending(grammar: Grammar, article: Article, stream: Stream) -> str:
    """References, a navigation template and categories under the local or the English name."""
    prefix = stream.pick((grammar.language.category, "Category"))
    lines = ["== * ==", "<references />", f"{{{{Navbox|list={{{{flatlist|\n* [[{article.title}]]\n}}}}}}}}"]
    lines += [f"[[{prefix}:{_topic_name(grammar, article.topic)}]]", f"[[Category:{article.title}| ]]"]
    return "\n".join(["{{DEFAULTSORT:" + article.title + "}}", *lines])


# XML.


def _header(language: Language) -> str:
    code = language.code
    names = {-1: "Special", 0: "", TALK: language.talk, 6: language.file, TEMPLATE: "Template", CATEGORY: language.category}
    ends = {key: f">{escape(name)}</namespace>" if name else " />" for key, name in names.items()}
    namespaces = "".join(f'      <namespace key="{key}" case="first-letter"{end}\n' for key, end in ends.items())
    schema = "http://www.mediawiki.org/xml/export-0.11"
    return (
        f'<mediawiki xmlns="{schema}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{schema}/ {schema}.xsd" version="0.11" xml:lang="{code}">\n'
        f"  <siteinfo>\n    <sitename>Wikipedia</sitename>\n    <dbname>{code}wiki</dbname>\n"
        f"    <base>https://{code}.wikipedia.org/wiki/</base>\n    <generator>crosslens phrasebook</generator>\n"
        f"    <case>first-letter</case>\n    <namespaces>\n{namespaces}    </namespaces>\n  </siteinfo>\n"
    )


def _page_xml(page: Page, number: int) -> str:
    content = page.text.encode()
    redirect = f"    <redirect title={quoteattr(page.redirect)} />\n" if page.redirect else ""
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>{page.namespace}</ns>\n    <id>{number}</id>\n"
        f"{redirect}    <revision>\n      <id>{100000 + number}</id>\n      <parentid>{50000 + number}</parentid>\n"
        f"      <timestamp>2025-12-{1 + number % 28:02d}T12:00:00Z</timestamp>\n"
        f"      <contributor>\n        <username>Example</username>\n        <id>1</id>\n      </contributor>\n"
        f"      <comment>/* */ example</comment>\n      <origin>{100000 + number}</origin>\n"
        f"      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(content)}" sha1="{_sha1(content)}" xml:space="preserve">{escape(page.text)}</text>\n'
        f"      <sha1>{_sha1(content)}</sha1>\n    </revision>\n  </page>\n"
    )


def _sha1(content: bytes) -> str:
    """SHA-1 digest in base 36 with 31 digits, as MediaWiki writes it."""
    value = int.from_bytes(hashlib.sha1(content, usedforsecurity=False).digest(), "big")
    return np.base_repr(value, 36).lower().rjust(31, "0")
