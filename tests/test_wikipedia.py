"""Samples of multistream dumps: valid dumps themselves, of exactly the blocks that were drawn, or refused in one line."""

import bz2
import gzip
import os
import tracemalloc
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import conftest
import pytest
from crosslens.corpora import schema
from crosslens.corpora.dumps import Page, in_parts, pages
from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.sources.wikipedia import sample
from crosslens.jobs.errors import DataError

MIRROR = conftest.MIRROR / "wikipedia"
needs_mirror = pytest.mark.skipif(not MIRROR.is_dir(), reason="needs real dumps in ../shared/mirror")

HEAD = b'<mediawiki xml:lang="en">\n  <siteinfo><sitename>W</sitename></siteinfo>\n'
SPLITS = {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1}


class Local:
    """A file that is read in parts; remembers which."""

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.size = path, path.name, path.stat().st_size
        self.asked: list[tuple[int, int]] = []

    def read(self, start: int, length: int) -> bytes:
        self.asked.append((start, length))
        with open(self.path, "rb") as stream:
            stream.seek(start)
            return stream.read(length)


def page(number: int, text: str) -> str:
    return (
        f"  <page>\n    <title>T{number}</title>\n    <ns>0</ns>\n    <id>{number}</id>\n"
        f"    <revision>\n      <id>{number + 5}</id>\n      <text>{text}</text>\n    </revision>\n  </page>\n"
    )


def texts(n: int, each: int = 3) -> list[str]:
    return ["\n\n".join(f"This is paragraph {k} of the page with the number {i}." for k in range(each)) for i in range(n)]


def multistream(folder: Path, wikitexts: Sequence[str], pages_a_block: int = 5) -> tuple[Path, Path]:
    """A dump, and its index."""
    xml = [page(number, text) for number, text in enumerate(wikitexts, start=1)]
    blocks = ["".join(xml[i : i + pages_a_block]).encode() for i in range(0, len(xml), pages_a_block)]
    streams = [bz2.compress(content) for content in (HEAD, *blocks, b"</mediawiki>\n")]
    offsets = list(accumulate(map(len, streams)))
    lines = [f"{offsets[i // pages_a_block]}:{i + 1}:T:{i + 1}\n" for i in range(len(xml))]
    path, index = folder / "xwiki-multistream.xml.bz2", folder / "xwiki-multistream-index.txt.bz2"
    path.write_bytes(b"".join(streams))
    index.write_bytes(bz2.compress("".join(lines).encode()))
    return path, index


def extract(source: Path, folder: Path, **changes: object) -> tuple[dict, dict[str, list[dict]]]:
    """Metadata and rows of a sample of paragraphs."""
    plan = {"language": "xx", "form": "dump", "paragraphs": 100, "minimum_characters": 20, "shares": SPLITS,
            "per_page": 3, "candidates": 10, "seed": 0} | changes  # fmt: skip
    outputs = {split: folder / f"xx.{split}.parquet" for split in SPLITS}
    found = write_paragraphs(source, outputs, **plan)  # type: ignore[arg-type]
    return found, {split: schema.read(path).to_pylist() for split, path in outputs.items()}


# Sampling


def test_all_blocks_are_the_dump(tmp_path: Path) -> None:
    path, index = multistream(tmp_path, texts(52))
    source, target = Local(path), tmp_path / "sample" / "x.xml.bz2"
    facts = sample(index, source, target, blocks=11, seed=0)
    assert target.read_bytes() == path.read_bytes()
    assert facts == {"blocks": 11, "bytes": source.size, "drawn": 11, "pages": 52, "seed": 0,
                     "fetched": source.size + index.stat().st_size}  # fmt: skip
    assert len(source.asked) == 2  # the head, and neighbours in one request


