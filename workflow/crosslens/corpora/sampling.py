"""Samples of running text by page: the paragraphs that the language head of tanti2021 learns from (appendix A)."""

import hashlib
import heapq
import logging
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from crosslens.corpora import wikitext
from crosslens.corpora.dumps import Page, in_parts
from crosslens.corpora.lines import UNSPACED, read_lines
from crosslens.corpora.schema import PARAGRAPHS, write
from crosslens.corpora.treebanks import Sentence, document, read_treebank
from crosslens.errors import DataError

logger = logging.getLogger(__name__)

PAGE_SHARE = 0.1  # of the smallest split's size: so much may come from one page, unless there is too little text
BLOCK_SHARE = 0.02  # of the sample, the same for a block of a dump, whose pages are neighbours in time
DOCUMENTS = 100  # of CC-100 that are looked at together, as many as the pages of a block
PARAGRAPH = 300  # characters after which a paragraph made of a treebank's sentences ends


class Paragraph(NamedTuple):
    """A paragraph and its name."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A page that may be drawn, and what it has: different texts that are long enough, in random order.

    Candidates sort by preference. block: which block of a multistream dump the page is in, None of anything else.
    failure: why its text cannot be told. twice: paragraphs left out because the page has them twice.
    """

    digest: int
    page: str
    block: int | None
    paragraphs: list[Paragraph]
    failure: str = ""
    twice: int = 0


class Part(NamedTuple):
    """Candidates of a part of the source. pages: how many were read to find them; blocks: 1 if it is a block, else 0."""

    candidates: list[Candidate]
    pages: int
    blocks: int = 0


def write_paragraphs(
    source: Path,
    outputs: Mapping[str, Path],
    *,
    language: str,
    form: Literal["dump", "lines", "treebank"],
    paragraphs: int,
    minimum_characters: int,
    shares: Mapping[str, float],
    spare: float,
    seed: int,
    processes: int = 1,
) -> dict[str, Any]:
    """Write splits of a sample of paragraphs; returns the metadata that each file carries.

    source: a MediaWiki dump; lines, each a paragraph, with a blank one after each document (CC-100); or a treebank whose
    neighbouring sentences are joined to paragraphs of about 300 characters. A document is a page.
    paragraphs: how many in all splits together, each of `minimum_characters` at least after stripping, no text twice.
    shares: of each split. A page is in one split only. Departure: the authors split by paragraph, so that an article
    may be in train and in test.
    spare: surplus, as a fraction: rows are in order of preference, the first `nominal` ones are the sample, the rest
    can replace rows that are dropped later (tanti2021 drops texts with unknown tokens).
    processes: how many read a dump; the sample is the same with any number.
    The sample is that of the pages whose digest with the seed is smallest: it needs one reading, holds no more pages
    than it takes, and does not depend on the order of the pages. A page gives at most a tenth of the smallest split, and
    the pages of a block of a multistream dump together a fiftieth of the sample, or more where there is too little text
    (first from a block, then from a page); where there is still too little, everything is taken, in proportion.
    Metadata: asked, found and nominal numbers of paragraphs (by split), the limits for a page and for a block, how many
    pages and blocks were read, and what was left out of the pages that were looked at.
    Raises DataError where the source is damaged or a split ends up empty; then nothing is written.
    """
    nominal = _apportion(paragraphs, shares)
    unknown = sorted(set(outputs) - set(shares))
    starved = unknown or [split for split in outputs if not nominal[split]]
    if starved:
        raise DataError(f"{language}.{starved[0]}: no share of the {paragraphs} paragraphs; give it a larger one")
    targets = {split: math.ceil(number * (1 + spare)) for split, number in nominal.items() if number}
    total = sum(targets.values())
    sieve = _Sieve(f"{seed}/{language}", minimum_characters)
    page_limit, block_limit = math.ceil(PAGE_SHARE * min(targets.values())), math.ceil(BLOCK_SHARE * total)
    pages = _Pages(sieve, page_limit, block_limit)
    read: Iterable[Part]
    if form == "dump":
        read = in_parts(source, sieve, processes=processes)
    else:
        read = _lines(source, sieve) if form == "lines" else [_treebank(source, language, sieve)]
    # A page may overfill its split; what it brings beyond the target is lost.
    pages.draw(read, total + len(targets) * (page_limit - 1))
    splits, full = pages.assign(targets)
    while not full and pages.relax():  # then all pages are still held
        splits, full = pages.assign(targets)
    splits = {split: rows[: targets[split]] for split, rows in splits.items()}
    found = sum(map(len, splits.values()))
    for split in outputs:
        if not splits[split]:
            raise DataError(
                f"{source}: no paragraph for {language}.{split}: {found} of {minimum_characters} characters and more "
                f"found in {len(pages.held)} pages, {paragraphs} asked for; name a larger file or a lower minimum"
            )
    metadata: dict[str, Any] = {
        "source": source.name,
        "asked": paragraphs,
        "found": found,
        "rows": {split: len(rows) for split, rows in splits.items()},
        "nominal": {split: min(nominal[split], len(rows)) for split, rows in splits.items()},
        "shares": dict(shares),
        "minimum_characters": minimum_characters,
        "page_limit": pages.limit,
        "block_limit": pages.block_limit if pages.counts["blocks"] else None,
        "seed": seed,
        **pages.counts,
    }
    for split, path in outputs.items():
        rows = [{"id": row.id, "language": language, "page": page, "text": row.text} for page, row in splits[split]]
        write(rows, path, PARAGRAPHS, metadata)
    if found < paragraphs:
        logger.warning("%s: %d paragraphs asked for, %d found", source, paragraphs, found)
    return metadata


