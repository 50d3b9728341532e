"""tanti2021: sizes beside the printed ones and what explains them; what languages lost."""

from pathlib import Path

import pandas as pd
import pytest
from crosslens.config.samples import Samples, Sampling
from crosslens.corpora.schema import write
from crosslens.encoding.samples import write as write_samples
from crosslens.encoding.tokens.schema import SPECIAL, TOKENS
from crosslens.jobs.checksums import write_checksums
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import LABELS, UNITS
from crosslens.papers.tanti2021.sizes import table
from crosslens.reports.cells import Published

PUBLISHED = Published.read(Path(__file__).parents[1] / "resources/published/tanti2021.csv")
UDPOS = {
    "kind": "treebank", "source": "synthetic", "languages": ["en", "de"], "limits": {"test": 3},
    "files": {"train": "{code}-train.conllu", "test": "{code}-test.conllu"},
}  # fmt: skip
XNLI = {
    "kind": "pairs", "source": "xnli", "languages": ["en", "de"], "train_source": "multinli",
    "files": {"train": "train.jsonl", "test": "xnli.test.tsv"},
}  # fmt: skip
WIKIPEDIA = {
    "kind": "paragraphs",
    "source": "wikipedia",
    "file": "{wiki}/20210420.xml",
    "languages": ["en", "de"],
    "paragraphs": 10,
}

AUTHORS = {
    "kind": "documents", "source": "wiki-lang-id", "languages": ["en", "de"], "source_languages": ["en", "de"],
    "files": {split: f"{split}.csv" for split in ("train", "validation", "dev", "test")},
}  # fmt: skip


def tokens(folder, sizes, unknown=0, cut=0, tags=("NOUN", "VERB"), label=""):
    """Token files of so many texts, each of two words; sizes: file -> texts."""
    for name, n in sizes.items():
        row = {"language": name[:2], "page": "", "subwords": [0, 5, 6, 2], "words": ["a", "b"], "positions": [1, 2],
               "labels": list(tags), "heads": [], "relations": [],
               "label": label, "second": 0, "cut": False, "cut_words": 0}  # fmt: skip
        rows = [{"id": str(i)} | row for i in range(n)]
        counts = {"texts": n, "unknown": unknown, "cut_texts": cut, "cut_words": 3 * cut, SPECIAL: [1, 1, 1]}
        write(rows, folder / f"{name}.parquet", TOKENS, counts)
    write_checksums(folder)
    return str(folder)


def counted(corpora, samples, folders, sampled=Path()):
    """The table by row, column and metric. samples: task -> what is drawn, of tokens, into a folder `drawn`."""
    tokens = dict(zip(corpora, map(Path, folders), strict=True))
    for task, settings in samples.items():
        write_samples(settings, tokens, sampled / task)
    listed = {task: {"name": task} | settings.model_dump(include={"corpora"}) for task, settings in samples.items()}
    settings = {"corpora": corpora, "samples": listed, "drop_unknown": True}
    made = table("dataset_sizes", Inputs([], [], PUBLISHED, tokens, {task: sampled / task for task in samples}), settings)
    return {(row.row, row.column, row.metric): row for row in made.itertuples()}


@pytest.fixture
def lines(tmp_path):
    """The table of a small study."""
    folders = [
        tokens(tmp_path / "u", {"en.train": 8, "en.validation": 2, "en.test": 3, "de.test": 3}, unknown=1),
        tokens(tmp_path / "x", {"en.train": 351_340, "en.test": 4, "de.test": 4}, unknown=2, cut=1, tags=("", ""),
               label="neutral"),
        tokens(tmp_path / "w", {f"{code}.{split}": n for code, dev in (("en", 1), ("de", 0)) for split, n in
                                (("train", 7), ("validation", 1), ("dev", dev), ("test", 1))}, tags=("", "")),
    ]  # fmt: skip
    label, language = (Sampling(languages=("en", "de"), **cap) for cap in ({"sample_per_label": 2}, {"sample_per_language": 3}))
    samples = {
        task: Samples(
            encoder="e", tokenisation="r", unit=UNITS[task], labels=LABELS[task], corpora={key: label, "wiki": language}
        )
        for task, key in (("pos", "ud"), ("nli", "nli"))
    }
    return counted({"ud": UDPOS, "nli": XNLI, "wiki": WIKIPEDIA}, samples, folders, tmp_path / "samples")


