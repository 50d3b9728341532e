"""Accuracy of probes that identify the language of words, and of whole texts, from the states of an encoder."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.config.units import Units
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.extract import extract
from crosslens.encoding.stored_states import States
from crosslens.encoding.texts import Texts, load
from crosslens.jobs.checksums import verified
from crosslens.measures.probes import accuracy_of
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM
from crosslens.numerics.probe import logistic_probe
from crosslens.numerics.streams import stream

WORDS, TEXTS = "language of words", "language of texts"  # items of the records


def measure(
    subject: Subject, *, corpora: Mapping[str, str], train_texts: int, test_texts: int, penalties: Sequence[float],
    tolerance: float, pooler: bool = False,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy of probes on the words, and on the texts, of each corpus, and of probes trained on random labels.

    All encoders and seeds have the same texts, and one random word of each, so that there are as many words as texts.

    train_texts, test_texts: numbers of texts per language. penalties, tolerance: of `logistic_probe`. pooler: whether the
    encoder was trained with its pooler, which its weights then include.
    """
    torch.set_num_threads(subject.threads)
    encoder = load_encoder(subject.folder, subject.weights, pooler=pooler).to(default_device())
    probe = partial(logistic_probe, penalties=penalties, tolerance=tolerance, seed=subject.seed)
    for corpus in corpora:
        folder = verified(subject.tokens[corpus])
        train, test = (sample(encoder, folder, *part) for part in (("train", train_texts), ("test", test_texts)))
        for item in (WORDS, TEXTS):
            for record in unit_records(train[item], test[item], probe, subject.seed):
                yield record | {"corpus": corpus, "item": item}


def unit_records(train: States, test: States, probe: Any, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the records of one kind of unit, words or texts. probe: `logistic_probe` with its settings."""
    (fitted,) = probe(train.vectors, train.languages, train.texts, [test.vectors])
    shuffled = np.random.default_rng(seed).permutation(train.languages)
    # Random labels cannot select a penalty.
    (random,) = probe(train.vectors, shuffled, train.texts, [test.vectors], penalties=[fitted.penalty])
    for definition, fit in ((PROBE_ACROSS, fitted), (PROBE_RANDOM, random)):
        yield {"measure": "probe", "definition": definition} | fit.convergence() | accuracy_of(fit.predicted, test)


def sample(encoder: nn.Module, tokens: Path, split: str, number: int) -> dict[str, States]:
    """Return WORDS and TEXTS -> states of at most `number` random texts of each language, and of one random word of each text.

    tokens: folder of a corpus's tokens.
    """
    parts: dict[str, list[States]] = {WORDS: [], TEXTS: []}
    for file in sorted(tokens.glob(f"*.{split}.parquet")):
        language, texts = file.name.split(".")[0], load([file], (), ())
        chosen, offsets = draw(texts.word_offsets, number, stream(0, "units", language, split))
        texts = texts.take(chosen)
        (states,) = extract(encoder, texts, np.arange(len(texts.positions)), (), Units()).values()
        parts[WORDS].append(_states(texts, language, split, states[offsets]))
        parts[TEXTS].append(_states(texts, language, split, means(states, texts.word_offsets)))
    return {item: _joined(of_languages) for item, of_languages in parts.items()}


def draw(offsets: np.ndarray, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `number` random texts, ascending, and a random word of each.

    Words are numbered among the words of the returned texts only. offsets: (n_texts + 1,), the first word of each text; texts
    without words are left out.
    """
    generator = np.random.default_rng(seed)
    texts = np.sort(generator.permutation(np.flatnonzero(np.diff(offsets)))[:number])
    sizes = np.diff(offsets)[texts]
    return texts, np.cumsum(sizes) - sizes + generator.integers(sizes)


def means(states: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the mean state of each text's words, (n_texts, d) float32. states: (n_words, d); offsets: (n_texts + 1,)."""
    sums: np.ndarray = np.add.reduceat(states.astype(np.float64), offsets[:-1], axis=0)
    return (sums / np.diff(offsets)[:, None]).astype(np.float32)


def _states(texts: Texts, language: str, split: str, vectors: np.ndarray) -> States:
    """Return the states of one unit per text, its word or the whole text. vectors: (n_texts, d)."""
    n = len(texts)
    names, empty = np.array([f"{language}/{name}" for name in texts.ids]), np.full(n, "")
    return States(
        names, empty, empty, np.full(n, language), np.full(n, split), np.zeros(n, bool), np.ones(n, bool), vectors
    )  # fmt: skip


def _joined(parts: Sequence[States]) -> States:
    """Return the states of all languages."""
    return States(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in States.__dataclass_fields__})
