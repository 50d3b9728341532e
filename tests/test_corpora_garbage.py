"""Garbage in the files of corpora: refused with file and line, or counted in the dataset sizes; never rows in silence.

Formats, and what a refusal must name, are those of test_corpora_mutations.py, which damages files at random.
"""

import gzip
import json
import lzma
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from crosslens.corpora import treebanks
from crosslens.corpora.inventory import inventory
from synthetic.archives import tarred
from test_corpora_mutations import REUTERS, Format, case, formats, official, outcome, sampled, split_of, valid

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
FIRST, REST = TREES.split(b"\n\n")[0] + b"\n\n", TREES.partition(b"\n\n")[2]
RUNNING = b"".join(
    b"# sent_id = d%d-1\n# text = " % number + text + b"\n1\t" + text + b"\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    for number, text in ((number, b"%d" % number * 120) for number in range(1, 9))
)
Change = Callable[[bytes], bytes]


@cache
def known() -> dict[str, Format]:
    """The formats of test_corpora_mutations.py, and a few of our own."""
    two = {"de_x-ud-train-a.conllu": TREES, "de_x-ud-train-b.conllu": FIRST.replace(b"a1", b"c1")}
    return formats() | {
        "trees": official(treebanks, "de_x-ud-test.conllu", TREES, None),
        "two files": Format(two, lambda folder, output: split_of(treebanks, [folder / name for name in two], output), None,
                            partner="de_x-ud-train-b.conllu"),
        "running": sampled("treebank", "de_x-ud-test.conllu", RUNNING, None),
        "crawl": sampled("lines", "de.txt", b"".join(b"%d" % n * 30 + b"\n" + b"%d" % n * 31 + b"\n\n" for n in range(9)), None,
                         minimum=20),
    }  # fmt: skip


def new(old: str, other: str, times: int = 1) -> Change:
    """Other text in the place of some of a file's."""

    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), other.encode(), times)

    return change


def repeated(line: int) -> Change:
    """A line a second time, at the end."""
    return lambda content: content + content.split(b"\n")[line] + b"\n"


def without(*lines: int) -> Change:
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


def documents(*last: tuple[str, bytes]) -> Change:
    """Reuters' archive with more documents."""
    given = {f"rcv2/FDG{i}/{7 + i}.xml": REUTERS % (b"CCAT", i) for i in range(9)}
    return lambda content: lzma.compress(tarred(given | dict(last)))


