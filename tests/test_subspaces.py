"""Language subspaces against sums over all pairs, scikit-learn, an independent package, and what their theorems imply."""

import itertools

import numpy as np
import pytest
import torch
from conftest import LANGUAGES
from crosslens.encoding.encoded import update_from_texts
from crosslens.numerics.densray import PAIRS, centroids, densray, densray_of_unit_differences
from crosslens.numerics.inlp import inlp
from crosslens.numerics.linear import lda, leace, lsar
from crosslens.numerics.logistic import fit
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace
from crosslens.recipes import Data
from crosslens.runs.errors import DataError
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


def gathered(states, weights=None, by_language=True):
    statistics = Statistics(next(iter(states.values())).shape[1], by_language=by_language)
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


# Sums.


def test_sums_are_those_of_all_vectors():
    states = languages()
    statistics = gathered(states)
    vectors, number = stacked(states)
    assert statistics.languages == ("a", "b", "c", "d")
    assert statistics.sizes.tolist() == [12, 23, 50, 35]
    for row, name in enumerate(statistics.languages):
        np.testing.assert_allclose(statistics.means[row], states[name].mean(0), rtol=1e-13)
        np.testing.assert_allclose(statistics.scatter(name), np.cov(states[name].T, ddof=0) * len(states[name]), atol=1e-11)
    np.testing.assert_allclose(statistics.total, np.cov(vectors.T, ddof=0) * len(vectors), atol=1e-10)
    np.testing.assert_allclose(statistics.within, sum(statistics.scatter(name) for name in statistics.languages), atol=1e-11)


@pytest.mark.parametrize("by_language", [True, False])
def test_a_stream_in_blocks_and_parts_is_one_shot(by_language, monkeypatch):
    states = languages(sizes=(200, 3, 117, 41))
    whole = gathered(states, by_language=by_language)
    monkeypatch.setattr("crosslens.numerics.statistics.BLOCK", 7)
    generator = np.random.default_rng(1)
    parts = [Statistics(9, by_language=by_language) for _ in range(3)]
    blocks = [(name, block) for name in states for block in np.array_split(states[name], 9)]  # some of them empty
    for place in generator.permutation(len(blocks)):
        parts[place % 3].update(blocks[place][1], blocks[place][0])
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.languages == whole.languages and (merged.sizes == whole.sizes).all()
    np.testing.assert_allclose(merged.means, whole.means, rtol=1e-12)
    np.testing.assert_allclose(merged.within, whole.within, atol=1e-9)
    if by_language:
        np.testing.assert_allclose(merged.scatter("a"), whole.scatter("a"), atol=1e-10)


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


def test_far_from_the_origin_no_digits_are_lost():
    states = {name: vectors.astype(np.float64) for name, vectors in languages().items()}
    near, far = gathered(states), gathered({name: vectors + 1e6 for name, vectors in states.items()})
    np.testing.assert_allclose(far.within, near.within, rtol=1e-7, atol=1e-6)


def test_memory_does_not_grow_with_the_number_of_vectors():
    statistics = Statistics(9)
    kept = []
    for name, _ in itertools.product("abc", range(4)):
        statistics.update(np.random.default_rng(0).normal(size=(500, 9)), name)
        kept.append(sum(array.size for store in (statistics._means, statistics._scatters) for array in store.values()))
    assert kept[-1] == 9 * 9 + 3 * 9
    assert len(set(kept)) == 3  # one more mean for each new language


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
    with pytest.raises(DataError, match="expected the scatter of each language"):
        statistics.scatter("xx")
    with pytest.raises(DataError, match=r"expected width and by_language \(3, False\), found \(4, False\)"):
        statistics.merge(Statistics(4))


def test_sums_of_texts_are_those_of_all_pieces_but_special_ones(bench):
    encoder, texts = bench.encoder(), bench.texts(Data(corpus="sentences", split="test", languages=LANGUAGES))
    sums = {layer: Statistics(32) for layer in (0, 2)}
    states = {}
    for language in LANGUAGES:
        some = texts.take(np.flatnonzero(np.array(texts.languages) == language))
        update_from_texts(sums, encoder, some, language)
        for text in range(len(some)):
            pieces = torch.tensor(some.pieces[None, some.piece_offsets[text] : some.piece_offsets[text + 1]].astype(np.int64))
            with torch.inference_mode():
                output = encoder(input_ids=pieces, output_hidden_states=True).hidden_states
            for layer in sums:
                states.setdefault(layer, {}).setdefault(language, []).append(output[layer][0, 1:-1].numpy())
    for layer, by_language in states.items():
        expected = gathered({language: np.concatenate(parts) for language, parts in by_language.items()})
        assert sums[layer].languages == LANGUAGES and np.array_equal(sums[layer].sizes, expected.sizes)
        np.testing.assert_allclose(sums[layer].means, expected.means, atol=1e-5)
        np.testing.assert_allclose(sums[layer].within, expected.within, rtol=1e-4, atol=1e-2)


