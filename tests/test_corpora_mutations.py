"""Damaged and hostile files of every official format: rows, or one line that says where; never a traceback, a hang or silence.

A format is a small valid file, or several, and what reads them. A case damages one of the files, from a seed. What comes of
it must be rows of the schema that lose nothing of what lies before the damage, or a DataError with file and place.
"""

from __future__ import annotations

import bz2
import gzip
import html
import io
import json
import lzma
import os
import re
import signal
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import pytest
from crosslens.corpora import dictionaries, documents, entities, pairs, schema, treebanks, typology
from crosslens.corpora.archives import extracted
from crosslens.corpora.conllu import LONGEST
from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.splits import write_split
from crosslens.errors import DataError
from crosslens.phrasebook.articles import articles
from crosslens.phrasebook.dumps import dump
from crosslens.phrasebook.generate import treebank
from crosslens.phrasebook.grammar import read_grammar
from crosslens.phrasebook.inference import prompts
from crosslens.phrasebook.pairs import multinli, xnli
from crosslens.phrasebook.treebanks import conllu

SECONDS = 10  # that a case may take; the slowest takes one on an idle core
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.compress, ".bz2": bz2.compress, ".gz": gzip.compress}
PLACE = re.compile(r":\d+: |: byte \d+|: member '|: a whole (tar|zip) archive expected|: a document type")
Row = dict[str, object]
Damage = Callable[[Random, bytes, bytes], bytes]  # a generator, the content, what is between two cells of a line


@dataclass(frozen=True)
class Format:
    """Valid files, and what reads them.

    files: name -> content; cases damage the first one. read: from the folder of the files to a Parquet file. before: which
    of the valid rows lie in some first bytes; None for compressed files, whose rows come all or not at all, since every damage
    shows. cells: what is between two cells of a line.
    """

    files: Mapping[str, bytes]
    read: Callable[[Path, Path], object]
    before: Callable[[bytes, list[Row]], list[Row]] | None
    cells: bytes = b"\t"


# Formats


def official(reader, *names: str, language: str = "de", texts: str = "", **settings) -> Callable[[Path, Path], object]:
    def read(folder: Path, output: Path) -> None:
        paths = [folder / name for name in names]
        own = settings | ({"texts": folder / texts} if texts else {})
        write_split(reader, paths, output, language=language, split="test", limit=None, seed=0, **own)

    return read


def archived(reader, name: str, pattern: str, language: str = "de", **settings) -> Callable[[Path, Path], object]:
    def read(folder: Path, output: Path) -> None:
        with extracted(folder / name, {"test": [pattern]}) as files:
            write_split(reader, files["test"], output, language=language, split="test", limit=None, seed=0, **settings)

    return read


def sampled(name: str, form: str, minimum: int = 100) -> Callable[[Path, Path], object]:
    """Asks for more paragraphs than there are, so that all are taken."""

    def read(folder: Path, output: Path) -> None:
        write_paragraphs(folder / name, {"test": output}, language="de", form=form, paragraphs=10**4,  # type: ignore[arg-type]
                         minimum_characters=minimum, shares={"test": 1}, per_page=3, candidates=1, seed=0)  # fmt: skip

    return read


def each(end: bytes, head: int = 0) -> Callable[[bytes, list[Row]], list[Row]]:
    """For rows that end so, after a head with as many ends."""
    return lambda content, rows: rows[: max(0, content.count(end) - head)]


def whole_pages(content: bytes, rows: list[Row]) -> list[Row]:
    """For a dump."""
    titles = re.findall("<title>(.*?)</title>", content[: content.rfind(b"</page>") + 1].decode(errors="replace"))
    return [row for row in rows if row["page"] in map(html.unescape, titles)]


def whole_documents(content: bytes, rows: list[Row]) -> list[Row]:
    """For CC-100."""
    return [row for row in rows if int(str(row["page"])) <= content.count(b"\n\n")]


def nothing(content: bytes, rows: list[Row]) -> list[Row]:
    """For a table that says what others mean."""
    return []


