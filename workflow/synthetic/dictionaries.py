"""Words of two languages as dictionaries in MUSE's format.

Format: https://github.com/facebookresearch/MUSE (a word, a space and its translation, in lower case; a line for each
translation).
"""

from collections.abc import Iterator, Sequence

from synthetic.generate import Stream
from synthetic.grammar import Grammar
from synthetic.realise import lower

TRAIN = 0.75  # share of the source words in `0-5000`, the part to learn from; the others are in `5000-6500`


def muse(english: Grammar, grammars: Sequence[Grammar], seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of both parts of each dictionary, from English into every other language and back."""
    for grammar in grammars:
        if grammar.language.code == "en":
            continue
        for source, target in ((english, grammar), (grammar, english)):
            name = f"{source.language.code}-{target.language.code}"
            words = dictionary(source, target)
            order = Stream(seed, "muse", name).shuffled(words)
            cut = round(TRAIN * len(order))
            for part, chosen in (("0-5000", order[:cut]), ("5000-6500", order[cut:])):
                lines = "".join(f"{word} {translation}\n" for word in chosen for translation in words[word])
                yield f"muse/dictionaries/{name}.{part}.txt", lines.encode()


def dictionary(source: Grammar, target: Grammar) -> dict[str, tuple[str, ...]]:
    """Translations of each source word, from all concepts that are a single word in both languages.

    A word for several concepts may have several translations.
    """
    words: dict[str, tuple[str, ...]] = {}
    for concept in source.concepts:
        word, translation = _word(source, concept), _word(target, concept)
        if word and translation and translation not in words.get(word, ()):
            words[word] = (*words.get(word, ()), translation)
    return words


def _word(grammar: Grammar, concept: str) -> str:
    """Lemma of a concept in lower case; empty if it is not a single word."""
    parts = grammar.lexicon[concept].lemma.parts
    return lower(parts[0].text, grammar.language.code) if len(parts) == 1 else ""
