"""Files of every official format: read back, damaged at random, and wrong in each way that a reader checks.

A file is rows, or one line that says where and what is wrong; never rows in silence.
"""

import gzip
import json
import lzma
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crosslens.corpora import treebanks
from crosslens.corpora.inventory import inventory
from official_formats import (
    COMPRESSED,
    REUTERS,
    Format,
    archived,
    case,
    files,
    formats,
    official,
    outcome,
    refused,
    sampled,
    split_of,
    valid,
)  # fmt: skip
from synthetic.archives import tarred

# Damage at random: to the bytes, the lines or the cells of a random line, at a random place, and to all of the content.

Change = Callable[[Random, Any, int], Any]  # of bytes, or of a list of lines or of cells, at a place


def swap(random: Random, parts: list[bytes], place: int) -> list[bytes]:
    other = random.randrange(len(parts))
    swapped = parts.copy()
    swapped[place], swapped[other] = parts[other], parts[place]
    return swapped


def insert(new: Callable[[Random, Any], Any]) -> Change:
    return lambda random, parts, place: parts[:place] + new(random, parts) + parts[place:]


def recode(encoding: str) -> Callable[[bytes], bytes]:
    return lambda content: content.decode(errors="replace").encode(encoding, errors="replace")


DIGITS = b"9" * 5000  # more than int() takes
ODD = (
    b"", b" ", b"\r", b"\0", b"\xff", b"\xc2\xa0", b"\x1b[2J", "\u2028".encode(), b"_", b"-", b'"', b"{", b"null", b"NaN",
    b"I-XXX", b"-1", b"0-0", b"1-2", b"1-32767", b"32768", b"-32769", b"1e999", "١".encode(), DIGITS, DIGITS + b"-" + DIGITS,
    b"1." + DIGITS, b'"a": "\\ud800"', b'"a": ["a", {}]', b"[" * 10**5, b"&lol;", b"<a>", b"../../x", b"%s%n", b"=1+1",
)  # fmt: skip
BYTES: dict[str, Change] = {
    "flip": lambda random, content, place: (
        content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
    ),
    "delete": lambda random, content, place: content[:place] + content[place + random.randint(1, 40) :],
    "insert": insert(lambda random, content: random.randbytes(random.randint(1, 20))),
    "duplicate": insert(lambda random, content: content[: random.randrange(len(content))][-60:]),
    "cut": lambda random, content, place: content[:place],
}
TEXT: dict[str, Change] = BYTES | {
    "NUL": insert(lambda *_: b"\0"),
    "surrogate": insert(lambda *_: b"\xed\xa0\x80"),
    "huge field": insert(lambda *_: b"x" * 10**6),
    "latin-1": lambda random, content, place: recode("latin-1")(content),
}
LINES: dict[str, Change] = {
    "drop line": lambda random, lines, place: lines[:place] + lines[place + 1 :],
    "swap lines": swap,
    "repeat line": lambda random, lines, place: lines[: place + 1] + lines[place:],
}
CELLS: dict[str, Change] = {"drop cell": LINES["drop line"], "swap cells": swap} | {
    f"odd cell {number}": lambda random, cells, place, odd=odd: [*cells[:place], odd, *cells[place + 1 :]]
    for number, odd in enumerate(ODD)
}
SAME: dict[str, Callable[[bytes], bytes]] = {  # read as the same, or refused
    "utf-16": recode("utf-16"),
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
}
WHOLE = SAME | {
    "empty": lambda content: b"",
    "blank": lambda content: b" \n\t\n \n" * 100,
    "line ends": lambda content: b"\n" * 9,
    "utf-32": recode("utf-32-be"),
    "xz": lzma.compress,
    "gzip": gzip.compress,
}


def damaged(name: str, damage: str, seed: int) -> bytes:
    """The content of the first file of a format."""
    form, random = formats()[name], Random(f"{name}/{damage}/{seed}")

    def somewhere(change: Change, parts: Any) -> Any:
        return change(random, parts, random.randrange(len(parts)))

    if damage in TEXT:
        return somewhere(TEXT[damage], form.content)
    lines = form.content.split(b"\n")
    if damage in LINES:
        return b"\n".join(somewhere(LINES[damage], lines))
    number = random.choice([number for number, line in enumerate(lines) if form.cells in line])
    lines[number] = form.cells.join(somewhere(CELLS[damage], lines[number].split(form.cells)))
    return b"\n".join(lines)


