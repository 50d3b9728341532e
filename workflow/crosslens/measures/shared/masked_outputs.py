"""How often a masked language model predicts the masked subword, or one of another language, without any shift."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.config.heads import TASK
from crosslens.config.recipes import Masking
from crosslens.encoding.batches import Batch
from crosslens.encoding.shift import Shift, for_each_shift
from crosslens.encoding.texts import Texts
from crosslens.measures.shared.conversion import share_record
from crosslens.measures.shared.shift_terms import MASKED, PROBABILITY, SHARES
from crosslens.training.heads.language_model import LOGITS, LanguageModel
from crosslens.training.masking import HELD_OUT, masked


def hide(texts: Texts, mask: int, size: int) -> Texts:
    """Return a copy of a text for each of 15 % of its subwords, in which that subword is masked. size: of the vocabulary."""
    masked_texts = masked(texts, HELD_OUT, Masking(masked=1.0, random=0.0), mask, size)
    copies = texts.take(np.repeat(np.arange(len(texts)), np.diff(masked_texts.word_offsets)))
    subwords = copies.subwords.copy()
    subwords[copies.subword_offsets[:-1] + masked_texts.positions] = mask
    return replace(
        copies, subwords=subwords, positions=masked_texts.positions, word_offsets=np.arange(len(copies) + 1),
        words=masked_texts.words, labels=masked_texts.labels,
    )  # fmt: skip


def masked_outputs(
    encoder: nn.Module, head: LanguageModel, masked_texts: Texts, alone: Mapping[str, np.ndarray], segments: bool
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how often the masked subword is predicted, and how often a subword of another language is.

    The latter is also given as the mean probability of such subwords.

    masked_texts: copies of texts of one language, each with one masked position (`hide`). alone: language -> the subwords that
    occur in it and not in the language of the texts, (vocabulary,) bool.
    """
    predictions = np.empty(len(masked_texts), np.int64)
    probable = np.empty((len(masked_texts), len(alone)))
    groups = torch.from_numpy(np.stack(list(alone.values()), 1)).float()  # (vocabulary, languages)

    def step(_: Hashable, batch: Batch, states: torch.Tensor) -> None:
        of_places = states.float()
        predictions[batch.words] = head.subwords(of_places).cpu().numpy()
        rows = max(1, LOGITS // len(groups))
        parts = [head(part).softmax(-1) @ groups.to(part.device) for part in torch.split(of_places, rows)]
        probable[batch.words] = torch.cat(parts).cpu().numpy()

    for_each_shift(masked_texts, encoder, segments, {"": Shift(0, 0.0, torch.zeros(0))}, step)
    source, ids = masked_texts.languages[0], np.array(masked_texts.ids)
    values_by_measure = {(source, "accuracy"): predictions == masked_texts.labels[TASK]}
    for number, (code, subwords) in enumerate(alone.items()):
        values_by_measure |= {(code, SHARES["target"]): subwords[predictions], (code, PROBABILITY): probable[:, number]}
    for (code, name), values in values_by_measure.items():
        yield {
            "item": f"{source}->{code}", "language": code, "definition": MASKED, "n": len(predictions), "measure": name,
            **share_record(values, ids),
        }  # fmt: skip
