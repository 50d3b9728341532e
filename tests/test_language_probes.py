"""Language identification by vectors of subwords and after a shift: planted states, passes with a hook, scikit-learn."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import alone
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.shift import Shift, shifted
from crosslens.encoding.texts import load_subwords
from crosslens.jobs import records
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.measures import language_after_shift as after
from crosslens.measures import language_of_subwords as of_subwords
from crosslens.measures.language_after_shift import TEST, TRAIN, Items, draw_subwords, states_of
from crosslens.measures.shared.identification_terms import ALONE, CHANCE, EVERY, SEVERAL, UNSHIFTED_PROBE
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.shift_terms import NO_SHIFT, RANDOM, SHIFT
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.probe import draw_evenly, logistic_probe
from test_translation import dev_tokens  # noqa: F401

MEAN = {"corpus": "pairs", "split": "dev", "weighting": "tokens", "specials": False}
PROBE = {"penalties": [0.1], "tolerance": 1e-6}


# What is drawn, and how it is standardised.


def test_items_are_drawn_evenly_from_their_groups():
    groups = np.random.default_rng(0).permutation(np.repeat([3, 7, 9], [50, 4, 1]))
    for most, sizes in ((3, [1, 1, 1]), (5, [2, 2, 1]), (9, [4, 4, 1]), (99, [50, 4, 1])):
        items = draw_evenly(groups, most, 0)
        assert (np.diff(items) > 0).all() and sorted(np.unique(groups[items], return_counts=True)[1].tolist()) == sorted(sizes)
    chosen = {tuple(draw_evenly(groups, 1, seed)) for seed in range(99)}
    assert {groups[row] for (row,) in chosen} == {3, 7, 9}, "no group is always the first"


# After a shift.


def planted(difference: np.ndarray, noise: np.ndarray, seed: int) -> dict[str, Items]:
    """Languages whose states differ by a vector; the mean difference takes it away. noise: deviation along each direction."""
    items_by_split = {}
    for split, number in ((TRAIN, 0), (TEST, 1)):
        generator = np.random.default_rng((seed, number))
        states = (noise * generator.standard_normal((1, 400, len(difference)))).astype(np.float32)
        shifts = {NO_SHIFT: states + difference, SHIFT: states, RANDOM: states + difference + np.flip(difference)}
        items_by_split[split] = Items(np.repeat([f"{split}-{i}" for i in range(200)], 2), shifts)
    return items_by_split


def accuracies(source: dict[str, Items], language: dict[str, Items]) -> dict[str, float]:
    fits = after.identify(source, language, 0, "en", "de", partial(logistic_probe, seed=0, **PROBE))
    truth = np.repeat(["en", "de"], 400)
    assert all(fitted.converged for fitted in fits.values())
    return {definition: float((fitted.predicted == truth).mean()) for definition, fitted in fits.items()}


def test_a_shift_that_takes_the_whole_difference_leaves_nothing():
    difference = np.array([4.0, 0, 0, 0, 0, 0], np.float32)
    scores = accuracies(planted(0 * difference, np.ones(6), 0), planted(difference, np.ones(6), 1))
    assert list(scores) == [NO_SHIFT, *(f"{shift}; {UNSHIFTED_PROBE}" for shift in (SHIFT, RANDOM)), SHIFT, RANDOM]
    assert scores[NO_SHIFT] > 0.95 and scores[RANDOM] > 0.95
    assert scores[SHIFT] == pytest.approx(0.5, abs=0.06) and scores[f"{SHIFT}; {UNSHIFTED_PROBE}"] == pytest.approx(0.5, abs=0.06)
    assert scores[f"{RANDOM}; {UNSHIFTED_PROBE}"] > 0.95


def test_a_shift_that_misses_the_difference_misleads_no_probe_that_learns_anew():
    """The states move past the border of the first probe, but stay apart in another direction."""
    difference = np.array([4.0, 0, 0, 0, 0, 0], np.float32)
    source, language = planted(0 * difference, np.ones(6), 0), planted(difference, np.ones(6), 1)
    for items in language.values():
        items.states[SHIFT][:] += np.array([0, 0, 0, 0, 0, 9], np.float32)
    scores = accuracies(source, language)
    assert scores[f"{SHIFT}; {UNSHIFTED_PROBE}"] < 0.6 and scores[SHIFT] > 0.95


def test_subwords_are_drawn_from_all_texts_and_are_never_special(dev_tokens):  # noqa: F811
    texts = read_pairs(dev_tokens["pairs"], "de", "test")
    drawn = draw_subwords(texts, 3 * len(texts), 0)
    assert set(np.diff(drawn.word_offsets)) == {3} and drawn.ids == texts.ids
    assert len(draw_subwords(texts, 5, 0)) == 5
    subwords = drawn.subwords[drawn.labelled_rows]
    assert not {2, 3} & {*subwords.tolist()} and len(draw_subwords(texts, 10**6, 0).positions) == sum(
        subword not in (2, 3) for subword in texts.subwords
    )


def test_states_are_those_of_passes_with_a_hook(encoder_folder, dev_tokens):  # noqa: F811
    encoder = load_encoder(encoder_folder)
    texts = draw_subwords(read_pairs(dev_tokens["pairs"], "en", "test"), 40, 0)
    vector = torch.from_numpy(np.random.default_rng(0).standard_normal(32).astype(np.float32))
    shifts = {NO_SHIFT: Shift(1, 0.0, vector), SHIFT: Shift(1, 1.0, vector)}
    items = states_of(encoder, texts, shifts, [1, 2], True)
    assert len(items.texts) == 40 and items.states[SHIFT].shape == (2, 40, 32)
    owners = np.repeat(np.arange(len(texts)), np.diff(texts.word_offsets))
    assert [texts.ids[i] for i in owners] == items.texts.tolist()
    for row, i in enumerate(owners):
        subwords = torch.from_numpy(texts.subwords[texts.subword_offsets[i] : texts.subword_offsets[i + 1]].astype(np.int64))[
            None
        ]
        types = (torch.arange(subwords.shape[1]) >= texts.second[i]).long()[None]
        with torch.inference_mode():
            plain = encoder(input_ids=subwords, token_type_ids=types, output_hidden_states=True).hidden_states
            with shifted(encoder, shifts[SHIFT]):
                last = encoder(input_ids=subwords, token_type_ids=types).last_hidden_state
        at = int(texts.positions[row])
        expected = {NO_SHIFT: [plain[1][0, at], plain[2][0, at]], SHIFT: [plain[1][0, at] + vector, last[0, at]]}
        for name, states in expected.items():
            np.testing.assert_allclose(items.states[name][:, row], torch.stack(states), atol=1e-5)


def test_records_after_a_shift(encoder_folder, dev_tokens):  # noqa: F811
    rows = after.measure(
        Subject(encoder_folder, 0, dev_tokens), corpora={}, pairs="pairs", source="en", languages=["de", "zh"], means=MEAN,
        layer=1, segments=True, subwords=60, **PROBE,
    )  # fmt: skip
    frame = pd.DataFrame(list(rows), columns=records.RECORDS.names)
    definitions = {NO_SHIFT, SHIFT, RANDOM, *(f"{shift}; {UNSHIFTED_PROBE}" for shift in (SHIFT, RANDOM))}
    places = frame.groupby(["language", "layer"])["definition"]
    assert len(places) == 4 and all(set(group) == definitions and len(group) == 5 for _, group in places)
    assert frame["converged"].all() and set(frame["n"]) == {120} and (frame["low"] <= frame["value"]).all()
    assert (frame["weight"] == (frame["definition"] != NO_SHIFT)).all()
    shift = frame[(frame["layer"] == 1) & (frame["definition"] == f"{SHIFT}; {UNSHIFTED_PROBE}")].set_index("language")["value"]
    plain = frame[(frame["layer"] == 1) & (frame["definition"] == NO_SHIFT)].set_index("language")["value"]
    assert (shift < plain).all(), "the probe that has learnt without it is misled"
    means = mean_states(load_encoder(encoder_folder), dev_tokens, ["de", "en"], [Mean(**MEAN)], True)[Mean(**MEAN)]
    assert (means["de"] - means["en"]).norm() > 0


# Subwords in running text.


def running(generator: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, languages and subwords: 200 subwords, each in two of four languages, by static vectors or by their context."""
    subwords, languages, states = [], [], []
    of_language = 3 * generator.standard_normal((4, 8))
    for subword in range(200):
        vector = generator.standard_normal(8)
        for language in generator.choice(4, 2, replace=False):
            subwords.append(subword)
            languages.append("abcd"[language])
            states.append(vector + (of_language[language] if kind == "context" else 0))
    return np.array(states, np.float32), np.array(languages), np.array(subwords)


