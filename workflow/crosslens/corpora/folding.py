"""The long paragraphs of a page's wikitext, those of `wikitext.paragraphs`, several times as fast.

Most of a page cannot be a paragraph, and most of what can is text with simple links. What is balanced and shows nothing is
folded to one character of private use, from the inside out. The rest is cut into lines, or into rows of lines where something
begins in one and ends in another, that the parser reads the same alone. Rows that are too short, or are tables, are passed over,
and lines with simple links are read here. All patterns take less than what the parser takes: what they leave is for the parser,
as it was before it was folded.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from mwparserfromhell.definitions import PARSER_BLACKLIST, SINGLE, SINGLE_ONLY, URI_SCHEMES

from crosslens.corpora.wikitext import BLOCK_TAGS, NOTHING, check_closed, link_title, paragraphs, visible_line

# What templates, and what all else, are folded to: characters that Unicode does not have, more than a page may have elements.
TEMPLATE, OTHER = "\U00040000-\U0008ffff", "\U00090000-\U000dffff"
FOLDED = TEMPLATE + OTHER
LEVELS = 8  # of nesting that are folded: far from the parser's own limit, where it takes what is inside for text
IS_FOLDED = re.compile(f"[{FOLDED}]")
VISIBLE = re.compile("<nowiki|<!--", re.IGNORECASE)  # a comment shows in an address, and ends in a table's attributes

STRUCTURE = re.compile(r"[\[\]{}|\n]|<(?!!--)|(?<!--)>")

ATTRIBUTE = rf"""[^\s"'<>{{}}\[\]\\=/|{FOLDED}]"""
QUOTED = rf""""[^"<>{{}}\[\]\\{OTHER}]*+"|'[^'<>{{}}\[\]\\{OTHER}]*+'"""
ATTRIBUTES = rf"(?!\n)(?:\s+{ATTRIBUTE}++(?:\s*+=\s*+(?:{QUOTED}|(?:{ATTRIBUTE}|/(?!>))++))?+)*+\s*+"
TAG = rf"[^\s<>{{}}\[\]|=&'\"\#*;:/\-!\\{FOLDED}]++"
WITH_ATTRIBUTES = re.compile(rf"^[^\S\n]*+(?:\{{\||[|!]).*[{OTHER}]|<{TAG}\s[^<>]*[{OTHER}]", re.MULTILINE)
LINK = r"\[\[[^\[\]{}<>|\n]*+(?:\|[^\[\]{}<>\n]*+)?+\]\]"
BRACKETS = r"\[[^\[\]{}<>|\n]*+\]"
# What does not keep a template, a reference or a file from being folded: links, and line breaks.
SIMPLE = rf"{LINK}|\[(?:https?:)?//[^\s\[\]{{}}<>|\"'{FOLDED}]++(?:\ [^\[\]{{}}<>\n]*+)?+\]|<(?i:br)\ *+/?>"
BODY = rf"(?:[^<>{{}}\[\]\n]|\n(?!=)|{SIMPLE}|{BRACKETS})*+"

OPAQUE = re.compile(rf"<!--.*?-->|<((?i:{'|'.join(PARSER_BLACKLIST)}))(?=[\s/>]){ATTRIBUTES}(?:/>|>.*?</(?i:\1)\ *+>)", re.DOTALL)
# A template, whose name is on one line; two templates side by side before the = of a parameter would make the parser give it
# up. A reference. A link with a colon in its title, which may be a file.
LEAF = re.compile(
    rf"""(?<!\{{)\{{\{{(?!\{{)\s*+[^\s{{}}\[\]<>|{FOLDED}][^{{}}\[\]<>|\n{FOLDED}]*+\s*+
        (?:\|(?:[^|={{}}\[\]<>\n{TEMPLATE}]|\n(?!==)|[{TEMPLATE}](?![{TEMPLATE}])|{SIMPLE})*+
            (?:=(?:[^|{{}}\[\]<>]|{SIMPLE}|{BRACKETS})*+)?+)*+\}}\}}
    |<(?i:(ref|references)){ATTRIBUTES}(?:/>|>{BODY}</(?i:\1)\s*+>)
    |\[\[([^\[\]{{}}<>|\n:{FOLDED}]*+:[^\[\]{{}}<>|\n{FOLDED}]*+)\|{BODY}\]\]""",
    re.VERBOSE,
)
# Once more: Python 3.11.2 finds leaves with them all the same (what looks ahead in its possessive repeats may be passed over).
SIDE_BY_SIDE = re.compile(rf"\|[^|=]*[{TEMPLATE}]{{2}}")
PAIR = rf"<(?!(?i:br)\b)({TAG})(?=[\s/>]){ATTRIBUTES}>(?:[^<{{}}\[\]\n]|{SIMPLE}|{BRACKETS})*+</(?i:\1)\s*+>"
END_OF_BREAK = re.compile("</br", re.IGNORECASE)
IS_PAIR = re.compile(PAIR)
END_TAG = re.compile("</([^<>]*)")
NESTING = re.compile(
    rf"""(?P<table>^\s*\{{\|)|(?P<table_end>^\s*\|\}}(?!\}}))|(?P<braces>\{{\{{+|\}}\}}+)|(?P<brackets>\[+|\]+)
    |<(?P<end>/?)(?P<tag>{TAG})(?=[\s/>]){ATTRIBUTES}(?P<single>/?)>|(?P<odd><{TAG}(?=\s|$))""",
    re.VERBOSE,
)
ADDRESS = rf"(?://|\b(?i:{'|'.join(URI_SCHEMES)}):)"
IS_ADDRESS = re.compile(ADDRESS)
IN_ADDRESS = rf"[^ \n\[\]<>\"{FOLDED}]"
BEFORE_TEMPLATE = re.compile(rf"(?<!{IN_ADDRESS}){IN_ADDRESS}++[{TEMPLATE}]")  # an address shows it as it is written
PLAIN_LINE = re.compile(rf"(?:[^\[\]{{<]|{LINK}|{BRACKETS})*+")
PLAIN_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
INLINE = re.compile(rf"<(?i:br)\ *+/?>|(?!<(?i:{'|'.join(sorted(BLOCK_TAGS))})\b){PAIR}")
TABLE_ROW = ("{|", "|", "!")
LIST_MARKERS = ("*", "#", ":", ";")


class _Entangled(ValueError):
    """A page, or a line of it, that only the parser can read."""


def long_paragraphs(markup: str, minimum: int) -> list[str]:
    """Paragraphs of at least `minimum` characters, as `wikitext.paragraphs` gives them, several times as fast.

    Raises ValueError where `wikitext.paragraphs` does.
    """
    check_closed(markup)
    try:
        folded = _Folded(markup)
        texts = [text for lines in _alone(folded.text) for text in _of_lines(lines, folded, minimum)]
    except ValueError:
        texts = paragraphs(markup)
    return [text for text in texts if len(text) >= minimum]


class _Folded:
    """Wikitext in which each part that shows nothing is one character; `unfold` gives the wikitext back."""

    def __init__(self, markup: str) -> None:
        """Raises ValueError where that cannot be."""
        if IS_FOLDED.search(markup):
            raise _Entangled("characters that nobody uses")
        if END_OF_BREAK.search(markup):  # else each <br> might begin a pair
            raise _Entangled("ends of line breaks")
        self.hidden: list[str] = []
        self.visible: set[str] = set()  # characters for what shows something after all
        self.text = OPAQUE.sub(self._fold, markup)
        for _ in range(LEVELS):
            before = len(self.hidden)
            self.text = LEAF.sub(self._fold, self.text)
            if len(self.hidden) == before:
                break
        comments = {character for character in self.visible if STRUCTURE.search(self.unfold(character))}
        if comments and not all(comments.isdisjoint(match[0]) for match in WITH_ATTRIBUTES.finditer(self.text)):
            raise _Entangled("attributes, in which a comment is none")

    def _fold(self, match: re.Match[str]) -> str:
        markup = match[0]
        if markup.startswith("[[") and link_title(match[2]) is not None:
            return markup
        if markup.startswith("{{") and SIDE_BY_SIDE.search(markup):
            return markup
        self.hidden.append(markup)
        first = TEMPLATE[0] if markup.startswith("{{") else OTHER[0]
        character = chr(ord(first) + len(self.hidden) - 1)
        if VISIBLE.match(markup):
            self.visible.add(character)
        return character

    def _markup(self, match: re.Match[str]) -> str:
        first = TEMPLATE[0] if match[0] < OTHER[0] else OTHER[0]
        return self.hidden[ord(match[0]) - ord(first)]

    def unfold(self, text: str) -> str:
        """A stretch of the folded text as it was."""
        while IS_FOLDED.search(text):
            text = IS_FOLDED.sub(self._markup, text)
        return text


def _alone(folded: str) -> Iterator[list[str]]:
    """The rows of lines that the parser would read the same alone; the last one may be long, if something does not end."""
    lines = folded.split("\n")
    for _ in range(2):
        folded = IS_PAIR.sub(lambda match: match[0] if "\n" in match[0] else " " * len(match[0]), folded)
    ends = {match[1].strip().lower(): match.start() for match in END_TAG.finditer(folded)}
    open: list[str] = []
    first = start = 0  # of the row: its first line; of the line: its first character
    for number, line in enumerate(folded.split("\n")):
        if open or not PLAIN_LINE.fullmatch(line):
            try:
                _nest(line, open, start, ends)
            except _Entangled:
                break
        start += len(line) + 1
        if not open:
            yield lines[first : number + 1]
            first = number + 1
    if first < len(lines):
        yield lines[first:]


def _nest(line: str, open: list[str], start: int, ends: Mapping[str, int]) -> None:
    """Bring up to date what is open after a line. Raises _Entangled where that cannot be told.

    An end that does not fit is passed over: the parser may end more there, which never reaches further than this.
    start: where the line begins; ends: where the last end of each tag is that may end another line's. A tag that none
    follows is text.
    """
    depth = lowest = len(open)
    for match in NESTING.finditer(line):
        kind, token = match.lastgroup, match[0]
        if kind == "table":
            open.append("{|")
        elif kind == "table_end":
            if open and open[-1] == "{|":
                open.pop()
        elif kind in ("braces", "brackets"):
            if token[0] in "{[":
                if len(token) > 2:
                    raise _Entangled("braces or brackets that may be read in several ways")
                open.append(token)
            else:
                opening, remaining = "{" if token[0] == "}" else "[", len(token)
                while open and open[-1] in (opening, 2 * opening) and remaining >= len(open[-1]):
                    remaining -= len(open.pop())
        elif kind == "odd":
            raise _Entangled("a tag of another shape")
        else:
            tag = match["tag"].lower()
            if match["end"]:
                while open and open[-1][0] == "<" and open.pop() != f"<{tag}":
                    pass  # a tag that another one's end meets is text
            elif not match["single"] and tag not in SINGLE_ONLY and (tag in SINGLE or ends.get(tag, -1) >= start + match.end()):
                if tag in PARSER_BLACKLIST:
                    raise _Entangled("text that is not parsed")
                open.append(f"<{tag}")
        lowest = min(lowest, len(open))
    if lowest < depth and line.startswith("="):
        raise _Entangled("a heading that may reach over an end")
    while open and open[-1] == "[":
        open.pop()  # an external link ends with its line


def _of_lines(lines: list[str], folded: _Folded, minimum: int) -> list[str]:
    """Paragraphs of a row of lines, without some that are too short."""
    text = "\n".join(lines)
    in_address = IS_FOLDED.search(text) and any(map(IS_ADDRESS.search, BEFORE_TEMPLATE.findall(text)))
    if in_address or folded.visible and not folded.visible.isdisjoint(text):
        return paragraphs(folded.unfold(text))
    if _is_short(text, minimum):
        return []
    if len(lines) == 1 and PLAIN_LINE.fullmatch(text):
        if text.startswith(LIST_MARKERS):
            return []
        try:
            return _of_plain_line(text)
        except _Entangled:
            pass
    elif all(_is_row(line, minimum) for line in lines):
        return []
    return paragraphs(folded.unfold(text))


def _is_short(text: str, minimum: int) -> bool:
    """Whether fewer than `minimum` characters are left of some wikitext; composition (NFC) may make one character of three."""
    return len(text) < minimum and (3 * len(text) < minimum or unicodedata.is_normalized("NFC", text))


def _is_row(line: str, minimum: int) -> bool:
    """Whether a line gives no paragraph, be it in a table or in something that the parser does not take for one."""
    visible = IS_FOLDED.sub("", line).strip()
    if not PLAIN_LINE.fullmatch(INLINE.sub("", visible.removeprefix("{|"))):
        return False
    hidden = visible.startswith(TABLE_ROW) and not visible.startswith("|}") or line.startswith(LIST_MARKERS)
    return hidden or _is_short(line, minimum)


def _of_plain_line(line: str) -> list[str]:
    """The paragraph of a line with simple links and without other markup. Raises _Entangled where there may be some."""
    if line[0] in "=-" or "&" in line:
        raise _Entangled("other markup")
    label_text = PLAIN_LINK.sub(_of_plain_link, line)
    if "[" in label_text:
        raise _Entangled("an external link")
    text = visible_line(IS_FOLDED.sub(NOTHING, label_text))
    return [text] if text else []


def _of_plain_link(match: re.Match[str]) -> str:
    if IS_FOLDED.search(match[1]) or IS_ADDRESS.match(match[1]):
        raise _Entangled("a link of another kind")
    title = link_title(match[1])
    return NOTHING if title is None else title if match[2] is None else match[2]
