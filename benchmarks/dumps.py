"""Paragraphs of Wikipedia dumps: how fast dumps are read, and how much of one must be fetched.

    python benchmarks/dumps.py jawiki-20230501-pages-articles-multistream.xml.bz2 ...
    python benchmarks/dumps.py --index xwiki-20230501-pages-articles-multistream-index.txt.bz2 --bytes 4852895748

With dumps: MB of raw XML a second, ours on all cores and on one against the plain loop over mwxml and mwparserfromhell that
calls the same `paragraphs` on each article; all arms in turn, in one run, and the paragraphs of all must be the same. Then
always: the bytes of a sample of 100 blocks as a part of the dump's, of wikis whose sizes are published, and of the one whose
index is named.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import common
import mwxml
from crosslens.corpora.dumps import Page, in_parts, pages
from crosslens.corpora.wikitext import paragraphs
from crosslens.sources.wikipedia import read_index
from crosslens.storage.files import open_binary

Found = list[tuple[str, list[str]]]
CORES = len(os.sched_getaffinity(0))
PLAIN = "mwxml and mwparserfromhell"
# Bytes of pages-articles-multistream.xml.bz2 and of its index, as published. What a page takes in an index was counted for
# enwiki of 2018-06-20, which has 18,568,656; it is less for a small wiki, more where titles are long.
PUBLISHED = {
    "enwiki 2016-10-01": (14_178_624_372, 185_177_516),
    "enwiki 2023-08-01": (20_700_000_000, 241_000_000),
    "jawiki 2026-09-01": (4_852_895_748, 31_357_252),
}
INDEX_BYTES = 11  # a page


def plainly(path: Path, minimum: int) -> Found:
    """Titles of articles, and their paragraphs of at least `minimum` characters."""
    found = []
    language = next(pages(path)).language
    with open_binary(path) as stream:
        for page in mwxml.Dump.from_file(stream):
            if page.namespace == 0 and page.redirect is None:
                text = ""
                for revision in page:
                    text = revision.text or ""
                found.append((page.title, [each for each in paragraphs(text, language) if len(each) >= minimum]))
    return found


def clean(pages: Sequence[Page], minimum: int) -> Found:
    """The same of a part of a dump."""
    return [
        (page.title, [text for text in paragraphs(page.text, page.language) if len(text) >= minimum])
        for page in pages
        if page.is_article
    ]


def ours(path: Path, minimum: int, processes: int) -> Found:
    """The same of a dump, as the workflow reads it."""
    return [each for part in in_parts(path, partial(clean, minimum=minimum), processes=processes) for each in part]


def speed(paths: Sequence[Path], minimum: int, repeats: int) -> str:
    """Megabytes of XML a second of each arm, as a table."""
    size = 0
    for path in paths:
        with open_binary(path) as stream:
            size += sum(map(len, iter(partial(stream.read, 10**6), b"")))
    runs: dict[str, Callable[[Path], Found]] = {
        f"ours, {CORES} processes": lambda path: ours(path, minimum, CORES),
        "ours, 1 process": lambda path: ours(path, minimum, 1),
        PLAIN: lambda path: plainly(path, minimum),
    }
    last: dict[str, list[Found]] = {}

    def arm(name: str) -> Callable[[], float]:
        def timed() -> float:
            started = time.perf_counter()
            last[name] = [runs[name](path) for path in paths]
            return size / (time.perf_counter() - started) / 1e3

        return timed

    rates = common.in_turn({name: arm(name) for name in runs}, repeats)
    for name in runs:
        assert last[name] == last[PLAIN], name
    number = sum(len(texts) for found in last[PLAIN] for _, texts in found)
    facts = f"{len(paths)} dumps, {size / 1e6:.0f} MB of XML, {number} paragraphs of {minimum} characters, equal in all arms"
    return f"{facts}\n{common.compare(rates, 'kB of XML a second', [PLAIN])}"


def share(name: str, dump: int, index: int, block: float, blocks: int) -> str:
    """What a sample of `blocks` blocks of `block` bytes each fetches, against the dump."""
    fetched = block * blocks
    return (
        f"{name}: {blocks} blocks, {fetched / 1e6:.1f} MB, {fetched / dump:.2%} of {dump / 1e9:.1f} GB; "
        f"with the index {(fetched + index) / 1e6:.1f} MB, {(fetched + index) / dump:.2%}"
    )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dumps", type=Path, nargs="*", help="dumps to read")
    parser.add_argument("--minimum", type=int, default=100, help="characters of a paragraph")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--index", type=Path, help="index of a multistream dump")
    parser.add_argument("--bytes", type=int, help="size of the dump that the index is of")
    parser.add_argument("--blocks", type=int, default=100, help="blocks of a sample")
    settings = parser.parse_args()
    if settings.dumps:
        print(speed(settings.dumps, settings.minimum, settings.repeats))
    for name, (dump, index) in PUBLISHED.items():
        print(share(f"{name}, blocks of the mean size", dump, index, dump * 100 * INDEX_BYTES / index, settings.blocks))
    if settings.index:
        sizes = [block.end - block.start for block in read_index(settings.index, settings.bytes)]
        blocks = min(settings.blocks, len(sizes))
        print(share(settings.index.name, settings.bytes, settings.index.stat().st_size, mean(sizes), blocks))


if __name__ == "__main__":
    main()
