"""95 % intervals: they hold what they should as often as they say, stay inside their bounds, and take translations as one."""

from functools import partial

import numpy as np
import pytest
from crosslens.config.translations import shared_id
from crosslens.numerics.f1 import Counts, accuracy, macro_f1, micro_f1, overall
from crosslens.numerics.intervals import (
    Sample,
    bounded,
    jackknife,
    mean_interval,
    mean_intervals,
    pairs_intervals,
    score_interval,
)
from scipy import stats
from scipy.special import expit


def binary(right: np.ndarray) -> Counts:
    """Counts of units that are right or not."""
    right = np.asarray(right, float).reshape(-1, 1)
    return Counts(np.ones_like(right), np.ones_like(right), right)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """By SciPy, with the normal quantile."""
    found = stats.binomtest(successes, n).proportion_ci(method="wilson")
    return found.low, found.high


# Bounds.


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.5, 0.97, 1.0])
def test_the_interval_of_a_share_is_wilsons(share):
    """With so many items that Student's t is normal; at 0 and 1 too, where nothing varies."""
    n = 100_000
    found = bounded(share, np.sqrt(share * (1 - share) / n), 10**9, n)
    assert found == pytest.approx(wilson(round(share * n), n), abs=1e-9)


def test_intervals_stay_inside_and_have_a_width():
    generator = np.random.default_rng(0)
    value, error = generator.random(2000) ** 8, generator.random(2000)
    low, high = bounded(value, error, generator.integers(1, 30, 2000), np.nan)
    assert (low >= 0).all() and (high <= 1).all() and (low < value).all() and (value < high).all()
    low, high = bounded(np.array([0.0, 1.0]), np.zeros(2), 59, 60)
    assert low == pytest.approx([0, 60 / (60 + stats.t.ppf(0.975, 59) ** 2)]) and high == pytest.approx([1 - low[1], 1])


def test_what_does_not_vary_has_no_interval_unless_at_an_end_of_items():
    assert np.isnan(bounded(0.4, 0.0, 9, 10)).all() and np.isnan(bounded(1.0, 0.0, 9, np.nan)).all()
    for values in ([0.4], [0.4, 0.4], [1.0, 1.0]):  # runs
        assert mean_interval(np.array(values))[0] == values[0] and np.isnan(mean_interval(np.array(values))[1:]).all()
    assert mean_interval(np.ones(60), items=True)[1:] == (pytest.approx(0.937, abs=1e-3), 1)
    assert np.isnan(mean_interval(np.zeros(60), score=False)[1:]).all()  # differences of the same predictions


def test_means_without_bounds_have_students_t():
    value, low, high = mean_interval(np.array([1.0, 2.0, 3.0]))  # no scores: above 1
    assert (value, low, high) == pytest.approx((2, 2 - 4.302653 / np.sqrt(3), 2 + 4.302653 / np.sqrt(3)), rel=1e-6)
    below = np.array([-0.01, 0.02, 0.01])  # a score that is corrected for chance
    assert mean_interval(below) == mean_interval(below, score=False)


def test_columns_count_what_is_there():
    values = np.random.default_rng(0).random((400, 3))
    values[200:, 1] = values[1:, 2] = np.nan
    found = np.array(mean_intervals(values, items=True)).T
    np.testing.assert_allclose(found[0], mean_interval(values[:, 0]))
    np.testing.assert_allclose(found[1], mean_interval(values[:200, 1]))
    assert found[2, 0] == values[0, 2] and np.isnan(found[2, 1:]).all()


# Texts.


def test_translations_are_one_text():
    """A text in four languages whose translations fare alike counts once: the interval is that of one language."""
    right = np.random.default_rng(0).random(100) < 0.7
    ids, languages = [f"{number}" for number in range(100)] * 4, np.repeat(["ar", "de", "en", "zh"], 100)
    one, (value, low, high) = (
        score_interval(binary(right), accuracy),
        score_interval(binary(np.tile(right, 4)), accuracy, Sample.of(ids, languages)),
    )
    assert (value, low, high) == pytest.approx(one)
    apart = score_interval(binary(np.tile(right, 4)), accuracy)
    assert apart[2] - apart[1] == pytest.approx((high - low) / 2, rel=0.05)


