"""Samples of running text by page: the paragraphs from which the language head of tanti2021 learns (appendix A)."""

import hashlib
import heapq
import logging
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from crosslens.corpora.conllu import Sentence, read_treebank
from crosslens.corpora.dumps import Page, in_parts
from crosslens.corpora.lines import UNSPACED, read_lines, refuse
from crosslens.corpora.schema import PARAGRAPHS, write
from crosslens.corpora.sources.formats import answer
from crosslens.corpora.splits import apportion
from crosslens.corpora.treebanks import document
from crosslens.corpora.wikitext import paragraphs
from crosslens.jobs.errors import DataError, shown

logger = logging.getLogger(__name__)

DOCUMENTS = 100  # of CC-100 that are looked at together, as many as the pages of a block
Key = tuple[float, float, int]  # of a paragraph, the smaller the sooner drawn: see _Sieve.keys
PerPage = int | Literal["all"] | None  # paragraphs of a page: see `write_paragraphs`
OPENING = 100  # lines of CC-100 in which a web page shows that it is one
PARAGRAPH = 300  # characters after which a paragraph made of a treebank's sentences ends


class Paragraph(NamedTuple):
    """A paragraph and its name."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A page that may be drawn, and its different texts that are long enough, each with its key.

    failure: why its text could not be extracted. twice, zeros: paragraphs left out because the page has them twice, or they have
    a zero byte.
    """

    digest: int
    page: str
    paragraphs: list[tuple[Key, Paragraph]]
    failure: str = ""
    twice: int = 0
    zeros: int = 0


class Part(NamedTuple):
    """Candidates of a part of the source. pages: how many were read to find them."""

    candidates: list[Candidate]
    pages: int


def write_paragraphs(
    source: Path,
    outputs: Mapping[str, Path],
    *,
    language: str,
    form: Literal["dump", "lines", "treebank"],
    paragraphs: int,
    minimum_characters: int,
    shares: Mapping[str, float],
    per_page: PerPage,
    candidates: float,
    seed: int,
    processes: int = 1,
) -> dict[str, Any]:
    """Write splits of a sample of paragraphs; returns the metadata that each file carries.

    source: a MediaWiki dump; lines, each a paragraph, with a blank one after each document (CC-100); or a treebank whose
    neighbouring sentences are joined to paragraphs of about 300 characters. A document is a page.
    paragraphs: how many in all splits together, each of `minimum_characters` at least after stripping, no text twice.
    shares: of each split. A page is in one split only. Departure: the authors split by paragraph, so that an article
    may be in train and in test.
    candidates: rows are written for so many times `paragraphs`, in random order: a text that another step drops (tanti2021
    draws from the texts without unknown subwords) is never drawn if that step takes the first `nominal` ones that it keeps.
    per_page: pages are in random order, and the rows are first so many paragraphs of each page, then as many more of each
    page that has them, and so on: no page gives more unless there is too little text. "all": pages are in random order, and the
    rows are all paragraphs of each, in the page's order, of which the last one may lack its end. None: all paragraphs are in
    random order, as the authors drew; then every page is parsed.
    processes: how many read a dump; the sample is the same with any number.
    It needs one reading, holds no more paragraphs than it writes, and does not depend on the order of the pages.
    Metadata: `asked` for, `found` (rows, also by split) and `nominal` (by split) numbers of paragraphs, how many pages
    were read, and what was left out of the pages that were looked at.
    Raises DataError where the source is damaged or a split ends up empty; then nothing is written.
    """
    nominal = apportion(paragraphs, shares)
    unknown = sorted(set(outputs) - set(shares))
    starved = unknown or [split for split in outputs if not nominal[split]]
    if starved:
        raise DataError(
            f"{language}.{starved[0]}: expected a share of the {paragraphs} paragraphs, found none; increase its share"
        )
    sieve = _Sieve(f"{seed}/{language}", minimum_characters, per_page)
    sample = _Sample(sieve, round(paragraphs * candidates))
    parts: Iterable[Part]
    if form == "dump":
        parts = in_parts(source, sieve, processes=processes)
    else:
        parts = _lines(source, sieve) if form == "lines" else [_treebank(source, language, sieve)]
    sample.draw(parts)
    splits = sample.split({split: number for split, number in nominal.items() if number})
    size = sum(map(len, splits.values()))
    for split in outputs:
        if not splits[split]:
            raise DataError(
                f"{source}: no paragraph for {language}.{split}: expected {paragraphs} of at least {minimum_characters} "
                f"characters, found {size} in {sample.counts['pages']} pages; name a larger file or a lower minimum"
            )
    metadata: dict[str, Any] = {
        "source": source.name,
        "asked": paragraphs,
        "found": size,
        "rows": {split: len(rows) for split, rows in splits.items()},
        "nominal": nominal,
        "shares": dict(shares),
        "minimum_characters": minimum_characters,
        "per_page": per_page,
        "seed": seed,
        **sample.counts,
    }
    for split, path in outputs.items():
        rows = [{"id": row.id, "language": language, "page": page, "text": row.text} for page, row in splits[split]]
        write(rows, path, PARAGRAPHS, metadata)
    if size < paragraphs:
        logger.warning("%s: %d paragraphs requested, %d available", source, paragraphs, size)
    return metadata


