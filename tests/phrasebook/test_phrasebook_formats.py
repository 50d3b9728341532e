"""The phrasebook in the official formats of named entities, documents, dictionaries, typology and running text: what is meant
can be read from the files, by simple code of this file's own and by the readers of crosslens.corpora.
"""

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import shutil
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from crosslens.config.base import languages_table
from crosslens.config.phrasebook import Phrasebook
from crosslens.corpora import dictionaries, documents, entities, pairs, schema, wals
from crosslens.corpora.archives import extracted
from crosslens.corpora.sampling import write_paragraphs
from phrasebook.archives import gz, tarred, xz, zipped
from phrasebook.articles import articles, paragraphs
from phrasebook.dictionaries import dictionary
from phrasebook.entities import iob1, sentences, tagged
from phrasebook.errors import PhrasebookError
from phrasebook.generate import Stream, different, split_of
from phrasebook.grammar import read_grammar
from phrasebook.inference import prompts
from phrasebook.paths import MLDOC, SIB200, sib200_path
from phrasebook.realise import realise
from phrasebook.running import EVERYDAY, everyday
from phrasebook.tables import TABLES, languages_present
from phrasebook.topics import CODES, FIELDS, TOPICS, passage
from phrasebook.topics import documents as news
from phrasebook.wals import read_features
from phrasebook.write import Sizes, write_sources
from phrasebook.xnli import XNLI_LANGUAGES

LANGUAGES = languages_present()
RECORDS = 8
SMALL = Sizes(
    train=20, dev=5, test=6, parallel=6, articles=12, inference_train=6, inference_dev=3, inference_test=3, records=RECORDS
)
SPLITS = {"train": 3 * RECORDS, "dev": RECORDS, "test": RECORDS}
WALS = Path(__file__).parents[3] / "shared" / "mirror" / "wals" / "v2020" / "cldf"
every_language = pytest.mark.parametrize("language", LANGUAGES)
every_mldoc = pytest.mark.parametrize("language", MLDOC)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_sources(folder, LANGUAGES, 0, SMALL)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# The files.


def test_the_configuration_lists_every_file(sources):
    assert set(contents(sources)) == set(Phrasebook(languages=LANGUAGES).files())


def test_few_languages_have_few_files(tmp_path):
    write_sources(tmp_path, ["fi"], 0, SMALL)
    assert set(contents(tmp_path)) == set(Phrasebook(languages=["fi"], train_languages=[]).files())
    assert not any(name.startswith(("reuters", "mldoc", "conll", "msra")) for name in contents(tmp_path))


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(tmp_path):
    for folder, seed in (("one", 0), ("two", 0), ("three", 1)):
        write_sources(tmp_path / folder, ["en", "zh"], seed, SMALL)
    one, two, three = (contents(tmp_path / folder) for folder in ("one", "two", "three"))
    assert one == two
    assert {name for name in one if one[name] == three[name]} == {name for name in one if name.startswith("wals-2020")}


# Of these settings, before the other formats came. Compressed bytes depend on libbz2: the digest is of what is in them.
BEFORE = {
    "multinli/multinli_1.0.zip": "070e41f24bc0ba18",
    "ud/UD_Chinese-Phrasebook/zh_phrasebook-ud-test.conllu": "377cb1cf3f2c58a8",
    "ud/UD_English-Phrasebook/en_phrasebook-ud-train.conllu": "a012d299a538820c",
    "ud/UD_German-PhrasebookPUD/de_phrasebookpud-ud-test.conllu": "8c363504c282b271",
    "wikipedia/dewiki/20260101/dewiki-20260101-pages-articles-multistream.xml.bz2": "3d6f861d6a9e66dc",
    "wikipedia/zhwiki/20260101/zhwiki-20260101-pages-articles-multistream.xml.bz2": "bdb814f9fca813d9",
    "xnli/XNLI-1.0.zip": "c0bd75a3abf37721",
}


