"""How well k-means clusters of hidden states agree with labels or languages."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score


def kmeans_agreement(vectors: np.ndarray, truth: np.ndarray, clusters: int, runs: int) -> dict[str, np.ndarray]:
    """Agreement of `runs` k-means clusterings with the truth: name -> (runs,) fractions.

    v_measure: as tanti2021's code computes it (random starts, one a run, 100 iterations, Lloyd, seeds 1 .. runs).
    adjusted_mutual_information: corrected for chance. v_measure_permuted: against shuffled truth, the chance level of V.
    """
    found: dict[str, list[float]] = {"v_measure": [], "adjusted_mutual_information": [], "v_measure_permuted": []}
    generator = np.random.default_rng(0)
    clusters = min(clusters, len(vectors))
    for seed in range(1, runs + 1):
        means = KMeans(clusters, init="random", n_init=1, max_iter=100, algorithm="lloyd", random_state=seed)
        assigned = means.fit_predict(vectors)
        found["v_measure"].append(float(v_measure_score(truth, assigned)))
        found["adjusted_mutual_information"].append(float(adjusted_mutual_info_score(truth, assigned)))
        found["v_measure_permuted"].append(float(v_measure_score(generator.permutation(truth), assigned)))
    return {name: np.array(values) for name, values in found.items()}