def multistream(export: bytes) -> bytes:
    """A dump as bz2 streams: the head, every two pages, the end."""
    cuts = [match.end() - len(b"  <page>") for match in re.finditer(rb"  <page>", export)][::2]
    cuts = [0, *cuts, export.index(b"</mediawiki>"), len(export)]
    return b"".join(bz2.compress(export[begin:end]) for begin, end in zip(cuts, cuts[1:], strict=False))


def zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


REUTERS = b"""<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="1"><title>T\xfcr</title><text>
<p>F\xfcnf &amp; sechs.</p>
<p>Sieben.</p>
</text><metadata><codes class="bip:countries:1.0"><code code="GFR"></code></codes>
<codes class="bip:topics:1.0"><code code="%s"></code><code code="C%d"></code></codes></metadata></newsitem>
"""
WALS = {
    "values": "ID,Language_ID,Parameter_ID,Value,Code_ID,Comment\n"
    + "".join(
        f'{n}A-{code},{code},{n}A,{i},{n}A-{i},"a\nb"\n' for n in (81, 82) for i, code in enumerate(("ger", "eng", "fre"), 1)
    ),
    "languages": "ID,Name,Family,Genus\nger,German,IE,Germanic\neng,English,IE,Germanic\nfre,French,IE,Romance\n",
    "parameters": 'ID,Name\n81A,"Order of Subject, Object and Verb"\n82A,Order of Subject and Verb\n',
    "codes": "ID,Parameter_ID,Name,Number\n" + "".join(f"{n}A-{i},{n}A,Order {i},{i}\n" for n in (81, 82) for i in (1, 2, 3)),
}


def wili(folder: Path, output: Path) -> None:
    official(documents, "x_test.txt", "y_test.txt")(folder, output)


def wals(folder: Path, output: Path) -> None:
    rows, counts = typology.read([folder / f"{name}.csv" for name in WALS], ["de", "en", "fr"])
    schema.write(rows, output, typology.SCHEMA, counts)


