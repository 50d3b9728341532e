"""Check a language of the synthetic corpus: python -m synthetic.check LANG [--samples N].

It checks that all concepts and frames are present, all fillers resolve and all trees are valid.
"""

import argparse
import itertools
import random
import sys
from collections.abc import Iterator

from synthetic.grammar import Grammar, read_grammar
from synthetic.realise import Meaning, Sentence, realise
from synthetic.tables import Frame, SyntheticCorpusError, languages_present

EXAMPLE_DIGITS = {"number": ("120", "450", "980"), "year": ("1820", "1890", "1911", "1956", "1987")}


def covering_meanings(grammar: Grammar, frame: Frame, seed: int) -> Iterator[Meaning]:
    """Yield meanings of a frame that cover every pair of fillers of any two slots; the other slots are filled at random.

    A word agrees with only one other word, so pairs reveal every missing form.
    """
    generator = random.Random(f"{seed} {frame.name}")
    choices = {slot: EXAMPLE_DIGITS[kind] if kind in EXAMPLE_DIGITS else grammar.fillers(kind) for slot, kind in frame.slots}
    # A frame with one slot has no pairs.
    pairs: list[tuple[str, ...]] = [*itertools.combinations(choices, 2)] or [tuple(choices)]
    for pair in pairs:
        for values in itertools.product(*(choices[slot] for slot in pair)):
            fillers = {slot: generator.choice(options) for slot, options in choices.items()}
            fillers.update(zip(pair, values, strict=True))
            if len(set(fillers.values())) == len(fillers):
                yield Meaning(frame.name, tuple(fillers.items()))


def sentence_problem(sentence: Sentence) -> str:
    """The first fault of a sentence as text; empty if there is none."""
    for text in (text for word in sentence.words for text in (word.form, word.lemma)):
        if not text or text != text.strip() or any(mark in text for mark in " {}[]/|\t"):
            return f"`{text}` is empty or holds a space, brace, bracket, stroke or slash"
    return ""


def grammar_problems(grammar: Grammar, seed: int = 0) -> list[str]:
    """Messages, one line each, about all that is missing or does not resolve."""
    code = grammar.language.code
    missing = [name for name in grammar.concepts if name not in grammar.lexicon]
    silent = [name for name in grammar.frames if name not in grammar.templates]
    problems = [f"synthetic/{code}/lexicon.csv: no line for `{name}`; add it" for name in missing]
    problems += [f"synthetic/{code}/frames.txt: no template for {name}; add it" for name in silent]
    if missing:
        return problems
    for name in grammar.templates:
        for meaning in covering_meanings(grammar, grammar.frames[name], seed):
            try:
                problem = sentence_problem(realise(grammar, meaning))
            except SyntheticCorpusError as error:
                problems.append(str(error))
                continue
            if problem:
                problems.append(f"{name} {dict(meaning.fillers)}: {problem}")
    return list(dict.fromkeys(problems))


def same_words(grammar: Grammar) -> list[tuple[str, str]]:
    """Pairs of concepts that share a kind and the language's lemma, so that different meanings have the same sentence."""
    words = {
        name: [part.text for part in grammar.lexicon[name].lemma.parts] for name in grammar.concepts if name in grammar.lexicon
    }
    pairs = itertools.combinations(words, 2)
    return [(a, b) for a, b in pairs if words[a] == words[b] and {*grammar.concepts[a]} & {*grammar.concepts[b]}]


def main(arguments: list[str] | None = None) -> int:
    """Print problems or, without any, sample sentences. Return the exit status: 1 if there are problems."""
    parser = argparse.ArgumentParser(prog="synthetic.check", description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=languages_present(), help="the language's folder")
    parser.add_argument("--samples", type=int, default=3, metavar="N", help="random sentences a frame (3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples (0)")
    options = parser.parse_args(arguments)
    try:
        grammar = read_grammar(options.language)
        problems = grammar_problems(grammar, options.seed)
    except SyntheticCorpusError as error:
        print(error)
        return 1
    print("\n".join([*problems[:60], f"{options.language}: {len(problems)} problems"]))
    for first, second in same_words(grammar):
        print(f"note: `{first}` and `{second}` are the same word here; another one would keep translations apart")
    for name in grammar.templates if not problems else ():
        meanings = list(covering_meanings(grammar, grammar.frames[name], options.seed))
        for meaning in random.Random(f"{options.seed} {name}").sample(meanings, min(options.samples, len(meanings))):
            print(f"{name}: {realise(grammar, meaning).text}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
