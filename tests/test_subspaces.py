"""Language subspaces against sums over all pairs, scikit-learn, an independent package, and what their theorems imply."""

import itertools

import numpy as np
import pytest
import torch
from crosslens.jobs.errors import DataError
from crosslens.numerics.densray import centroids, densray
from crosslens.numerics.inlp import TOLERANCE, inlp
from crosslens.numerics.linear import lda, leace, lsar
from crosslens.numerics.logistic import fit
from crosslens.numerics.statistics import Statistics
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

EQUAL, UNEQUAL = (30, 30, 30, 30), (12, 50, 23, 35)


def languages(sizes=UNEQUAL, d=9, seed=0, apart=2.0):
    """Vectors of languages around means of their own, far from the origin, each language with a covariance of its own."""
    generator = np.random.default_rng(seed)
    return {
        name: 10 + apart * generator.normal(size=d) + generator.normal(size=(size, d)) @ generator.normal(size=(d, d)) / 3
        for name, size in zip("acbd", sizes, strict=True)  # not in the order of their names
    }


def gathered(states, weights=None):
    statistics = Statistics(next(iter(states.values())).shape[1])
    for name, vectors in states.items():
        statistics.update(vectors, name, None if weights is None else weights[name])
    return statistics


def stacked(states):
    """All vectors (N, d) and the number of each one's language (N,)."""
    names = sorted(states)
    sizes = [len(states[name]) for name in names]
    return np.concatenate([states[name] for name in names]), np.repeat(np.arange(len(names)), sizes)


def projector(columns):
    basis = np.linalg.qr(columns)[0]
    return basis @ basis.T


def transformed(subspace, states):
    """States as the method reads them, (m, rank): around the centre, along the filters."""
    return subspace.coordinates(states, centred=True)


def patterns(subspace, statistics):
    """Directions (d, rank) along which states change by what each filter reads, filters' patterns = identity."""
    scatter = {"lda": statistics.within, "leace": statistics.total}
    if subspace.method not in scatter:
        return subspace.basis
    return scatter[subspace.method] / statistics.sizes.sum() @ subspace.filters


def erased(subspace, states, vectors, first=None):
    """Vectors without what the first filters read of them, None: all; their mean stays at the centre. states: those fitted on."""
    return vectors - transformed(subspace, vectors)[:, :first] @ patterns(subspace, gathered(states))[:, :first].T


def explained(subspace):
    return subspace.eigenvalues / subspace.eigenvalues.sum()


# Sums.


def test_sums_are_those_of_all_vectors():
    states = languages()
    statistics = gathered(states)
    vectors, number = stacked(states)
    assert statistics.languages == ("a", "b", "c", "d")
    assert statistics.sizes.tolist() == [12, 23, 50, 35]
    for row, name in enumerate(statistics.languages):
        np.testing.assert_allclose(statistics.means[row], states[name].mean(0), rtol=1e-13)
    np.testing.assert_allclose(statistics.total, np.cov(vectors.T, ddof=0) * len(vectors), atol=1e-10)
    scatter = sum(np.cov(of_one.T, ddof=0) * len(of_one) for of_one in states.values())
    np.testing.assert_allclose(statistics.within, scatter, atol=1e-11)


@pytest.mark.parametrize("scatters", [True, False])
def test_a_stream_in_blocks_is_one_shot(scatters, monkeypatch):
    states = languages(sizes=(200, 3, 117, 41))
    whole = gathered(states)
    monkeypatch.setattr("crosslens.numerics.statistics.BLOCK", 7)
    generator = np.random.default_rng(1)
    streamed = Statistics(9, scatters=scatters)
    blocks = [(name, block) for name in states for block in np.array_split(states[name], 9)]  # some of them empty
    for place in generator.permutation(len(blocks)):
        streamed.update(blocks[place][1], blocks[place][0])
    assert streamed.languages == whole.languages and (streamed.sizes == whole.sizes).all()
    np.testing.assert_allclose(streamed.means, whole.means, rtol=1e-12)
    if scatters:
        np.testing.assert_allclose(streamed.within, whole.within, atol=1e-9)


