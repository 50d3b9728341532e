"""Hostile and huge files in a process that may hold 1.5 GB: refused in one line that names the file, whatever they would grow to.

Bombs of every compression, through every door by which a file comes in, and lines without end. Archives that reach out of
themselves are in test_corpora_archives.py, damage to each format in test_corpora_formats.py.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from synthetic.archives import tarred

ROOT = Path(__file__).parents[2]
MEMORY = 1500 * 10**6  # bytes of address space over what importing takes; the bombs hold up to 10 GB
LARGE = 300 * 10**6  # bytes of a member of an archive
SECONDS = 60  # of the processor that one file may take
COMPRESSED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

# Reads files, each by a call of its own, and prints what came of it: a line of JSON each.
READER = """
import importlib, json, resource, sys, time
from pathlib import Path
from crosslens.corpora import dictionaries, documents, entities, pairs, treebanks, wals as typology
from crosslens.corpora.archives import extracted
from crosslens.corpora.dumps import pages
from crosslens.corpora.lines import read_lines
from crosslens.jobs.errors import DataError
from crosslens.corpora.sources.fetch import fetch
from crosslens.corpora.sources.wikipedia import read_index

def lines(path): return sum(1 for _ in read_lines(path))
def members(path):
    with extracted(path, {"test": ["*"]}) as files: return len(files["test"])
def nested(path):
    patterns = ["*.zip/*", "*.tar.gz/*", "*.tar.bz2/*", "*.tar.xz/*", "a.zip/b.zip/*"]
    with extracted(path, {"test": patterns}) as files: return len(files["test"])
def dump(path): return sum(1 for _ in pages(path))
def index(path): return len(read_index(path, 10**9))
def mirror(path):
    file = path.name.removesuffix(path.suffix)
    fetch(f"s/{file}", path.parent / "fetched" / file, urls=[], mirror=[path.parent], lock=path.parent / "lock.tsv")
def sized(path):
    file = path.name.removesuffix(path.suffix)
    fetch(f"s/{file}", path.parent / "fetched" / file, urls=[], mirror=[path.parent], size=1000, lock=path.parent / "lock.tsv")
def wals(path): return list(typology._table(path, "codes"))
def reuters(path):
    ids = path.with_name("german.test"); ids.write_text("A-1\\n")
    return documents.read([ids], "de", texts=path)
def conllu(path): return treebanks.read([path], "de")
def nli(path): return pairs.read([path], "de")
def ner(path): return entities.read([path], "de")
def muse(path): return dictionaries.read([path], "de")
def sib(path): return documents.read([path], "de", labels=["travel"])

own = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
resource.setrlimit(resource.RLIMIT_AS, (own + int(sys.argv[1]), -1))
for line in sys.stdin:
    name, call, path = json.loads(line)
    began = time.process_time()
    try:
        outcome = f"accepted: {globals()[call](Path(path))!r:.100}"
    except DataError as error:
        outcome = str(error)
    except BaseException as error:
        outcome = f"traceback: {type(error).__name__}: {error}"
    print(json.dumps([name, outcome, time.process_time() - began]), flush=True)