@dataclass
class _Sieve:
    """Candidates among the pages of a part, without those that certainly come too late.

    salt: seed and language. bound: keys above it come too late. It only falls, so that a process with an earlier bound finds too
    many candidates and never too few.
    """

    salt: str
    minimum_characters: int
    per_page: PerPage
    bound: Key = (math.inf, math.inf, 0)

    def __call__(self, pages: Sequence[Page]) -> Part:
        """The candidates of a part of a dump; the name of a paragraph is TITLE#NUMBER, where short ones do not count."""
        candidates = []
        articles = [page for page in pages if page.is_article]
        for page in articles:
            if self.is_late(page.title):
                continue
            try:
                texts = [text for text in paragraphs(page.text, page.language) if len(text) >= self.minimum_characters]
            except ValueError as error:
                candidates.append(Candidate(self.digest(page.title), page.title, [], str(error)))
                continue
            long = [Paragraph(f"{page.title}#{number}", text) for number, text in enumerate(texts, start=1)]
            candidates.append(self.candidate(page.title, long))
        return Part(candidates, len(articles))

    def is_late(self, page: str) -> bool:
        """Whether even the first key that a page can have comes too late."""
        return self.per_page is not None and (0, self.digest(page), 0) > self.bound

    def digest(self, name: str) -> int:
        """A number that puts pages, or paragraphs, in random order."""
        return int.from_bytes(hashlib.blake2b(f"{self.salt}/{name}".encode(), digest_size=8).digest())

    def candidate(self, page: str, paragraphs: Iterable[Paragraph]) -> Candidate:
        """A page with its paragraphs that are long enough, each text once, in the order in which they are drawn."""
        stripped = [paragraph._replace(text=paragraph.text.strip()) for paragraph in paragraphs]
        long = [paragraph for paragraph in stripped if len(paragraph.text) >= self.minimum_characters]
        clean = [paragraph for paragraph in long if "\0" not in paragraph.text]
        once = list({paragraph.text: paragraph for paragraph in reversed(clean)}.values())[::-1]
        if self.per_page == "all":
            places = {paragraph.text: place for place, paragraph in reversed([*enumerate(clean)])}
            once.sort(key=lambda paragraph: places[paragraph.text])
        else:
            random.Random(f"{self.salt}/{page}").shuffle(once)
        return Candidate(
            self.digest(page),
            page,
            list(zip(self.keys(page, once), once, strict=True)),
            twice=len(clean) - len(once),
            zeros=len(long) - len(clean),
        )

    def keys(self, page: str, paragraphs: Sequence[Paragraph]) -> Iterator[Key]:
        """The keys of a page's paragraphs, smaller ones first drawn: round, digest of the page, place in it.

        In each round a page gives `per_page` paragraphs, or all. Without that there is one round, and paragraphs have digests.
        """
        digest = self.digest(page)
        for place, paragraph in enumerate(paragraphs):
            if self.per_page is None:
                yield 0, self.digest(f"{page}/{paragraph.id}"), place
            else:
                yield 0 if self.per_page == "all" else place // self.per_page, digest, place


Entry = tuple[float, float, int, str, Paragraph]  # of a heap, the last one drawn first: its key negated, page, paragraph


def _key(entry: Entry) -> Key:
    return -entry[0], -entry[1], -entry[2]


