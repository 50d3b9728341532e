"""Projection of hidden states to the plane by t-SNE."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from crosslens.encoding.stored_states import read
from crosslens.measures.shared.subject import Subject

SCHEMA = pa.schema([
    ("recipe", pa.string()), ("seed", pa.int64()), ("corpus", pa.string()), ("x", pa.float32()), ("y", pa.float32()),
    ("label", pa.string()), ("language", pa.string()),
])  # fmt: skip
"""Columns of the rows, one for each point, which this kind yields instead of records."""


def measure(subject: Subject, *, corpora: Sequence[str], tsne: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each point of each corpus's sample. tsne: settings of `project`."""
    for corpus in corpora:
        sample = read(subject.folder / corpus).sampled()
        points = project(sample.vectors, **tsne)
        for (x, y), label, language in zip(points.tolist(), sample.labels, sample.languages, strict=True):
            yield {"corpus": corpus, "x": x, "y": y, "label": label, "language": language}


def project(vectors: np.ndarray, *, perplexity: float, learning_rate: float, iterations: int, seed: int) -> np.ndarray:
    """Return the coordinates of each point by t-SNE, (n, 2).

    Settings are explicit because scikit-learn's defaults have changed since 0.23, which tanti2021 used. The optimisation starts
    from the first two principal components, unscaled; init="pca" now scales them down.

    vectors: (n, d). perplexity: lowered to (n - 1) / 3 if it is too large for n points.
    """
    perplexity = min(perplexity, (len(vectors) - 1) / 3)
    start = PCA(2, svd_solver="randomized", random_state=seed).fit_transform(vectors).astype(np.float32)
    coordinates: np.ndarray = TSNE(
        2, perplexity=perplexity, learning_rate=learning_rate, max_iter=iterations, init=start, random_state=seed
    ).fit_transform(vectors)
    return coordinates
