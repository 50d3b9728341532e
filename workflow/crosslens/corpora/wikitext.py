"""Paragraphs of wikitext as a reader sees them: running text only, one line of wikitext a paragraph.

Paragraphs are those of wikiextractor, which tanti2021 used: a line of an article that is not a heading, a
list item or part of a template, table or reference. mwparserfromhell parses; what it cannot parse, and would leave as
markup in the text, is left out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

import mwparserfromhell
from mwparserfromhell.definitions import SINGLE
from mwparserfromhell.nodes import (
    Argument,
    Comment,
    ExternalLink,
    Heading,
    HTMLEntity,
    Tag,
    Template,
    Text,
    Wikilink,
)
from mwparserfromhell.parser import ParserError
from mwparserfromhell.wikicode import Wikicode

from crosslens.corpora import mediawiki
from crosslens.corpora.mediawiki import LEFT_OPEN, NOTHING

# Any language's file namespace shows in the file's name.
MEDIA_FILE = re.compile(
    r"\.(jpe?g|png|gif|svg|tiff?|webp|xcf|djvu|pdf|og[agv]|opus|webm|mp[34]|mpe?g|wav|flac|midi?|stl)\s*$", re.I
)

HIDDEN_TAGS = frozenset(
    """ref references gallery math ce chem timeline table tr td th caption ul ol dl code syntaxhighlight source pre
    score hiero imagemap templatestyles templatedata graph mapframe maplink inputbox indicator categorytree section
    includeonly script style poem audio video""".split()
)
BLOCK_TAGS = frozenset("p div blockquote center hr h1 h2 h3 h4 h5 h6".split())
LIST_TAGS = frozenset("li dd dt".split())
LISTED = "\0"  # marks a line that is a list item

STRAY_TAG = re.compile(
    r"</?(?:small|big|span|div|center|font|b|i|u|s|em|strong|p|br|hr|sub|sup|nowiki|noinclude|onlyinclude|cite|abbr|bdi|q|tt|var)"
    r"\b[^<>]*>",
    re.I,
)
EMPTY_BRACKETS = re.compile(r"[(（\[]\s*(?:[,;:、，；：·]\s*)*[)）\]]")
BRACKETS = ("(（\\[［「『【〔〈《", ")）\\]］」』】〕〉》")
PUNCTUATION = rf"[^\w{NOTHING}{''.join(BRACKETS)}]*"  # of any script
EMPTIED_BRACKETS = re.compile(rf"[{BRACKETS[0]}]{PUNCTUATION}(?:{NOTHING}{PUNCTUATION})+[{BRACKETS[1]}]")
OPENING = re.compile(r"([(（])\s*(?:[,;:،؛、，；：]\s*)+")  # left where a template opened the brackets
REMNANT = re.compile(rf"{LEFT_OPEN}" r"|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|\|-|</?[a-zA-Z][^<>]*>?|^[|!]|^=.*=$")
QUOTES = re.compile(r"'{2,}")
# A list that is typed, or stands after a comment or a template; an address, which refers to a source.
NO_TEXT = re.compile(r"#\s|[*;:•‣◦●○▪▫■□►▶◆◇·]|[(\[<]*(?:[a-z]+:)?//|[(\[<]*www\.", re.I)
BEHEADED = re.compile(r"(?:[,、，]|\.(?=\s|$))\s*")  # what came before it was a template
ELEMENTS = 10**5  # that a page may have, since the parser takes up to 0.1 ms each; real pages have 10^4
BEGINNING = re.compile(r"\{[{|]|\[\[?|[<&]")
PATIENCE = 50  # times that the parser may read a page in vain, on the average; real pages come to 20
LONGEST = 3 * 10**7  # characters that it may read so: some eight seconds
CLOSED = re.compile(r"\[\[[^\[\]{}<>]*+\]\]|(?<!\{)\{\{[^\[\]{}<>]*+\}\}(?!\})")
# What the parser reads to its end: braces, links, tables, comments and tags. Single tags, <ref/>, need no end.
START_OR_END = re.compile(
    r"""\[\[++|\[(?=/|\w++:)|\]++|\{\{++|\}\}++|^[ \t:]*+\{\||\|\}(?!\})|<!--|-->|>
    |<(?P<end>/?)(?P<tag>[a-zA-Z]++)(?P<rest>(?:\s[^<>]*+)?>)?""",
    re.VERBOSE | re.MULTILINE,
)
BEGINNINGS = {"]": "[", "}": "{", "|}": "{|", "-->": "<!--", ">": "<"}  # of what ends so


def paragraphs(markup: str, language: str = "") -> list[str]:
    """Paragraphs of a page's wikitext, in order: plain text on one line, NFC, single spaces, never empty.

    language: of the wiki, as in the xml:lang of its dump; "" where it is unknown.
    Kept: text, the labels of links, bold and italic text, the contents of small, span, div and the like, the first of several
    variants, literal arguments of functions such as formatnum. Left out:
    templates, tables, references, galleries, formulas, files with their captions, categories, interlanguage links,
    headings, lists, indented lines, comments, behaviour switches and HTML tags; lines that begin with a bullet or an address.
    Entities are decoded. A line in which markup would be left, because it is unbalanced, is left out.
    Raises ValueError where the markup is nested too deeply to parse, or too much of it is never closed.
    """
    check_closed(markup)
    try:
        code = mwparserfromhell.parse(markup, skip_style_tags=True)
        text = mediawiki.with_variants("".join(_visible(code, language)), language)
    except (ParserError, RecursionError) as error:
        raise ValueError(f"the wikitext cannot be parsed: {error}") from None
    lines = (visible_line(line) for line in text.split("\n") if LISTED not in line)
    return [line for line in lines if line]


def check_closed(markup: str) -> None:
    """Raise ValueError where parsing would hardly end: each thing that is not closed is read to the end of the page first."""
    elements = len(BEGINNING.findall(markup))
    if elements > ELEMENTS:
        raise ValueError(f"the wikitext has {elements} elements")
    limit = min(PATIENCE, LONGEST / max(len(markup), 1))
    if elements <= limit:
        return
    markup = CLOSED.sub("", markup)
    things = _Things(len(markup))
    for match in START_OR_END.finditer(markup):
        token, start = match[0].lstrip(" \t:"), match.start()
        if match["tag"]:
            tag, rest = f"<{match['tag'].lower()}", match["rest"]
            if rest is None:
                things.begin("<", start)
            elif match["end"]:
                things.end(tag if rest.strip() == ">" else "")  # </ref a> ends nothing
            elif not rest.endswith("/>") and tag[1:] not in SINGLE:
                things.begin(tag, start)
        elif token in ("{|", "<!--"):
            things.begin(token, start)
        elif token[0] in "[{":  # one and pairs: [[[ is an external link in another one
            for size in [2] * (len(token) // 2) + [1] * (len(token) % 2):
                things.begin(size * token[0], start)
        elif token[0] in "]}":
            remaining = len(token)
            while remaining and (thing := things.end(*(size * BEGINNINGS[token[0]] for size in (1, 2)[:remaining]))):
                remaining -= len(thing)
        else:
            things.end(BEGINNINGS[token])
    if things.unclosed() > limit * len(markup):
        raise ValueError("too much of the wikitext is never closed")


class _Things:
    """Beginnings in a page that have not ended yet, and the number of characters that the parser reads in vain for them."""

    def __init__(self, length: int) -> None:
        self.length, self.vain, self.comments = length, 0, 1
        self.open: list[tuple[str, int]] = []
        self.numbers = Counter[str]()  # of the open ones, by their beginning

    def begin(self, thing: str, start: int) -> None:
        """Note a beginning at a place."""
        self.open.append((thing, start))
        self.numbers[thing] += 1

    def end(self, *things: str) -> str:
        """The innermost of some things that is open, which ends here; '' if there is none. Whatever began in it never ends."""
        if not any(self.numbers[thing] for thing in things):
            return ""
        while True:
            thing, start = self.open.pop()
            self.numbers[thing] -= 1
            if thing in things:
                return thing
            self._never_ends(thing, start)

    def unclosed(self) -> int:
        """Characters from the beginning of each thing that is never closed to the end of the page."""
        for thing, start in self.open:
            self._never_ends(thing, start)
        self.open = []
        return self.vain * self.comments

    def _never_ends(self, thing: str, start: int) -> None:
        """Count what is read of it; a comment anew for each other thing that it is in."""
        self.vain += self.length - start
        self.comments += thing == "<!--"


def _visible(code: Wikicode, language: str) -> Iterator[str]:
    """The text of parsed wikitext, bit by bit, with its line breaks, quotes for bold, and marks of lists and of nothing."""
    for node in code.nodes:
        if isinstance(node, Text):
            yield node.value
        elif isinstance(node, Wikilink):
            yield from _link(node, language)
        elif isinstance(node, Tag):
            name = str(node.tag).strip().lower()
            if name in LIST_TAGS:
                yield LISTED
            elif name == "br":
                yield " "
            elif name in HIDDEN_TAGS:
                yield NOTHING
            else:
                edge = "\n" if name in BLOCK_TAGS else ""
                yield edge
                if node.contents is not None:
                    yield from _visible(node.contents, language)
                yield edge
        elif isinstance(node, ExternalLink):
            if node.title is not None:
                yield from _visible(node.title, language)
            else:
                yield NOTHING if node.brackets else str(node.url)
        elif isinstance(node, HTMLEntity):
            yield node.normalize().replace("\n", " ")
        elif isinstance(node, Heading):
            yield "\n"
        elif isinstance(node, Template):
            yield _function(node, language)
        elif not isinstance(node, Comment):
            assert isinstance(node, Argument), type(node)
            yield NOTHING


def _function(template: Template, language: str) -> str:
    """Text of a function such as {{formatnum:1234}}, if its arguments are literal; NOTHING for all other templates."""
    name = mediawiki.function(str(template.name).partition(":")[0].strip())
    if name is None or ":" not in template.name:
        return NOTHING
    parts = [template.name, *(part.value for part in template.params)]
    argument, option, *_ = (*("".join(_visible(part, language)) for part in parts), "")
    if NOTHING in argument:
        return NOTHING
    return mediawiki.result(name, argument.partition(":")[2].strip(), option.strip(), language)


def _link(link: Wikilink, language: str) -> Iterator[str]:
    """Text of a link: its label or its title; nothing for files, categories and interlanguage links."""
    title = link_title(str(link.title))
    if title is None:
        yield NOTHING
    elif link.text is not None:
        yield from _visible(link.text, language)
    elif "\n" not in title:
        yield from _visible(mwparserfromhell.parse(title) if "&" in title else Wikicode([Text(title)]), language)


def link_title(title: str) -> str | None:
    """Text of a link without a label; None for links that show nothing."""
    title = title.strip()
    if title.startswith(":"):
        return title[1:].lstrip()
    if ":" in title:
        prefix = unicodedata.normalize("NFC", title.partition(":")[0].strip().replace("_", " ")).casefold()
        if prefix in mediawiki.hidden_prefixes() or MEDIA_FILE.search(title):
            return None
    return title


def visible_line(line: str) -> str:
    """One line as a reader sees it; '' where nothing, no running text, or text with markup in it is left."""
    if not line.strip():
        return ""
    line = _unquote(line)
    for _ in range(3 if NOTHING in line else 0):  # brackets in brackets
        line = EMPTIED_BRACKETS.sub(NOTHING, line)
    line = STRAY_TAG.sub(" ", mediawiki.without_switches(line.replace(NOTHING, "")))
    line = OPENING.sub(r"\1", EMPTY_BRACKETS.sub("", line)).strip()
    if beheaded := BEHEADED.match(line):
        line = line[beheaded.end() :]
    if NO_TEXT.match(line):
        return ""
    line = unicodedata.normalize("NFC", " ".join(line.split()))
    return "" if REMNANT.search(line) else line


def _unquote(line: str) -> str:
    """Remove the quotes of bold and italic text, and keep apostrophes beside them (l'''Encyclopédie''').

    As MediaWiki does (Parser::doQuotes): two quotes are italic, three bold, five both, of four or more than five the
    first ones are apostrophes; where both kinds are left open, one bold is an apostrophe before italic, by preference
    after a word of one letter, else after a longer word, else after a space.
    """
    if "''" not in line:
        return line
    runs = list(QUOTES.finditer(line))
    sizes = [5 if len(run[0]) > 5 else 3 if len(run[0]) == 4 else len(run[0]) for run in runs]
    apostrophes = [len(run[0]) - size for run, size in zip(runs, sizes, strict=True)]
    if sum(size in (2, 5) for size in sizes) % 2 and sum(size in (3, 5) for size in sizes) % 2:

        def rank(index: int) -> int:
            before = line[max(0, runs[index].start() - 2) : runs[index].start()].rjust(2)
            return 2 if before[1] == " " else 0 if before[0] == " " else 1

        bold = [index for index, size in enumerate(sizes) if size == 3]
        if bold:
            apostrophes[min(bold, key=rank)] += 1
    parts, end = [], 0
    for run, count in zip(runs, apostrophes, strict=True):
        parts += [line[end : run.start()], "'" * count]
        end = run.end()
    return "".join(parts) + line[end:]
