"""Documents: WiLI-2018, MLDoc over Reuters' XML, SIB-200 and tanti2021's paragraphs, refused in one line with the place."""

import csv
import io
import logging
import lzma
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from crosslens.config.base import languages_table
from crosslens.config.presets import read_yaml
from crosslens.corpora import documents, schema
from crosslens.corpora.documents import read, wili_label
from crosslens.corpora.official import write_corpus
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from tokenizers import BertWordPieceTokenizer

MIRROR = Path(__file__).parents[2] / "shared" / "mirror"
needs_mirror = pytest.mark.skipif(not (MIRROR / "wili-2018-10lang").is_dir(), reason="needs WiLI in ../shared/mirror")


def save(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(lzma.compress(content) if path.suffix == ".xz" else content)
    return path


# WiLI-2018

TEXTS = "Ein Satz.\nOne sentence.\n Noch\teiner. \n"
LABELS = "deu\neng\ndeu\n"


@pytest.mark.parametrize("suffix", ["", ".xz"])
@pytest.mark.parametrize("turned", [False, True])
def test_wili(tmp_path: Path, suffix: str, turned: bool) -> None:
    paths = [save(tmp_path, TEXTS, f"x_train.txt{suffix}"), save(tmp_path, LABELS, f"y_train.txt{suffix}")]
    rows, dropped = read(paths[::-1] if turned else paths, "de")
    assert rows == [
        {"id": "x_train/1", "language": "de", "text": "Ein Satz.", "label": "deu"},
        {"id": "x_train/3", "language": "de", "text": " Noch\teiner. ", "label": "deu"},
    ]
    schema.write(rows, tmp_path / "de.train.parquet", documents.SCHEMA, dropped)
    assert schema.read(tmp_path / "de.train.parquet").to_pylist() == rows


def test_labels_may_be_our_codes(tmp_path: Path) -> None:
    paths = [save(tmp_path, TEXTS, "x_train.txt.xz"), save(tmp_path, "de\nen\nde\n", "y_train.txt")]
    assert [row["label"] for row in read(paths, "de")[0]] == ["deu", "deu"]


# The 99 of wu2019 (crosslingual-nlp, src/constant.py), and the other languages of our table that WiLI-2018 has.
WU2019 = """afr ara arg ast azb aze bak bar bel ben bos bpy bre bul cat ceb ces che chv cym dan deu ell eng est eus fas fin
fra fry gle glg guj hat hbs heb hin hrv hye ido ind isl ita jav jpn kan kat kaz kir kor lat lav lit lmo ltz mal
mar min mkd mlg mon msa mya nds nep new nld nno oci pan pol por ron rus scn sco slk slv spa sqi srp sun swa swe
tam tat tel tgk tgl tha tur ukr urd uzb vie vol war yor zho""".split()
PASSPORT = "grn nqo quy tzm zul".split()  # languages of the passport alone
OTHERS = "amh asm epo gla hau hun khm kur lao lzh nob ori orm pnb pus san sin snd som uig xho yid".split()


def test_every_language_has_its_label() -> None:
    labels = {code: wili_label(code) for code in languages_table() if "_" not in code}
    assert len(set(labels.values())) == len(labels)
    assert sorted(labels.values()) == sorted([*WU2019, *OTHERS, *PASSPORT, "pms"])  # Piedmontese: not in WiLI-2018
    assert (labels["sq"], labels["zh"], labels["no"]) == ("sqi", "zho", "nob")  # `als` of WiLI is Alemannic
    with pytest.raises(DataError, match="WiLI-2018: expected a language code without _, found 'hi_rom'; remove the language"):
        wili_label("hi_rom")


@pytest.mark.parametrize("names", [["x_train.txt"], ["x_train.txt", "y_test.txt"], ["x_a.txt", "y_a.txt", "labels.csv"]])
def test_texts_and_labels_belong_together(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(DataError, match="expected x_SPLIT.txt and y_SPLIT.txt; name both files of each split"):
        read([save(tmp_path, TEXTS, name) for name in names], "de")


@needs_mirror
@pytest.mark.parametrize("corpus", ["wili-2018-10lang", "wikiann-langid"])
def test_real_wili(corpus: str) -> None:
    for split, number in (("train", 500), ("test", 500)) if "wili" in corpus else (("train", 200), ("test", 60)):
        paths = [MIRROR / corpus / f"{part}_{split}.txt.xz" for part in "xy"]
        with lzma.open(paths[1], "rt", encoding="utf-8") as stream:
            labels = Counter(line.strip() for line in stream)
        known = {code: wili_label(code) for code in languages_table() if "_" not in code}
        # Old English and Faroese are not in our table.
        ours = {code for code, label in known.items() if {label, code} & labels.keys()}
        assert len(ours) == len(labels) - len({"ang", "fao"} & labels.keys())
        for language in sorted(ours)[:: 1 if "wili" in corpus else 6]:
            rows, _ = read(paths, language)
            assert len(rows) == number and {row["label"] for row in rows} == {known[language]}, language


# MLDoc


def newsitem(*topics: str, paragraphs: tuple[str, ...] = ("Ein Absatz &", "und noch einer."), encoding: str = "utf-8") -> bytes:
    codes = "".join(f'<code code="{topic}"><editdetail attribution="Reuters"/></code>' for topic in topics)
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)
    return (
        f'<?xml version="1.0" encoding="{encoding}" ?>\n<newsitem itemid="1" xml:lang="de">\n<title>Titel</title>\n<text>\n{text}'
        '</text>\n<metadata><codes class="bip:countries:1.0"><code code="GCAT"/></codes>\n'
        f'<codes class="bip:topics:1.0">{codes}</codes></metadata></newsitem>\n'
    ).encode(encoding)


NEWS = {
    "FDG46/381033": newsitem("C15", "CCAT"),
    "FDG20/329214": newsitem("GCAT", paragraphs=("Öl",), encoding="iso-8859-1"),
    "FDG22/333651": newsitem("M14", "MCAT", paragraphs=("C",)),
    "FDG22/333652": newsitem("ECAT"),
}
INDEX = "FDG22-333651\nFDG46-381033\nFDG20-329214\n"
TEXT = "Ein Absatz & und noch einer."


def reuters(folder: Path, form: str, news: dict[str, bytes]) -> Path:
    """The documents as an archive or a folder."""
    if form == "folder":
        for name, content in news.items():
            save(folder, content, f"german/{name}.xml")
        return folder / "german"
    path = folder / f"rcv2.{form}"
    members = {f"RCV2_Multilingual_Corpus/german/{name}.xml": content for name, content in news.items()}
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:xz") as tar:
            for name, content in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("form", ["tar.xz", "zip", "folder"])
def test_mldoc_in_the_order_of_the_index(tmp_path: Path, form: str) -> None:
    index = save(tmp_path, INDEX, "german.train.1000")
    rows, dropped = read([index], "de", texts=reuters(tmp_path, form, NEWS))
    assert rows == [
        {"id": "FDG22-333651", "language": "de", "text": "C", "label": "MCAT"},
        {"id": "FDG46-381033", "language": "de", "text": TEXT, "label": "CCAT"},
        {"id": "FDG20-329214", "language": "de", "text": "Öl", "label": "GCAT"},
    ]
    assert dropped == {"unreadable": 0, "topics": 0, "text": 0}
    schema.write(rows, tmp_path / "de.train.parquet", documents.SCHEMA, dropped)
    assert schema.read(tmp_path / "de.train.parquet").to_pylist() == rows


def test_the_names_of_rcv1(tmp_path: Path) -> None:
    index = save(tmp_path, "19970227-406451newsML\n", "english.dev")
    archive = reuters(tmp_path, "tar.xz", {"19970227/406451newsML": NEWS["FDG46/381033"], "codes": b"<x/>"})
    assert [row["id"] for row in read([index], "en", texts=str(archive))[0]] == ["19970227-406451newsML"]


DROPPED = {
    "two topics": ("topics", newsitem("CCAT", "GCAT")),
    "the same topic twice": ("topics", newsitem("CCAT", "CCAT")),
    "no main topic": ("topics", newsitem("C15")),
    "no topic": ("topics", newsitem()),
    "no paragraph": ("text", newsitem("CCAT", paragraphs=())),
    "an empty paragraph": ("text", newsitem("CCAT", paragraphs=("a", ""))),
    "no XML": ("unreadable", b"<html><p>Not found"),
    "cut short": ("unreadable", newsitem("CCAT")[:-30]),
    "another encoding": (
        "unreadable",
        newsitem("CCAT", paragraphs=("Öl",), encoding="iso-8859-1").replace(b"iso-8859-1", b"utf-8"),
    ),
    "an unknown encoding": ("unreadable", newsitem("CCAT").replace(b"utf-8", b"reuters-8")),
    "empty": ("unreadable", b""),
}


@pytest.mark.parametrize("case", DROPPED)
def test_what_mldoc_leaves_out_is_dropped_and_counted(tmp_path: Path, case: str) -> None:
    why, content = DROPPED[case]
    index = save(tmp_path, INDEX, "german.train.1000")
    rows, dropped = read([index], "de", texts=reuters(tmp_path, "tar.xz", NEWS | {"FDG46/381033": content}))
    assert [row["id"] for row in rows] == ["FDG22-333651", "FDG20-329214"]
    assert dropped == {"unreadable": 0, "topics": 0, "text": 0} | {why: 1}


@pytest.mark.parametrize("form", ["tar.xz", "folder"])
def test_documents_that_the_archive_lacks_are_named(tmp_path: Path, form: str) -> None:
    index = save(tmp_path, f"{INDEX}FDG1-1\nFDG1-2\n", "german.train.1000")
    texts = reuters(tmp_path, form, NEWS)
    with pytest.raises(DataError) as error:
        read([index], "de", texts=texts)
    assert str(error.value) == (
        f"{index}:4: expected a document for each of the 5 ids in {texts}, found none for FDG1-1 and 1 others; "
        "name the complete corpus of this language"
    )


# SIB-200

HEADER = "index_id\tcategory\ttext\n"
TOPICS = ["travel", "science/technology"]


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_tables(tmp_path: Path, suffix: str) -> None:
    table = HEADER + '548\ttravel\tEine  Reise, "gut".\n7\tscience/technology\t"""Was?"", fragt \'sie\'."\n'
    path = save(tmp_path, table, f"dev.tsv{suffix}")
    rows, dropped = read([path], "de", labels=TOPICS)
    assert (rows, dropped) == (
        [
            {"id": "548", "language": "de", "text": 'Eine  Reise, "gut".', "label": "travel"},
            {"id": "7", "language": "de", "text": "\"Was?\", fragt 'sie'.", "label": "science/technology"},
        ],
        {},
    )
    further = save(tmp_path, f"{HEADER}8\ttravel\tNoch eine.\n", "test.tsv")
    assert [row["id"] for row in read([further, path], "de", labels=TOPICS)[0]] == ["8", "548", "7"]
    with pytest.raises(DataError, match=f"{path}:2: expected a new index_id, found 548 a second time; fetch the file again"):
        read([path, path], "de", labels=TOPICS)


# tanti2021's paragraphs, as its released code writes them: row, subwords without ##, language

PARTS = {"dataset_train": 6, "dataset_val": 2, "dataset_dev": 2, "dataset_test": 4}
FILES = read_yaml(Path(__file__).parents[1] / "config.yaml")["corpora"]["wiki_lang_id"]["files"]


def pieces(rows: int, *, header: str = "row,tokens,language", languages: tuple[str, ...] = ("de", "en")) -> str:
    """A table of the released code: Python's csv, dialect excel, languages in turn."""
    stream = io.StringIO()
    csv.writer(stream, dialect="excel").writerows(
        [header.split(","), *([row, f'Ein Satz " {row} " , ge teil t', languages[row % len(languages)]] for row in range(rows))]
    )
    return stream.getvalue()


def written(folder: Path, members: dict[str, str]) -> Path:
    """The corpus folder that is made of an archive."""
    archive = folder / "wiki_lang_id_v1.0.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    asked = {f"{language}.{split}": globs for language in ("de", "en") for split, globs in FILES.items()}
    settings = {"limits": {}, "texts": {}, "labels": [], "seed": 0}
    write_corpus(documents, {str(archive): asked}, folder / "corpus", logging.getLogger(), **settings)  # type: ignore[arg-type]
    return folder / "corpus"


@pytest.mark.parametrize("folder", ["", "wiki_lang_id_v1.0/"])
def test_paragraphs_keep_their_splits_and_order(tmp_path: Path, folder: str) -> None:
    members = {f"{folder}{name}.csv": pieces(rows) for name, rows in PARTS.items()}
    members |= {f"__MACOSX/{folder}._dataset_train.csv": "\0", f"{folder}lang_names.txt": "de\nen\n"}
    corpus = written(tmp_path, members)
    sizes = {path.name.removesuffix(".parquet"): schema.read(path).num_rows for path in sorted(corpus.glob("*.parquet"))}
    assert sizes == {"de.train": 3, "de.validation": 1, "de.dev": 1, "de.test": 2,
                     "en.train": 3, "en.validation": 1, "en.dev": 1, "en.test": 2}  # fmt: skip
    assert schema.read(corpus / "en.train.parquet").to_pylist() == [
        {"id": f"dataset_train/{row}", "language": "en", "text": f'Ein Satz " {row} " , ge teil t', "label": "en"}
        for row in (1, 3, 5)
    ]
    assert parquet.metadata(corpus / "de.dev.parquet")["files"] == ["dataset_dev.csv"]


def tables(content: str) -> dict[str, str]:
    """An archive whose four tables are the same."""
    return {f"{name}.csv": content for name in PARTS}


TRAIN = "/dataset_train.csv"
ARCHIVES = {  # members of another archive, and what the message says of it
    "no tables": ({"dataset_train.hdf": "x", "data_spec.json": "{}"},
                  ": expected dataset_train.csv or */dataset_train.csv for de.train, found dataset_train.hdf, data_spec.json; "),
    "no development set": ({name: content for name, content in tables(pieces(4)).items() if "dev" not in name},
                           ": expected dataset_dev.csv or "),
    "texts, not tokens": (tables(pieces(4, header="text,lang,page")),
                          f"{TRAIN}:1: expected the columns row, tokens, language, separated by commas, found text, lang, page"),
    "other codes": (tables(pieces(4, languages=("deu", "eng"))),
                    f"{TRAIN}: expected rows with the language 'de', found deu, eng; remove the language"),
    "a table twice": (tables(pieces(4)) | {"copy/dataset_train.csv": pieces(4)}, f"{TRAIN}:1: expected files that differ"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARCHIVES)
def test_another_archive_of_paragraphs_is_told_by_what_it_has(tmp_path: Path, case: str) -> None:
    members, message = ARCHIVES[case]
    with pytest.raises(DataError) as error:
        written(tmp_path, members)
    assert str(error.value).startswith(f"{tmp_path}/wiki_lang_id_v1.0.zip") and message in str(error.value), str(error.value)
    assert "\n" not in str(error.value) and not (tmp_path / "corpus").exists()


@pytest.mark.skipif(not (MIRROR / "text").is_dir(), reason="needs real text in ../shared/mirror")
def test_tokens_without_marks_are_other_pieces(tmp_path: Path) -> None:
    """docs/tanti2021.md: what reading these tables changes, on real text in languages of the study and mBERT's vocabulary."""
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_bytes(lzma.decompress((MIRROR / "bert-base-multilingual-cased" / "vocab.txt.xz").read_bytes()))
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=False, strip_accents=False)
    names = tokenizer.get_vocab()
    continued, longer, kept, alike = {}, {}, {}, []
    for code in read_yaml(Path(__file__).parents[1] / "config.yaml")["corpora"]["wiki_lang_id"]["languages"]:
        file = MIRROR / "text" / f"{code}.tsv.xz"
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()[1:201] if file.exists() else []
        encodings = [each for line in lines if "[UNK]" not in (each := tokenizer.encode(line.split("\t")[4])).tokens]
        if len(encodings) >= 20:
            before = [each.tokens[1:-1][:126] for each in encodings]
            after = [tokenizer.encode(" ".join(piece.removeprefix("##") for piece in each)).tokens[1:-1] for each in before]
            number = sum(map(len, before))
            continued[code] = sum(piece.startswith("##") for each in before for piece in each) / number
            longer[code] = sum(map(len, after)) / number - 1
            alike += [piece[2:] in names for each in before for piece in each if piece.startswith("##")]
            kept[code] = sum(map(list.__eq__, before, after)) / len(before)
            assert not any("[UNK]" in each for each in after)
    assert len(kept) == 30 and kept.pop("zh") > 0.7 and max(continued.pop("zh"), longer.pop("zh")) < 0.01
    assert 0.555 < sum(alike) / len(alike) < 0.565  # of these, spelt like one that begins a word
    assert max(kept.values()) < 0.05  # share of texts whose pieces stay as they are
    assert 0.13 < min(continued.values()) < 0.14 and 0.9 < max(continued.values())  # of pieces that continue a word
    assert 0.04 < min(longer.values()) < 0.05 and 0.5 < max(longer.values()) < 0.55  # growth of a text in pieces
