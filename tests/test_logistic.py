"""Logistic regressions solved together, against scikit-learn's, one at a time."""

import numpy as np
import pytest
import torch
from crosslens.jobs.errors import DataError
from crosslens.measures.language_identification import language_pairs, one_against_rest
from crosslens.numerics import logistic
from crosslens.numerics.logistic import LEFT_OUT, fit
from crosslens.numerics.windows import band, contiguous, first, following, scattered
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier


def planted(groups=3, n=150, d=9, k=3, targets=2, noise=2.0, seed=0):
    """Correlated states of unlike scales (G, n, d), and classes (G, T, n) that they tell in part."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(0, k, (groups, targets, n))
    centres = generator.normal(size=(groups, targets, k, d))
    states = noise * generator.normal(size=(groups, n, d)) @ generator.normal(size=(d, d)) / np.sqrt(d) + 1
    for target in range(targets):
        states += np.take_along_axis(centres[:, target], classes[:, target, :, None], 1)
    return states * np.geomspace(0.2, 5, d), classes


def theirs(states, classes, penalty, tolerance=1e-10):
    return LogisticRegression(C=penalty, solver="newton-cholesky", max_iter=1000, tol=tolerance).fit(states, classes)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_coefficients_are_scikit_learns(k):
    states, classes = planted(k=k)
    columns = [np.arange(9), np.array([1, 4, 6]), np.array([8])]
    together = fit(states, classes, columns, penalties=[0.3, 20.0], tolerance=1e-9)
    assert (together.gradients <= 1e-9).all() and together.gradients.shape == (3, 3, 2)
    for g, v, t in np.ndindex(3, 3, 2):
        alone = theirs(states[g][:, columns[v]], classes[g, t], (0.3, 20.0)[t])
        weights, intercepts = together.weights[g, v, t].numpy(), together.intercepts[g, v, t].numpy()
        np.testing.assert_allclose(weights[:, columns[v]], alone.coef_, atol=1e-5)
        np.testing.assert_allclose(intercepts - intercepts.mean() * (k > 2), alone.intercept_, atol=1e-5)
        assert (np.delete(weights, columns[v], axis=1) == 0).all()
        assert np.array_equal(together.predict(states)[g, v, t], alone.predict(states[g][:, columns[v]]))


@pytest.mark.parametrize("k", [2, 4])
def test_the_gradient_is_that_of_the_objective(k, monkeypatch):
    """By autograd, of fits that were stopped early."""
    states, classes = planted(k=k, groups=1, targets=1)
    monkeypatch.setattr(logistic, "ITERATIONS", 2)
    stopped = fit(states, classes, penalties=0.5, tolerance=1e-12)
    weights = stopped.weights[0, 0, 0].clone().requires_grad_()
    bias = stopped.intercepts[0, 0, 0].clone().requires_grad_()
    logits = torch.tensor(states[0]) @ weights.T + bias
    logits = torch.cat([torch.zeros_like(logits), logits], 1) if k == 2 else logits
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(classes[0, 0])) + (weights**2).sum() / (2 * 0.5 * 150)
    expected = max(float(part.abs().max()) for part in torch.autograd.grad(loss, (weights, bias)))
    assert stopped.gradients[0, 0, 0] == pytest.approx(expected, rel=1e-8)
    assert expected > 1e-6


def test_items_left_out_and_classes_that_a_target_lacks_change_nothing():
    """A target of two of four classes, on some of the items, is the binary regression of scikit-learn on these."""
    states, classes = planted(groups=2, k=4, targets=3, n=240)
    classes[:, 1] = np.where(classes[:, 1] < 2, classes[:, 1], LEFT_OUT)
    classes[:, 2] = np.where(classes[:, 2] == 1, LEFT_OUT, classes[:, 2])
    together = fit(states, classes, penalties=2.0, tolerance=1e-10)
    for g, t in np.ndindex(2, 3):
        used = classes[g, t] != LEFT_OUT
        alone = theirs(states[g, used], classes[g, t, used], 2.0)
        assert np.array_equal(together.predict(states)[g, 0, t], alone.predict(states[g]))
        weights = together.weights[g, 0, t].numpy()
        expected = alone.coef_ if t != 1 else np.array([-0.5, 0.5])[:, None] * alone.coef_
        np.testing.assert_allclose(weights[alone.classes_], expected, atol=1e-5)


def test_batches_do_not_change_results(monkeypatch):
    states, classes = planted(groups=4, k=2, targets=3)
    columns = [first(x) for x in (1, 3, 5, 9)] + [np.array([2, 7])]
    expected = fit(states, classes, columns, penalties=1.0, tolerance=1e-10)
    monkeypatch.setattr(logistic, "LOGITS", 500)
    monkeypatch.setattr(logistic, "VECTORS", 4)
    monkeypatch.setattr(logistic, "PRODUCT", 0)
    apart = fit(states, classes, columns, penalties=1.0, tolerance=1e-10)
    np.testing.assert_allclose(apart.weights.numpy(), expected.weights.numpy(), atol=1e-6)
    again = fit(states, classes, columns, penalties=1.0, tolerance=1e-10)
    assert torch.equal(again.weights, apart.weights) and np.array_equal(again.gradients, apart.gradients)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", ["separable", "collinear", "scales", "far from the origin"])
def test_hard_problems_converge(case, dtype):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 20))
    y = (x[:, 0] + 0.1 * generator.normal(size=400) > 0).astype(int)
    states = {
        "separable": x + 20 * y[:, None],
        "collinear": np.hstack([x, x[:, :10] - x[:, 10:]]),
        "scales": x * np.geomspace(0.03, 30, 20),
        "far from the origin": x + 30,
    }[case]
    fitted = fit(states[None].astype(dtype), y[None, None], penalties=1.0, tolerance=1e-4)
    assert (fitted.gradients <= 1e-4).all()
    assert (fitted.predict(states[None])[0, 0, 0] == theirs(states, y, 1.0).predict(states)).mean() > 0.99


def test_bad_input_is_one_readable_error():
    states, classes = planted()
    with pytest.raises(DataError, match="expected states .* found"):
        fit(states, classes[:, :, 1:], penalties=1.0, tolerance=1e-4)
    with pytest.raises(DataError, match="group 1, target 0 has one"):
        fit(states, np.where(np.arange(3)[:, None, None] == 1, 0, classes), penalties=1.0, tolerance=1e-4)
    with pytest.raises(DataError, match="expected finite states"):
        fit(np.where(states > 3, np.nan, states), classes, penalties=1.0, tolerance=1e-4)


# Language identification.


def languages(sizes, d=12, seed=0):
    """Coordinates of languages that differ in the first two."""
    generator = np.random.default_rng(5)
    means = np.pad(3 * generator.normal(size=(len(sizes), 2)), ((0, 0), (0, d - 2)))
    generator = np.random.default_rng(seed)
    return {name: (mean + generator.normal(size=(size, d))).astype(np.float32)
            for (name, size), mean in zip(sizes.items(), means, strict=True)}  # fmt: skip


WINDOWS = [first(1), first(2), first(8), following(4, 12), band(12, 3)]


def test_pairs_of_languages_are_single_probes(monkeypatch):
    train, test = languages({"aa": 300, "bb": 220, "cc": 260}), languages({"aa": 500, "bb": 400, "cc": 450}, seed=1)
    pairs = [("aa", "bb"), ("cc", "aa")]
    result = language_pairs(train, test, pairs, WINDOWS, tolerance=1e-6)
    assert result.convergence()["converged"] and result.values.shape == (2, 5)
    for i, j in np.ndindex(2, 5):
        (a, b), window = pairs[i], WINDOWS[j]
        labels = [np.repeat([0, 1], [len(part[a]), len(part[b])]) for part in (train, test)]
        probe = theirs(np.concatenate([train[a], train[b]])[:, window].astype(float), labels[0], 1.0)
        expected = probe.score(np.concatenate([test[a], test[b]])[:, window], labels[1])
        assert result.values[i, j] == pytest.approx(expected, abs=0.003)
    assert result.values[:, 1].min() > 0.9  # where they differ
    assert np.abs(result.values[:, 3:] - np.array([[400 / 900], [500 / 950]])).max() < 0.15  # where they do not
    monkeypatch.setattr("crosslens.measures.language_identification.AT_ONCE", 1)
    assert np.allclose(language_pairs(train, test, pairs, WINDOWS, tolerance=1e-6).values, result.values, atol=0.002)


def test_one_against_the_rest_is_scikit_learns():
    train, test = languages({"aa": 200, "bb": 150, "cc": 180}), languages({"aa": 300, "bb": 250, "cc": 350}, seed=1)
    accuracy, probes = one_against_rest(train, test, WINDOWS, tolerance=1e-6)
    assert probes.values.shape == probes.gradients.shape == (3, 5)
    truth = [np.repeat(np.arange(3), [len(part[name]) for name in part]) for part in (train, test)]
    for j, window in enumerate(WINDOWS):
        model = OneVsRestClassifier(LogisticRegression(tol=1e-8, max_iter=1000))
        model.fit(np.concatenate([*train.values()])[:, window].astype(float), truth[0])
        states = np.concatenate([*test.values()])[:, window].astype(float)
        assert accuracy[j] == pytest.approx(model.score(states, truth[1]), abs=0.003)
        for number, one in enumerate(model.estimators_):
            expected = (one.predict(states) == (truth[1] == number)).mean()
            assert probes.values[number, j] == pytest.approx(expected, abs=0.003)


def test_windows():
    assert first(3).tolist() == [0, 1, 2]
    assert following(3, 10).tolist() == [3, 4, 5] and following(6, 10).tolist() == [6, 7, 8, 9]
    assert band(20, 10).tolist() == list(range(10, 20))
    generator = np.random.default_rng(0)
    runs = [contiguous(4, 12, 2, 12, generator) for _ in range(200)]
    assert {int(run[0]) for run in runs} == set(range(2, 12)) and {len(run) for run in runs} == {1, 2, 3, 4}
    draws = [scattered(5, 12, generator) for _ in range(200)]
    assert all(len(np.unique(draw)) == 5 and (np.diff(draw) > 0).all() for draw in draws)
    assert set(np.concatenate(draws).tolist()) == set(range(12))
