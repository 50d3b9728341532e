"""Scores on the test texts that the training data do not have: those of the same predictions without the others."""

from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from crosslens.config.heads import ARC, TASK
from crosslens.config.labels import ENTITIES, RELATIONS, UPOS
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs import parquet, records
from crosslens.measures import attachment, classification, spans
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.unseen import UNSEEN
from crosslens.numerics.definitions import ACCURACY, MACRO_F1
from crosslens.papers.inputs import Inputs, with_unseen
from crosslens.reports import cells
from crosslens.reports.cells import Published
from crosslens.reports.paper import Need
from crosslens.training.run import PREDICTIONS

LABELS = {"classification": UPOS, "spans": ENTITIES, "attachment": RELATIONS}
SETTINGS = {
    classification: {"labels": {TASK: UPOS}, "definitions": {TASK: [ACCURACY, MACRO_F1]}},
    spans: {"head": TASK, "labels": ENTITIES},
    attachment: {"head": TASK, "arcs": ARC, "relations": RELATIONS},
}
TEXTS = {
    "de.train": "a b,c d",
    "de.test": "a b,e f,g",
    "fr.test": "c d,h i",
    "en.train": "x,y",
    "en.test": "y,z,x",
    "fr.dev": "c d,j",
}
SEEN = {"de": ["de0"], "en": ["en0", "en2"]}  # texts of test that train of the language has
TRAINING = [("c", "de", "train"), ("c", "en", "train")]


def write_tokens(folder, texts, relations):
    """Tokens of each part, whose texts are the words between commas."""
    for part, text in texts.items():
        language, rows = part.split(".")[0], [words.split() for words in text.split(",")]
        empty = {name: [] for name in TOKENS.names} | {"page": "", "label": "", "second": 0, "cut": False, "cut_words": 0}
        rows = [
            empty | {"id": f"{language}{i}", "language": language, "words": words, "labels": ["NOUN"] * len(words)}
            | {"relations": relations[: len(words)]}
            for i, words in enumerate(rows)
        ]  # fmt: skip
        parquet.write(pa.Table.from_pylist(rows, schema=TOKENS), folder / f"{part}.parquet")


def write_predictions(folder, labels, heads, without=()):
    """Random predictions of all parts but train, without the test texts of some ids."""
    generator, rows = np.random.default_rng(0), []
    for head, (part, text) in product(heads, TEXTS.items()):
        language, split = part.split(".")
        for i, words in enumerate(text.split(",")):
            gold, guess = generator.integers(0, len(words.split()) + 1 if head == ARC else len(labels), (2, len(words.split())))
            row = {"head": head, "corpus": "c", "split": split, "language": language, "id": f"{language}{i}"}
            if split != "train" and not (split == "test" and row["id"] in without):
                rows.append(row | {"gold": gold, "predicted": guess, "cut": False, "cut_words": 0})
    parquet.write(pa.Table.from_pylist(rows, schema=PREDICTIONS), folder / "predictions.parquet")


def scores(rows):
    keys, values = ("language", "split", "definition"), ("value", "low", "high", "n")
    rows = [row for row in rows if row["measure"] == "score"]
    return {tuple(row[name] for name in keys): [row[name] for name in values] for row in rows}


@pytest.mark.parametrize("kind", SETTINGS)
def test_scores_without_the_texts_of_train(tmp_path, kind):
    """German and English, each by its own training data, and all languages; French has none, and dev is no test."""
    name, heads = kind.__name__.rpartition(".")[2], [TASK, ARC] if kind is attachment else [TASK]
    write_tokens(tmp_path / "all" / "c", TEXTS, ["nsubj", "root"])
    write_predictions(tmp_path / "all", LABELS[name], heads)
    left_out = [id for ids in SEEN.values() for id in ids]
    write_predictions(tmp_path / "rest", LABELS[name], heads, left_out)
    texts = {part: [f"{part[:2]}{i}" for i in range(len(text.split(",")))] for part, text in TEXTS.items()}
    for part, text in TEXTS.items():  # the tokens of what is left, which attachment reads
        words = [word for word, id in zip(text.split(","), texts[part], strict=True) if part[3:] != "test" or id not in left_out]
        write_tokens(tmp_path / "rest" / "c", {part: ",".join(words)}, ["nsubj", "root"])
    if kind is attachment:
        rename(tmp_path / "rest" / "predictions.parquet")

    def measured(folder, **settings):
        subject = Subject(tmp_path / folder, 0, {"c": tmp_path / folder / "c"})
        return scores(kind.measure(subject, **SETTINGS[kind], **settings))

    whole, rest = measured("all"), measured("rest", training=TRAINING)
    both = measured("all", training=TRAINING)
    further = {place: value for place, value in both.items() if place[2].endswith(UNSEEN)}
    usual = {place: value for place, value in both.items() if place not in further and place in whole}
    np.testing.assert_equal(usual, whole)
    languages = {"de", "en", "all"} if kind is classification else {"de", "en"}
    assert {place[:2] for place in further} == {(language, "test") for language in languages}
    for (language, split, definition), value in further.items():
        np.testing.assert_equal(value, rest[language, split, definition.removesuffix(UNSEEN)])


