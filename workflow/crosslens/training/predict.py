"""Hidden states and predictions of whole sets of texts, in length-sorted batches."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from crosslens.config.heads import ARC, TAG, WORD
from crosslens.encoding.batches import Batch, Padding, device_copy, device_of, for_each_batch, host_copy, sorted_batches
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.f1 import accuracy, chunk_counts, macro_f1, micro_f1, overall, token_counts
from crosslens.training.heads.head import Head
from crosslens.training.model import EncoderWithHeads, Layer

ROWS = 65536  # words that a head reads at once


def hidden_states(model: EncoderWithHeads, texts: Texts, layers: Sequence[Layer] = (None,)) -> list[torch.Tensor]:
    """Return the states of all labelled words at layers, in the order of the texts, (n_words, width) float32 on the CPU each."""
    states = [torch.empty(int(texts.word_offsets[-1]), model.width(layer)) for layer in layers]

    def step(batch: Batch) -> Callable[[], None]:
        copies = [host_copy(batch_states.float()) for batch_states in model.hidden_states(batch, layers)]

        def finish() -> None:
            for copy, all_states in zip(copies, states, strict=True):
                all_states[torch.from_numpy(batch.words)] = copy

        return finish

    model.eval()
    for_each_batch(texts, model.encoder, model.units.segments, step)
    return states


def predict_from(states: torch.Tensor, texts: Texts, head: Head) -> dict[str, np.ndarray]:
    """Return a head's predictions from the states (n_words, d) of all labelled words, kind of label -> (n_words,).

    head: must be in eval mode.
    """
    device, sizes = device_of(head), np.diff(texts.word_offsets)
    predictions: dict[str, np.ndarray] = {}
    with torch.inference_mode():
        for chosen in sorted_batches(np.maximum(sizes, 1), ROWS):
            words = texts.word_rows(chosen)
            part = states[torch.from_numpy(words)].to(device)
            _put(
                predictions,
                head.classes(part, Padding.of(torch.from_numpy(sizes[chosen]), device), _side_labels(texts, words, device)),
                words,
                len(states),
            )
    return predictions


def predict(model: EncoderWithHeads, texts: Texts, name: str) -> dict[str, np.ndarray]:
    """Return a head's predictions for all labelled words, kind of label -> (n_words,), without keeping their states."""
    head = model.head(name)
    predictions: dict[str, np.ndarray] = {}

    def step(batch: Batch) -> Callable[[], None]:
        (states,) = model.hidden_states(batch, [head.layer])
        padding = Padding.of(torch.bincount(batch.rows, minlength=len(batch.input_ids)), states.device)
        classes = head.classes(states.float(), padding, _side_labels(texts, batch.words, states.device))
        copies = {kind: host_copy(values) for kind, values in classes.items()}
        return lambda: _put(predictions, copies, batch.words, int(texts.word_offsets[-1]))

    model.eval()
    for_each_batch(texts, model.encoder, model.units.segments, step)
    return predictions


def _side_labels(texts: Texts, words: np.ndarray, device: torch.device) -> dict[str, torch.Tensor]:
    """Return the labels of words that a head may read as input: gold tags, and which subwords begin a word."""
    return {
        kind: device_copy(torch.from_numpy(texts.labels[kind][words]), device) for kind in (TAG, WORD) if kind in texts.labels
    }


def _put(predictions: dict[str, np.ndarray], classes: Mapping[str, torch.Tensor], words: np.ndarray, n: int) -> None:
    for kind, values in classes.items():
        predictions.setdefault(kind, np.empty(n, np.int64))[words] = values.cpu().numpy()


def selection_score(
    texts: Texts, predicted: Mapping[str, np.ndarray], learnt: str, labels: Sequence[str], by: str, unit: str
) -> float:
    """Return the score that selects the best epoch, a fraction.

    predicted: kind of label -> (n_words,), predictions of a head. learnt: kind of label that is scored. labels: its classes.
    by: "paper", macro F1 as in tanti2021's code; "token", macro F1 over the true classes; "accuracy"; "spans", F1 of entities
    as in conlleval and seqeval; "subwords", accuracy on masked subwords; "las", share of words with correct head and relation.
    unit: "word" or "text", the unit that has a label.
    """
    gold, guess = texts.labels[learnt], predicted[learnt]
    if by == "las":
        arcs = texts.labels[ARC]
        return float(((gold == guess) & (arcs == predicted[ARC]))[arcs != IGNORED].mean())
    sentences = np.repeat(np.arange(len(texts)), np.diff(texts.word_offsets))
    is_labelled = gold != IGNORED
    if by == "subwords":
        return float((gold == guess)[is_labelled].mean())
    gold, guess, sentences = gold[is_labelled], guess[is_labelled], sentences[is_labelled]
    if by == "spans" or (by == "paper" and unit == "word"):
        counts = overall(chunk_counts(gold, guess, sentences, len(texts), labels))
        return float(micro_f1(counts) if by == "spans" else macro_f1(counts, "union"))
    counts = overall(token_counts(gold, guess, sentences, len(texts), len(labels)))
    return float(accuracy(counts) if by == "accuracy" else macro_f1(counts, "union" if by == "paper" else "true"))
