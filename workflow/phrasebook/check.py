"""Check a language of the phrasebook: python -m phrasebook.check LANG [--samples N] [--treebanks DIR].

Checked are that all concepts and frames are there, that all fillers resolve and that all trees are valid; with a folder of real
treebanks, the tags of the generated words are compared with those of the same forms there.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from phrasebook.errors import PhrasebookError
from phrasebook.grammar import RELATIONS, Grammar, read_grammar, tree_problem
from phrasebook.labels import UPOS
from phrasebook.realise import Meaning, Sentence, lower, realise
from phrasebook.tables import TABLES, Frame, languages_present

EXAMPLE_DIGITS = {"number": ("120", "450", "980"), "year": ("1820", "1890", "1911", "1956", "1987")}
RELEASES = ("r2.7", "r2.5")
"""Releases in which real treebanks are searched, in this order; 2.5 only if 2.7 has none of a language."""


def covering_meanings(grammar: Grammar, frame: Frame, seed: int) -> Iterator[Meaning]:
    """Meanings of a frame in which every pair of fillers of every two slots occurs, the others drawn at random.

    Words agree with one other word, so that pairs show every form that is missing.
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
    """The first fault of a sentence as a tree or as text; empty if there is none."""
    words = sentence.words
    if problem := tree_problem([word.head for word in words], [word.relation for word in words]):
        return problem
    for word in words:
        if word.upos not in UPOS:
            return f"`{word.form}` has the tag `{word.upos}`"
        if word.relation.split(":")[0] not in RELATIONS:
            return f"`{word.form}` has the relation `{word.relation}`"
        for text in (word.form, word.lemma):
            if not text or text != text.strip() or any(mark in text for mark in " {}[]/|\t"):
                return f"`{text}` is empty or holds a space, brace, bracket, stroke or slash"
    return ""


def grammar_problems(grammar: Grammar, seed: int = 0) -> list[str]:
    """One line for each thing that is missing or does not resolve."""
    code = grammar.language.code
    missing = [name for name in grammar.concepts if name not in grammar.lexicon]
    problems = [f"phrasebook/{code}/lexicon.csv: no line for `{name}`; add it" for name in missing]
    silent = [name for name in grammar.frames if name not in grammar.templates]
    problems += [f"phrasebook/{code}/frames.txt: no template for {name}; add it" for name in silent]
    if missing:
        return problems
    for frame in grammar.frames.values():
        if frame.name in silent:
            continue
        for meaning in covering_meanings(grammar, frame, seed):
            try:
                sentence = realise(grammar, meaning)
                problem = sentence_problem(sentence)
            except PhrasebookError as error:
                problems.append(str(error))
                continue
            if problem:
                problems.append(f"{frame.name} {dict(meaning.fillers)}: {problem}")
    return list(dict.fromkeys(problems))


def same_words(grammar: Grammar) -> list[tuple[str, str]]:
    """Pairs of concepts of a common kind that the language says with the same lemma: translations would coincide."""
    concept_of_lemma: dict[str, str] = {}
    pairs = []
    for name in grammar.concepts:
        if name in grammar.lexicon:
            lemma = " ".join(part.text for part in grammar.lexicon[name].lemma.parts)
            twin = concept_of_lemma.setdefault(lemma, name)
            if twin != name and set(grammar.concepts[twin].kinds) & set(grammar.concepts[name].kinds):
                pairs.append((twin, name))
    return pairs


@dataclass(frozen=True)
class TagAgreement:
    """Agreement of the phrasebook's tags of word tokens with those of the same forms in real treebanks (fractions).

    `most_frequent`: equal to the form's most frequent tag there; `usual`: that, or a tag of at least 20 % of the
    form's occurrences; `known`: share of all word tokens whose form (or its lower case) occurs there at all.
    """

    most_frequent: float
    usual: float
    known: float
    disagreements: tuple[tuple[str, str, int, Counter[str]], ...]
    """(form, tag here, tokens here, counts there) of words that are not even usual, most frequent first."""