# DensRay.


def summed_over_pairs(states, pairs, unit):
    """A, pair by pair: of all vectors of each two languages, with each other and with themselves."""
    sums, counts = {}, {}
    for a, b in itertools.product(sorted(states), repeat=2):
        differences = (states[a][:, None] - states[b][None]).reshape(-1, states[a].shape[1])
        if unit:
            lengths = np.linalg.norm(differences, axis=1, keepdims=True)
            differences = differences / np.where(lengths == 0, 1, lengths)
        sums[a, b], counts[a, b] = differences.T @ differences, len(differences)
    unequal, equal = ([pair for pair in sums if (pair[0] == pair[1]) == same] for same in (False, True))
    if pairs == "languages":
        return np.mean([sums[p] / counts[p] for p in unequal], 0) - np.mean([sums[p] / counts[p] for p in equal], 0)
    return sum(sums[p] for p in unequal) / sum(counts[p] for p in unequal) - sum(sums[p] for p in equal) / sum(
        counts[p] for p in equal
    )


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("unit", [False, True])
def test_densray_is_the_sum_over_all_pairs(sizes, pairs, unit, monkeypatch):
    monkeypatch.setattr("crosslens.numerics.densray.ROWS", 17)
    states = languages(sizes)
    subspace = densray_of_unit_differences(states, pairs=pairs) if unit else densray(gathered(states), pairs=pairs)
    expected = summed_over_pairs(states, pairs, unit)
    np.testing.assert_allclose((subspace.basis * subspace.eigenvalues) @ subspace.basis.T, expected, atol=1e-12)
    np.testing.assert_allclose(subspace.eigenvalues, np.linalg.eigvalsh(expected)[::-1][: subspace.rank], atol=1e-12)
    # Only plain differences, averaged within pairs of languages or of equally many vectors, have at most n - 1 directions.
    assert subspace.rank == (3 if pairs == "languages" and not unit else 9)
    assert (subspace.eigenvalues.min() < -1e-6) == (unit or (pairs == "vectors" and sizes == UNEQUAL))


def test_the_papers_formula_is_a_multiple():
    """Equation 1 with a_eq = 1 / n and a_ne = 2 / (n (n - 1)), each pair once, is m^2 times the mean form."""
    states, n, m = languages(EQUAL), 4, 30
    names = sorted(states)
    differences = {pair: (states[pair[0]][:, None] - states[pair[1]][None]).reshape(-1, 9) for pair in
                   [*itertools.combinations(names, 2), *((name, name) for name in names)]}  # fmt: skip
    printed = sum((2 / (n * (n - 1)) if a != b else -1 / n) * d.T @ d for (a, b), d in differences.items())
    subspace = densray(gathered(states))
    np.testing.assert_allclose(m**2 * (subspace.basis * subspace.eigenvalues) @ subspace.basis.T, printed, atol=1e-9)


def test_densray_is_pca_of_the_means_of_languages():
    statistics = gathered(languages())
    pca = PCA().fit(statistics.means)
    subspace = densray(statistics)
    assert subspace.rank == 3  # four means
    np.testing.assert_allclose(np.abs(subspace.basis.T @ pca.components_[:3].T), np.eye(3), atol=1e-9)
    # The variance that PCA divides by n - 1, and DensRay counts for both of a pair.
    np.testing.assert_allclose(subspace.eigenvalues, 2 * pca.explained_variance_[:3])
    np.testing.assert_allclose(subspace.explained, pca.explained_variance_ratio_[:3])
    means = centroids(statistics)
    np.testing.assert_allclose(means.basis, subspace.basis)
    np.testing.assert_allclose(means.explained, subspace.explained)


def test_a_language_that_counts_twice_is_there_twice():
    states = languages()
    statistics = gathered(states)
    doubled = densray(statistics, weights=np.array([1, 2, 1, 1]))
    twice = densray(gathered(states | {"b again": states["b"]}))
    np.testing.assert_allclose(doubled.basis, twice.basis, atol=1e-9)
    np.testing.assert_allclose(doubled.explained, twice.explained)
    np.testing.assert_allclose(doubled.centre, twice.centre)


def test_the_rank_is_at_most_that_of_the_means():
    """Fewer dimensions than languages; means on a line; one mean for all."""
    assert densray(gathered(languages(d=2))).rank == 2
    line = {name: states - states.mean(0) + number * np.ones(9) for number, (name, states) in enumerate(languages().items())}
    assert densray(gathered(line)).rank == 1
    np.testing.assert_allclose(np.abs(densray(gathered(line)).basis[:, 0]), np.full(9, 1 / 3))


