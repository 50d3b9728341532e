"""CKA against its definitions written out, closed forms, an independent package, and what independence and identity imply."""

import itertools
import warnings

import numpy as np
import pytest
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.cka import DEFINITIONS, Definition, cka, compare
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, t

CENTRED = [name for name, how in DEFINITIONS.items() if how.centring != "none"]
LINEAR = [name for name, how in DEFINITIONS.items() if how.kernel == "linear"]
WHOLE = [Definition(kernel, centring) for kernel in ("linear", "rbf") for centring in ("none", "centred", "unbiased")]


def related(n=40, d=7, seed=0, noise=1.0):
    """Two matrices of the same sentences: (n, d), (n, d + 2), with a mean vector."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, d))
    y = x @ generator.normal(size=(d, d + 2)) / np.sqrt(d) + noise * generator.normal(size=(n, d + 2))
    return x + 2, y - 1


def independent(n, d, seed, mean=0.0):
    """Two matrices that have nothing to do with each other, each around a random vector of its own."""
    generator = np.random.default_rng(seed)
    return tuple(generator.normal(size=(n, d)) + mean * generator.normal(size=d) for _ in range(2))


# The definitions, written out.


def kernel(x, how):
    """Kernel matrix, distance by distance."""
    if how.kernel == "linear":
        return x @ x.T
    distances = squareform(pdist(x, "sqeuclidean"))
    return np.exp(-distances / (2 * how.bandwidth**2 * np.median(distances[distances != 0])))


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


@pytest.mark.parametrize("how", [*WHOLE, Definition("rbf", bandwidth=0.4), Definition("rbf", "unbiased", 3.0)], ids=str)
@pytest.mark.parametrize(("n", "d"), [(5, 3), (40, 7), (12, 30)])
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


@pytest.mark.parametrize("n", [4, 5, 7])
def test_unbiased_is_the_mean_over_all_quadruples_of_sentences(n):
    """The U-statistic behind HSIC_1 (Song et al. 2012), by enumeration."""

    def enumerated(k, l):  # noqa: E741
        return np.mean([k[i, j] * (l[i, j] + l[q, r] - 2 * l[i, q]) for i, j, q, r in itertools.permutations(range(n), 4)])

    for how in (Definition("linear", "unbiased"), Definition("rbf", "unbiased")):
        x, y = related(n)
        k, l = kernel(x, how), kernel(y, how)  # noqa: E741
        expected = enumerated(k, l) / np.sqrt(enumerated(k, k) * enumerated(l, l))
        assert cka(x, y, how) == pytest.approx(expected, abs=1e-12)


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


# Closed forms and invariances.


def test_of_single_columns_it_is_the_squared_correlation():
    x, y = (side[:, :1] for side in related())
    assert cka(x, y, "linear") == pytest.approx(pearsonr(x[:, 0], y[:, 0]).statistic ** 2)
    cosine = (x.T @ y / (np.linalg.norm(x) * np.linalg.norm(y))).item()
    assert cka(x, y, "as_printed") == pytest.approx(cosine**2)


def test_of_some_of_the_same_columns_it_is_the_root_of_their_share():
    x = np.random.default_rng(0).normal(size=(2000, 8))
    for name in ("linear", "debiased"):
        assert cka(x, x[:, :2], name) == pytest.approx(np.sqrt(2 / 8), abs=0.01)


@pytest.mark.parametrize("centring", ["centred", "unbiased"])
def test_a_wide_rbf_kernel_is_the_linear_one(centring):
    x, y = related()
    assert cka(x, y, Definition("rbf", centring, 1000)) == pytest.approx(cka(x, y, Definition("linear", centring)), abs=1e-5)
    assert cka(x, y, Definition("rbf", centring, 1)) != pytest.approx(cka(x, y, Definition("linear", centring)), abs=1e-2)


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


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_shift_counts_only_as_printed(name):
    x, y = related(48)
    shifted = cka(x + 100 * np.arange(7), y, name)
    if name == "as_printed":
        assert shifted != pytest.approx(cka(x, y, name), abs=0.01)
    else:
        assert shifted == pytest.approx(cka(x, y, name), abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(DEFINITIONS) - {"released_kernel"}))
def test_the_order_of_the_pairs_does_not_count_but_the_pairing_does(name):
    x, y = related(48)
    order = np.random.default_rng(1).permutation(48)
    assert cka(x[order], y[order], name) == pytest.approx(cka(x, y, name))
    assert cka(x[order], y, name) < cka(x, y, name) - 0.01


# What independent states get: the table of the notes on muller2021, (c) 10, d = 768.


@pytest.mark.parametrize(
    ("n", "printed", "linear", "rbf"),
    [(25, 0.968, 0.969, 0.981), (200, 0.792, 0.793, 0.866), (250, 0.755, 0.755, 0.839), (1000, 0.434, 0.435, 0.564)],
)
def test_independent_states_look_alike_unless_debiased(n, printed, linear, rbf):
    draws = [independent(n, 768, seed) for seed in range(3 if n < 1000 else 1)]
    expected = {"as_printed": printed, "linear": linear, "rbf": rbf}
    for name, value in expected.items():
        assert np.mean([cka(x, y, name) for x, y in draws]) == pytest.approx(value, abs=0.003)
    # Of n (n - 3) pairs of entries that do not correlate.
    assert abs(np.mean([cka(x, y) for x, y in draws])) < 4 * np.sqrt(2 / (n * (n - 3)) / len(draws))


def test_released_kernel_hardly_tells_a_hundred_independent_sentences_apart():
    assert cka(*independent(100, 768, 0), "released_kernel") == pytest.approx(0.981, abs=0.003)


def test_as_printed_compares_mean_vectors():
    x, y = independent(200, 768, 0, mean=4.0)
    assert cka(x, y, "as_printed") > 0.99
    assert cka(x, y, "linear") == pytest.approx(0.793, abs=0.01)
    assert abs(cka(x, y)) < 0.03


def test_debiased_is_zero_on_average_for_small_n_and_many_dimensions():
    values = [cka(*independent(8, 40, seed)) for seed in range(400)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(400)
    assert np.std(values) > 0.1  # single values may be far off: the interval says so


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
            assert np.isnan([found.value, found.low, found.high, found.floor, found.z, found.p]).all()
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
        assert found.value > 0 and np.isnan(found.low) and np.isnan(found.p)


def test_constant_states_are_found_under_rounding():
    constant = np.tile(np.random.default_rng(0).normal(size=9) * 1e3, (50, 1))  # 0.1 + 0.1 + ... is no multiple of 0.1
    _, y = related(50, 4)
    assert np.isnan(cka(constant, y, "linear")) and np.isnan(cka(constant, y, "rbf"))


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
        with pytest.raises(DataError, match=message) as refused:
            call()
        assert "\n" not in str(refused.value)


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
            for field in ("value", "low", "high", "floor", "z", "p"):  # the other languages change nothing
                assert getattr(alone, field)[0, 0] == pytest.approx(getattr(one, field)[row, layer], rel=1e-9)
    np.testing.assert_array_equal(reference[0], before[0])
    again = compare(reference, others, draws=10, threads=3)
    assert all((getattr(again[name], field) == getattr(found[name], field)).all() for name in found for field in ("value", "z"))


def test_half_precision_states_are_computed_in_double():
    x, y = (side.astype(np.float16) for side in related())
    x += np.float16(1000)  # squares overflow in half precision
    for name in DEFINITIONS:
        assert cka(x, y, name) == cka(x.astype(np.float64), y.astype(np.float64), name)


# Shuffled pairings.


@pytest.mark.parametrize("name", DEFINITIONS)
def test_floor_z_and_p_are_those_of_values_from_shuffled_states(name):
    """Of all orders of the sentences that every window has: six, or five of the 32 of which windows of eight are taken."""
    n, shared = (32, slice(3, 8)) if DEFINITIONS[name].quarters else (6, slice(0, 6))
    x, y = related(n, noise=3.0)
    shuffled = []
    for order in itertools.permutations(range(n)[shared]):
        moved = x.copy()
        moved[shared] = x[list(order)]
        shuffled.append(cka(moved, y, name))
    mean, deviation, value = np.mean(shuffled), np.std(shuffled), cka(x, y, name)
    draws = 10_000
    found = compare([x], {"xx": [y]}, [name], draws=draws, seed=3)[name]
    assert found.floor.item() == pytest.approx(mean, abs=4 * deviation / np.sqrt(draws))
    assert found.z.item() == pytest.approx((value - mean) / deviation, abs=0.1)
    assert found.p.item() == pytest.approx(np.mean(np.array(shuffled) >= value - 1e-12), abs=4 * np.sqrt(0.25 / draws))
    repeated = compare([x], {"xx": [y]}, [name], draws=50, seed=3)[name]
    other = compare([x], {"xx": [y]}, [name], draws=50, seed=4)[name]
    assert compare([x], {"xx": [y]}, [name], draws=50, seed=3)[name].floor == repeated.floor != other.floor


def test_the_floor_is_what_theory_says():
    """Over all pairings, trace(KHLH) is on average trace(HK) trace(HL) / (n - 1), and the unbiased estimate 0."""
    x, y = related(30, 20)
    found = compare([x], {"xx": [y]}, ["linear", "debiased"], draws=4000)
    k, l = (np.cov(side.T) * 29 for side in (x, y))  # noqa: E741
    expected = np.trace(k) * np.trace(l) / 29 / (np.linalg.norm(k) * np.linalg.norm(l))
    assert found["linear"].floor.item() == pytest.approx(expected, abs=0.002)
    assert found["debiased"].floor.item() == pytest.approx(0, abs=0.005)
    assert found["linear"].floor > 0.4


@pytest.mark.parametrize("name", ["as_printed", "debiased", "released_kernel"])
def test_p_is_uniform_for_independent_states_and_small_for_related_ones(name):
    pairs = [independent(24, 6, seed) for seed in range(300)]
    found = [compare([x], {"xx": [y]}, [name], draws=39)[name].p.item() for x, y in pairs]
    for level in (0.05, 0.25, 0.5, 0.75):
        error = np.sqrt(level * (1 - level) / len(found))
        assert abs(np.mean(np.array(found) <= level) - level) < 4 * error
    x, y = (side - side.mean(0) for side in related(60))  # with its means, as_printed hardly notices: p = 0.2
    one = compare([x], {"xx": [y]}, [name], draws=199)[name]
    assert one.p == 1 / 200 and one.z > 3 and one.value > one.floor


def test_equal_values_count_as_ties():
    """Two kinds of sentences: many orders change nothing, and each of them counts against the pairing."""
    x = np.repeat([[0.1, 0.7], [0.3, 0.2]], [3, 3], axis=0)
    found = compare([x], {"xx": [3 * x]}, ["linear"], draws=2000)["linear"]
    assert found.value == pytest.approx(1)
    assert found.p == pytest.approx(2 * 6 * 6 / 720, abs=0.02)


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


@pytest.mark.parametrize(("name", "size"), [("debiased", 1), ("debiased", 4), ("released_kernel", 1)])
def test_intervals_are_the_jackknifes(name, size):
    """With equal blocks: (G - 1) / G times the sum of squares around the mean; t with G - 1 degrees of freedom."""
    x, y = related(80)
    labels = np.arange(80) // size
    found = compare([x], {"xx": [y]}, [name], draws=0, blocks=labels)[name]
    if name == "debiased":
        left = np.array([cka(x[labels != block], y[labels != block]) for block in range(80 // size)])
    else:
        left = np.array([released(x, y, [sentence]) for sentence in range(23)])
    error = np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())
    half = t.ppf(0.975, len(left) - 1) * error
    assert found.low.item() == pytest.approx(found.value.item() - half, abs=1e-9)
    assert found.high.item() == pytest.approx(found.value.item() + half, abs=1e-9)


def test_blocks_are_runs_of_equal_names():
    x, y = related(40)
    numbers, names = np.arange(40) // 5, np.array([f"n{i // 5 * 37 % 11}" for i in range(40)])
    one, other = (compare([x], {"xx": [y]}, ["debiased"], draws=0, blocks=blocks)["debiased"] for blocks in (numbers, names))
    single = compare([x], {"xx": [y]}, ["debiased"], draws=0)["debiased"]
    assert one.low == other.low != single.low


def test_intervals_cover_the_true_value():
    """Gaussian states, the second side two of four columns with noise: the true value is known."""
    generator = np.random.default_rng(0)
    truth = 2 / np.sqrt(4 * 2 * 1.5**2)
    covered = []
    for _ in range(250):
        x = generator.normal(size=(60, 4))
        y = x[:, :2] + np.sqrt(0.5) * generator.normal(size=(60, 2))
        found = compare([x], {"xx": [y]}, ["debiased"], draws=0)["debiased"]
        covered.append(found.low.item() <= truth <= found.high.item())
    assert 0.90 <= np.mean(covered) <= 0.99


def test_blocks_widen_intervals_of_dependent_sentences():
    """Each sentence five times over tells no more than once, which blocks of five know."""
    x, y = related(30)
    five = [side.repeat(5, axis=0) for side in (x, y)]
    (once, naive, honest) = (
        compare([a], {"xx": [b]}, ["linear"], draws=0, blocks=blocks)["linear"]
        for a, b, blocks in ((x, y, None), (*five, None), (*five, np.arange(150) // 5))
    )
    assert honest.value == pytest.approx(once.value)
    assert honest.high - honest.low == pytest.approx(once.high - once.low)
    assert naive.high - naive.low < 0.6 * (honest.high - honest.low)