@cache
def formats() -> dict[str, Format]:
    german, english = read_grammar("de"), read_grammar("en")
    trees = conllu(treebank(german, "test", 8, 0), "test").encode()
    export = bz2.decompress(dump(german, articles(german, 6, 0), 0).pages)
    dev, test = prompts(english, "dev", 4, 0), prompts(english, "test", 4, 0)
    with zipfile.ZipFile(io.BytesIO(xnli([german, english], dev, test))) as archive:
        table = archive.read("XNLI-1.0/xnli.test.tsv")
    with zipfile.ZipFile(io.BytesIO(multinli(english, test, dev))) as archive:
        lines = archive.read("multinli_1.0/multinli_1.0_train.jsonl")
    bare = b"".join(json.dumps({"premise": f"Satz {i}.", "hypothesis": "Ja.", "label": i % 3}).encode() + b"\n" for i in range(9))
    translated = b"premise\thypo\tlabel\n" + b"".join(b'Satz %d.\t"Ja\tneutral\n' % i for i in range(8))
    wikiann = b"".join(b"de:Wort\tO\nde:Bad\tB-LOC\nde:Ems%d\tI-LOC\nde:.\tO\n\n" % i for i in range(8))
    shared_task = b"-DOCSTART- -X- -X- -X- O\n\n" + b"".join(
        "Jürgen <unknown> NE I-NC I-PER\nM\xfcller%d Müller NE I-NC I-PER\n. . $. O O\n\n".encode("iso-8859-1") % i
        for i in range(8)
    )
    msra = "".join(f"北\tB-LOC\n京\tI-LOC\n{i}\tO\n\n" for i in range(8)).encode()
    texts = b"".join(b"Ein Text Nummer %d\n" % i for i in range(9)) + b"One text\nTwo texts\n"
    labels = b"deu\n" * 9 + b"eng\n" * 2
    ids = b"".join(b"FDG%d-%d\n" % (i, 7 + i) for i in range(9))
    reuters = {f"rcv2/FDG{i}/{7 + i}.xml": REUTERS % (b"CCAT", i) for i in range(9)}
    muse = b"".join(b"word%d Wort%d\n" % (i, i) for i in range(5)) + b"word5\tWort5\nword\tein Wort\n"
    lines_100 = b"".join(b"Die erste Zeile der Seite %d.\nDie zweite Zeile von Seite %d.\n\n" % (i, i) for i in range(8))
    found = {
        "conllu": Format({"de_x-ud-test.conllu": trees}, official(treebanks, "de_x-ud-test.conllu"), each(b"\n\n")),
        "xnli": Format({"xnli.test.tsv": table}, official(pairs, "xnli.test.tsv"), each(b"\n", 1)),
        "multinli": Format({"multinli.jsonl": lines}, official(pairs, "multinli.jsonl", language="en"), each(b"\n"), b", "),
        "translate-train": Format({"de.jsonl": bare}, official(pairs, "de.jsonl"), each(b"\n"), b", "),
        "dump": Format({"dewiki.xml": export}, sampled("dewiki.xml", "dump"), whole_pages, b">"),
        "dump.bz2": Format({"dewiki.xml.bz2": multistream(export)}, sampled("dewiki.xml.bz2", "dump"), None),
        "xnli-mt": Format({"multinli.train.de.tsv": translated}, official(pairs, "multinli.train.de.tsv"), each(b"\n", 1)),
        "wikiann": Format({"train": wikiann}, official(entities, "train"), each(b"\n\n")),
        "conll-2003": Format({"deu.testb": shared_task},
                             official(entities, "deu.testb", encoding="iso-8859-1"), each(b"\n\n", 1), b" "),
        "msra": Format({"msra_test_bio.txt": msra}, official(entities, "msra_test_bio.txt", language="zh"), each(b"\n\n")),
        "wili texts": Format({"x_test.txt": texts, "y_test.txt": labels}, wili, each(b"\n"), b" "),
        "wili labels": Format({"y_test.txt": labels, "x_test.txt": texts}, wili, each(b"\n"), b"u"),
        "mldoc ids": Format({"german.test": ids} | reuters, official(documents, "german.test", texts="rcv2"), each(b"\n"), b"-"),
        "mldoc texts": Format(reuters | {"german.test": ids},
                              official(documents, "german.test", texts="rcv2"), lambda content, rows: rows[1:], b">"),
        "mldoc archive": Format({"rcv2.tar.xz": lzma.compress(tarred(reuters)), "german.test": ids},
                                official(documents, "german.test", texts="rcv2.tar.xz"), None),
        "muse": Format({"en-de.0-5000.txt": muse}, official(dictionaries, "en-de.0-5000.txt"), each(b"\n"), b" "),
        "cc-100": Format({"de.txt": lines_100}, sampled("de.txt", "lines", 20), whole_documents, b" "),
        "cc-100.xz": Format({"de.txt.xz": lzma.compress(lines_100)}, sampled("de.txt.xz", "lines", 20), None),
        "nested": Format({"panx.zip": zipped({"panx/de.tar.gz": gzip.compress(tarred({"train": wikiann}))})},
                         archived(entities, "panx.zip", "*/de.tar.gz/train"), None),
        "zip": Format({"xnli.zip": zipped({"x/xnli.test.tsv": table, "x/read me": b"text"})},
                      archived(pairs, "xnli.zip", "x/*.test.tsv"), None),
    }  # fmt: skip
    for table in WALS:
        name = f"{table}.csv"
        files = {name: WALS[table].encode()} | {f"{other}.csv": content.encode() for other, content in WALS.items()}
        found[f"wals {table}"] = Format(files, wals, each(b'b"\n') if table == "values" else nothing, b",")
    tar = tarred({f"ud/de_{name}-ud-test.conllu": trees for name in "abc"})
    for suffix, compress in COMPRESSORS.items():
        name = f"de_x-ud-test.conllu{suffix}"
        found[f"conllu{suffix}"] = Format({name: compress(trees)}, official(treebanks, name), None)
        name = f"ud.tar{suffix}"
        found[f"tar{suffix}"] = Format({name: compress(tar)}, archived(treebanks, name, "ud/*.conllu"), None)
    return found


FORMATS = tuple(formats())


# Damage


def _line(change: Callable[[Random, list[bytes], int], object]) -> Damage:
    """Damage to the lines, at a random one."""

    def damage(random: Random, content: bytes, cells: bytes) -> bytes:
        lines = content.split(b"\n")
        change(random, lines, random.randrange(len(lines)))
        return b"\n".join(lines)

    return damage