ZERO = "a zero byte"
PAGE = b"<!DOCTYPE html>\n<html><body>404 not found</body></html>\n"
REFUSED: dict[str, tuple[str, Change, str]] = {  # the format, what becomes of its first file, what the message says
    # CoNLL-U
    "zero byte in a form": ("trees", new("\tmar\t", "\tm\0r\t"), ":9: expected text, found a zero byte"),
    "zero byte in a comment": ("trees", new("# text", "# te\0xt"), ":2: expected text, found a zero byte"),
    "blank form": ("trees", new("\tmar\t", "\t \t"), ":9: expected a form, found a form of white space"),
    "form of U+3000": ("trees", new("\tmar\t", "\t\u3000\t"), "a form of white space"),
    "form of no-break spaces": ("trees", new("\tmar\t", "\t\u00a0\u00a0\t"), "a form of white space"),
    "empty form": ("trees", new("\tmar\t", "\t\t"), ":9: expected a form, found an empty form"),
    "multiword token without a form": ("trees", new("3-4\tal", "3-4\t"), ":5: expected a form"),
    "empty relation": ("trees", new("\tobl\t", "\t\t"), ":9: expected a relation to the head, found relation ''"),
    "blank relation": ("trees", new("\tobl\t", "\t \t"), ":9: expected a relation to the head"),
    "relation that is not given": ("trees", new("\tobl\t", "\t_\t"), ":9: expected a relation to the head, found relation '_'"),
    "two sent_ids in a sentence": ("trees", new("# text", "# sent_id = a2\n# text"), ":2: expected one in each"),
    "two texts in a sentence": ("trees", new("# text", "# text = Sí\n# text"), ":3: expected one in each"),
    "no blank line between sentences": ("trees", new("\n\n", "\n"), "a second sent_id in a sentence"),
    "a sentence twice": ("trees", lambda content: content + FIRST, "sent_id a1 a second time"),
    "words of another sentence": ("trees", without(3), ":4: expected a range that begins at 2"),
    "blanks for tabs": ("trees", new("\t", "    ", 1000), "1 columns"),
    "head that is a decimal": ("trees", new("_\t1\tobl", "_\t1.0\tobl"), "head '1.0'"),
    "word 0": ("trees", new("\n1\t", "\n0\t"), "expected id 1, found id 0"),
    "tag in lower case": ("trees", new("\tNOUN\t", "\tnoun\t"), "UPOS 'noun'"),
    "two columns swapped": ("trees", new("\tNOUN\t_\t_\t1\tobl", "\tNOUN\t_\t_\tobl\t1"), "head 'obl'"),
    "a web page for a treebank": ("trees", lambda content: PAGE, ":1: expected 10 tab-separated columns"),
    "a file under two names": ("two files", lambda content: FIRST.replace(b"a1", b"c1"), ":1: expected files that differ"),
    "a sentence in two files": ("two files", lambda content: TREES + FIRST.replace(b"a1", b"c1"), "c1 a second time"),
    "another text in running text": ("running", new("# text = 1", "# text = x1"), "expected the text of the sentence's words"),
    "relation with a control character": ("trees", new("\tobl\t", "\tobl\x1b[2J\t"), r":9: expected a relation to the head, found"
                                          r" relation 'obl\x1b[2J'"),
    "relation with a blank": ("trees", new("\tobl\t", "\tobl \t"), ":9: expected a relation to the head, found relation 'obl '"),
    "head out of range": ("trees", new("_\t1\tobl", "_\t7\tobl"), ":1: expected heads from 0 to 6, found head of word 5"),
    "enormous head": ("trees", new("_\t1\tobl", "_\t99999999999\tobl"), ":1: expected heads from 0 to 6"),
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
    "a language with a blank": ("xnli", new("\nde\t", "\nde \t"), ":2: expected the code of a language, found language 'de '"),
    "a row without a language": ("xnli", new("\nde\t", "\n\t"), ":2: expected the code of a language, found language ''"),
    "a pair twice": ("xnli", repeated(1), "pairID "),
    "a pair's id twice": ("multinli", lambda content: content + other_text(content), "a second time"),
    "a line of JSON twice": ("multinli", repeated(2), "a second time"),
    "a column twice": ("xnli", new("genre", "gold_label"), ":1: expected the header of XNLI 1.0"),
    "no header": ("xnli", without(0), ":1: expected the header"),
    "a header among the rows": ("xnli-mt", repeated(0), "label 'label'"),
    "zero byte in a pair": ("xnli-mt", new("Satz 3", "Satz\0 3"), ZERO),
    "a label that is none": ("xnli-mt", new("neutral", "netural"), "label 'netural'"),
    "a truth value for a label": ("translate-train", new('"label": 0', '"label": true'), "label 'True'"),
    "a label beyond the last": ("translate-train", new('"label": 0', '"label": 3'), "label '3'"),
    "a decimal for a label": ("translate-train", new('"label": 0', '"label": 0.0'), "label '0.0'"),
    "a list for a premise": ("translate-train", new('"Satz 0."', '["Satz 0."]'), "found list"),
    "null for a premise": ("translate-train", new('"Satz 0."', "null"), "found NoneType"),
    "a blank premise": ("translate-train", new('"Satz 0."', '" \\u00a0"'), "found an empty one"),
    "two objects in a line": ("translate-train", new("}\n", "} "), "invalid JSON"),
    "a list for an object": ("translate-train", new('{"premise', '[]\n{"premise', 2), "expected"),
    "a web page for pairs": ("xnli", lambda content: PAGE, ":1: expected the header"),
    # entities
    "no blank lines": ("wikiann", lambda content: content.replace(b"\n\n", b"\n") * 50,
                       ": expected a blank line after every sentence, found none in the file"),
    "no blank lines but the last": ("wikiann", lambda content: b"de:a\tO\n" * 10_001 + b"\n", ":10001: expected a blank line"),
    "a word without a tag": ("wikiann", new("de:Bad\tB-LOC", "de:Bad"), ":2: expected a word and its tag"),
    "a tag that is none": ("wikiann", new("B-LOC", "B-LOCC"), ":2: expected O, or B-"),
    "a tag in lower case": ("wikiann", new("B-LOC", "b-loc"), ":2: expected O, or B-"),
    "another language's word": ("wikiann", new("de:Bad", "nl:Bad"), ":2: expected the prefix de:"),
    "a first word without its mark": ("wikiann", new("de:Wort", "Wort"), ":1: expected the prefix de:"),
    "first words without their marks": ("wikiann", new("de:Wort", "Wort", 8), ":1: expected the prefix de:"),
    "zero byte in a word": ("wikiann", new("de:Bad", "de:B\0d"), ":2: expected text, found a zero byte"),
    "a column more": ("msra", new("京\t", "京\tx\t"), ":2: expected 2 columns"),
    "columns of another sentence": ("wikiann", new("de:Bad\t", "de:Bad\tx\t"), ":2: expected 2 columns as above, found 3"),
    "a tag cut short": ("wikiann", new("B-LOC", "B-"), ":2: expected O, or B-"),
    # dictionaries
    "an entry of three words": ("muse", new("word1 Wort1", "word1 Wort1 Wort"), ":2: expected a source and a target"),
    "an entry of one word": ("muse", new("word1 Wort1", "word1"), ":2: expected a source and a target"),
    "zero byte in an entry": ("muse", new("Wort1", "Wort\0"), ":2: expected text, found a zero byte"),
    # documents
    "a text less": ("wili texts", without(3), "as many texts"),
    "a blank text": ("wili texts", new("Ein Text Nummer 3", " "), ":4: expected a text"),
    "zero byte in a text": ("wili texts", new("Nummer 3", "Nummer \0"), ":4: expected text, found a zero byte"),
    "texts for labels": ("wili labels", lambda content: PAGE * 5 + b"x", ":1: expected the code of a language"),
    "a label of two words": ("wili labels", new("deu\n", "deu x\n"), ":1: expected the code of a language, found label 'deu x'"),
    "tokens of a language with a blank": ("tanti2021", new(",de\r", ",de \r"), ":2: expected the code of a language"),
    "a text's id twice": ("sib-200", repeated(1), "0 a second time"),
    "a category that is none": ("sib-200", new("travel", "travels"), ":2: expected a category"),
    "a text of nothing": ("sib-200", new('Ein Text, "0"', ""), ":2: expected a text"),
    "a row of tokens twice": ("tanti2021", repeated(2), ":10: expected row 8, found row '1'"),
    "tokens of nothing": ("tanti2021", new('"Ein Satz 0 , ge teil t"', " "), ":2: expected tokens"),
    "columns in another order": ("sib-200", new("index_id\tcategory", "category\tindex_id"), ":1: expected"),
    "an id of Reuters twice": ("mldoc ids", repeated(0), "a second time"),
    "two documents of one id": ("mldoc archive", documents(("copy/FDG0/7.xml", REUTERS % (b"MCAT", 0))), "FDG0-7 a second time"),
    "a document that is missing": ("mldoc ids", lambda content: content + b"FDG1-1\n", ":10: expected a document for each"),
    "a path for an id": ("mldoc ids", new("FDG0-7", "FDG0/7"), ":1: expected an id like FDG46-381033"),
    "a label of no language": ("wili labels", new("deu", "als", 99), ":1: expected texts with the label 'deu' (de), found none"),
    "an open quotation": ("sib-200", new("travel\t", 'travel\t"'), ":2: expected cells with closed quotation marks"),
    "a cell more": ("sib-200", new("travel", "travel\tx"), ":2: expected 3 columns"),
    # WALS
    "a language that is not listed": ("wals values", new(",ger,", ",gre,"), ":3: expected a language of the table of languages"),
    "a feature that is not listed": ("wals values", new("ger,81A", "ger,83A"), ":3: expected a parameter of the table"),
    "a code that is not listed": ("wals values", new("1,81A-1", "9,81A-9"), ":3: expected a code of the table of codes"),
    "a number in words": ("wals codes", new("Order 1,1", "Order 1,one"), ":2: expected a whole number"),
    "a cell more in a table": ("wals codes", new("Order 1,", "Order 1,,"), ":2: expected 4 columns"),
    "a header alone": ("wals values", without(), ":1: expected rows, found a header alone"),
    "languages without a row": ("wals languages", without(), ":1: expected rows, found a header alone"),
    "a language twice": ("wals languages", repeated(1), ":5: expected a new ID, found ID 'ger' a second time"),
    "a feature twice": ("wals parameters", repeated(2), ":4: expected a new ID, found ID '82A' a second time"),
    "a value's code twice": ("wals codes", repeated(2), ":8: expected a new ID"),
    "a value twice": ("wals values", lambda content: content + b'x,ger,81A,1,81A-1,""\n', "one value per language and feature"),
    "a column of a table twice": ("wals values", new("Comment", "Value"), ":1: expected the header"),
    "the code of another feature": ("wals values", new("81A,1,81A-1", "81A,1,82A-1"), "expected the code of value 1"),
    "a feature without a name": ("wals parameters", new("Order of Subject and Verb", " "), ":3: expected one in every row"),
    "zero byte in a table": ("wals codes", new("Order 2", "Order \0"), ":3: expected text, found a zero byte"),
    # running text, archives
    "zero bytes from the start": ("crawl", lambda content: b"\0" + content, ":1: expected UTF-8"),
    "a web page for a text of the web": ("crawl", lambda content: PAGE * 99, ":1: expected lines of text, found a web page"),
    "an error of S3 for a text of the web": (
        "crawl", lambda content: b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n' * 9, "an error in XML"),
    "a page with two titles": ("dump", new("<title>", "<title>x</title><title>"), "a page without one <title>"),
    "a page with two namespaces": ("dump", new("<ns>", "<ns>1</ns><ns>"), "a page without one <title> and one <ns>"),
    "a web page for a dump": ("dump", lambda content: PAGE.partition(b"\n")[2], "before the first page: expected"),
    "another dump's end": ("dump", new("</mediawiki>", ""), ": after page '"),
    "character 0 in a dump": ("dump", new("</title>", "&#0;</title>"), "dewiki.xml"),
    "a member of a zip twice": ("zip", member_twice, "expected a complete archive, found"),
    "an archive inside one twice": ("nested", member_twice, "expected a complete archive, found"),
    "a member under two names": ("tar.gz", copies, ":1: expected files that differ"),
}  # fmt: skip
COUNTED: dict[str, tuple[str, Change, Mapping[str, int]]] = {  # the same, and what is counted
    "text of another sentence": ("trees", new("# text = 10 000", "# text = Sí"), {"other_text": 1}),
    "text cut short": ("trees", new("al mar.", "al"), {"other_text": 1}),
    "text of the parts of a multiword token": ("trees", new("al mar.", "a el mar."), {"other_text": 1}),
    "text with an empty node's word": ("trees", new("al mar.", "al x mar."), {"other_text": 1}),
    "pairs without agreement": ("xnli-mt", new("neutral", "-", 2), {"no_agreement": 2}),
    "a word of white space": ("wikiann", new("de:Wort\tO", "de:\u00a0\tO"), {"wordless": 1}),
    "a tag alone": ("wikiann", new("de:Wort\tO", "de:\tO"), {"wordless": 1}),
    "a span that nothing opens": ("wikiann", new("B-LOC", "O"), {"opened": 1}),
    "an entry twice": ("muse", repeated(0), {"repeated": 1}),
    "an entry twice, otherwise separated": ("muse", lambda content: content + b"word0\tWort0\n", {"repeated": 1}),
    "a document that is no XML": ("mldoc texts", lambda content: b"no XML", {"unreadable": 1}),
    "a document of two topics": ("mldoc texts", new("GFR", 'x"/></codes><codes class="bip:topics:1.0"><code code="MCAT'),
                                 {"topics": 1}),
    "a document with an empty paragraph": ("mldoc texts", new("<p>Sieben.</p>", "<p></p>"), {"text": 1}),
    "zero byte in a paragraph of the web": ("crawl", new("333\n", "33\0\n"), {"zero_bytes": 1}),
    "a paragraph of the web twice": ("crawl", lambda content: content + b"9" * 40 + b"\n" + b"9" * 40 + b"\n\n",
                                     {"twice_in_page": 1}),
}  # fmt: skip


def other_text(content: bytes) -> bytes:
    """The first line of JSON with another text."""
    row = json.loads(content.split(b"\n")[0])
    return json.dumps(row | {"sentence1": "Another sentence."}).encode() + b"\n"


def damaged(tmp_path: Path, form: str, change: Change) -> list[dict] | str:
    """Rows of a format's files with a change, or the message of their refusal."""
    valid_files = known()[form]
    content = change(valid_files.content)
    assert content != valid_files.content, "no change"
    with case(form):
        return outcome(tmp_path, valid_files, content)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.fault("Garbage in the files of corpora", "refused")
def test_garbage_is_refused(tmp_path: Path, name: str) -> None:
    form, change, expected = REFUSED[name]
    message = damaged(tmp_path, form, change)
    assert isinstance(message, str) and expected in message


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.fault("Garbage in the files of corpora", "survived")
def test_what_is_left_out_or_changed_is_counted(tmp_path: Path, name: str) -> None:
    form, change, expected = COUNTED[name]
    rows = damaged(tmp_path, form, change)
    assert isinstance(rows, list), rows
    [line] = inventory([tmp_path / "out/de.test.parquet"], {"out": {"kind": "", "source": ""}}).to_pylist()
    assert line["dropped"] == ", ".join(f"{reason} {count}" for reason, count in expected.items())


def test_what_is_no_garbage_is_read(tmp_path: Path) -> None:
    """The formats themselves: nothing refused, nothing counted; among them words with spaces, multiword tokens, empty nodes."""
    for name, form in known().items():
        if name in ("trees", "two files", "running", "crawl"):
            assert valid(tmp_path / name, form)
            line = inventory([tmp_path / name / "out/de.test.parquet"], {"out": {"kind": "", "source": ""}}).to_pylist()[0]
            assert line["dropped"] == ""