def test_older_formats_are_what_they_were(tmp_path):
    write_sources(tmp_path, ["de", "en", "zh"], 0, SMALL)
    for name, expected in BEFORE.items():
        content = (tmp_path / name).read_bytes()
        content = bz2.decompress(content) if name.endswith(".bz2") else content
        assert hashlib.sha256(content).hexdigest()[:16] == expected, name


def test_archives_have_fixed_dates_and_owners():
    members = {"a": b"1", "b/c": b"22"}
    with zipfile.ZipFile(io.BytesIO(zipped(members))) as archive:
        assert {(info.filename, info.date_time[0], info.compress_type) for info in archive.infolist()} == {
            ("a", 2026, zipfile.ZIP_STORED),
            ("b/c", 2026, zipfile.ZIP_STORED),
        }
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(xz(tarred(members))))) as archive:
        assert [(each.name, each.mtime, each.uid, each.uname, each.mode) for each in archive] == [
            ("a", 0, 0, "", 0o644),
            ("b/c", 0, 0, "", 0o644),
        ]
    assert gzip.decompress(gz(b"33")) == b"33" and gz(b"33")[3:8] == bytes(5)


# Named entities.


def blocks(text: str) -> list[list[str]]:
    """Lines between empty lines; the file ends with one."""
    assert text.endswith("\n\n") and "\n\n\n" not in text
    return [block.split("\n") for block in text[:-2].split("\n\n")]


def meant(language: str, corpus: str, split: str) -> list[list[tuple[str, str]]]:
    found = sentences(read_grammar(language), corpus, split, RECORDS, 0)
    return [[(token.form, tag) for token, tag in tagged(sentence)] for sentence in found]


def from_iob1(tags: list[str]) -> list[str]:
    """IOB2: I- after O, at the start or after another type opens a name."""
    return ["B" + tag[1:] if tag[0] == "I" and (i == 0 or tags[i - 1][1:] != tag[1:]) else tag for i, tag in enumerate(tags)]


@every_language
def test_tags_are_over_the_names(language):
    grammar = read_grammar(language)
    types = Counter()
    for sentence in sentences(grammar, "wikiann", "train", RECORDS, 0):
        words = tagged(sentence)
        assert [token for token, _ in words] == list(sentence.tokens)
        assert sum(tag[0] == "B" for _, tag in words) == len(sentence.entities)
        for entity in sentence.entities:
            inside = [tag for token, tag in words if token.first <= entity.last and entity.first <= token.last]
            assert inside == [f"B-{entity.type}"] + [f"I-{entity.type}"] * (len(inside) - 1)
        types.update(tag for _, tag in words)
    assert set(types) - {"I-PER", "I-LOC"} == {"O", "B-PER", "B-LOC"}


@every_language
def test_splits_of_named_sentences_share_no_meaning(language):
    grammar = read_grammar(language)
    for corpus in ("wikiann", "conll"):
        for split, n in SPLITS.items():
            found = sentences(grammar, corpus, split, RECORDS, 0)
            assert len({sentence.meaning for sentence in found}) == n
            assert {split_of(sentence.meaning) for sentence in found} == {split}


@every_language
def test_one_sentence_in_five_has_no_name(language):
    found = sentences(read_grammar(language), "wikiann", "train", 60, 0)
    share = sum(not sentence.entities for sentence in found) / len(found)
    assert 0.12 < share < 0.35  # where a country is an adjective, or drawing a name fails, a little more


