"""tanti2021: V-measure of hidden states (table 3, captions of figures 3 to 6)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from crosslens.config.tanti2021 import Clustering
from crosslens.measures.clusters import kmeans_agreement
from crosslens.measures.intervals import mean_interval
from crosslens.papers.tanti2021.items import AMI, V_CHANCE, V_PAPER
from crosslens.papers.tanti2021.views import panels
from crosslens.states.files import States


def cluster_records(target: States, wiki: States, settings: Clustering) -> Iterator[dict[str, Any]]:
    """V-measure of k-means on the appendix's samples, by label and by language."""
    for item, states, truth in panels(target, wiki):
        kinds = len(np.unique(truth))
        clusters = kinds if item == "labels" else settings.language_clusters or kinds
        for name, values in kmeans_agreement(states.vectors, truth, clusters, settings.runs).items():
            definition = {"v_measure": V_PAPER, "v_measure_permuted": V_CHANCE, "adjusted_mutual_information": AMI}[name]
            value, low, high = mean_interval(values)
            yield {"item": item, "language": "all", "split": "test", "measure": "clusters", "definition": definition,
                   "value": value, "low": low, "high": high, "n": len(truth)}  # fmt: skip