def rename(path):
    """Number the texts of each part anew, as the tokens of what is left are."""
    table = parquet.read(path).to_pandas()
    numbers = table.groupby(["head", "split", "language"]).cumcount().astype(str)
    parquet.write(pa.Table.from_pandas(table.assign(id=table["language"] + numbers), schema=PREDICTIONS), path)


def test_where_all_texts_of_a_test_set_are_in_train_there_is_no_other_score(tmp_path):
    write_tokens(tmp_path / "c", TEXTS | {"de.train": TEXTS["de.test"], "en.train": "q"}, ["nsubj", "root"])
    write_predictions(tmp_path, UPOS, [TASK])
    found = scores(
        classification.measure(Subject(tmp_path, 0, {"c": tmp_path / "c"}), **SETTINGS[classification], training=TRAINING)
    )
    assert {place[0] for place in found if place[2].endswith(UNSEEN)} == {"all"}


def test_a_table_has_a_line_more_where_a_number_is_another(tmp_path):
    """Also of a mean over languages, in which the others have their usual score; other lines are as without these records."""
    row = {"item": "task", "corpus": "c", "split": "test", "measure": "score", "low": None, "high": None}
    rows = [row | {"seed": seed, "language": language, "definition": "F1", "value": value, "n": 10}
            for seed, (language, value) in product((0, 1), {"de": 0.5, "en": 0.75, "fr": 0.25}.items())]  # fmt: skip
    unseen = [row | {"seed": seed, "language": "de", "definition": f"F1{UNSEEN}", "value": 0.25, "n": 8} for seed in (0, 1)]
    other = [row | {"seed": 0, "language": "de", "definition": "share", "measure": "cut", "value": 0.1, "n": 10}]
    need = Need("spans", "r", (0, 1))
    files = {name: tmp_path / f"{name}.parquet" for name in ("usual", "both")}
    records.write(rows + other, files["usual"], {"recipe": "r"})
    records.write(rows + other + unseen, files["both"], {"recipe": "r"})

    def table(name, inputs, settings):
        values = cells.where(inputs.records(), definition="F1")
        lines = [
            cells.line("score", code, "F1", "F1", cells.cell(cells.where(values, language=code)), 55.0)
            for code in ("de", "en", "fr")
        ]
        lines.append(cells.line("score", "mean", "F1", "F1", cells.cell(cells.mean_by_seed(values, 3))))
        lines.append(cells.line("share", "de", "share", "share", cells.cell(cells.where(inputs.records(), definition="share"))))
        return cells.table(lines, "paper", name)

    usual, both = (
        with_unseen(table, "table", Inputs([need], [[file]], Published.empty(), {}, {}), {}) for file in files.values()
    )
    assert list(both["definition"]) == ["F1", f"F1{UNSEEN}", "F1", "F1", "F1", f"F1{UNSEEN}", "share"]
    assert list(both["here"]) == [50, 25, 75, 25, 50, 41.67, 10] and list(both["n"]) == [10, 8, 10, 10, 30, 28, 10]
    further = both["definition"].str.endswith(UNSEEN)
    assert both[further][["published", "difference"]].isna().all(axis=None)
    pd.testing.assert_frame_equal(both[~further].reset_index(drop=True), usual, check_dtype=False)
    assert both[~further].to_csv(index=False) == usual.to_csv(index=False)