def test_weights_count_vectors_as_often():
    states = languages()
    generator = np.random.default_rng(2)
    counts = {name: generator.integers(0, 4, len(vectors)) for name, vectors in states.items()}
    weighted = gathered(states, counts)
    repeated = gathered({name: np.repeat(vectors, counts[name], axis=0) for name, vectors in states.items()})
    np.testing.assert_allclose(weighted.sizes, repeated.sizes)
    for a, b in ((weighted.means, repeated.means), (weighted.total, repeated.total)):
        np.testing.assert_allclose(a, b, atol=1e-9)
    for method in (densray, lda, leace):
        np.testing.assert_allclose(method(weighted).basis, method(repeated).basis, atol=1e-9)


def test_sums_refuse_what_they_cannot_use():
    statistics = Statistics(3)
    for states, weights, message in (
        (np.zeros((2, 4)), None, r"xx: expected states of shape \(m, 3\), found \(2, 4\)"),
        (np.array([[0, np.nan, 0]]), None, "xx: expected finite states"),
        (np.zeros((2, 3)), [1, -1], "xx: expected a weight of at least 0 for each of 2"),
    ):
        with pytest.raises(DataError, match=message):
            statistics.update(states, "xx", weights)
    assert statistics.languages == ()


# DensRay.


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
def test_densray_is_the_mean_over_pairs_of_languages_of_the_means_over_all_pairs(sizes):
    """A, pair by pair: of all vectors of each two languages, with each other and with themselves."""
    states, means = languages(sizes), {}
    for a, b in itertools.product(sorted(states), repeat=2):
        differences = (states[a][:, None] - states[b][None]).reshape(-1, 9)
        means[a, b] = differences.T @ differences / len(differences)
    equal, unequal = (np.mean([mean for (a, b), mean in means.items() if (a == b) == same], 0) for same in (True, False))
    subspace = densray(gathered(states))
    np.testing.assert_allclose((subspace.basis * subspace.eigenvalues) @ subspace.basis.T, unequal - equal, atol=1e-12)
    np.testing.assert_allclose(subspace.eigenvalues, np.linalg.eigvalsh(unequal - equal)[::-1][:3], atol=1e-12)
    assert subspace.rank == 3 and (subspace.eigenvalues > 0).all()


def test_densray_is_pca_of_the_means_of_languages():
    statistics = gathered(languages())
    pca = PCA().fit(statistics.means)
    subspace = densray(statistics)
    assert subspace.rank == 3  # four means
    np.testing.assert_allclose(np.abs(subspace.basis.T @ pca.components_[:3].T), np.eye(3), atol=1e-9)
    # The variance that PCA divides by n - 1, and DensRay counts for both of a pair.
    np.testing.assert_allclose(subspace.eigenvalues, 2 * pca.explained_variance_[:3])
    np.testing.assert_allclose(explained(subspace), pca.explained_variance_ratio_[:3])
    means = centroids(statistics)
    np.testing.assert_allclose(means.basis, subspace.basis)
    np.testing.assert_allclose(explained(means), explained(subspace))


def test_the_rank_is_at_most_that_of_the_means():
    """Fewer dimensions than languages; means on a line; one mean for all."""
    assert densray(gathered(languages(d=2))).rank == 2
    line = {name: states - states.mean(0) + number * np.ones(9) for number, (name, states) in enumerate(languages().items())}
    assert densray(gathered(line)).rank == 1
    np.testing.assert_allclose(np.abs(densray(gathered(line)).basis[:, 0]), np.full(9, 1 / 3))


