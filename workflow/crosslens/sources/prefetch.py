"""Sizes of official files before they are fetched: how much a download will be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from crosslens.sources.fetch import found_in
from crosslens.sources.registry import Source

BLOCK = 130_000  # bytes of a block of 100 pages of a multistream dump, about: 90,000 in enwiki, 170,000 in jawiki
DOWNLOAD, MIRROR, BY_HAND = "to download", "in a mirror", "to supply by hand"


class Size(NamedTuple):
    """Size of a file. bytes: None if neither known nor estimated."""

    bytes: int | None
    is_known: bool


@dataclass(frozen=True)
class Wanted:
    """An official file that is to be fetched. path: SOURCE/PATH, or SOURCE-sample/BLOCKS-SEED/PATH for a sample of a dump."""

    path: str
    origin: str  # DOWNLOAD, MIRROR or BY_HAND
    size: Size

    @property
    def folder(self) -> str:
        """Folder of results/sources in which the file will lie: SOURCE, or SOURCE-sample."""
        return self.path.partition("/")[0]


@dataclass(frozen=True)
class Amount:
    """Number of some files and their bytes. estimated: bytes among them that are estimates; unknown: files without either."""

    files: int
    bytes: int
    estimated: int
    unknown: int


def place_of(file: str, sources: Mapping[str, Source]) -> tuple[str, str, int | None]:
    """Source of a file, path of the official file inside it, and number of blocks of a sample; None for the whole file."""
    source, _, path = file.partition("/")
    if source in sources:
        return source, path, None
    sample, _, path = path.partition("/")
    return source.removesuffix("-sample"), path, int(sample.partition("-")[0])


def size_of(file: str, sources: Mapping[str, Source]) -> Size:
    """Size of an official file, or of a sample of a dump, by the table of sources. file: as `Wanted.path`."""
    source, path, blocks = place_of(file, sources)
    exact, estimate = sources[source].bytes_of(path), sources[source].estimate_of(path)
    if blocks is None:
        return Size(exact, True) if exact is not None else Size(estimate, False)
    whole = exact or estimate
    return Size(min(blocks * BLOCK, whole) if whole else blocks * BLOCK, False)


def wanted(files: Iterable[str], sources: Mapping[str, Source], mirrors: Sequence[str]) -> Iterator[Wanted]:
    """Yield where each of some files comes from, and its size.

    files: as `Wanted.path`. mirrors: folders of the configuration. A size that the table of sources neither knows nor estimates,
    as of a source of one's own, is asked of the servers, as long as these answer.
    """
    answering = True
    for file in files:
        source, path, _ = place_of(file, sources)
        in_mirror = found_in(PurePosixPath(path), sources[source].mirrors(list(mirrors)))
        origin = MIRROR if in_mirror else DOWNLOAD if sources[source].url else BY_HAND
        size = size_of(file, sources)
        if size.bytes is None and origin == DOWNLOAD and answering:
            from crosslens.sources import network  # slow to import, and few sources are without sizes

            answer, answering = network.size_of(sources[source].urls_of(path))
            size = Size(answer, answer is not None)
        yield Wanted(file, origin, size)


def amount(files: Sequence[Wanted]) -> Amount:
    """Number and bytes of some files."""
    sizes = [file.size for file in files]
    estimated = sum(size.bytes or 0 for size in sizes if not size.is_known)
    return Amount(len(files), sum(size.bytes or 0 for size in sizes), estimated, sum(size.bytes is None for size in sizes))
