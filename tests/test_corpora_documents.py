"""Documents: WiLI-2018, MLDoc over Reuters' XML, SIB-200 and tanti2021's paragraphs."""

import csv
import io
import logging
import lzma
from collections import Counter
from pathlib import Path

import pytest
from conftest import MIRROR, mbert_tokenizer, save
from crosslens.config.base import languages_table
from crosslens.config.presets import read_yaml
from crosslens.corpora import documents, schema
from crosslens.corpora.documents import read, wili_label
from crosslens.corpora.official import write_corpus
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from official_formats import REUTERS
from synthetic.archives import tarred, zipped

needs_mirror = pytest.mark.skipif(not (MIRROR / "wili-2018-10lang").is_dir(), reason="needs WiLI in ../shared/mirror")


# WiLI-2018


@pytest.mark.parametrize("labels", ["deu\neng\ndeu\n", "de\nen\nde\n"])
@pytest.mark.parametrize("turned", [False, True])
def test_wili(tmp_path: Path, labels: str, turned: bool) -> None:
    """The labels are those of WiLI, or our codes; the two files come in any order."""
    paths = [save(tmp_path, "Ein Satz.\nOne sentence.\n Noch\teiner. \n", "x_train.txt"), save(tmp_path, labels, "y_train.txt")]
    rows, _ = read(paths[::-1] if turned else paths, "de")
    assert rows == [
        {"id": "x_train/1", "language": "de", "text": "Ein Satz.", "label": "deu"},
        {"id": "x_train/3", "language": "de", "text": " Noch\teiner. ", "label": "deu"},
    ]


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


