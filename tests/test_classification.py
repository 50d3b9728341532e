"""Scores of classes against scikit-learn and seqeval, and the accuracy of adversaries."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from crosslens.config.labels import NLI, UPOS
from crosslens.jobs import parquet
from crosslens.measures.classification import by_language, mean_accuracy, measure
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import (
    ACCURACY,
    CEILING,
    CHUNK_MACRO_F1,
    CHUNK_MICRO_F1,
    CUT_TEXTS,
    CUT_WORDS,
    MACRO_F1,
    TRANSFER,
    UNION_F1,
)
from crosslens.numerics.f1 import Counts, overall
from crosslens.papers.tanti2021.paper import definitions
from crosslens.training.run import PREDICTIONS
from sklearn.metrics import accuracy_score, f1_score
from sklearn.utils._testing import ignore_warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import f1_score as seqeval_f1

CODES = ("de", "en", "es", "et", "fr", "pt", "tr", "zh")
LABELS = {"word": {"task": UPOS, "language": CODES}, "text": {"task": NLI, "language": CODES}}


def records(folder, unit):
    """Records of the predictions in a folder, with the definitions of tanti2021."""
    asked = {head: definitions(head, unit) for head in LABELS[unit]}
    given = Subject(folder, 0, {})
    return pd.DataFrame(measure(given, labels=LABELS[unit], definitions=asked, source_language="en"))


def write(folder, rows):
    columns = [dict(zip(PREDICTIONS.names, row, strict=True)) for row in rows]
    parquet.write(pa.Table.from_pylist(columns, schema=PREDICTIONS), folder / "predictions.parquet")
    return pd.DataFrame(columns)


def test_scores_of_planted_predictions(tmp_path):
    """A language head that is right, wrong at one word, and a task head that errs in German."""
    noun, verb, en, de = UPOS.index("NOUN"), UPOS.index("VERB"), CODES.index("en"), CODES.index("de")
    rows = [
        ("task", "udpos", "en", [noun, verb, noun], [noun, verb, noun]),
        ("task", "udpos", "de", [noun, -100, verb], [noun, verb, noun]),
        ("language", "udpos", "en", [en] * 3, [en] * 3),
        ("language", "udpos", "de", [de] * 4, [de, de, en, de]),
        ("language", "wikipedia", "en", [en] * 2, [en] * 2),
    ]  # fmt: skip
    write(tmp_path, [
        (head, corpus, "test", language, str(i), gold, predicted, i == 0, 2 * (i == 0))  # two words of the first are cut away
        for i, (head, corpus, language, gold, predicted) in enumerate(rows)
    ])  # fmt: skip
    found = records(tmp_path, "word").set_index(["item", "corpus", "language", "definition"])[["value", "n", "low", "high"]]

    def value(*place):
        line = found.loc[place]
        return line["value"], line["n"]

    assert value("task", "udpos", "all", ACCURACY) == (0.8, 5)  # the word without a label counts for nothing
    assert value("task", "udpos", "en", ACCURACY) == (1, 3)
    assert value("task", "udpos", "de", ACCURACY) == (0.5, 2)
    assert value("task", "udpos", "all", TRANSFER) == (0.5, 2)
    assert value("language", "udpos", "all", ACCURACY) == (6 / 7, 7)
    assert value("language", "udpos", "de", ACCURACY) == (0.75, 4)
    assert value("language", "udpos", "de", CHUNK_MACRO_F1)[0] == 0  # one wrong word loses the sentence
    assert value("language", "udpos", "en", CHUNK_MACRO_F1)[0] == 1
    assert value("language", "wikipedia", "all", MACRO_F1) == (1, 2)
    assert value("task", "udpos", "en", CHUNK_MICRO_F1)[0] == 1
    assert value("task", "udpos", "all", CUT_TEXTS) == (0.5, 2)
    assert value("task", "udpos", "all", CUT_WORDS) == (2 / 7, 7)
    assert value("task", "udpos", "en", CUT_WORDS) == (2 / 5, 5)
    assert value("language", "udpos", "all", CUT_WORDS) == (0, 7)
    scores = found.drop(index=[CUT_TEXTS, CUT_WORDS], level="definition")
    assert scores[["low", "high"]].isna().all(axis=None)  # a text a language says nothing of others
    assert len(scores) == 3 * 4 + 1 + 3 * 3 + 2 * 3  # all and two languages; transfer; all and one language


def random_predictions(folder, unit, target):
    """Rows of random predictions on two languages, right at 7 of 10 units; one in ten has no label."""
    generator, rows = np.random.default_rng(0), []
    for head, labels in LABELS[unit].items():
        for corpus in (target, "wikipedia") if head != "task" else (target,):
            for number in range(60):
                n = 1 if unit == "text" else int(generator.integers(1, 7))
                gold = generator.integers(0, min(5, len(labels)), n)  # some classes are only ever predicted
                predicted = np.where(generator.random(n) < 0.7, gold, generator.integers(0, len(labels), n))
                gold = np.where(generator.random(n) < 0.1, -100, gold)
                place = (head, corpus, "test", ("en", "de")[number % 2], str(number))
                rows.append((*place, gold.tolist(), predicted.tolist(), False, 0))
    return write(folder, rows)


@pytest.mark.parametrize("language", ["all", "en", "de"])
@pytest.mark.parametrize(("head", "corpus"), [("task", "xnli"), ("language", "xnli"), ("language", "wikipedia")])
def test_scores_of_texts_are_scikit_learns(tmp_path, head, corpus, language):
    table = random_predictions(tmp_path, "text", "xnli")
    value = records(tmp_path, "text").set_index(["item", "corpus", "language", "definition"])["value"]
    chosen = (table["head"] == head) & (table["corpus"] == corpus)
    part = table[chosen & table["language"].isin(["en", "de"] if language == "all" else [language])]
    gold, predicted = (np.concatenate(part[name].to_numpy()) for name in ("gold", "predicted"))
    gold, predicted = gold[gold >= 0], predicted[gold >= 0]
    # The authors' code gives predictions first: the score is the same.
    expected = f1_score(predicted, gold, average="macro", zero_division=0)
    assert value[head, corpus, language, UNION_F1] == pytest.approx(expected, abs=1e-12)
    expected = f1_score(gold, predicted, average="macro", labels=np.unique(gold), zero_division=0)
    assert value[head, corpus, language, MACRO_F1] == pytest.approx(expected, abs=1e-12)
    assert value[head, corpus, language, ACCURACY] == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
    if head == "task":
        assert (head, corpus, language, CEILING) not in value
        return
    ceiling = len(np.unique(gold)) / len(np.union1d(gold, predicted))
    assert value[head, corpus, language, CEILING] == pytest.approx(ceiling, abs=1e-12)
    assert value[head, corpus, language, UNION_F1] < ceiling < 1


@ignore_warnings()
@pytest.mark.parametrize("head", ["task", "language"])
def test_scores_of_chunks_are_seqevals(tmp_path, head):
    table = random_predictions(tmp_path, "word", "udpos")
    value = records(tmp_path, "word").set_index(["item", "corpus", "language", "definition"])["value"]
    part, names = table[(table["head"] == head) & (table["corpus"] == "udpos")], LABELS["word"][head]
    gold = [[names[tag] for tag in row if tag >= 0] for row in part["gold"]]
    pairs = zip(part["gold"], part["predicted"], strict=True)
    predicted = [[names[guess] for tag, guess in zip(*pair, strict=True) if tag >= 0] for pair in pairs]
    for definition, average in ((CHUNK_MACRO_F1, "macro"), (CHUNK_MICRO_F1, "micro")):
        if (head, average) != ("language", "micro"):
            expected = seqeval_f1(predicted, gold, average=average, zero_division=0)  # in the authors' order
            assert value[head, "udpos", "all", definition] == pytest.approx(expected, abs=1e-12)
    assert ((head, "udpos", "all", CHUNK_MICRO_F1) in value) == (head == "task")


def test_transfer_is_a_mean_over_languages_not_words():
    true = np.array([[1.0, 1.0], [9.0, 0.0], [9.0, 9.0]])  # of two classes
    counts = by_language(Counts(true, true, np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])), np.array(["de", "ar", "ar"]))
    assert counts.true.tolist() == [[0, 2], [9, 0], [18, 0]] and mean_accuracy(overall(counts)) == 0.5
