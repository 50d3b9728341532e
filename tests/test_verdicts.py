"""Verdicts: an interval decides only between models that learned something, over several trainings and languages."""

import math

import numpy as np
import pandas as pd
import pytest
from crosslens.numerics.intervals import Interval
from crosslens.reports.verdicts import CHANCE, Floor, Model, floor, paired_floor, unlearned, verdict
from scipy import stats

LEARNED = Model("bert-64/more", [Floor(CHANCE, 60.0, 33.3, 20.0)], 2)
GUESSING = Model("bert-20/less", [Floor(CHANCE, 33.8, 33.3, -2.0)], 2)


@pytest.mark.parametrize(
    ("sign", "low", "high", "expected"),
    [
        (1, 0.5, 2.0, "agrees"),
        (-1, -2.0, -0.5, "agrees"),
        (1, -2.0, -0.5, "disagrees"),
        (-1, 0.5, 2.0, "disagrees"),
        (1, -0.5, 2.0, "not decided: the interval includes 0"),
        (1, math.nan, math.nan, "not decided: the interval includes 0"),
    ],
)
def test_an_interval_decides_between_models_that_learned(sign, low, high, expected):
    assert verdict(sign, low, high, 8, [LEARNED, LEARNED]) == expected


def test_a_model_that_learned_nothing_decides_nothing():
    said = verdict(1, 0.5, 2.0, 8, [LEARNED, GUESSING])
    assert said == "not decided: bert-20/less is not surely above chance (33.8 %, chance 33.3 %)"
    untrained = Model("glove/less", [Floor(CHANCE, 40.0, 33.3, 1.0), Floor("random weights", 40.0, 38.8, -0.1)], 2)
    assert unlearned(untrained) == "glove/less is not surely above random weights (40.0 %, random weights 38.8 %)"
    unmeasured = Model("glove/more", [Floor("random weights", 40.0, math.nan, math.nan)], 2)
    assert verdict(1, 0.5, 2.0, 8, [unmeasured]) == "not decided: glove/more has no score beside random weights"


def test_one_training_or_one_language_decides_nothing():
    once, released = LEARNED._replace(seeds=1), LEARNED._replace(seeds=None)
    assert verdict(1, 0.5, 2.0, 8, [once, LEARNED]) == "not decided: bert-64/more has one seed"
    assert verdict(1, 0.5, 2.0, 8, [released]) == "agrees"
    assert verdict(1, 0.5, 2.0, 1, [released]) == "not decided: one family of languages"
    both = verdict(1, 0.5, 2.0, 1, [once, GUESSING])
    assert (
        both.split(": ")[1]
        == "bert-20/less is not surely above chance (33.8 %, chance 33.3 %), bert-64/more has one seed, one family of languages"
    )


def test_paired_floors_compare_by_language():
    """Equal differences in languages far apart, which the interval of either score would hide; related languages are one."""
    levels = pd.Series({"de": 5.0, "fr": 40.0, "zh": 80.0})
    found = paired_floor("random weights", levels + [1.0, 2.0, 1.5], levels, ["a", "b", "c"])
    assert (found.score, found.level) == pytest.approx((43.1667, 41.6667), abs=1e-3)
    assert found.low == pytest.approx(stats.ttest_1samp([1.0, 2.0, 1.5], 0).confidence_interval().low)
    found = paired_floor("random weights", levels + [1.0, 3.0, 1.5], levels, ["a", "a", "c"])
    assert (found.score, found.level) == pytest.approx((53, 51.25))
    assert found.low == pytest.approx(stats.ttest_1samp([2.0, 1.5], 0).confidence_interval().low)
    assert math.isnan(paired_floor(CHANCE, levels[:1], levels, ["a"]).low)  # one language has no interval
    assert math.isnan(paired_floor(CHANCE, levels[:0], levels, []).score)


def test_floors_from_intervals_have_the_coverage_of_normal_estimates():
    """The lower end lies above the true difference in 2.5 % of cases; the score of guessing has no interval."""
    generator, n = np.random.default_rng(0), 20_000
    score, level = generator.normal(50, 3, n), generator.normal(45, 4, n)
    wide = [
        (Interval(a, a - 1.96 * 3, a + 1.96 * 3), Interval(b, b - 1.96 * 4, b + 1.96 * 4))
        for a, b in zip(score, level, strict=True)
    ]
    missed = np.mean([floor("", *both).low > 5 for both in wide])
    assert missed == pytest.approx(0.025, abs=0.004)  # four standard errors
    assert floor(CHANCE, Interval(40, 36, 45), Interval(33.3, 33.3, 33.3)).low == pytest.approx(2.7)