@pytest.mark.parametrize("kind", ["static", "context"])
def test_vectors_that_have_the_language_are_told_from_those_that_have_not(kind):
    states, languages, subwords = running(np.random.default_rng(0), kind)
    predicted, convergence = of_subwords.identify(states, languages, subwords, seed=0, **PROBE)
    value = (predicted == languages).mean()
    assert convergence["converged"] and of_subwords.highest_share(subwords, languages) == 0.5
    assert value > 0.9 if kind == "context" else value == pytest.approx(0.25, abs=0.07)


def test_no_subword_is_tested_by_a_probe_that_has_learnt_from_it():
    """Each subword is of one language, which its vector does not tell: who has learnt it by heart would know."""
    generator = np.random.default_rng(0)
    subwords = np.repeat(np.arange(100), 4)
    states = np.repeat(generator.standard_normal((100, 60)), 4, 0).astype(np.float32)
    languages = np.repeat(np.array(list("abcd"))[generator.integers(0, 4, 100)], 4)
    predicted, _ = of_subwords.identify(states, languages, subwords, seed=0, **PROBE)
    assert (predicted == languages).mean() < 0.45


@pytest.fixture(scope="module")
def text(dev_tokens):  # noqa: F811
    return {"sentences": dev_tokens["sentences"]}


