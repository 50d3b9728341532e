"""Abilities of the BERTs that the demo pretrains from scratch: `make test-demo`."""

from pathlib import Path

import pytest
from crosslens.jobs.records import read
from crosslens.measures.shared.masked_baselines import BIGRAM, GAIN, MAJORITY, MODEL
from crosslens.measures.shared.shift_terms import CONVERT_RATE, NO_SHIFT, RANDOM, SHIFT
from measured import RESULTS, measured

pytestmark = pytest.mark.demo
PRETRAINED = [f"liu2020/pretraining/bert-{window}/{size}" for size in ("less", "more") for window in (32, 12)]
BERT = PRETRAINED[2]  # it translates


@pytest.fixture(scope="module")
def results() -> Path:
    """The demo with the measures of the pretrained BERTs."""
    names = [f"{kind}/{BERT}/seed0" for kind in ("retrieval", "translation")]
    measured(names + [f"masked/{recipe}/seed0" for recipe in PRETRAINED])
    return RESULTS


@pytest.mark.parametrize("recipe", PRETRAINED)
def test_each_model_names_more_masked_subwords_than_the_bigram(results, recipe):
    """Otherwise whatever is shown of it compares models that learned nothing: claims.csv would decide nothing between them."""
    records = read([results / f"measures/masked/{recipe}/seed0.parquet"])
    records = records[records["language"] == "all"].set_index("definition")
    assert records.loc[GAIN, "low"] > 0.05, records["value"]
    assert records.loc[MODEL, "value"] > records.loc[BIGRAM, "value"] > records.loc[MAJORITY, "value"]


def test_words_are_retrieved_above_chance_without_those_spelt_the_same(results):
    records = read([results / f"measures/retrieval/{BERT}/seed0.parquet"])
    last = records[records["layer"] == records["layer"].max()]
    ranks = last[last["definition"] == "contexts, cosine, mrr, different strings"].set_index("item")
    chance = records[records["definition"] == "chance, mrr, different strings"].set_index("item")["value"]
    assert len(ranks) == 16 and (ranks["value"] / chance[ranks.index]).mean() > 1.3
    assert (ranks["low"] > chance[ranks.index]).sum() >= 8  # half of the directions, each with its interval over words


def test_the_shift_turns_the_language_and_a_random_vector_does_not(results):
    records = read([results / f"measures/translation/{BERT}/seed0.parquet"])
    records = records[(records["split"] == "test") & (records["measure"] == CONVERT_RATE)]
    records = records[records["subspace"] == records["subspace"].iloc[0]]
    at = records[(records["layer"] == records["layer"].max()) & (records["weight"] == 2.0)]
    shifted, random = (at[at["definition"] == each].set_index("item")["value"] for each in (SHIFT, RANDOM))
    plain = records[records["definition"] == NO_SHIFT].set_index("item")["value"]
    assert len(shifted) == len(random) == 8
    assert shifted.mean() > 0.6 and random.mean() < 0.2 and plain.mean() < 0.1
    assert (shifted > random).sum() >= 7
    negative = records[(records["definition"] == SHIFT) & (records["weight"] < 0)]["value"]
    assert negative.max() < 0.1  # the other way it stays the source language, as the paper says
