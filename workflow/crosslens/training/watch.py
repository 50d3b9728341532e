"""Accuracy of heads, and distances of states from an anchor's, on held-out texts while a model learns."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from crosslens.encoding.batches import Batch, for_each_batch, host_copy
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.training.anchor import Anchor
from crosslens.training.model import EncoderWithHeads


def accuracy(head: str, texts: Texts, predicted: Mapping[str, np.ndarray], learnt: str, when: str) -> dict[str, float]:
    """Return the share of labelled words that are classified correctly, and the number of words, by column of the history.

    predicted: kind of label -> (n_words,). learnt: kind of label that is scored. when: suffix of the column name.
    """
    gold = texts.labels[learnt]
    is_labelled = gold != IGNORED
    return {f"accuracy {head}{when}": float((gold == predicted[learnt])[is_labelled].mean()), f"n {head}": int(is_labelled.sum())}


def distances(model: EncoderWithHeads, anchor: Anchor, texts: Texts, labels: np.ndarray, when: str) -> dict[str, float]:
    """Return the mean distance of labelled words' states from the anchor's at each of its layers, and the number of words.

    The model runs in eval mode. labels: (n_words,), IGNORED if a word does not count, as in the penalty of a training run.
    when: suffix of the column names.
    """
    sums, is_labelled = torch.zeros(len(anchor.layers), dtype=torch.float64), labels != IGNORED

    def step(batch: Batch) -> Callable[[], None]:
        by_layer = host_copy(anchor.by_layer(model.states(batch, anchor.layers), batch).double())
        is_counted = torch.from_numpy(is_labelled[batch.words])

        def finish() -> None:
            sums.add_(by_layer[:, is_counted].sum(1))

        return finish

    model.eval()
    for_each_batch(texts, model.encoder, model.units.segments, step)
    count = int(is_labelled.sum())
    means = (sums / count).tolist()
    return {f"distance {layer}{when}": mean for layer, mean in zip(anchor.layers, means, strict=True)} | {"n distance": count}
