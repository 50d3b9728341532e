"""Samples of running text by page: the paragraphs that the language head of tanti2021 learns from (appendix A)."""

import hashlib
import heapq
import logging
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from crosslens.corpora import wikitext
from crosslens.corpora.dumps import Page, articles
from crosslens.corpora.schema import PARAGRAPHS, write
from crosslens.corpora.treebanks import Sentence, read_treebank
from crosslens.errors import DataError

logger = logging.getLogger(__name__)

PAGE_SHARE = 0.1  # of the smallest split's size: so much may come from one page, unless there is too little text
PARAGRAPH = 300  # characters after which a paragraph made of a treebank's sentences ends
UNSPACED = ("ja", "th", "zh")  # languages whose sentences follow each other without a space


class Paragraph(NamedTuple):
    """A paragraph and its name."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A page whose paragraphs are found only when they are wanted: most pages of a big dump never are."""

    page: str
    paragraphs: Callable[[], list[Paragraph]]


def write_paragraphs(
    source: Path,
    outputs: Mapping[str, Path],
    *,
    language: str,
    form: Literal["dump", "treebank"],
    paragraphs: int,
    minimum_characters: int,
    shares: Mapping[str, float],
    spare: float,
    seed: int,
) -> dict[str, Any]:
    """Write splits of a sample of paragraphs; returns the metadata that each file carries.

    source: a MediaWiki dump, or a treebank whose neighbouring sentences are joined to paragraphs of about 300 characters,
    a document being a page.
    paragraphs: how many in all splits together, each of `minimum_characters` at least after stripping, no text twice.
    shares: of each split. A page is in one split only. Departure: the authors split by paragraph, so that an article
    may be in train and in test.
    spare: surplus, as a fraction: rows are in order of preference, the first `nominal` ones are the sample, the rest
    can replace rows that are dropped later (tanti2021 drops texts with unknown tokens).
    The sample is that of the pages whose digest with the seed is smallest: it needs one reading, holds no more pages
    than it takes, and does not depend on the order of the pages. A page gives at most a tenth of the smallest split, or
    more where there is too little text; where there is still too little, everything is taken, in proportion.
    Metadata: asked, found and nominal numbers of paragraphs (by split), the limit for a page, and what was left out of
    the pages that were looked at.
    Raises DataError where the source is damaged or a split ends up empty; then nothing is written.
    """
    nominal = _apportion(paragraphs, shares)
    unknown = sorted(set(outputs) - set(shares))
    starved = unknown or [split for split in outputs if not nominal[split]]
    if starved:
        raise DataError(f"{language}.{starved[0]}: no share of the {paragraphs} paragraphs; give it a larger one")
    targets = {split: math.ceil(number * (1 + spare)) for split, number in nominal.items() if number}
    pages = _Pages(f"{seed}/{language}", minimum_characters, math.ceil(PAGE_SHARE * min(targets.values())))
    read = _dump(source) if form == "dump" else _treebank(source, language)
    # A page may overfill its split; what it brings beyond the target is lost.
    pages.draw(read, sum(targets.values()) + len(targets) * (pages.limit - 1))
    splits, full = pages.assign(targets)
    while not full and pages.limit < pages.longest():  # then all pages are still held
        pages.limit *= 2
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


