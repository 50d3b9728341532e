"""Paragraphs of wikitext as a reader sees them: running text only, with one paragraph per line of wikitext.

Paragraphs are defined as in wikiextractor, which tanti2021 used: lines of an article that are not a heading, a list item or
part of a template, table or reference. mwparserfromhell parses the wikitext; a line in which it would leave markup is left out.
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

# A link to a file is known by the file's name, whatever the namespace is called in the wiki's language.
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
OPENING = re.compile(r"([(（])\s*(?:[,;:،؛、，；：]\s*)+")  # remains if the brackets began with a template
REMNANT = re.compile(rf"{LEFT_OPEN}" r"|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|\|-|</?[a-zA-Z][^<>]*>?|^[|!]|^=.*=$")
QUOTES = re.compile(r"'{2,}")
# The start of a list item, typed or after a comment or template, or of an address, which refers to a source.
NO_TEXT = re.compile(r"#\s|[*;:•‣◦●○▪▫■□►▶◆◇·]|[(\[<]*(?:[a-z]+:)?//|[(\[<]*www\.", re.I)
BEHEADED = re.compile(r"(?:[,、，]|\.(?=\s|$))\s*")  # begins a line that lost a template there
ELEMENTS = 10**5  # most elements of a page: the parser takes up to 0.1 ms for each; real pages have 10^4
BEGINNING = re.compile(r"\{[{|]|\[\[?|[<&]")
PATIENCE = 50  # how many times the parser may read a page in vain, on average; for real pages up to 20
LONGEST = 3 * 10**7  # characters that the parser may read in vain: about eight seconds
CLOSED = re.compile(r"\[\[[^\[\]{}<>]*+\]\]|(?<!\{)\{\{[^\[\]{}<>]*+\}\}(?!\})")
# Starts and ends of what the parser reads as one: braces, links, tables, comments and tags. Single tags, <ref/>, need no end.
START_OR_END = re.compile(
    r"""\[\[++|\[(?=/|\w++:)|\]++|\{\{++|\}\}++|^[ \t:]*+\{\||\|\}(?!\})|<!--|-->|>
    |<(?P<end>/?)(?P<tag>[a-zA-Z]++)(?P<rest>(?:\s[^<>]*+)?>)?""",
    re.VERBOSE | re.MULTILINE,
)
BEGINNINGS = {"]": "[", "}": "{", "|}": "{|", "-->": "<!--", ">": "<"}  # end -> beginning


def paragraphs(markup: str, language: str = "") -> list[str]:
    """Paragraphs of a page's wikitext, in order: plain text on one line, NFC, single spaces, never empty.

    language: code of the wiki, as in the xml:lang of its dump; "" if it is unknown.
    Kept are text, the labels of links, bold and italic text, the contents of small, span, div and the like, the first of
    several variants, and literal arguments of functions such as formatnum. Left out are templates, tables, references,
    galleries, formulas, files with their captions, categories, interlanguage links, headings, lists, indented lines, comments,
    behaviour switches and HTML tags, and lines that begin with a bullet or an address. Entities are decoded. A line in which
    markup would remain, because it is unbalanced, is left out.
    Raises ValueError if the markup has too many elements, is nested too deeply to parse, or too much of it is never closed.
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
    """Raise ValueError if parsing would take too long.

    The parser reads to the end of the page for every element that is never closed.
    """
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
        elif token[0] in "[{":  # [[[ is an external link inside a wikilink
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
    """Open elements of a page, and the number of characters that the parser reads in vain for elements that never end."""

    def __init__(self, length: int) -> None:
        self.length, self.vain, self.comments = length, 0, 1
        self.open: list[tuple[str, int]] = []
        self.numbers = Counter[str]()  # number of open elements by their beginning

    def begin(self, thing: str, start: int) -> None:
        """Note that an element begins at a place."""
        self.open.append((thing, start))
        self.numbers[thing] += 1

    def end(self, *things: str) -> str:
        """End the innermost open element of some kinds and return its kind; '' if none is open. Those inside it never end."""
        if not any(self.numbers[thing] for thing in things):
            return ""
        while True:
            thing, start = self.open.pop()
            self.numbers[thing] -= 1
            if thing in things:
                return thing
            self._never_ends(thing, start)

    def unclosed(self) -> int:
        """Estimated number of characters that the parser reads in vain.

        For each unclosed element, the parser reads to the end of the page.
        """
        for thing, start in self.open:
            self._never_ends(thing, start)
        self.open = []
        return self.vain * self.comments

    def _never_ends(self, thing: str, start: int) -> None:
        """Count the characters that are read for an element. A comment is read again for every other element that it is in."""
        self.vain += self.length - start
        self.comments += thing == "<!--"


def _visible(code: Wikicode, language: str) -> Iterator[str]:
    """Yield the text of parsed wikitext in parts, with line breaks, quotes of bold text, and the marks LISTED and NOTHING."""
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
    """Yield the text of a link, its label or title; NOTHING for files, categories and interlanguage links."""
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
    """Line as a reader sees it; '' if nothing remains, or what remains is not running text or has markup in it."""
    if not line.strip():
        return ""
    line = _unquote(line)
    for _ in range(3 if NOTHING in line else 0):  # for nested brackets
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
    """Remove the quotes of bold and italic text, but keep apostrophes next to them (l'''Encyclopédie''').

    The rules are MediaWiki's (Parser::doQuotes). Two quotes are italic, three bold, five both. Of four quotes, or more than
    five, the first ones are apostrophes. If both bold and italic text are left open, one bold mark is an apostrophe before an
    italic mark: preferably one after a one-letter word, else after a longer word, else after a space.
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
