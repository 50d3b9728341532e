"""Probes, clusters and projections of planted states against scikit-learn."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import write_states
from crosslens.encoding.stored_states import States
from crosslens.jobs.checksums import write_checksums
from crosslens.measures import clusters, projection
from crosslens.measures.probes import probe_records
from crosslens.measures.shared.subject import Subject
from crosslens.measures.spelling import spelling_probe
from crosslens.numerics import logistic
from crosslens.numerics.definitions import AMI, PROBE_RANDOM, V_CHANCE, V_MEASURE
from crosslens.numerics.probe import logistic_probe
from crosslens.papers.tanti2021.config import Tsne
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score


def states(seed, corpus, classes=("NOUN", "VERB")):
    """Three languages around centres of their own, in sentences of five words."""
    generator = np.random.default_rng(seed)
    n = 300
    languages = np.repeat(["de", "en", "zh"], n // 3)
    centres = np.random.default_rng(9).normal(size=(3, 8))
    vectors = centres[np.repeat(np.arange(3), n // 3)] + 0.2 * generator.normal(size=(n, 8))
    letters = {"de": "äöü", "en": "thw", "zh": "猫狗好"}
    words = np.array(["".join(generator.choice(list(letters[language]), 3)) for language in languages])
    labels = generator.choice(classes, n) if corpus == "target" else np.full(n, "")
    splits = np.full(n, "test") if corpus == "target" else generator.choice(["train", "test"], n)
    texts = np.array([f"{language}-{i // 5}" for i, language in enumerate(languages)])
    sample = generator.random(n) < 0.3
    return States(texts, words, labels, languages, splits, sample, np.ones(n, bool), vectors.astype(np.float32))


def stored(folder, **corpora):
    """States on disk, as kinds of measures read them."""
    for corpus, of in corpora.items():
        for language in np.unique(of.languages):
            part = of.take(of.languages == language)
            columns = {
                "word": part.words,
                "label": part.labels,
                "split": part.splits,
                "sample": part.sample,
                "random": part.random,
            }
            ids = [text.split("/")[-1] for text in part.texts]
            write_states(folder / corpus / f"{language}.parquet", {"layer_2": part.vectors}, ids, **columns)
        write_checksums(folder / corpus)
    return Subject(folder, 0, {})


def test_probes_find_planted_languages_and_their_control_does_not(monkeypatch):
    target, wiki = states(0, "target"), states(1, "wiki")
    probe = partial(logistic_probe, penalties=[0.1, 1.0], tolerance=1e-6, seed=0)
    rows = pd.DataFrame(record for _, record in probe_records(target, wiki, probe, 0.4, 0))
    assert len(rows) == 5
    assert rows["converged"].all() and (rows["gradient"] <= 1e-6).all() and set(rows["penalty"]) <= {0.1, 1.0}
    monkeypatch.setattr(logistic, "ITERATIONS", 20)
    never = partial(logistic_probe, penalties=[1.0], tolerance=1e-300, seed=0)
    assert not any(record["converged"] for _, record in probe_records(target, wiki, never, 0.4, 0))
    control = rows["definition"] == PROBE_RANDOM
    assert (rows[~control]["value"] > 0.95).all()
    assert (rows[control]["value"] < 0.75).all()
    assert (rows["n"] < 300).all()
    assert (spelling_probe(wiki.words.tolist(), wiki.languages, target.words.tolist()) == target.languages).all()


def v_measures(given, **settings):
    rows = pd.DataFrame(clusters.measure(given, corpora=["target", "wiki"], **settings))
    of = rows[rows["definition"] == V_MEASURE].set_index(["item", "corpus"])["value"]
    assert len(rows) == 9 and list(of.index) == [("labels", "target"), ("language", "target"), ("language", "wiki")]
    return of


@pytest.mark.parametrize("language_clusters", [None, 33])
def test_v_measures_are_the_mean_of_ten_random_starts(tmp_path, language_clusters):
    """As the authors' code computes them: fine_tune_tag/evaluate.py."""
    target, wiki = states(0, "target"), states(1, "wiki")
    of = v_measures(stored(tmp_path, target=target, wiki=wiki), runs=10, language_clusters=language_clusters)
    for place, states_, truth, k in (
        (("labels", "target"), target, "labels", 2),
        (("language", "target"), target, "languages", language_clusters or 3),
        (("language", "wiki"), wiki, "languages", language_clusters or 3),
    ):
        sample = states_.take(states_.sample)
        means = partial(KMeans, k, n_init=1, max_iter=100, init="random", algorithm="lloyd")
        found = [
            v_measure_score(getattr(sample, truth), means(random_state=seed).fit_predict(sample.vectors)) for seed in range(1, 11)
        ]
        assert of[place] == pytest.approx(np.mean(found), abs=1e-12)


