"""Sentence pairs of the synthetic corpus: labels that follow, no cues that give them away, and the official archives."""

import itertools
import math
from collections import Counter, defaultdict

import pytest
from crosslens.config.labels import NLI
from synthetic.grammar import read_grammar
from synthetic.nli import DENIAL, Statement, label_of, prompts, statements
from synthetic.realise import Meaning, realise
from synthetic.tables import languages_present

LANGUAGES = languages_present()


def meaning(frame: str, **fillers: str) -> Meaning:
    return Meaning(frame, tuple(fillers.items()))


def said(frame: str, **fillers: str) -> Statement:
    return Statement(meaning(frame, **fillers))


def denied(frame: str, **fillers: str) -> Statement:
    return Statement(meaning(frame, **fillers), holds=False)


MONDAY = meaning("e15", day="Monday", agent="painter", act="work", place="library")
BAG = meaning("e02", agent="girl", act="find", quality="red", object="bag")
SHIRT = meaning("e14", name="Anna", quality="happy", object="shirt", quality2="old")
HORSES = meaning("e16", name="Peter", count="three", animal="horse")
NO_FISH = meaning("e12", agent="mother", act="eat", food="fish")
NO_GARDEN = meaning("e21", agent="doctor", act="wait", place="house")


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label"),
    [
        (MONDAY, said("e04", agent="painter", act="work", place="library"), "entailment"),
        (MONDAY, denied("e04", agent="painter", act="work", place="library"), "contradiction"),
        (MONDAY, said("e04", agent="doctor", act="work", place="library"), "neutral"),
        # Nobody is in two places.
        (MONDAY, said("e04", agent="painter", act="work", place="park"), None),
        (BAG, said("e01", agent="girl", act="find", object="bag"), "entailment"),
        (BAG, denied("e01", agent="girl", act="find", object="cup"), "neutral"),
        # Someone else may have found it too, or not.
        (BAG, said("e01", agent="boy", act="find", object="bag"), None),
        (BAG, said("e05", object="bag", quality="red"), "entailment"),
        (BAG, denied("e05", object="bag", quality="green"), "entailment"),
        (BAG, said("e05", object="bag", quality="green"), "contradiction"),
        (BAG, said("e05", object="bag", quality="new"), "neutral"),
        (SHIRT, said("e05", object="shirt", quality="old"), "entailment"),
        (SHIRT, said("e05", object="shirt", quality="new"), "contradiction"),
        (meaning("e22", object="bag", quality="old"), said("e05", object="bag", quality="new"), None),
        (HORSES, said("e16", name="Peter", count="ten", animal="horse"), "contradiction"),
        (HORSES, said("e16", name="Peter", count="three", animal="dog"), "neutral"),
        (NO_FISH, said("e19", agent="mother", act="eat", food="fish"), "contradiction"),
        (NO_FISH, said("e19", agent="doctor", act="eat", food="fish"), "neutral"),
        # The mother may be the woman, fish may count as meat, who does not eat may cook.
        (NO_FISH, said("e19", agent="woman", act="eat", food="fish"), None),
        (NO_FISH, said("e19", agent="mother", act="eat", food="meat"), None),
        (NO_FISH, said("e19", agent="mother", act="cook", food="fish"), None),
        (NO_GARDEN, said("e04", agent="doctor", act="wait", place="park"), "neutral"),
        (NO_GARDEN, said("e04", agent="doctor", act="wait", place="kitchen"), None),
    ],
)
def test_labels(premise, hypothesis, label):
    english = read_grammar("en")
    assert label_of(english, [premise], hypothesis) == label
    # A sentence about something else changes nothing.
    assert label_of(english, [meaning("e01", agent="singer", act="sell", object="clock"), premise], hypothesis) == label


def test_prompts_are_balanced_distinct_and_split():
    english = read_grammar("en")
    found = {split: prompts(english, split, 100, seed=0) for split in ("train", "dev", "test")}
    for several in found.values():
        assert len({frozenset(prompt.premise) for prompt in several}) == 100
        for prompt in several:
            assert sorted(label for label, _ in prompt.hypotheses) == sorted(NLI)
            for label, hypothesis in prompt.hypotheses:
                (statement,) = statements(english, hypothesis)
                assert label_of(english, prompt.premise, statement) == label
    sentences = {split: {each for prompt in several for each in prompt.premise} for split, several in found.items()}
    for one, other in itertools.combinations(sentences.values(), 2):
        assert not one & other
    assert found["dev"] == prompts(read_grammar("zh"), "dev", 100, seed=0) != prompts(english, "dev", 100, seed=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_hypotheses_differ_in_every_language(language):
    grammar = read_grammar(language)
    for prompt in prompts(grammar, "test", 60, seed=0):
        said = {label: realise(grammar, hypothesis).text for label, hypothesis in prompt.hypotheses}
        assert len(set(said.values())) == 3
        # Nothing but an entailment may repeat a sentence of the premise.
        repeated = {realise(grammar, sentence).text for sentence in prompt.premise}
        assert not repeated & {said["neutral"], said["contradiction"]}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("plain", "denial"), DENIAL.items())
def test_a_denial_differs_from_what_it_denies(language, plain, denial):
    grammar = read_grammar(language)
    slots = grammar.frames[plain].slots
    assert slots == grammar.frames[denial].slots
    for fillers in itertools.product(*(grammar.fillers(kind)[:8] for _, kind in slots)):
        pairs = tuple((slot, filler) for (slot, _), filler in zip(slots, fillers, strict=True))
        assert realise(grammar, Meaning(plain, pairs)).text != realise(grammar, Meaning(denial, pairs)).text


def rows(language: str, split: str, n: int) -> list[tuple[str, list[str], list[str]]]:
    """(label, words of the premise, words of the hypothesis)."""
    grammar = read_grammar(language)

    def words(*meanings: Meaning) -> list[str]:
        return [word.form.lower() for each in meanings for word in realise(grammar, each).words]

    return [
        (label, words(*prompt.premise), words(hypothesis))
        for prompt in prompts(grammar, split, n, seed=0)
        for label, hypothesis in prompt.hypotheses
    ]


@pytest.mark.parametrize("language", ["en", "fi", "zh"])
def test_neither_the_hypothesis_nor_overlap_tells_all_labels(language):
    # As in real corpora each tells something (chance is a third), and a denial or a new word occurs under every label.
    train, test = rows(language, "train", 300), rows(language, "test", 200)
    counts: dict[str, Counter[str]] = {label: Counter() for label in NLI}
    for label, _, hypothesis in train:
        counts[label].update(hypothesis)
    vocabulary = {word for count in counts.values() for word in count}

    def bayes(label: str, hypothesis: list[str]) -> float:
        total = counts[label].total() + len(vocabulary)
        return sum(math.log((counts[label][word] + 1) / total) for word in hypothesis if word in vocabulary)

    guessed = [max(NLI, key=lambda label: bayes(label, hypothesis)) for _, _, hypothesis in test]
    assert sum(guess == label for guess, (label, _, _) in zip(guessed, test, strict=True)) / len(test) < 0.55
    missing: dict[int, Counter[str]] = defaultdict(Counter)
    for label, premise, hypothesis in train:
        missing[sum(word not in premise for word in hypothesis)][label] += 1
    best = {number: labels.most_common(1)[0][0] for number, labels in missing.items()}
    right = [best.get(sum(word not in premise for word in hypothesis)) == label for label, premise, hypothesis in test]
    assert sum(right) / len(test) < 0.85