def test_one_line_for_each_printed_size(lines):
    printed = [row for row in lines.values() if not pd.isna(row.published)]
    assert len(printed) == 12 + 6 + 2  # splits, samples and their caps; those of Wikipedia for each task
    assert all(row.difference == row.here - row.published and row.remark for row in printed)


def test_what_each_language_lost(lines):
    lost = {row for row, column, _ in lines if column == "all splits"}
    assert lost == {f"{name}, {code}" for name in ("UDPOS", "XNLI", "Wikipedia") for code in ("en", "de")}

    def of(row, unit, counted=""):
        return lines[row, "all splits", f"{unit}: {counted}" if counted else unit]

    german = of("XNLI, de", "pairs")
    counts = ("texts read", "dropped for unknown pieces", "cut texts", "cut words")
    assert [german.here, *(of("XNLI, de", "pairs", each).here for each in counts)] == [4, 6, 2, 1, 3]
    assert german.remark == "33.3% of the pairs read have unknown pieces; 25.0% are truncated"
    english, other = of("Wikipedia, en", "paragraphs"), of("Wikipedia, de", "paragraphs")
    assert (english.here, english.remark, other.remark) == (10, "", "too little text for 1 of 10 paragraphs")
    assert [lines["XNLI", "test", f"pairs: {each}"].here for each in counts[2:]] == [2, 6]


def test_splits_are_counted_and_explained(lines):
    test = lines["UDPOS", "test", "sentences"]
    assert (test.here, test.published, lines["UDPOS", "test", "sentences: languages"].here) == (6, 95065, 2)
    assert test.remark == (
        "the synthetic corpus's texts, not UD 2.7; 2 of 33 languages; at most 3 sentences per language (limit); "
        "2 texts dropped for unknown pieces"
    )
    assert lines["UDPOS", "development", "sentences"].remark == "dev is not configured"
    wiki = lines["Wikipedia", "train", "paragraphs"]
    assert (wiki.here, wiki.remark) == (14, "2 of 33 languages; 10 of 5,000 paragraphs per language")


def test_what_is_equal_needs_no_explanation(lines):
    train = lines["XNLI", "train", "pairs"]
    assert (train.here, train.difference, train.remark) == (351_340, 0, "equal")


def test_samples_are_drawn_as_for_the_states(lines):
    sample = "t-SNE/V-measure sample"
    words = lines["UDPOS", sample, "words (pos)"]  # of two labels, two languages, two points each
    assert (words.here, words.published) == (8, 5013)
    assert "2 points per label and language, not 10" in words.remark
    assert f"{2 * 2 * 17 - 8} of {2 * 2 * 17} points missing" in words.remark
    assert lines["XNLI", sample, "pairs (nli)"].here == 4
    assert [lines["Wikipedia", sample, unit].here for unit in ("words (pos)", "paragraphs (nli)")] == [2, 2]
    assert lines["Wikipedia", sample, "points a language (pos)"].here == 3


def test_the_authors_own_paragraphs_have_their_splits(tmp_path):
    """No share, no number of paragraphs and no dump is named as a reason."""
    sizes = {
        f"{code}.{split}": number for code in ("en", "de") for split, number in (("train", 7), ("validation", 1), ("test", 1))
    }
    folder = tokens(tmp_path / "w", sizes, unknown=1, tags=("", ""))
    sampled = {
        "ud": Sampling(languages=("en",), sample_per_label=1),
        "wiki": Sampling(languages=("en", "de"), sample_per_language=1),
    }
    samples = {"pos": Samples(encoder="e", tokenisation="r", unit="word", labels=LABELS["pos"], corpora=sampled)}
    udpos = tokens(tmp_path / "u", {"en.test": 1})
    lines = counted({"ud": UDPOS, "wiki": AUTHORS}, samples, [udpos, folder], tmp_path / "samples")
    train = lines["Wikipedia", "train", "paragraphs"]
    assert (train.here, train.published, train.remark) == (14, 115_500, "2 of 33 languages; 2 texts dropped for unknown pieces")
    assert lines["Wikipedia", "validation", "paragraphs"].remark == train.remark
    assert lines["Wikipedia, de", "all splits", "paragraphs"].remark == "25.0% of the paragraphs read have unknown pieces"


def test_a_task_that_is_left_out():
    assert {row.remark for row in counted({}, {}, []).values()} == {
        f"{name} is not configured" for name in ("UDPOS", "XNLI", "Wikipedia")
    }
