"""CKA against its definitions written out, an independent package, and what identity implies."""

import itertools
import warnings

import numpy as np
import pytest
from conftest import refused
from crosslens.measures.shared.cka import DEFINITIONS, Definition, cka, compare
from scipy.spatial.distance import pdist, squareform
from scipy.stats import t

CENTRED = [name for name, how in DEFINITIONS.items() if how.centring != "none"]
WHOLE = [Definition(kernel, centring) for kernel in ("linear", "rbf") for centring in ("none", "centred", "unbiased")]


def related(n=40, d=7, seed=0, noise=1.0):
    """Two matrices of the same sentences: (n, d), (n, d + 2), with a mean vector."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, d))
    y = x @ generator.normal(size=(d, d + 2)) / np.sqrt(d) + noise * generator.normal(size=(n, d + 2))
    return x + 2, y - 1


# The definitions, written out.


def kernel(x, how):
    """Kernel matrix, distance by distance."""
    if how.kernel == "linear":
        return x @ x.T
    distances = squareform(pdist(x, "sqeuclidean"))
    return np.exp(-distances / (2 * np.median(distances[distances != 0])))


def hsic(k, l, centring):  # noqa: E741
    """trace(KL), trace(KHLH), or the unbiased estimate HSIC_1 of Song et al. 2012; factors of n cancel in CKA."""
    n = len(k)
    if centring == "none":
        return np.trace(k @ l)
    if centring == "centred":
        h = np.eye(n) - 1 / n
        return np.trace(k @ h @ l @ h)
    k, l = (matrix - np.diag(np.diag(matrix)) for matrix in (k, l))  # noqa: E741
    one = np.ones(n)
    return np.trace(k @ l) + one @ k @ one * (one @ l @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * one @ k @ l @ one


def aligned(k, l, centring):  # noqa: E741
    return hsic(k, l, centring) / np.sqrt(hsic(k, k, centring) * hsic(l, l, centring))


def released(x, y, left_out=()):
    """As the released script runs it: slices of a quarter that start at the number of the batch. RBF, centred."""
    size, found = len(x) // 4, []
    for batch in range(4):
        keep = [row for row in range(size) if batch + row not in left_out]
        k, l = (kernel(side[batch : batch + size], Definition("rbf")) for side in (x, y))  # noqa: E741
        found.append(aligned(k[np.ix_(keep, keep)], l[np.ix_(keep, keep)], "centred"))
    return np.mean(found)


@pytest.mark.parametrize("how", WHOLE, ids=str)
@pytest.mark.parametrize(("n", "d"), [(5, 3), (12, 30)])
def test_values_are_those_of_the_definition(how, n, d):
    x, y = related(n, d)
    # The traces written out lose digits where the kernels hardly vary.
    assert cka(x, y, how) == pytest.approx(aligned(kernel(x, how), kernel(y, how), how.centring), abs=1e-10)


def test_released_kernel_is_the_mean_over_four_overlapping_windows():
    x, y = related(50)
    assert cka(x, y, "released_kernel") == pytest.approx(released(x, y), abs=1e-12)
    x[15:], y[15:] = 9, 9  # 12 + 3 sentences are used
    assert cka(x, y, "released_kernel") == pytest.approx(released(*related(50)), abs=1e-12)


def test_named_definitions_are_those_of_the_paper_the_code_and_ours():
    x, y = related()
    k, l = x @ x.T, y @ y.T  # noqa: E741
    printed = np.linalg.norm(x.T @ y) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    assert cka(x, y, "as_printed") == pytest.approx(printed)
    assert cka(x, y, "linear") == pytest.approx(aligned(k, l, "centred"))
    assert cka(x, y, "debiased") == cka(x, y) == pytest.approx(aligned(k, l, "unbiased"))
    assert cka(x, y, "rbf") == pytest.approx(aligned(*(kernel(side, Definition("rbf")) for side in (x, y)), "centred"))
    assert len({round(cka(x, y, name), 6) for name in DEFINITIONS}) == len(DEFINITIONS)


@pytest.mark.parametrize(("n", "d"), [(60, 9), (61, 90)])
def test_an_independent_package_agrees(n, d):
    package = pytest.importorskip("ckatorch", reason="pip install ckatorch")
    torch = pytest.importorskip("torch")
    x, y = related(n, d)
    sides = torch.from_numpy(x), torch.from_numpy(y)
    assert cka(x, y, "linear") == pytest.approx(float(package.cka_base(*sides, method="hsic")), abs=1e-12)
    assert cka(x, y, "debiased") == pytest.approx(float(package.cka_base(*sides, unbiased=True)), abs=1e-12)
    # Its bandwidth is in roots of the median with the zeros of the diagonal, the lower one of two.
    grams = []
    for side in sides:
        distances = torch.cdist(side, side) ** 2
        factor = np.sqrt(np.median(pdist(side, "sqeuclidean")) / distances.median())
        grams.append(package.rbf_kernel(side, float(factor)))
    expected = package.hsic0(*grams) / torch.sqrt(package.hsic0(grams[0], grams[0]) * package.hsic0(grams[1], grams[1]))
    assert cka(x, y, "rbf") == pytest.approx(float(expected), abs=1e-9)


# Invariances.


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("d", [5, 60])
def test_identity_rotation_and_scale(name, d):
    x, y = related(48, d)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]
    assert cka(x, x, name) == pytest.approx(1)
    assert cka(x, -3 * x @ rotation, name) == pytest.approx(1)
    assert cka(x @ rotation * 0.01, y, name) == pytest.approx(cka(x, y, name))
    assert cka(x, y, name) == pytest.approx(cka(y, x, name))
    assert cka(x * np.linspace(0.1, 3, d), y, name) != pytest.approx(cka(x, y, name), abs=1e-3)  # no other linear map


# Undefined.


def test_what_is_undefined_is_nan_without_a_warning():
    x, y = related(40)
    constant = np.full((40, 5), 0.1)
    simplex = np.eye(40)  # equal distances: nothing left once U-centred, though it varies
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in CENTRED:
            assert np.isnan(cka(constant, y, name)) and np.isnan(cka(x, constant, name))
            found = compare([x], {"xx": [constant]}, [name], draws=5)[name]
            assert np.isnan([found.value, found.low, found.high, found.floor]).all()
        assert cka(constant, 2 * constant, "as_printed") == pytest.approx(1)
        assert np.isnan(cka(0 * x, y, "as_printed"))
        assert np.isnan(cka(simplex, y, "debiased")) and cka(simplex, y, "linear") > 0
        tetrahedron = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.1  # the same, by sums over rows
        assert np.isnan(cka(tetrahedron, y[:4, :3], "debiased")) and cka(tetrahedron, y[:4, :3], "linear") > 0
        for n in range(5):
            values = {name: cka(x[:n], y[:n], name) for name in DEFINITIONS}
            assert {name for name, value in values.items() if not np.isnan(value)} == {
                *(["as_printed"] if n else []), *(["linear", "rbf"] if n > 1 else []), *(["debiased"] if n > 3 else []),
            }  # fmt: skip
            found = compare([x[:n]], {"xx": [y[:n]]}, draws=3)
            assert np.isnan(found["debiased"].low) and np.isnan(found["linear"].low) == (n < 3)
        assert compare([x[:5]], {"xx": [y[:5]]}, draws=0)["debiased"].low < 1  # of five, four are left
        # Without its first sentence nothing varies: a value, no interval.
        single = np.zeros((40, 3))
        single[0] = 1
        found = compare([single], {"xx": [x]}, ["linear"], draws=0)["linear"]
        assert found.value > 0 and np.isnan(found.low) and np.isnan(found.floor)


def test_equal_sentences_do_not_count_for_the_bandwidth():
    """The median is over non-zero distances: here one pair in ten is no distance at all."""
    x, y = related(30)
    x[10:20] = x[:10]
    x[20:] = x[:10]
    expected = aligned(*(kernel(side, Definition("rbf")) for side in (x, y)), "centred")
    assert cka(x, y, "rbf") == pytest.approx(expected, abs=1e-12)


def test_bad_input_is_refused_in_one_line():
    x, y = related()
    broken = y.copy()
    broken[3, 2] = np.inf
    for call, message in {
        lambda: cka(x, y[1:]): r"y: expected states of shape \(40, d\), found \(39, 9\)",
        lambda: cka(x[0], y): r"x: expected states of shape .*, found \(7,\)",
        lambda: compare([x], {"de": [y], "fi": [broken]}): "fi, layer 0: expected finite states",
        lambda: compare([x, x], {"de": [y, y], "fi": [y]}): "fi: expected 2 layers as in the reference, found 1",
        lambda: compare([x, x], {"de": [y, y[:5]]}): r"de, layer 1: expected states of shape .*, found \(5, 9\)",
        lambda: compare([x], {"de": [y]}, blocks=np.arange(39)): "blocks: expected",
    }.items():
        with refused(message):
            call()


# Many at once.


def test_all_pairs_at_once_are_the_pairs_one_by_one():
    generator = np.random.default_rng(0)
    reference = [generator.normal(size=(45, d)) for d in (6, 50)]
    others = {language: [x + generator.normal(size=x.shape) for x in reference] for language in ("de", "fi", "ru")}
    before = [x.copy() for x in reference]
    found = compare(reference, others, draws=10)
    assert list(found) == list(DEFINITIONS)
    assert {name: one.n for name, one in found.items()} == {**dict.fromkeys(DEFINITIONS, 45), "released_kernel": 45 // 4 + 3}
    for name, one in found.items():
        for row, layer in itertools.product(range(3), range(2)):
            expected = cka(reference[layer], list(others.values())[row][layer], name)
            assert one.value[row, layer] == pytest.approx(expected, abs=1e-12)
            alone = compare(reference[layer : layer + 1], {"x": [list(others.values())[row][layer]]}, [name], draws=10)[name]
            for field in ("value", "low", "high", "floor"):  # the other languages change nothing
                assert getattr(alone, field)[0, 0] == pytest.approx(getattr(one, field)[row, layer], rel=1e-9)
    np.testing.assert_array_equal(reference[0], before[0])
    again = compare(reference, others, draws=10, threads=3)
    assert all(
        (getattr(again[name], field) == getattr(found[name], field)).all() for name in found for field in ("value", "floor")
    )


def test_half_precision_states_are_computed_in_double():
    x, y = (side.astype(np.float16) for side in related())
    x += np.float16(1000)  # squares overflow in half precision
    for name in DEFINITIONS:
        assert cka(x, y, name) == cka(x.astype(np.float64), y.astype(np.float64), name)


# Shuffled pairings.


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_floor_is_the_mean_of_values_from_shuffled_states(name):
    """Of all orders of the sentences that every window has: six, or five of the 32 of which windows of eight are taken."""
    n, shared = (32, slice(3, 8)) if DEFINITIONS[name].quarters else (6, slice(0, 6))
    x, y = related(n, noise=3.0)
    shuffled = []
    for order in itertools.permutations(range(n)[shared]):
        moved = x.copy()
        moved[shared] = x[list(order)]
        shuffled.append(cka(moved, y, name))
    mean, deviation, draws = np.mean(shuffled), np.std(shuffled), 10_000
    found = compare([x], {"xx": [y]}, [name], draws=draws, seed=3)[name]
    assert found.floor.item() == pytest.approx(mean, abs=4 * deviation / np.sqrt(draws))
    repeated = compare([x], {"xx": [y]}, [name], draws=50, seed=3)[name]
    other = compare([x], {"xx": [y]}, [name], draws=50, seed=4)[name]
    assert compare([x], {"xx": [y]}, [name], draws=50, seed=3)[name].floor == repeated.floor != other.floor


# Intervals.


@pytest.mark.parametrize("sizes", [[1] * 40, [2] * 20, [1, 4, 2, 1, 12, 7, 3, 10]], ids=["one", "two", "unequal"])
@pytest.mark.parametrize("how", WHOLE, ids=str)
def test_intervals_are_those_of_the_values_without_each_block(how, sizes, monkeypatch):
    """The delete-m jackknife of Busing et al. 1999, whose blocks may be of unequal sizes."""
    monkeypatch.setitem(DEFINITIONS, "tested", how)
    x, y = related(40)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = compare([x], {"xx": [y]}, ["tested"], draws=0, blocks=labels)["tested"]
    k, l = kernel(x, how), kernel(y, how)  # noqa: E741
    without = []
    for block in range(len(sizes)):
        keep = np.ix_(labels != block, labels != block)
        without.append(aligned(k[keep], l[keep], how.centring))
    value, groups, h = aligned(k, l, how.centring), len(sizes), 40 / np.array(sizes)
    estimate = groups * value - sum((1 - size / 40) * left for size, left in zip(sizes, without, strict=True))
    variance = sum((ratio * value - (ratio - 1) * left - estimate) ** 2 / (ratio - 1)
                   for ratio, left in zip(h, without, strict=True)) / groups  # fmt: skip
    half = t.ppf(0.975, groups - 1) * np.sqrt(variance)
    assert (found.low.item(), found.high.item()) == pytest.approx((value - half, value + half), abs=1e-9)


def test_intervals_of_windows_are_the_jackknifes():
    """(G - 1) / G times the sum of squares around the mean; t with G - 1 degrees of freedom."""
    x, y = related(80)
    found = compare([x], {"xx": [y]}, ["released_kernel"], draws=0)["released_kernel"]
    left = np.array([released(x, y, [sentence]) for sentence in range(23)])
    error = np.sqrt(22 / 23 * ((left - left.mean()) ** 2).sum())
    half = t.ppf(0.975, 22) * error
    assert found.low.item() == pytest.approx(found.value.item() - half, abs=1e-9)
    assert found.high.item() == pytest.approx(found.value.item() + half, abs=1e-9)


def test_blocks_are_runs_of_equal_names():
    x, y = related(40)
    numbers, names = np.arange(40) // 5, np.array([f"n{i // 5 * 37 % 11}" for i in range(40)])
    one, other = (compare([x], {"xx": [y]}, ["debiased"], draws=0, blocks=blocks)["debiased"] for blocks in (numbers, names))
    single = compare([x], {"xx": [y]}, ["debiased"], draws=0)["debiased"]
    assert one.low == other.low != single.low
