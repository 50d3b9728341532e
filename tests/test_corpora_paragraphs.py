"""From dumps to paragraphs: what a reader sees, refused in one line where damaged, sampled by page."""

import bz2
import json
import lzma
import re
import unicodedata
from collections import Counter
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

import mwxml
import pytest
import synthetic.articles
import synthetic.dumps
from conftest import MIRROR, manifest, mbert_tokenizer, save_tokenizer
from crosslens.config.presets import read_yaml
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import mediawiki, schema
from crosslens.corpora.dumps import Page, pages
from crosslens.corpora.sampling import document, write_paragraphs
from crosslens.corpora.wikitext import paragraphs
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from hypothesis import given, settings
from hypothesis import strategies as st
from official_formats import case
from synthetic.grammar import read_grammar

needs_mirror = pytest.mark.skipif(not MIRROR.is_dir(), reason="needs real dumps in ../shared/mirror")

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo><sitename>W</sitename><namespaces><namespace key="0" /><namespace key="6">File</namespace></namespaces></siteinfo>
"""
SHARES = {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1}


def page(title: str, text: str, namespace: int = 0, redirect: str = "") -> str:
    target = f'<redirect title="{escape(redirect)}" />' if redirect else ""
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>1</id>{target}<revision><id>2</id>"
        f"<timestamp>2020-04-20T00:00:00Z</timestamp><model>wikitext</model><format>text/x-wiki</format>"
        f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def dump(folder: Path, *bodies: str, streams: int = 1, name: str = "xwiki.xml.bz2", head: str = HEAD) -> Path:
    """A dump of one stream, or of one for the head, some for the pages and one for the end."""
    parts = ["".join(bodies[i::streams]) for i in range(streams)]
    blocks = [head, *parts, "</mediawiki>\n"] if streams > 1 else [head + "".join(bodies) + "</mediawiki>\n"]
    content = b"".join(bz2.compress(block.encode()) for block in blocks)
    path = folder / name
    path.write_bytes(content if name.endswith(".bz2") else bz2.decompress(content))
    return path


def articles(path: Path) -> list[Page]:
    return [page for page in pages(path) if page.is_article]


# Wikitext

MARKUP = {
    "plain": ("One line.\n\nAnother line.", ["One line.", "Another line."]),
    "links": ("A [[town]] in [[Upper Austria|the north]] and [[bus]]es.", ["A town in the north and buses."]),
    "colon link": ("In [[:Category:Towns|towns]].", ["In towns."]),
    "bold and italic": ("'''Bold''', ''italic'' and '''''both'''''.", ["Bold, italic and both."]),
    "apostrophe before italic": ("C'est l'''Encyclopédie'' de l'''homme'''.", ["C'est l'Encyclopédie de lhomme."]),
    "template": ("{{Infobox\n| a = {{b|c}}\n| d = [[e]]\n}}\nA {{lang|de|Wort}} b.", ["A b."]),
    "brackets around a template": ("Ada ({{lang|x|y}}, 1815) and Bo ({{z}}; {{z}}).", ["Ada (1815) and Bo ."]),
    "reference": ("Text<ref name=a>{{cite|b}} [[c]]</ref> goes<ref name=a /> on.", ["Text goes on."]),
    "table": ('{| class="x"\n! a\n|-\n| b || [[c]]\n|}\nAfter.', ["After."]),
    "gallery": ("<gallery>\nA.jpg|Caption\n</gallery>\nAfter.", ["After."]),
    "lists": ("* one\n# two\n: three\n; four : five\n** [[six]]\nAfter.", ["After."]),
    "heading": ("== A ==\nUnder.\n=== B === \n", ["Under."]),
    "comment": ("Be<!-- a\n\n== b ==\n -->fore.", ["Before."]),
    "magic word": ("__NOTOC__\nText.__ΧΩΡΙΣΠΠ__", ["Text."]),
    "entities": ("A&nbsp;b &amp; c &eacute; &#x4E2D;.", ["A b & c é 中."]),
    "html": ("A<br/>b <small>c</small> <span style='x'>d</span><sup>2</sup> <nowiki>[e]</nowiki>", ["A b c d2 [e]"]),
    "blocks": ("<div>One.</div><blockquote>Two.</blockquote>", ["One.", "Two."]),
    "external links": ("A [http://x.org label], [http://x.org] and http://y.org.", ["A label, and http://y.org."]),
    "file": ("[[File:A.jpg|thumb|200px|A caption with [[links]] and {{t}}]]Text.", ["Text."]),
    "category": ("Text.\n[[Category:Towns]]\n[[Kategorie:Orte|Ort]]", ["Text."]),
    "interlanguage": ("Text.\n[[de:Ort]]\n[[zh-min-nan:Tī]]\n[[simple:Town]]", ["Text."]),
    "spaces": ("  a \t b\u3000c  ", ["a b c"]),
    "unbalanced": ("Good.\nBad [[link and {{template.\n| x = 1\nGood too.", ["Good.", "Good too."]),
    "quotes around what shows nothing": (
        "A '''{{a}}''' b ''<ref>c</ref>'' c '''[[File:A.jpg|d]]''' d ''[http://x.org]'' e l'''{{a}}'''homme.",
        ["A b c d e lhomme."],
    ),
    "what looks like them": (".NET is one.\n\n#MeToo is one.\n\n{{a}}. The rest.", [".NET is one.", "The rest."]),
    "lists that are typed": ("• One.\n<!-- x -->* two\n{{a}}# three\n{{a}}; four\nFive • six.", ["Five • six."]),
    "addresses first": ("http://x.org says so.\n(//y.org)\n{{a}} www.z.org\nOn www.z.org or ftp://x.org/.",
                        ["On www.z.org or ftp://x.org/."]),
    "beheaded": ("{{a}}, which is long.\n{{a}}. Then.\n{{a}}、東京。\n...and so on.",
                 ["which is long.", "Then.", "東京。", "...and so on."]),
    "composed": ("Cafe\u0301", ["Café"]),
    "nothing": ("", []),
}  # fmt: skip


PIECES = (
    """{{ }} {{a {{a| | = [[ ]] [[a [[a|b]] [[File:x|y [[de:x [ ] [http://x.org mailto:a <ref> </ref> <ref name="a"> <!-- -->
    <math> </math> <nowiki> </nowiki> <div> </div> <br> <td> </br> < >
    {| |} |- ! == * ; : # '' &amp; &#1; { } {{{ }}} {{a}} {{lc: {{formatnum: -{ }- __TOC__
    word Ωμέγα 字 é ( ) （ ） 「 」 / \t""".split()
    + [" ", "\n", "\n== ", "\n* ", "\n{|", "\n|", "\n\n"]
)

# What depends on the wiki: its language, "" where that is unknown.
OF_A_WIKI = {
    "variants": ("zh", "他用-{zh-hans:电脑; zh-hant:電腦}-和-{原文}-。-{H|zh-cn:a; zh-tw:b}-", ["他用电脑和原文。"]),
    "variants inside each other": ("zh", "甲-{zh-hans:-{zh-cn:乙;zh-sg:丙}-;zh-hant:-{丁}-}-戊", ["甲乙戊"]),
    "variants over several lines": ("zh", "甲-{zh-cn:乙;\n zh-tw:丙\n}-丁\n戊", ["甲乙丁", "戊"]),
    "variants one way": ("zh", "甲-{巨集=>zh-cn:宏;}-乙-{a=>zh-tw:}-丙-{a=>zh-cn:b;zh-tw:c}-", ["甲宏乙丙c"]),
    "flags": ("zh", "-{A|zh-cn:a;zh-tw:b}-c-{H|zh-cn:d}-e-{-|zh-cn:f}-g-{T|h}-i-{D|zh-cn:j}-k-{N|zh-tw}-", ["acegik"]),
    "flags that show the text": ("zh", "-{R|zh-cn:a}- -{zh-hans;zh-hant|b}- -{A;T|c}- -{X|d}- -{h|e}-", ["zh-cn:a b c d e"]),
    "links in variants": ("zh", "-{zh-cn:[[甲|乙]]; zh-tw:[[丙]]}-丁", ["乙丁"]),
    "half a variant": ("zh", "甲-{乙\n丙}-丁\n戊", ["甲乙", "丙丁", "戊"]),
    "the beginning of a variant": ("zh", "甲\n他用-{乙。\n戊", ["甲", "戊"]),
    "no wiki with variants": ("en", "The salt (R)-{2-[a]-b}-c and -{zh-cn:x}-.", ["The salt (R)-{2-[a]-b}-c and -{zh-cn:x}-."]),
    "numbers": ("en", "{{formatnum:1234567.80}} {{FORMATNUM: -12 }} {{formatnum:.5}}", ["1,234,567.80 −12 .5"]),
    "numbers in Swedish": ("sv", "{{formatnum:18}}&nbsp;°C, {{formatnum:1234}}, {{formatnum:0.5}}", ["18 °C, 1 234, 0,5"]),
    "numbers in Hindi": ("hi", "{{formatnum:1234567}} {{formatnum:123}}", ["12,34,567 123"]),
    "numbers in Bengali": ("bn", "{{formatnum:1234567}} {{নম্বর_বিন্যাস:1234}}", ["১২,৩৪,৫৬৭ ১,২৩৪"]),
    "numbers in Persian": ("fa", "{{formatnum:1234.5}}", ["۱٬۲۳۴٫۵"]),
    "numbers in text": ("de", "{{formatnum:about 1,234 -5 m-n}}", ["about 1,234 −5 m-n"]),
    "numbers as in a program": ("de", "{{formatnum:1.234,5|R}} {{Zahlenformat:1234|NOSEP}}", ["1234.5 1234"]),
    "functions in each other": ("ja", "{{formatnum:{{lc:1234}}}} {{uc:{{lcfirst:{{ucfirst:abc}}}}}}", ["1,234 ABC"]),
    "functions of a template": ("ja", "A {{formatnum:{{a}}}} {{lc:B{{{1}}}}} {{lc|C}} {{R:d}} {{#if:e|f}} g.", ["A g."]),
    "letters": ("en", "{{lc:ÀB}} {{UC:straße &amp; c}} {{ucfirst:éa}} {{LcFirst:ÉA}} {{小文字:X}}", ["àb STRASSE & C Éa éA x"]),
    "Turkish letters": ("tr", "{{ucfirst:istanbul}} {{lcfirst:Isparta}} {{ucfirst:ırmak}}", ["İstanbul ısparta Irmak"]),
}  # fmt: skip


@pytest.mark.parametrize("case", [*MARKUP, *OF_A_WIKI])
def test_markup(case: str) -> None:
    language, markup, expected = OF_A_WIKI.get(case) or ("", *MARKUP[case])
    assert paragraphs(markup, language) == expected


def tables() -> dict:
    return read_yaml(mediawiki.TABLES)


def test_switches_of_all_languages_show_nothing() -> None:
    """As they are written in MediaWiki, in another case where that does not matter, and no name of Python."""
    for kind, switches in tables()["switches"].items():
        for switch in switches:
            other = switch.swapcase()
            assert paragraphs(f"A {switch}b{switch}.") == ["A b."]
            assert paragraphs(f"A{other}.") == (["A."] if kind == "insensitive" or other == switch else [f"A{other}."])
    names = {name for kind in (object, int, str, dict) for name in dir(kind) if name.startswith("__")} | {"__init__", "__main__"}
    for name in sorted(names):
        assert paragraphs(f"Use {name} and _NOTOC_.") == [f"Use {name} and _NOTOC_."]


def test_only_links_to_other_wikipedias_are_hidden() -> None:
    prefixes = tables()["hidden_links"]["wikipedias"]
    assert {"de", "simple", "zh-min-nan", "be-x-old", "no", "yue", "cz"} <= {*prefixes}
    for prefix in prefixes:
        assert paragraphs(f"A[[{prefix}:B]][[{prefix.capitalize()} :B|c]].") == ["A."]
        assert paragraphs(f"A [[:{prefix}:B]].") == [f"A {prefix}:B."]


@pytest.mark.parametrize("language", sorted({code for style in tables()["numbers"] for code in style["languages"]}))
def test_written_numbers_can_be_read(language: str) -> None:
    assert paragraphs("{{formatnum:1234567}}", language) != ["1234567"]
    for number in ("7", "123", "1234", "12345", "-1234567", "1234567890123"):
        assert paragraphs(f"A {{{{formatnum:{{{{formatnum:{number}}}}}|R}}}}", language) == [f"A {number}"]


BRACKETS = ["()", "（）", "[]", "［］", "「」", "『』", "【】", "〔〕", "〈〉", "《》"]


@pytest.mark.parametrize("pair", BRACKETS)
def test_brackets_go_that_are_empty_without_their_templates(pair: str) -> None:
    for between in ("{}", "{}, {}", "{}、{}", " {}； {} ", "{}، {}؛", "{} । {}", "''{}''・{}", "– {}", "{} / {}"):
        emptied = pair[0] + between.replace("{}", "{{x|y}}") + pair[1]
        assert paragraphs(f"東{emptied}京{pair[0]} {emptied} {pair[1]}") == ["東京"]
        assert paragraphs(f"東{pair[0]}字{emptied}{pair[1]}") == [f"東{pair[0]}字{pair[1]}"]


def test_brackets_that_were_empty_before_stay() -> None:
    text = "日本語の括弧は「」、『』、（※）、〔…〕などで、「、」もある。"
    assert paragraphs(text) == [text]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24))
def test_any_markup_gives_plain_lines(pieces: list[str]) -> None:
    """Whatever is written, the paragraphs are lines without control characters, or the page is refused."""
    try:
        texts = paragraphs("".join(pieces), "sr")
    except ValueError:
        return
    assert all(text.strip() == text and text.isprintable() for text in texts)


UNCLOSED = (
    "[[ {{ {{{ <ref> <div> <!-- <nowiki> '' {|_ -{ [http://a_ [[a|{{b| <ref>[[a]] {{a|b= <gallery> ( -{zh-cn:a ]] -->".split()
)


@pytest.mark.parametrize("markup", UNCLOSED)
def test_markup_without_end_is_read_in_time(markup: str) -> None:
    """A page that cannot be read is refused as a whole, and costs seconds at most."""
    with case("wikitext", markup), suppress(ValueError):
        assert all(map(str.isprintable, paragraphs(markup.replace("_", " ") * 10_000, "zh")))


FILE_LINKS = """af:Lêer ar:ملف bg:Файл de:Datei de:Bild el:Αρχείο el:Εικόνα en:Image es:Archivo et:Pilt eu:Fitxategi
fa:پرونده fi:Tiedosto fr:Fichier he:קובץ hi:चित्र hu:Fájl id:Berkas it:Immagine ja:ファイル ja:画像 kk:Сурет ko:파일 mr:चित्र
nl:Bestand nl:Afbeelding pt:Ficheiro pt:Imagem ru:Файл ru:Изображение ta:படிமம் te:దస్త్రం th:ไฟล์ tl:Talaksan
tr:Dosya tr:Resim ur:تصویر vi:Tập_tin vi:Hình yo:Fáìlì zh:文件 zh:檔案 sl:Slika pl:Plik cs:Soubor""".split()


@pytest.mark.parametrize("name", FILE_LINKS)
def test_local_file_names(name: str) -> None:
    namespace = name.split(":")[1]
    for form in (namespace, namespace.lower(), unicodedata.normalize("NFD", namespace)):
        assert paragraphs(f"[[{form}:A|thumb|A caption]]Text.") == ["Text."]


def test_files_of_other_languages_show_by_their_suffix() -> None:
    assert paragraphs("[[Pajl:A b.SVG|thumb|A caption]]Text [[Star Trek: Picard]].") == ["Text Star Trek: Picard."]


WORDS = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=6), max_size=4))
def test_text_without_markup_stays(lines: list[list[str]]) -> None:
    text = [unicodedata.normalize("NFC", " ".join(line)) for line in lines]
    assert paragraphs("\n\n".join(text)) == text


# Dumps


@pytest.mark.parametrize("name", ["x.xml.bz2", "x.xml"])
@pytest.mark.parametrize("streams", [1, 2])
def test_pages(tmp_path: Path, name: str, streams: int) -> None:
    bodies = [page("A & B", "Text <b>."), page("C", "#REDIRECT [[A]]", redirect="A & B"), page("File:D", "d", 6)]
    path = dump(tmp_path, *bodies, streams=streams, name=name)
    found = {p.title: p for p in pages(path)}
    assert found["A & B"] == ("A & B", 0, False, "Text <b>.", "en", True)
    assert found["C"].redirect and found["File:D"].namespace == 6
    assert [p.title for p in articles(path)] == ["A & B"]


@pytest.mark.parametrize(("model", "form"), [("json", "application/json"), ("Scribunto", "text/plain")])
def test_only_wikitext_is_an_article(tmp_path: Path, model: str, form: str) -> None:
    other = page("B", '{"text": "A long enough value of JSON."}').replace("text/x-wiki", form)
    bodies = [page("A", "Text."), other, other.replace(">B<", ">C<").replace(">wikitext<", f">{model}<")]
    path = dump(tmp_path, *bodies)
    assert [p.title for p in pages(path)] == ["A", "B", "C"] and [p.title for p in articles(path)] == ["A"]


@pytest.mark.parametrize("language", ["zh", "zh-Hant", ""])
def test_the_language_of_the_wiki_is_that_of_the_dump(tmp_path: Path, language: str) -> None:
    head = HEAD.replace('xml:lang="en"', f'xml:lang="{language}"' if language else "")
    path = dump(tmp_path, page("A", "他用-{zh-cn:软件;zh-tw:軟體}-寫字。"), page("B", "b"), head=head)
    assert {p.language for p in pages(path)} == {language.lower()}
    shown = "他用软件寫字。" if language in ("zh", "") else "他用-{zh-cn:软件;zh-tw:軟體}-寫字。"
    assert [row["text"] for row in ordered(path, tmp_path, minimum_characters=2)] == [shown]


# Samples


PLAN = {"language": "xx", "form": "dump", "paragraphs": 100, "minimum_characters": 20, "shares": SHARES, "per_page": 3,
        "candidates": 1.1, "seed": 0}  # fmt: skip


def sample(source: Path, folder: Path, **changes: object) -> dict:
    plan = PLAN | changes
    return write_paragraphs(source, {s: folder / f"xx.{s}.parquet" for s in plan["shares"]}, **plan)  # type: ignore[arg-type]


def rows(folder: Path) -> dict[str, list[dict]]:
    return {split: schema.read(folder / f"xx.{split}.parquet").to_pylist() for split in SHARES}


def ordered(source: Path, folder: Path, **changes: object) -> list[dict]:
    """The rows of a sample without splits, in the order in which they are drawn; by default all that there are."""
    plan = {"shares": {"train": 1}, "paragraphs": 10**6, "candidates": 1} | changes
    assert sample(source, folder, **plan)["nominal"] == {"train": plan["paragraphs"]}
    return schema.read(folder / "xx.train.parquet").to_pylist()


def articles_of(n: int, each: int) -> list[str]:
    """Pages with `each` long paragraphs, one short, and one that all pages share."""
    lines = [[f"This is paragraph {k} of the page {i}." for k in range(each)] for i in range(n)]
    return [page(f"T{i}", "\n\n".join([*texts, "Short.", "The same on every page."])) for i, texts in enumerate(lines)]


def test_splits_share_no_page_and_no_text(tmp_path: Path) -> None:
    found = sample(dump(tmp_path, *articles_of(200, 3)), tmp_path)
    splits = rows(tmp_path)
    assert found["rows"] == {split: len(part) for split, part in splits.items()} and found["found"] == 110
    assert found["nominal"] == {"train": 70, "validation": 10, "dev": 10, "test": 10} and found["asked"] == 100
    assert all(len(part) >= found["nominal"][split] for split, part in splits.items())
    everything = [row for part in splits.values() for row in part]
    texts = [row["text"] for row in everything]
    assert len(set(texts)) == len(texts) and min(map(len, texts)) >= 20
    owners = [{row["page"] for row in part} for part in splits.values()]
    assert len(set.union(*owners)) == sum(map(len, owners))
    assert len({row["id"] for row in everything}) == len(everything)
    assert parquet.metadata(tmp_path / "xx.dev.parquet") == json.loads(json.dumps(found))


def test_sample_does_not_depend_on_the_order_of_pages(tmp_path: Path) -> None:
    bodies = articles_of(150, 4)
    results = []
    for seed, order in ((0, bodies), (0, bodies[::-1]), (1, bodies)):
        sample(dump(tmp_path, *order), tmp_path / "out", seed=seed)
        results.append(rows(tmp_path / "out"))
    assert results[0] == results[1] != results[2]


@pytest.mark.parametrize("per_page", [2, "all", None])
@pytest.mark.parametrize("streams", [1, 40])
def test_the_plain_way_gives_the_same_paragraphs(tmp_path: Path, streams: int, per_page: int | str | None) -> None:
    """The paragraphs held while reading are those that come first among all of them."""
    path = dump(tmp_path, *articles_of(300, 5), streams=streams)
    everything = ordered(path, tmp_path, per_page=per_page)
    assert len(everything) == 300 * 5 + 1
    for number in (7, 50, 700, 1000):
        assert ordered(path, tmp_path, per_page=per_page, paragraphs=number) == everything[:number]


def pages_of(folder: Path, split: str, number: int) -> Counter[str]:
    """How many of the first rows of a split each page gives."""
    return Counter(row["page"] for row in rows(folder)[split][:number])


def test_a_page_gives_no_more_than_it_may(tmp_path: Path) -> None:
    texts = ("\n\n".join(f"This is paragraph {k} of the page {i}." for k in range(50)) for i in range(100))
    path = dump(tmp_path, *(page(f"T{i}", text) for i, text in enumerate(texts)))
    for per_page in (1, 3):
        sample(path, tmp_path, paragraphs=60, per_page=per_page)
        assert max(pages_of(tmp_path, "train", 42).values()) == per_page
    found = sample(path, tmp_path, paragraphs=1000, candidates=2, per_page=3)  # they have 300 and 5,000
    assert found["found"] == 2000
    titles = [row["page"] for row in rows(tmp_path)["train"]]
    for each in (3, 6, 9):  # as much of each page before any of them gives more
        assert set(Counter(titles[: each * len(set(titles))]).values()) == {each}


def test_whole_pages_keep_their_order(tmp_path: Path) -> None:
    """Pages come in random order, each with all its paragraphs as they stand there, one that it has twice at its first place."""
    texts = [[f"This is paragraph {k} of the page {i}." for k in (*range(7), 2, 7)] for i in range(40)]
    path = dump(tmp_path, *(page(f"T{i}", "\n\n".join(each)) for i, each in enumerate(texts)))
    titles = list(range(40))
    for seed in (0, 1):
        everything = ordered(path, tmp_path, per_page="all", seed=seed)
        drawn = [int(row["page"][1:]) for row in everything[::8]]
        assert drawn != titles and sorted(drawn) == list(range(40))
        assert [row["text"] for row in everything] == [f"This is paragraph {k} of the page {i}." for i in drawn for k in range(8)]
        titles = drawn
    sample(path, tmp_path, per_page="all", paragraphs=80, candidates=1)
    for split in rows(tmp_path).values():
        found = [(int(row["page"][1:]), row["text"]) for row in split]
        numbers = dict.fromkeys(number for number, _ in found)
        assert found == [(i, f"This is paragraph {k} of the page {i}.") for i in numbers for k in range(8)]


def test_too_little_text_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = sample(dump(tmp_path, *articles_of(12, 4)), tmp_path)
    parts = {split: len(part) for split, part in rows(tmp_path).items()}
    assert found["asked"] == 100 and found["found"] == sum(parts.values()) == 49 and found["rows"] == parts
    assert found["nominal"]["train"] == 70 and parts["train"] > 25 and min(parts.values()) >= 4
    assert "100 paragraphs requested, 49 available" in caplog.text


def test_empty_split(tmp_path: Path) -> None:
    path = dump(tmp_path, *articles_of(2, 9))
    with pytest.raises(DataError, match=r"no paragraph for xx\.\w+: expected 100 of at least .*, found \d+ in 2 pages"):
        sample(path, tmp_path / "out")
    with pytest.raises(DataError, match="xx.dev: expected a share of the 3 paragraphs"):
        sample(path, tmp_path / "out", paragraphs=3)
    assert not (tmp_path / "out").exists()


def treebank(folder: Path, *sentences: tuple[str, str]) -> Path:
    """A treebank of one-word sentences: (sent_id, text)."""
    path, word = folder / "xx_pud-ud-test.conllu", "1\t{}\tword\tNOUN\t_\t_\t0\troot\t_\t_"
    path.write_text("".join(f"# sent_id = {id}\n# text = {text}\n{word.format(text)}\n\n" for id, text in sentences), "utf-8")
    return path


def test_paragraphs_of_a_treebank(tmp_path: Path) -> None:
    path = treebank(tmp_path, *((f"n{i // 3:05}{i % 3:03}", f"Sentence {i:03} " + "x" * 60) for i in range(390)))
    sample(path, tmp_path, form="treebank")
    splits = rows(tmp_path)
    assert sum(len(part) for part in splits.values()) == 110 and len(splits["train"]) >= 70
    for row in (row for part in splits.values() for row in part):
        first = int(row["text"][9:12])
        assert row["id"] == f"{row['page']}000" and row["page"] == f"n{first // 3:05}"
        assert row["text"] == " ".join(f"Sentence {i:03} " + "x" * 60 for i in range(first, first + 3))


@pytest.mark.parametrize(
    ("language", "id", "text", "lengths"),
    [
        ("xx", "doc-{}-{}", "y" * 117, {362, 120}),  # three sentences with spaces; the tenth of a document stands alone
        ("zh", "n{:05}{:03}", "字" * 117, {360, 120}),  # no spaces
    ],
)
def test_paragraphs_of_a_treebank_end_at_300_characters(
    tmp_path: Path, language: str, id: str, text: str, lengths: set[int]
) -> None:
    path = treebank(tmp_path, *((id.format(*divmod(i, 10)), f"{i:03}{text}") for i in range(1000)))
    sample(path, tmp_path, form="treebank", language=language)
    assert {len(row["text"]) for part in rows(tmp_path).values() for row in part} == lengths


def cc100(folder: Path, *texts: list[str]) -> Path:
    """Lines with a blank one after each document."""
    path = folder / "xx.txt.xz"
    path.write_bytes(lzma.compress("".join(line + "\n" for lines in texts for line in [*lines, ""]).encode()))
    return path


def lines_of(n: int, each: int) -> list[list[str]]:
    """Documents with `each` long lines, a short one first, and one that all of them share."""
    return [
        ["Short.", *(f"This is line {k} of document {i}." for k in range(each)), "The same everywhere."] for i in range(1, n + 1)
    ]


def test_paragraphs_of_lines(tmp_path: Path) -> None:
    found = sample(cc100(tmp_path, *lines_of(250, 3)), tmp_path, form="lines")
    assert (found["pages"], found["found"]) == (250, 110)
    splits = rows(tmp_path)
    documents = [{row["page"] for row in part} for part in splits.values()]
    assert sum(map(len, documents)) == len(set.union(*documents))
    for row in (row for part in splits.values() for row in part):
        if row["text"] != "The same everywhere.":
            line, document = re.fullmatch(r"This is line (\d) of document (\d+)\.", row["text"]).groups()  # type: ignore[union-attr]
            assert row["page"] == document and row["id"] == f"{document}#{int(line) + 2}"


def test_documents_are_parted_by_blank_lines(tmp_path: Path) -> None:
    first = "\n\n A first line, with blanks.  \r\nA second line of it.\n \n\n\u3000\n"
    path = tmp_path / "xx.txt"
    path.write_text(f"{first}A document of its own.\n\nAnd the last one here.", encoding="utf-8", newline="")
    found = ordered(path, tmp_path, form="lines", minimum_characters=10)
    assert sorted((row["page"], row["id"], row["text"]) for row in found) == [
        ("1", "1#1", "A first line, with blanks."), ("1", "1#2", "A second line of it."),
        ("2", "2#1", "A document of its own."), ("3", "3#1", "And the last one here."),
    ]  # fmt: skip
    assert parquet.metadata(tmp_path / "xx.train.parquet")["pages"] == 3


def test_the_lines_of_documents_that_come_too_late_are_not_held(tmp_path: Path) -> None:
    path = cc100(tmp_path, *lines_of(3000, 3))
    drawn = ordered(path, tmp_path, form="lines", paragraphs=110)
    found = parquet.metadata(tmp_path / "xx.train.parquet")
    assert found["pages"] == 3000 and 40 < found["pages_parsed"] < 600
    # What is drawn is what a look at all of them would have chosen.
    everything = ordered(path, tmp_path, form="lines")
    assert len(everything) == 3000 * 3 + 1 and drawn == everything[:110]


DOCUMENTS = {
    "n01001011": "n01001", "reviews-319816-0002": "reviews-319816", "akadgram-s51": "akadgram-s51",
    "gdt-20020206-ep-sessions_031-3": "gdt-20020206-ep-sessions_031", "aja_ee199920_1969": "aja_ee199920", "JOHN_10.1": "JOHN_10",
    r"WR-5\WR-5.p.1.s.2": r"WR-5\WR-5", "ssj562.2922.10344": "ssj562", "b104.3": "b104", "test-s4": "test-s4",
    "es-dev-003-s414": "es-dev-003-s414", "mst-0008": "mst-0008", "5726": "5726",
}  # fmt: skip


def test_documents() -> None:
    assert {id: document(id) for id in DOCUMENTS} == DOCUMENTS


# Real data

DUMPS = manifest("wikipedia", "MANIFEST.tsv")


@pytest.mark.long
@needs_mirror
@pytest.mark.parametrize("row", DUMPS, ids=lambda row: row["language"])
def test_real_dumps(row: dict[str, str]) -> None:
    found = list(pages(MIRROR / "wikipedia" / row["path"]))
    chosen = [p for p in found if p.is_article]
    redirects = sum(p.redirect for p in found)
    assert (len(found), len(chosen), redirects) == tuple(int(row[key]) for key in ("pages", "articles", "redirects"))
    texts = [text for p in chosen[::8] for text in paragraphs(p.text)]
    marked = [text for text in texts if re.search(r"\[\[|\{\{|<ref|\|-|''", text)]
    assert len(marked) <= len(texts) / 1000


@pytest.mark.long
@needs_mirror
@pytest.mark.parametrize("row", DUMPS, ids=lambda row: row["language"])
def test_real_dumps_as_mwxml_reads_them(row: dict[str, str]) -> None:
    path = MIRROR / "wikipedia" / row["path"]
    with bz2.open(path) as stream:
        for expected, found in zip(mwxml.Dump.from_file(stream), pages(path), strict=True):
            (revision,) = expected
            assert (expected.title, expected.namespace, revision.text or "") == (found.title, found.namespace, found.text)
            assert (expected.redirect is not None) == found.redirect


@pytest.mark.parametrize("language", ["ar", "zh"])
def test_the_synthetic_corpus_comes_back(tmp_path: Path, language: str) -> None:
    """A dump that is made from known paragraphs gives just these."""
    grammar = read_grammar(language)
    meant = synthetic.articles.articles(grammar, 20, 0)
    path = tmp_path / "wiki.xml.bz2"
    path.write_bytes(synthetic.dumps.dump(grammar, meant, 0)[0])
    pages = [(p.title, tuple(text for text in paragraphs(p.text, p.language) if len(text) >= 100)) for p in articles(path)]
    assert pages == [(article.title, tuple(paragraph.text for paragraph in article.paragraphs)) for article in meant]


@pytest.mark.long
@needs_mirror
@pytest.mark.parametrize(("wiki", "number"), [("enwiki", 100), ("jawiki", 100), ("elwiki", 5000)])
def test_unknown_subwords_leave_before_the_sample_is_drawn(tmp_path: Path, wiki: str, number: int) -> None:
    """With mBERT's vocabulary, which has no typographic quotes or dashes: as many paragraphs as configured, in random order."""
    tokenizer = mbert_tokenizer()
    save_tokenizer(tokenizer, tmp_path)
    path = next(path for path in (MIRROR / "wikipedia" / wiki).glob("*/*.bz2") if "index" not in path.name)
    sampled = sample(path, tmp_path, minimum_characters=100, paragraphs=number, candidates=10)
    for split, nominal in sampled["nominal"].items():
        corpus, output = tmp_path / f"xx.{split}.parquet", tmp_path / f"tokens.{split}.parquet"
        counts = write_tokens(load_tokenizer(tmp_path), corpus, output, Tokenisation(labelled_subword="word_starts"), split)
        candidates = schema.read(corpus).to_pylist()[: nominal + counts["unknown"]]
        ids = [row["id"] for row in candidates if "[UNK]" not in tokenizer.encode(row["text"]).tokens[:511]]
        assert schema.read(output)["id"].to_pylist() == ids and len(ids) == counts["texts"] == nominal
        assert number == 5000 or max(Counter(row["page"] for row in candidates).values()) <= 3