class _Pages:
    """The pages with the smallest digests that together have enough paragraphs."""

    def __init__(self, salt: str, minimum_characters: int, limit: int) -> None:
        """salt: seed and language; limit: paragraphs that a page may give."""
        self.salt, self.minimum_characters, self.limit = salt, minimum_characters, limit
        self.held: list[tuple[int, str, list[Paragraph]]] = []  # a heap: minus digest, page, paragraphs
        self.texts: Counter[str] = Counter()  # of what the held pages may give
        self.counts = {"pages": 0, "pages_parsed": 0, "pages_unparsable": 0, "too_short": 0, "twice_in_page": 0}

    def digest(self, page: str) -> int:
        """A number that puts pages in the order of preference."""
        return int.from_bytes(hashlib.blake2b(f"{self.salt}/{page}".encode(), digest_size=8).digest())

    def draw(self, candidates: Iterable[Candidate], needed: int) -> None:
        """Hold just enough pages for `needed` different paragraphs.

        About k (1 + ln(n / k)) of n pages are parsed to hold k.
        """
        for candidate in candidates:
            self.counts["pages"] += 1
            key = -self.digest(candidate.page)
            if len(self.texts) >= needed and key <= self.held[0][0]:
                continue
            paragraphs = self._paragraphs(candidate)
            if not paragraphs:
                continue
            heapq.heappush(self.held, (key, candidate.page, paragraphs))
            self.texts.update(self._texts(paragraphs))
            while len(self.texts) - self._own(self.held[0][2]) >= needed:
                _, _, gone = heapq.heappop(self.held)
                self.texts -= Counter(self._texts(gone))

    def _texts(self, paragraphs: list[Paragraph]) -> list[str]:
        return [paragraph.text for paragraph in paragraphs[: self.limit]]

    def _own(self, paragraphs: list[Paragraph]) -> int:
        """How many texts would go with a page."""
        return sum(self.texts[text] == 1 for text in self._texts(paragraphs))

    def _paragraphs(self, candidate: Candidate) -> list[Paragraph]:
        """A page's paragraphs that are long enough, each text once, in random order."""
        self.counts["pages_parsed"] += 1
        try:
            paragraphs = candidate.paragraphs()
        except ValueError as error:
            logger.warning("page '%s' is left out: %s", candidate.page, error)
            self.counts["pages_unparsable"] += 1
            return []
        stripped = [paragraph._replace(text=paragraph.text.strip()) for paragraph in paragraphs]
        long = [paragraph for paragraph in stripped if len(paragraph.text) >= self.minimum_characters]
        once = list({paragraph.text: paragraph for paragraph in reversed(long)}.values())[::-1]
        self.counts["too_short"] += len(paragraphs) - len(long)
        self.counts["twice_in_page"] += len(long) - len(once)
        random.Random(f"{self.salt}/{candidate.page}").shuffle(once)
        return once

    def longest(self) -> int:
        """Most paragraphs that a held page has."""
        return max((len(paragraphs) for _, _, paragraphs in self.held), default=0)

    def assign(self, targets: Mapping[str, int]) -> tuple[dict[str, list[tuple[str, Paragraph]]], bool]:
        """Give each page to the relatively emptiest split; returns (page, paragraph) by split, and if all are full."""
        splits: dict[str, list[tuple[str, Paragraph]]] = {split: [] for split in targets}
        seen: set[str] = set()
        for _, page, paragraphs in sorted(self.held, reverse=True):
            emptiest = min(targets, key=lambda split: len(splits[split]) / targets[split])
            if len(splits[emptiest]) >= targets[emptiest]:
                break
            fresh = [paragraph for paragraph in paragraphs[: self.limit] if paragraph.text not in seen]
            seen.update(paragraph.text for paragraph in fresh)
            splits[emptiest] += [(page, paragraph) for paragraph in fresh]
        return splits, all(len(splits[split]) >= targets[split] for split in targets)


def _dump(source: Path) -> Iterator[Candidate]:
    """Articles of a dump; a paragraph is named TITLE#NUMBER."""
    for page in articles(source):
        yield Candidate(page.title, partial(_of_article, page))


def _of_article(page: Page) -> list[Paragraph]:
    texts = wikitext.paragraphs(page.text)
    return [Paragraph(f"{page.title}#{number}", text) for number, text in enumerate(texts, start=1)]


def _treebank(source: Path, language: str) -> Iterator[Candidate]:
    """Documents of a treebank; neighbouring sentences make a paragraph, named by the first of them."""
    space = "" if language in UNSPACED else " "
    documents: dict[str, list[list[Sentence]]] = {}
    for sentence in read_treebank(source):
        paragraphs = documents.setdefault(document(sentence.id), [[]])
        if sum(len(each.text) for each in paragraphs[-1]) >= PARAGRAPH:
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    for page, parts in documents.items():
        yield Candidate(page, partial(_joined, parts, space))


def _joined(parts: Sequence[Sequence[Sentence]], space: str) -> list[Paragraph]:
    return [Paragraph(part[0].id, space.join(sentence.text for sentence in part)) for part in parts]


PUD = re.compile(r"([nw]\d{5})\d{3}")  # n01001011: document n01001
SPLIT_WORD = re.compile(r"(^|[-_:])(train|dev|test)([-_]|$)")
NUMBERED = re.compile(r"(.+?)((\.[ps])?\.\d+)+|(.+)[-_:#][sp]?\d+")


def document(id: str) -> str:
    """The document of a sentence by its id in a treebank: the id without its trailing number.

    Where an id has no document in it (test-s4, mst-0008), the document is the id itself: what is left without the number
    must keep a number that can be a document's.
    """
    match = PUD.fullmatch(id)
    if match:
        return match[1]
    match = NUMBERED.fullmatch(id)
    base = match and (match[1] or match[4])
    return id if not base or SPLIT_WORD.search(base) or not re.search(r"\d", base) else base
