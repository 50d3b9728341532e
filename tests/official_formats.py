"""Small valid files of every official format, what reads them, and what must come of a damaged one.

What comes of it must be rows of the schema that lose nothing of what lies before the damage, or a DataError that names the file
and a place in it; never a traceback, a hang or silence.
"""

from __future__ import annotations

import bz2
import gzip
import html
import io
import json
import lzma
import re
import shutil
import signal
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crosslens.corpora import dictionaries, documents, entities, pairs, schema, treebanks
from crosslens.corpora import wals as typology
from crosslens.corpora.archives import extracted
from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.splits import write_split
from crosslens.jobs.errors import DataError
from synthetic.archives import tarred, zipped
from synthetic.articles import articles
from synthetic.dumps import dump
from synthetic.generate import treebank
from synthetic.grammar import read_grammar
from synthetic.nli import prompts
from synthetic.treebanks import conllu
from synthetic.xnli import multinli, xnli

SECONDS = 60  # that a case may take; the slowest takes one on an idle core
Row = dict[str, object]
PLACE = r":\d+: |: after page '|: before the first page|: member '|: expected a document of Reuters"  # the last begins it
ARCHIVE = "|: expected a complete archive"  # nothing in a damaged one can be trusted


@dataclass(frozen=True)
class Format:
    """Valid files, and what reads them.

    files: name -> content; cases damage the first one. read: from the folder of the files to a Parquet file. before: which
    of the valid rows lie in some first bytes; None for compressed files, whose rows come all or not at all, since every damage
    shows. cells: what is between two cells of a line. partner: another file that an error may name, where the two disagree.
    """

    files: Mapping[str, bytes]
    read: Callable[[Path, Path], object]
    before: Callable[[bytes, list[Row]], list[Row]] | None
    cells: bytes = b"\t"
    partner: str = ""

    @property
    def name(self) -> str:
        """The name of the file that is damaged."""
        return next(iter(self.files))

    @property
    def content(self) -> bytes:
        """The content of the same file, undamaged."""
        return self.files[self.name]


# Formats

COMPRESSED = {".xz": lzma.compress, ".bz2": bz2.compress, ".gz": gzip.compress}


def files(folder: Path, *names: str) -> list[Path]:
    """Files of these names, compressed or not."""
    return [next(folder.glob(f"{name}*")) for name in names]


def split_of(reader, paths: list[Path], output: Path, language: str = "de", **settings) -> None:
    write_split(reader, paths, output, language=language, split="test", limit=None, seed=0, **settings)


def official(reader, name: str, content: bytes, before, cells: bytes = b"\t", **settings) -> Format:
    """One file that a reader reads as it is."""
    return Format(
        {name: content}, lambda folder, output: split_of(reader, files(folder, name), output, **settings), before, cells
    )


def archived(reader, name: str, content: bytes, pattern: str) -> Format:
    """An archive, of whose members some are read."""

    def read(folder: Path, output: Path) -> None:
        with extracted(folder / name, {"test": [pattern]}) as members:
            split_of(reader, members["test"], output)

    return Format({name: content}, read, None)


def sampled(form: str, name: str, content: bytes, before, cells: bytes = b"\t", minimum: int = 100) -> Format:
    """Running text. More paragraphs are asked for than there are, so that all are taken."""

    def read(folder: Path, output: Path) -> None:
        write_paragraphs(*files(folder, name), {"test": output}, language="de", form=form, paragraphs=10**4,  # type: ignore[arg-type]
                         minimum_characters=minimum, shares={"test": 1}, per_page=3, candidates=1, seed=0)  # fmt: skip

    return Format({name: content}, read, before, cells)


def complete(end: bytes, head: int = 0) -> Callable[[bytes, list[Row]], list[Row]]:
    """For rows that end so, after a head with as many ends."""
    return lambda content, rows: rows[: max(0, content.count(end) - head)]


def whole_pages(content: bytes, rows: list[Row]) -> list[Row]:
    """For a dump."""
    titles = re.findall("<title>(.*?)</title>", content[: content.rfind(b"</page>") + 1].decode(errors="replace"))
    return [row for row in rows if row["page"] in map(html.unescape, titles)]


def whole_documents(content: bytes, rows: list[Row]) -> list[Row]:
    """For CC-100."""
    return [row for row in rows if int(str(row["page"])) <= content.count(b"\n\n")]


def multistream(export: bytes) -> bytes:
    """A dump as bz2 streams: the head, every two pages, the end."""
    cuts = [match.end() - len(b"  <page>") for match in re.finditer(rb"  <page>", export)][::2]
    cuts = [0, *cuts, export.index(b"</mediawiki>"), len(export)]
    return b"".join(bz2.compress(export[begin:end]) for begin, end in zip(cuts, cuts[1:], strict=False))