@pytest.mark.parametrize("names", [["x_train.txt"], ["x_train.txt", "y_test.txt"]])
def test_texts_and_labels_belong_together(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(DataError, match="expected x_SPLIT.txt and y_SPLIT.txt; name both files of each split"):
        read([save(tmp_path, "Ein Satz.\n", name) for name in names], "de")


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

NEWS = {"FDG46/381033": REUTERS % (b"CCAT", 15), "FDG20/329214": REUTERS % (b"GCAT", 1), "FDG22/333651": REUTERS % (b"MCAT", 1)}
INDEX = "FDG22-333651\nFDG46-381033\n"


def reuters(folder: Path, form: str) -> Path:
    """The documents as an archive."""
    members = {f"RCV2_Multilingual_Corpus/german/{name}.xml": content for name, content in NEWS.items()}
    return save(folder, zipped(members) if form == "zip" else lzma.compress(tarred(members)), f"rcv2.{form}")


@pytest.mark.parametrize("form", ["tar.xz", "zip"])
def test_mldoc_in_the_order_of_the_index(tmp_path: Path, form: str) -> None:
    index, texts = save(tmp_path, INDEX, "german.train.1000"), reuters(tmp_path, form)
    rows, dropped = read([index], "de", texts=texts)
    assert rows == [
        {"id": "FDG22-333651", "language": "de", "text": "Fünf & sechs. Sieben.", "label": "MCAT"},
        {"id": "FDG46-381033", "language": "de", "text": "Fünf & sechs. Sieben.", "label": "CCAT"},
    ]
    assert dropped == {"unreadable": 0, "topics": 0, "text": 0}
    save(tmp_path, f"{INDEX}FDG1-1\nFDG1-2\n", "german.train.1000")
    with pytest.raises(DataError) as error:
        read([index], "de", texts=texts)
    assert str(error.value) == (
        f"{index}:3: expected a document for each of the 4 ids in {texts}, found none for FDG1-1 and 1 others; "
        "name the complete corpus of this language"
    )


def test_the_names_of_rcv1(tmp_path: Path) -> None:
    index = save(tmp_path, "19970227-406451newsML\n", "english.dev")
    archive = {"rcv/19970227/406451newsML.xml": NEWS["FDG46/381033"], "rcv/codes.xml": b"<x/>"}
    texts = save(tmp_path, lzma.compress(tarred(archive)), "rcv1.tar.xz")
    assert [row["id"] for row in read([index], "en", texts=str(texts))[0]] == ["19970227-406451newsML"]


# SIB-200


def test_tables(tmp_path: Path) -> None:
    header, topics = "index_id\tcategory\ttext\n", ["travel", "science/technology"]
    table = header + '548\ttravel\tEine  Reise, "gut".\n7\tscience/technology\t"""Was?"", fragt \'sie\'."\n'
    path = save(tmp_path, table, "dev.tsv")
    rows, dropped = read([path], "de", labels=topics)
    assert rows == [
        {"id": "548", "language": "de", "text": 'Eine  Reise, "gut".', "label": "travel"},
        {"id": "7", "language": "de", "text": "\"Was?\", fragt 'sie'.", "label": "science/technology"},
    ]
    assert dropped == {}
    further = save(tmp_path, f"{header}8\ttravel\tNoch eine.\n", "test.tsv")
    assert [row["id"] for row in read([further, path], "de", labels=topics)[0]] == ["8", "548", "7"]
    with pytest.raises(DataError, match=f"{path}:2: expected a new index_id, found 548 a second time; fetch the file again"):
        read([path, path], "de", labels=topics)


# tanti2021's paragraphs, as its released code writes them: row, subwords without ##, language

PARTS = {"dataset_train": 6, "dataset_val": 2, "dataset_dev": 2, "dataset_test": 4}
FILES = read_yaml(Path(__file__).parents[1] / "config.yaml")["corpora"]["wiki_lang_id"]["files"]


def pieces(rows: int, *, header: str = "row,tokens,language", languages: tuple[str, ...] = ("de", "en")) -> bytes:
    """A table of the released code: Python's csv, dialect excel, languages in turn."""
    stream = io.StringIO()
    csv.writer(stream, dialect="excel").writerows(
        [header.split(","), *([row, f'Ein Satz " {row} " , ge teil t', languages[row % len(languages)]] for row in range(rows))]
    )
    return stream.getvalue().encode()


def written(folder: Path, members: dict[str, bytes]) -> Path:
    """The corpus folder that is made of an archive."""
    archive = save(folder, zipped(members), "wiki_lang_id_v1.0.zip")
    asked = {f"{language}.{split}": globs for language in ("de", "en") for split, globs in FILES.items()}
    settings = {"limits": {}, "texts": {}, "labels": [], "seed": 0}
    write_corpus(documents, {str(archive): asked}, folder / "corpus", logging.getLogger(), **settings)  # type: ignore[arg-type]
    return folder / "corpus"


@pytest.mark.parametrize("folder", ["", "wiki_lang_id_v1.0/"])
def test_paragraphs_keep_their_splits_and_order(tmp_path: Path, folder: str) -> None:
    members = {f"{folder}{name}.csv": pieces(rows) for name, rows in PARTS.items()}
    members |= {f"__MACOSX/{folder}._dataset_train.csv": b"\0", f"{folder}lang_names.txt": b"de\nen\n"}
    corpus = written(tmp_path, members)
    sizes = {path.name.removesuffix(".parquet"): schema.read(path).num_rows for path in sorted(corpus.glob("*.parquet"))}
    assert sizes == {"de.train": 3, "de.validation": 1, "de.dev": 1, "de.test": 2,
                     "en.train": 3, "en.validation": 1, "en.dev": 1, "en.test": 2}  # fmt: skip
    assert schema.read(corpus / "en.train.parquet").to_pylist() == [
        {"id": f"dataset_train/{row}", "language": "en", "text": f'Ein Satz " {row} " , ge teil t', "label": "en"}
        for row in (1, 3, 5)
    ]
    assert parquet.metadata(corpus / "de.dev.parquet")["files"] == ["dataset_dev.csv"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pieces(4, header="text,lang,page"), ":1: expected the columns row, tokens, language, separated by commas, found text, "),
        (pieces(4, languages=("deu", "eng")), ": expected rows with the language 'de', found deu, eng; remove the language"),
    ],
    ids=["texts, not tokens", "other codes"],
)
def test_another_table_of_paragraphs_is_told_by_what_it_has(tmp_path: Path, table: bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        written(tmp_path, {f"{name}.csv": table for name in PARTS})
    assert str(error.value).startswith(f"{tmp_path}/wiki_lang_id_v1.0.zip/dataset_train.csv{message}")
    assert "\n" not in str(error.value) and not (tmp_path / "corpus").exists()


@pytest.mark.skipif(not (MIRROR / "text").is_dir(), reason="needs real text in ../shared/mirror")
def test_tokens_without_marks_are_other_pieces() -> None:
    """docs/tanti2021.md: what reading these tables changes, on real text in languages of the study and mBERT's vocabulary."""
    tokenizer = mbert_tokenizer()
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
