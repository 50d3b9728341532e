"""From wikitext to the paragraphs that a reader sees: running text only, one line of wikitext a paragraph.

What counts as a paragraph follows wikiextractor, which tanti2021 used: a line of an article that is not a heading, a
list item or part of a template, table or reference. mwparserfromhell parses; what it cannot parse, and would leave as
markup in the text, is left out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

import mwparserfromhell
from mwparserfromhell.definitions import PARSER_BLACKLIST, SINGLE, SINGLE_ONLY, URI_SCHEMES
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

# Names of the namespaces whose links show no text: MediaWiki's own and the local ones with their aliases.
FILE_NAMES = """
    file image media lêer beeld ملف صورة وسائط файл картинка изображение медия soubor datei bild medium αρχείο εικόνα
    archivo imagen fail pilt fitxategi irudi پرونده تصویر tiedosto kuva fichier קובץ תמונה चित्र फ़ाइल fájl kép
    berkas gambar immagine ファイル 画像 сурет 파일 그림 bestand afbeelding plik grafika ficheiro arquivo imagem
    slika datoteka fil படிமம் படம் దస్త్రం బొమ్మ ไฟล์ ภาพ talaksan larawan dosya resim فائل tập_tin hình
    fáìlì àwòrán 文件 檔案 档案 图像 圖像 图片 圖片
"""
CATEGORY_NAMES = """
    category kategorie تصنيف категория kategorie κατηγορία categoría kategooria kategoria رده luokka catégorie
    קטגוריה श्रेणी kategória kategori categoria カテゴリ санат 분류 वर्ग categorie kategorija பகுப்பு వర్గం
    หมวดหมู่ kategorya زمرہ thể_loại ẹ̀ka 分类 分類
