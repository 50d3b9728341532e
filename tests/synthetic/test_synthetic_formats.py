"""The synthetic corpus in the official formats of named entities, documents, dictionaries, typology and running text: what is
meant can be read from the files, by simple code of this file's own and by the readers of crosslens.corpora.
"""

import bz2
import csv
import hashlib
import lzma
import shutil
from pathlib import Path

import conllu
import pandas as pd
import pytest
from crosslens.config.synthetic import SyntheticCorpus
from crosslens.corpora import dictionaries, documents, entities, pairs, schema, wals
from crosslens.corpora.archives import extracted
from crosslens.corpora.sampling import write_paragraphs
from goldens import assert_golden
from synthetic.articles import articles, paragraphs
from synthetic.dictionaries import dictionary
from synthetic.entities import sentences, tagged
from synthetic.generate import different, treebank
from synthetic.grammar import read_grammar
from synthetic.nli import prompts
from synthetic.paths import MLDOC, SIB200, sib200_path, treebank_path
from synthetic.realise import realise
from synthetic.running import EVERYDAY, everyday
from synthetic.tables import TABLES, SyntheticCorpusError, languages_present
from synthetic.topics import CODES, TOPICS
from synthetic.topics import documents as news
from synthetic.wals import read_features
from synthetic.write import Sizes, write_sources

LANGUAGES = languages_present()
RECORDS = 8
SMALL = Sizes(train=20, dev=5, test=6, parallel=6, articles=12, nli_train=6, nli_dev=3, nli_test=3, records=RECORDS)
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
    assert set(contents(sources)) == set(SyntheticCorpus(languages=LANGUAGES).files())


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(tmp_path):
    for folder, seed in (("one", 0), ("two", 0), ("three", 1)):
        write_sources(tmp_path / folder, ["en", "zh"], seed, SMALL)
    one, two, three = (contents(tmp_path / folder) for folder in ("one", "two", "three"))
    assert one == two
    assert {name for name in one if one[name] == three[name]} == {name for name in one if name.startswith("wals-2020")}


def plain(path: Path) -> bytes:
    """The content of a file as no version of a compressor changes it."""
    opener = {".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "rb") as stream:
        return stream.read()


def test_every_format_is_what_it_was(tmp_path):
    """The demo's published numbers rest on these bytes; four languages at small sizes stand for all."""
    write_sources(tmp_path, ["de", "en", "es", "zh"], 0, SMALL)
    digests = []
    for folder in sorted(tmp_path.iterdir()):
        content = b"".join(plain(path) for path in sorted(folder.rglob("*")) if path.is_file())
        digests.append((folder.name, hashlib.sha256(content).hexdigest()[:16]))
    assert_golden(pd.DataFrame(digests, columns=["folder", "sha256"]), "synthetic")


@every_language
def test_conllu_reads_back(language, sources):
    grammar = read_grammar(language)
    for split, n in (("dev", SMALL.dev), ("test", SMALL.test), ("parallel", SMALL.parallel)):
        expected = treebank(grammar, split, n, 0)
        path = sources / treebank_path(language, split)
        parsed = conllu.parse(path.read_text(encoding="utf-8"))
        assert len(parsed) == len(expected)
        for read, sentence in zip(parsed, expected, strict=True):
            words = [token for token in read if isinstance(token["id"], int)]
            assert [(word["form"], word["upos"], word["head"], word["deprel"]) for word in words] == [
                (word.form, word.upos, word.head, word.relation) for word in sentence.words
            ]
            assert read.metadata["text"] == sentence.text == surface_text(read)
            read.to_tree()


def surface_text(tokens) -> str:
    """The text by the rules of CoNLL-U: ranges in place of their words, spaces unless SpaceAfter=No."""
    covered, pieces = 0, []
    for token in tokens:
        number = token["id"]
        if isinstance(number, int) and number <= covered:
            continue
        covered = number if isinstance(number, int) else number[2]
        pieces.append(token["form"] + ("" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "))
    return "".join(pieces).strip()


# Named entities.


def meant(language: str, corpus: str, split: str) -> list[list[tuple[str, str]]]:
    found = sentences(read_grammar(language), corpus, split, RECORDS, 0)
    return [[(token.form, tag) for token, tag in tagged(sentence)] for sentence in found]


def test_too_much_is_refused_with_what_there_is():
    with pytest.raises(SyntheticCorpusError, match=r"synthetic: 300 articles requested, only \d+ available; request fewer"):
        articles(read_grammar("en"), 300, 0, "cc-100")
    with pytest.raises(SyntheticCorpusError, match=r"synthetic: 2000 paragraphs requested, only \d+ available; request fewer"):
        paragraphs(read_grammar("en"), 2000, 0, "wili")
    with pytest.raises(
        SyntheticCorpusError, match="synthetic: 3 letters requested, only 2 available; request fewer or add concepts"
    ):
        different(lambda place: "ab"[place % 2], 3, "letters")


# Typology.


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
        ("144A,Position of Negative Word,Word Order,1,NegSVO,xx", "`xx`, expected a language of languages.csv, once"),
        ("144A,Position of Negative Word,Word Order,1,NegSVO,fi fi", "`fi`, expected a language of languages.csv, once in 144A;"),
    ],
)
def test_a_bad_line_of_typology_is_named_before_anything_is_written(line, message, tmp_path):
    tables = tmp_path / "tables"
    shutil.copytree(TABLES, tables)
    with open(tables / "typology.csv", "a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    last = len((tables / "typology.csv").read_text(encoding="utf-8").splitlines())
    with pytest.raises(SyntheticCorpusError, match=rf"typology.csv:{last}: {message}"):
        write_sources(tmp_path / "sources", ["en"], 0, SMALL, tables)
    assert not (tmp_path / "sources").exists()


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
    [("es", "conll-2002/esp.testa", "utf-8"), ("en", "conll-2003/eng.testa", "utf-8"),
     ("de", "conll-2003-german/deu.testa", "iso-8859-1")],
)  # fmt: skip
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


def test_running_text_says_something_else_in_each_language(sources):
    n = EVERYDAY * Sizes().documents
    meanings = {code: everyday(read_grammar(code), n, 0, place, len(LANGUAGES)) for place, code in enumerate(LANGUAGES)}
    assert len({meaning for of_language in meanings.values() for meaning in of_language}) == n * len(LANGUAGES)
    for code in LANGUAGES:
        text = (sources / "text" / f"{code}.txt").read_text(encoding="utf-8")
        dumped = {
            paragraph.text for article in articles(read_grammar(code), SMALL.articles, 0) for paragraph in article.paragraphs
        }
        assert not dumped & set(text.splitlines())
        first = text.split("\n\n")[0].splitlines()
        sentences_of_language = [realise(read_grammar(code), meaning).text for meaning in meanings[code][:EVERYDAY]]
        assert all(sentence in first[-1] for sentence in sentences_of_language)