@pytest.mark.parametrize("name", formats())
def test_damage_costs_nothing_that_lies_before_it(tmp_path: Path, name: str) -> None:
    form = formats()[name]
    good = valid(tmp_path, form)
    kinds, seeds = ([*TEXT, *LINES, *CELLS], 2) if form.before else ([*BYTES], 6)
    for damage, seed in product(kinds, range(seeds)):
        with case(name, damage, f"seed {seed}"):
            content = damaged(name, damage, seed)
            rows = outcome(tmp_path, form, content)
            if isinstance(rows, str):
                continue
            if form.before is None:
                assert rows == good and damage != "cut"
                continue
            assert rows, "accepted, and nothing read"
            before = form.before(os.path.commonprefix([content, form.content]), good)
            kept = {row["text"] for row in rows if "page" in row}  # of two paragraphs of the same text one is kept, whichever
            lost = [row for row in before if row not in rows and row.get("text") not in kept]
            assert not lost, f"accepted without {lost[:2]}, which lie before the damage"


PLAIN = [name for name, form in formats().items() if form.before and name not in ("mldoc texts", "dump")]


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("name", PLAIN)
def test_a_compressed_file_gives_the_same_rows(tmp_path: Path, name: str, suffix: str) -> None:
    form = formats()[name]
    partners = {file: content for file, content in form.files.items() if file != form.name}
    packed = replace(form, files={f"{form.name}{suffix}": COMPRESSED[suffix](form.content)} | partners)
    assert valid(tmp_path / "packed", packed) == valid(tmp_path / "plain", form)


@pytest.mark.parametrize("name", [name for name in formats() if name != "mldoc texts"])
def test_what_is_no_such_text_is_refused(tmp_path: Path, name: str) -> None:
    form = formats()[name]
    good = valid(tmp_path, form)
    for damage, change in WHOLE.items():
        with case(name, damage):
            rows = outcome(tmp_path, form, change(form.content))
            assert isinstance(rows, str) or damage in SAME and rows == good


def test_a_plain_tar_is_read_whole_or_refused(tmp_path: Path) -> None:
    """It has no checksum over all of it: only that of each header, and zeros at its end."""
    content = gzip.decompress(formats()["tar.gz"].content)
    form = archived(treebanks, "ud.tar", content, "ud/*.conllu")
    for size in range(0, len(content.rstrip(b"\0")), 512):
        with case("tar", "cut", f"{size} bytes"):
            refused(tmp_path, form, content[:size])
    second = content.index(b"ud/de_b")
    for byte in range(second, second + 160, 8):
        with case("tar", "header", f"byte {byte}"):
            refused(tmp_path, form, content[:byte] + bytes([content[byte] ^ 1]) + content[byte + 1 :])


# What a reader checks

TREES = """# sent_id = a1
# text = Sí, al mar.
1\tSí\tsí\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t,\t,\tPUNCT\t_\t_\t1\tpunct\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
4.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

""".encode()
TREES += b"".join(b"# sent_id = b%d\n# text = 10 000\n1\t10 000\t_\tNUM\t_\t_\t0\troot\t_\t_\n\n" % number for number in range(9))
FIRST = TREES.split(b"\n\n")[0] + b"\n\n"
RUNNING = b"".join(
    b"# sent_id = d%d-1\n# text = " % number + text + b"\n1\t" + text + b"\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    for number, text in ((number, b"%d" % number * 120) for number in range(1, 9))
)
Edit = Callable[[bytes], bytes]


@cache
def checked() -> dict[str, Format]:
    """All formats, and four whose readers check what the others do not have."""
    two = {"de_x-ud-train-a.conllu": TREES, "de_x-ud-train-b.conllu": FIRST.replace(b"a1", b"c1")}
    return formats() | {
        "trees": official(treebanks, "de_x-ud-test.conllu", TREES, None),
        "two files": Format(two, lambda folder, output: split_of(treebanks, files(folder, *two), output), None,
                            partner="de_x-ud-train-b.conllu"),
        "running": sampled("treebank", "de_x-ud-test.conllu", RUNNING, None),
        "crawl": sampled("lines", "de.txt", b"".join(b"%d" % n * 30 + b"\n" + b"%d" % n * 31 + b"\n\n" for n in range(9)), None,
                         minimum=20),
    }  # fmt: skip


