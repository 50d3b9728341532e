"""Pages of a Wikipedia dump: MediaWiki's XML export, as one bz2 stream or many (multistream).

A dump is cut into parts, which are read one by one or on several cores, in order and in constant memory. A part is a
compressed block of a multistream dump, cut out as it is, or a stretch of about a megabyte of any other dump.
"""

import io
import logging
import lzma
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Generic, NamedTuple, TypeVar, cast
from xml.etree.ElementTree import Element, ParseError, fromstring, iterparse

from crosslens.runs import signals
from crosslens.runs.errors import DataError, shown
from crosslens.runs.progress import Progress
from crosslens.storage.files import OPENERS, Budget, Limited, decompress

logger = logging.getLogger(__name__)

T = TypeVar("T")
S = TypeVar("S")
# Real dumps begin so: UTF-8, and no document type, so that no entity can be defined in one.
HEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?<mediawiki(?=[\s>])(?:[^>]*?\sxml:lang=[\"']([\w-]*))?")
UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
END = b"</mediawiki>"
PAGE_END = b"</page>"
ATTRIBUTES = "a <page> with attributes"  # none has any: what cuts a dump into pages would not see it
STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # a bz2 stream begins so; ten bytes that stand elsewhere once in 10^23
MEGABYTE = 10**6
SEAM = 10  # bytes of what is read before in which something may begin that is looked for
LONGEST = 32 * MEGABYTE  # bytes that a page may have
LONGEST_BLOCK = 64 * MEGABYTE  # bytes that a compressed one may have
FIRST = 8 * MEGABYTE  # compressed bytes in which a multistream dump shows that it is one: its oldest pages are long
AHEAD = 2  # parts for each process that are read before their turn
# The last: an encoding that Python does not know.
UNREADABLE = (EOFError, OSError, ValueError, ParseError, lzma.LZMAError, zlib.error, LookupError)


class Page(NamedTuple):
    """A page: namespace is 0 for articles.

    block: which block of a multistream dump it is in, counted from 0; None in other dumps. language: of the wiki, in lower case.
    wikitext: whether the text is that, and not JSON, CSS or a program.
    """

    title: str
    namespace: int
    redirect: bool
    text: str
    block: int | None = None
    language: str = ""
    wikitext: bool = True

    @property
    def is_article(self) -> bool:
        """In the main namespace, of wikitext, and not a redirect."""
        return self.namespace == 0 and self.wikitext and not self.redirect


def pages(path: Path) -> Iterator[Page]:
    """All pages of a dump, in order; the newest revision where a page has several. See `in_parts`."""
    for part in in_parts(path, list, processes=1):
        yield from part


def articles(path: Path) -> Iterator[Page]:
    """Pages in the main namespace of wikitext that are not redirects: see `pages`."""
    return (page for page in pages(path) if page.is_article)


def in_parts(path: Path, work: Callable[[Sequence[Page]], T], *, processes: int) -> Iterator[T]:
    """Results of `work` on the pages of each part of a dump, in the dump's order. Few parts are in memory at a time.

    path: XML, plain or compressed (.bz2 of one or many streams, .xz, .gz). A line in the log every ten seconds says how much of
    the file has been read and how long the rest will take. work: called in `processes` other processes where that is more than
    one; it, and its result, must be picklable. It is sent with each part, so that a change to it reaches later parts.

    Raises DataError, with the byte of the file and the page after which it happened, where the file is cut short, damaged, not
    UTF-8 or not a MediaWiki export.
    """
    size, budget = path.stat().st_size, Budget(path)
    last, is_whole = "", False
    with open(path, "rb") as raw, Progress(size // MEGABYTE, f"MB of {path.name}", logger) as progress:
        try:
            for done in _ordered(partial(_work, work), _parts(path, raw), processes):
                last = done.last or last
                budget.take(done.size if path.suffix in OPENERS else 0)
                if done.failure:
                    raise _damaged(path, done.start, last, done.failure)
                is_whole = done.ends
                progress.advance(done.start // MEGABYTE - progress.done)
                yield cast(T, done.result)
        except BrokenProcessPool:
            remedy = "allow it more memory, or fewer processes"
            raise DataError(f"{path}: after page '{shown(last)}': a process that was reading it was killed; {remedy}") from None
        if not is_whole:
            raise _damaged(path, size, last, "the end of the file without </mediawiki>")


def _damaged(path: Path, byte: int, last: str, reason: str) -> DataError:
    place = f"after page '{shown(last)}'" if last else "before the first page"
    return DataError(
        f"{path}: byte {byte} of {path.stat().st_size}, {place}: expected a complete MediaWiki export, found: {reason}; "
        "fetch the file again"
    )


# Cutting


class _Part(NamedTuple):
    """Some whole pages: compressed if they are a block. start: the byte of the file up to which it was read before."""

    start: int
    data: bytes
    block: int | None = None
    language: str = ""
    failure: str = ""  # why there are no more parts


def _parts(path: Path, raw: BinaryIO) -> Iterator[_Part]:
    """The parts of a dump; a last one tells the failure if the file cannot be read to its end."""
    try:
        yield from _blocks(path, raw) if path.suffix == ".bz2" and _is_multistream(raw) else _stretches(path, raw)
    except UNREADABLE as error:
        if isinstance(error, DataError):
            raise
        yield _Part(raw.tell(), b"", failure=_reason(error))


def _is_multistream(raw: BinaryIO) -> bool:
    """Whether a bz2 file has a stream for the head and short ones for the pages, as Wikipedia's multistream dumps do.

    Other files may have several streams too: those of pbzip2 end anywhere, and where the parts of a wiki were joined to one
    file, streams are as long as the parts.
    """
    opening = raw.read(FIRST)
    at_end = not raw.read(1)
    raw.seek(0)
    starts = [match.start() for match in STREAM.finditer(opening)][:3]
    several = len(starts) == 3 or len(starts) == 2 and at_end
    return several and b"<page>" not in decompress(opening[: starts[1]])


def _blocks(path: Path, raw: BinaryIO) -> Iterator[_Part]:
    """The blocks of a multistream dump, cut where the next stream begins."""
    streams = _streams(raw)
    _, head = next(streams)
    content = decompress(head)
    language = _language(path, content[:4096])
    _after_head(content)
    for number, (start, data) in enumerate(streams):
        yield _Part(start, data, number, language)


def _streams(raw: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The bz2 streams of a file, each with the byte where it begins. The reader checks that each ends where it is cut."""
    start, rest = 0, bytearray()
    while data := raw.read(MEGABYTE):
        if len(rest) > LONGEST_BLOCK:
            raise ValueError(f"no end of a block within {LONGEST_BLOCK // MEGABYTE} MB")
        searched = max(1, len(rest) - SEAM)
        rest += data
        cuts = [0, *(match.start() for match in STREAM.finditer(rest, searched))]
        for begin, end in pairwise(cuts):
            yield start + begin, bytes(rest[begin:end])
        start += cuts[-1]
        del rest[: cuts[-1]]
    yield start, bytes(rest)


def _stretches(path: Path, raw: BinaryIO) -> Iterator[_Part]:
    """Stretches of whole pages of a dump that must be decompressed from its beginning."""
    packed = path.suffix in OPENERS
    with Limited(OPENERS[path.suffix](raw, "rb"), Budget(path)) if packed else nullcontext(raw) as stream:
        rest, in_head, searched = bytearray(stream.read(4096)), True, 0
        part = _Part(0, b"", language=_language(path, rest))
        try:
            while data := stream.read(MEGABYTE // 16):
                rest += data
                if len(rest) < MEGABYTE:
                    continue
                if in_head and rest.find(b"<page>", searched) >= 0:
                    rest, in_head, searched = bytearray(_after_head(bytes(rest))), False, 0
                end = rest.rfind(PAGE_END, searched) + len(PAGE_END)
                if not in_head and end >= len(PAGE_END):
                    yield part._replace(start=raw.tell(), data=bytes(rest[:end]))
                    del rest[:end]
                elif len(rest) > LONGEST:
                    raise ValueError(f"no end of a page within {LONGEST // MEGABYTE} MB")
                searched = max(0, len(rest) - SEAM)
        except UNREADABLE:
            whole = bytes(rest[: rest.rfind(PAGE_END) + len(PAGE_END)])  # the whole pages before the damage
            if not in_head or b"<page>" in whole:
                yield part._replace(start=raw.tell(), data=_after_head(whole) if in_head else whole)
            raise
        yield part._replace(start=raw.tell(), data=_after_head(bytes(rest)) if in_head else bytes(rest))


def _language(path: Path, head: bytes | bytearray) -> str:
    """Language of the wiki by the beginning of a file. Raises DataError unless it is that of a MediaWiki export in UTF-8."""
    if match := HEAD.match(head):
        return (match[1] or b"").decode().lower()
    form = "UTF-16" if head.startswith(UTF16) else f"{head[:30]!r}" if head else "an empty file"
    remedy = "convert it to UTF-8" if form == "UTF-16" else "name a pages-articles dump"
    raise DataError(f"{path}: byte 0: expected a MediaWiki export in UTF-8, found {form}; {remedy}")


def _after_head(content: bytes) -> bytes:
    """The beginning of a dump without the head before its pages.

    Raises ParseError where the head is not well-formed, ValueError where it has a page whose tag is not <page>.
    """
    end = min(place for place in (content.find(b"<page>"), content.find(END), len(content)) if place >= 0)
    if fromstring(content[:end] + END).find("{*}page") is not None:
        raise ValueError(ATTRIBUTES)
    return content[end:]


# Reading


class _Done(NamedTuple, Generic[T]):
    """The result of a part.

    last: title of its last whole page; size: its bytes, unpacked; ends: whether the dump ends with it.
    """

    start: int
    result: T | None
    last: str
    size: int = 0
    ends: bool = False
    failure: str = ""


def _work(work: Callable[[Sequence[Page]], T], part: _Part) -> _Done[T]:
    """Read a part, and give its pages to `work`."""
    pages_read: list[Page] = []
    try:
        size, ends = _read(part, pages_read)
    except UNREADABLE as error:
        return _Done(part.start, None, pages_read[-1].title if pages_read else "", failure=_reason(error))
    return _Done(part.start, work(pages_read), pages_read[-1].title if pages_read else "", size, ends)


class _OnePiece(io.BytesIO):
    """Bytes that are read at once: expat reads a long tag or comment anew with each piece that it is given."""

    def read(self, size: int | None = -1, /) -> bytes:
        """All bytes that are left, whatever the size."""
        return super().read()


def _read(part: _Part, pages_read: list[Page]) -> tuple[int, bool]:
    """Append the pages of a part; returns its bytes, unpacked, and whether the dump ends with it."""
    if part.failure:
        raise ValueError(part.failure)
    content = (part.data if part.block is None else decompress(part.data)).rstrip()
    for _, element in iterparse(_OnePiece(b"<mediawiki>" + content.removesuffix(END) + END)):
        if element.tag == "page":
            pages_read.append(_page(element, part))
            element.clear()
    return len(content), content.endswith(END)


def _page(element: Element, part: _Part) -> Page:
    if element.attrib:
        raise ValueError(ATTRIBUTES)
    title, namespace, revisions = element.findtext("title"), element.findtext("ns"), element.findall("revision")
    if title is None or namespace is None:
        raise ValueError("a page without <title> or <ns>")
    tags = [child.tag for parent in (element, *revisions[-1:]) for child in parent]
    if several := [tag for tag in ("title", "ns", "text") if tags.count(tag) > 1]:
        raise ValueError(f"a page with {tags.count(several[0])} <{several[0]}>")
    text, model, form = (revisions[-1].findtext(tag) if revisions else None for tag in ("text", "model", "format"))
    wikitext = model in (None, "wikitext") and form in (None, "text/x-wiki")
    redirect = element.find("redirect") is not None
    return Page(title.replace("_", " "), int(namespace), redirect, text or "", part.block, part.language, wikitext)


def _reason(error: Exception) -> str:
    """The message of an error in one line, without the place in the part that a parser names."""
    return " ".join(str(error).split()).partition(": line ")[0][:200]


def _ordered(function: Callable[[S], T], items: Iterable[S], processes: int) -> Iterator[T]:
    """Results of `function` for each item, in order, computed in other processes; few items are read ahead."""
    if processes == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[T]] = deque()
    with ProcessPoolExecutor(processes, initializer=signals.leave_to_parent) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > AHEAD * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
