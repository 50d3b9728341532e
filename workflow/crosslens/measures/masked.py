"""Accuracy of a masked language model on held-out text, compared with baselines that count its training text.

A model that has learned to use context predicts more masked subwords than bigram counts do. liu2020 gives no such number;
without one, it is unknown whether its models have learned more than frequencies.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from crosslens.config.heads import TASK
from crosslens.config.recipes import Data, Masking
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch, for_each_batch
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.packing import first_texts, of_pages, windows_of
from crosslens.encoding.texts import Texts, load_subwords
from crosslens.encoding.unit_states import unit_states
from crosslens.measures.shared.conversion import share_interval
from crosslens.measures.shared.masked_baselines import BIGRAM, GAIN, MASKED, MODEL, guesses
from crosslens.measures.shared.subject import Subject
from crosslens.training.masking import HELD_OUT, masked
from crosslens.training.trained import load_language_model


def measure(
    subject: Subject, *, corpora: Mapping[str, str], train: Mapping[str, Any], held_out: Mapping[str, Any],
    masking: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy of the model and of each baseline, and their difference, by language and over all languages.

    Intervals are over pages. The masked positions are those on which the training run was scored.

    train, held_out: fields of `Data` for the text of the pretraining run. masking: fields of its `Masking`.
    """
    torch.set_num_threads(subject.threads)
    mask = mask_subword(subject.folder)  # before the model is loaded, since its tokenizer may have no mask
    encoder, head = load_language_model(subject.folder, subject.weights)
    size = len(head.bias)
    train_texts, held_out_texts = (_running_text(Data.model_validate(data), subject) for data in (train, held_out))
    masked_texts = masked(held_out_texts, HELD_OUT, Masking.model_validate(masking), mask, size)
    predictions = np.empty(len(masked_texts.positions), np.int64)

    def step(batch: Batch) -> None:
        *_, states = unit_states(encoder, batch, Units()).values()
        predictions[batch.words] = head.subwords(states.float()).cpu().numpy()

    for_each_batch(masked_texts, encoder, False, step)
    right = {
        name: subwords == masked_texts.labels[TASK]
        for name, subwords in {MODEL: predictions, **guesses(train_texts, masked_texts, size)}.items()
    }
    sizes = np.diff(masked_texts.word_offsets)
    page, languages = np.repeat(of_pages(masked_texts), sizes), np.repeat(np.array(masked_texts.languages), sizes)
    for language in ["all", *dict.fromkeys(masked_texts.languages)]:
        in_language = np.full(len(languages), language == "all") | (languages == language)
        places = np.bincount(page[in_language])
        hits = {name: np.bincount(page[in_language], is_right[in_language], len(places)) for name, is_right in right.items()}
        hits[GAIN] = hits[MODEL] - hits[BIGRAM]
        for name, counts in hits.items() if in_language.any() else ():
            low, high = share_interval(counts[places > 0], places[places > 0], score=name != GAIN)
            yield {
                "item": "masked", "corpus": held_out["corpus"], "language": language, "split": held_out["split"],
                "measure": MASKED, "definition": name, "value": counts.sum() / in_language.sum(), "low": low, "high": high,
                "n": int(in_language.sum()),
            }  # fmt: skip


def _running_text(data: Data, subject: Subject) -> Texts:
    folder = subject.tokens[data.corpus]
    texts = load_subwords([folder / f"{language}.{split}.parquet" for _, language, split in data.files()])
    return windows_of(first_texts(texts, data.texts), data.window, data.within)