def new(old: str, other: str, times: int = 1) -> Edit:
    """Other text in the place of some of a file's."""

    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), other.encode(), times)

    return change


def repeated(line: int) -> Edit:
    """A line a second time, at the end."""
    return lambda content: content + content.split(b"\n")[line] + b"\n"


def without(*lines: int) -> Edit:
    """Some lines less, or all but the first where none is given."""

    def change(content: bytes) -> bytes:
        given = content.split(b"\n")
        kept = [line for number, line in enumerate(given) if number not in lines] if lines else [given[0], b""]
        return b"\n".join(kept)

    return change


def member_twice(content: bytes) -> bytes:
    """A zip whose first member is there twice."""
    stream = BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = archive.infolist()[0]
        archive.writestr(first.filename, archive.read(first))
    return stream.getvalue()


def copies(content: bytes) -> bytes:
    """An archive with a file under two names."""
    return gzip.compress(tarred({f"ud/{name}.conllu": TREES for name in "ab"}))


def bombed(content: bytes) -> bytes:
    """A dump whose first title is a bomb of entities."""
    return BOMB + content.replace(b"<title>", b"<title>&i;", 1)


def documents(*last: tuple[str, bytes]) -> Edit:
    """Reuters' archive with more documents."""
    given = {f"rcv2/FDG{i}/{7 + i}.xml": REUTERS % (b"CCAT", i) for i in range(9)}
    return lambda content: lzma.compress(tarred(given | dict(last)))


