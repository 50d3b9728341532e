"""Texts that a masked language model turns into another language: table 1 of liu2020."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from crosslens.encoding.shift import Shift
from crosslens.encoding.texts import Texts
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.conversion import share, vocabulary
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.translation_scores import compare
from crosslens.measures.translation import translate
from crosslens.training.trained import load_language_model

SCHEMA = pa.schema([
    ("recipe", pa.string()), ("seed", pa.int64()),
    ("item", pa.string()),  # en->fr
    ("number", pa.int64()),  # number of the pair in the test set, from 1
    ("layer", pa.int64()), ("weight", pa.float64()),  # of the shift
    ("text", pa.string()), ("output", pa.string()), ("reference", pa.string()),  # subwords with spaces between
    ("value", pa.float64()), ("n", pa.int64()),  # share of the target language's own subwords; number of subwords of the output
])  # fmt: skip
"""Columns of the rows, one for each text and weight, which this kind yields instead of records."""


def measure(
    subject: Subject, *, corpora: Mapping[str, str], pairs: str, directions: Sequence[Sequence[str]], means: Mapping[str, Any],
    weights: Sequence[float], layer: int, numbers: Sequence[int], segments: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield a row of SCHEMA for each direction, numbered pair and weight, including weight 0, which is no shift.

    directions: source and target language of each. means: fields of `Mean`. layer: layer that is shifted, at most the encoder's
    last. numbers: which pairs of the test set, counted from 1. Raises DataError if the corpus has fewer pairs.
    """
    torch.set_num_threads(subject.threads)
    encoder, head = load_language_model(subject.folder, subject.weights)
    layer = min(layer, int(encoder.config.num_hidden_layers))  # type: ignore[union-attr, arg-type]
    languages = list(dict.fromkeys(language for direction in directions for language in direction))
    mean = Mean(**means)
    states = mean_states(encoder, subject.tokens, languages, [mean], segments)[mean]
    tokenizer = load_tokenizer(subject.folder)
    whole = {language: read_pairs(subject.tokens[pairs], language, "test") for language in languages}
    vocabularies = {language: vocabulary(texts, len(head.bias)) for language, texts in whole.items()}
    edges = next(iter(whole.values())).edges
    most = len(next(iter(whole.values())))
    if wrong := [number for number in numbers if number > most]:
        raise DataError(f"samples: expected numbers of pairs up to {most}, found {', '.join(map(str, wrong))}: name others")
    chosen = np.array(numbers) - 1
    samples = {language: texts.take(chosen) for language, texts in whole.items()}

    def spaced(subwords: np.ndarray) -> str:
        return " ".join(str(tokenizer.id_to_token(int(subword))) for subword in subwords)

    def text(pair: Texts) -> str:
        return spaced(pair.subwords[edges.before : len(pair.subwords) - edges.after])

    for source, target in directions:
        cells = {weight: Shift(layer, weight, states[target][layer] - states[source][layer]) for weight in (0.0, *weights)}
        outputs = translate(encoder, head, samples[source], cells, segments)
        for index, number in enumerate(numbers):
            original, translation = (samples[language].take(np.array([index])) for language in (source, target))
            before = int((samples[source].lengths[:index] - edges.around).sum())
            for weight, output in outputs.items():
                part = output[before : before + int(original.lengths[0]) - edges.around]
                counts = compare(original, translation, part, vocabularies[source], vocabularies[target])
                yield {
                    "item": f"{source}->{target}", "number": number, "layer": layer, "weight": weight,
                    "text": text(original), "output": spaced(part), "reference": text(translation),
                    "value": share(counts, "target"), "n": len(part),
                }  # fmt: skip
