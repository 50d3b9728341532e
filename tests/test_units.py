"""Probes of words and of whole texts from the same states: on planted states, and from files by an encoder."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import LANGUAGES, NLI
from crosslens.config.heads import LinearHead
from crosslens.config.recipes import Data
from crosslens.config.units import Units
from crosslens.encoding.stored_states import States
from crosslens.measures.shared.subject import Subject
from crosslens.measures.units import TEXTS, WORDS, draw, means, measure, sample, unit_records
from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM
from crosslens.numerics.probe import logistic_probe
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.papers.tanti2021 import units
from crosslens.reports.studies import Studies
from crosslens.training.model import EncoderWithHeads, save
from goldens import assert_golden
from test_states import naive

POOLER = Units(unit="text", state="pooler")
PROBE = partial(logistic_probe, penalties=[0.1, 1.0], tolerance=1e-6, seed=0)
DEFINITIONS = (PROBE_ACROSS, PROBE_RANDOM)


# Numerics.


@pytest.mark.parametrize("number", [3, 100])
def test_a_word_of_each_of_some_random_texts(number):
    offsets = np.array([0, 4, 4, 5, 12, 20, 21])  # the second text has no words
    seen = set()
    for seed in range(200):
        texts, words = draw(offsets, number, seed)
        sizes = np.diff(offsets)[texts]
        ends = np.cumsum(sizes)
        assert len(set(texts)) == len(words) == min(number, 5) and 1 not in texts and (np.diff(texts) > 0).all()
        assert ((ends - sizes <= words) & (words < ends)).all()  # counted among the words of the texts that were drawn
        seen |= {(text, word) for text, word in zip(texts, words - (ends - sizes), strict=True)}
    assert seen == {(text, word) for text, size in enumerate(np.diff(offsets)) for word in range(size)}


def test_the_state_of_a_text_is_the_mean_of_its_words():
    states, offsets = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32), np.array([0, 1, 4, 9])
    expected = [states[0], states[1:4].mean(0), states[4:].mean(0)]
    assert np.allclose(means(states, offsets), expected, atol=1e-6)


def planted(seed, shift):
    """States of words and texts of four languages: a word shows its language by a small shift, in texts of 40 words."""
    generator, n, words, d = np.random.default_rng(seed), 30, 40, 6
    languages = np.repeat(["de", "en", "ta", "zh"], n)
    centres = shift * np.random.default_rng(9).normal(size=(4, d))
    vectors = np.repeat(centres, n * words, axis=0) + generator.normal(size=(4 * n * words, d))
    offsets = words * np.arange(4 * n + 1)
    names, blank = np.array([f"{language}/{i}" for i, language in enumerate(languages)]), np.full(4 * n, "")

    def of(rows):
        return States(names, blank, blank, languages, blank, blank == "x", blank == "", rows.astype(np.float32))

    return {WORDS: of(vectors[offsets[:-1]]), TEXTS: of(means(vectors, offsets))}


@pytest.mark.parametrize(
    ("shift", "words", "texts"), [(0.4, (0.3, 0.6), (0.95, 1)), (0, (0.1, 0.4), (0.1, 0.4)), (3, (0.9, 1), (0.95, 1))]
)
def test_probes_find_what_a_word_and_what_a_text_shows_of_its_language(shift, words, texts):
    train, test = planted(0, shift), planted(1, shift)
    for item, (low, high) in ((WORDS, words), (TEXTS, texts)):
        rows = pd.DataFrame(unit_records(train[item], test[item], PROBE, 0)).set_index("definition")
        assert list(rows.index) == list(DEFINITIONS) and rows["converged"].all() and set(rows["n"]) == {120}
        assert low <= rows["value"][PROBE_ACROSS] <= high
        assert rows["value"][PROBE_RANDOM] < 0.45 and rows["penalty"].nunique() == 1


# From files.


@pytest.fixture
def trained(bench, tmp_path):
    """An encoder whose heads read its pooler, and the model file of its training."""
    encoder = bench.encoder(pooler=True)
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight.mul_(2)
    save(EncoderWithHeads(encoder, {"task": LinearHead(labels=NLI)}, POOLER), tmp_path / "model.safetensors", with_encoder=True)
    return encoder, tmp_path / "model.safetensors"


def test_states_are_those_of_the_trained_encoder_for_the_same_texts(bench, tokens, trained):
    encoder, _ = trained
    states = sample(encoder, tokens / "sentences", "test", 6)
    assert states[WORDS].texts.tolist() == states[TEXTS].texts.tolist() and len(states[TEXTS].texts) == 6 * len(LANGUAGES)
    for language in LANGUAGES:
        texts = bench.texts(Data(corpus="sentences", split="test", languages=(language,)))
        here, of_words = (states[item].take(states[item].languages == language) for item in (TEXTS, WORDS))
        for text, mean, word in zip(here.texts, here.vectors, of_words.vectors, strict=True):
            number = texts.ids.index(text.partition("/")[2])
            expected = naive(encoder, texts, np.arange(texts.word_offsets[number], texts.word_offsets[number + 1]))[-1]
            assert np.allclose(mean, expected.mean(0), atol=1e-5)
            assert np.isclose(expected, word, atol=1e-5).all(1).any()


def test_records_of_an_encoder_that_was_trained_with_its_pooler(bench, written_sentences, trained):
    _, weights = trained
    subject = Subject(bench.pooler_folder, 0, {"sentences": written_sentences}, weights=[weights])
    settings = {"train_texts": 12, "test_texts": 8, "penalties": [1.0], "tolerance": 1e-6, "pooler": True}
    rows = pd.DataFrame(measure(subject, corpora={"sentences": "whole"}, **settings))
    assert rows[["item", "definition"]].to_numpy().tolist() == [[*place] for place in product((WORDS, TEXTS), DEFINITIONS)]
    assert set(rows["n"]) == {8 * len(LANGUAGES)} and set(rows["corpus"]) == {"sentences"} and rows["value"].between(0, 1).all()


# The item.


@pytest.mark.parametrize("seeds", [[0], [3, 0, 7]])
def test_every_encoder_has_the_same_units(values, seeds):
    """The same paragraphs and settings before and after both tasks, whose fine-tuned encoders have as many seeds."""
    studies = Studies(load(values | {"seeds": seeds}), papers())
    needs = studies.items["units"][2].needs
    assert [(need.kind, need.recipe, list(need.seeds)) for need in needs] == [
        ("units", f"tanti2021/{place}", seeds) for place in ("pos/frozen", "pos/finetuned", "nli/finetuned")
    ]
    settings = [dict(studies.settings("units", need.recipe)) for need in needs]
    assert [of.pop("pooler") for of in settings] == [False, False, True] and settings[0] == settings[1] == settings[2]


def test_the_table_has_the_numbers_of_each_encoder():
    columns = {"pos/frozen": "Init.", "pos/finetuned": "UDPOS Fine-T.", "nli/finetuned": "XNLI Fine-T."}
    columns = {f"tanti2021/{place}": name for place, name in columns.items()}
    places = [*product(columns, (WORDS, TEXTS), DEFINITIONS)]
    values = dict(zip(places, np.arange(len(places)) / 100, strict=True))
    rows = [
        {"recipe": recipe, "corpus": "wiki", "item": item, "definition": definition, "seed": seed, "value": value + seed / 1000,
         "n": 90, "language": "all", "measure": "probe", "task": "pos", "low": value, "high": value,
         "gradient": 0.01, "converged": item == WORDS}
        for (recipe, item, definition), value in values.items() for seed in (0, 1, 2)
    ]  # fmt: skip
    inputs = SimpleNamespace(records=lambda: pd.DataFrame(rows))
    assert_golden(units.table("units", inputs, {"wiki": "wiki", "columns": columns}), "tanti2021/units")