def tag_agreement(sentences: Iterable[Sentence], tags: Mapping[str, Counter[str]]) -> TagAgreement:
    """Compare with counts of tags by form; digits and punctuation are left out, which agree in any language."""
    here: Counter[tuple[str, str, str]] = Counter()
    for sentence in sentences:
        for word in sentence.words:
            if word.upos not in ("PUNCT", "NUM"):
                here[word.form, lower(word.form, sentence.language), word.upos] += 1
    first = usual = covered = 0
    wrong: dict[tuple[str, str], tuple[int, Counter[str]]] = {}
    for (form, small, upos), count in here.items():
        # A form with a capital may only open its sentence here: both spellings count.
        there = tags.get(form, Counter()) + (tags.get(small, Counter()) if small != form else Counter())
        if not there:
            continue
        covered += count
        is_first = there.most_common(1)[0][0] == upos
        first += count * is_first
        if is_first or there[upos] >= 0.2 * there.total():
            usual += count
        else:
            wrong[form, upos] = count, there
    disagreements = tuple((*key, *value) for key, value in sorted(wrong.items(), key=lambda item: -item[1][0]))
    base = max(covered, 1)
    return TagAgreement(first / base, usual / base, covered / max(here.total(), 1), disagreements)


def treebank_tags(folder: Path, name: str) -> dict[str, Counter[str]]:
    """Counts of tags by form over all files of a language (by its treebank name) under a folder of releases."""
    for release in RELEASES:
        paths = sorted(folder.glob(f"{release}/UD_{name.replace(' ', '_')}-*/*.conllu*"))
        if paths:
            break
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    for path in paths:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                cells = line.split("\t", 4)
                if len(cells) == 5 and cells[0].isdecimal():
                    tags[cells[1]][cells[3]] += 1
    return tags


def _report_tags(grammar: Grammar, folder: Path, sentences: list[Sentence]) -> None:
    tags = treebank_tags(folder, grammar.language.name)
    if not tags:
        print(f"no treebank of {grammar.language.name} under {folder}")
        return
    result = tag_agreement(sentences, tags)
    print(
        f"tags: {result.most_frequent:.1%} the form's most frequent, {result.usual:.1%} that or >= 20 % of it "
        f"(85 % wanted); {result.known:.1%} of the words are known in the treebanks"
    )
    for form, upos, count, there in result.disagreements[:60]:
        usual_tags = " ".join(f"{tag}:{number}" for tag, number in there.most_common())
        print(f"  {form} is {upos} here ({count} times), there {usual_tags}")


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong, samples and tags; the exit status is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="phrasebook.check", description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=languages_present(), help="the language's folder")
    parser.add_argument("--samples", type=int, default=3, metavar="N", help="random sentences a frame (3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples (0)")
    parser.add_argument("--treebanks", type=Path, metavar="DIR", help="real treebanks: DIR/r2.7/UD_NAME-*/*.conllu.xz")
    options = parser.parse_args(arguments)
    try:
        grammar = read_grammar(options.language, TABLES)
    except PhrasebookError as error:
        print(error)
        return 1
    problems = grammar_problems(grammar, options.seed)
    for problem in problems[:60]:
        print(problem)
    print(f"{options.language}: {len(problems)} problems")
    for first, second in same_words(grammar):
        print(f"note: `{first}` and `{second}` are the same word here; another one would keep translations apart")
    sentences = []
    for frame in grammar.frames.values():
        meanings = list(covering_meanings(grammar, frame, options.seed))
        sample = random.Random(f"{options.seed} {frame.name}").sample(range(len(meanings)), k=min(200, len(meanings)))
        for position, index in enumerate(sample):
            try:
                sentence = realise(grammar, meanings[index])
            except PhrasebookError:
                continue
            sentences.append(sentence)
            if position < options.samples:
                print(f"{frame.name} seed {options.seed}.{index}: {sentence.text}")
    if options.treebanks:
        _report_tags(grammar, options.treebanks, sentences)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
