"""F1 of tokens and of chunks, against seqeval and scikit-learn."""

import warnings

import numpy as np
import pytest
from crosslens.numerics.f1 import (
    Counts,
    accuracy,
    chunk_counts,
    chunk_types,
    macro_f1,
    micro_f1,
    overall,
    token_counts,
    true_share,
)
from sklearn.metrics import accuracy_score, f1_score
from sklearn.utils._testing import ignore_warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import f1_score as seqeval_f1

UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
CODES = "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh".split()
ODD = ["NOUN", "X", "_", "SYM", "B-A", "I-A", "O", "E-A", "S-A", ".", "INTJ", "B", "I-B-A", "Ex"]


def corpus(generator, labels, agreement):
    """Random gold and predicted classes of a few sentences, and the sentence of each token."""
    lengths = generator.integers(1, 9, generator.integers(1, 6))
    gold = generator.integers(0, len(labels), lengths.sum())
    predicted = np.where(generator.random(len(gold)) < agreement, gold, generator.integers(0, len(labels), len(gold)))
    return gold, predicted, np.repeat(np.arange(len(lengths)), lengths), len(lengths)


def chunk_f1(gold, predicted, sentences, n, labels, average="macro"):
    counts = overall(chunk_counts(gold, predicted, sentences, n, labels))
    return float(micro_f1(counts) if average == "micro" else macro_f1(counts, "union"))


def tags(classes, sentences, n, labels):
    return [[labels[c] for c in classes[sentences == s]] for s in range(n)]


@pytest.mark.parametrize("labels", [UPOS, [*UPOS, "_"], CODES, ODD], ids=["upos", "upos_", "codes", "odd"])
@ignore_warnings()
def test_chunk_f1_is_seqevals(labels):
    generator = np.random.default_rng(len(labels))
    for case in range(260):  # 1040 in all
        few = list(generator.choice(labels, size=min(len(labels), 3 + case % 12), replace=False))
        gold, predicted, sentences, n = corpus(generator, few, agreement=case % 10 / 9)
        expected = seqeval_f1(tags(gold, sentences, n, few), tags(predicted, sentences, n, few), average="macro")
        expected = 0.0 if np.isnan(expected) else expected  # no chunk at all, as of X alone
        assert chunk_f1(gold, predicted, sentences, n, few) == pytest.approx(expected, abs=1e-12)
        expected = seqeval_f1(tags(gold, sentences, n, few), tags(predicted, sentences, n, few), average="micro")
        assert chunk_f1(gold, predicted, sentences, n, few, "micro") == pytest.approx(expected, abs=1e-12)


def test_an_inside_tag_that_continues_nothing_begins_a_span():
    """wu2019's code repairs tags before it counts spans (metric.py, 10-45): repairing them first changes no count."""

    def repaired(tags, sentences):
        starts = np.diff(sentences, prepend=-1) > 0
        before = np.where(starts, 0, np.roll(tags, 1))
        inside = (tags > 0) & (tags % 2 == 0)
        return np.where(inside & (before != tags) & (before != tags - 1), tags - 1, tags)

    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    generator = np.random.default_rng(0)
    sentences = np.sort(generator.integers(0, 40, 300))
    gold, predicted = generator.integers(0, 5, (2, 300))
    changed = repaired(gold, sentences)
    assert (changed != gold).sum() > 50
    one = chunk_counts(gold, predicted, sentences, 40, names)
    other = chunk_counts(changed, repaired(predicted, sentences), sentences, 40, names)
    for counts, same in zip(vars(one).values(), vars(other).values(), strict=True):
        assert np.array_equal(counts, same) and counts.sum() > 0


def test_seventeen_tags_are_sixteen_types_and_thirty_three_codes_fifteen():
    assert len(set(chunk_types(UPOS))) == 16
    assert len(set(chunk_types(CODES))) == 15


@ignore_warnings()
def test_token_scores_are_scikit_learns():
    generator = np.random.default_rng(1)
    for case in range(100):
        k = 2 + case % 15
        gold, predicted, sentences, n = corpus(generator, range(k), agreement=case % 7 / 6)
        counts = overall(token_counts(gold, predicted, sentences, n, k))
        assert macro_f1(counts, "union") == pytest.approx(f1_score(gold, predicted, average="macro"), abs=1e-12)
        true = f1_score(gold, predicted, average="macro", labels=np.unique(gold))
        assert macro_f1(counts, "true") == pytest.approx(true, abs=1e-12)
        assert accuracy(counts) == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
        assert micro_f1(counts) == pytest.approx(f1_score(gold, predicted, average="micro"), abs=1e-12)
        # The most that the union leaves: a prediction that is right wherever it can be, and stray classes as they were.
        assert true_share(counts) == pytest.approx(len(np.unique(gold)) / len(np.union1d(gold, predicted)), abs=1e-12)
        assert macro_f1(counts, "union") == pytest.approx(macro_f1(counts, "true") * true_share(counts), abs=1e-12)


def test_nothing_scores_zero():
    empty = Counts(np.zeros(3), np.zeros(3), np.zeros(3))
    assert macro_f1(empty, "union") == macro_f1(empty, "true") == accuracy(empty) == 0
    assert micro_f1(empty) == true_share(empty) == 0
