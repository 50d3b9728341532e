"""Spread of states of several languages, their genealogy, and halves of sentences: planted truths, values worked by hand."""

import numpy as np
import pytest
from crosslens.jobs.errors import DataError
from crosslens.numerics import dispersion, genealogy
from crosslens.numerics.halves import blocks, centred, halves
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_mutual_info_score

K, N, D = 12, 60, 24


def share(states):
    means = states.mean(1)
    return dispersion.language_share(means, ((states - means[:, None]) ** 2).sum((1, 2)), states.shape[1])


def test_share_of_languages_that_do_not_differ_is_zero_on_average():
    values = [share(np.random.default_rng(seed).standard_normal((K, N, D))) for seed in range(40)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(40)
    biased = [1 - (1 - value) * (N * K - K) / (N * K - 1) for value in values]  # by the definition of the correction
    assert np.mean(biased) == pytest.approx((K - 1) / (N * K - 1), rel=0.1)


def test_share_is_that_of_the_variances():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((200, 400, 5)) + 2 * rng.standard_normal((200, 1, 5))
    assert share(states) == pytest.approx(4 / 5, abs=0.03)
    assert share(np.repeat(np.arange(K, dtype=float)[:, None, None], N, 1)) == pytest.approx(1)
    assert np.isnan(share(np.ones((K, N, D))))


def test_axes_of_means_are_counted_until_they_hold_nine_tenths():
    corners = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0.1], [0, 0, -0.1]])  # 0.9 and 0.1 of the variance
    assert dispersion.axes_of_means(np.array([[3.1, 0, 0], [-3.1, 0, 0], *corners[2:]])) == 1
    assert dispersion.axes_of_means(np.array([[2.9, 0, 0], [-2.9, 0, 0], *corners[2:]])) == 2


def test_participation_is_one_where_all_directions_vary_alike():
    assert dispersion.participation(np.concatenate([np.eye(8), -np.eye(8)])) == pytest.approx(1)
    assert dispersion.participation(np.outer(np.arange(9.0), np.ones(4))) == pytest.approx(1 / 4)
    assert np.isnan(dispersion.participation(np.ones((5, 3))))
    values = np.array([3.0, 2, 1])  # standard deviations
    rotated = np.random.default_rng(1).standard_normal((200_000, 3)) * values @ np.linalg.qr(np.random.rand(3, 3))[0]
    expected = (values**2).sum() ** 2 / (values**4).sum() / 3
    assert dispersion.participation(rotated) == pytest.approx(expected, rel=0.02)


def test_mean_cosine_is_that_of_all_pairs():
    states = np.random.default_rng(2).standard_normal((N, D)) + 0.5
    vectors = states / np.linalg.norm(states, axis=1, keepdims=True)
    products = vectors @ vectors.T
    mean, _ = dispersion.mean_cosine(states)
    assert mean == pytest.approx(products[~np.eye(N, dtype=bool)].mean())
    states[:, [3, 5, 9]] += 40
    assert dispersion.mean_cosine(states)[1] > 0.95


def test_means_of_families_are_clusters_and_are_not_once_they_are_shuffled():
    rng = np.random.default_rng(3)
    families = np.repeat([*"abc"], 4)
    means = 5 * np.eye(D)[np.repeat([0, 1, 2], 4)] + rng.standard_normal((12, D)) / 10
    condensed = genealogy.distances(means)
    assert len({*zip(genealogy.clusters(condensed, 3), families, strict=True)}) == 3
    kinship = genealogy.genealogical([*families], [*families])
    orders = np.stack([rng.permutation(12) for _ in range(300)])
    r, shuffled = genealogy.mantel(squareform(condensed), squareform(kinship), orders)
    assert r > 0.95 > shuffled.max() and abs(shuffled.mean()) < 0.05
    np.testing.assert_allclose(r, np.corrcoef(condensed, kinship)[0, 1])
    moved = squareform(condensed)[np.ix_(orders[0], orders[0])]
    assert genealogy.mantel(squareform(kinship), moved, orders[:1])[0] == pytest.approx(
        np.corrcoef(squareform(moved), kinship)[0, 1]
    )


def test_genealogical_distance_is_by_family_and_genus():
    distances = genealogy.genealogical(["a", "a", "a", "b"], ["x", "x", "y", "x"])
    assert distances.tolist() == [0, 1, 2, 1, 2, 2]


def test_halves_are_by_blocks_of_neighbours_whatever_the_others():
    ids = ["3", "9", "10", "19", "20", "31"]
    assert blocks(ids, 10).tolist() == [0, 0, 1, 1, 2, 3]
    assert halves(ids, 10).tolist() == [0, 0, 1, 1, 0, 1]
    assert halves(ids[2:], 10).tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(("ids", "message"), [(["3", "x7"], "whole numbers.*'x7'"), (["3", "4"], "two blocks of 10")])
def test_halves_that_cannot_be_made_are_refused(ids, message):
    with pytest.raises(DataError, match=message):
        halves(ids, 10)


def test_centring_takes_the_means_of_the_other_half():
    half = np.array([0, 0, 1, 1])
    states = np.array([[[1.0], [3], [10], [20]]])
    assert centred(states, half).ravel().tolist() == [-14, -12, 8, 18]


def test_mutual_information_is_scikit_learns():
    rng = np.random.default_rng(4)
    kinds = np.repeat(np.arange(4), 5)
    clusters = np.where(rng.random(20) < 0.7, kinds, rng.integers(0, 4, 20))
    orders = np.stack([rng.permutation(20) for _ in range(200)])
    value, permuted = genealogy.mutual_information(kinds, clusters, orders)
    assert value == pytest.approx(adjusted_mutual_info_score(kinds, clusters)) and 0.2 < value < 1
    expected = [adjusted_mutual_info_score(kinds[order], clusters) for order in orders[:5]]
    np.testing.assert_allclose(permuted[:5], expected, atol=1e-12)
    assert abs(permuted.mean()) < 4 * permuted.std() / np.sqrt(200)
