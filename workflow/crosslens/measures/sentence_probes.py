"""Accuracy of probes that identify the language of a sentence from its mean state, by layer."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import layers, read
from crosslens.measures.probes import accuracy_of
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import PROBE_WITHIN
from crosslens.numerics.probe import logistic_probe, split_by_text

SPLIT = 0  # seed of the random split, the same for all encoders, so that they are compared on the same sentences


def measure(
    subject: Subject, *, corpus: str, held_out: float, penalty: float, tolerance: float
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy at each layer on held-out sentences of a corpus, which the probe has not seen in any language.

    corpus: parallel texts; a sentence has the same id in all languages. held_out: share of these ids to test on. penalty: C of
    the probe. tolerance: largest gradient component of a converged fit.
    """
    folder = subject.folder / corpus
    for layer in layers(folder):
        states = read(folder, layer)
        sentences = np.array([text.partition("/")[2] for text in states.texts])  # a translation must not give its sentence away
        outside = split_by_text(sentences, held_out, SPLIT)
        train, test = states.take(~outside), states.take(outside)
        (fitted,) = logistic_probe(
            train.vectors, train.languages, sentences[~outside], [test.vectors],
            penalties=[penalty], tolerance=tolerance, seed=SPLIT,
        )  # fmt: skip
        place = {"corpus": corpus, "layer": layer, "measure": "probe", "definition": PROBE_WITHIN}
        yield accuracy_of(fitted.predicted, test) | place | fitted.convergence()
