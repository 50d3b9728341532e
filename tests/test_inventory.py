"""The list of what every corpus has."""

import pytest
from crosslens.corpora import schema
from crosslens.corpora.inventory import inventory

LONG = "one two three four five six seven eight nine ten"
EMPTY = {"upos": [], "heads": [], "relations": [], "multiwords": [], "entities": []}


def sentences(*texts):
    """Rows of a treebank whose texts have spaces that their words do not."""
    return [EMPTY | {"text": f" {text} .", "forms": text.split()} for text in texts]


def pairs(*texts):
    return [dict(zip(("premise", "hypothesis"), text.split("|"), strict=True), label="neutral") for text in texts]


def documents(*texts):
    return [{"text": text, "label": "home"} for text in texts]


def paragraphs(*texts):
    return [{"text": text, "page": "Page"} for text in texts]


def dictionary(*texts):
    return [dict(zip(("source", "target"), text.split("|"), strict=True)) for text in texts]


HAN = "\u4e00"
SE = schema.SENTENCES
DOC = schema.DOCUMENTS
OVERLAPS = {  # schema, rows of train and of test, language, how many of test are in train, and how many of these are long
    "words, not the text around them": (SE, sentences("Ja", LONG), sentences(LONG, "Nein", "Ja"), "de", 2, 1),
    "composed and decomposed letters": (SE, sentences("Re\u0301sume\u0301"), sentences("R\u00e9sum\u00e9"), "fr", 1, 0),
    "twice in test": (SE, sentences("Ja"), sentences("Ja", "Ja"), "de", 2, 0),
    "case and marks count": (SE, sentences("Ja", "Se\u0301"), sentences("ja", "Se"), "de", 0, 0),
    "both of a pair": (schema.PAIRS, pairs("a|b", f"c|{LONG}"), pairs("a|c", "b|a", f"c|{LONG}"), "en", 1, 1),
    "words of a pair stay in their text": (schema.PAIRS, pairs("a b|c"), pairs("a|b c"), "en", 0, 0),
    "white space of any kind": (DOC, documents(LONG), documents(LONG.replace(" ", "\u00a0 \t")), "en", 1, 1),
    "a language without spaces": (DOC, documents(HAN * 9, HAN * 10), documents(HAN * 9, HAN * 10), "zh", 2, 1),
    "a long word": (DOC, documents("Donaudampfschiff"), documents("Donaudampfschiff"), "de", 1, 0),
    "paragraphs": (schema.PARAGRAPHS, paragraphs("One.", "Two."), paragraphs("Three.", "One."), "en", 1, 0),
    "a dictionary": (schema.DICTIONARY, dictionary("cat|Katze", "cat|Kater"), dictionary("cat|Katze", "tom|Kater"), "de", 1, 0),
}


@pytest.mark.parametrize("case", OVERLAPS)
@pytest.mark.fault("Texts of a test set that train has", "survived")
def test_texts_that_train_has_are_counted(tmp_path, case):
    """In the splits of one language alone: train of another language does not count."""
    kind, train, test, language, repeated, long = OVERLAPS[case]
    files = {f"{language}.train": train, f"{language}.test": test, "xx.dev": test, "yy.train": test}
    for part, rows in files.items():
        codes = {name: part.split(".")[0] for name in ("language", "source_language", "target_language") if name in kind.names}
        rows = [{"id": str(number), **codes, **row} for number, row in enumerate(rows)]
        schema.write(rows, tmp_path / "c" / f"{part}.parquet", kind, {})
    table = inventory([tmp_path / "c" / f"{part}.parquet" for part in files], {"c": {"kind": "", "source": ""}}).to_pylist()
    counts = [(line["in_train"], line["in_train_long"]) for line in table]
    assert counts == [(None, None), (repeated, long), (None, None), (None, None)]


def test_a_line_a_file(corpora, tmp_path):
    wals = {"language": "de", "wals": "ger", "genus": "Germanic", "family": "Indo-European", "feature": "81A", "name": "Order"}
    schema.write([wals | {"value": 7, "label": "No dominant order"}], tmp_path / "wals" / "typology.parquet", schema.TYPOLOGY, {})
    rows = schema.read(corpora / "sentences" / "de.test.parquet").to_pylist()
    rows = [rows[0] | {"forms": ["Ja", "."]}, rows[1] | {"forms": ["Das", "ist", "es", "."]}]
    told = {"available": 90, "dropped": {"withheld": 3, "untagged": 0}, "files": ["a.conllu", "b.conllu"]}
    schema.write(rows, tmp_path / "sentences" / "de.test.parquet", schema.SENTENCES, told)
    files = [
        tmp_path / "sentences" / "de.test.parquet",
        corpora / "pairs" / "en.test.parquet",
        tmp_path / "wals" / "typology.parquet",
    ]
    kinds = {"sentences": ("treebank", "ud-2.7"), "pairs": ("pairs", "xnli"), "wals": ("typology", "wals-2020")}
    table = inventory(files, {name: {"kind": kind, "source": source} for name, (kind, source) in kinds.items()})
    assert table.to_pylist() == [
        {"corpus": "sentences", "kind": "treebank", "source": "ud-2.7", "language": "de", "split": "test", "rows": 2,
         "words": 6, "available": 90, "in_train": None, "in_train_long": None, "dropped": "withheld 3",
         "files": "a.conllu b.conllu"},
        {"corpus": "pairs", "kind": "pairs", "source": "xnli", "language": "en", "split": "test", "rows": 24,
         "words": None, "available": None, "in_train": 0, "in_train_long": 0, "dropped": "", "files": ""},
        {"corpus": "wals", "kind": "typology", "source": "wals-2020", "language": "", "split": "", "rows": 1,
         "words": None, "available": None, "in_train": None, "in_train_long": None, "dropped": "", "files": ""},
    ]  # fmt: skip
