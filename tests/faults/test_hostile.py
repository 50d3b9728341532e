"""Hostile files in a process that may hold 1.5 GB: refused in one line that names the file, whatever they would grow to.

Bombs of every compression, through every door by which a file comes in; archives that reach out of themselves; lines and numbers
without end. Damage to each format at random is in test_corpora_mutations.py.
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

ROOT = Path(__file__).parents[2]
MEMORY = 1500 * 10**6  # bytes of address space over what importing takes; the bombs hold up to 10 GB
SECONDS = 60  # of the processor that one file may take
COMPRESSED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ONE = {".gz": gzip.compress(b""), ".bz2": bz2.compress(b""), ".xz": lzma.compress(b"")}

# Reads files, each by a call of its own, and prints what came of it: a line of JSON each.
READER = """
import importlib, json, resource, sys, time
from pathlib import Path
from crosslens.corpora import dictionaries, documents, entities, pairs, treebanks, wals
from crosslens.corpora.archives import extracted
from crosslens.corpora.dumps import pages
from crosslens.corpora.lines import read_lines
from crosslens.runs.errors import DataError
from crosslens.sources.fetch import fetch
from crosslens.sources.wikipedia import read_index
from crosslens.encoders.describe import _vocabulary

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
def wals(path): return list(wals._table(path, "codes"))
def reuters(path):
    ids = path.with_name("german.test"); ids.write_text("A-1\\n")
    return documents.read([ids], "de", texts=path)
def conllu(path): return treebanks.read([path], "de")
def nli(path): return pairs.read([path], "de")
def ner(path): return entities.read([path], "de")
def muse(path): return dictionaries.read([path], "de")
def wili(path): return documents.read([path, path.with_name(path.name.replace("x_", "y_"))], "de")
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


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return stream.getvalue()


def zipped(members: dict[str, bytes], attributes: int = 0) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = attributes << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return stream.getvalue()


def special(kind: bytes, name: str = "ud/x", link: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def sparse() -> bytes:
    """A member of 512 bytes that says it is 8 TB of zeros (GNU's first format, and that of pax)."""
    info = tarfile.TarInfo("ud/x.conllu")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % (8**11 - 1)
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    return bytes(header) + bytes(1024)


def pax_sparse() -> bytes:
    info = tarfile.TarInfo("ud/x.conllu")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(2**43), "GNU.sparse.map": "0,0"}
    return info.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