def test_subspaces_need_two_languages():
    one = gathered({"a": np.eye(3)})
    for method in (densray, centroids, lda, leace, lambda sums: lsar(sums, 1)):
        with pytest.raises(DataError, match="expected .*two languages"):
            method(one)
    with pytest.raises(DataError, match="expected states of at least two languages"):
        inlp({"a": np.eye(3)}, 1)
    with pytest.raises(DataError, match="expected a rank from 1 to 3"):
        lsar(gathered(languages()), 4)


# LDA.


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
def test_lda_is_scikit_learns(sizes):
    states = languages(sizes)
    vectors, number = stacked(states)
    theirs = LinearDiscriminantAnalysis().fit(vectors, number)
    ours = lda(gathered(states))
    assert ours.rank == 3
    signs = np.sign((ours.filters * theirs.scalings_[:, :3]).sum(0))
    np.testing.assert_allclose(transformed(ours, vectors) * signs, theirs.transform(vectors), atol=1e-9)
    np.testing.assert_allclose(explained(ours), theirs.explained_variance_ratio_, atol=1e-12)
    inside = ours.filters.T @ gathered(states).within @ ours.filters / len(vectors)
    np.testing.assert_allclose(inside, np.eye(3), atol=1e-10)  # white within languages
    for x in (1, 2, 3):  # the basis spans as much as the filters do, however many are taken
        np.testing.assert_allclose(projector(ours.filters[:, :x]), ours.basis[:, :x] @ ours.basis[:, :x].T, atol=1e-10)


def test_lda_leaves_constant_and_collinear_coordinates_out():
    states = {name: np.hstack([v, v[:, :2] @ [[1], [2]], np.ones((len(v), 1))]) for name, v in languages().items()}
    vectors, number = stacked(states)
    theirs = LinearDiscriminantAnalysis().fit(vectors, number).transform(vectors)
    np.testing.assert_allclose(np.abs(transformed(lda(gathered(states)), vectors)), np.abs(theirs), atol=1e-6)


# LEACE.


def test_leace_is_concept_erasures():
    package = pytest.importorskip("concept_erasure")
    states = languages()
    vectors, number = map(torch.tensor, stacked(states))
    fitter = package.LeaceFitter.fit(
        vectors, torch.nn.functional.one_hot(number), shrinkage=False, constrain_cov_trace=False, svd_tol=1e-8
    )
    found = erased(leace(gathered(states)), states, vectors.numpy())
    np.testing.assert_allclose(found, fitter.eraser(vectors).numpy(), atol=1e-10)


# LSAR, INLP.


@pytest.mark.parametrize("rank", [1, 2])
def test_lsar_is_the_published_algorithm(rank):
    """The means are best approximated; the point of their affine hull nearest to 0 is subtracted; the rest is decomposed."""
    statistics = gathered(languages())
    means = statistics.means.T
    left, values, right = np.linalg.svd(means - means.mean(1, keepdims=True), full_matrices=False)
    approximated = means.mean(1, keepdims=True) + left[:, :rank] * values[:rank] @ right[:rank]
    point = np.linalg.pinv(approximated).T @ np.ones(4)
    point /= (point**2).sum()
    left, values, _ = np.linalg.svd(approximated - point[:, None], full_matrices=False)
    ours = lsar(statistics, rank)
    np.testing.assert_allclose(np.abs(ours.basis.T @ left[:, :rank]), np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues, values[:rank] ** 2 / 4)
    np.testing.assert_allclose(point @ ours.basis, 0, atol=1e-9)
    np.testing.assert_allclose(projector(ours.basis), projector(densray(statistics).basis[:, :rank]), atol=1e-10)


