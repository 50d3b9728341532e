"""Masked subwords of held-out text that a language model names, and those that counts of the training text name."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from conftest import LANGUAGES
from crosslens.encoding.texts import Texts
from crosslens.measures import masked
from crosslens.measures.shared.masked_baselines import BIGRAM, GAIN, MAJORITY, MASKED, MODEL, guesses
from crosslens.measures.shared.subject import Subject
from crosslens.training.run import run
from test_pretraining import HELD_OUT, TEXT, arguments, recipe


def running(*texts: list[int]) -> Texts:
    """Texts of subwords between a first and a last special one, 0 and 1."""
    subwords = [[0, *text, 1] for text in texts]
    n = len(texts)
    return Texts(
        [str(i) for i in range(n)], ["en"] * n, np.array(sum(subwords, []), np.int32), np.cumsum([0, *map(len, subwords)]),
        np.zeros(0, np.int64), np.zeros(n + 1, np.int64), [], {}, np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, np.int64),
    )  # fmt: skip


def hidden(text: list[int], positions: list[int]) -> Texts:
    """A text whose masked places have these positions, the first special subword counted."""
    one = running(text)
    return Texts(
        one.ids, one.languages, one.subwords, one.subword_offsets, np.array(positions), np.array([0, len(positions)]), [], {},
        one.second, one.cut, one.cut_words,
    )  # fmt: skip


def test_guesses_are_the_most_frequent_subwords():
    """After 3 comes 4 twice, 5 and 6 once; after 4 come 3 and 5 once each; nothing follows 9; two of three texts begin with 3."""
    train = running([3, 4, 3, 5], [3, 4, 5], [5, 3, 6])
    named = guesses(train, hidden([9, 3, 9, 9, 4, 9], [1, 3, 4, 6]), 12)
    # After the first, 3, 9 (never seen: the most frequent of all) and 4 (3 before 5).
    assert named[BIGRAM].tolist() == [3, 4, 3, 3]
    assert named[MAJORITY].tolist() == [3] * 4


@pytest.mark.parametrize("seed", range(3))
def test_guesses_are_those_of_a_count_by_hand(seed):
    generator = np.random.default_rng(seed)
    texts = [generator.integers(2, 9, generator.integers(1, 12)).tolist() for _ in range(40)]
    own = generator.integers(2, 9, 30).tolist()
    positions = sorted(generator.permutation(np.arange(1, 31))[:12].tolist())
    named = guesses(running(*texts), hidden(own, positions), 9)
    pairs = Counter(pair for text in texts for pair in zip([0, *text], text, strict=False))
    all_subwords = Counter(subword for text in texts for subword in text)
    for place, guess in zip(positions, named[BIGRAM], strict=True):
        follow = {after: count for (before, after), count in pairs.items() if before == [0, *own][place - 1]}
        assert follow[int(guess)] == max(follow.values())
    assert all_subwords[int(named[MAJORITY][0])] == max(all_subwords.values())


def test_the_score_is_that_of_the_training_and_the_guesses_are_of_the_same_places(bench, tokens, tmp_path, log):
    made = recipe()
    run(*arguments(bench, tokens, tmp_path, made), threads=1, log=log)
    history = pd.read_csv(tmp_path / "history.csv")
    given = Subject(bench.encoder_folder, 0, {"sentences": tokens / "sentences"}, weights=[tmp_path / "model.safetensors"])
    settings = {"corpora": {"sentences": "tests"}, "masking": made.masking.model_dump()}
    data = {name: data.model_dump(mode="json", exclude_defaults=True) for name, data in (("train", TEXT), ("held_out", HELD_OUT))}
    found = pd.DataFrame(masked.measure(given, **settings, **data))
    assert set(found["measure"]) == {MASKED} and set(found["language"]) == {"all", *LANGUAGES}
    by_definition = found[found["language"] == "all"].set_index("definition")
    assert by_definition.loc[MODEL, "value"] == pytest.approx(history["score"].iloc[-1])
    values = by_definition["value"]
    assert values[GAIN] == pytest.approx(values[MODEL] - values[BIGRAM])
    ends = found.dropna(subset="low")
    assert len(ends) and (ends["low"] <= ends["value"] + 1e-9).all() and (ends["value"] <= ends["high"] + 1e-9).all()
    of_languages = found[(found["language"] != "all") & (found["definition"] == MAJORITY)]
    assert np.average(of_languages["value"], weights=of_languages["n"]) == pytest.approx(values[MAJORITY])
    assert by_definition.loc[MAJORITY, "n"] == of_languages["n"].sum()
