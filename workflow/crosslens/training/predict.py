"""Hidden states and predictions of whole sets of texts, in length-sorted batches."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from crosslens.measures.f1 import chunk_counts, macro_f1, overall, token_counts
from crosslens.training.model import EncoderWithHeads
from crosslens.training.texts import IGNORED, Batch, Texts, collate, sorted_batches

# Padded pieces a batch: on a CPU few enough that a batch's states stay in the cache and little is padded.
PIECES_A_THREAD, PIECES_ON_A_GPU = 512, 65536


def for_each_batch(texts: Texts, encoder: nn.Module, segments: bool, step: Callable[[Batch], None]) -> None:
    """Call `step` on length-sorted batches of all texts, without gradients; a batch too large for the memory is halved."""
    device, padding = next(encoder.parameters()).device, int(encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]
    budget = PIECES_ON_A_GPU if device.type == "cuda" else PIECES_A_THREAD * torch.get_num_threads()

    def run(chosen: np.ndarray) -> None:
        try:
            step(collate(texts, chosen, padding, segments))
        except torch.OutOfMemoryError:
            if len(chosen) == 1:
                raise
            torch.cuda.empty_cache()
            run(chosen[: len(chosen) // 2])
            run(chosen[len(chosen) // 2 :])

    with torch.inference_mode():
        for chosen in sorted_batches(texts.lengths, budget):
            run(chosen)


def hidden_states(model: EncoderWithHeads, texts: Texts) -> torch.Tensor:
    """What heads read of all labelled words, in the order of the texts, (n_words, d), float32 on the CPU."""
    states = torch.empty(int(texts.word_offsets[-1]), model.hidden_size)

    def step(batch: Batch) -> None:
        states[torch.from_numpy(batch.words)] = model.hidden_states(batch).float().cpu()

    model.eval()
    for_each_batch(texts, model.encoder, model.reading.segments, step)
    return states


def predict_from(states: torch.Tensor, head: nn.Module, rows: int = 65536) -> np.ndarray:
    """Classes that a head in eval mode gives to states, (n,)."""
    device = next(head.parameters()).device
    with torch.inference_mode():
        return np.concatenate([head(part.to(device)).argmax(-1).cpu().numpy() for part in torch.split(states, rows)])


def predict(model: EncoderWithHeads, texts: Texts, heads: Sequence[str]) -> dict[str, np.ndarray]:
    """Classes of all labelled words by each head, (n_words,), in one pass."""
    found = {head: np.empty(int(texts.word_offsets[-1]), np.int64) for head in heads}

    def step(batch: Batch) -> None:
        states = model.hidden_states(batch)
        for head in heads:
            found[head][batch.words] = model.heads[head](states.float()).argmax(-1).cpu().numpy()

    model.eval()
    for_each_batch(texts, model.encoder, model.reading.segments, step)
    return found


def selection_score(gold: np.ndarray, predicted: np.ndarray, texts: Texts, labels: Sequence[str], by: str, unit: str) -> float:
    """Macro F1 that picks the best epoch, a fraction: `paper` as tanti2021's code has it, or over the true classes."""
    sentences = np.repeat(np.arange(len(texts)), np.diff(texts.word_offsets))
    known = gold != IGNORED
    gold, predicted, sentences = gold[known], predicted[known], sentences[known]
    if by == "paper" and unit == "word":
        return float(macro_f1(overall(chunk_counts(gold, predicted, sentences, len(texts), labels)), "union"))
    counts = overall(token_counts(gold, predicted, sentences, len(texts), len(labels)))
    return float(macro_f1(counts, "union" if by == "paper" else "true"))