def _cell(change: Callable[[Random, list[bytes], int], object]) -> Damage:
    """Damage to the cells of a random line, at a random one."""

    def damage(random: Random, content: bytes, cells: bytes) -> bytes:
        lines = content.split(b"\n")
        number = random.choice([number for number, line in enumerate(lines) if cells in line])
        row = lines[number].split(cells)
        change(random, row, random.randrange(len(row)))
        lines[number] = cells.join(row)
        return b"\n".join(lines)

    return damage


def _at(change: Callable[[Random, bytes, int], bytes]) -> Damage:
    """Damage at a random byte."""
    return lambda random, content, cells: change(random, content, random.randrange(len(content)))


def _insert(what: Callable[[Random, bytes], bytes]) -> Damage:
    return _at(lambda random, content, place: content[:place] + what(random, content) + content[place:])


def _swap(random: Random, parts: list[bytes], place: int) -> None:
    other = random.randrange(len(parts))
    parts[place], parts[other] = parts[other], parts[place]


def _recode(encoding: str) -> Damage:
    return lambda random, content, cells: content.decode(errors="replace").encode(encoding, errors="replace")


DIGITS = b"9" * 5000  # more than int() takes
ODD = (
    b"", b" ", b"\r", b"\0", b"\xff", b"\xc2\xa0", b"\x1b[2J", "\u2028".encode(), b"_", b"-", b'"', b"{", b"null", b"NaN",
    b"I-XXX", b"-1", b"0-0", b"1-2", b"1-32767", b"32768", b"-32769", b"1e999", "١".encode(), DIGITS, DIGITS + b"-" + DIGITS,
    b"1." + DIGITS, b'"a": "\\ud800"', b'"a": ["a", {}]', b"[" * 10**5, b"&lol;", b"<a>", b"../../x", b"%s%n", b"=1+1",
)  # fmt: skip
BYTES: dict[str, Damage] = {
    "flip": _at(
        lambda random, content, place: content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
    ),
    "delete": _at(lambda random, content, place: content[:place] + content[place + random.randint(1, 40) :]),
    "insert": _insert(lambda random, content: random.randbytes(random.randint(1, 20))),
    "duplicate": _insert(lambda random, content: content[: random.randrange(len(content))][-60:]),
    "cut": _at(lambda random, content, place: content[:place]),
}  # fmt: skip
TEXT: dict[str, Damage] = BYTES | {
    "drop line": _line(lambda random, lines, place: lines.pop(place)),
    "swap lines": _line(_swap),
    "repeat line": _line(lambda random, lines, place: lines.insert(place, lines[place])),
    "drop cell": _cell(lambda random, cells, place: cells.pop(place)),
    "swap cells": _cell(_swap),
    "NUL": _insert(lambda random, content: b"\0"),
    "surrogate": _insert(lambda random, content: b"\xed\xa0\x80"),
    "huge field": _insert(lambda random, content: b"x" * 10**6),
    "latin-1": _recode("latin-1"),
}
NO_TEXT: dict[str, Damage] = {  # nothing of these can be read
    "empty": lambda random, content, cells: b"",
    "blank": lambda random, content, cells: b" \n\t\n \n" * 3,
    "line ends": lambda random, content, cells: b"\n" * 9,
    "utf-16": _recode("utf-16"),
    "utf-32": _recode("utf-32-be"),
    "compressed": lambda random, content, cells: lzma.compress(content),
}
SAME: dict[str, Damage] = {  # read as the same, or refused
    "CRLF": lambda random, content, cells: content.replace(b"\n", b"\r\n"),
    "BOM": lambda random, content, cells: b"\xef\xbb\xbf" + content,
}


# Cases


class Hang(BaseException):
    """Time is up; no OSError, which readers catch."""


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes too long."""

    def end(*_: object) -> None:
        raise Hang(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(folder: Path, form: Format, name: str = "", content: bytes = b"") -> list[Row] | str:
    """Rows of a format's files, of which one may have another content, or the message of the error."""
    for file, valid in form.files.items():
        (folder / "in" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / file).write_bytes(content if file == name else valid)
    output = folder / "out" / "de.test.parquet"
    try:
        with limited():
            form.read(folder / "in", output)
    except DataError as error:
        message = str(error)
        assert not output.parent.exists(), "something is written in spite of the error"
        assert message.startswith(f"{folder}/in/") and PLACE.search(message), f"no file or no place: {message}"
        assert message.isprintable(), f"more than a line of text: {message!r}"
        assert len(message) < 1000, f"too long: {message[:2000]}"
        return message
    return schema.read(output).to_pylist()