@pytest.mark.parametrize("seed", range(2))
def test_some_blocks_are_a_dump(tmp_path: Path, seed: int) -> None:
    path, index = multistream(tmp_path, texts(52))
    source, target = Local(path), tmp_path / "x.xml.bz2"
    facts = sample(index, source, target, blocks=4, seed=seed)
    found, everything = list(pages(target)), list(pages(path))
    blocks = sorted({int(each.title[1:]) // 5 if int(each.title[1:]) % 5 else int(each.title[1:]) // 5 - 1 for each in found})
    assert len(blocks) == facts["drawn"] == 4 and facts["pages"] == len(found)
    assert found == [each for place, each in enumerate(everything) if place // 5 in blocks]
    assert facts["fetched"] == sum(length for _, length in source.asked) + index.stat().st_size
    other = tmp_path / "again.xml.bz2"
    sample(index, Local(path), other, blocks=4, seed=seed)
    assert other.read_bytes() == target.read_bytes()


def spoil(path: Path, index: Path, kind: str) -> None:
    content, lines = path.read_bytes(), bz2.decompress(index.read_bytes())
    middle = content.index(b"BZh9", len(content) // 2)
    if kind == "cut dump":
        path.write_bytes(content[:middle])
    elif kind == "damaged block":
        path.write_bytes(content[: middle + 40] + b"\0\0\0\0" + content[middle + 44 :])
    elif kind == "single stream":
        path.write_bytes(bz2.compress(bz2.decompress(content)) + bytes(len(content)))
    elif kind == "other ids":
        index.write_bytes(bz2.compress(lines.replace(b":31:", b":99:")))
    elif kind == "moved":
        path.write_bytes(b"\n" + content)
    elif kind == "cut index":
        index.write_bytes(index.read_bytes()[:-20])
    elif kind == "empty index":
        index.write_bytes(bz2.compress(b""))
    else:
        index.write_bytes(bz2.compress(b"".join(lines.splitlines(keepends=True)[::-1])))


SPOILT = {
    "cut dump": "offsets below",
    "damaged block": "expected a bz2 stream, found",
    "single stream": "expected ",
    "other ids": "expected the 5 pages of the index",
    "moved": "byte 0",
    "cut index": "expected lines like offset:page id:title",
    "empty index": "found none",
    "unordered index": "not larger than the one before",
}


@pytest.mark.parametrize("kind", SPOILT)
def test_what_does_not_fit_is_refused(tmp_path: Path, kind: str) -> None:
    path, index = multistream(tmp_path, texts(52))
    spoil(path, index, kind)
    folder = tmp_path / "out"
    with pytest.raises(DataError) as error:
        sample(index, Local(path), folder / "x.xml.bz2", blocks=11, seed=0)
    message = str(error.value)
    assert SPOILT[kind] in message and "fetch" in message and "\n" not in message
    assert message.startswith((f"{index}: ", f"{path.name}: byte "))
    assert not folder.exists() or not list(folder.iterdir())


# Reading


@pytest.mark.parametrize("name", ["x.xml.bz2", "x.xml", "x.xml.gz"])
@pytest.mark.parametrize("processes", [1, 2])
def test_any_number_of_processes(tmp_path: Path, name: str, processes: int) -> None:
    path, _ = multistream(tmp_path, texts(450))
    if not name.endswith("bz2"):
        content = bz2.decompress(path.read_bytes())
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    parts = list(in_parts(path, list, processes=processes))
    found = [each for part in parts for each in part]
    assert [each.title for each in found] == [f"T{i}" for i in range(1, 451)]
    assert [each.text for each in found] == texts(450) and len(parts) == 5
    assert extract(path, tmp_path / "several", processes=processes) == extract(path, tmp_path / "one")


def stop(pages: Sequence[Page]) -> None:
    os._exit(9)


def test_a_process_that_dies_ends_in_an_error(tmp_path: Path) -> None:
    path, _ = multistream(tmp_path, texts(300))
    with pytest.raises(DataError, match="was killed"):
        list(in_parts(path, stop, processes=2))


def titles(pages: Sequence[Page]) -> list[str]:
    return [page.title for page in pages]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_cut_dump(tmp_path: Path, processes: int) -> None:
    """The pages before the damage are read; the message names the last of them."""
    path, _ = multistream(tmp_path, texts(3000), pages_a_block=100)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=rf"^{path}: after page 'T\d+': expected a complete MediaWiki export"):
        list(in_parts(path, titles, processes=processes))


@pytest.mark.long
@pytest.mark.parametrize("name", ["x.xml.bz2", "x.xml"])
def test_memory_is_constant(tmp_path: Path, name: str) -> None:
    """A dump of 30 MB is read with a few parts of it in memory."""
    words = "Some words that fill a page, again and again. " * 400
    path, _ = multistream(tmp_path, [words] * 1600, pages_a_block=100)
    if name == "x.xml":
        content = bz2.decompress(path.read_bytes())
        path = tmp_path / name
        path.write_bytes(content)
        assert len(content) > 27e6
        del content
    tracemalloc.start()
    assert sum(map(len, in_parts(path, titles, processes=1))) == 1600
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6


# Real data

REAL = ["elwiki", "jawiki"]


@pytest.mark.long
@needs_mirror
@pytest.mark.parametrize("wiki", REAL)
def test_real_multistream_dumps(tmp_path: Path, wiki: str) -> None:
    path, index = (next(MIRROR.glob(f"{wiki}/*/*-multistream{end}.bz2")) for end in (".xml", "-index.txt"))
    copy, part = tmp_path / "all" / path.name, tmp_path / "part" / path.name
    facts = sample(index, Local(path), copy, blocks=100, seed=0)
    assert copy.read_bytes() == path.read_bytes() and facts["blocks"] == facts["drawn"]
    facts = sample(index, Local(path), part, blocks=2, seed=0)
    chosen = [*pages(part)]
    assert len(chosen) == facts["pages"] and {*chosen} < {*pages(path)}
    plan = {"language": wiki[:2], "paragraphs": 300, "minimum_characters": 100}
    streamed = extract(path, tmp_path / "a", processes=2, **plan)
    assert streamed == extract(copy, tmp_path / "b", processes=1, **plan)
    assert streamed[0]["found"] >= 2000
