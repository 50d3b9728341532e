"""Alignment of sentences with their translations: planted truths, floors by formula, and independent implementations."""

import numpy as np
import pytest
from crosslens.numerics import alignment
from crosslens.numerics.alignment import Cosines, units
from scipy.stats import pearsonr
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestNeighbors

N, D, K = 204, 64, 10


@pytest.fixture
def states():
    return np.random.default_rng(3).standard_normal((N, D)).astype(np.float32)


def cosines(x, y):
    return Cosines.of(units(x), units(y))


def scores(x, y):
    """Mean of each measure of alignment."""
    pair = cosines(x, y)
    strong, same = alignment.neighbours(pair)
    return {
        "mexa": alignment.mexa(pair).mean(), "strong": strong.mean(), "own": same.mean(),
        "k-NN": alignment.mutual_neighbours(pair, K).mean(), "ANC": alignment.correlation(x, y, np.arange(N))[0],
    }  # fmt: skip


def test_a_language_is_aligned_with_itself(states):
    assert scores(states, states) == pytest.approx({"mexa": 1, "strong": 1, "own": 0, "k-NN": 1, "ANC": 1})


def test_a_large_shift_hides_the_alignment_that_centring_brings_back(states):
    apart = 50 * np.eye(D)[:2]  # where the means of two languages lie
    sides = [states + mean for mean in apart]
    raw = scores(*sides)
    assert raw["strong"] == 0 and raw["own"] == 1 and raw["ANC"] == pytest.approx(1)
    centred = (side - side.mean(0) for side in sides)
    assert scores(*centred) == pytest.approx({"mexa": 1, "strong": 1, "own": 0, "k-NN": 1, "ANC": 1})


def test_independent_states_have_the_floors_of_the_formulae():
    means = {name: [] for name in ("mexa", "strong", "own", "k-NN", "ANC")}
    for seed in range(20):
        x, y = np.random.default_rng(seed).standard_normal((2, N, D))
        for name, value in scores(x, y).items():
            means[name].append(value)
    floors = {"mexa": 1 / (2 * N - 1), "strong": 1 / (2 * N - 1), "own": (N - 1) / (2 * N - 1), "k-NN": K / (N - 1), "ANC": 0}
    for name, floor in floors.items():
        error = np.std(means[name], ddof=1) / np.sqrt(20)
        assert abs(np.mean(means[name]) - floor) < 4 * error, name


def test_pairs_in_another_order_are_those_of_shuffled_states(states):
    translations, order = states + 1, np.random.default_rng(2).permutation(N)
    shuffled, expected = cosines(states, translations).paired(order), cosines(states, translations[order])
    for name in ("first", "second", "between"):
        np.testing.assert_allclose(getattr(shuffled, name), getattr(expected, name), atol=1e-12)


def test_a_tie_is_a_miss(states):
    twice = np.concatenate([states[: N // 2], states[: N // 2]])  # each sentence has an equal one
    pair = cosines(twice, twice)
    strong, same = alignment.neighbours(pair)
    assert not alignment.mexa(pair).any() and not strong.any() and same.all()


def test_neighbours_are_those_of_scikit_learn(states):
    translations = states + 2.5 * np.random.default_rng(4).standard_normal((N, D))
    pool = np.concatenate([states, translations])
    nearest = (
        NearestNeighbors(metric="cosine", algorithm="brute").fit(pool).kneighbors(n_neighbors=1, return_distance=False)[:, 0]
    )
    rows = np.arange(N)
    strong, same = alignment.neighbours(cosines(states, translations))
    assert (strong == (nearest[:N] == rows + N)).all() and 0.1 < strong.mean() < 0.9
    assert (same == (nearest[:N] < N)).all()
    sets = [NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute").fit(side).kneighbors(return_distance=False)
            for side in (states, translations)]  # fmt: skip
    expected = [len({*a} & {*b}) / K for a, b in zip(*sets, strict=True)]
    np.testing.assert_allclose(alignment.mutual_neighbours(cosines(states, translations), K), expected)
    fitted = NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute").fit(translations)
    counts = np.bincount(fitted.kneighbors(states, return_distance=False).ravel(), minlength=N)
    np.testing.assert_array_equal(alignment.occurrences(cosines(states, translations).between, K), counts)


def test_correlation_is_scipys_and_without_a_block_that_of_the_rest(states):
    translations = states + np.random.default_rng(5).standard_normal((N, D))
    blocks = np.random.default_rng(6).permutation(np.repeat(np.arange(12), N // 12))
    value, without = alignment.correlation(states, translations, blocks)
    assert value == pytest.approx(np.mean([pearsonr(states[:, j], translations[:, j])[0] for j in range(D)]))
    for block in (0, 7):
        rest = blocks != block
        expected = np.mean([np.corrcoef(states[rest, j], translations[rest, j])[0, 1] for j in range(D)])
        assert without[block] == pytest.approx(expected)


def test_dimensions_that_do_not_vary_do_not_count(states):
    still = states.copy()
    still[:, 0] = 7
    assert alignment.correlation(still, states, np.arange(N))[0] == pytest.approx(1)
    assert np.isnan(alignment.correlation(np.ones((N, 2)), states[:, :2], np.arange(N))[0])


def test_length_is_regressed_out_as_scikit_learn_does(states):
    subwords = np.random.default_rng(7).integers(5, 140, N)
    design = np.stack([np.log(subwords), np.log(subwords) ** 2], 1)
    long = states + 3 * np.log(subwords)[:, None]
    expected = long - LinearRegression().fit(design, long).predict(design)
    np.testing.assert_allclose(alignment.length_out(long, subwords), expected, atol=1e-4)
    assert alignment.length_out(np.stack([long, long]), subwords).shape == (2, N, D)
    same = np.full(N, 12)
    np.testing.assert_allclose(alignment.length_out(states, same), states - states.mean(0), atol=1e-5)


def test_states_of_length_zero_are_near_to_nothing():
    zeros = np.zeros((5, 3))
    assert not np.isnan(units(zeros)).any() and not alignment.mexa(cosines(zeros, zeros)).any()