"""


@cache
def part(suffix: str, size: int, filling: bytes) -> bytes:
    return COMPRESSED[suffix](filling * (size // len(filling)))


def bomb(suffix: str, size: int, opening: bytes = b"", filling: bytes = b"x", one: bool = False) -> bytes:
    """Compressed: an opening, and then `size` bytes of the same; as one stream or, which is soon made, as many."""
    if one:
        return COMPRESSED[suffix](opening + filling * (size // len(filling)))
    return COMPRESSED[suffix](opening) + part(suffix, 10**7, filling) * (size // 10**7)


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def sparse() -> bytes:
    """A member of 512 bytes that says it is 8 TB of zeros (GNU's first format, and that of pax)."""
    info = tarfile.TarInfo("ud/x.conllu")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % (8**11 - 1)
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    return bytes(header) + bytes(1024)


def overstated(size: int) -> bytes:
    """A zip whose member says it is of another size than it is."""
    content = bytearray(zipped({"a.conllu": b"x" * 100}))
    at = content.index(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", size)
    return bytes(content)


def files() -> Iterator[tuple[str, str, str, Callable[[], bytes]]]:
    """Name, reader, file, content."""
    for suffix in COMPRESSED:
        yield f"a line of {suffix}", "lines", f"de.txt{suffix}", lambda s=suffix: bomb(s, 5 * 10**9)
        yield f"a mirror's {suffix}", "mirror", f"x.bin{suffix}", lambda s=suffix: bomb(s, 600 * 10**6)
        yield f"a table of {suffix}", "wals", f"codes.csv{suffix}", lambda s=suffix: bomb(s, 600 * 10**6, b"ID,")
        yield f"a dump of {suffix}", "dump", f"x.xml{suffix}", lambda s=suffix: bomb(s, 600 * 10**6, b"<mediawiki>")
        yield (
            f"a tar of {suffix}",
            "members",
            f"ud.tar{suffix}",
            lambda s=suffix: COMPRESSED[s](tarred({"a": bytes(LARGE)})),
        )
        yield f"zeros after a tar of {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: bomb(s, LARGE, filling=b"\0")
    lines = {"lines": b"x" * 999 + b"\n", "conllu": b"#" + b"x" * 998 + b"\n"}
    for reader, filling in lines.items():
        yield f"many {reader}", reader, "de.conllu.xz", lambda f=filling: bomb(".xz", 600 * 10**6, filling=f)
    small_page = b"<page><title>x</title><ns>0</ns></page>"
    yield "pages", "dump", "x.xml.xz", lambda: bomb(".xz", 600 * 10**6, b"<mediawiki>", small_page)
    yield "size known", "sized", "x.bin.gz", lambda: bomb(".gz", LARGE)
    yield "Reuters", "reuters", "rcv.tar.gz", lambda: gzip.compress(tarred({"A/1.xml": b"x" * 80 * 10**6}))
    yield "nested bombs", "nested", "all.zip", lambda: zipped({"a.tar.gz": gzip.compress(tarred({"a": bytes(LARGE)}))})
    yield "8 TB of zeros", "members", "ud.tar.gz", lambda: gzip.compress(sparse())
    yield "a zip's member", "members", "ud.zip", lambda: zipped({"a.conllu": bytes(LARGE)})
    yield "many members of a zip", "members", "ud.zip", lambda: zipped({f"{i}": bytes(10**6) for i in range(300)})
    for size in (1, 2**32 - 2):
        yield f"a zip's member of {size} bytes by name alone", "members", "ud.zip", lambda s=size: overstated(s)
    yield "a block of a dump", "dump", "x.xml.bz2", lambda: bz2.compress(b"<mediawiki>") + bomb(".bz2", 400 * 10**6, one=True)
    yield "a line of an index", "index", "index.txt.bz2", lambda: bomb(".bz2", 5 * 10**9)
    other = b'<!DOCTYPE m [<!ENTITY k SYSTEM "file:///etc/passwd">]>'
    page = b"<mediawiki><page><title>&k;</title><ns>0</ns><revision><text>&k;</text></revision></page></mediawiki>"
    yield "a file named in a dump", "dump", "x.xml", lambda: other + page
    yield "depth of a dump", "dump", "x.xml", lambda: b"<mediawiki>" + b"<a>" * 10**6
    yield "a page without end", "dump", "x.xml", lambda: b"<mediawiki><page><title>" + b"x" * 40 * 10**6
    for reader, name in {"conllu": "x.conllu", "nli": "xnli.test.tsv", "ner": "train", "muse": "en-de.txt", "sib": "dev.tsv",
                         "wals": "codes.csv", "lines": "de.txt"}.items():  # fmt: skip
        yield f"a line of 40 MB for {reader}", reader, name, lambda: b"x" * 40 * 10**6


def test_hostile_files(tmp_path, often, tally) -> None:
    counted = tally("A hostile file: bombs of every compression, lines without end")
    chosen = list(files())
    assert len(chosen) >= 40 and len({name for name, *_ in chosen}) == len(chosen)
    archives = [case for case in chosen if case[1] == "members"]  # which take no time
    chosen = chosen if often(1, 0) else archives[::12]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", READER, str(MEMORY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdin and process.stdout
        for number, (name, call, file, content) in enumerate(chosen):
            path = tmp_path / str(number) / file
            path.parent.mkdir()
            path.write_bytes(content())
            process.stdin.write(json.dumps([name, call, str(path)]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, f"{name}: the process was killed"
            _, outcome, took = json.loads(line)
            print(f"{took:5.1f} {path.stat().st_size:10} {name}: {outcome.replace(str(tmp_path), '')[:150]}")
            if outcome.startswith(("accepted", "traceback")) or took > SECONDS or str(path.parent) not in outcome:
                counted.silent.append(f"{name}: {outcome} after {took:.0f} s")
            else:
                assert outcome.isprintable() and len(outcome) < 1000, f"{name}: {outcome}"
                counted.refused += 1
                counted.seen = counted.seen or outcome.replace(str(tmp_path), "SOURCES")
            inputs = {path, path.with_name("german.test")}
            left = [file for file in path.parent.rglob("*") if file.is_file() and file not in inputs]
            assert not left, f"{name}: {left}"
            path.unlink()
        process.stdin.close()
    assert counted.silent == []
