"""t-SNE of hidden states."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE


def tsne(vectors: np.ndarray, *, perplexity: float, learning_rate: float, iterations: int, seed: int) -> np.ndarray:
    """Two coordinates of each point, (n, 2).

    Settings are stated because scikit-learn's defaults have changed since 0.23, which tanti2021 used: the start is the two
    principal components as they are there, while init="pca" now scales them down. A perplexity that needs more points than
    there are is lowered to (n - 1) / 3.
    """
    perplexity = min(perplexity, (len(vectors) - 1) / 3)
    start = PCA(2, svd_solver="randomized", random_state=seed).fit_transform(vectors).astype(np.float32)
    found: np.ndarray = TSNE(
        2, perplexity=perplexity, learning_rate=learning_rate, max_iter=iterations, init=start, random_state=seed
    ).fit_transform(vectors)
    return found