def test_texts_of_one_language_are_a_stratum():
    """Languages of different accuracy do not widen the interval of a mean over both, whose languages are given."""
    ids = ["a", "b", "c", "d", "e", "f", "c", "d"]
    sample = Sample.of(ids, ["de"] * 4 + ["en"] * 4)
    assert sample.numbers.tolist() == [0, 1, 2, 3, 4, 5, 2, 3] and sample.strata.tolist() == [0, 0, 2, 2, 1, 1]
    right = np.repeat([1.0, 0.0], 200)
    right[:10] = 0
    sample = Sample.of([f"{number}" for number in range(400)], np.repeat(["de", "en"], 200))
    value, low, high = score_interval(binary(right), accuracy, sample)
    error = np.sqrt(0.05 * 0.95 * 200 / 199 / 200) / 2
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 398) * error, rel=0.01) and low < value < high


def test_parallel_treebanks_share_ids_and_others_do_not():
    assert shared_id("ar_pud/n01001011") == shared_id("zh_pud/n01001011") == "pud/n01001011"
    assert shared_id("en_partut/en_partut-ud-9") == shared_id("fr_partut/fr_partut-ud-9") == "partut/9"
    for id in ("de_gsd/test-s1", "fr_gsd/test-s1", "en_ewt/weblog-1", "n01001011", "2410", "Pud#1", "phrasebookpud/1"):
        assert shared_id(id) == id


def test_scores_at_an_end_rest_on_texts_that_have_something_to_find():
    counts = Counts(*(np.array([[1.0], [1.0], [0.0], [1.0]]) for _ in range(3)))
    value, low, high = score_interval(counts, micro_f1)
    assert (value, high) == (1, 1) and low == pytest.approx(3 / (3 + stats.t.ppf(0.975, 3) ** 2))
    assert np.isnan(score_interval(binary([1]), accuracy)[1:]).all()  # a single text says nothing of others


def test_leaving_out_is_what_it_says():
    """Against a loop over texts that adds up the others anew."""
    generator = np.random.default_rng(3)
    counts = Counts(*(generator.integers(0, 9, (30, 4)).astype(float) for _ in range(3)))
    sample = Sample(generator.permutation(np.repeat(np.arange(15), 2)), np.repeat([0, 1, 2], 5))
    score = partial(macro_f1, classes="true")
    left = np.array([
        score(overall(Counts(*(part[sample.numbers != text] for part in (counts.true, counts.predicted, counts.correct)))))
        for text in range(15)
    ])  # fmt: skip
    square = sum(4 / 5 * ((left[part] - left[part].mean()) ** 2).sum() for part in np.split(np.arange(15), 3))
    value, low, high = score_interval(counts, score, sample)
    assert (low, high) == pytest.approx(bounded(value, np.sqrt(square), 12, 15))
    assert jackknife(value, left, 15, sample.strata) == pytest.approx((low, high))


# Coverage. benchmarks/coverage.py has more of it; tolerances are three standard errors of a share of so many repeats.


def test_coverage_over_pairs_of_languages():
    languages, number = 33, 300
    generator, every = np.random.default_rng(2), [(a, b) for a in range(languages) for b in range(a)]
    truth = expit(2 + np.sqrt(0.5) * generator.standard_normal(10**6)).mean()
    together, apart = [], []
    for _ in range(400):
        effects = np.sqrt(0.2) * generator.standard_normal(languages)
        pairs = [every[place] for place in generator.permutation(len(every))[:number]]
        values = expit(
            2 + np.array([effects[a] + effects[b] for a, b in pairs]) + np.sqrt(0.1) * generator.standard_normal(len(pairs))
        )
        _, low, high = pairs_intervals(values[:, None], [(f"{a:02}", f"{b:02}") for a, b in pairs])
        together.append(bool(low[0] <= truth <= high[0]))
        _, low, high = mean_interval(values, score=False)
        apart.append(low <= truth <= high)
    assert np.mean(together) > 0.91 and np.mean(apart) < 0.8


def test_a_pair_without_others_has_no_interval():
    for pairs in ([("de", "en")], [("de", "en"), ("de", "fr")]):  # without `de` nothing is left
        _, low, high = pairs_intervals(np.full((len(pairs), 2), 0.9), pairs)
        assert np.isnan([*low, *high]).all()