@every_language
def test_wikiann_has_an_archive_a_language(language, sources):
    with zipfile.ZipFile(sources / "wikiann/panx_dataset.zip") as archive:
        assert archive.namelist() == [f"{code}.tar.gz" for code in LANGUAGES]
        inner = archive.read(f"{language}.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(inner), mode="r:gz") as tar:
        assert tar.getnames() == ["dev", "test", "train"]
        for split in SPLITS:
            read = [[line.split("\t") for line in block] for block in blocks(tar.extractfile(split).read().decode())]
            assert all(word.startswith(f"{language}:") for block in read for word, _ in block)
            plain = [[(word.removeprefix(f"{language}:"), tag) for word, tag in block] for block in read]
            assert plain == meant(language, "wikiann", split)
            assert len(plain) == SPLITS[split]


def test_conll_2002_has_words_tags_and_iob2(sources):
    for split, file in (("train", "esp.train"), ("dev", "esp.testa"), ("test", "esp.testb")):
        read = blocks((sources / "conll-2002" / file).read_text(encoding="utf-8"))
        cells = [[line.split(" ") for line in block] for block in read]
        assert {len(row) for block in cells for row in block} == {3}
        assert [[(word, tag) for word, _, tag in block] for block in cells] == meant("es", "conll", split)


@pytest.mark.parametrize(
    ("language", "stem", "columns"), [("en", "conll-2003/eng", 4), ("de", "conll-2003-german/deu", 5)], ids=["en", "de"]
)
def test_conll_2003_has_documents_and_iob1(language, stem, columns, sources):
    for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb")):
        cells = [[line.split(" ") for line in block] for block in blocks((sources / f"{stem}.{file}").read_text("iso-8859-1"))]
        assert {len(row) for block in cells for row in block} == {columns}
        places = [number for number, block in enumerate(cells) if block[0][0] == "-DOCSTART-"]
        assert places == [11 * number for number in range(len(places))]  # of ten sentences each
        assert all(cells[place] == [["-DOCSTART-", *["-X-"] * (columns - 2), "O"]] for place in places)
        body = [block for number, block in enumerate(cells) if number not in places]
        assert {row[-1][0] for block in body for row in block} == {"I", "O"}
        read = [list(zip([row[0] for row in block], from_iob1([row[-1] for row in block]), strict=True)) for block in body]
        assert read == meant(language, "conll", split)


def test_german_lemmas_and_contractions(sources):
    text = (sources / "conll-2003-german/deu.train").read_text("iso-8859-1")
    rows = {tuple(line.split(" ")[:3]) for line in text.splitlines() if line}
    assert ("ist", "sein", "AUX") in rows
    assert any(lemma == "in+der" and word.lower() == "im" and upos == "ADP" for word, lemma, upos in rows)
    assert any(letter in text for letter in "äöüß")


def test_iob1_marks_neighbours_only():
    assert iob1(["B-PER", "I-PER", "O", "B-LOC"]) == ["I-PER", "I-PER", "O", "I-LOC"]
    assert iob1(["B-PER", "B-PER", "I-PER", "B-LOC"]) == ["I-PER", "B-PER", "I-PER", "I-LOC"]
    assert iob1([]) == []


@every_language
def test_iob1_says_the_same_as_iob2(language):
    both = [[tag for _, tag in tagged(each)] for each in sentences(read_grammar(language), "wikiann", "train", 40, 0)]
    assert [from_iob1(iob1(tags)) for tags in both] == both
    neighbours = any(tag[0] == "B" for tags in both for tag in iob1(tags))
    assert neighbours == (language in ("ar", "hi"))  # README.md says so


def test_msra_spreads_names_over_characters(sources):
    for split in ("train", "test"):
        read = [
            [line.split("\t") for line in block]
            for block in blocks((sources / f"msra/msra_{split}_bio.txt").read_text(encoding="utf-8"))
        ]
        found = sentences(read_grammar("zh"), "conll", split, RECORDS, 0)
        assert ["".join(letter for letter, _ in block) for block in read] == [sentence.text for sentence in found]
        for block, sentence in zip(read, found, strict=True):
            assert all(len(letter) == 1 for letter, _ in block)
            names = []
            for letter, tag in block:
                if tag[0] == "B":
                    names.append((tag[2:], letter))
                elif tag[0] == "I":
                    names[-1] = (tag[2:], names[-1][1] + letter)
            assert names == [
                (entity.type, "".join(word.form for word in sentence.words[entity.first - 1 : entity.last]))
                for entity in sentence.entities
            ]


# Documents.


@pytest.fixture(scope="module")
def reuters(sources) -> dict[str, bytes]:
    """Members of both archives."""
    members = {}
    for name in ("rcv1", "rcv2"):
        with tarfile.open(sources / f"reuters/{name}.tar.xz") as archive:
            members |= {member.name: archive.extractfile(member).read() for member in archive}
    return members


@every_mldoc
def test_indices_point_to_balanced_documents(language, sources, reuters):
    root = "rcv1" if language == "en" else f"RCV2_Multilingual_Corpus/{MLDOC[language]}"
    seen = {}
    for split, n in (("train.1000", 3 * RECORDS), ("dev", RECORDS), ("test", RECORDS)):
        ids = (sources / f"mldoc/{MLDOC[language]}.{split}").read_text(encoding="utf-8").splitlines()
        assert len(set(ids)) == n and not seen.keys() & set(ids)
        labels = Counter()
        for id in ids:
            folder, name = id.split("-")
            item = ElementTree.fromstring(reuters[f"{root}/{folder}/{name}.xml"])
            topics = [code.get("code") for code in item.findall("metadata/codes[@class='bip:topics:1.0']/code")]
            [main] = [code for code in topics if code.endswith("CAT")]
            assert item.get("itemid") == name.removesuffix("newsML") and len(topics) == 2
            labels[main] += 1
            seen[id] = main, tuple(p.text for p in item.findall("text/p"))
        assert labels == dict.fromkeys(("CCAT", "ECAT", "GCAT", "MCAT"), n // 4)
    assert len({text for _, text in seen.values()}) == len(seen)
    expected = {each.path.replace("/", "-"): each for each in news(read_grammar(language), RECORDS, 0)}
    for id, (main, text) in seen.items():
        assert (main, text) == (CODES[expected[id].topics[0]][0], expected[id].sentences)
    # Others are there that no index names: of two topics.
    mixed = [each for id, each in expected.items() if id not in seen]
    assert len(mixed) == len(TOPICS) and all(len(each.topics) == 2 for each in mixed)
    assert all(f"{root}/{each.path}.xml" in reuters for each in expected.values())


def test_ids_look_like_those_of_mldoc(sources):
    for name, pattern in (("german", "FDG"), ("spanish", "REUTES"), ("chinese", "FDCH"), ("russian", "REUTCY")):
        assert all(id.startswith(pattern) for id in (sources / f"mldoc/{name}.dev").read_text().split())
    for id in (sources / "mldoc/english.dev").read_text().split():
        day, name = id.split("-")
        assert day.startswith("19960") and len(day) == 8 and name.endswith("newsML")


@every_language
def test_topics_differ_in_what_they_name_and_not_in_their_sentences(language):
    grammar = read_grammar(language)
    assert {kind: {name for field in FIELDS.values() for name in field[kind]} for kind in ("place", "thing")} == {
        kind: {*grammar.fillers(kind)} for kind in ("place", "thing")
    }
    told = {topic: [passage(grammar, topic, Stream(number, "passage", topic)) for number in range(60)] for topic in TOPICS}
    frames = [{sentence.meaning.frame for found in of_topic for sentence in found} for of_topic in told.values()]
    assert all(each == frames[0] for each in frames) and len(frames[0]) > 8
    for topic, of_topic in told.items():
        assert {len(found) for found in of_topic} == {4, 5, 6}
        named = [name for found in of_topic for sentence in found for _, name in sentence.meaning.fillers]
        named = [name for name in named if name in grammar.fillers("place") + grammar.fillers("thing")]
        own = sum(name in FIELDS[topic]["place"] + FIELDS[topic]["thing"] for name in named) / len(named)
        assert 0.8 < own < 0.95  # 0.85, and a quarter of the others


# Running text.


def test_wili_has_as_many_texts_as_labels(sources):
    with zipfile.ZipFile(sources / "wili-2018/wili-2018.zip") as archive:
        assert archive.namelist() == ["x_train.txt", "y_train.txt", "x_test.txt", "y_test.txt"]
        files = {name: archive.read(name).decode().split("\n") for name in archive.namelist()}
    texts = {}
    for half in ("train", "test"):
        x, y = files[f"x_{half}.txt"], files[f"y_{half}.txt"]
        assert x.pop() == y.pop() == "" and len(x) == len(y)
        assert set(Counter(y).values()) == {RECORDS} and len(set(y)) == len(LANGUAGES)
        assert y != sorted(y)
        assert min(map(len, x)) >= 100
        texts |= dict(zip(x, y, strict=True))
    assert len(texts) == 2 * RECORDS * len(LANGUAGES)  # none twice
    for language in LANGUAGES:
        label = documents.wili_label(language)
        expected = {paragraph.text for paragraph in paragraphs(read_grammar(language), 2 * RECORDS, 0, "wili")}
        assert {text for text, found in texts.items() if found == label} == expected


@pytest.mark.parametrize("language", ["de", "zh"])
def test_cc_100_has_documents_of_other_paragraphs_than_the_dump(language, sources):
    name = languages_table()[language]["cc100"]
    text = lzma.decompress((sources / f"cc-100/{name}.txt.xz").read_bytes()).decode()
    expected = articles(read_grammar(language), RECORDS, 0, "cc-100")
    assert [tuple(block) for block in blocks(text)] == [tuple(each.text for each in article.paragraphs) for article in expected]
    dump = {each.text for article in articles(read_grammar(language), 80, 0) for each in article.paragraphs}
    assert sum(line in dump for block in blocks(text) for line in block) <= 1


def test_too_much_is_refused_with_what_there_is():
    with pytest.raises(PhrasebookError, match=r"phrasebook: 300 articles requested, only \d+ available; request fewer"):
        articles(read_grammar("en"), 300, 0, "cc-100")
    with pytest.raises(PhrasebookError, match=r"phrasebook: 2000 paragraphs requested, only \d+ available; request fewer"):
        paragraphs(read_grammar("en"), 2000, 0, "wili")
    with pytest.raises(
        PhrasebookError, match=r"phrasebook: 3 letters requested, only 2 available; request fewer or add concepts"
    ):
        different(lambda place: "ab"[place % 2], 3, "letters")


# Words.


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_dictionaries_translate_the_lexicons(language, sources):
    english, other = read_grammar("en"), read_grammar(language)
    for source, target in ((english, other), (other, english)):
        name = f"{source.language.code}-{target.language.code}"
        parts = [
            [line.split(" ") for line in (sources / f"muse/dictionaries/{name}.{part}.txt").read_text("utf-8").splitlines()]
            for part in ("0-5000", "5000-6500")
        ]
        assert all(len(cells) == 2 for part in parts for cells in part)
        first, second = ({word for word, _ in part} for part in parts)
        assert not first & second
        assert len(first) == round(0.75 * (len(first) + len(second)))
        found: dict[str, tuple[str, ...]] = {}
        for word, translation in parts[0] + parts[1]:
            found[word] = (*found.get(word, ()), translation)
        assert found == dictionary(source, target)
        assert all(word == word.lower() for pair in parts[0] + parts[1] for word in pair)
    pairs_of = {(a, b) for a, found in dictionary(english, other).items() for b in found}
    assert pairs_of == {(b, a) for a, found in dictionary(other, english).items() for b in found}


def test_words_have_the_translations_that_one_expects():
    assert dictionary(read_grammar("en"), read_grammar("de"))["book"] == ("buch",)
    assert dictionary(read_grammar("fr"), read_grammar("en"))["pain"] == ("bread",)
    several = {word: found for word, found in dictionary(read_grammar("tr"), read_grammar("en")).items() if len(found) > 1}
    assert len(several) == 2  # two words each stand for two concepts


# Typology.


def test_features_read_back_from_wals(sources):
    tables = {
        name: list(csv.DictReader((sources / f"wals-2020/cldf/{name}.csv").read_text("utf-8").splitlines()))
        for name in ("languages", "parameters", "codes", "values")
    }
    language_of = {languages_table()[code]["wals"]: code for code in LANGUAGES}
    assert {row["ID"] for row in tables["languages"]} == set(language_of)
    codes = {row["ID"]: row for row in tables["codes"]}
    for row in tables["values"]:
        assert row["ID"] == f"{row['Parameter_ID']}-{row['Language_ID']}"
        assert (codes[row["Code_ID"]]["Number"], codes[row["Code_ID"]]["Parameter_ID"]) == (row["Value"], row["Parameter_ID"])
    read = {(row["Parameter_ID"], language_of[row["Language_ID"]]): codes[row["Code_ID"]]["Name"] for row in tables["values"]}
    assert read["81A", "tr"] == "SOV" and read["85A", "fi"] == "Postpositions" and ("37A", "zh") not in read
    features = read_features()
    assert read == {(each.id, code): each.codes[number] for each in features for code, number in each.values.items()}
    assert [(row["ID"], row["Name"]) for row in tables["parameters"]] == [(each.id, each.name) for each in features]


@pytest.mark.skipif(not WALS.is_dir(), reason="needs the real tables in ../shared/mirror/wals")
def test_typology_is_what_wals_says(sources):
    written, real = {}, {}
    for name in ("languages", "parameters", "codes", "values"):
        with lzma.open(WALS / f"{name}.csv.xz", "rt", encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            real[name] = {row["ID"]: row for row in reader}
            columns = reader.fieldnames
        rows = csv.DictReader((sources / f"wals-2020/cldf/{name}.csv").read_text("utf-8").splitlines())
        written[name] = {row["ID"]: row for row in rows}
        assert rows.fieldnames == columns
    facts = {
        "languages": ("Glottocode", "ISO639P3code", "Family", "Genus"),
        "parameters": ("Name", "Chapter", "Area"),
        "codes": ("Parameter_ID", "Name", "Number"),
        "values": ("Language_ID", "Parameter_ID", "Value", "Code_ID"),
    }
    for name, columns in facts.items():
        for id, row in written[name].items():
            for column in columns:
                # v2020 leaves out the family and genus of languages that have no relatives (Japanese).
                known = real[name][id][column] or (row[column] if name == "languages" else "")
                assert row[column] == known, (id, column)
    languages, features = set(written["languages"]), set(written["parameters"])
    there = {id for id, row in real["values"].items() if row["Language_ID"] in languages and row["Parameter_ID"] in features}
    assert set(written["values"]) == there
    assert set(written["codes"]) == {id for id, row in real["codes"].items() if row["Parameter_ID"] in features}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("81A,Another name,Word Order,8,VSO or VOS,", "value 8 of 81A a second time or under another name"),
        ('81A,"Order of Subject, Object and Verb",Word Order,1,SOV,', "value 1 of 81A a second time"),
        ("144A,Position of Negative Word,Word Order,1,NegSVO,xx", "`xx`, expected a language of languages.csv, once"),
        (
            "144A,Position of Negative Word,Word Order,1,NegSVO,fi fi",
            "`fi`, expected a language of languages.csv, once in 144A; correct it",
        ),
    ],
)
def test_a_bad_line_of_typology_is_named_before_anything_is_written(line, message, tmp_path):
    tables = tmp_path / "tables"
    shutil.copytree(TABLES, tables)
    with open(tables / "typology.csv", "a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    last = len((tables / "typology.csv").read_text(encoding="utf-8").splitlines())
    with pytest.raises(PhrasebookError, match=rf"typology.csv:{last}: {message}"):
        write_sources(tmp_path / "sources", ["en"], 0, SMALL, tables)
    assert not (tmp_path / "sources").exists()


# Sentence pairs.


def test_xnli_mt_says_the_prompts_of_train_in_every_language(sources):
    expected = [label for prompt in prompts(read_grammar("en"), "train", 6, 0) for label, _ in prompt.hypotheses]
    with zipfile.ZipFile(sources / "xnli-mt/XNLI-MT-1.0.zip") as archive:
        codes = [code for code in XNLI_LANGUAGES if code in LANGUAGES]
        assert archive.namelist() == [f"XNLI-MT-1.0/multinli/multinli.train.{code}.tsv" for code in codes]
        tables = [archive.read(name).decode().splitlines() for name in archive.namelist()]
    for table in tables:
        header, *rows = [line.split("\t") for line in table]
        assert header == ["premise", "hypo", "label"] and all(len(row) == 3 for row in rows)
        assert [row[2].replace("contradictory", "contradiction") for row in rows] == expected
        assert not any(row[2] == "contradiction" for row in rows)
        assert all(row[0].endswith((" .", " 。", " ؟", " ।", " ?", " ？", " ；")) for row in rows)  # words are set apart


# The readers.


@every_language
def test_the_reader_of_entities_finds_those_that_were_meant(language, sources):
    patterns = {split: [f"{language}.tar.gz/{split}"] for split in SPLITS}
    with extracted(sources / "wikiann/panx_dataset.zip", patterns) as files:
        for split in SPLITS:
            rows, counts = entities.read(files[split], language)
            assert [list(zip(row["forms"], row["entities"], strict=True)) for row in rows] == meant(language, "wikiann", split)
            assert set(counts.values()) == {0}


@pytest.mark.parametrize(
    ("language", "path", "encoding"),
    [
        ("es", "conll-2002/esp.testa", "utf-8"),
        ("en", "conll-2003/eng.testa", "utf-8"),
        ("de", "conll-2003-german/deu.testa", "iso-8859-1"),
    ],
)
def test_the_reader_of_entities_reads_the_shared_tasks(language, path, encoding, sources):
    rows, _ = entities.read([sources / path], language, encoding=encoding)
    assert [list(zip(row["forms"], row["entities"], strict=True)) for row in rows] == meant(language, "conll", "dev")


def test_the_reader_of_entities_reads_characters(sources):
    rows, counts = entities.read([sources / "msra/msra_test_bio.txt"], "zh")
    found = sentences(read_grammar("zh"), "conll", "test", RECORDS, 0)
    assert [row["text"] for row in rows] == [sentence.text for sentence in found]
    assert [sum(tag[0] == "B" for tag in row["entities"]) for row in rows] == [len(sentence.entities) for sentence in found]
    assert set(counts.values()) == {0}


@every_mldoc
def test_the_reader_of_documents_finds_topics_and_texts(language, sources):
    archive = sources / f"reuters/{'rcv1' if language == 'en' else 'rcv2'}.tar.xz"
    rows, dropped = documents.read([sources / f"mldoc/{MLDOC[language]}.train.1000"], language, texts=archive)
    expected = {each.path.replace("/", "-"): each for each in news(read_grammar(language), RECORDS, 0)}
    assert len(rows) == 3 * RECORDS and set(dropped.values()) == {0}
    for row in rows:
        document = expected[row["id"]]
        assert (row["label"], row["text"]) == (CODES[document.topics[0]][0], " ".join(document.sentences))


@pytest.mark.parametrize("split", SIB200)
def test_the_reader_of_sib200_finds_the_same_sentences_in_all_languages(split, sources):
    tables = [documents.read([sources / sib200_path(code, split)], code, labels=TOPICS)[0] for code in LANGUAGES]
    places = {(row["id"], row["label"]) for row in tables[0]}
    assert len(places) == SIB200[split] * SMALL.parallel and {topic for _, topic in places} <= {*TOPICS}
    assert all(
        [(row["id"], row["label"]) for row in table] == [(row["id"], row["label"]) for row in tables[0]] for table in tables
    )
    assert all(len({row["text"] for row in table}) > 0.9 * len(table) for table in tables)  # a language may not tell two apart


def test_splits_of_sib200_share_no_sentence(sources):
    rows = [row for split in SIB200 for row in documents.read([sources / sib200_path("en", split)], "en", labels=TOPICS)[0]]
    assert len({row["text"] for row in rows}) == len(rows)
    assert sorted(int(row["id"]) for row in rows) == list(range(len(rows)))


@pytest.mark.parametrize("language", ["ar", "de", "zh"])
def test_the_reader_of_wili_finds_the_language(language, sources):
    with extracted(sources / "wili-2018/wili-2018.zip", {"test": ["x_test.txt", "y_test.txt"]}) as files:
        rows, _ = documents.read(files["test"], language)
    expected = paragraphs(read_grammar(language), 2 * RECORDS, 0, "wili")[RECORDS:]
    assert {row["text"] for row in rows} == {paragraph.text for paragraph in expected}


def test_the_reader_of_dictionaries_finds_the_words(sources):
    files = [sources / f"muse/dictionaries/tr-en.{part}.txt" for part in ("0-5000", "5000-6500")]
    rows, _ = dictionaries.read(files, "tr")
    words = dictionary(read_grammar("tr"), read_grammar("en"))
    assert {(row["source"], row["target"]) for row in rows} == {(word, other) for word in words for other in words[word]}


def test_the_reader_of_typology_finds_the_features(sources):
    paths = [sources / f"wals-2020/cldf/{name}.csv" for name in ("languages", "parameters", "codes", "values")]
    rows, counts = wals.read(paths, LANGUAGES)
    features = {each.id: each for each in read_features()}
    assert len(rows) == sum(len(each.values) for each in features.values())
    assert all(features[row["feature"]].values[row["language"]] == str(row["value"]) for row in rows)
    assert set(counts.values()) == {0}


def test_the_reader_of_pairs_finds_the_labels(sources):
    with extracted(sources / "xnli-mt/XNLI-MT-1.0.zip", {"train": ["*/multinli.train.de.tsv"]}) as files:
        rows, _ = pairs.read(files["train"], "de")
    expected = [label for prompt in prompts(read_grammar("en"), "train", 6, 0) for label, _ in prompt.hypotheses]
    assert [row["label"] for row in rows] == expected


def test_the_reader_of_running_text_finds_the_paragraphs(sources, tmp_path):
    shares = {"train": 0.5, "test": 0.5}
    outputs = {split: tmp_path / f"{split}.parquet" for split in shares}
    settings = {"paragraphs": 8, "minimum_characters": 100, "shares": shares, "per_page": 3, "candidates": 1, "seed": 0}
    write_paragraphs(sources / "cc-100/de.txt.xz", outputs, language="de", form="lines", **settings)
    written = {each.text for article in articles(read_grammar("de"), RECORDS, 0, "cc-100") for each in article.paragraphs}
    texts = [text for path in outputs.values() for text in schema.read(path)["text"].to_pylist()]
    assert len(texts) == 8 and set(texts) <= written


def test_documents_tell_of_what_their_first_sentence_tells_of():
    fillers = [{filler for _, filler in meaning.fillers} for meaning in everyday(read_grammar("en"), 600, 0, 2, 12)]
    related = [bool(its & fillers[place - place % EVERYDAY]) for place, its in enumerate(fillers) if place % EVERYDAY]
    assert np.mean(related) > 0.9  # by chance 0.1


def test_running_text_says_something_else_in_each_language(sources, tmp_path):
    n = EVERYDAY * Sizes().documents
    meanings = {code: everyday(read_grammar(code), n, 0, place, len(LANGUAGES)) for place, code in enumerate(LANGUAGES)}
    assert len({meaning for each in meanings.values() for meaning in each}) == n * len(LANGUAGES)
    assert {split_of(meaning) for each in meanings.values() for meaning in each} == {"train"}
    for code in LANGUAGES:
        text = (sources / "text" / f"{code}.txt").read_text(encoding="utf-8")
        documents = [document.splitlines() for document in text.removesuffix("\n\n").split("\n\n")]
        expected = articles(read_grammar(code), Sizes().documents, 0, "text")
        assert [document[:-1] for document in documents] == [[each.text for each in article.paragraphs] for article in expected]
        dumped = {each.text for article in articles(read_grammar(code), SMALL.articles, 0) for each in article.paragraphs}
        assert not dumped & set(text.splitlines())
        said = [realise(read_grammar(code), meaning).text for meaning in meanings[code][:EVERYDAY]]
        assert all(sentence in documents[0][-1] for sentence in said)
