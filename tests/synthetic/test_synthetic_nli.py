"""Sentence pairs of the synthetic corpus: labels that follow, no cues that give them away, and the official archives."""

import itertools
import shutil

import pytest
from crosslens.config.labels import NLI
from synthetic.grammar import read_grammar
from synthetic.nli import Statement, label_of, prompts, statements
from synthetic.realise import Meaning
from synthetic.tables import TABLES, SyntheticCorpusError, read_related


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


# Tables.


@pytest.mark.parametrize("relation", ["opposites", "overlaps"])
@pytest.mark.parametrize("line", ["big,large", "big,big", "big,horse", "big,", "big,small\nsmall,big"])
def test_a_bad_relation_gives_one_readable_error(tmp_path, relation, line):
    shutil.copy(TABLES / "concepts.csv", tmp_path)
    (tmp_path / f"{relation}.csv").write_text(f"concept,{relation}\n{line}\n")
    with pytest.raises(
        SyntheticCorpusError, match=rf"{relation}.csv:[23]: `\w+` and `\w*`, expected two concepts of one kind"
    ) as error:
        read_related(relation, tmp_path)
    assert "\n" not in str(error.value)