def test_inlp_leaves_less_to_linear_probes_with_each_round():
    states = languages((200, 150, 180, 170), d=12, apart=1.0)
    vectors, number = stacked(states)
    accuracies = []
    for rounds in (0, 1, 2, 3):
        subspace = inlp(states, rounds)
        assert subspace.rank == 3 * rounds
        np.testing.assert_allclose(subspace.basis.T @ subspace.basis, np.eye(3 * rounds), atol=1e-10)
        probe = fit(erased(subspace, states, vectors)[None], number[None, None], penalties=1.0, tolerance=1e-6)
        accuracies.append((probe.predict(erased(subspace, states, vectors)[None])[0, 0, 0] == number).mean())
    assert accuracies[0] > 0.8 and accuracies[3] < 0.45
    assert accuracies == sorted(accuracies, reverse=True)
    first = fit(vectors[None], number[None, None], penalties=1.0, tolerance=TOLERANCE).weights[0, 0, 0].numpy()
    np.testing.assert_allclose(inlp(states, 1).basis @ inlp(states, 1).basis.T, projector(first.T[:, 1:]), atol=1e-6)
    assert inlp(states, 9).rank == 12  # and no more than there are dimensions


# What all have in common.

METHODS = {
    "densray": lambda states: densray(gathered(states)),
    "lda": lambda states: lda(gathered(states)),
    "leace": lambda states: leace(gathered(states)),
    "lsar": lambda states: lsar(gathered(states), 2),
    "inlp": lambda states: inlp(states, 1),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_results_in_an_upright_orthonormal_basis(method):
    states = languages()
    subspace = METHODS[method](states)
    vectors, _ = stacked(states)
    assert subspace.languages == ("a", "b", "c", "d")
    assert subspace.basis.shape == subspace.filters.shape == (9, subspace.rank)
    np.testing.assert_allclose(subspace.basis.T @ subspace.basis, np.eye(subspace.rank), atol=1e-10)
    np.testing.assert_allclose(subspace.filters.T @ patterns(subspace, gathered(states)), np.eye(subspace.rank), atol=1e-10)
    assert (np.diff(subspace.eigenvalues) <= 0).all()
    largest = np.abs(subspace.basis).argmax(0)
    assert (subspace.basis[largest, np.arange(subspace.rank)] > 0).all()
    again = METHODS[method](dict(reversed(states.items())))
    np.testing.assert_allclose(again.basis, subspace.basis, atol=1e-9)
    assert np.array_equal(METHODS[method](states).basis, subspace.basis)
    # Erased states are read as nothing; one direction is erased without the others.
    np.testing.assert_allclose(transformed(subspace, erased(subspace, states, vectors)), 0, atol=1e-9)
    partly = transformed(subspace, erased(subspace, states, vectors, 1))
    np.testing.assert_allclose(partly[:, 0], 0, atol=1e-9)
    np.testing.assert_allclose(partly[:, 1:], transformed(subspace, vectors)[:, 1:], atol=1e-9)


def test_what_is_beyond_the_rank_follows_a_rule():
    states = languages()
    statistics, (vectors, _) = gathered(states), stacked(states)
    subspace = densray(statistics)
    drawn, other = subspace.completed(seed=0), subspace.completed(seed=1)
    for whole in (drawn, other):
        assert whole.rank == 3 and np.array_equal(whole.basis[:, :3], subspace.basis)
        np.testing.assert_allclose(whole.basis.T @ whole.basis, np.eye(9), atol=1e-12)
        means = whole.coordinates(statistics.means, centred=True)
        np.testing.assert_allclose(means[:, 3:], 0, atol=1e-10)  # nothing of the means is left there
    assert np.array_equal(subspace.completed(seed=0).basis, drawn.basis) and not np.allclose(drawn.basis, other.basis)
    np.testing.assert_allclose(
        drawn.coordinates(vectors, centred=True), drawn.coordinates(vectors, centred=False) - drawn.centre @ drawn.basis
    )
    # Uniform: over many seeds no direction of the complement is preferred, nor either of its signs.
    drawn = np.array([subspace.completed(seed=seed).basis[:, 3] for seed in range(400)])
    np.testing.assert_allclose(drawn.mean(0), 0, atol=0.1)
    np.testing.assert_allclose(np.mean(drawn**2, 0), np.diag(np.eye(9) - projector(subspace.basis)) / 6, atol=0.03)
