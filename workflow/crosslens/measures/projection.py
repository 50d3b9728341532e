"""t-SNE of hidden states."""

import numpy as np
from sklearn.manifold import TSNE


def tsne(vectors: np.ndarray, *, perplexity: float, learning_rate: float, iterations: int, seed: int) -> np.ndarray:
    """Two coordinates of each point, (n, 2).

    Settings are stated because scikit-learn's defaults have changed since 0.23, which tanti2021 used (init pca there too).
    A perplexity that needs more points than there are is lowered to (n - 1) / 3.
    """
    perplexity = min(perplexity, (len(vectors) - 1) / 3)
    found: np.ndarray = TSNE(
        2, perplexity=perplexity, learning_rate=learning_rate, max_iter=iterations, init="pca", random_state=seed
    ).fit_transform(vectors)
    return found
