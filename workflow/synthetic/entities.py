"""Sentences with named entities, in the layouts of WikiANN, CoNLL-2002, CoNLL-2003 and MSRA.

Formats: WikiANN, the archive of Rahimi et al. 2019; CoNLL-2002 in NLTK's edition; CoNLL-2003, Tjong Kim Sang and De Meulder
2003, section 2 (German has the lemma as a second column); MSRA in the edition of OYE93/Chinese-NLP-Corpus. Parts of speech
are UPOS tags; the chunks of CoNLL-2003 are unknown, and all O. Types are PER and LOC.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from synthetic.archives import gz, tarred, zipped
from synthetic.generate import Stream, different, draw, split_of
from synthetic.grammar import Grammar
from synthetic.paths import ENTITIES
from synthetic.realise import ENTITY_OF_KIND, Sentence, Token, realise

NAMELESS = 0.2  # share of the sentences that have no name
DOCUMENT = 10  # sentences in a document of CoNLL-2003
Word = tuple[Token, str]  # A token as it is written, and its tag in IOB2


def wikiann(grammars: Sequence[Grammar], records: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of panx_dataset.zip, which has a LANGUAGE.tar.gz with train, dev and test for each language."""
    members = {}
    for grammar in grammars:
        prefix = f"{grammar.language.code}:"
        splits = {}
        for split in ("dev", "test", "train"):
            part = sentences(grammar, "wikiann", split, records, seed)
            splits[split] = _lines([[f"{prefix}{token.form}\t{tag}" for token, tag in tagged(sentence)] for sentence in part])
        members[f"{grammar.language.code}.tar.gz"] = gz(tarred({name: text.encode() for name, text in splits.items()}))
    yield "wikiann/panx_dataset.zip", zipped(members)


def conll(grammars: Sequence[Grammar], records: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of the files in ENTITIES, for the languages that have such files."""
    for grammar in grammars:
        code = grammar.language.code
        for split, path in ENTITIES.get(code, {}).items():
            part = sentences(grammar, "conll", split, records, seed)
            if code == "zh":
                yield path, _lines([_characters(sentence) for sentence in part]).encode()
            elif code == "es":
                blocks = [
                    [f"{token.form} {_upos(sentence, token)} {tag}" for token, tag in tagged(sentence)] for sentence in part
                ]
                yield path, _lines(blocks).encode()
            else:
                yield path, _conll2003(part, lemmas=code == "de").encode("iso-8859-1")


def sentences(grammar: Grammar, corpus: str, split: str, records: int, seed: int) -> tuple[Sentence, ...]:
    """Different sentences for a corpus: three times `records` in train, `records` each in dev and test.

    No meaning is in two splits (see `split_of`).
    """
    stream = Stream(seed, "entities", corpus, split, grammar.language.code)
    frames = [frame for frame in grammar.frames.values() if frame.register != "inference"]
    naming = [frame for frame in frames if any(kind in ENTITY_OF_KIND for _, kind in frame.slots)]
    nameless = [frame for frame in frames if frame not in naming]

    def draw_sentence(_: int) -> Sentence | None:
        chosen = nameless if stream.chance(NAMELESS) else naming
        meaning = draw(grammar, stream.pick(chosen), stream)
        if split_of(meaning) != split:
            return None
        sentence = realise(grammar, meaning)
        # `She wrote many books` has a name in its slots only: many meanings would be one sentence.
        return sentence if chosen is nameless or sentence.entities else None

    return different(draw_sentence, 3 * records if split == "train" else records, f"sentences with names of the {split} split")


def tagged(sentence: Sentence) -> list[Word]:
    """Tokens of a sentence with their IOB2 tags. A token that contains a word of a name is part of the name."""
    words: list[Word] = []
    before = None
    for token in sentence.tokens:
        entity = next((name for name in sentence.entities if name.first <= token.last and token.first <= name.last), None)
        words.append((token, f"{'I' if entity is before else 'B'}-{entity.type}" if entity else "O"))
        before = entity
    return words


def iob1(tags: Sequence[str]) -> list[str]:
    """IOB2 tags in IOB1: B- only for a name that directly follows one of the same type."""
    return ["I" + tag[1:] if tag.startswith("B") and tag[1:] != before[1:] else tag for before, tag in pairwise(["O", *tags])]


def _conll2003(corpus: Sequence[Sentence], lemmas: bool) -> str:
    """Lines of word, lemma if `lemmas`, part of speech, chunk and IOB1 tag; documents of ten sentences."""
    opening = " ".join(["-DOCSTART-", *["-X-"] * (3 if lemmas else 2), "O"])
    blocks = []
    for number, sentence in enumerate(corpus):
        if number % DOCUMENT == 0:
            blocks.append([opening])
        words = tagged(sentence)
        blocks.append([])
        for (token, _), tag in zip(words, iob1([tag for _, tag in words]), strict=True):
            lemma = [_lemma(sentence, token)] if lemmas else []
            blocks[-1].append(" ".join([token.form, *lemma, _upos(sentence, token), "O", tag]))
    return _lines(blocks)


def _characters(sentence: Sentence) -> list[str]:
    """Lines of a character and its tag. All characters of a token have its tag, but only the first can have B-."""
    lines = []
    for token, tag in tagged(sentence):
        lines += [f"{letter}\t{tag if at == 0 else tag.replace('B-', 'I-')}" for at, letter in enumerate(token.form)]
    return lines


def _upos(sentence: Sentence, token: Token) -> str:
    """UPOS of a token's first word; for a contraction, mostly an adposition."""
    return sentence.words[token.first - 1].upos


def _lemma(sentence: Sentence, token: Token) -> str:
    """Lemmas of a token's words, such as `in+der`."""
    return "+".join(word.lemma for word in sentence.words[token.first - 1 : token.last])


def _lines(blocks: Sequence[Sequence[str]]) -> str:
    """Text of blocks of lines, with an empty line after each block."""
    return "".join("\n".join(block) + "\n\n" for block in blocks)
