"""Twice the input takes at most 2.5 times the time, whatever it is: ordinary files of every official format, and odd ones.

An input is something small that is repeated. It is doubled until reading it takes long enough to be measured, and then once more.
Where that takes longer, it is doubled again: time takes a step, but only one, where the data outgrow a cache of the processor,
while a time that grows with the square exceeds the ratio at every doubling.
That it is refused is as good as that it is read: damage and hostile files are in test_corpora_mutations.py.
"""

import bz2
import html
import io
import json
import tarfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from crosslens.corpora import dictionaries, documents, entities, pairs, treebanks
from crosslens.corpora import wals as typology
from crosslens.corpora.archives import extracted
from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.sources.wikipedia import read_index, sample
from crosslens.jobs.errors import DataError
from synthetic.archives import tarred
from test_corpora_mutations import REUTERS, WALS, case

MEASURED = 0.2  # seconds of the processor that reading the smaller input takes
LARGEST = 8 * 10**6  # bytes of an input that need not take so long
RATIO = 2.5
PAIRS = 5  # of measurements of both inputs in turn, if the first exceeds the ratio; the shortest of each counts
Make = Callable[[int], bytes]


def seconds(read: Callable[[Path], object], path: Path, content: bytes) -> float:
    """Processor time of reading some content; a refusal is an end like another."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    begin = time.process_time()
    with suppress(DataError):
        read(path)
    return time.process_time() - begin


def growth(read: Callable[[Path], object], path: Path, make: Make) -> tuple[float, float, int]:
    """How many times as long the larger of two inputs takes as the smaller one, the seconds of that, and its bytes."""
    number = 100
    while (smaller := seconds(read, path, content := make(number))) < MEASURED and len(content) < LARGEST:
        number *= 2 if smaller > MEASURED / 8 else 4
    if smaller < MEASURED:
        return 0, smaller, len(content)
    ratio = seconds(read, path, make(2 * number)) / smaller
    for size in (number, 2 * number):
        if ratio > RATIO:
            # What else runs on the processor only ever adds time: both inputs in turn, and the shortest time of each.
            content, twice = make(size), make(2 * size)
            times = [(seconds(read, path, content), seconds(read, path, twice)) for _ in range(PAIRS)]
            smaller, larger = map(min, zip(*times, strict=True))
            ratio = larger / smaller
    return ratio, smaller, len(content)


# Readers, by what they read


def running(form: str) -> Callable[[Path], object]:
    return lambda path: write_paragraphs(
        path, {"test": path.parent / "out" / "de.test.parquet"}, language="de", form=form, paragraphs=10**6,  # type: ignore[arg-type]
        minimum_characters=20, shares={"test": 1}, per_page=3, candidates=1, seed=0,
    )  # fmt: skip


def members(*patterns: str) -> Callable[[Path], object]:
    def read(path: Path) -> None:
        with extracted(path, {"test": patterns}):
            pass

    return read


def mldoc(path: Path) -> object:
    """Read a document in a folder, or an archive of documents."""
    ids, texts = path.with_name("german.test"), path.parent / "texts"
    ids.write_text("A-1\n", encoding="utf-8")
    if path.suffix == ".tar":
        return documents.read([ids], "de", texts=path)
    (texts / "A").mkdir(parents=True, exist_ok=True)
    (texts / "A/1.xml").write_bytes(path.read_bytes())
    return documents.read([ids], "de", texts=texts)


def wili(path: Path) -> object:
    texts = path.with_name("x_test.txt")
    texts.write_bytes(b"text\n" * path.read_bytes().count(b"\n"))
    return documents.read([texts, path], "de")


def wals(path: Path) -> object:
    others = [path.with_name(f"{name}.csv") for name in WALS if name != path.stem]
    for other in others:
        other.write_text(WALS[other.stem], encoding="utf-8")
    return typology.read([path, *others], ["de", "en", "fr"])


class Bytes:
    """A file that is read in parts."""

    def __init__(self, content: bytes) -> None:
        self.content, self.name, self.size = content, "x.xml.bz2", len(content)

    def read(self, start: int, length: int) -> bytes:
        return self.content[start : start + length]


def block(path: Path) -> object:
    """A block of a dump, of whose pages the index says something else."""
    head, content = bz2.compress(b"<mediawiki>"), path.read_bytes()
    index = path.with_name("index.txt")
    index.write_text(f"{len(head)}:1:x\n", encoding="utf-8")
    return sample(index, Bytes(head + bz2.compress(content)), path.with_name("sample.xml.bz2"), blocks=1, seed=0)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {  # the name of the file, and what reads it
    "trees": ("de_x-ud-test.conllu", lambda path: treebanks.read([path], "de")),
    "entities": ("train", lambda path: entities.read([path], "de")),
    "xnli": ("xnli.test.tsv", lambda path: pairs.read([path], "de")),
    "multinli": ("train.jsonl", lambda path: pairs.read([path], "de")),
    "muse": ("en-de.0-5000.txt", lambda path: dictionaries.read([path], "de")),
    "wili": ("y_test.txt", wili),
    "sib-200": ("dev.tsv", lambda path: documents.read([path], "de", labels=["travel"])),
    "tanti2021": ("dev.csv", lambda path: documents.read([path], "de")),
    "mldoc text": ("1.xml", mldoc),
    "mldoc archive": ("rcv2.tar", mldoc),
    "wals values": ("values.csv", wals),
    "crawl": ("de.txt", running("lines")),
    "dump": ("dewiki.xml", running("dump")),
    "dump.bz2": ("dewiki.xml.bz2", running("dump")),
    "index": ("index.txt", lambda path: read_index(path, 10**12)),
    "block": ("block.xml", block),
    "tar": ("ud.tar", members("*.conllu", "*/a*/*b*")),
    "zip": ("ud.zip", members("*.conllu", "*/a*/*b*")),
}


# Inputs


def repeated(text: str, before: str = "", after: str = "") -> Make:
    """The same again and again."""
    return lambda number: (before + text * number + after).encode()


def numbered(text: str, before: str = "", after: str = "", apart: str = "") -> Make:
    """The same with another number each time, in the place of %d, and other letters in the place of %s."""

    def make(number: int) -> bytes:
        letters = str.maketrans("0123456789", "abcdefghij")
        return (before + apart.join(text.replace("%d", str(i)).replace("%s", str(i).translate(letters)) for i in range(number))
                + after).encode()  # fmt: skip

    return make


def nested(begin: str, end: str, before: str = "", after: str = "") -> Make:
    return lambda number: (before + begin * number + end * number + after).encode()


WORD = "%d\tWort\t_\tNOUN\t_\t_\t%d\tdep\t_\t_\n"
ONE = WORD % (1, 0) + "\n"
CHAIN = "".join(WORD % (word, word - 1) for word in range(1, 2001)) + "\n"
BACK = "".join(WORD % (word, (word + 1) % 2001) for word in range(1, 2001)) + "\n"
MULTIWORDS = "".join(f"{word}-{word + 1}\tb" + "\t_" * 8 + "\n" + WORD % (word, word - 1) + WORD % (word + 1, word)
                     for word in range(1, 2001, 2)) + "\n"  # fmt: skip
TREES = {
    "ordinary": numbered("# sent_id = a-%d\n# text = Wort\n" + ONE),
    "blank lines": repeated("\n", ONE),
    "a long comment": repeated("= a ", "# text = ", "\n" + ONE),
    "columns": repeated("\t", "1", "\n" + ONE),
    "a long id": repeated(".1", "# sent_id = a", "x\n" + ONE),
    "empty nodes": numbered("0.%d\tx" + "\t_" * 8 + "\n", "", ONE),
    "chains": repeated(CHAIN),
    "chains from the end": repeated(BACK),
    "multiwords": repeated(MULTIWORDS),
    "words without end": numbered(WORD % (1, 0)),
}
HEADER = "language\tgold_label\tsentence1\tsentence2\tpairID"
ENTRIES = "".join(f"a{i} b{i}\n" for i in range(20))
PAGE = "<page><title>%s</title><ns>0</ns><revision><text>%s</text></revision></page>"
CLOSE = "</mediawiki>"
DOCUMENT = REUTERS.decode("iso-8859-1") % ("CCAT", 1)
WIKITEXT = {
    "blank lines": repeated("\n", "a\n"),
    "references": repeated("<ref name=a/>"),
    "templates": numbered("{{a|b=%d}} x "),
    "breaks": repeated("<br>"),
    "a line after breaks": repeated("abc ", "<br>" * 900),
    "nested templates": nested("{{a|", "}}"),
    "nested links": nested("[[a|", "]]"),
    "nested braces": nested("{", "}"),
    "entities": repeated("&amp;"),
    "a long line": repeated("abc "),
    "headings": repeated("== a ==\n"),
    "quotes": repeated("''a'''"),
    "external links": repeated("[http://a b] "),
    "tables": repeated("{|\n|a\n|}\n"),
    "parameters": repeated("b=c|", "{{a|", "}}"),
    "attributes": repeated("a=b ", "<ref ", ">x</ref>"),
    "variants": repeated("-{a|b}-"),
    "variants without end": repeated("-{zh-cn:a"),
    "digits": repeated("1", "{{formatnum:", "}}"),
    "emptied brackets in each other": repeated("(", "", "{{a}})))"),
    "paragraphs": numbered("Ein Absatz mit [[einem]] Link, der Nummer %d.\n\n"),
}


def of_a_page(make: Make) -> Make:
    """A dump with a page of some wikitext."""
    end = CLOSE.encode()
    return lambda number: b"<mediawiki>" + (PAGE % ("a", html.escape(make(number).decode(), quote=False))).encode() + end


def named(name: str) -> bytes:
    """An archive with a member of some name, however long."""
    return tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def pax(number: int, attributes: int) -> bytes:
    """A tar archive: `number` headers with that many attributes, each followed by a member."""
    parts = []
    for i in range(number):
        records = b"".join(b"%d %06d=x\n" % (12, (i * attributes + j) % 10**6) for j in range(attributes))
        info = tarfile.TarInfo("pax")
        info.type, info.size = tarfile.XHDTYPE, len(records)
        parts += [info.tobuf(tarfile.USTAR_FORMAT), records + bytes(-len(records) % 512), tarfile.TarInfo(f"a{i}").tobuf()]
    return b"".join(parts) + bytes(1024)


def zipped(number: int, extra: bytes = b"") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(number):
            info = zipfile.ZipInfo(f"ud/{i}")
            info.extra = extra
            archive.writestr(info, b"")
    return stream.getvalue()


def blocks(number: int) -> bytes:
    return bz2.compress(b"<mediawiki>") + bz2.compress((PAGE % ("a", "b")).encode()) * number + bz2.compress(CLOSE.encode())


def pair(number: int) -> bytes:
    return b"".join(
        json.dumps({"pairID": str(i), "sentence1": "Ja.", "sentence2": "Ö.", "gold_label": "neutral"}).encode() + b"\n"
        for i in range(number)
    )


OBJECT = '{"premise": "a", "hypothesis": "b", "label": 0, '
INPUTS: dict[str, dict[str, Make]] = {
    "trees": TREES,
    "entities": {
        "ordinary": numbered("de:Wort%d\tO\nde:Bad\tB-LOC\n\n"),
        "words": repeated("de:Bad\tI-LOC\n" * 1000 + "\n"),
        "blank lines": repeated("\n", "de:Bad\tO\n"),
        "columns": repeated("\t", "de:Bad", "O\n"),
        "a long word": repeated("de:", "", "\tO\n"),
        "words of nothing": repeated("de:\tB-LOC\n" * 1000 + "\n"),
    },
    "xnli": {
        "ordinary": numbered("de\tneutral\ta\tb\t%d\n", HEADER + "\n"),
        "columns": numbered("\tx%d", HEADER),
        "a long text": repeated("ö ", HEADER + "\nde\tneutral\t", "\tb\t1\n"),
    },
    "multinli": {
        "ordinary": pair,
        "keys": numbered('"a%d": 1, ', OBJECT, '"b": 1}\n'),
        "lists": nested("[", "]", OBJECT + '"x": ', "}\n"),
        "digits": repeated("1", OBJECT + '"x": ', "}\n"),
        "blanks": repeated(" ", OBJECT, '"x": 1}\n'),
    },
    "muse": {
        "ordinary": numbered("a%d b%d\n"),
        "repeated": repeated(ENTRIES),
        "blanks": repeated(" ", ENTRIES + "a", "b\n"),
        "blank lines": repeated("\n", ENTRIES),
    },
    "wili": {
        "ordinary": repeated("deu\neng\n"),
        "labels": numbered("aa-%s\n", "deu\n"),
        "blank lines": repeated("\n", "deu\n"),
    },
    "sib-200": {
        "ordinary": numbered('%d\ttravel\tEin Text, "%d"\n', "index_id\tcategory\ttext\n"),
        "quotation marks": repeated('"', "index_id\tcategory\ttext\n1\ttravel\t", "\n"),
        "columns": repeated("\tx", "index_id\tcategory\ttext"),
        "blank lines": repeated("\n", "index_id\tcategory\ttext\n"),
    },
    "tanti2021": {
        "ordinary": numbered('%d,"a, b",de\n', "row,tokens,language\n"),
        "languages": numbered("%d,a,aa-%s\n", "row,tokens,language\n"),
    },
    "mldoc text": {
        "ordinary": lambda number: DOCUMENT.replace("<p>Sieben.</p>", "<p>Sieben.</p>" * number).encode("iso-8859-1"),
        "nested codes": nested('<codes class="bip:topics:1.0">', "</codes>", "<a>", "</a>"),
        "nested elements": nested("<a>", "</a>"),
        "a tag": repeated("x", "<", "/>"),
    },
    "mldoc archive": {"ordinary": lambda number: tarred({f"A/{i}.xml": DOCUMENT.encode("iso-8859-1") for i in range(number)})},
    "wals values": {
        "ordinary": numbered('x%d,ger,81A,1,81A-1,"a\nb"\n', WALS["values"].partition("\n")[0] + "\n"),
        "columns": lambda number: numbered(",c%d", WALS["values"].partition("\n")[0], "\n")(number) + b"," * (number + 5) + b"\n",
        "a cell": repeated("a\n", WALS["values"] + '"'),
        "blank lines": repeated("\n", WALS["values"].partition("\n")[0] + "\n"),
    },
    "crawl": {
        "ordinary": numbered("Ein Absatz, der zwanzig Zeichen hat, der Nummer %d.\nNoch einer, der Nummer %d.\n\n"),
        "blank lines": repeated("\n", "a\n"),
        "a long line": repeated("a "),
        "tiny documents": repeated("a\n\n"),
    },
    "dump": {
        "ordinary": numbered(PAGE % ("%d", "Ein Absatz, der zwanzig Zeichen hat, der Nummer %d.\n" * 20), "<mediawiki>", CLOSE),
        "tiny pages": numbered(PAGE % ("%d", ""), "<mediawiki>", CLOSE),
        "a head without end": repeated("<a/>", "<mediawiki>"),
        "a page without end": repeated("a ", "<mediawiki><page>"),
        "attributes": numbered(' a%d="b"', "<mediawiki><page><title", "/></page>" + CLOSE),
        "nested elements": nested("<a>", "</a>", "<mediawiki><page>", "</page>" + CLOSE),
        "revisions": repeated("<revision><text>a</text></revision>", "<mediawiki>" + PAGE[:33], "</page>" + CLOSE),
        **{name: of_a_page(make) for name, make in WIKITEXT.items()},
    },
    "dump.bz2": {
        "blocks": blocks,
        "a block without end": lambda number: blocks(2)[:-30] + Random(0).randbytes(100) * number,
        "one stream": lambda number: bz2.compress(numbered(PAGE % ("%d", "a"), "<mediawiki>", CLOSE)(number)),
    },
    "index": {
        "ordinary": numbered("1%d:1:x\n"),
        "digits": repeated("6"),
    },
    "block": {
        "ordinary": numbered("<page><title>a</title><id>%d</id></page>"),
        "pages without an id": repeated("<page>"),
        "digits": repeated("1", "<page><id>"),
    },
    "tar": {
        "members": lambda number: tarred({f"ud/{i}": b"" for i in range(number)}),
        "a long name": lambda number: named("a" * number),
        "attributes": lambda number: pax(number, 10),
    },
    "zip": {
        "members": zipped,
        "attributes": lambda number: zipped(number, b"\xff\xff\0\0" * 100),
    },
}  # fmt: skip


def test_a_time_that_grows_with_the_square_is_noticed(tmp_path: Path, often) -> None:
    if not often(1, 0):
        pytest.skip("looks at times: make test-faults")

    def read(path: Path) -> None:
        content = path.read_bytes()
        for line in range(len(content)):
            content.count(b"x", 0, line)

    assert growth(read, tmp_path / "x", repeated("a"))[0] > RATIO


def test_twice_the_input_takes_twice_the_time(tmp_path: Path, often, tally) -> None:
    counts = tally("an input that might take long: blank lines, nesting, what never ends, long names and lines")
    assert READERS.keys() == INPUTS.keys()
    if not often(1, 0):
        pytest.skip("looks at times: make test-faults")
    for reader, name, make in ((reader, name, make) for reader, makes in INPUTS.items() for name, make in makes.items()):
        file, read = READERS[reader]
        with case(reader, name, seconds=100):
            ratio, took, size = growth(read, tmp_path / reader / file, make)
        print(f"{ratio:5.2f} {took:6.2f} s {size:10} bytes  {reader}: {name}")
        if ratio > RATIO:
            counts.silent.append(f"{reader}, {name}: {ratio:.2f} times the {took:.2f} s of {size} bytes")
        else:
            counts.survived += 1
    assert not counts.silent, "\n".join(counts.silent)