class _Sample:
    """The `number` different paragraphs with the smallest keys."""

    def __init__(self, sieve: _Sieve, number: int) -> None:
        self.sieve, self.number = sieve, number
        self.keys: dict[str, Key] = {}  # of the texts that are held, the smallest where several pages have one
        self.heap: list[Entry] = []
        self.counts = {name: 0 for name in ("pages", "pages_parsed", "pages_unparsable", "twice_in_page", "zero_bytes")}

    def draw(self, parts: Iterable[Part]) -> None:
        """Read all parts. About k (1 + ln(n / k)) of n pages are parsed where k pages are enough."""
        for part in parts:
            self.counts["pages"] += part.pages
            for candidate in sorted(part.candidates):
                if self.sieve.is_late(candidate.page):
                    break  # and so are those after it
                self.counts["pages_parsed"] += 1
                self.counts["twice_in_page"] += candidate.twice
                self.counts["zero_bytes"] += candidate.zeros
                if candidate.failure:
                    logger.warning("page '%s' is skipped: %s", shown(candidate.page), shown(candidate.failure))
                    self.counts["pages_unparsable"] += 1
                for key, paragraph in candidate.paragraphs:
                    if key < min(self.sieve.bound, self.keys.get(paragraph.text, self.sieve.bound)):
                        self._hold(key, candidate.page, paragraph)

    def _hold(self, key: Key, page: str, paragraph: Paragraph) -> None:
        self.keys[paragraph.text] = key
        heapq.heappush(self.heap, (-key[0], -key[1], -key[2], page, paragraph))
        while len(self.keys) > self.number or self._is_void(self.heap[0]):
            last = heapq.heappop(self.heap)
            if not self._is_void(last):
                del self.keys[last[-1].text]
        if len(self.keys) == self.number:
            self.sieve.bound = _key(self.heap[0])

    def _is_void(self, entry: Entry) -> bool:
        """Whether another page has the text with a smaller key."""
        return self.keys.get(entry[-1].text) != _key(entry)

    def split(self, targets: Mapping[str, int]) -> dict[str, list[tuple[str, Paragraph]]]:
        """(page, paragraph) by split, in the order of their keys; each page goes to the split that is relatively emptiest."""
        pages: dict[str, list[tuple[Key, str, Paragraph]]] = {}
        for entry in sorted((entry for entry in self.heap if not self._is_void(entry)), reverse=True):
            *_, page, paragraph = entry
            pages.setdefault(page, []).append((_key(entry), page, paragraph))
        splits: dict[str, list[tuple[Key, str, Paragraph]]] = {split: [] for split in targets}
        for entries in pages.values():
            splits[min(targets, key=lambda split: len(splits[split]) / targets[split])] += entries
        return {split: [(page, paragraph) for _, page, paragraph in sorted(entries)] for split, entries in splits.items()}


def _lines(source: Path, sieve: _Sieve) -> Iterator[Part]:
    """Documents of CC-100, by their number; the name of a paragraph is NUMBER#LINE.

    No text of late documents is held in memory.
    """
    opening = "\n".join(text for _, text in islice(read_lines(source, crawled=True), OPENING))
    if page := answer(opening.encode()):
        refuse(source, 1, page, "lines of text")
    candidates: list[Candidate] = []
    documents = line = 0
    paragraphs: list[Paragraph] | None = None  # of the document, None where it comes too late
    for _, text in chain(read_lines(source, crawled=True), [(0, "")]):
        if text.strip():
            line += 1
            if line == 1:
                documents += 1
                paragraphs = None if sieve.is_late(str(documents)) else []
            if paragraphs is not None:
                paragraphs.append(Paragraph(f"{documents}#{line}", text))
        elif line:
            line = 0
            if paragraphs is not None:
                candidates.append(sieve.candidate(str(documents), paragraphs))
            if documents % DOCUMENTS == 0:
                yield Part(candidates, DOCUMENTS)
                candidates = []
    yield Part(candidates, documents % DOCUMENTS)


def _treebank(source: Path, language: str, sieve: _Sieve) -> Part:
    """Documents of a treebank; neighbouring sentences make a paragraph, named by the first of them.

    Raises DataError where a text is not that of its words: it alone is read here.
    """
    space = "" if language in UNSPACED else " "
    documents: dict[str, list[list[Sentence]]] = {}
    for sentence in read_treebank(source):
        if not sentence.text_fits:
            refuse(source, sentence.line, f"another text in {sentence.id}", "the text of the sentence's words")
        paragraphs = documents.setdefault(document(sentence.id), [[]])
        if sum(len(part.text) for part in paragraphs[-1]) >= PARAGRAPH:
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    candidates = []
    for page, parts in documents.items():
        texts = [Paragraph(part[0].id, space.join(sentence.text for sentence in part)) for part in parts]
        candidates.append(sieve.candidate(page, texts))
    return Part(candidates, len(documents))
