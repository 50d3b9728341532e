"""Pages of a Wikipedia dump: MediaWiki's XML export, as one bz2 stream or many (multistream)."""

import logging
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

import mwxml
from mwxml.element_iterator import ElementIterator
from mwxml.errors import MalformedXML

from crosslens.errors import DataError
from crosslens.files import OPENERS
from crosslens.logs import Progress

logger = logging.getLogger(__name__)

# Real dumps begin so: UTF-8, and no document type, so that no entity can be defined in one.
HEAD = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*\?>\s*)?<mediawiki[\s>]")
UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
MEGABYTE = 10**6


class Page(NamedTuple):
    """A page: namespace is 0 for articles, text is wikitext."""

    title: str
    namespace: int
    redirect: bool
    text: str

    @property
    def is_article(self) -> bool:
        """In the main namespace, and not a redirect."""
        return self.namespace == 0 and not self.redirect


def pages(path: Path) -> Iterator[Page]:
    """All pages of a dump, in order; the newest revision where a page has several. One page is in memory at a time.

    path: XML, plain or compressed (.bz2 of one or many streams, .xz, .gz). A line in the log every ten seconds says how
    much of the file is read and how long the rest takes.
    Raises DataError, with the byte of the file and the page after which it happened, where the file is cut short,
    damaged, not UTF-8 or not a MediaWiki export.
    """
    last = ""
    decompress: Any = OPENERS.get(path.suffix, lambda stream, mode: nullcontext(stream))
    with open(path, "rb") as raw:
        try:
            with decompress(raw, "rb") as stream:
                _check_head(path, stream.read(4096))
                stream.seek(0)
                root = ElementIterator.from_file(stream)
                size = path.stat().st_size // MEGABYTE
                with Progress(size, f"MB of {path.name}", logger) as progress:
                    for page in mwxml.Dump.from_element(root):
                        text = ""
                        for revision in page:
                            text = revision.text or ""
                        last = page.title
                        yield Page(page.title, page.namespace, page.redirect is not None, text)
                        root.element.clear()  # else it holds an empty element for each page of the dump
                        progress.advance(raw.tell() // MEGABYTE - progress.done)
        except (EOFError, OSError, ParseError, MalformedXML, ValueError, lzma.LZMAError, zlib.error) as error:
            if isinstance(error, DataError):
                raise
            reason = " ".join(str(error).split())[:200]
            page_name = f"after page '{last}'" if last else "before the first page"
            raise DataError(
                f"{path}: byte {raw.tell()} of {path.stat().st_size}, {page_name}: a whole MediaWiki export expected, "
                f"found: {reason}; fetch the file again"
            ) from None


def _check_head(path: Path, head: bytes) -> None:
    """Raise DataError unless a file begins like a MediaWiki export in UTF-8."""
    if HEAD.match(head):
        return
    found = "UTF-16" if head.startswith(UTF16) else f"{head[:30]!r}" if head else "an empty file"
    remedy = "recode it to UTF-8" if found == "UTF-16" else "name a pages-articles dump"
    raise DataError(f"{path}: byte 0: a MediaWiki export in UTF-8 expected, found {found}; {remedy}")


def articles(path: Path) -> Iterator[Page]:
    """Pages in the main namespace that are not redirects: see `pages`."""
    return (page for page in pages(path) if page.is_article)
