"""Dependency trees (muller2021, wu2019): the best tree under scores of arcs, and attachment scores.

A word's head is numbered as in CoNLL-U: words count from 1, and 0 is the root.
"""

from collections.abc import Collection, Sequence

import numpy as np

from crosslens.jobs.errors import DataError
from crosslens.numerics.f1 import Counts


def decode(scores: np.ndarray) -> np.ndarray:
    """Heads of the tree with the largest sum of scores among all trees with one root word; scores (w, w + 1) -> (w,) int64.

    Rows are words, columns their possible heads; a word's own column is never read. One of the best where several are equal.
    Raises ValueError where a score is not finite.
    """
    heads: np.ndarray = decode_batch(scores[None], np.array([len(scores)]))[0]
    return heads


def decode_batch(scores: np.ndarray, words: np.ndarray, *, one_root: bool = True) -> np.ndarray:
    """Heads of b sentences at once: scores (b, w, w + 1), words (b,) in each -> heads (b, w) int64, 0 beyond its words.

    one_root: otherwise as many words as score best hang on the root. Each sentence may cost as much as the longest: give
    sentences of like length.
    """
    if not one_root:  # the root as the word that all others hang on: it alone may have no head among words
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
    heads: np.ndarray = scores.argmax(2)  # of most sentences a tree already, under a trained parser
    unsolved = np.flatnonzero(~_are_trees(heads, words))
    if len(unsolved):
        heads[unsolved] = _edmonds(scores[unsolved], words[unsolved])
    return heads


def _are_trees(heads: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Whether all words of a sentence (b, w) hang on one root word, (b,): no cycle lasts while paths double in length."""
    above = np.pad(heads, ((0, 0), (1, 0)))
    for _ in range(heads.shape[1].bit_length()):
        above = np.take_along_axis(above, above, 1)
    roots = (heads == 0).sum(1) - (heads.shape[1] - words)
    trees: np.ndarray = ~above.any(1) & (roots == np.minimum(words, 1))
    return trees


def _edmonds(worth: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Edmonds' algorithm in the order of Tarjan (1977), all sentences in step; worth as `scores`, -inf for no arc, is changed.

    From a first word on, the newest group of words takes the best arc into it from a word outside, and that head becomes the
    newest group; where the head is on the path already, a cycle closes, which becomes one group. An arc into a group is then
    worth what it adds to the arc taken. Root arcs wait until all words are one group, so that the tree is the best of one root
    word exactly: the penalty on root arcs of Stanojevic and Cohen (2021) taken to its limit. To try each root word would cost w
    times as much.
    """
    b, n = worth.shape[:2]
    real = np.arange(n) < words[:, None]
    place = np.where(np.arange(n) == 0, 0, -np.ones((b, 1), np.int64))  # place on the path of each word's group, -1 for none
    top = np.zeros(b, np.int64)  # of the newest group
    arcs_taken = []  # sentences, dependents, heads, groups; one of each a step
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
    """Counts of `uas` and `las` by sentence, (n, 1) each, for `accuracy` and intervals; a sequence a sentence.

    As the official evaluation of CoNLL 2018 on gold words: every word counts, punctuation too, and `nsubj:pass` is `nsubj`
    unless `subtypes`. A head that is no head, as of a word cut away, is wrong. `without`: gold UPOS tags that do not count;
    wu2019 leaves out PUNCT and SYM. roots: whether words whose gold head is the root count. Raises DataError where sentences
    differ in length.
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
