"""Sentence pairs: official layouts, refused in one line with the place, and split without leaks."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from conftest import MIRROR, mbert_tokenizer, save, save_tokenizer
from crosslens.config.corpora import PairCorpus
from crosslens.config.labels import NLI
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import pairs, schema
from crosslens.corpora.pairs import Pair, read_pairs
from crosslens.corpora.splits import validation, write_split
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.jobs import parquet
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import vocabulary
from crosslens.reports.cells import Published
from pydantic import ValidationError

needs_mirror = pytest.mark.skipif(not (MIRROR / "xnli").is_dir(), reason="needs real pairs in ../shared/mirror/xnli")

HEADER = (
    "language gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 sentence2 "
    "promptID pairID genre label1 label2 label3 label4 label5 sentence1_tokenized sentence2_tokenized match"
).split()
XNLI = [
    ("de", "neutral", 'Er sagte: "Mama!', "Er rief an.", "1"),
    ("en", "entailment", 'He said: "Mama!', "He called\u2028her.", "1"),
    ("de", "contradiction", "n/a", "Nichts.", "2"),
]


def table(rows=XNLI) -> str:
    lines = [HEADER]
    for language, label, premise, hypothesis, pair in rows:
        known = {"language": language, "gold_label": label, "sentence1": premise, "sentence2": hypothesis, "pairID": pair}
        lines.append([known.get(name, "") for name in HEADER])
    return "".join("\t".join(line) + "\n" for line in lines)


def official(n: int = 3) -> str:
    rows = [{"gold_label": NLI[i % 3], "pairID": f"{i}n", "sentence1": f"Premise {i}.", "sentence2": "Yes."} for i in range(n)]
    return "".join(json.dumps({"annotator_labels": []} | row) + "\n" for row in rows)


BARE = '{"premise": "Ja.", "hypothesis": "n/a", "label": 2}\n{"premise": "A\\u00e4.", "hypothesis": "B", "label": "neutral"}\n'


TRANSLATED = 'premise\thypo\tlabel\nEr sagte: "Mama!\tn/a\tcontradictory\nJa .\tNein .\tneutral\n'
LAYOUTS = [  # a file, its name and language -> the pairs
    (table(), "xnli.test.tsv", "de",
     [("1", 'Er sagte: "Mama!', "Er rief an.", "neutral"), ("2", "n/a", "Nichts.", "contradiction")]),
    (table(), "xnli.test.tsv", "en", [("1", 'He said: "Mama!', "He called\u2028her.", "entailment")]),
    (official(2), "train.jsonl", "en", [("0n", "Premise 0.", "Yes.", "entailment"), ("1n", "Premise 1.", "Yes.", "neutral")]),
    (BARE, "dev.jsonl", "fi", [("1", "Ja.", "n/a", "contradiction"), ("2", "Aä.", "B", "neutral")]),
    (TRANSLATED, "multinli.train.de.tsv", "de",
     [("2", 'Er sagte: "Mama!', "n/a", "contradiction"), ("3", "Ja .", "Nein .", "neutral")]),
]  # fmt: skip


def test_layouts(tmp_path: Path) -> None:
    for content, name, language, expected in LAYOUTS:
        path = save(tmp_path, content, name)
        assert list(read_pairs(path, language)) == expected
        assert pairs.read([path], language)[1] == {"no_agreement": 0}


def test_limits_keep_the_order(tmp_path: Path) -> None:
    path, output = save(tmp_path, official(100), "train.jsonl"), tmp_path / "out" / "en.train.parquet"
    drawn = []
    for seed in (0, 0, 1):
        assert write_split(pairs, [path], output, language="en", split="train", limit=20, seed=seed) == 20
        drawn.append([row["id"] for row in schema.read(output).to_pylist()])
        assert drawn[-1] == sorted(set(drawn[-1]), key=lambda name: int(name[:-1]))
    assert drawn[0] == drawn[1] != drawn[2]
    assert parquet.metadata(output) == {"files": ["train.jsonl"], "dropped": {"no_agreement": 0}, "available": 100, "seed": 1}


def test_limits_draw_the_same_translations(tmp_path: Path) -> None:
    """The sample does not depend on the order of a language's file."""
    lines = official(100).splitlines(keepends=True)
    ids = []
    for language, content in {"en": lines, "de": lines[::-1]}.items():
        output = tmp_path / "out" / f"{language}.test.parquet"
        path = save(tmp_path, "".join(content), f"{language}.jsonl")
        write_split(pairs, [path], output, language=language, split="test", limit=20, seed=0, parallel=True)
        ids.append([row["id"] for row in schema.read(output).to_pylist()])
    assert ids[0] == ids[1] and len(ids[0]) == 20


