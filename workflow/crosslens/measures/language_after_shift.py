"""Language identification from states before and after the mean difference shift (liu2020, sections 4.3 and 5).

The paper concludes that the shift removes language-specific information, but trains no classifier to test this. Here, probes
distinguish the subwords of a language from those of the source language, at the shifted layer and all layers above it.
"""

import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import Batch
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.shift import Shift, for_each_shift, inner_subwords, random_direction
from crosslens.encoding.texts import Texts
from crosslens.jobs.progress import Progress
from crosslens.measures.shared.conversion import share_record
from crosslens.measures.shared.identification_terms import UNSHIFTED_PROBE
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.shift_terms import ACCURACY, NO_SHIFT, RANDOM, SHIFT
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.probe import Fitted, draw_evenly, logistic_probe
from crosslens.numerics.streams import stream

logger = logging.getLogger(__name__)

TRAIN, TEST = "dev", "test"
WEIGHT = 1.0  # weight of the shift that makes the means of both languages equal at its layer


class Items(NamedTuple):
    """n subwords of one language's texts, with their states."""

    texts: np.ndarray  # (n,) id of the text
    states: Mapping[str, np.ndarray]  # definition of the shift -> (layers, n, d) float32


def measure(
    subject: Subject, *, corpora: Mapping[str, str], pairs: str, source: str, languages: Sequence[str], means: Mapping[str, Any],
    layer: int, segments: bool, subwords: int, penalties: Sequence[float], tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy of probes that distinguish each language from the source, at the shifted layer and all above it.

    Probes learn from `subwords` random subwords of a language's development texts, sampled evenly from the texts, and are
    tested on as many of the test texts. The states of the language are shifted towards the source by the difference of their
    means, or by a random vector of the same length. The states of the source are never shifted. For each shift, a probe is
    trained and tested on shifted states; the probe that was trained on unshifted states is tested on shifted ones too.

    means: fields of `Mean`. layer: layer that is shifted. penalties, tolerance: of `logistic_probe`.
    """
    torch.set_num_threads(subject.threads)
    encoder = load_encoder(subject.folder, subject.weights).to(default_device())
    layers = range(layer, int(encoder.config.num_hidden_layers) + 1)  # type: ignore[union-attr, arg-type]
    mean = Mean(**means)
    states = mean_states(encoder, subject.tokens, [source, *languages], [mean], segments)[mean]

    def items(language: str, split: str, shifts: Mapping[str, Shift]) -> Items:
        texts = draw_subwords(
            read_pairs(subject.tokens[pairs], language, split), subwords, stream(subject.seed, "subwords", language, split)
        )
        return states_of(encoder, texts, shifts, layers, segments)

    unshifted = {NO_SHIFT: Shift(layer, 0.0, states[source][layer])}
    of_source = {split: items(source, split, unshifted) for split in (TRAIN, TEST)}
    probe = partial(
        logistic_probe, penalties=penalties, tolerance=tolerance, seed=stream(subject.seed, "penalty")
    )  # one seed, so that all probes select their penalty on the same texts
    for language in Progress(len(languages), "languages", logger).over(languages):
        vector = states[source][layer] - states[language][layer]
        random_vector = random_direction(vector, stream(subject.seed, "random direction", language, source))
        shifts = unshifted | {SHIFT: Shift(layer, WEIGHT, vector), RANDOM: Shift(layer, WEIGHT, random_vector)}
        of_language = {split: items(language, split, shifts) for split in (TRAIN, TEST)}
        names = np.repeat([source, language], [len(of_source[TEST].texts), len(of_language[TEST].texts)])
        ids = np.concatenate([of_source[TEST].texts, of_language[TEST].texts])
        for number, at in enumerate(layers):
            for definition, fitted in identify(of_source, of_language, number, source, language, probe).items():
                yield {
                    "item": "language", "corpus": pairs, "language": language, "split": TEST, "layer": at, "measure": ACCURACY,
                    "definition": definition, "weight": 0.0 if definition == NO_SHIFT else WEIGHT, "n": len(names),
                    **share_record(fitted.predicted == names, ids), **fitted.convergence(),
                }  # fmt: skip


def draw_subwords(texts: Texts, most: int, seed: int) -> Texts:
    """Return texts whose labelled words are at most `most` random subwords, sampled evenly from the texts.

    Special subwords are never sampled. Texts without sampled subwords are left out.
    """
    inner = inner_subwords(texts)
    owners = np.repeat(np.arange(len(inner)), np.diff(inner.word_offsets))
    special = np.unique(inner.subwords[inner.end_rows()])  # by id, to exclude the one between the texts of a pair too
    inside = np.flatnonzero(~np.isin(inner.subwords[inner.labelled_rows], special))
    chosen = inside[draw_evenly(owners[inside], most, seed)]
    offsets = np.searchsorted(owners[chosen], np.arange(len(inner) + 1))
    labelled = replace(inner, positions=inner.positions[chosen], word_offsets=offsets, words=[""] * len(chosen))
    return labelled.take(np.unique(owners[chosen]))


def states_of(encoder: nn.Module, texts: Texts, shifts: Mapping[str, Shift], layers: Sequence[int], segments: bool) -> Items:
    """Return the states of the texts' labelled subwords at some layers under each shift."""
    size = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    states = {name: np.empty((len(layers), len(texts.positions), size), np.float32) for name in shifts}

    def step(key: Hashable, batch: Batch, hidden: torch.Tensor) -> None:
        states[str(key)][:, batch.words] = hidden.float().cpu().numpy()

    for_each_shift(texts, encoder, segments, shifts, step, layers)
    return Items(np.repeat(np.array(texts.ids), np.diff(texts.word_offsets)), states)


def identify(
    of_source: Mapping[str, Items], of_language: Mapping[str, Items], number: int, source: str, language: str, probe: Any
) -> dict[str, Fitted]:
    """Return definition -> predictions of a probe at one layer for the test subwords, first the source's, then the language's.

    The definition is the shift under which a probe is trained and tested. If it ends in UNSHIFTED_PROBE, the probe was trained
    without a shift.

    of_source, of_language: TRAIN and TEST -> subwords; the source's have no shift. number: index of the layer among those of
    the states. probe: `logistic_probe` with its settings.
    """
    texts = np.concatenate([of_source[TRAIN].texts, of_language[TRAIN].texts])
    names = np.repeat([source, language], [len(of_source[TRAIN].texts), len(of_language[TRAIN].texts)])

    def states(split: str, shift: str) -> np.ndarray:
        return np.concatenate([of_source[split].states[NO_SHIFT][number], of_language[split].states[shift][number]])

    shifts = list(of_language[TEST].states)
    tests = [states(TEST, shift) for shift in shifts]
    by_definition = dict(zip(shifts, probe(states(TRAIN, NO_SHIFT), names, texts, tests), strict=True))
    by_definition = {
        shift if shift == NO_SHIFT else f"{shift}; {UNSHIFTED_PROBE}": fitted for shift, fitted in by_definition.items()
    }
    for shift, test in zip(shifts, tests, strict=True):
        if shift != NO_SHIFT:
            (by_definition[shift],) = probe(states(TRAIN, shift), names, texts, [test])
    return by_definition