def unzipped(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name)


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
NAMED_BY = {"languages": "values.csv", "parameters": "codes.csv", "codes": "values.csv"}  # whose lines name lines of these


def wals(folder: Path, output: Path) -> None:
    rows, counts = typology.read(files(folder, *(f"{name}.csv" for name in WALS)), ["de", "en", "fr"])
    schema.write(rows, output, schema.TYPOLOGY, counts)


def wili(folder: Path, output: Path) -> None:
    split_of(documents, files(folder, "x_test.txt", "y_test.txt"), output)


def mldoc(texts: str) -> Callable[[Path, Path], object]:
    return lambda folder, output: split_of(documents, files(folder, "german.test"), output, texts=folder / texts)


def mldoc_texts(folder: Path, output: Path) -> None:
    """Packs the documents in the folder `rcv2` into an archive and reads it; one of them may be damaged."""
    documents = {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.glob("rcv2/*/*.xml"))}
    (folder / "rcv2.tar").write_bytes(tarred(documents))
    mldoc("rcv2.tar")(folder, output)


@cache
def formats() -> dict[str, Format]:
    german, english = read_grammar("de"), read_grammar("en")
    trees = conllu(treebank(german, "test", 8, 0), "test").encode()
    export = bz2.decompress(dump(german, articles(german, 6, 0), 0)[0])
    dev, test = prompts(english, "dev", 4, 0), prompts(english, "test", 4, 0)
    table = unzipped(xnli([german, english], dev, test), "XNLI-1.0/xnli.test.tsv")
    lines = unzipped(multinli(english, test, dev), "multinli_1.0/multinli_1.0_train.jsonl")
    bare = b"".join(json.dumps({"premise": f"Satz {i}.", "hypothesis": "Ja.", "label": i % 3}).encode() + b"\n" for i in range(9))
    translated = b"premise\thypo\tlabel\n" + b"".join(b'Satz %d.\t"Ja\tneutral\n' % i for i in range(8))
    wikiann = b"".join(b"de:Wort\tO\nde:Bad\tB-LOC\nde:Ems%d\tI-LOC\nde:.\tO\n\n" % i for i in range(8))
    shared_task = b"-DOCSTART- -X- -X- -X- O\n\n" + b"".join(
        "Jürgen <unknown> NE I-NC I-PER\nM\xfcller%d Müller NE I-NC I-PER\n. . $. O O\n\n".encode("iso-8859-1") % i
        for i in range(8)
    )
    msra = "".join(f"北\tB-LOC\n京\tI-LOC\n{i}\tO\n\n" for i in range(8)).encode()
    texts = {"x_test.txt": b"".join(b"Ein Text Nummer %d\n" % i for i in range(9)) + b"One text\nTwo texts\n"}
    labels = {"y_test.txt": b"deu\n" * 9 + b"eng\n" * 2}
    sib = b"index_id\tcategory\ttext\n" + b"".join(b'%d\ttravel\tEin Text, "%d"\n' % (i, i) for i in range(8))
    ids = {"german.test": b"".join(b"FDG%d-%d\n" % (i, 7 + i) for i in range(9))}
    reuters = {f"rcv2/FDG{i}/{7 + i}.xml": REUTERS % (b"CCAT", i) for i in range(9)}
    reuters_archive = {"rcv2.tar.xz": lzma.compress(tarred(reuters))}
    tokens = b"row,tokens,language\r\n" + b"".join(b'%d,"Ein Satz %d , ge teil t",de\r\n' % (i, i) for i in range(8))
    muse = b"".join(b"word%d Wort%d\n" % (i, i) for i in range(25)) + b"word25\tWort25\nword\tein Wort\n"
    lines_100 = b"".join(b"Die erste Zeile der Seite %d.\nDie zweite Zeile von Seite %d.\n\n" % (i, i) for i in range(8))
    tar = tarred({f"ud/de_{name}-ud-test.conllu": b"# newdoc = %s\n" % name.encode() + trees for name in "abc"})
    line, block = complete(b"\n"), complete(b"\n\n")
    nested = zipped({"panx/de.tar.gz": gzip.compress(tarred({"train": wikiann}))})
    forms = {
        "conllu": official(treebanks, "de_x-ud-test.conllu", trees, block),
        "xnli": official(pairs, "xnli.test.tsv", table, complete(b"\n", 1)),
        "multinli": official(pairs, "multinli.jsonl", lines, line, b", ", language="en"),
        "translate-train": official(pairs, "de.jsonl", bare, line, b", "),
        "xnli-mt": official(pairs, "multinli.train.de.tsv", translated, complete(b"\n", 1)),
        "wikiann": official(entities, "train", wikiann, block),
        "conll-2003": official(entities, "deu.testb", shared_task, complete(b"\n\n", 1), b" ", encoding="iso-8859-1"),
        "msra": official(entities, "msra_test_bio.txt", msra, block, language="zh"),
        "muse": official(dictionaries, "en-de.0-5000.txt", muse, line, b" "),
        "dump": sampled("dump", "dewiki.xml", export, whole_pages, b">"),
        "dump.bz2": sampled("dump", "dewiki.xml.bz2", multistream(export), None),
        "cc-100": sampled("lines", "de.txt", lines_100, whole_documents, b" ", minimum=20),
        "cc-100.xz": sampled("lines", "de.txt.xz", lzma.compress(lines_100), None, minimum=20),
        "wili texts": Format(texts | labels, wili, line, b" ", "y_test.txt"),
        "wili labels": Format(labels | texts, wili, line, b"u", "x_test.txt"),
        "mldoc ids": Format(ids | reuters_archive, mldoc("rcv2.tar.xz"), line, b"-"),
        "mldoc texts": Format(
            reuters | ids, mldoc_texts, lambda content, rows: rows[1:], b">", f"rcv2.tar/{next(iter(reuters))}"
        ),
        "mldoc archive": Format(reuters_archive | ids, mldoc("rcv2.tar.xz"), None),
        "sib-200": official(documents, "dev.tsv", sib, complete(b"\n", 1), labels=["travel", "sports"]),
        "tanti2021": official(documents, "dataset_dev.csv", tokens, complete(b"\r\n", 1), b","),
        "nested": archived(entities, "panx.zip", nested, "*/de.tar.gz/train"),
        "zip": archived(pairs, "xnli.zip", zipped({"x/xnli.test.tsv": table, "x/read me": b"text"}), "x/*.test.tsv"),
    }
    for name in WALS:
        tables = {f"{table}.csv": WALS[table].encode() for table in (name, *WALS)}
        rows = complete(b'b"\n' if name == "values" else b"the other tables say what the values mean")
        forms[f"wals {name}"] = Format(tables, wals, rows, b",", NAMED_BY.get(name, ""))
    for suffix, compress in COMPRESSED.items():
        forms[f"conllu{suffix}"] = official(treebanks, f"de_x-ud-test.conllu{suffix}", compress(trees), None)
        forms[f"tar{suffix}"] = archived(treebanks, f"ud.tar{suffix}", compress(tar), "ud/*.conllu")
    return forms