def test_subspaces_need_two_languages_and_weights_for_each():
    one = gathered({"a": np.eye(3)})
    for method in (densray, centroids, lda, leace, lambda sums: lsar(sums, 1)):
        with pytest.raises(DataError, match="expected .*two languages"):
            method(one)
    for method in (densray_of_unit_differences, lambda states: inlp(states, 1)):
        with pytest.raises(DataError, match="expected states of at least two languages"):
            method({"a": np.eye(3)})
    statistics = gathered(languages())
    with pytest.raises(DataError, match="expected a positive weight for each of 4 languages"):
        densray(statistics, weights=np.ones(3))
    with pytest.raises(DataError, match="weight the vectors"):
        densray(statistics, pairs="vectors", weights=np.ones(4))
    with pytest.raises(DataError, match="expected a rank from 1 to 3"):
        lsar(statistics, 4)


# LDA.


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
def test_lda_is_scikit_learns(sizes):
    states = languages(sizes)
    vectors, number = stacked(states)
    theirs = LinearDiscriminantAnalysis().fit(vectors, number)
    ours = lda(gathered(states, by_language=False))
    assert ours.rank == 3
    signs = np.sign((ours.filters * theirs.scalings_[:, :3]).sum(0))
    np.testing.assert_allclose(ours.transform(vectors) * signs, theirs.transform(vectors), atol=1e-9)
    np.testing.assert_allclose(ours.explained, theirs.explained_variance_ratio_, atol=1e-12)
    inside = ours.filters.T @ gathered(states).within @ ours.filters / len(vectors)
    np.testing.assert_allclose(inside, np.eye(3), atol=1e-10)  # white within languages
    for x in (1, 2, 3):  # the basis spans as much as the filters do, however many are taken
        np.testing.assert_allclose(projector(ours.filters[:, :x]), ours.basis[:, :x] @ ours.basis[:, :x].T, atol=1e-10)


def test_lda_leaves_constant_and_collinear_coordinates_out():
    states = {name: np.hstack([v, v[:, :2] @ [[1], [2]], np.ones((len(v), 1))]) for name, v in languages().items()}
    vectors, number = stacked(states)
    theirs = LinearDiscriminantAnalysis().fit(vectors, number).transform(vectors)
    np.testing.assert_allclose(np.abs(lda(gathered(states)).transform(vectors)), np.abs(theirs), atol=1e-6)


# LEACE.


def test_leace_is_concept_erasures():
    package = pytest.importorskip("concept_erasure")
    states = languages()
    vectors, number = map(torch.tensor, stacked(states))
    fitter = package.LeaceFitter.fit(
        vectors, torch.nn.functional.one_hot(number), shrinkage=False, constrain_cov_trace=False, svd_tol=1e-8
    )
    np.testing.assert_allclose(leace(gathered(states)).erase(vectors.numpy()), fitter.eraser(vectors).numpy(), atol=1e-10)


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
def test_after_leace_states_and_language_are_uncorrelated_and_no_probe_beats_the_shares(sizes):
    states = languages(sizes)
    vectors, number = stacked(states)
    erased = leace(gathered(states)).erase(vectors)
    one_hot = np.eye(4)[number]

    def correlation(x):
        return np.abs((x - x.mean(0)).T @ (one_hot - one_hot.mean(0))).max() / len(x)

    assert correlation(erased) < 1e-12 < 0.1 < correlation(vectors)
    np.testing.assert_allclose(erased.mean(0), vectors.mean(0), atol=1e-10)
    before, after = (fit(x[None], number[None, None], penalties=1e3, tolerance=1e-6) for x in (vectors, erased))
    assert (before.predict(vectors[None])[0, 0, 0] == number).mean() > 0.9
    assert np.abs(after.weights.numpy()).max() < 1e-6
    shares = torch.softmax(after.intercepts[0, 0, 0], 0).numpy()  # what it says, whatever it reads
    np.testing.assert_allclose(shares, one_hot.mean(0), atol=1e-5)


