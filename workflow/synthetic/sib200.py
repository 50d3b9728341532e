"""Parallel sentences with topics, in the format of SIB-200 (dadelani/sib-200): tables of index_id, category and text."""

from collections.abc import Iterator, Sequence

from synthetic.archives import lined
from synthetic.generate import Stream, different
from synthetic.grammar import Grammar
from synthetic.paths import SIB200, sib200_path
from synthetic.realise import realise
from synthetic.topics import TOPICS, meaning_of, topical

COLUMNS = ("index_id", "category", "text")


def sib200(grammars: Sequence[Grammar], english: Grammar, parallel: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of each language's splits. All languages have the same sentences with the same topics.

    index_id numbers the sentences of all splits together; their order within a split is random, as in SIB-200. No two sentences
    have the same meaning. english: grammar with which the meanings are drawn. parallel: sentences in the test split.
    """
    stream = Stream(seed, "sib-200")
    sizes = {split: times * parallel for split, times in SIB200.items()}
    total = sum(sizes.values())
    topics = stream.shuffled(TOPICS[place % len(TOPICS)] for place in range(total))
    frames = topical(english)
    meanings = different(lambda place: meaning_of(english, topics[place], frames, stream), total, "sentences with topics")
    order = stream.shuffled(range(total))
    for split, size in sizes.items():
        rows, order = order[:size], order[size:]
        for grammar in grammars:
            lines = ["\t".join(COLUMNS)]
            lines += [f"{row}\t{topics[row]}\t{realise(grammar, meanings[row]).text}" for row in rows]
            yield sib200_path(grammar.language.code, split), lined(lines)
