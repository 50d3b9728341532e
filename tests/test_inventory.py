"""The list of what every corpus has."""

from crosslens.corpora import schema
from crosslens.corpora.inventory import inventory


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
         "words": 6, "available": 90, "dropped": "withheld 3", "files": "a.conllu b.conllu"},
        {"corpus": "pairs", "kind": "pairs", "source": "xnli", "language": "en", "split": "test", "rows": 24,
         "words": None, "available": None, "dropped": "", "files": ""},
        {"corpus": "wals", "kind": "typology", "source": "wals-2020", "language": "", "split": "", "rows": 1,
         "words": None, "available": None, "dropped": "", "files": ""},
    ]  # fmt: skip