"""


def _names(words: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFC", word).casefold().replace("_", " ") for word in words.split())


HIDDEN_NAMESPACES = _names(FILE_NAMES) | _names(CATEGORY_NAMES)
# Any language's file namespace shows in the file's name.
MEDIA_FILE = re.compile(
    r"\.(jpe?g|png|gif|svg|tiff?|webp|xcf|djvu|pdf|og[agv]|opus|webm|mp[34]|mpe?g|wav|flac|midi?|stl)\s*$", re.I
)
INTERLANGUAGE = re.compile(r"(simple|[a-z]{2,3}(-[a-z]+)*)\s*:")

HIDDEN_TAGS = frozenset(
    """ref references gallery math ce chem timeline table tr td th caption ul ol dl code syntaxhighlight source pre
    score hiero imagemap templatestyles templatedata graph mapframe maplink inputbox indicator categorytree section
    includeonly script style poem audio video""".split()
)
BLOCK_TAGS = frozenset("p div blockquote center hr h1 h2 h3 h4 h5 h6".split())
LIST_TAGS = frozenset("li dd dt".split())
LISTED = "\0"  # marks a line that is a list item
NOTHING = "\1"  # what shows nothing, but is something between quotes: '''{{template}}'''

MAGIC_WORD = re.compile(r"__[^\W\d_]{3,}__")
STRAY_TAG = re.compile(
    r"</?(?:small|big|span|div|center|font|b|i|u|s|em|strong|p|br|hr|sub|sup|nowiki|noinclude|onlyinclude|cite|abbr|bdi|q|tt|var)"
    r"\b[^<>]*>",
    re.I,
)
VARIANT = re.compile(r"-\{(?:([^{}|]*)\|)?([^{}]*)\}-")  # Chinese and others: -{zh-hans:A; zh-hant:B}-
HIDING_FLAGS = frozenset("HTD-")
EMPTY_BRACKETS = re.compile(r"[(（\[]\s*(?:[,;:、，；：·]\s*)*[)）\]]")
OPENING = re.compile(r"([(（])\s*(?:[,;:、，；：]\s*)+")  # left where a template opened the brackets
REMNANT = re.compile(r"\[\[|\]\]|\{\{|\}\}|\{\||\|\}|\|-|</?[a-zA-Z][^<>]*>?|^[|!]|^=.*=$")
QUOTES = re.compile(r"'{2,}")
# A list that is typed, or stands after a comment or a template; an address, which refers to a source.
NO_TEXT = re.compile(r"#\s|[*;:•‣◦●○▪▫■□►▶◆◇·]|[(\[<]*(?:[a-z]+:)?//|[(\[<]*www\.", re.I)
BEHEADED = re.compile(r"(?:[,、，]|\.(?=\s|$))\s*")  # what came before it was a template
PATIENCE = 10**8  # characters that the parser reads in vain, in some ten seconds; real pages come to 5 * 10^6
BREAKS = 1000  # line breaks of a page, each of which the patterns below take for the beginning of a pair
BRACKETED = (("[", "]"), ("{", "}"), ("<", ">"), ("<!--", "-->"))
START_OR_END = re.compile(r"<(/?)([a-zA-Z]+)(?:>|\s[^<>]*+(?<!/)>)")  # single ones, <ref/>, need no end


def paragraphs(markup: str) -> list[str]:
    """Paragraphs of a page's wikitext, in order: plain text on one line, NFC, single spaces, never empty.

    Kept: text, the labels of links, bold and italic text, the contents of small, span, div and the like. Left out:
    templates, tables, references, galleries, formulas, files with their captions, categories, interlanguage links,
    headings, lists, indented lines, comments, magic words and HTML tags; lines that begin with a bullet or an address.
    Entities are decoded. A line in which markup would be left, because it is unbalanced, is left out.
    Raises ValueError where the markup is nested too deeply to parse, or too much of it is never closed.
    """
    _check_closed(markup)
    try:
        code = mwparserfromhell.parse(markup, skip_style_tags=True)
        text = "".join(_visible(code))
    except (ParserError, RecursionError) as error:
        raise ValueError(f"wikitext that cannot be parsed: {error}") from None
    lines = (_line(line) for line in text.split("\n") if LISTED not in line)
    return [line for line in lines if line and not REMNANT.search(line)]


def _check_closed(markup: str) -> None:
    """Raise ValueError where parsing would hardly end: each thing that is not closed is read to the end of the page first."""
    tags = Counter[str]()
    for end, name in START_OR_END.findall(markup):
        tags[name.lower()] += -1 if end else 1
    unclosed = sum(max(0, tags[name]) for name in tags if name not in SINGLE)
    unclosed += sum(max(0, markup.count(begin) - markup.count(end)) for begin, end in BRACKETED)
    if unclosed * len(markup) > PATIENCE:
        raise ValueError(f"wikitext in which {unclosed} things are opened and never closed")


def _visible(code: Wikicode) -> Iterator[str]:
    """The text of parsed wikitext, bit by bit, with its line breaks, quotes for bold, and marks of lists and of nothing."""
    for node in code.nodes:
        if isinstance(node, Text):
            yield node.value
        elif isinstance(node, Wikilink):
            yield from _link(node)
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
                    yield from _visible(node.contents)
                yield edge
        elif isinstance(node, ExternalLink):
            if node.title is not None:
                yield from _visible(node.title)
            else:
                yield NOTHING if node.brackets else str(node.url)
        elif isinstance(node, HTMLEntity):
            yield node.normalize().replace("\n", " ")
        elif isinstance(node, Heading):
            yield "\n"
        elif not isinstance(node, Comment):
            assert isinstance(node, (Template, Argument)), type(node)
            yield NOTHING


def _link(link: Wikilink) -> Iterator[str]:
    """What a link shows: its label or its title; nothing for files, categories and interlanguage links."""
    title = _title(str(link.title))
    if title is None:
        yield NOTHING
    elif link.text is not None:
        yield from _visible(link.text)
    elif "\n" not in title:
        yield from _visible(mwparserfromhell.parse(title) if "&" in title else Wikicode([Text(title)]))


def _title(title: str) -> str | None:
    """What a link without a label shows; None for links that show nothing."""
    title = title.strip()
    if title.startswith(":"):
        return title[1:].lstrip()
    if ":" in title:
        namespace = unicodedata.normalize("NFC", title.partition(":")[0].strip().replace("_", " ")).casefold()
        if namespace in HIDDEN_NAMESPACES or INTERLANGUAGE.match(title) or MEDIA_FILE.search(title):
            return None
    return title


def _line(line: str) -> str:
    """One line as a reader sees it."""
    if not line.strip():
        return ""
    line = _unquote(line).replace(NOTHING, "")
    line = STRAY_TAG.sub(" ", MAGIC_WORD.sub("", line))
    if "-{" in line:
        line = VARIANT.sub(_variant, line)
    line = OPENING.sub(r"\1", EMPTY_BRACKETS.sub("", line)).strip()
    if beheaded := BEHEADED.match(line):
        line = line[beheaded.end() :]
    return "" if NO_TEXT.match(line) else unicodedata.normalize("NFC", " ".join(line.split()))


def _variant(match: re.Match[str]) -> str:
    """The first variant of a text that a wiki converts between scripts; '' where it only sets a rule."""
    flags, text = match.groups()
    if flags is not None and HIDING_FLAGS & set(flags.upper().replace(" ", "").split(";")):
        return ""
    first = text.split(";")[0]
    return re.sub(r"^\s*[a-z]{2,3}(-[a-z]+)?\s*:", "", first).strip()


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


# The fast way. Most of a page cannot be a paragraph, and most of what can is text with simple links. What is balanced and
# shows nothing is folded to one character of private use, from the inside out. The rest is cut into lines, or into rows of
# lines where something begins in one and ends in another, that the parser reads the same alone. Rows that are too short, or
# are tables, are passed over, and lines with simple links are read here. All patterns take less than what the parser takes:
# what they leave is for the parser, as it was before it was folded.

TEMPLATE, OTHER = "\U000f0000-\U000fffff", "\U00100000-\U0010ffff"  # what templates, and what all else, are folded to
FOLDED = TEMPLATE + OTHER
LEVELS = 8  # of nesting that are folded: far from the parser's own limit, where it takes what is inside for text
IS_FOLDED = re.compile(f"[{FOLDED}]")
VISIBLE = re.compile("<nowiki|<!--", re.IGNORECASE)  # a comment shows in an address, and ends in a table's attributes

STRUCTURE = re.compile(r"[\[\]{}|\n]|<(?!!--)|(?<!--)>")

ATTRIBUTE = rf"""[^\s"'<>{{}}\[\]\\=/|{FOLDED}]"""
QUOTED = rf""""[^"<>{{}}\[\]\\{OTHER}]*+"|'[^'<>{{}}\[\]\\{OTHER}]*+'"""
ATTRIBUTES = rf"(?!\n)(?:\s+{ATTRIBUTE}++(?:\s*+=\s*+(?:{QUOTED}|(?:{ATTRIBUTE}|/(?!>))++))?+)*+\s*+"
TAG = rf"[^\s<>{{}}\[\]|=&'\"\#*;:/\-!\\{FOLDED}]++"
WITH_ATTRIBUTES = re.compile(rf"^\s*(?:\{{\||[|!]).*[{OTHER}]|<{TAG}\s[^<>]*[{OTHER}]", re.MULTILINE)
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
PAIR = rf"<({TAG})(?=[\s/>]){ATTRIBUTES}>(?:[^<{{}}\[\]\n]|{SIMPLE}|{BRACKETS})*+</(?i:\1)\s*+>"
IS_PAIR = re.compile(PAIR)
END_TAG = re.compile("</([^<>]*)")
NESTING = re.compile(
    rf"""(?P<table>^\s*\{{\|)|(?P<table_end>^\s*\|\}}(?!\}}))|(?P<braces>\{{\{{+|\}}\}}+)|(?P<brackets>\[+|\]+)
    |<(?P<end>/?)(?P<tag>{TAG})(?=[\s/>]){ATTRIBUTES}(?P<single>/?)>|(?P<odd><{TAG}(?=\s|$))""",
    re.VERBOSE,
)
ADDRESS = rf"(?://|\b(?i:{'|'.join(URI_SCHEMES)}):)"
IS_ADDRESS = re.compile(ADDRESS)
LONG_ADDRESS = re.compile(rf"{ADDRESS}[^ \n\[\]<>\"{FOLDED}]*+[{TEMPLATE}]")  # shows the template in it as it is written
PLAIN_LINE = re.compile(rf"(?:[^\[\]{{<]|{LINK}|{BRACKETS})*+")
PLAIN_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
INLINE = re.compile(rf"<(?i:br)\ *+/?>|(?!<(?i:{'|'.join(sorted(BLOCK_TAGS))})\b){PAIR}")
TABLE_ROW = ("{|", "|", "!")
LIST_MARKERS = ("*", "#", ":", ";")


class _Entangled(ValueError):
    """A page, or a line of it, that only the parser can read."""


def long_paragraphs(markup: str, minimum: int) -> list[str]:
    """Those of `paragraphs` that have `minimum` characters or more: the same, several times as fast. Raises ValueError as it."""
    _check_closed(markup)
    try:
        folded = _Folded(markup)
        found = [text for lines in _alone(folded.text) for text in _of_lines(lines, folded, minimum)]
    except ValueError:
        found = paragraphs(markup)
    return [text for text in found if len(text) >= minimum]


class _Folded:
    """Wikitext in which what shows nothing is one character, for which `unfold` gives the wikitext back."""

    def __init__(self, markup: str) -> None:
        """Raises ValueError where that cannot be."""
        if IS_FOLDED.search(markup):
            raise _Entangled("characters of private use")
        if markup.count("<br") + markup.count("<BR") > BREAKS:
            raise _Entangled("line breaks")
        self.hidden: list[str] = []
        self.visible: set[str] = set()  # characters for what shows something after all
        self.text = OPAQUE.sub(self._fold, markup)
        for _ in range(LEVELS):
            before = len(self.hidden)
            self.text = LEAF.sub(self._fold, self.text)
            if len(self.hidden) == before:
                break
        if len(self.hidden) > 0xFFFF:
            raise _Entangled("too much to fold")
        comments = {character for character in self.visible if STRUCTURE.search(self.unfold(character))}
        if comments and not all(comments.isdisjoint(match[0]) for match in WITH_ATTRIBUTES.finditer(self.text)):
            raise _Entangled("attributes, in which a comment is none")

    def _fold(self, match: re.Match[str]) -> str:
        markup = match[0]
        if markup.startswith("[[") and _title(match[2]) is not None:
            return markup
        if markup.startswith("{{") and SIDE_BY_SIDE.search(markup):
            return markup
        self.hidden.append(markup)
        first = TEMPLATE[0] if markup.startswith("{{") else OTHER[0]
        character = chr(ord(first) + (len(self.hidden) - 1 & 0xFFFF))
        if VISIBLE.match(markup):
            self.visible.add(character)
        return character

    def unfold(self, text: str) -> str:
        """A stretch of the folded text as it was."""
        while IS_FOLDED.search(text):
            text = IS_FOLDED.sub(lambda match: self.hidden[ord(match[0]) & 0xFFFF], text)
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
                opening, left = "{" if token[0] == "}" else "[", len(token)
                while open and open[-1] in (opening, 2 * opening) and left >= len(open[-1]):
                    left -= len(open.pop())
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
    if folded.visible and not folded.visible.isdisjoint(text) or IS_FOLDED.search(text) and LONG_ADDRESS.search(text):
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
    """If text of less than `minimum` characters is left of some wikitext; composition (NFC) may make three of one."""
    return len(text) < minimum and (3 * len(text) < minimum or unicodedata.is_normalized("NFC", text))


def _is_row(line: str, minimum: int) -> bool:
    """If a line gives no paragraph, whether it is in a table or in something that the parser does not take for one."""
    shown = IS_FOLDED.sub("", line).strip()
    if not PLAIN_LINE.fullmatch(INLINE.sub("", shown.removeprefix("{|"))):
        return False
    hidden = shown.startswith(TABLE_ROW) and not shown.startswith("|}") or line.startswith(LIST_MARKERS)
    return hidden or _is_short(line, minimum)


def _of_plain_line(line: str) -> list[str]:
    """The paragraph of a line with simple links and without other markup. Raises _Entangled where there may be some."""
    if line[0] in "=-" or "&" in line:
        raise _Entangled("other markup")
    shown = PLAIN_LINK.sub(_of_plain_link, line)
    if "[" in shown:
        raise _Entangled("an external link")
    text = _line(IS_FOLDED.sub(NOTHING, shown))
    return [text] if text and not REMNANT.search(text) else []


def _of_plain_link(match: re.Match[str]) -> str:
    if IS_FOLDED.search(match[1]) or IS_ADDRESS.match(match[1]):
        raise _Entangled("a link of another kind")
    title = _title(match[1])
    return NOTHING if title is None else title if match[2] is None else match[2]
