"""Samples of Wikipedia's multistream dumps, fetched in parts: a sample is itself a small multistream dump.

A multistream dump is a sequence of bz2 streams: a header, blocks of 100 pages, and a footer. Its index has one line
`offset:page id:title` per page, in the order of the dump. The offset is that of the block with the page. docs/data.md explains
what a sample represents.
"""

import bz2
import logging
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from crosslens.corpora.sources.fetch import Parts
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import decompress, open_binary
from crosslens.jobs.progress import Progress

logger = logging.getLogger(__name__)

LONGEST_RANGE = 16 * 10**6  # bytes of a request, unless a single block is longer
LONGEST_BLOCK = 64 * 10**6  # bytes
LONGEST_LINE = 10**4  # bytes of a line of an index: a title has 255 at most
FOOTER = b"</mediawiki>\n"
PAGE_ID = re.compile(rb"<id>(\d+)</id>")  # the first in a page is its own, others are those of revisions


class Block(NamedTuple):
    """A block according to the index: offsets of its first byte and after its last, number of pages, CRC-32 of their ids."""

    start: int
    end: int
    pages: int
    ids: int


def sample(index: Path, dump: Parts, target: Path, *, blocks: int, seed: int) -> dict[str, Any]:
    """Write a dump of `blocks` blocks, sampled uniformly without replacement, and return counts.

    index: official index of the dump (.txt.bz2), read in one pass; only four numbers per block are kept in memory.
    The sample has the dump's header, the blocks in their order, and a footer. If the dump has no more than `blocks` blocks, the
    sample equals it byte for byte.
    Returns blocks and bytes of the dump, blocks and pages of the sample, bytes fetched (including the index), and the seed.
    Raises DataError if index and dump do not belong together or a block is damaged; nothing is then written.
    """
    every = read_index(index, dump.size)
    sampled = every if blocks >= len(every) else sorted(random.Random(seed).sample(every, blocks))
    fetched = index.stat().st_size
    with checksummed(target) as temporary, open(temporary, "wb") as sink:
        header = _read(dump, 0, every[0].start)
        fetched += sink.write(header)
        content = _content(dump, 0, header)
        if b"<mediawiki" not in content or b"<page>" in content:
            raise _wrong(dump, 0, "the header of a multistream dump", repr(content[:30]))
        with Progress(len(sampled), f"blocks of {dump.name}", logger) as progress:
            for neighbours in _joined(sampled):
                start = neighbours[0].start
                data = _read(dump, start, neighbours[-1].end - start)
                for block in neighbours:
                    _check(dump, block, data[block.start - start : block.end - start])
                    progress.advance()
                fetched += sink.write(data)
        if sampled[-1] is not every[-1]:  # the dump's own footer comes with its last block
            sink.write(bz2.compress(FOOTER))
    pages = sum(block.pages for block in sampled)
    return {"blocks": len(every), "bytes": dump.size, "drawn": len(sampled), "pages": pages, "fetched": fetched, "seed": seed}


def read_index(index: Path, size: int) -> list[Block]:
    """Blocks of a dump of `size` bytes, in order. Raises DataError if the index is damaged or belongs to another dump."""
    starts: list[int] = []
    pages: list[int] = []
    ids: list[int] = []
    number = 0
    try:
        with open_binary(index) as lines:
            while line := lines.readline(LONGEST_LINE):
                number += 1
                offset, id, _ = line.split(b":", 2)
                start = int(offset)
                if not starts or start != starts[-1]:
                    if start <= (starts[-1] if starts else 0):
                        raise ValueError("an offset not larger than the one before")
                    starts.append(start)
                    pages.append(0)
                    ids.append(0)
                pages[-1] += 1
                ids[-1] = zlib.crc32(b"%d\n" % int(id), ids[-1])
    except DataError:
        raise
    except (EOFError, OSError, ValueError) as error:
        problem = shown(str(error))
        raise DataError(
            f"{index}: line {number}: expected lines like offset:page id:title in the order of offsets, found: {problem}; fetch "
            "it again"
        ) from None
    if not starts:
        raise DataError(f"{index}: expected a line per page, found none; fetch it again")
    if starts[-1] >= size:
        remedy = "fetch index and dump of the same date"
        raise DataError(f"{index}: expected offsets below {size}, the size of the dump, found {starts[-1]}; {remedy}")
    return [Block(*row) for row in zip(starts, [*starts[1:], size], pages, ids, strict=True)]


def _joined(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield runs of adjacent blocks that are short enough for one request."""
    row: list[Block] = []
    for block in blocks:
        if row and (block.start != row[-1].end or block.end - row[0].start > LONGEST_RANGE):
            yield row
            row = []
        row.append(block)
    yield row


def _read(dump: Parts, start: int, length: int) -> bytes:
    if length > LONGEST_BLOCK:
        raise _wrong(dump, start, f"a block of at most {LONGEST_BLOCK // 10**6} MB", f"{length} bytes in the index")
    data = dump.read(start, length)
    if len(data) != length:
        raise _wrong(dump, start, f"{length} bytes", str(len(data)))
    return data


def _content(dump: Parts, start: int, data: bytes) -> bytes:
    try:
        return decompress(data)
    except (EOFError, OSError) as error:
        raise _wrong(dump, start, "a bz2 stream", str(error)) from None


def _check(dump: Parts, block: Block, data: bytes) -> None:
    """Raise DataError unless a block has the pages that the index says. data: compressed bytes of the block."""
    content = _content(dump, block.start, data)
    if not content.lstrip().startswith(b"<page>"):
        raise _wrong(dump, block.start, "<page>", repr(content[:30]))
    page_ids = [match[1] for match in map(PAGE_ID.search, content.split(b"<page>")[1:]) if match]
    checksum = 0
    for id in page_ids:
        checksum = zlib.crc32(id + b"\n", checksum)
    if (len(page_ids), checksum) != (block.pages, block.ids):
        raise _wrong(dump, block.start, f"the {block.pages} pages of the index", f"{len(page_ids)} pages with other ids")


def _wrong(dump: Parts, start: int, expected: str, actual: str) -> DataError:
    remedy = "fetch index and dump of the same date again"
    return DataError(f"{dump.name}: byte {start} of {dump.size}: expected {expected}, found {actual}; {remedy}")