def labelled(everywhere):
    """Words of three languages, whose states show their labels in English alone or in all languages."""
    of, generator = states(0, "target"), np.random.default_rng(3)
    showing = everywhere | (of.languages == "en")
    centres = np.where(of.labels == "NOUN", 10.0, -10.0)
    random = generator.choice([-10.0, 10.0], len(of.labels))
    vectors = of.vectors.copy()
    vectors[:, 0] += np.where(showing, centres, random)
    return replace(of, vectors=vectors)


@pytest.mark.parametrize("everywhere", [False, True])
def test_labels_that_only_the_language_of_training_has_show_there_alone(tmp_path, everywhere):
    """The clusters are those of all points; agreement is that of the points of either side, against scikit-learn."""
    target = labelled(everywhere)
    given = stored(tmp_path, target=target)
    rows = pd.DataFrame(clusters.measure(given, corpora=["target"], runs=3, source_language="en"))
    same = pd.DataFrame(clusters.measure(given, corpora=["target"], runs=3))
    assert rows[~rows["definition"].str.contains(";")].reset_index(drop=True).equals(same)  # no number moves
    assert len(rows) == len(same) + 6 and set(rows[rows["definition"].str.contains(";")]["item"]) == {"labels"}
    of = rows[rows["item"] == "labels"].set_index("definition")
    sample = target.take(target.sample)
    found = [KMeans(2, n_init=1, max_iter=100, init="random", random_state=i).fit_predict(sample.vectors) for i in (1, 2, 3)]
    for group, chosen in ((clusters.TRAINING, sample.languages == "en"), (clusters.OTHERS, sample.languages != "en")):
        for definition, score in ((V_MEASURE, v_measure_score), (AMI, adjusted_mutual_info_score)):
            expected = np.mean([score(sample.labels[chosen], labels[chosen]) for labels in found])
            assert of["value"][f"{definition}; {group}"] == pytest.approx(expected, abs=1e-12)
        assert of["n"][f"{AMI}; {group}"] == chosen.sum()
        assert of["value"][f"{V_CHANCE}; {group}"] < 0.2
    assert of["value"][f"{AMI}; {clusters.TRAINING}"] > 0.8
    assert (of["value"][f"{AMI}; {clusters.OTHERS}"] > 0.8) == everywhere
    assert everywhere or abs(of["value"][f"{AMI}; {clusters.OTHERS}"]) < 0.1


def test_a_group_without_points_is_left_out(tmp_path):
    rows = pd.DataFrame(
        clusters.measure(stored(tmp_path, target=states(0, "target")), corpora=["target"], runs=2, source_language="fi")
    )
    assert not rows["definition"].str.contains(clusters.TRAINING).any() and rows["definition"].str.contains(clusters.OTHERS).any()


def test_points_of_figures_are_scikit_learns_tsne_of_the_sample(tmp_path):
    target, wiki = states(0, "target"), states(1, "wiki")
    settings = Tsne(iterations=250, perplexity=20, seed=4).model_dump()
    given = stored(tmp_path, target=target, wiki=wiki)
    points = pd.DataFrame(projection.measure(given, corpora=["target", "wiki"], tsne=settings))
    for name, of in (("target", target), ("wiki", wiki)):
        here, sample = points[points["corpus"] == name], of.take(of.sample)
        start = PCA(2, svd_solver="randomized", random_state=4).fit_transform(sample.vectors).astype(np.float32)
        expected = TSNE(2, perplexity=20, learning_rate=200, max_iter=250, init=start, random_state=4)
        assert np.array_equal(here[["x", "y"]].to_numpy(np.float32), expected.fit_transform(sample.vectors))
        assert here["language"].tolist() == sample.languages.tolist()
        assert here["label"].tolist() == sample.labels.tolist()


def test_defaults_of_tsne_are_those_that_the_authors_code_ran_with():
    assert Tsne().model_dump() == {"perplexity": 30, "learning_rate": 200, "iterations": 1000, "seed": 0}


def test_points_without_a_label_are_in_no_sample_of_a_corpus_with_labels():
    target, wiki = states(0, "target", ("NOUN", "")), states(1, "wiki")
    assert set(target.sampled().labels) == {"NOUN"}
    assert len(target.sampled().labels) == ((target.labels == "NOUN") & target.sample).sum() > 0
    assert len(wiki.sampled().labels) == wiki.sample.sum()