def test_leace_erases_what_lda_reads_where_the_means_of_languages_differ():
    """Both are the oblique projection along the means' differences whose null space LDA's directions define."""
    states = languages()
    statistics, (vectors, _) = gathered(states), stacked(states)
    a, b = lda(statistics), leace(statistics)
    np.testing.assert_allclose(a.erase(vectors), b.erase(vectors), atol=1e-10)
    np.testing.assert_allclose(projector(a.filters), projector(b.filters), atol=1e-10)
    np.testing.assert_allclose(projector(b.patterns), projector(densray(statistics).basis), atol=1e-10)
    # Away from DensRay's directions the means are equal too, but states have moved further; away from LDA's basis they are not.
    across = densray(statistics).erase(vectors)
    assert ((vectors - b.erase(vectors)) ** 2).sum() < 0.95 * ((vectors - across) ** 2).sum()
    left = statistics.means - (statistics.means - a.centre) @ a.basis @ a.basis.T
    assert np.ptp(statistics.means - (statistics.means - b.centre) @ projector(b.patterns), axis=0).max() < 1e-9
    assert np.ptp(left, axis=0).max() > 0.1


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
        probe = fit(subspace.erase(vectors)[None], number[None, None], penalties=1.0, tolerance=1e-6)
        accuracies.append((probe.predict(subspace.erase(vectors)[None])[0, 0, 0] == number).mean())
    assert accuracies[0] > 0.8 and accuracies[3] < 0.45
    assert accuracies == sorted(accuracies, reverse=True)
    first = fit(vectors[None], number[None, None], penalties=1.0, tolerance=1e-6).weights[0, 0, 0].numpy()
    np.testing.assert_allclose(
        inlp(states, 1, tolerance=1e-6).basis @ inlp(states, 1, tolerance=1e-6).basis.T, projector(first.T[:, 1:]), atol=1e-6
    )
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
    assert subspace.basis.shape == subspace.filters.shape == subspace.patterns.shape == (9, subspace.rank)
    np.testing.assert_allclose(subspace.basis.T @ subspace.basis, np.eye(subspace.rank), atol=1e-10)
    np.testing.assert_allclose(subspace.filters.T @ subspace.patterns, np.eye(subspace.rank), atol=1e-10)
    assert (np.diff(subspace.eigenvalues) <= 0).all() and subspace.explained.sum() == pytest.approx(1)
    largest = np.abs(subspace.basis).argmax(0)
    assert (subspace.basis[largest, np.arange(subspace.rank)] > 0).all()
    again = METHODS[method](dict(reversed(states.items())))
    np.testing.assert_allclose(again.basis, subspace.basis, atol=1e-9)
    assert np.array_equal(METHODS[method](states).basis, subspace.basis)
    # Erased states are read as nothing; one direction is erased without the others.
    np.testing.assert_allclose(subspace.transform(subspace.erase(vectors)), 0, atol=1e-9)
    partly = subspace.transform(subspace.erase(vectors, 1))
    np.testing.assert_allclose(partly[:, 0], 0, atol=1e-9)
    np.testing.assert_allclose(partly[:, 1:], subspace.transform(vectors)[:, 1:], atol=1e-9)


def test_what_is_beyond_the_rank_follows_a_rule():
    states = languages()
    statistics, (vectors, _) = gathered(states), stacked(states)
    subspace = densray(statistics)
    axes = subspace.completed(statistics.within)
    drawn, other = subspace.completed(), subspace.completed(seed=1)
    for whole in (axes, drawn, other):
        assert whole.rank == 3 and np.array_equal(whole.basis[:, :3], subspace.basis)
        np.testing.assert_allclose(whole.basis.T @ whole.basis, np.eye(9), atol=1e-12)
        means = whole.coordinates(statistics.means, centred=True)
        np.testing.assert_allclose(means[:, 3:], 0, atol=1e-10)  # nothing of the means is left there
    assert np.array_equal(subspace.completed().basis, drawn.basis) and not np.allclose(drawn.basis, other.basis)
    inside = axes.basis[:, 3:].T @ statistics.within @ axes.basis[:, 3:]
    np.testing.assert_allclose(inside, np.diag(np.sort(np.diag(inside))[::-1]), atol=1e-10)
    np.testing.assert_allclose(
        drawn.coordinates(vectors, centred=True), drawn.coordinates(vectors, centred=False) - drawn.centre @ drawn.basis
    )
    # Uniform: over many seeds no direction of the complement is preferred.
    squares = np.mean([subspace.completed(seed=seed).basis[:, 3] ** 2 for seed in range(400)], 0)
    np.testing.assert_allclose(squares, np.diag(np.eye(9) - projector(subspace.basis)) / 6, atol=0.03)


def test_random_labels_have_no_subspace_that_holds_on_new_vectors():
    """The control of a fit: directions are found all the same, of a size that chance explains."""
    states = languages((300, 300, 300, 300), apart=1.0)
    vectors, _ = stacked(states)
    order = np.random.default_rng(0).permutation(len(vectors)).reshape(4, 300)
    shuffled = densray(gathered({name: vectors[rows] for name, rows in zip("abcd", order, strict=True)}))
    assert shuffled.rank == 3
    assert shuffled.eigenvalues[0] < 0.05 * densray(gathered(states)).eigenvalues[0]


def test_a_subspace_is_frozen():
    subspace = densray(gathered(languages()))
    assert isinstance(subspace, Subspace)
    with pytest.raises(AttributeError):
        subspace.method = "other"
