"""Agreement of k-means clusters of hidden states with labels or languages."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from crosslens.encoding.stored import States, read
from crosslens.measures.subject import Subject
from crosslens.numerics.definitions import AMI, V_CHANCE, V_MEASURE
from crosslens.numerics.intervals import mean_interval

READS = ("states",)


def measure(
    subject: Subject, *, corpora: Sequence[str], runs: int, language_clusters: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield how well clusters of each corpus's sample agree with its labels, if it has any, and its languages.

    Intervals are over runs. language_clusters: number of clusters that are compared with languages; None: number of languages.
    The number of clusters that are compared with labels is the number of labels.
    """
    for corpus in corpora:
        yield from (
            record | {"corpus": corpus} for record in cluster_records(read(subject.folder / corpus), runs, language_clusters)
        )


def cluster_records(states: States, runs: int, language_clusters: int | None) -> Iterator[dict[str, Any]]:
    """Yield the records of one corpus, from its states; arguments as for `measure`."""
    sample = states.sampled()
    truths = {"labels": sample.labels, "language": sample.languages}
    for item, truth in truths.items():
        classes = len(np.unique(truth))
        if item == "labels" and not sample.has_labels():
            continue
        clusters = language_clusters or classes if item == "language" else classes
        for definition, values in kmeans_agreement(sample.vectors, truth, clusters, runs).items():
            value, low, high = mean_interval(values)
            yield {"item": item, "language": "all", "split": "test", "measure": "clusters", "definition": definition,
                   "value": value, "low": low, "high": high, "n": len(truth)}  # fmt: skip


def kmeans_agreement(vectors: np.ndarray, truth: np.ndarray, clusters: int, runs: int) -> dict[str, np.ndarray]:
    """Return the agreement of `runs` k-means clusterings with the truth by definition, (runs,) fractions each.

    V_MEASURE is computed as in tanti2021's code (random starts, one a run, 100 iterations, Lloyd, seeds 1 .. runs), AMI is
    corrected for chance, and V_CHANCE is the V-measure against shuffled truth, the chance level of V_MEASURE.
    vectors: (n, d); truth: (n,) classes; clusters: number of clusters.
    """
    agreement: dict[str, list[float]] = {V_MEASURE: [], AMI: [], V_CHANCE: []}
    generator = np.random.default_rng(0)
    clusters = min(clusters, len(vectors))
    for seed in range(1, runs + 1):
        means = KMeans(clusters, init="random", n_init=1, max_iter=100, algorithm="lloyd", random_state=seed)
        assigned = means.fit_predict(vectors)
        agreement[V_MEASURE].append(float(v_measure_score(truth, assigned)))
        agreement[AMI].append(float(adjusted_mutual_info_score(truth, assigned)))
        agreement[V_CHANCE].append(float(v_measure_score(generator.permutation(truth), assigned)))
    return {name: np.array(values) for name, values in agreement.items()}
