"""Agreement of k-means clusters of hidden states with labels or languages."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from crosslens.encoding.stored_states import States, read
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import AMI, V_CHANCE, V_MEASURE
from crosslens.numerics.intervals import mean_interval

TRAINING, OTHERS = "language of training", "other languages"  # groups of points


def measure(
    subject: Subject, *, corpora: Sequence[str], runs: int, language_clusters: int | None = None,
    source_language: str | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how well clusters of each corpus's sample agree with its labels, if it has any, and with its languages.

    Intervals are over k-means runs. Clusters that are compared with labels are as many as there are labels.

    runs: number of k-means runs. language_clusters: number of clusters that are compared with languages; None: the number of
    languages. source_language: language of the training data; agreement with labels is then also computed for its points and
    for all others, with the same clusters.
    """
    for corpus in corpora:
        states = read(subject.folder / corpus)
        yield from (record | {"corpus": corpus} for record in cluster_records(states, runs, language_clusters, source_language))


def cluster_records(
    states: States, runs: int, language_clusters: int | None, source_language: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the records of one corpus, from its states; arguments as for `measure`."""
    sample = states.sampled()
    truths = {"labels": sample.labels, "language": sample.languages}
    for item, truth in truths.items():
        classes = len(np.unique(truth))
        if item == "labels" and not sample.has_labels():
            continue
        clusters = language_clusters or classes if item == "language" else classes
        assigned, groups = kmeans(sample.vectors, clusters, runs), {"": np.ones(len(truth), bool)}
        if item == "labels" and source_language:
            groups |= {TRAINING: sample.languages == source_language, OTHERS: sample.languages != source_language}
        for group, chosen in groups.items():
            for definition, values in agreement(assigned[:, chosen], truth[chosen]).items() if chosen.any() else ():
                value, low, high = mean_interval(values)
                yield {"item": item, "language": "all", "split": "test", "measure": "clusters",
                       "definition": "; ".join(filter(None, (definition, group))),
                       "value": value, "low": low, "high": high, "n": int(chosen.sum())}  # fmt: skip


def kmeans(vectors: np.ndarray, clusters: int, runs: int) -> np.ndarray:
    """Return the cluster of each point in `runs` k-means clusterings, (runs, n).

    As in tanti2021's code: Lloyd's algorithm, 100 iterations, one random start per run, seeds 1 to `runs`.

    vectors: (n, d). clusters: number of clusters, lowered to n if there are fewer points.
    """
    settings = {"n_clusters": min(clusters, len(vectors)), "init": "random", "n_init": 1, "max_iter": 100, "algorithm": "lloyd"}
    return np.stack([KMeans(**settings, random_state=seed).fit_predict(vectors) for seed in range(1, runs + 1)])


def agreement(assigned: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Return definition -> agreement of each clustering with the true classes, (runs,), as a fraction.

    V_MEASURE is the score of tanti2021's code. AMI is corrected for chance. V_CHANCE, the chance level of V_MEASURE, is the
    V-measure against shuffled classes.

    assigned: (runs, n), cluster of each point. truth: (n,), class of each point.
    """
    generator = np.random.default_rng(0)
    values = {
        V_MEASURE: [v_measure_score(truth, clusters) for clusters in assigned],
        AMI: [adjusted_mutual_info_score(truth, clusters) for clusters in assigned],
        V_CHANCE: [v_measure_score(generator.permutation(truth), clusters) for clusters in assigned],
    }
    return {definition: np.array(of_runs, float) for definition, of_runs in values.items()}
