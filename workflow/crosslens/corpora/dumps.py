"""Pages of a Wikipedia dump (MediaWiki's XML export), and work on them in several processes.

The standard library's parser reads a dump as a stream. The tests compare it with mwxml, which takes 50 % longer.
"""

import logging
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from joblib import Parallel, delayed

from crosslens.jobs import signals
from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import OPENERS, Budget, Limited
from crosslens.jobs.progress import Progress

logger = logging.getLogger(__name__)

T = TypeVar("T")
PART = 100  # pages that are sent to a process together
CHUNK = 2**18  # bytes
MEGABYTE = 10**6
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
UNREADABLE = (EOFError, OSError, ValueError, ParseError, lzma.LZMAError, zlib.error, LookupError)  # the last: unknown encoding


class Page(NamedTuple):
    """A page of a wiki; its namespace is 0 for articles.

    language: code of the wiki, in lower case. wikitext: whether the text is wikitext rather than JSON, CSS or a program.
    """

    title: str
    namespace: int
    redirect: bool
    text: str
    language: str = ""
    wikitext: bool = True

    @property
    def is_article(self) -> bool:
        """Whether the page is wikitext in the main namespace and not a redirect."""
        return self.namespace == 0 and self.wikitext and not self.redirect


def pages(path: Path) -> Iterator[Page]:
    """Yield all pages of a dump in order, each with its newest revision.

    path: XML, plain or compressed (.bz2 of one or many streams, .xz, .gz). Every ten seconds, a line in the log says how much
    of the file has been read and how long the rest will take.
    Raises DataError, with the last page that was read, if the file is truncated, damaged or not a MediaWiki export.
    """
    place = "before the first page"
    size = path.stat().st_size // MEGABYTE
    with open(path, "rb") as file, Progress(size, f"MB of {path.name}", logger) as progress:
        stream = Limited(OPENERS[path.suffix](file, "rb"), Budget(path)) if path.suffix in OPENERS else file
        try:
            for page in _pages(_events(stream)):
                yield page
                place = f"after page '{shown(page.title)}'"
                progress.advance(file.tell() // MEGABYTE - progress.done)
        except DataError:
            raise
        except UNREADABLE as error:
            reason = shown(" ".join(str(error).split()))
            raise DataError(
                f"{path}: {place}: expected a complete MediaWiki export, found: {reason}; "
                "name a pages-articles dump, or fetch the file again"
            ) from None


def in_parts(path: Path, work: Callable[[Sequence[Page]], T], *, processes: int) -> Iterator[T]:
    """Yield the result of `work` for each hundred pages of a dump, in the dump's order. Few pages are in memory at a time.

    work: pages -> result; both it and its result must be picklable. It is sent again with each part, so that later parts see
    changes to it. processes: number of worker processes; with 1, `work` is called in this process.
    Raises DataError if the dump cannot be read (see `pages`) or a worker process is killed.
    """
    all_pages = pages(path)
    parts = iter(lambda: list(islice(all_pages, PART)), [])
    if processes == 1:
        yield from map(work, parts)
        return
    pool = Parallel(processes, return_as="generator", batch_size=1, pre_dispatch="3*n_jobs", initializer=signals.leave_to_parent)
    try:
        yield from pool(delayed(work)(part) for part in parts)
    except BrokenProcessPool:
        remedy = "allow it more memory, or fewer processes"
        raise DataError(f"{path}: expected to read all of it, but a process that did was killed; {remedy}") from None


def _events(stream: IO[bytes] | Limited) -> Iterator[tuple[str, Element]]:
    """Yield the starts and ends of XML elements.

    Chunks are large, since expat reads an unfinished long tag again with each chunk.
    """
    parser: Any = XMLPullParser(("start", "end"))
    while content := stream.read(CHUNK):
        parser.feed(content)
        yield from parser.read_events()
    parser.close()


def _pages(events: Iterator[tuple[str, Element]]) -> Iterator[Page]:
    """Yield the pages of an export. Raises ValueError if the file is not a MediaWiki export."""
    _, root = next(events)
    if _tag(root) != "mediawiki":
        raise ValueError(f"<{_tag(root)}>")
    language = root.get(LANGUAGE, "").lower()
    for event, element in events:
        if event == "end" and _tag(element) == "page":
            yield _page(element, language)
            root.clear()


def _page(element: Element, language: str) -> Page:
    tags = [_tag(child) for child in element]
    if tags.count("title") != 1 or tags.count("ns") != 1:
        raise ValueError("a page without one <title> and one <ns>")
    children = dict(zip(tags, element, strict=True))
    revision = {_tag(child): child.text for child in children.get("revision", ())}
    return Page(
        (children["title"].text or "").replace("_", " "),
        int(children["ns"].text or ""),
        "redirect" in children,
        revision.get("text") or "",
        language,
        revision.get("model") in (None, "wikitext") and revision.get("format") in (None, "text/x-wiki"),
    )


def _tag(element: Element) -> str:
    """Name of an element without its XML namespace, which differs between versions of the export."""
    return element.tag.rpartition("}")[2]