@pytest.fixture(scope="session")
def valid(tmp_path_factory) -> Callable[[str], list[Row]]:
    """Rows of a format's valid files."""

    @cache
    def rows(name: str) -> list[Row]:
        found = outcome(tmp_path_factory.mktemp("valid"), formats()[name])
        assert isinstance(found, list) and len(found) > 5, found
        return found

    return rows


def check(folder: Path, form: Format, content: bytes, good: list[Row]) -> None:
    """That another content of the first file costs nothing that lies before the first damage."""
    name = next(iter(form.files))
    found = outcome(folder, form, name, content)
    if isinstance(found, str):
        return
    undamaged = os.path.commonprefix([content, form.files[name]])
    assert form.before is not None
    kept = {row["text"] for row in found if "page" in row}  # of two paragraphs of the same text one is kept, whichever
    lost = [row for row in form.before(undamaged, good) if row not in found and row.get("text") not in kept]
    assert not lost, f"accepted without {lost[:2]}, which lie before the damage"
    assert found, "accepted, and nothing read"


PLAIN = [name for name in FORMATS if formats()[name].before is not None]
PACKED = [name for name in FORMATS if formats()[name].before is None]
SEEDS = 2


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("damage", TEXT)
@pytest.mark.parametrize("name", PLAIN)
def test_damaged_text(tmp_path: Path, valid, name: str, damage: str, seed: int) -> None:
    form = formats()[name]
    content = next(iter(form.files.values()))
    check(tmp_path, form, TEXT[damage](Random(f"{seed}/{name}"), content, form.cells), valid(name))


@pytest.mark.parametrize("odd", range(len(ODD)))
@pytest.mark.parametrize("name", PLAIN)
def test_odd_cells(tmp_path: Path, valid, name: str, odd: int) -> None:
    form = formats()[name]
    content = next(iter(form.files.values()))
    random = Random(f"{odd}/{name}")
    for attempt in range(3):
        damage = _cell(lambda random, cells, place: cells.__setitem__(place, ODD[odd]))
        check(tmp_path / str(attempt), form, damage(random, content, form.cells), valid(name))


@pytest.mark.parametrize("damage", NO_TEXT | SAME)
@pytest.mark.parametrize("name", [name for name in PLAIN if name != "mldoc texts"])
def test_another_encoding(tmp_path: Path, valid, name: str, damage: str) -> None:
    form = formats()[name]
    first, content = next(iter(form.files.items()))
    content = (NO_TEXT | SAME)[damage](Random(0), content, form.cells)
    found = outcome(tmp_path, form, first, content)
    assert isinstance(found, str) or damage in SAME and found == valid(name)


@pytest.mark.parametrize("seed", range(3 * SEEDS))
@pytest.mark.parametrize("damage", BYTES)
@pytest.mark.parametrize("name", PACKED)
def test_damaged_compression(tmp_path: Path, valid, name: str, damage: str, seed: int) -> None:
    form = formats()[name]
    content = next(iter(form.files.values()))
    content = BYTES[damage](Random(f"{seed}/{name}"), content, form.cells)
    found = outcome(tmp_path, form, next(iter(form.files)), content)
    assert isinstance(found, str) or damage != "cut" and found == valid(name)


@pytest.mark.parametrize("damage", ["empty", "blank", "another"])
@pytest.mark.parametrize("name", PACKED)
def test_wrong_compression(tmp_path: Path, name: str, damage: str) -> None:
    form = formats()[name]
    first, content = next(iter(form.files.items()))
    other = gzip.compress if first.endswith(".xz") else lzma.compress
    assert isinstance(outcome(tmp_path, form, first, {"empty": b"", "blank": b" " * 600, "another": other(content)}[damage]), str)


# Hostile files