def test_validation_is_a_share() -> None:
    """Of texts as tanti2021's code splits them (21,006 English sentences and 390,377 pairs), or of premises with their pairs."""
    for texts, drawn in ((21_006, 2_100), (390_377, 39_037), (3, 0)):
        chosen = validation(range(texts), 0.1, 0, "en")
        assert len(chosen) == drawn and chosen <= set(range(texts))
    first, *others = (validation(range(100), 0.1, seed, language) for seed, language in ((0, "en"), (1, "en"), (0, "de")))
    assert first not in others
    premises = [f"p{place // 3}" for place in range(90)]
    chosen = validation(premises, 0.1, 0, "en")
    assert len(chosen) == 9 and {premises[i] for i in chosen}.isdisjoint(premises[i] for i in range(90) if i not in chosen)


def test_pairs_without_agreement_are_dropped(tmp_path: Path) -> None:
    path, output = save(tmp_path, official(4).replace("neutral", "-"), "dev.jsonl"), tmp_path / "en.dev.parquet"
    plan = {"language": "en", "split": "dev", "limit": None, "seed": 0}
    assert write_split(pairs, [path], output, **plan) == 3  # type: ignore[arg-type]
    assert parquet.metadata(output)["dropped"] == {"no_agreement": 1}
    rows = schema.read(output)
    assert rows.schema.names == schema.PAIRS.names and rows["language"].to_pylist() == ["en"] * 3
    for layout, label, missing in ((BARE, "2", "-1"), (BARE, "2", '"-"'), (TRANSLATED, "contradictory", "-1")):
        path.write_text(layout.replace(label, missing))
        assert write_split(pairs, [path], output, **plan) == 1  # type: ignore[arg-type]
        assert parquet.metadata(output)["dropped"] == {"no_agreement": 1}
    with pytest.raises(DataError, match=r"en.dev: expected files, found none"):
        write_split(pairs, [], output, **plan)  # type: ignore[arg-type]
    path.write_text(official(1).replace("entailment", "-"))
    with pytest.raises(DataError, match=r"dev.jsonl: expected rows for en.dev, found none \(dropped: {'no_agreement': 1}"):
        write_split(pairs, [path], output, **plan)  # type: ignore[arg-type]


PLAN = {
    "kind": "pairs", "source": "xnli", "languages": ["de", "en"], "train_source": "multinli",
    "files": {"train": "{code}.jsonl", "test": "xnli.test.tsv"},
}  # fmt: skip