def test_records_of_subwords(encoder_folder, text):
    options = {"corpora": {"sentences": "whole"}, "split": "test", "window": 20, "within": "text", "subwords": 60}
    rows = of_subwords.measure(Subject(encoder_folder, 0, text), **options, **PROBE)
    frame = pd.DataFrame(list(rows), columns=records.RECORDS.names)
    values = frame.set_index(["definition", "language"])["value"]
    assert set(frame["layer"]) == {2} and set(values.loc[EVERY].index) == {"all", "de", "en", "zh"}
    for definition in (EVERY, SEVERAL):
        chance = 1 / (len(values.loc[definition]) - 1)  # of the languages that have such subwords
        assert set(values.loc[f"{definition}; {CHANCE}"]) == {chance}
        assert chance <= values[f"{definition}; {ALONE}", "all"] <= 1
    by_language = frame[(frame["definition"] == EVERY) & (frame["language"] != "all")]
    assert set(by_language["n"]) == {60}
    assert values[EVERY, "all"] == pytest.approx(by_language["value"].mean())
    assert values[f"{EVERY}; {ALONE}", "all"] > values[f"{SEVERAL}; {ALONE}", "all"]
    assert set(frame["converged"].dropna()) == {True}


def test_a_state_is_that_of_its_place(encoder_folder, text):
    encoder = load_encoder(encoder_folder)
    texts = load_subwords([text["sentences"] / "en.test.parquet"])
    inside = np.zeros(10**6, bool)
    inside[np.unique(texts.subwords)] = True
    inside[[2, 3]] = False
    rows = of_subwords.draw_places(texts, inside, 25, 0)
    assert len(np.unique(texts.subwords[rows])) == 25, "no subword has a second place before each has one"
    states = of_subwords.states_of_places(encoder, texts, rows)
    for number, row in enumerate(rows):
        i = np.searchsorted(texts.subword_offsets, row, side="right") - 1
        expected = alone(encoder, texts, i)[-1, row - texts.subword_offsets[i]]
        np.testing.assert_allclose(states[number], expected, atol=1e-5)


def test_languages_without_common_subwords_are_refused(encoder_folder, text, tmp_path):
    (tmp_path / "sentences").mkdir()
    for path in text["sentences"].glob("en.test.parquet"):
        (tmp_path / "sentences" / path.name).write_bytes(path.read_bytes())
    for path in text["sentences"].glob(".en.test.parquet*"):
        (tmp_path / "sentences" / path.name).write_bytes(path.read_bytes())
    write_checksums(tmp_path / "sentences")
    options = {"corpora": {"sentences": "whole"}, "split": "test", "window": None, "within": "text", "subwords": 9}
    with pytest.raises(DataError, match="expected several languages with subwords to draw"):
        list(of_subwords.measure(Subject(encoder_folder, 0, {"sentences": tmp_path / "sentences"}), **options, **PROBE))