def replaced(name: str, old: bytes, new: bytes) -> bytes:
    """The first file of a format with something else in it, once."""
    content = next(iter(formats()[name].files.values()))
    assert old in content
    return content.replace(old, new, 1)


BOMB = b'<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (i + 1, b"&%c;" % i * 10) for i in range(ord("a"), ord("i"))
) + b"]>"  # fmt: skip
XML = b'<?xml version="1.0" encoding="%s"?>'
REFUSED = {  # a format, what is replaced in its first file, by what
    "bomb before a dump": ("dump", b"<mediawiki", BOMB + b"<mediawiki"),
    "bomb in a dump": ("dump", b"<page>", BOMB + b"<page>"),
    "bomb in a page": ("dump", b"<title>", BOMB + b"<title>&i;"),
    "another file": ("dump", b"<mediawiki", b'<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]><mediawiki'),
    "entity": ("dump", b"</title>", b"&lol;</title>"),
    "unknown encoding": ("dump", b"<mediawiki", XML % b"x-none" + b"<mediawiki"),
    "UTF-16 by name": ("dump", b"<mediawiki", XML % b"utf-16" + b"<mediawiki"),
    "character 0": ("dump", b"</title>", b"&#0;</title>"),
    "half a character": ("dump", b"</title>", b"&#xD800;</title>"),
    "namespace": ("dump", b"<ns>0", b"<ns>" + b"9" * 5000),
    "no namespace": ("dump", b"<ns>", b"</page><page><ns>"),
    "depth of a dump": ("dump", b"<page>", b"<page>" + b"<a>" * 10**5),
    "bomb in a document": ("mldoc texts", b"<newsitem", BOMB + b"<newsitem"),
    "path as an id": ("mldoc ids", b"FDG0-7", b"../../etc-passwd"),
    "half an id": ("multinli", b'"pairID": "', b'"pairID": "\\ud800'),
    "no id": ("multinli", b'"pairID": "', b'"pairID": null, "x": "'),
    "half a hypothesis": ("translate-train", b'"Ja.', b'"\\udfff'),
    "depth of JSON": ("translate-train", b'"Ja."', b"[" * 10**5 + b"]" * 10**5),
    "digits of JSON": ("translate-train", b'"label": 0', b'"label": ' + b"1" * 10**5),
    "digits of an id": ("conllu", b"\n1\t", b"\n" + b"1" * 10**5 + b"\t"),
    "digits of a range": ("conllu", b"\n1\t", b"\n1-" + b"2" * 10**5 + b"\t"),
    "digits of an empty node": ("conllu", b"\n1\t", b"\n" + b"0" * 10**5 + b"1.1\t"),
    "open quote": ("wals values", b",ger", b',"ger'),
    "digits of a code": ("wals codes", b",1\n", b"," + b"1" * 10**5 + b"\n"),
}
WORD = b"de:A\tO\n\n"
INNER = {  # an archive inside an archive
    "outside": gzip.compress(tarred({"../train": WORD})),
    "outside, with a line end": gzip.compress(tarred({"a\n/../../train": WORD})),
    "no archive": WORD,
    "cut": gzip.compress(tarred({"train": WORD}))[:-9],
    "bad line": gzip.compress(tarred({"train": WORD + b"de:A\tX\n\n"})),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_files_are_refused(tmp_path: Path, case: str) -> None:
    name, old, new = REFUSED[case]
    form = formats()[name]
    assert isinstance(outcome(tmp_path, form, next(iter(form.files)), replaced(name, old, new)), str)


@pytest.mark.parametrize("case", INNER)
def test_hostile_archives_in_archives_are_refused(tmp_path: Path, case: str) -> None:
    message = outcome(tmp_path, formats()["nested"], "panx.zip", zipped({"panx/de.tar.gz": INNER[case]}))
    place = {"no archive": ": ", "cut": ": ", "bad line": "/train:3: "}.get(case, ": member '")
    assert isinstance(message, str) and message.startswith(f"{tmp_path}/in/panx.zip/panx/de.tar.gz{place}")


def test_a_bad_line_in_an_archive_is_named(tmp_path: Path) -> None:
    content = zipped({"x/xnli.test.tsv": replaced("xnli", b"\nde\t", b"\nde\t\t")})
    message = outcome(tmp_path, formats()["zip"], "xnli.zip", content)
    assert isinstance(message, str) and message.startswith(f"{tmp_path}/in/xnli.zip/x/xnli.test.tsv:2: ")


@pytest.mark.parametrize("depth", ["<a>", "<p>", "<codes>"])
def test_a_document_that_cannot_be_read_is_counted(tmp_path: Path, valid, depth: str) -> None:
    """As by MLDoc's own script; see crosslens.corpora.documents."""
    form = formats()["mldoc texts"]
    first = next(iter(form.files))
    for number, (content, reason) in enumerate({
        replaced("mldoc texts", b"<text>", b"<text>" + depth.encode() * 10**5): "unreadable",
        replaced("mldoc texts", b"</text>", b"<a>" * 10**5 + b"</a>" * 10**5 + b"</text>"): "",
        replaced("mldoc texts", b"iso-8859-1", b"x-none"): "unreadable", b"": "unreadable",
        replaced("mldoc texts", b"CCAT", b"XCAT"): "topics",
    }.items()):  # fmt: skip
        folder = tmp_path / str(number)
        found = outcome(folder, form, first, content)
        assert found == valid("mldoc texts")[bool(reason) :]
        dropped = schema.metadata(folder / "out" / "de.test.parquet")["dropped"]
        assert sum(dropped.values()) == bool(reason) and (not reason or dropped[reason])


MARKUP = "[[ {{ {{{ <ref> <div> <b_ <!-- <nowiki> <br> '' {|\\n -{ [http://a_ [[a|{{b| <ref>[[a]] {{a\\n|b= <gallery> [[a:. | ("


@pytest.mark.parametrize("markup", MARKUP.split())
def test_markup_without_end_costs_a_page_at_most(tmp_path: Path, valid, markup: str) -> None:
    page = replaced("dump", b"", b"").partition(b"<page>")[2].partition(b"</page>")[0]
    markup = markup.replace("_", " ").replace("\\n", "\n")
    text = html.escape(markup * 10_000, quote=False).encode()
    hostile = re.sub(rb"(?s)<title>.*?</title>(.*<text[^>]*>).*</text>", rb"<title>Hostile</title>\1" + text + b"</text>", page)
    assert len(hostile) > len(text)
    form = formats()["dump"]
    content = replaced("dump", b"<page>", b"<page>" + hostile + b"</page>\n<page>")
    found = outcome(tmp_path, form, next(iter(form.files)), content)
    assert isinstance(found, list)
    assert [row for row in found if row["page"] != "Hostile"] == valid("dump")


def test_a_long_chain_is_read_in_time(tmp_path: Path) -> None:
    """With XTREME's words, which need each word's distance from the root."""
    size = LONGEST
    lines = [f"{word}\ta\t_\tNOUN\t_\t_\t{word + 1 if word < size else 0}\tdep\t_\t_\n" for word in range(1, size + 1)]
    form = Format({"x.conllu": "".join([*lines, "\n"]).encode()}, official(treebanks, "x.conllu", words="fused"), each(b"\n\n"))
    [row] = outcome(tmp_path, form)
    assert len(row["forms"]) == size  # type: ignore[index, arg-type]


def test_a_plain_tar_is_read_whole_or_refused(tmp_path: Path, valid) -> None:
    """It has no checksum over all of it: only that of each header, and zeros at its end."""
    files = formats()["tar.gz"].files
    content = gzip.decompress(files["ud.tar.gz"])
    form = Format({"ud.tar": content}, archived(treebanks, "ud.tar", "ud/*.conllu"), None)
    end = len(content.rstrip(b"\0"))
    for number, size in enumerate(range(0, end, 512)):
        assert isinstance(outcome(tmp_path / f"cut {number}", form, "ud.tar", content[:size]), str)
    second = content.index(b"ud/de_b")
    for number, byte in enumerate(range(second, second + 160, 8)):
        damaged = content[:byte] + bytes([content[byte] ^ 1]) + content[byte + 1 :]
        assert isinstance(outcome(tmp_path / f"header {number}", form, "ud.tar", damaged), str)
