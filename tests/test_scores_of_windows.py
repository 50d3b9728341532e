"""Scores of long sentences that were read in windows: spans of whole sentences, and in each window."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from crosslens.config.labels import ENTITIES, UPOS
from crosslens.jobs import parquet
from crosslens.measures import classification, spans
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.f1 import Counts, sentences
from crosslens.training.run import PREDICTIONS
from seqeval.metrics import accuracy_score, f1_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2

TAGS = np.array(ENTITIES)


def random_sentences(labels, n=400, seed=0):
    """Gold and predicted classes of sentences, and where each is cut into windows."""
    generator = np.random.default_rng(seed)
    gold = [generator.integers(0, len(labels), size) for size in generator.integers(1, 40, n)]
    guess = [np.where(generator.random(len(of)) < 0.7, of, generator.integers(0, len(labels), len(of))) for of in gold]
    inner = [np.flatnonzero(generator.random(len(of) - 1) < 0.1) + 1 for of in gold]
    return gold, guess, [[0, *cuts.tolist(), len(of)] for cuts, of in zip(inner, gold, strict=True)]


def write(path, gold, guess, edges, language="de"):
    """Predictions of a corpus, a row a window."""
    rows = [
        {"head": "task", "corpus": "c", "split": "test", "language": language, "id": f"s{i}" + f"#{window}" * (window > 1),
         "gold": gold[i][low:high].tolist(), "predicted": guess[i][low:high].tolist(), "cut": False, "cut_words": 0}
        for i, places in enumerate(edges) for window, (low, high) in enumerate(pairwise(places), start=1)
    ]  # fmt: skip
    parquet.write(pa.Table.from_pylist(rows, schema=PREDICTIONS), path / "predictions.parquet")
    return rows


def test_rows_of_one_sentence():
    ids = ["a", "a#2", "a#3", "b", "a", "c#2", "c", "c#3", "c", "c#2", "c#2", "d#1", "d#1#2"]
    assert sentences(ids).tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 8]
    assert sentences([]).tolist() == []


def test_counts_of_windows_add_up():
    counts = Counts(*(np.arange(10.0).reshape(5, 2) * factor for factor in (1, 2, 3)))
    found = counts.together(np.array([0, 0, 1, 2, 2]))
    assert found.true.tolist() == [[2, 4], [4, 5], [14, 16]] and (found.correct == 3 * found.true).all()


def test_spans_in_sentences_and_in_windows_are_those_of_seqeval(tmp_path):
    gold, guess, edges = random_sentences(ENTITIES)
    rows = write(tmp_path, gold, guess, edges)
    found = {row["definition"]: row for row in spans.measure(Subject(tmp_path, 0, {}), head="task", labels=ENTITIES)}
    whole = [[TAGS[of].tolist() for of in part] for part in (gold, guess)]
    apart = [[TAGS[row[part]].tolist() for row in rows] for part in ("gold", "predicted")]
    assert found["F1"]["value"] == pytest.approx(f1_score(*whole))
    assert found["F1"]["low"] < found["F1"]["value"] < found["F1"]["high"]
    assert found["F1 strict"]["value"] == pytest.approx(f1_score(*whole, mode="strict", scheme=IOB2))
    assert found["F1 by window"]["value"] == pytest.approx(f1_score(*apart)) != found["F1"]["value"]
    without = [[[tag if "MISC" not in tag else "O" for tag in of] for of in part] for part in whole]
    assert found["F1, MISC as O"]["value"] == pytest.approx(f1_score(*without))
    inner = [set(places[1:-1]) for places in edges]
    crossings = sum(
        first < edge <= last
        for of, cuts in zip(whole[0], inner, strict=True)
        for _, first, last in get_entities(of)
        for edge in cuts
    )
    assert found["F1"]["n"] == len(get_entities(whole[0]))
    across = found["entities that cross the edge of a window"]
    assert across["value"] * across["n"] == pytest.approx(crossings) and across["measure"] == "cut" and crossings > 50


def test_sentences_that_are_one_window_have_the_same_f1_in_both_ways(tmp_path):
    gold, guess, _ = random_sentences(ENTITIES)
    write(tmp_path, gold, guess, [[0, len(of)] for of in gold])
    found = {row["definition"]: row for row in spans.measure(Subject(tmp_path, 0, {}), head="task", labels=ENTITIES)}
    same = ("value", "low", "high", "n")
    assert [found["F1"][name] for name in same] == [found["F1 by window"][name] for name in same]
    assert found["entities that cross the edge of a window"]["value"] == 0


def test_windows_of_a_sentence_are_one_text(tmp_path):
    """Word scores and their intervals are those of the same sentences without windows; spans of bare tags are found by window."""
    gold, guess, edges = random_sentences(UPOS)
    settings = {"labels": {"task": UPOS}, "definitions": {"task": ["accuracy", "macro F1 over true classes"]}}
    found = []
    for cuts in (edges, [[0, len(of)] for of in gold]):
        write(tmp_path, gold, guess, cuts)
        found.append(list(classification.measure(Subject(tmp_path, 0, {}), **settings)))
    assert found[0] == found[1] and len(found[0]) == 4
    accuracies = [row["value"] for row in found[0] if row["definition"] == "accuracy"]
    assert accuracies == pytest.approx([accuracy_score(*([of.tolist() for of in part] for part in (gold, guess)))] * 2)