# Cases


class Hang(BaseException):
    """Time is up; no OSError, which readers catch."""


@contextmanager
def case(*names: object, seconds: int = SECONDS) -> Iterator[None]:
    """Ends what takes too long, and names the case in a failure, so that it can be repeated."""

    def end(*_: object) -> None:
        raise Hang(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"case: {', '.join(map(str, names))}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def outcome(folder: Path, form: Format, content: bytes | None = None) -> list[Row] | str:
    """Rows of a format's files, of which the first may have another content, or the message of the error."""
    output = folder / "out" / "de.test.parquet"
    shutil.rmtree(output.parent, ignore_errors=True)
    for file, valid in form.files.items():
        path = folder / "in" / file
        if file == form.name or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(valid if content is None or file != form.name else content)
    try:
        form.read(folder / "in", output)
    except DataError as error:
        message = str(error)
        assert not output.parent.exists(), "something is written in spite of the error"
        names = "|".join(re.escape(name) for name in (form.name, form.partner) if name)
        place = PLACE if form.before else PLACE + ARCHIVE
        pattern = rf"{re.escape(str(folder))}/in/({names})(/[^:]+)?({place})"  # in an archive, its member
        assert re.match(pattern, message), f"no file or no place: {message}"
        assert message.isprintable(), f"more than a line of text: {message!r}"
        assert len(message) < 1000, f"too long: {message[:2000]}"
        return message
    return schema.read(output).to_pylist()


def valid(folder: Path, form: Format) -> list[Row]:
    """Rows of a format's valid files."""
    rows = outcome(folder, form)
    assert isinstance(rows, list) and len(rows) > 5, rows
    return rows


def refused(folder: Path, form: Format, content: bytes) -> str:
    """The message of the error that another content of the first file ends in."""
    message = outcome(folder, form, content)
    assert isinstance(message, str), "accepted"
    return message
