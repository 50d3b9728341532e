"""The best tree against brute force and networkx; attachment scores against their definition and the official evaluation."""

import io
from functools import cache
from itertools import product

import networkx as nx
import numpy as np
import pytest
from crosslens.jobs.errors import DataError
from crosslens.numerics.f1 import accuracy, overall
from crosslens.numerics.trees import attachment, decode_batch
from hypothesis import given, settings
from hypothesis import strategies as st

SCORES = {
    "normal": lambda generator, shape: generator.normal(size=shape),
    "ties": lambda generator, shape: generator.integers(0, 3, shape).astype(float),
    "equal": lambda generator, shape: np.zeros(shape),
    "log-probabilities": lambda generator, shape: np.log(generator.dirichlet(np.full(shape[1], 0.1), shape[0]) + 1e-30),
    "greedy with many roots": lambda generator, shape: generator.normal(size=shape) + 3 * (np.arange(shape[1]) == 0),
}


def reaches_root(heads):
    """Every word does; by walking."""
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return True


def is_tree(heads):
    """Every word reaches the root, one word directly."""
    return reaches_root(heads) and sum(head == 0 for head in heads) == 1


@cache
def all_trees(n):
    return np.array([heads for heads in product(range(n + 1), repeat=n) if is_tree(heads)])


def weight(scores, heads):
    return scores[np.arange(len(scores)), heads].sum(-1)


def decode(scores):
    return decode_batch(scores[None], np.array([len(scores)]))[0]


def random_tree(generator, n):
    """Heads of a tree over n words in random order: each hangs on one before it."""
    order = generator.permutation(n) + 1
    heads = np.zeros(n, int)
    for i in range(1, n):
        heads[order[i] - 1] = order[generator.integers(i)]
    return heads


@pytest.mark.parametrize("kind", SCORES)
def test_no_tree_weighs_more(kind):
    generator = np.random.default_rng(len(kind))
    for case in range(200):  # 1,000 in all
        n = 1 + case % 6
        scores = SCORES[kind](generator, (n, n + 1))
        heads = decode(scores)
        assert is_tree(heads)
        assert weight(scores, heads) == pytest.approx(weight(scores, all_trees(n)).max(), abs=1e-9)


def heaviest(scores):
    """Weight of the best tree by networkx: the best over all root words, of an arborescence that hangs on that word."""
    found = []
    for root in range(len(scores)):
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(scores)))
        graph.add_weighted_edges_from(
            (head, word, scores[word, head + 1])
            for word in range(len(scores)) for head in range(len(scores)) if word not in (head, root)
        )  # fmt: skip
        tree = nx.maximum_spanning_arborescence(graph)
        found.append(scores[root, 0] + tree.size("weight"))
    return max(found)


@pytest.mark.parametrize("kind", ["normal", "ties", "greedy with many roots"])
def test_weights_are_those_of_networkx(kind):
    generator = np.random.default_rng(1)
    for n in (7, 8, 10, 12):
        scores = SCORES[kind](generator, (n, n + 1))
        heads = decode(scores)
        assert is_tree(heads)
        assert weight(scores, heads) == pytest.approx(heaviest(scores), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_planted_tree_is_found(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 120))
    planted = random_tree(generator, n)
    scores = generator.uniform(-1, 1, (n, n + 1))
    scores[np.arange(n), planted] += 2
    assert np.array_equal(decode(scores), planted)


def test_a_batch_is_its_sentences_whatever_lies_beyond_them():
    generator = np.random.default_rng(2)
    words = np.array([3, 1, 12, 7, 12, 0])
    scores = np.full((len(words), 12, 13), np.nan)
    alone = []
    for sentence, n in enumerate(words):
        inside = generator.normal(size=(n, n + 1))
        inside[np.arange(n), np.arange(1, n + 1)] = np.inf  # a word's own column
        scores[sentence, :n, : n + 1] = inside
        alone.append(decode(inside).tolist() + [0] * (12 - n))
    before = scores.copy()
    assert decode_batch(scores, words).tolist() == alone
    assert np.array_equal(scores, before, equal_nan=True)


@pytest.mark.parametrize("kind", SCORES)
def test_no_tree_of_any_number_of_roots_weighs_more(kind):
    generator = np.random.default_rng(4)
    several = 0
    for n in range(1, 6):
        every = np.array([heads for heads in product(range(n + 1), repeat=n) if reaches_root(heads)])
        assert len(every) == (n + 1) ** (n - 1)  # Cayley
        for _ in range(20):
            scores = SCORES[kind](generator, (n, n + 1))
            padded = np.full((2, 6, 7), np.nan)
            padded[1, :n, : n + 1] = scores
            empty, heads = decode_batch(padded, np.array([0, n]), one_root=False)
            assert not empty.any() and not heads[n:].any() and reaches_root(heads[:n])
            np.testing.assert_allclose(weight(scores, heads[:n]), max(weight(scores, each) for each in every))
            several += (heads[:n] == 0).sum() > 1
    assert several or kind == "equal"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_are_refused(value):
    scores = np.zeros((2, 3, 4))
    scores[1, 0, 2] = value
    with pytest.raises(ValueError, match="scores of sentence 1: expected finite numbers"):
        decode_batch(scores, np.array([3, 3]))


