"""The table of a passport: means over languages and families, baselines, the summary layer, and what cannot be configured."""

import re

import numpy as np
import pandas as pd
import pytest
from crosslens.config.base import languages_table
from crosslens.papers.configuration import load, load_fitting
from crosslens.papers.passport import tables
from crosslens.reports.cells import where
from goldens import assert_golden
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
    """Five families have no interval."""
    whole = records(values)
    frames = [lines(whole), lines(whole[whole["language"].isin(NINE[:5])])]
    chosen = pd.concat(frame[frame["column"].isin(["languages", "families"])] for frame in frames)
    assert_golden(chosen[["column", "layer", "here", "low", "high", "n", "remark"]].round(4), "passport_means")


def test_a_language_without_a_value_costs_no_mean(values):
    gap = values.copy()
    gap[1, NINE.index("de")] = np.nan
    frame, others = lines(records(gap)), lines(records(values)[lambda rows: rows["language"] != "de"])
    for column in ("languages", "families"):
        row, other = (where(part, column=column, layer="1").iloc[0] for part in (frame, others))
        assert (row["here"], row["n"]) == (other["here"], other["n"])


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


def test_floors_directions_and_formulae(values):
    """The summary layer is best in the measure's direction, baselines are read at it, and measures without one have none."""
    best = np.array([[0.9] * 9, [0.1] * 9, [0.5] * 9])
    formula = {"measure": "mexa", "definition": "raw", "item": "formula", "language": "all", "value": 0.0025, "n": 204}
    frame = lines(
        records(1 - best), records(values / 10, item="shuffled pairs"), pd.DataFrame([formula]),
        records(best, "neighbours", "own, raw"), records(best, "neighbours", "strong, raw"),
        records(values, "isotropy", "mean cosine"),
    )  # fmt: skip
    chosen = frame["column"].isin(["ka", "languages"]) & frame["layer"].isin(["1", "summary"])
    columns = ["metric", "definition", "column", "layer", "baseline_kind", "here", "low", "high", "remark"]
    assert_golden(frame.loc[chosen, columns].round(4), "passport_floors")


def test_random_weights_are_means_of_seeds_that_chose_their_own_layers():
    one, two = np.array([[0.1] * 9, [0.3] * 9]), np.array([[0.2] * 9, [0.1] * 9])
    twins = pd.concat([records(one, seed=0), records(two, seed=1)])
    frame = pd.DataFrame(list(tables._twins(twins, SETTINGS)))
    row = where(frame, layer="summary", column="languages").iloc[0]
    assert (row["here"], row["low"], row["high"], row["seeds"]) == (0.25, 0.2, 0.3, 2)
    assert set(frame["baseline_kind"]) == {"random weights"} and here(frame, layer="0", column="ka") == 0.15


# The configuration.


@pytest.mark.parametrize(
    ("section", "changes", "message"),
    [
        ("papers.passport", {"compare": [["e5-small-passport", "xlmr"]]}, "compare: expected encoders among .* found xlmr"),
        ("papers.passport", {"parallel": "pud"}, "parallel: expected a corpus of kind 'documents', found 'pud'"),
        ("papers.passport", {"topics": "wili"}, "topics: expected the labels of corpora.sib200_parallel"),
        ("corpora.sib200_parallel", {"languages": ["de"]},
         r"expected English \(en\) among the languages of corpora.sib200_parallel, found de$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_line(section, changes, message):
    values = merged("demo")
    part, name = section.split(".")
    values[part][name] |= changes
    _, misfits = load_fitting(values)
    found = misfits["passport"]
    assert list(misfits) == ["passport"] and re.search(rf"papers\.passport.*{message}", found) and "\n" not in found


def test_the_published_passport_is_of_eighteen_families():
    corpus = load(merged("published")).corpora["sib200_parallel"]
    assert len(corpus.languages) == 32 and "en" in corpus.languages
    assert len({languages_table()[language]["family"] for language in corpus.languages}) == 18
