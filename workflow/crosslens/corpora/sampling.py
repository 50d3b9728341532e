"""Sampling of running text by page: the paragraphs on which tanti2021 trains its language head (appendix A)."""

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

DOCUMENTS = 100  # documents of CC-100 in a part, as many as pages in a part of a dump
Key = tuple[float, float, int]  # of a paragraph; smaller keys are drawn first (see _Sieve.keys)
PerPage = int | Literal["all"] | None  # paragraphs of a page that are drawn in each round (see `write_paragraphs`)
OPENING = 100  # first lines of CC-100 that are checked for a web page or an error message
PARAGRAPH = 300  # characters at which a paragraph joined from a treebank's sentences ends


class Paragraph(NamedTuple):
    """A paragraph and its id."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A page that may be sampled, with its distinct paragraphs of sufficient length, each with its key.

    digest: hash that puts the page in random order. failure: why its text could not be extracted, or "". twice, zeros: numbers
    of paragraphs left out because they repeat another of the page, or contain a zero byte.
    """

    digest: int
    page: str
    paragraphs: list[tuple[Key, Paragraph]]
    failure: str = ""
    twice: int = 0
    zeros: int = 0


class Part(NamedTuple):
    """Candidates from one part of the source. pages: number of articles or documents in that part."""

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
    """Sample paragraphs, write them by split, and return the metadata stored in each file.

    source: depending on `form`, a MediaWiki dump; lines, each a paragraph, with a blank line after each document (CC-100); or a
    treebank, whose neighbouring sentences are joined into paragraphs of about 300 characters. A document counts as a page.
    outputs: split -> file to write.
    paragraphs: number in all splits together, each of at least `minimum_characters` after stripping. No text occurs twice.
    shares: split -> share of the paragraphs. Each page is in one split only. Departure: the authors split by paragraph, so that
    an article may be in both train and test.
    candidates: number of rows written, as a multiple of `paragraphs`, in random order. tanti2021 samples only texts without
    unknown subwords: a later step drops the other texts and takes the first `nominal` rows that it keeps.
    per_page: number of paragraphs taken from each page in a round; rounds pass over the pages in random order until there are
    enough rows. A page thus gives more only if there is too little text. "all": all paragraphs of each page, in the page's
    order, with the pages in random order; the last page may be incomplete. None: all paragraphs in random order, as the authors
    sampled; every page is then parsed.
    processes: number of processes that parse a dump; the sample does not depend on it.
    The source is read once. Memory holds about as many paragraphs as are written (and a treebank as a whole). The sample does
    not depend on the order of the pages.
    Metadata: the numbers of paragraphs `asked` for, `found` (with `rows` by split) and `nominal` (requested by split), the
    settings, how many pages were read and parsed, and what was left out of the parsed pages.
    Raises DataError if an output has no share, the source is damaged, or a split ends up empty; nothing is then written.
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
    """Finder of the candidates in a part, which skips pages that are certain to come too late for the sample.

    salt: seed and language. bound: keys above it come too late. It only falls, so a process with an older bound finds too many
    candidates but never too few.
    """

    salt: str
    minimum_characters: int
    per_page: PerPage
    bound: Key = (math.inf, math.inf, 0)

    def __call__(self, pages: Sequence[Page]) -> Part:
        """Candidates in a part of a dump. The id of a paragraph is TITLE#NUMBER; short paragraphs are not numbered."""
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
        """Whether even the smallest key that a page can have comes too late."""
        return self.per_page is not None and (0, self.digest(page), 0) > self.bound

    def digest(self, name: str) -> int:
        """Hash of a name, which puts pages or paragraphs in random order."""
        return int.from_bytes(hashlib.blake2b(f"{self.salt}/{name}".encode(), digest_size=8).digest())

    def candidate(self, page: str, paragraphs: Iterable[Paragraph]) -> Candidate:
        """Candidate of a page, with its distinct paragraphs of sufficient length in the order in which they are drawn."""
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
        """Keys of a page's paragraphs: (round, digest of the page, place in the page). Smaller keys are drawn first.

        A round takes `per_page` paragraphs of a page, or all of them. If `per_page` is None, there is one round, and the digest
        is the paragraph's own.
        """
        digest = self.digest(page)
        for place, paragraph in enumerate(paragraphs):
            if self.per_page is None:
                yield 0, self.digest(f"{page}/{paragraph.id}"), place
            else:
                yield 0 if self.per_page == "all" else place // self.per_page, digest, place


Entry = tuple[float, float, int, str, Paragraph]  # negated key, page and paragraph; the heap yields the largest key first


def _key(entry: Entry) -> Key:
    return -entry[0], -entry[1], -entry[2]


class _Sample:
    """The `number` different paragraphs with the smallest keys."""

    def __init__(self, sieve: _Sieve, number: int) -> None:
        self.sieve, self.number = sieve, number
        self.keys: dict[str, Key] = {}  # smallest key of each text in the sample, since several pages may have one text
        self.heap: list[Entry] = []
        self.counts = {name: 0 for name in ("pages", "pages_parsed", "pages_unparsable", "twice_in_page", "zero_bytes")}

    def draw(self, parts: Iterable[Part]) -> None:
        """Read all parts. If k of n pages are enough, about k (1 + ln(n / k)) are parsed."""
        for part in parts:
            self.counts["pages"] += part.pages
            for candidate in sorted(part.candidates):
                if self.sieve.is_late(candidate.page):
                    break  # and so are all after it, since they are sorted by digest
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
        """Whether an entry is outdated, because another page has its text with a smaller key."""
        return self.keys.get(entry[-1].text) != _key(entry)

    def split(self, targets: Mapping[str, int]) -> dict[str, list[tuple[str, Paragraph]]]:
        """(page, paragraph) pairs by split, in the order of their keys. targets: split -> number of paragraphs.

        Each page goes to the split that is emptiest relative to its target.
        """
        pages: dict[str, list[tuple[Key, str, Paragraph]]] = {}
        for entry in sorted((entry for entry in self.heap if not self._is_void(entry)), reverse=True):
            *_, page, paragraph = entry
            pages.setdefault(page, []).append((_key(entry), page, paragraph))
        splits: dict[str, list[tuple[Key, str, Paragraph]]] = {split: [] for split in targets}
        for entries in pages.values():
            splits[min(targets, key=lambda split: len(splits[split]) / targets[split])] += entries
        return {split: [(page, paragraph) for _, page, paragraph in sorted(entries)] for split, entries in splits.items()}


def _lines(source: Path, sieve: _Sieve) -> Iterator[Part]:
    """Yield the candidates among the documents of CC-100, which are named by their number; a paragraph's id is NUMBER#LINE.

    The text of documents that come too late is not held in memory.
    """
    opening = "\n".join(text for _, text in islice(read_lines(source, crawled=True), OPENING))
    if page := answer(opening.encode()):
        refuse(source, 1, page, "lines of text")
    candidates: list[Candidate] = []
    documents = line = 0
    paragraphs: list[Paragraph] | None = None  # of the current document; None if it comes too late
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
    """Candidates among the documents of a treebank. Neighbouring sentences form a paragraph, which has the id of the first.

    Raises DataError if a sentence's text differs from its words, since only the text is read here.
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
