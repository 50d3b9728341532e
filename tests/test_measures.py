"""Clusters, probes, projections and the records that hold their values."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from crosslens.jobs import records
from crosslens.jobs.errors import DataError
from crosslens.measures.clusters import agreement, kmeans
from crosslens.measures.projection import project
from crosslens.numerics.definitions import V_MEASURE
from crosslens.numerics.logistic import fit
from crosslens.numerics.probe import Standardisation, logistic_probe, split_by_text
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler


def planted(n=240, d=12, k=4, noise=0.3, seed=0):
    """Points around k centres: vectors (n, d), classes (n,), sentence of each."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, k, n)
    vectors = np.random.default_rng(9).normal(size=(k, d))[truth] + noise * generator.normal(size=(n, d))
    return vectors.astype(np.float32), np.array(list("abcdefgh"))[truth], np.arange(n) // 6


# Clusters.


def test_fewer_points_than_clusters_are_no_error():
    found = agreement(kmeans(np.eye(3), clusters=33, runs=1), np.array(list("aab")))
    assert 0 < found[V_MEASURE][0] <= 1


# Probes.


@pytest.mark.parametrize("n", [1, 7, 240, 5000])
def test_standardisation_is_scikit_learns_bit_for_bit(n):
    generator = np.random.default_rng(n)
    states = (generator.normal(size=(n, 40)) * generator.choice([1e-9, 1.0, 300.0], 40) + generator.normal(size=40)).astype(
        np.float32
    )
    states[:, 3], states[:, 5] = 0.1, 0
    states = states.astype(np.float64)
    standardise, expected = Standardisation.of(states), StandardScaler().fit(states)
    assert np.array_equal(standardise.mean, expected.mean_) and np.array_equal(standardise.deviation, expected.scale_)
    assert np.array_equal(standardise(states), expected.transform(states))


def probe(train, truth, texts, tests, penalties, tolerance=1e-6):
    return logistic_probe(train, truth, texts, tests, penalties=penalties, tolerance=tolerance, seed=0)


@pytest.mark.parametrize("k", [2, 4])
def test_probe_is_logistic_regression_on_standardised_states(k):
    train, truth, texts = planted(noise=2.0, k=k)
    test, _, _ = planted(noise=2.0, k=k, seed=1)
    scaler = StandardScaler().fit(train.astype(np.float64))
    expected = LogisticRegression(C=0.1, max_iter=5000, tol=1e-9).fit(scaler.transform(train), truth)
    (fitted,) = probe(train, truth, texts, [test], [0.1], 1e-9)
    assert (fitted.predicted == expected.predict(scaler.transform(test))).all()
    assert fitted.penalty == 0.1 and fitted.converged


def test_a_probe_says_where_its_fit_ended(monkeypatch):
    """The gradient itself is checked in test_logistic."""
    train, truth, texts = planted(noise=2.0, k=4)
    states = StandardScaler().fit_transform(train.astype(np.float64))
    classes = np.unique(truth, return_inverse=True)[1]
    for iterations, low, high in ((1, 1e-3, 1), (1000, 0, 1e-8)):
        monkeypatch.setattr("crosslens.numerics.logistic.ITERATIONS", iterations)
        expected = fit(states[None], classes[None, None], penalties=0.5, tolerance=1e-8).gradients.item()
        (fitted,) = probe(train, truth, texts, [train], [0.5], 1e-8)
        assert fitted.gradient == expected and low <= expected <= high
        assert fitted.converged == (iterations == 1000)


def test_the_penalty_is_the_best_on_held_out_sentences():
    train, truth, texts = planted(noise=1.0, d=200)
    (fitted,) = probe(train, truth, texts, [train], [1e-6, 1e-3, 10.0])
    held_out = split_by_text(texts, 0.2, 0)
    scores = {}
    for penalty in (1e-6, 1e-3, 10.0):
        (part,) = probe(train[~held_out], truth[~held_out], texts[~held_out], [train[held_out]], [penalty])
        scores[penalty] = (part.predicted == truth[held_out]).mean()
    assert fitted.penalty == max(scores, key=scores.get)
    assert len(set(scores.values())) > 1


def test_split_by_text_keeps_sentences_together():
    texts = np.repeat([f"s{i}" for i in range(20)], np.arange(1, 21))
    held_out = split_by_text(texts, 0.25, seed=0)
    assert {*texts[held_out]}.isdisjoint(texts[~held_out])
    assert len({*texts[held_out]}) == 5
    assert np.array_equal(held_out, split_by_text(texts, 0.25, seed=0))
    assert not np.array_equal(held_out, split_by_text(texts, 0.25, seed=1))
    assert split_by_text(texts, 0.0001, seed=0).any()


# Projection.


def test_tsne_of_few_points_lowers_the_perplexity():
    vectors = np.random.default_rng(0).normal(size=(8, 5))
    assert project(vectors, perplexity=30, learning_rate=200, iterations=250, seed=0).shape == (8, 2)


# Records.


def test_records_fill_the_schema(tmp_path):
    rows = [{"item": "task", "value": 0.5, "n": 3}, {"item": "labels", "value": 1.0, "seed": 4}]
    records.write(rows, tmp_path / "a.parquet", {"paper": "p", "seed": 1})
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert list(table.columns) == records.RECORDS.names
    assert table["seed"].tolist() == [1, 4]  # a row's own value wins
    assert table["paper"].tolist() == ["p", "p"]
    assert pd.isna(table["layer"]).all()
    records.gather([tmp_path / "a.parquet"] * 2, tmp_path / "all.parquet")
    assert len(records.read([tmp_path / "all.parquet"])) == 4
    assert pq.read_schema(tmp_path / "all.parquet").equals(records.RECORDS)  # a column of nulls keeps its type


@pytest.mark.parametrize(("rows", "common"), [([{"item": "x", "colour": 1}], {}), ([{"item": "x"}], {"colour": 1})])
def test_records_refuse_unknown_columns(tmp_path, rows, common):
    said = r"a.parquet: expected columns paper, item, .+, weight, found colour in the rows of measures.mine; rename"
    with pytest.raises(DataError, match=said):
        records.write(rows, tmp_path / "a.parquet", common, module="measures.mine")
    assert list(tmp_path.iterdir()) == []