def overstated(size: int) -> bytes:
    """A zip whose member says it is of another size than it is."""
    content = bytearray(zipped({"a.conllu": b"x" * 100}))
    at = content.index(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", size)
    return bytes(content)


def files() -> Iterator[tuple[str, str, str, Callable[[], bytes]]]:
    """Name, reader, file, content."""
    outside = ["../x", "/etc/x", "a/../../x", "..\\x", "ud/..", "\0../x"[1:], "./../x", "C:\\..\\x"]
    for suffix in COMPRESSED:
        yield f"a line of {suffix}", "lines", f"de.txt{suffix}", lambda s=suffix: bomb(s, 5 * 10**9)
        yield f"lines of {suffix}", "lines", f"de.txt{suffix}", lambda s=suffix: bomb(s, 600 * 10**6, filling=b"x" * 999 + b"\n")
        yield f"a mirror's {suffix}", "mirror", f"x.bin{suffix}", lambda s=suffix: bomb(s, 600 * 10**6)
        if suffix != ".bz2":
            yield f"a mirror's {suffix}, size known", "sized", f"x.bin{suffix}", lambda s=suffix: bomb(s, 300 * 10**6)
        yield f"a table of {suffix}", "wals", f"codes.csv{suffix}", lambda s=suffix: bomb(s, 600 * 10**6, b"ID,")
        yield f"a dump of {suffix}", "dump", f"x.xml{suffix}", lambda s=suffix: bomb(s, 600 * 10**6, b"<mediawiki>")
        yield f"pages of {suffix}", "dump", f"x.xml{suffix}", lambda s=suffix: bomb(
            s, 600 * 10**6, b"<mediawiki>", b"<page><title>x</title><ns>0</ns></page>")  # fmt: skip
        yield (
            f"trees of {suffix}",
            "conllu",
            f"x.conllu{suffix}",
            lambda s=suffix: bomb(s, 600 * 10**6, filling=b"#" + b"x" * 998 + b"\n"),  # fmt: skip
        )
        yield f"a tar of {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: COMPRESSED[s](tar(("a", bytes(300 * 10**6))))
        yield f"zeros after a tar of {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: bomb(s, 300 * 10**6, filling=b"\0")
        yield f"Reuters in {suffix}", "reuters", f"rcv.tar{suffix}", lambda s=suffix: COMPRESSED[s](
            tar(("A/1.xml", b"x" * 80 * 10**6)))  # fmt: skip
        yield f"a tar's name in {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: COMPRESSED[s](
            tar(("a" * 150 * 10**6, b"")))  # fmt: skip
        yield f"an archive in an archive of {suffix}", "nested", "all.zip", lambda s=suffix: zipped(
            {f"a.tar{s}": COMPRESSED[s](tar(("a", bytes(300 * 10**6))))})  # fmt: skip
        yield f"cut {suffix}", "lines", f"de.txt{suffix}", lambda s=suffix: COMPRESSED[s](b"text\n" * 10**4)[:-9]
        yield f"nothing in {suffix}", "lines", f"de.txt{suffix}", lambda s=suffix: ONE[s]
        yield f"garbage after {suffix}", "conllu", f"x.conllu{suffix}", lambda s=suffix: COMPRESSED[s](b"# x\n") + os.urandom(99)
        yield f"{suffix} by name alone", "lines", f"de.txt{suffix}", lambda: b"text\n"
        yield f"{suffix} in {suffix}", "conllu", f"x.conllu{suffix}", lambda s=suffix: COMPRESSED[s](bomb(s, 10**8))
        for number, name in enumerate(outside):
            yield f"{suffix} out of itself {number}", "members", f"ud.tar{suffix}", lambda s=suffix, n=name: COMPRESSED[s](
                tar((n, b"x")))  # fmt: skip
        kinds = {
            "a link": tarfile.SYMTYPE,
            "a hard link": tarfile.LNKTYPE,
            "a device": tarfile.CHRTYPE,
            "a disk": tarfile.BLKTYPE,
            "a pipe": tarfile.FIFOTYPE,
        }
        for kind, code in kinds.items():
            yield f"{kind} in {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix, c=code: COMPRESSED[s](tar(special(c)))
            through = lambda s=suffix, c=code: COMPRESSED[s](tar(special(c, "ud", "/tmp"), ("ud/x", b"x")))  # noqa: E731
            yield f"{kind} and a file through it in {suffix}", "members", f"ud.tar{suffix}", through
        yield f"8 TB of zeros in {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: COMPRESSED[s](sparse())
        yield f"8 TB of pax's zeros in {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: COMPRESSED[s](pax_sparse())
        yield (
            f"a tar cut in {suffix}",
            "members",
            f"ud.tar{suffix}",
            lambda s=suffix: COMPRESSED[s](tar(("a", b"x" * 9000))[:5000]),
        )
        yield f"no tar in {suffix}", "members", f"ud.tar{suffix}", lambda s=suffix: COMPRESSED[s](b"text " * 999)
    for number, name in enumerate(outside):
        yield f"zip out of itself {number}", "members", "ud.zip", lambda n=name: zipped({n: b"x"})
    for kind in (0o120777, 0o020666, 0o060666, 0o010666, 0o140777):
        yield f"zip of a member of kind {kind:o}", "members", "ud.zip", lambda k=kind: zipped({"a": b"/etc/passwd"}, k)
    yield "a zip's member", "members", "ud.zip", lambda: zipped({"a.conllu": bytes(300 * 10**6)})
    yield "many members of a zip", "members", "ud.zip", lambda: zipped({f"{i}": bytes(10**6) for i in range(300)})
    yield "a zip in a zip in a zip", "nested", "ud.zip", lambda: zipped({"a.zip": zipped({"b.zip": bytes(200 * 10**6)})})
    for size in (0, 1, 50, 2**31, 2**32 - 2):
        yield f"a zip's member of {size} bytes by name alone", "members", "ud.zip", lambda s=size: overstated(s)
    yield "a zip that is none", "members", "ud.zip", lambda: b"text " * 999
    yield "an empty zip", "members", "ud.zip", lambda: b""
    yield "a zip without its end", "members", "ud.zip", lambda: zipped({"a": os.urandom(9000)})[:-40]
    yield "a zip of other bytes", "members", "ud.zip", lambda: zipped({"a": b"x" * 9000}).replace(b"x" * 9, b"y" * 9)[:-60]
    yield "a block of a dump", "dump", "x.xml.bz2", lambda: bz2.compress(b"<mediawiki>") + bomb(".bz2", 400 * 10**6, one=True)
    yield "a block of pages", "dump", "x.xml.bz2", lambda: bz2.compress(b"<mediawiki>") + 2 * bomb(
        ".bz2", 300 * 10**6, one=True, filling=b"<page><title>x</title><ns>0</ns></page>")  # fmt: skip
    yield (
        "a head of a dump",
        "dump",
        "x.xml.bz2",
        lambda: bomb(".bz2", 400 * 10**6, b"<mediawiki>", one=True) + bz2.compress(b"<page>") * 2,  # fmt: skip
    )
    yield "a line of an index", "index", "index.txt.bz2", lambda: bomb(".bz2", 5 * 10**9)
    yield "lines of an index", "index", "index.txt.bz2", lambda: bomb(".bz2", 300 * 10**6, filling=b"600:1:" + b"x" * 993 + b"\n")
    yield "an index of digits", "index", "index.txt.bz2", lambda: bz2.compress(b"6" * 5000 + b":1:x\n")
    yield "an index below 0", "index", "index.txt.bz2", lambda: bz2.compress(b"-600:1:x\n")
    entity = b'<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (i + 1, b"&%c;" % i * 10) for i in range(ord("a"), ord("k"))) + b"]>"  # fmt: skip
    other = b'<!DOCTYPE m [<!ENTITY k SYSTEM "file:///etc/passwd">]>'
    page = b"<page><title>&k;</title><ns>0</ns><revision><text>&k;</text></revision></page></mediawiki>"
    for suffix in ("", *COMPRESSED):
        pack = COMPRESSED.get(suffix, bytes)
        yield f"entities in a dump{suffix}", "dump", f"x.xml{suffix}", lambda p=pack: p(entity + b"<mediawiki>" + page)
        yield f"entities within a dump{suffix}", "dump", f"x.xml{suffix}", lambda p=pack: p(b"<mediawiki>" + entity + page)
        yield f"a file named in a dump{suffix}", "dump", f"x.xml{suffix}", lambda p=pack: p(other + b"<mediawiki>" + page)
        yield f"depth of a dump{suffix}", "dump", f"x.xml{suffix}", lambda p=pack: p(b"<mediawiki>" + b"<a>" * 10**6)
        yield (
            f"a page without end{suffix}",
            "dump",
            f"x.xml{suffix}",
            lambda p=pack: p(b"<mediawiki><page><title>" + b"x" * 40 * 10**6),
        )
        yield f"a namespace of digits{suffix}", "dump", f"x.xml{suffix}", lambda p=pack: p(
            b"<mediawiki>" + page.replace(b"&k;", b"x").replace(b"0", b"9" * 5000))  # fmt: skip
    for suffix in COMPRESSED:
        for name, content in {"entities": entity, "a file named": other}.items():
            yield f"{name} in Reuters{suffix}", "reuters", f"rcv.tar{suffix}", lambda s=suffix, c=content: COMPRESSED[s](
                tar(("A/1.xml", c + b"<newsitem>&k;</newsitem>")))  # fmt: skip
    for reader, name in {"conllu": "x.conllu", "nli": "xnli.test.tsv", "ner": "train", "muse": "en-de.txt", "sib": "dev.tsv",
                         "wals": "codes.csv", "lines": "de.txt"}.items():  # fmt: skip
        yield f"a line of 40 MB for {reader}", reader, name, lambda: b"x" * 40 * 10**6
        yield f"NUL for {reader}", reader, name, lambda: b"\0" * 1000
        yield f"nothing for {reader}", reader, name, lambda: b""
        yield f"an open quote for {reader}", reader, name, lambda: b'"\xff' + b"x\t" * 10**6
        yield f"no UTF-8 for {reader}", reader, name, lambda: b"\xff\xfe" * 1000


def test_hostile_files(tmp_path, often, tally) -> None:
    counted = tally("A hostile file: bombs, archives that reach out, lines and numbers without end")
    chosen = list(files())
    assert len(chosen) >= 200 and len({name for name, *_ in chosen}) == len(chosen)
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
            left = [
                each for each in path.parent.rglob("*") if each not in (path, path.with_name("german.test")) and each.is_file()
            ]
            assert not left, f"{name}: {left}"
            path.unlink()
        process.stdin.close()
    assert counted.silent == []
