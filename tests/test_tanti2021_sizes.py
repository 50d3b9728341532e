"""tanti2021: sizes beside the printed ones and what explains them; what languages lost; the page of a table."""

from pathlib import Path

import pandas as pd
import pytest
from crosslens.config.states import Draw
from crosslens.corpora.schema import write
from crosslens.pages import page
from crosslens.papers.tanti2021.sizes import configured, sizes
from crosslens.tokens.schema import TOKENS

PUBLISHED = pd.read_csv(Path(__file__).parents[1] / "resources/published/tanti2021.csv")
UDPOS = {
    "kind": "treebank", "source": "phrasebook", "languages": ["en", "de"], "limits": {"test": 3},
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


def tokens(folder, sizes, unknown=0, cut=0, tags=("NOUN", "VERB"), label=""):
    """Token files of so many texts, each of two words; sizes: file -> texts."""
    for name, n in sizes.items():
        row = {"language": name[:2], "pieces": [0, 5, 6, 2], "words": ["a", "b"], "positions": [1, 2],
               "labels": list(tags), "heads": [], "relations": [],
               "label": label, "second": 0, "cut": False, "cut_words": 0}  # fmt: skip
        rows = [{"id": str(i)} | row for i in range(n)]
        write(rows, folder / f"{name}.parquet", TOKENS, {"texts": n, "unknown": unknown, "cut_texts": cut, "cut_words": 3 * cut})
    return str(folder)


@pytest.fixture
def lines(tmp_path):
    """The table of a small study, by corpus and part; a sample of Wikipedia by its unit too."""
    folders = [
        tokens(tmp_path / "u", {"en.train": 8, "en.validation": 2, "en.test": 3, "de.test": 3}, unknown=1),
        tokens(tmp_path / "x", {"en.train": 351_340, "en.test": 4, "de.test": 4}, unknown=2, cut=1, tags=("", ""),
               label="neutral"),
        tokens(tmp_path / "w", {f"{code}.{split}": n for code, dev in (("en", 1), ("de", 0)) for split, n in
                                (("train", 7), ("validation", 1), ("dev", dev), ("test", 1))}, tags=("", "")),
    ]  # fmt: skip
    label, language = Draw(sample_per_label=2).model_dump(), Draw(sample_per_language=3).model_dump()
    draws = {"pos": {"ud": label, "wiki": language}, "nli": {"nli": label, "wiki": language}}
    data = configured({"ud": UDPOS, "nli": XNLI, "wiki": WIKIPEDIA}, draws, folders)
    made = sizes(PUBLISHED, data, drop_unknown=True)
    return {
        (row.corpus, row.part, row.unit, *([row.language] if row.part == "all splits" else [])): row for row in made.itertuples()
    }


def test_one_line_for_each_printed_size(lines):
    printed = [row for key, row in lines.items() if len(key) == 3]
    assert len(printed) == 12 + 6 + 2  # splits, samples and their caps; those of Wikipedia for each task
    assert all(row.difference == row.here - row.published and row.explanation for row in printed)


def test_what_each_language_lost(lines):
    lost = {key[::3]: row for key, row in lines.items() if len(key) == 4}
    assert set(lost) == {(name, code) for name in ("UDPOS", "XNLI", "Wikipedia") for code in ("en", "de")}
    german = lost["XNLI", "de"]
    assert (german.here, german._9, german._10, german._11, german._12) == (4, 6, 2, 1, 3)
    assert german.explanation == "33.3% of the pairs read have unknown pieces; 25.0% are cut"
    assert (lost["Wikipedia", "en"].here, lost["Wikipedia", "en"].explanation) == (10, "")
    assert lost["Wikipedia", "de"].explanation == "too little text for 1 of 10 paragraphs"
    assert (lines["XNLI", "test", "pairs"]._11, lines["XNLI", "test", "pairs"]._12) == (2, 6)


def test_splits_are_counted_and_explained(lines):
    test = lines["UDPOS", "test", "sentences"]
    assert (test.here, test.published, test.languages) == (6, 95065, 2)
    assert test.explanation == (
        "the phrasebook's texts, not UD 2.7; 2 of 33 languages; at most 3 sentences a language (limit); "
        "2 texts dropped for unknown pieces"
    )
    assert lines["UDPOS", "development", "sentences"].explanation == "dev is not configured"
    wiki = lines["Wikipedia", "train", "paragraphs"]
    assert (wiki.here, wiki.explanation) == (14, "2 of 33 languages; 10 of 5,000 paragraphs a language")


def test_what_is_equal_needs_no_explanation(lines):
    train = lines["XNLI", "train", "pairs"]
    assert (train.here, train.difference, train.explanation) == (351_340, 0, "equal")


def test_samples_are_drawn_as_for_the_states(lines):
    sample = "t-SNE/V-measure sample"
    words = lines["UDPOS", sample, "words (pos)"]  # of two labels, two languages, two points each
    assert (words.here, words.published) == (8, 5013)
    assert "2 points a label and language, not 10" in words.explanation
    assert f"{2 * 2 * 17 - 8} of {2 * 2 * 17} points missing" in words.explanation
    assert lines["XNLI", sample, "pairs (nli)"].here == 4
    assert [lines["Wikipedia", sample, unit].here for unit in ("words (pos)", "paragraphs (nli)")] == [2, 2]
    assert lines["Wikipedia", sample, "points a language (pos)"].here == 3


def test_a_task_that_is_left_out():
    made = sizes(PUBLISHED, {}, drop_unknown=True)
    assert set(made["explanation"]) == {f"{name} is not configured" for name in ("UDPOS", "XNLI", "Wikipedia")}


def test_the_page_of_a_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("row,low,A,A low,A high,A published\n<b>,x,1.5,1.0,2.0,3\nc,y,,,,\n")
    made = page(path, "Table & more")
    assert "<h1>Table &amp; more</h1>" in made and "&lt;b&gt;" in made
    assert "<tr><th>row</th><th>low</th><th>A</th></tr>" in made
    assert '<td class="number">1.5<small>1.0 to 2.0</small><span class="published">paper 3</span></td>' in made
    assert "http" not in made


def test_the_page_of_a_table_with_a_line_for_each_cell(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "task,row,column,here,sd,low,high,seeds,published,difference,remark\n"
        "NER,EN->X,REF,64.1,0.5,63,65,5,64.17,-0.07,mean of 7; odd\n"
        "NER,EN->X,delta 1-2,-5.5,,,,5,,,mean of 7\n"
        "NER,EN->EN,REF,83.3,,,,1,,,\n"
    )
    made = page(path, "Table 1")
    assert "<tr><th>task</th><th>row</th><th>REF</th><th>delta 1-2</th><th>remark</th></tr>" in made
    assert made.count("<tr>") == 3
    assert "64.1<small>63 to 65</small><small>sd 0.5</small><span" in made
    assert '<td class="number">-5.5</td><td class="text">mean of 7; odd</td></tr>' in made
    assert '<td class="number">83.3</td><td class="number"></td><td class="number"></td></tr>' in made