def _apportion(number: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole parts of a number by shares, by largest remainder."""
    exact = {split: number * share / sum(shares.values()) for split, share in shares.items()}
    # The rounding keeps 0.1 * 30 at 3.
    parts = {split: math.floor(round(value, 9)) for split, value in exact.items()}
    for split in sorted(exact, key=lambda split: parts[split] - exact[split])[: number - sum(parts.values())]:
        parts[split] += 1
    return parts


@dataclass
class _Sieve:
    """What is left of the pages of a part: candidates, without those that are known to come too late.

    salt: seed and language. bound: digests from here on come too late. It only falls, so that a process with an earlier
    bound finds too many candidates and never too few.
    """

    salt: str
    minimum_characters: int
    bound: float = math.inf

    def __call__(self, pages: Sequence[Page]) -> Part:
        """The candidates of a part of a dump; a paragraph is named TITLE#NUMBER, short ones not counted."""
        candidates = []
        articles = [page for page in pages if page.is_article]
        for page in articles:
            if self.digest(page.title) >= self.bound:
                continue
            try:
                texts = wikitext.long_paragraphs(page.text, self.minimum_characters)
            except ValueError as error:
                candidates.append(Candidate(self.digest(page.title), page.title, page.block, [], str(error)))
                continue
            found = [Paragraph(f"{page.title}#{number}", text) for number, text in enumerate(texts, start=1)]
            candidates.append(self.candidate(page.title, page.block, found))
        return Part(candidates, len(articles), int(any(page.block is not None for page in pages)))

    def digest(self, page: str) -> int:
        """A number that puts pages in the order of preference."""
        return int.from_bytes(hashlib.blake2b(f"{self.salt}/{page}".encode(), digest_size=8).digest())

    def candidate(self, page: str, block: int | None, paragraphs: Iterable[Paragraph]) -> Candidate:
        """A page with its paragraphs that are long enough, each text once, in random order."""
        stripped = [paragraph._replace(text=paragraph.text.strip()) for paragraph in paragraphs]
        long = [paragraph for paragraph in stripped if len(paragraph.text) >= self.minimum_characters]
        once = list({paragraph.text: paragraph for paragraph in reversed(long)}.values())[::-1]
        random.Random(f"{self.salt}/{page}").shuffle(once)
        return Candidate(self.digest(page), page, block, once, twice=len(long) - len(once))


class _Held(NamedTuple):
    """A page that is held, as heapq sorts them: the last in the order of preference first. share: what it may give."""

    key: int
    page: str
    block: int | None
    paragraphs: list[Paragraph]
    share: int

    @property
    def texts(self) -> list[str]:
        return [paragraph.text for paragraph in self.paragraphs[: self.share]]


class _Pages:
    """The pages with the smallest digests that together have enough paragraphs."""

    def __init__(self, sieve: _Sieve, limit: int, block_limit: int) -> None:
        """limit, block_limit: paragraphs that a page and the pages of a block may give."""
        self.sieve, self.limit, self.block_limit = sieve, limit, block_limit
        self.held: list[_Held] = []  # a heap
        self.texts: Counter[str] = Counter()  # of what the held pages may give
        self.counts = {"pages": 0, "blocks": 0, "pages_parsed": 0, "pages_unparsable": 0, "twice_in_page": 0}

    def draw(self, parts: Iterable[Part], needed: int) -> None:
        """Hold just enough pages for `needed` different paragraphs.

        About k (1 + ln(n / k)) of n pages are parsed to hold k.
        """
        for part in parts:
            self.counts["pages"] += part.pages
            self.counts["blocks"] += part.blocks
            given: Counter[int] = Counter()  # a block is in one part only
            for candidate in sorted(part.candidates):
                if candidate.digest >= self.sieve.bound:
                    break  # and so do those after it, which alone depend on what it would have given
                self.counts["pages_parsed"] += 1
                self.counts["twice_in_page"] += candidate.twice
                if candidate.failure:
                    logger.warning("page '%s' is left out: %s", candidate.page, candidate.failure)
                    self.counts["pages_unparsable"] += 1
                if candidate.paragraphs:
                    self._hold(candidate, self._share(candidate, given), needed)

    def _hold(self, candidate: Candidate, share: int, needed: int) -> None:
        """Hold one more page, and those no longer that it makes superfluous."""
        held = _Held(-candidate.digest, candidate.page, candidate.block, candidate.paragraphs, share)
        heapq.heappush(self.held, held)
        self.texts.update(held.texts)
        while len(self.texts) - sum(self.texts[text] == 1 for text in self.held[0].texts) >= needed:
            self.texts -= Counter(heapq.heappop(self.held).texts)
        if len(self.texts) >= needed:
            self.sieve.bound = -self.held[0].key

    def _share(self, page: Candidate | _Held, given: Counter[int]) -> int:
        """How many paragraphs a page may give after those before it; `given`, what each block gave, is brought up to date."""
        share = min(self.limit, len(page.paragraphs))
        if page.block is not None:
            share = min(share, self.block_limit - given[page.block])
            given[page.block] += share
        return share

    def relax(self) -> bool:
        """Double a limit that leaves something out, of blocks before that of pages; False where none does."""
        blocks: Counter[int] = Counter()
        for held in self.held:
            if held.block is not None:
                blocks[held.block] += min(self.limit, len(held.paragraphs))
        if max(blocks.values(), default=0) > self.block_limit:
            self.block_limit *= 2
        elif max((len(held.paragraphs) for held in self.held), default=0) > self.limit:
            self.limit *= 2
        else:
            return False
        return True

    def assign(self, targets: Mapping[str, int]) -> tuple[dict[str, list[tuple[str, Paragraph]]], bool]:
        """Give each page to the relatively emptiest split; returns (page, paragraph) by split, and if all are full."""
        splits: dict[str, list[tuple[str, Paragraph]]] = {split: [] for split in targets}
        seen: set[str] = set()
        given: Counter[int] = Counter()
        for held in sorted(self.held, reverse=True):
            emptiest = min(targets, key=lambda split: len(splits[split]) / targets[split])
            if len(splits[emptiest]) >= targets[emptiest]:
                break
            mine = held.paragraphs[: self._share(held, given)]
            fresh = [paragraph for paragraph in mine if paragraph.text not in seen]
            seen.update(paragraph.text for paragraph in fresh)
            splits[emptiest] += [(held.page, paragraph) for paragraph in fresh]
        return splits, all(len(splits[split]) >= targets[split] for split in targets)


def _lines(source: Path, sieve: _Sieve) -> Iterator[Part]:
    """Documents of CC-100, by their number; a paragraph is named NUMBER#LINE. Of those that come too late no text is held."""
    candidates: list[Candidate] = []
    documents = line = 0
    paragraphs: list[Paragraph] | None = None  # of the document, None where it comes too late
    for _, text in chain(read_lines(source), [(0, "")]):
        if text.strip():
            line += 1
            if line == 1:
                documents += 1
                paragraphs = [] if sieve.digest(str(documents)) < sieve.bound else None
            if paragraphs is not None:
                paragraphs.append(Paragraph(f"{documents}#{line}", text))
        elif line:
            line = 0
            if paragraphs is not None:
                candidates.append(sieve.candidate(str(documents), None, paragraphs))
            if documents % DOCUMENTS == 0:
                yield Part(candidates, DOCUMENTS)
                candidates = []
    yield Part(candidates, documents % DOCUMENTS)


def _treebank(source: Path, language: str, sieve: _Sieve) -> Part:
    """Documents of a treebank; neighbouring sentences make a paragraph, named by the first of them."""
    space = "" if language in UNSPACED else " "
    documents: dict[str, list[list[Sentence]]] = {}
    for sentence in read_treebank(source):
        paragraphs = documents.setdefault(document(sentence.id), [[]])
        if sum(len(each.text) for each in paragraphs[-1]) >= PARAGRAPH:
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    candidates = []
    for page, parts in documents.items():
        texts = [Paragraph(part[0].id, space.join(sentence.text for sentence in part)) for part in parts]
        candidates.append(sieve.candidate(page, None, texts))
    return Part(candidates, len(candidates))