BOMB = b'<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (i + 1, b"&%c;" % i * 10) for i in range(ord("a"), ord("i"))
) + b"]>"  # fmt: skip
PAGE = b"<!DOCTYPE html>\n<html><body>404 not found</body></html>\n"
REFUSED: dict[str, tuple[str, Edit, str]] = {  # the format, what becomes of its first file, what the message says
    # CoNLL-U
    "zero byte in a form": ("trees", new("\tmar\t", "\tm\0r\t"), ":9: expected text, found a zero byte"),
    "blank form": ("trees", new("\tmar\t", "\t \t"), ":9: expected a form, found a form of white space"),
    "multiword token without a form": ("trees", new("3-4\tal", "3-4\t"), ":5: expected a form"),
    "empty relation": ("trees", new("\tobl\t", "\t\t"), ":9: expected a relation to the head, found relation ''"),
    "relation that is not given": ("trees", new("\tobl\t", "\t_\t"), ":9: expected a relation to the head, found relation '_'"),
    "two sent_ids in a sentence": ("trees", new("# text", "# sent_id = a2\n# text"), ":2: expected one in each"),
    "two texts in a sentence": ("trees", new("# text", "# text = Sí\n# text"), ":3: expected one in each"),
    "no blank line between sentences": ("trees", new("\n\n", "\n"), "a second sent_id in a sentence"),
    "a sentence twice": ("trees", lambda content: content + FIRST, "sent_id a1 a second time"),
    "words of another sentence": ("trees", without(3), ":4: expected a range that begins at 2"),
    "word 0": ("trees", new("\n1\t", "\n0\t"), "expected id 1, found id 0"),
    "a web page for a treebank": ("trees", lambda content: PAGE, ":1: expected 10 tab-separated columns"),
    "a file under two names": ("two files", lambda content: FIRST.replace(b"a1", b"c1"), ":1: expected files that differ"),
    "a sentence in two files": ("two files", lambda content: TREES + FIRST.replace(b"a1", b"c1"), "c1 a second time"),
    "another text in running text": ("running", new("# text = 1", "# text = x1"), "expected the text of the sentence's words"),
    "relation with a blank": ("trees", new("\tobl\t", "\tobl \t"), ":9: expected a relation to the head, found relation 'obl '"),
    "head out of range": ("trees", new("_\t1\tobl", "_\t7\tobl"), ":1: expected heads from 0 to 6, found head of word 5"),
    "no root": ("trees", new("_\t0\troot", "_\t5\troot"), ":1: expected one word with head 0, found 0 roots"),
    "two roots": ("trees", new("_\t1\tobl", "_\t0\tobl"), ":1: expected one word with head 0, found 2 roots"),
    "heads in a circle": ("trees", new("_\t5\tcase", "_\t3\tcase"), ":1: expected a tree, found heads that form a cycle"),
    "a range beyond the sentence": ("trees", new("3-4\tal", "3-9\tal"), ":1: expected a range within the 6 words"),
    "a range that overlaps": ("trees", new("3-4\tal", "2-4\tal"), ":5: expected a range that begins at 3"),
    "an empty node elsewhere": ("trees", new("\n4.1\t", "\n2.1\t"), ":8: expected an empty node 4.1 or later"),
    "a column less": ("trees", new("mar\tmar", "mar"), ":9: expected 10 tab-separated columns, found 9 columns"),
    "comments alone": ("trees", lambda content: content + b"# a\n\n", "expected words after the comments"),
    "cut after a line": ("trees", lambda content: content[:-1], "the end of the file: it is truncated"),
    "no UTF-8": ("trees", lambda content: content.replace("Sí".encode(), b"S\xed"), ":2: expected UTF-8"),
    # XNLI, MultiNLI
    "a row of other columns": ("xnli", new("\nde\t", "\nde\t\t"), ":2: expected 19 tab-separated columns, found 20"),
    "no such language": ("xnli", new("\nde\t", "\nsw\t", 99), ":1: expected rows in 'de', found only en, sw"),
    "a key less": ("multinli", new("pairID", "pair"), ":1: expected the keys pairID, sentence1,"),
    "a blank translation": ("xnli-mt", new("Satz 3.", " "), ":5: expected text in premise, found an empty one"),
    "a pair twice": ("xnli", repeated(1), "pairID "),
    "a pair's id twice": ("multinli", lambda content: content + other_text(content), "a second time"),
    "a line of JSON twice": ("multinli", repeated(2), "a second time"),
    "no header": ("xnli", without(0), ":1: expected the header"),
    "a header among the rows": ("xnli-mt", repeated(0), "label 'label'"),
    "a key of JSON twice": ("multinli", new('"sentence1": ', '"sentence1": "x", "sentence1": '), "a key a second time"),
    "a label that is none": ("xnli-mt", new("neutral", "netural"), "label 'netural'"),
    "a decimal for a label": ("translate-train", new('"label": 0', '"label": 0.0'), "label '0.0'"),
    "a list for a premise": ("translate-train", new('"Satz 0."', '["Satz 0."]'), "found list"),
    "a blank premise": ("translate-train", new('"Satz 0."', '" \\u00a0"'), "found an empty one"),
    "a list for an object": ("translate-train", new('{"premise', '[]\n{"premise', 2), "expected"),
    # entities
    "no blank lines": ("wikiann", lambda content: content.replace(b"\n\n", b"\n") * 50,
                       ": expected a blank line after every sentence, found none in the file"),
    "no blank lines but the last": ("wikiann", lambda content: b"de:a\tO\n" * 10_001 + b"\n", ":10001: expected a blank line"),
    "a word without a tag": ("wikiann", new("de:Bad\tB-LOC", "de:Bad"), ":2: expected a word and its tag"),
    "a tag that is none": ("wikiann", new("B-LOC", "B-LOCC"), ":2: expected O, or B-"),
    "another language's word": ("wikiann", new("de:Bad", "nl:Bad"), ":2: expected the prefix de:"),
    "columns of another sentence": ("wikiann", new("de:Bad\t", "de:Bad\tx\t"), ":2: expected 2 columns as above, found 3"),
    # dictionaries
    "an entry of three words": ("muse", new("word1 Wort1", "word1 Wort1 Wort"), ":2: expected a source and a target"),
    # documents
    "a text less": ("wili texts", without(3), "as many texts"),
    "a blank text": ("wili texts", new("Ein Text Nummer 3", " "), ":4: expected a text"),
    "a label of two words": ("wili labels", new("deu\n", "deu x\n"), ":1: expected the code of a language, found label 'deu x'"),
    "a text's id twice": ("sib-200", repeated(1), "0 a second time"),
    "a category that is none": ("sib-200", new("travel", "travels"), ":2: expected a category"),
    "a text of nothing": ("sib-200", new('Ein Text, "0"', ""), ":2: expected a text"),
    "a row of tokens twice": ("tanti2021", repeated(2), ":10: expected row 8, found row '1'"),
    "tokens of nothing": ("tanti2021", new('"Ein Satz 0 , ge teil t"', " "), ":2: expected tokens"),
    "an id of Reuters twice": ("mldoc ids", repeated(0), "a second time"),
    "two documents of one id": ("mldoc archive", documents(("copy/FDG0/7.xml", REUTERS % (b"MCAT", 0))), "FDG0-7 a second time"),
    "a document that is missing": ("mldoc ids", lambda content: content + b"FDG1-1\n", ":10: expected a document for each"),
    "a path for an id": ("mldoc ids", new("FDG0-7", "FDG0/7"), ":1: expected an id like FDG46-381033"),
    "a document with entities": ("mldoc texts", new("<newsitem", '<!DOCTYPE x [<!ENTITY a "a">]><newsitem'), "a document type"),
    "a label of no language": ("wili labels", new("deu", "als", 99), ":1: expected texts with the label 'deu' (de), found none"),
    "an open quotation": ("sib-200", new("travel\t", 'travel\t"'), ":2: expected cells with closed quotation marks"),
    "a cell more": ("sib-200", new("travel", "travel\tx"), ":2: expected 3 columns"),
    # WALS
    "a language that is not listed": ("wals values", new(",ger,", ",gre,"), ":3: expected a language of the table of languages"),
    "a feature that is not listed": ("wals values", new("ger,81A", "ger,83A"), ":3: expected a parameter of the table"),
    "a code that is not listed": ("wals values", new("1,81A-1", "9,81A-9"), ":3: expected a code of the table of codes"),
    "a cell more in a table": ("wals codes", new("Order 1,", "Order 1,,"), ":2: expected 4 columns"),
    "a header alone": ("wals values", without(), ":1: expected rows, found a header alone"),
    "a language twice": ("wals languages", repeated(1), ":5: expected a new ID, found ID 'ger' a second time"),
    "a value twice": ("wals values", lambda content: content + b'x,ger,81A,1,81A-1,""\n', "one value per language and feature"),
    "a column of a table twice": ("wals values", new("Comment", "Value"), ":1: expected the header"),
    "the code of another feature": ("wals values", new("81A,1,81A-1", "81A,1,82A-1"), "expected the code of value 1"),
    "a feature without a name": ("wals parameters", new("Order of Subject and Verb", " "), ":3: expected one in every row"),
    # running text, archives
    "a bomb of entities": ("dump", bombed, "expected a complete MediaWiki export"),
    "an unknown encoding": ("dump", new("<mediawiki", '<?xml version="1.0" encoding="x-none"?><mediawiki'), "x-none"),
    "half a character in a dump": ("dump", new("</title>", "&#xD800;</title>"), "expected a complete MediaWiki export"),
    "a page in a page": ("dump", new("<ns>", "</page><page><ns>"), "a page without one <title>"),
    "half a character of JSON": ("multinli", new('"pairID": "', '"pairID": "\\ud800'), ":1: "),
    "depth of JSON": ("translate-train", new('"Ja."', "[" * 10**5 + "]" * 10**5), ":1: "),
    "zero bytes from the start": ("crawl", lambda content: b"\0" + content, ":1: expected UTF-8"),
    "a web page for a text of the web": ("crawl", lambda content: PAGE * 99, ":1: expected lines of text, found a web page"),
    "an error of S3 for a text of the web": (
        "crawl", lambda content: b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n' * 9, "an error in XML"),
    "a page with two titles": ("dump", new("<title>", "<title>x</title><title>"), "a page without one <title>"),
    "another dump's end": ("dump", new("</mediawiki>", ""), ": after page '"),
    "character 0 in a dump": ("dump", new("</title>", "&#0;</title>"), "dewiki.xml"),
    "a member of a zip twice": ("zip", member_twice, "expected a complete archive, found"),
    "a member under two names": ("tar.gz", copies, ":1: expected files that differ"),
}  # fmt: skip
COUNTED: dict[str, tuple[str, Edit, Mapping[str, int]]] = {  # the same, and what is counted
    "text of another sentence": ("trees", new("# text = 10 000", "# text = Sí"), {"other_text": 1}),
    "text cut short": ("trees", new("al mar.", "al"), {"other_text": 1}),
    "text of the parts of a multiword token": ("trees", new("al mar.", "a el mar."), {"other_text": 1}),
    "a word of white space": ("wikiann", new("de:Wort\tO", "de:\u00a0\tO"), {"wordless": 1}),
    "an entry twice": ("muse", repeated(0), {"repeated": 1}),
    "a document that is no XML": ("mldoc texts", lambda content: b"no XML", {"unreadable": 1}),
    "a document that is empty": ("mldoc texts", lambda content: b"", {"unreadable": 1}),
    "a document of an unknown encoding": ("mldoc texts", new("iso-8859-1", "reuters-8"), {"unreadable": 1}),
    "a document in another encoding": ("mldoc texts", new("iso-8859-1", "utf-8"), {"unreadable": 1}),
    "depth of a document": ("mldoc texts", new("<text>", "<text>" + "<codes>" * 10**5), {"unreadable": 1}),
    "a document of two topics": ("mldoc texts", new("GFR", 'x"/></codes><codes class="bip:topics:1.0"><code code="MCAT'),
                                 {"topics": 1}),
    "a document of a topic twice": ("mldoc texts", new('"C0"', '"CCAT"'), {"topics": 1}),
    "a document of no main topic": ("mldoc texts", new("CCAT", "C15"), {"topics": 1}),
    "a document with an empty paragraph": ("mldoc texts", new("<p>Sieben.</p>", "<p></p>"), {"text": 1}),
    "a document without paragraphs": ("mldoc texts", new("p>", "q>", 9), {"text": 1}),
    "zero byte in a paragraph of the web": ("crawl", new("333\n", "33\0\n"), {"zero_bytes": 1}),
    "a paragraph of the web twice": ("crawl", lambda content: content + b"9" * 40 + b"\n" + b"9" * 40 + b"\n\n",
                                     {"twice_in_page": 1}),
}  # fmt: skip


def other_text(content: bytes) -> bytes:
    """The first line of JSON with another text."""
    row = json.loads(content.split(b"\n")[0])
    return json.dumps(row | {"sentence1": "Another sentence."}).encode() + b"\n"


def changed(tmp_path: Path, form: str, change: Edit) -> list[dict] | str:
    """Rows of a format's files with a change, or the message of their refusal."""
    valid_files = checked()[form]
    content = change(valid_files.content)
    assert content != valid_files.content, "no change"
    with case(form):
        return outcome(tmp_path, valid_files, content)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.fault("Garbage in the files of corpora", "refused")
def test_garbage_is_refused(tmp_path: Path, name: str) -> None:
    form, change, expected = REFUSED[name]
    message = changed(tmp_path, form, change)
    assert isinstance(message, str) and expected in message


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.fault("Garbage in the files of corpora", "survived")
def test_what_is_left_out_or_changed_is_counted(tmp_path: Path, name: str) -> None:
    form, change, expected = COUNTED[name]
    rows = changed(tmp_path, form, change)
    assert isinstance(rows, list), rows
    [line] = inventory([tmp_path / "out/de.test.parquet"], {"out": {"kind": "", "source": ""}}).to_pylist()
    assert line["dropped"] == ", ".join(f"{reason} {count}" for reason, count in expected.items())


def test_what_is_no_garbage_is_read(tmp_path: Path) -> None:
    """The formats themselves: nothing refused, nothing counted; among them words with spaces, multiword tokens, empty nodes."""
    for name, form in checked().items():
        if name in ("trees", "two files", "running", "crawl"):
            assert valid(tmp_path / name, form)
            line = inventory([tmp_path / name / "out/de.test.parquet"], {"out": {"kind": "", "source": ""}}).to_pylist()[0]
            assert line["dropped"] == ""
