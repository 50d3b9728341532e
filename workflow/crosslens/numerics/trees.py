"""Dependency trees (muller2021, wu2019): the tree with the best arc scores, and attachment scores.

A word's head is numbered as in CoNLL-U: words count from 1, and 0 is the root.
"""

from collections.abc import Collection, Sequence

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.numerics.f1 import Counts


def decode_batch(scores: np.ndarray, words: np.ndarray, *, one_root: bool = True) -> np.ndarray:
    """Heads of the trees with the largest sum of scores, of b sentences, (b, w) int64; 0 beyond a sentence's words.

    scores: (b, w, w + 1); rows are words, columns their possible heads. A word's own column is never read. If several trees are
    best, one of them is returned. words: (b,), number of words in each sentence. one_root: whether a tree has one root word; if
    not, it has as many as score best. Each sentence may take as long as the longest, so pass sentences of similar length. Raises
    ValueError if a score is not finite.
    """
    if not one_root:  # make the root an extra word, the only one that may depend on the new root
        b, w = scores.shape[:2]
        worst = -(4.0 * w * np.nanmax(np.abs(scores), initial=1.0, where=np.isfinite(scores)) + 1)
        wide = np.full((b, w + 1, w + 2), worst)
        wide[:, 0, 0], wide[:, 1:, 1:] = 0, scores
        several: np.ndarray = np.maximum(decode_batch(wide, np.where(words > 0, words + 1, 0))[:, 1:] - 1, 0)
        return several
    scores = scores.astype(np.float64)
    positions = np.arange(scores.shape[1])
    real = positions < words[:, None]
    readable = real[:, :, None] & np.pad(real, ((0, 0), (1, 0)), constant_values=True)[:, None]
    readable[:, positions, positions + 1] = False
    wrong = ~(np.isfinite(scores) | ~readable).all((1, 2))
    if wrong.any():
        raise ValueError(f"scores of sentence {wrong.argmax()}: expected finite numbers")
    scores[~readable] = -np.inf
    heads: np.ndarray = scores.argmax(2)  # with a trained parser, already a tree for most sentences
    unsolved = np.flatnonzero(~_are_trees(heads, words))
    if len(unsolved):
        heads[unsolved] = _edmonds(scores[unsolved], words[unsolved])
    return heads


def _are_trees(heads: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Whether all words of a sentence depend, directly or not, on one root word, (b,) bool. heads: (b, w).

    Paths towards the root double in length at each step; words of a cycle never reach it.
    """
    above = np.pad(heads, ((0, 0), (1, 0)))
    for _ in range(heads.shape[1].bit_length()):
        above = np.take_along_axis(above, above, 1)
    roots = (heads == 0).sum(1) - (heads.shape[1] - words)
    trees: np.ndarray = ~above.any(1) & (roots == np.minimum(words, 1))
    return trees


def _edmonds(worth: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Heads of the best trees, (b, w), by Edmonds' algorithm in the order of Tarjan (1977), for all sentences in parallel.

    worth: (b, w, w + 1), scores of arcs, -inf for no arc; it is overwritten. words: (b,), number of words in each sentence.

    The first word is the first group. In each step the newest group of words takes the best arc into it from a word outside,
    and that head becomes the newest group. If the head is on the path already, a cycle closes, which becomes one group. An arc
    into a group is then worth its gain over the arc already taken. Root arcs wait until all words are one group, so the tree is
    exactly the best with one root word: the penalty on root arcs of Stanojevic and Cohen (2021) taken to its limit. Trying each
    root word would cost w times as much.
    """
    b, n = worth.shape[:2]
    real = np.arange(n) < words[:, None]
    place = np.where(np.arange(n) == 0, 0, -np.ones((b, 1), np.int64))  # place on the path of each word's group, -1 for none
    top = np.zeros(b, np.int64)  # place of the newest group
    arcs_taken = []  # for each step: sentences, dependents, heads, groups
    at = np.flatnonzero(words > 1)
    while len(at):
        group = place[at] == top[at, None]
        arcs = np.where(group[:, :, None] & ~group[:, None], worth[at, :, 1:], -np.inf).reshape(len(at), -1)
        best = arcs.argmax(1)
        dependent, head = divmod(best, n)
        worth[at] -= np.where(group, arcs[np.arange(len(at)), best][:, None], 0)[:, :, None]
        arcs_taken.append((at, dependent, head, group))
        place_of_head = place[at, head]
        new = place_of_head < 0
        top[at] = np.where(new, top[at] + 1, place_of_head)
        place[at] = np.where(new[:, None], place[at], np.minimum(place[at], place_of_head[:, None]))
        place[at[new], head[new]] = top[at[new]]
        at = at[(real[at] & (place[at] != 0)).any(1)]
    heads = np.full((b, n), -1)
    heads[np.arange(b), worth[:, :, 0].argmax(1)] = 0
    for sentences, dependent, head, group in reversed(arcs_taken):
        free = ~(group & (heads[sentences] >= 0)).any(1)  # no arc of a larger group enters this one
        heads[sentences[free], dependent[free]] = head[free] + 1
    return np.where(real, heads, 0)


def attachment(
    gold_heads: Sequence[Sequence[int]],
    gold_relations: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]],
    upos: Sequence[Sequence[str]],
    *,
    without: Collection[str] = (),
    roots: bool = True,
    subtypes: bool = False,
) -> dict[str, Counts]:
    """Counts by sentence for UAS and LAS, (n, 1) each, under the keys `uas` and `las`; `accuracy` turns them into scores.

    The arguments have one sequence per sentence. As in the official evaluation of CoNLL 2018 on gold words, every word counts,
    even punctuation, and `nsubj:pass` is `nsubj` unless `subtypes`. A negative head, as of a word that was cut away, is wrong.
    without: gold UPOS tags of words that do not count; wu2019 leaves out PUNCT and SYM. roots: whether words whose gold head is
    the root count. Raises DataError if the sequences of a sentence differ in length.
    """

    def name(relation: str) -> str:
        return relation if subtypes else relation.partition(":")[0]

    counts = np.zeros((len(gold_heads), 3))
    for row, sentence in enumerate(zip(gold_heads, gold_relations, heads, relations, upos, strict=True)):
        lengths = [len(part) for part in sentence]
        if len(set(lengths)) > 1:
            parts = "gold heads, gold relations, heads, relations, UPOS tags"
            raise DataError(
                f"sentence {row}: expected as many {parts} as words, found {', '.join(map(str, lengths))}: align them"
            )
        words = [
            (gold_head == head >= 0, name(gold_relation) == name(relation))
            for gold_head, gold_relation, head, relation, tag in zip(*sentence, strict=True)
            if tag not in without and (roots or gold_head)
        ]
        counts[row] = len(words), sum(head for head, _ in words), sum(map(all, words))
    total, attached, labelled = counts.T[:, :, None]
    return {"uas": Counts(total, total, attached), "las": Counts(total, total, labelled)}