# Attachment.

RELATIONS = "root nsubj nsubj:pass obj obl obl:agent punct nmod nmod:poss".split()
TAGS = "NOUN VERB PUNCT SYM X".split()


def analyses(generator, sentences, agreement=0.8):
    """Random gold heads, gold relations, heads, relations and UPOS tags; both sides are trees."""
    gold_heads, gold_relations, heads, relations, upos = [], [], [], [], []
    for _ in range(sentences):
        n = int(generator.integers(1, 12))
        gold = random_tree(generator, n)
        near = np.where(generator.random(n) < agreement, gold, random_tree(generator, n))
        gold_heads.append(gold.tolist())
        heads.append(near.tolist() if is_tree(near.tolist()) else random_tree(generator, n).tolist())
        names = generator.choice(RELATIONS, n)
        gold_relations.append(names.tolist())
        relations.append(np.where(generator.random(n) < agreement, names, generator.choice(RELATIONS, n)).tolist())
        upos.append(generator.choice(TAGS, n).tolist())
    return gold_heads, gold_relations, heads, relations, upos


def conllu(heads, relations, upos):
    lines = []
    for sentence in zip(heads, relations, upos, strict=True):
        for i, (head, name, tag) in enumerate(zip(*sentence, strict=True), 1):
            lines.append(f"{i}\tw{i}\t_\t{tag}\t_\t_\t{head}\t{name}\t_\t_")
        lines.append("")
    return io.StringIO("\n".join(lines) + "\n")


def test_attachment_is_the_official_one_on_1000_trees():
    udeval = pytest.importorskip("udtools.udeval", reason="needs the official scorer: pip install udtools")
    gold_heads, gold_relations, heads, relations, upos = analyses(np.random.default_rng(0), 1000)
    gold = udeval.load_conllu(conllu(gold_heads, gold_relations, upos), "gold.conllu", {})
    system = udeval.load_conllu(conllu(heads, relations, upos), "system.conllu", {})
    official = udeval.evaluate(gold, system)
    counts = attachment(gold_heads, gold_relations, heads, relations, upos)
    for name, total in (("uas", official["UAS"]), ("las", official["LAS"])):
        found = overall(counts[name])
        assert (found.correct[0], found.true[0], found.predicted[0]) == (total.correct, total.gold_total, total.system_total)
        assert 0.3 < accuracy(found) < 0.9


def test_attachment_by_hand():
    given = [[2, 0, 2, 2]], [["nsubj:pass", "root", "obj", "punct"]], [[2, 0, 2, 3]], [["nsubj", "root", "iobj", "punct"]]
    upos = [["NOUN", "VERB", "NOUN", "PUNCT"]]

    def shares(**options):
        counts = attachment(*given, upos, **options)
        return [float(accuracy(overall(counts[name]))) for name in ("uas", "las")]

    assert shares() == [3 / 4, 2 / 4]
    assert shares(subtypes=True) == [3 / 4, 1 / 4]
    assert shares(without=("PUNCT", "SYM")) == [1, 2 / 3]
    assert shares(without=("PUNCT", "SYM"), roots=False) == [1, 1 / 2]


def test_a_word_without_a_head_is_wrong_and_counts():
    names = [["root", "obj", "dep"]]
    counts = attachment([[0, 1, -100]], names, [[0, -100, -100]], names, [["X", "X", "X"]])
    assert [float(accuracy(overall(counts[name]))) for name in ("uas", "las")] == [1 / 3, 1 / 3]


def test_no_sentences_and_sentences_without_words():
    counts = attachment([], [], [], [], [])
    assert counts["las"].true.shape == (0, 1)
    counts = attachment([[], [0]], [[], ["root"]], [[], [0]], [[], ["root"]], [[], ["X"]], without=("PUNCT",))
    assert counts["las"].correct.tolist() == [[0], [1]]


def test_sentences_of_different_lengths_are_refused_with_their_number():
    with pytest.raises(DataError, match="sentence 1: expected as many gold heads, .* as words, found 2, 2, 1, 2, 2"):
        attachment([[0], [0, 1]], [["a"], ["a", "b"]], [[0], [0]], [["a"], ["a", "b"]], [["X"], ["X", "X"]])
