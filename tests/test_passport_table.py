"""The table of a passport: means over languages and families, baselines, the summary layer, and what cannot be configured."""

import re

import numpy as np
import pandas as pd
import pytest
from crosslens.config.base import languages_table
from crosslens.numerics.estimates import over_families
from crosslens.papers import papers
from crosslens.papers.configuration import load, load_fitting
from crosslens.papers.passport import tables
from crosslens.papers.passport.tables_and_figures import items
from crosslens.reports.cells import where
from crosslens.reports.studies import Studies
from test_config import merged

NINE = ["de", "eu", "fi", "id", "ja", "ka", "ko", "ru", "th"]  # of eight families; de and ru are Indo-European
SETTINGS = {
    "recipe": "passport/e", "pivot": "en",
    "kinship": {language: [languages_table()[language]["family"], languages_table()[language]["genus"]] for language in NINE},
    "measures": {
        "mexa": {"title": "MEXA", "version": 1, "better": "higher", "minimum": 0, "maximum": 1},
        "neighbours": {"title": "Strong", "version": 1, "better": "higher", "minimum": 0, "maximum": 1},
        "isotropy": {"title": "Isotropy", "version": 1, "better": "neither", "minimum": -1, "maximum": 1},
    },
}  # fmt: skip


def records(values, measure="mexa", definition="raw", item="", seed=0, recipe="passport/e"):
    """Records of a matrix of values (layers, languages)."""
    rows = [
        {"measure": measure, "definition": definition, "item": item, "seed": seed, "recipe": recipe, "language": language,
         "layer": layer, "value": float(value), "low": value - 0.01, "high": value + 0.01, "n": 204}
        for layer, row in enumerate(values) for language, value in zip(NINE, row, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def lines(*parts):
    return pd.DataFrame(list(tables._lines(pd.concat(parts, ignore_index=True), SETTINGS)))


def here(frame, **values):
    (value,) = where(frame, **values)["here"]
    return value


@pytest.fixture
def values():
    return np.random.default_rng(0).uniform(0.2, 0.8, (3, len(NINE)))


def test_means_over_languages_and_families(values):
    frame = lines(records(values))
    assert here(frame, layer="1", column="languages") == pytest.approx(values[1].mean(), abs=1e-4)
    families = [NINE.index(code) for code in NINE if code not in ("de", "ru")]
    by_family = [*values[1][families], values[1][[0, 7]].mean()]
    row = where(frame, layer="1", column="families").iloc[0]
    assert row["here"] == pytest.approx(np.mean(by_family), abs=1e-4) and row["n"] == 8
    expected = over_families(np.array(by_family), [*"abcdefgh"], (0, 1)).interval()
    assert [row["low"], row["high"]] == pytest.approx(expected[1:], abs=1e-4)
    languages = where(frame, layer="1", column="languages").iloc[0]
    assert languages["low"] < languages["here"] < languages["high"] and languages["n"] == 9


def test_few_families_have_no_interval(values):
    records_of_five = records(values)
    frame = lines(records_of_five[records_of_five["language"].isin(NINE[:5])])
    row = where(frame, layer="0", column="families").iloc[0]
    assert pd.isna(row["low"]) and row["remark"] == "no interval: 5 families, fewer than 8"


def test_the_summary_is_of_the_layer_that_the_other_half_chooses():
    order = sorted(NINE, key=lambda code: (languages_table()[code]["family"], code))
    first, second = ([NINE.index(code) for code in order[start::2]] for start in (0, 1))
    values = np.full((3, len(NINE)), 0.5)
    values[2, first], values[1, second] = 0.9, 0.7  # each half is best at a layer of its own
    frame = where(lines(records(values)), layer="summary")
    for number, code in enumerate(NINE):
        row = where(frame, column=code).iloc[0]
        assert row["remark"] == ("layer 1" if number in first else "layer 2") and row["here"] == 0.5
    assert here(frame, column="languages") == 0.5  # what each half would choose for itself is 0.81


def test_lower_is_better_of_own_language_neighbours(values):
    values = np.array([[0.9] * 9, [0.1] * 9, [0.5] * 9])
    frame = lines(records(values, "neighbours", "own, raw"), records(values, "neighbours", "strong, raw"))
    assert here(frame, layer="summary", column="languages", definition="own, raw") == 0.1
    assert here(frame, layer="summary", column="languages", definition="strong, raw") == 0.9


def test_no_layer_is_best_where_neither_direction_is(values):
    assert not (lines(records(values, "isotropy", "mean cosine"))["layer"] == "summary").any()


def test_shuffled_pairs_are_at_the_layers_of_the_encoder(values):
    best = np.array([[0.1] * 9, [0.9] * 9, [0.5] * 9])
    frame = lines(records(best), records(values / 10, item="shuffled pairs"))
    baseline = where(frame, layer="summary", baseline_kind="shuffled pairs", column="ka")["here"].iloc[0]
    assert baseline == pytest.approx(values[1, NINE.index("ka")] / 10, abs=1e-4)


def test_a_formula_stands_beside_each_layer(values):
    formula = pd.DataFrame([{"measure": "mexa", "definition": "raw", "item": "formula", "language": "all", "layer": np.nan,
                             "value": 0.0025, "low": np.nan, "high": np.nan, "n": 204}])  # fmt: skip
    frame = where(lines(records(values), formula), baseline_kind="formula")
    assert set(frame["layer"]) == {"0", "1", "2", "summary"} and set(frame["column"]) == {"languages", "families"}
    assert set(frame["here"]) == {0.0025}


def test_random_weights_are_means_of_seeds_that_chose_their_own_layers():
    one, two = np.array([[0.1] * 9, [0.3] * 9]), np.array([[0.2] * 9, [0.1] * 9])
    twins = pd.concat([records(one, seed=0), records(two, seed=1)])
    frame = pd.DataFrame(list(tables._twins(twins, SETTINGS)))
    row = where(frame, layer="summary", column="languages").iloc[0]
    assert (row["here"], row["low"], row["high"], row["seeds"]) == (0.25, 0.2, 0.3, 2)
    assert set(frame["baseline_kind"]) == {"random weights"} and here(frame, layer="0", column="ka") == 0.15


def test_a_mean_over_languages_has_one_line(values):
    whole = pd.DataFrame([{"measure": "mexa", "definition": "raw", "item": "", "language": "all", "layer": layer, "value": 0.5,
                           "low": 0.4, "high": 0.6, "n": 204} for layer in (0, 1, 2)])  # fmt: skip
    frame = where(lines(pd.concat([records(values), whole])), baseline_kind="", column="languages")
    assert not frame.duplicated(["metric", "definition", "layer"]).any() and 0.5 not in set(frame["here"])


# The configuration.


def passport(**changes):
    values = merged("demo")
    values["papers"]["passport"] |= changes
    return values


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoders": ["e5-small", "e5"]}, r"papers.passport.encoders.1: expected one of .*, found 'e5'"),
        ({"compare": [["e5-small-passport", "xlmr"]]}, "papers.passport.compare: expected encoders among .* found xlmr"),
        ({"parallel": "pud"}, "papers.passport.parallel: expected a corpus of kind 'documents', found 'pud'"),
        ({"topics": "wili"}, "papers.passport.topics: expected the labels of corpora.sib200_parallel"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_line(changes, message):
    _, misfits = load_fitting(passport(**changes))
    assert list(misfits) == ["passport"] and re.search(message, misfits["passport"]) and "\n" not in misfits["passport"]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ("sib200_parallel", "parallel: expected English (en) among the languages of corpora.sib200_parallel, found de"),
        ("sib200_english", "topics: expected English (en) training data in corpora.sib200_english, found none"),
    ],
)  # fmt: skip
def test_sentences_without_english_are_refused(corpus, message):
    values = passport()
    values["corpora"][corpus] |= {"languages": ["de"]}
    _, misfits = load_fitting(values)
    assert misfits["passport"] == f"config.yaml: papers.passport.{message}"


def test_each_encoder_has_an_item_that_trains_nothing():
    values = passport(encoders=["e5-small-passport", "e5-small"], compare=[["e5-small-passport", "e5-small"]])
    config = load(values)
    assert list(items(config)) == ["e5-small-passport", "e5-small"]
    recipes = [recipe for paper, recipe in Studies(config, papers()).recipes.values() if paper.key == "passport"]
    assert len(recipes) == 4 and not any(recipe.stages for recipe in recipes)


def test_the_published_passport_is_of_seventeen_families():
    corpus = load(merged("published")).corpora["sib200_parallel"]
    assert len(corpus.languages) == 32 and "en" in corpus.languages
    assert len({languages_table()[language]["family"] for language in corpus.languages}) == 17  # of WALS: Turkic is Altaic