def test_configuration() -> None:
    corpus = PairCorpus.model_validate(PLAN)
    assert list(corpus.parts()) == [("de", "test"), ("en", "train"), ("en", "validation"), ("en", "test")]
    assert list(corpus.stored()) == [("de", "test"), ("en", "train"), ("en", "test")]
    assert corpus.sources() == {"xnli", "multinli"}
    assert (corpus.files_of("en", "train"), corpus.files_of("en", "validation")) == (["en.jsonl"], [])
    corpus = PairCorpus.model_validate(PLAN | {"files": {"train": "t", "dev": "{name}.dev", "test": "x", "validation": "v"}})
    assert [split for language, split in corpus.stored() if language == "en"] == ["train", "validation", "dev", "test"]
    assert (corpus.files_of("de", "dev"), corpus.files_of("en", "validation")) == (["German.dev"], ["v"])
    for change, what in (
        ({"files": {"train": "x", "dev": "x"}}, "expected files for de.test, en.test, found none"),
        ({"files": {"test": "x"}}, "expected files for en.train, found none"),
        ({"languages": ["qq"]}, "found qq: correct the codes"),
        ({"files": {"train": "{lang}", "test": "x"}}, "pattern '{lang}'"),
        ({"limits": {"validation": 3}}, "limits.validation: expected files for validation, but en.validation is a share"),
        ({"validation_share": 0}, "validation_share: expected a value above 0, as there are no files for en.validation"),
    ):
        with pytest.raises(ValidationError, match=what):
            PairCorpus.model_validate(PLAN | change)


# Real data


@cache
def real_xnli(split: str, language: str) -> list[Pair]:
    return list(read_pairs(MIRROR / "xnli" / "XNLI-1.0" / f"xnli.{split}.tsv.xz", language))


@pytest.mark.long
@needs_mirror
@pytest.mark.parametrize(("split", "pairs"), [("dev", 2490), ("test", 5010)])
def test_real_xnli(split: str, pairs: int) -> None:
    labels = {}
    for language in "ar bg de el en es fr hi ru sw th tr ur vi zh".split():
        found = real_xnli(split, language)
        assert Counter(pair.label for pair in found) == dict.fromkeys(NLI, pairs // 3), language
        labels[language] = [(pair.id, pair.label) for pair in found]
    assert all(each == labels["en"] for each in labels.values())


@needs_mirror
def test_real_multinli(tmp_path: Path) -> None:
    path = MIRROR / "multinli" / "en.train.jsonl.xz"
    output = tmp_path / "en.train.parquet"
    assert write_split(pairs, [path], output, language="en", split="train", limit=None, seed=0) == 9000
    found = Counter(pair.label for pair in read_pairs(MIRROR / "multinli" / "dev.jsonl.xz", "en"))
    assert found == {"entailment": 3479, "neutral": 3123, "contradiction": 3213}


@needs_mirror
def test_real_translations_of_multinli() -> None:
    for language in "de es fr sw tr vi zh".split():
        found = Counter(
            pair.label for pair in read_pairs(MIRROR / "xnli" / "translate-train" / f"{language}.train.jsonl.xz", language)
        )
        assert found == dict.fromkeys(NLI, 3000), language


@pytest.mark.long
@needs_mirror
def test_liu2020_table_3(tmp_path: Path) -> None:
    """The 14 printed cells, from whole pairs: [UNK] is a member of each set, [CLS] and [SEP] are not."""
    save_tokenizer(mbert_tokenizer(), tmp_path)
    write_checksums(tmp_path / "tokenizer.json")
    languages, read = "en de fr el zh ur sw".split(), Tokenisation(maximum=512, drop_unknown=False)
    for language in languages:
        corpus = tmp_path / "corpus" / f"{language}.test.parquet"
        file = MIRROR / "xnli" / "XNLI-1.0" / "xnli.test.tsv.xz"
        write_split(pairs, [file], corpus, language=language, split="test", limit=None, seed=0)
        write_tokens(load_tokenizer(tmp_path), corpus, tmp_path / "tokens" / corpus.name, read, "test")
    published = Published.read(Path(__file__).parents[1] / "resources" / "published" / "liu2020.csv")
    inputs = Inputs([], [], published, {"xnli": tmp_path / "tokens"}, {}, tmp_path)
    made = vocabulary.table("table3", inputs, {"corpus": "xnli", "source": "en", "languages": languages})
    printed = made[made["definition"] == vocabulary.WITH]
    assert len(printed) == 14 and (printed["difference"] == 0).all() and (made["remark"] == "").all()
    assert (made.loc[made["definition"] == vocabulary.WITHOUT, "here"].to_numpy() == printed["here"].to_numpy() - 1).all()
