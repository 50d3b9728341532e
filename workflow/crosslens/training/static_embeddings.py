"""Static embeddings of subwords, trained jointly on the texts of all languages."""

from logging import Logger
from typing import Any

import numpy as np

from crosslens.config.static_embeddings import GloVe, Word2Vec
from crosslens.encoding.encoders.load import default_device
from crosslens.encoding.texts import Texts
from crosslens.training import cooccurrence, glove
from crosslens.training.checkpoint import CheckpointFile


def train(
    settings: GloVe | Word2Vec,
    texts: Texts,
    vocabulary: int,
    size: int,
    *,
    seed: int,
    log: Logger,
    checkpoint_file: CheckpointFile | None = None,
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return vectors, (vocabulary, size) float32, and a row of the history for each epoch.

    Subwords that the texts lack have zeros. checkpoint_file: file from which a stopped training run continues; None: no
    checkpoints. Raises DataError if the texts are too short to learn from.
    """
    if isinstance(settings, Word2Vec):
        from crosslens.training import word2vec  # importing gensim takes a second, so import it only if needed

        log.info("device: the processor, on which gensim trains")
        return word2vec.train(settings, texts, vocabulary, size, seed=seed, log=log, checkpoint_file=checkpoint_file)
    pairs = cooccurrence.count(texts, vocabulary, settings.window, log)
    return glove.train(
        settings, pairs, vocabulary, size, seed=seed, device=default_device(), log=log, checkpoint_file=checkpoint_file
    )
